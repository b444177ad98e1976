// The data of a heat map: the counts of its cells over the frames of the window. Shared by the screen (heat_draw.h) and
// the SVG writer (heat_svg.h); draws nothing.
#ifndef VIEWS_HEAT_DATA_H
#define VIEWS_HEAT_DATA_H

#include "views/hist/scale.h"
#include "views/hist/select.h"

#define HEAT_LOW 16 // heat of a count of one: visible beside an empty cell

struct heat_column {
    const struct frame *frame; // the newest frame of the column; NULL: none is kept
    uint64_t below, above;     // values off the axis
};

struct heat_data {
    // input
    uint64_t group; // frames per column; 0: as many as fit all frames
    bool zoom;      // only values in [low, high), in the def's unit, of this measure
    double low, high;
    const char *zoom_set;
    // output of heat_load
    int columns, rows;   // 0: nothing to show
    uint64_t per_column; // frames
    uint64_t last_group; // number / per_column of the newest column
    uint32_t most;       // the largest count of a cell
    struct hist_scale scale;
    uint32_t *counts; // by column; rows from the smallest values up
    size_t capacity;
    struct heat_column *column;
    size_t column_capacity;
};

// False if no frame has such a value.
bool heat_range(const struct part_context *ctx, uint64_t *min, uint64_t *max);
// Counts into at most `columns` columns and `rows` rows. ctx->state begins with a struct hist_select.
void heat_load(struct part_context *ctx, struct heat_data *data, const struct hist_def *def, int columns, int rows);
void heat_free(struct heat_data *data);
bool heat_is_zoomed(const struct part_context *ctx, const struct heat_data *data);

const uint32_t *heat_counts(const struct heat_data *data, int column);
uint64_t heat_total(const struct heat_data *data, int column); // values off the axis included
// The column of a frame; -1: outside. A column holds the frames with equal number / per_column, so it does not change
// when the map scrolls.
int heat_column_of(const struct heat_data *data, const struct frame *frame);
// The row that holds the quantile of a column, by nearest rank; -1 for an empty column and off the axis.
int heat_quantile_row(const struct heat_data *data, int column, double q);
// Heat on a logarithmic scale from one to the largest count: one among ten thousand stays visible.
uint8_t heat_of(uint32_t count, double log_most);

// Columns of round ages before the newest column, with their labels ("-10s", "-60s", "-5m"), at least `apart` columns
// apart. Returns how many.
struct heat_tick {
    int column;
    char text[16];
};
int heat_ticks(const struct heat_data *data, int apart, struct heat_tick *out, int max);

#endif
