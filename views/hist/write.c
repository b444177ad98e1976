// Histograms in files: every set, every histogram, every bucket, in the set's own unit. Independent of the measure:
// keys and units come with the set.
#include "views/hist/write.h"

#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/hist/scale.h"
#include "views/hist/select.h"
#include "views/write.h"

#define TEXT_ROWS 12 // ranges of a histogram as text

const struct hist_stat hist_stats[HIST_STATS] = {
    {"count", 2, 0},  {"avg", 3, 3},    {"p50", 0.50, 0},    {"p90", 0.90, 4},
    {"p95", 0.95, 5}, {"p99", 0.99, 0}, {"p99.9", 0.999, 2}, {"max", 4, 1},
};

void hist_stat_text(const struct hist_stat *stat, const struct hist_def *def, const struct hist *hist, char *out,
                    size_t size) {
    char value[24];
    double v = stat->q == 2   ? (double)hist->count
               : stat->q == 3 ? hist_mean(hist) / def->divisor
               : stat->q == 4 ? (double)hist->max / def->divisor
                              : hist_quantile(hist, stat->q) / def->divisor;
    unit_format(stat->q == 2 ? UNIT_COUNT : def->unit, v, value, sizeof value);
    snprintf(out, size, "%s %s", stat->name, value);
}

static const struct {
    const char *name;
    double q;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};
#define N_QUANTILES (sizeof quantiles / sizeof *quantiles)

static const struct hist_set *hist_set_of(struct part_context *ctx, size_t i, const char **name) {
    const struct hist_spec *spec = ctx->part->spec;
    *name = spec->sets[i];
    return *name && ctx->look->frame ? frame_hists(ctx->look->frame, *name) : NULL;
}

// The filter of a set, without a text that none of its keys contains, as on the screen: an empty set would look
// unmeasured.
static void filter_of(struct part_context *ctx, const char *name, struct filter *out) {
    filter_parse(pane_filter(ctx->pane, ctx->part), ctx->look->frame, out);
    if (!out->n && !hist_filter_fits(out, ctx->part->spec, name, ctx->look))
        out->text[0] = '\0';
}

// The next histogram of the set to write: start with *at = 0; NULL at the end. Only those that pass the filter, by the
// rule of the tables, and none of a repeated set.
static const struct hist *next_written(struct part_context *ctx, const struct hist_set *set,
                                       const struct filter *filter, size_t *at, const union cell **keys) {
    const struct hist_def *def = set ? hist_set_def(set) : NULL;

    if (!set || frame_hists_repeated(ctx->look->frame, def->name))
        return NULL;
    while (*at < hist_set_count(set)) {
        const struct hist *hist = hist_set_at(set, (*at)++, keys);
        if (filter_passes(filter, def->keys, def->n_keys, *keys))
            return hist;
    }
    return NULL;
}

// Not measured if the histogram is empty.
static double extreme(const struct hist *hist, uint64_t value, const struct hist_def *def) {
    return hist->count ? (double)value / def->divisor : NAN;
}

void hist_write_json(struct part_context *ctx, struct json_object *pane) {
    struct json_object *group = json_group(pane, "histograms");
    const char *name;
    const struct hist *hist;
    const union cell *keys;
    struct filter filter;
    for (size_t s = 0; hist_set_of(ctx, s, &name), name; s++) {
        const struct hist_set *set = hist_set_of(ctx, s, &name);
        struct json_object *list = json_object_new_array();
        filter_of(ctx, name, &filter);
        json_object_object_add(group, name, list);
        for (size_t at = 0; (hist = next_written(ctx, set, &filter, &at, &keys));) {
            const struct hist_def *def = hist_set_def(set);
            struct json_object *object = json_object_new_object(), *buckets = json_object_new_array();
            for (int k = 0; k < def->n_keys; k++)
                json_object_object_add(object, def->keys[k].name,
                                       def->keys[k].type == COLUMN_TEXT ? json_text(keys[k].text)
                                                                        : json_number(def->keys[k].unit, keys[k].num));
            json_object_object_add(object, "unit", json_object_new_string(def->unit_name));
            json_object_object_add(object, "count", json_number(UNIT_COUNT, (double)hist->count));
            json_object_object_add(object, "sum", json_number(UNIT_NONE, (double)hist->sum / def->divisor));
            json_object_object_add(object, "min", json_number(UNIT_NONE, extreme(hist, hist->min, def)));
            json_object_object_add(object, "max", json_number(UNIT_NONE, extreme(hist, hist->max, def)));
            for (size_t q = 0; q < N_QUANTILES; q++)
                json_object_object_add(object, quantiles[q].name,
                                       json_number(UNIT_NONE, hist_quantile(hist, quantiles[q].q) / def->divisor));
            for (uint32_t b = 0; b < hist->n_buckets; b++) {
                struct json_object *bucket = json_object_new_array();
                uint32_t fine = hist->buckets[b].bucket;
                json_object_array_add(bucket, json_number(UNIT_NONE, (double)hist_bucket_low(fine) / def->divisor));
                json_object_array_add(bucket, json_number(UNIT_NONE, (double)hist_bucket_high(fine) / def->divisor));
                json_object_array_add(bucket, json_number(UNIT_COUNT, hist->buckets[b].count));
                json_object_array_add(buckets, bucket);
            }
            json_object_object_add(object, "buckets", buckets);
            json_object_array_add(list, object);
        }
    }
}

static void csv_keys(const struct hist_def *def, const union cell *keys, FILE *out) {
    for (int k = 0; k < def->n_keys; k++) {
        if (def->keys[k].type == COLUMN_TEXT)
            csv_text(keys[k].text, out);
        else
            csv_number(def->keys[k].unit, keys[k].num, out);
    }
}

static void csv_header(const struct hist_def *def, FILE *out) {
    csv_begin_header(out);
    for (int k = 0; k < def->n_keys; k++)
        csv_string(def->keys[k].name, out);
}

// Two tables for a set: the summary under its name, its buckets under "<name>_buckets".
void hist_write_csv(struct part_context *ctx, FILE *out) {
    static const char *const summary[] = {"unit", "count", "sum", "min", "max"};
    const char *name;
    const struct hist *hist;
    const union cell *keys;
    struct filter filter;
    for (size_t s = 0; hist_set_of(ctx, s, &name), name; s++) {
        const struct hist_set *set = hist_set_of(ctx, s, &name);
        const struct hist_def *def = set ? hist_set_def(set) : NULL;
        if (!def)
            continue;
        filter_of(ctx, name, &filter);
        if (csv_wants_header(ctx)) {
            csv_header(def, out);
            for (size_t i = 0; i < sizeof summary / sizeof *summary; i++)
                csv_string(summary[i], out);
            for (size_t q = 0; q < N_QUANTILES; q++)
                csv_string(quantiles[q].name, out);
            csv_end(out);
        }
        for (size_t at = 0; (hist = next_written(ctx, set, &filter, &at, &keys));) {
            csv_begin(ctx, name, out);
            csv_keys(def, keys, out);
            csv_string(def->unit_name, out);
            csv_number(UNIT_COUNT, (double)hist->count, out);
            csv_number(UNIT_NONE, (double)hist->sum / def->divisor, out);
            csv_number(UNIT_NONE, extreme(hist, hist->min, def), out);
            csv_number(UNIT_NONE, extreme(hist, hist->max, def), out);
            for (size_t q = 0; q < N_QUANTILES; q++)
                csv_number(UNIT_NONE, hist_quantile(hist, quantiles[q].q) / def->divisor, out);
            csv_end(out);
        }
        char buckets[64];
        snprintf(buckets, sizeof buckets, "%s_buckets", name);
        if (csv_wants_header(ctx)) {
            csv_header(def, out);
            csv_string("low", out);
            csv_string("high", out);
            csv_string("count", out);
            csv_end(out);
        }
        for (size_t at = 0; (hist = next_written(ctx, set, &filter, &at, &keys));) {
            for (uint32_t b = 0; b < hist->n_buckets; b++) {
                csv_begin(ctx, buckets, out);
                csv_keys(def, keys, out);
                csv_number(UNIT_NONE, (double)hist_bucket_low(hist->buckets[b].bucket) / def->divisor, out);
                csv_number(UNIT_NONE, (double)hist_bucket_high(hist->buckets[b].bucket) / def->divisor, out);
                csv_number(UNIT_COUNT, hist->buckets[b].count, out);
                csv_end(out);
            }
        }
    }
}

// One line per histogram, then its ranges in the finest round steps that take a dozen lines.
void hist_write_text(struct part_context *ctx, FILE *out) {
    struct hist_scale *scale = xmalloc(sizeof *scale);
    const char *name;
    const struct hist *hist;
    const union cell *keys;
    struct filter filter;
    for (size_t s = 0; hist_set_of(ctx, s, &name), name; s++) {
        const struct hist_set *set = hist_set_of(ctx, s, &name);
        filter_of(ctx, name, &filter);
        for (size_t at = 0; (hist = next_written(ctx, set, &filter, &at, &keys));) {
            const struct hist_def *def = hist_set_def(set);
            char text[128];
            if (!hist->count)
                continue;
            fprintf(out, "  %s", name);
            for (int k = 0; k < def->n_keys; k++) {
                column_format(&def->keys[k], keys[k], text, sizeof text);
                char escaped[256];
                escape_text(text, strlen(text), escaped, sizeof escaped);
                fprintf(out, " %s %s", def->keys[k].name, escaped);
            }
            fputc(':', out);
            for (size_t q = 0; q < HIST_STATS; q++) {
                hist_stat_text(&hist_stats[q], def, hist, text, sizeof text);
                fprintf(out, "%s %s", q ? "," : "", text);
            }
            fputc('\n', out);
            hist_scale_fit(scale, def, hist->min, hist->max, TEXT_ROWS, false);
            uint64_t counts[SCALE_ROWS_MAX] = {0};
            for (uint32_t b = 0; b < hist->n_buckets; b++)
                counts[scale->row[hist->buckets[b].bucket]] += hist->buckets[b].count;
            for (int row = 0; row < scale->rows; row++) {
                char low[16], high[16];
                if (!counts[row])
                    continue;
                hist_scale_label(def, scale->edge[row], low);
                hist_scale_label(def, scale->edge[row + 1], high);
                fprintf(out, "    %6s - %-6s %8llu %5.1f%%\n", low, high, (unsigned long long)counts[row],
                        100.0 * (double)counts[row] / (double)hist->count);
            }
        }
    }
    free(scale);
}

void hist_describe(const struct part *part, const struct frame *schema, FILE *out) {
    const struct hist_spec *spec = part->spec;
    for (size_t s = 0; spec->sets[s]; s++) {
        const struct hist_set *set = schema ? frame_hists(schema, spec->sets[s]) : NULL;
        const struct hist_def *def = set ? hist_set_def(set) : NULL;
        if (!def)
            continue;
        fprintf(out, "  %s (histogram by", def->name);
        for (int k = 0; k < def->n_keys; k++)
            fprintf(out, "%s %s", k ? "," : "", def->keys[k].name);
        fprintf(out, "; in %s): %s\n", def->unit_name, def->help);
    }
}
