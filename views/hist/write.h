// Histograms in files: text, CSV and JSON, every set of a part, every bucket. Also the line of statistics of screens
// and texts.
#ifndef VIEWS_HIST_WRITE_H
#define VIEWS_HIST_WRITE_H

#include "views/hist/select.h"

struct hist_stat {
    const char *name;
    double q; // the quantile; 2: count, 3: mean, 4: max
    int drop; // order in which statistics are dropped when there is no room: the highest first
};
#define HIST_STATS 8
extern const struct hist_stat hist_stats[HIST_STATS];
// "p99 1.3ms"
void hist_stat_text(const struct hist_stat *stat, const struct hist_def *def, const struct hist *hist, char *out,
                    size_t size);

// The callbacks of part_hist.
void hist_write_text(struct part_context *ctx, FILE *out);
void hist_write_csv(struct part_context *ctx, FILE *out);
void hist_write_json(struct part_context *ctx, struct json_object *pane);
void hist_describe(const struct part *part, const struct frame *schema, FILE *out);

#endif
