// What a heat map is made of: the counts of its cells, from the frames that are looked at. Shared by the part that
// draws it on a screen and the one that writes it as a picture; draws nothing.
#ifndef VIEWS_HEAT_DATA_H
#define VIEWS_HEAT_DATA_H

#include "views/hist/scale.h"
#include "views/hist/select.h"

#define HEAT_LOW 16 // of a single one: to be seen beside a cell that is empty

struct heat_column {
    const struct frame *frame; // the newest in it; NULL: none is kept
    uint64_t below, above;     // values out of the axis
};

struct heat_data {
    // what to show
    uint64_t group; // frames per column; 0: as many as are needed for all
    bool zoom;      // only values from low to below high, in the def's unit, of the measure of that name
    double low, high;
    const char *zoom_set;
    // what heat_load made of it
    int columns, rows;   // 0: nothing to show
    uint64_t per_column; // frames
    uint64_t last_group; // number / per_column of the newest column
    uint32_t most;       // the largest count of a cell
    struct hist_scale scale;
    uint32_t *counts; // column by column, rows from the smallest values up
    size_t capacity;
    struct heat_column *column;
    size_t column_capacity;
};

// False when nothing of the kind is in any frame.
bool heat_range(const struct part_context *ctx, uint64_t *min, uint64_t *max);
// Counts for at most so many columns and rows. ctx->state begins with a struct hist_select.
void heat_load(struct part_context *ctx, struct heat_data *data, const struct hist_def *def, int columns, int rows);
void heat_free(struct heat_data *data);
bool heat_is_zoomed(const struct part_context *ctx, const struct heat_data *data);

const uint32_t *heat_counts(const struct heat_data *data, int column);
uint64_t heat_total(const struct heat_data *data, int column); // values off the axis included
// The column of a frame, -1 when it lies outside. Columns hold frames whose number divided by their size is the same,
// so that a column does not change when the map moves on.
int heat_column_of(const struct heat_data *data, const struct frame *frame);
// The row that holds the quantile of a column, by nearest rank; -1 for an empty column and off the axis.
int heat_quantile_row(const struct heat_data *data, int column, double q);
// How hot, on a logarithmic scale from one to the most: one among ten thousand must be seen.
uint8_t heat_of(uint32_t count, double log_most);

// Where round times before the newest column stand: the columns, and what to write there ("-10s", "-60s", "-5m"). At
// least `apart` columns lie between two. Returns how many.
struct heat_tick {
    int column;
    char text[16];
};
int heat_ticks(const struct heat_data *data, int apart, struct heat_tick *out, int max);

#endif
