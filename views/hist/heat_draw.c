// Draws a heat map on a screen. Everything that a colour says a character says too: shades with Unicode, a ramp of
// characters in ASCII; colours only make it finer.
#include "views/hist/heat_draw.h"

#include <math.h>
#include <string.h>

#include "views/write.h"

#define TICK_APART 9
#define TICKS_MAX 64

static const char ascii_ramp[] = ".:-=+*#%@";
static const uint32_t shades[] = {0x2591, 0x2592, 0x2593, 0x2588};

static int heat_levels(bool ascii) {
    return ascii ? (int)sizeof ascii_ramp - 1 : (int)(sizeof shades / sizeof *shades);
}

static int heat_level(uint8_t heat, bool ascii) {
    return (heat - HEAT_LOW) * heat_levels(ascii) / (256 - HEAT_LOW);
}

uint32_t heat_char(uint8_t heat, bool ascii) {
    int level = heat_level(heat, ascii);
    return ascii ? (uint32_t)ascii_ramp[level] : shades[level];
}

// Labels of round values at the axis, the largest on top; every row when they are far apart, else every few.
void heat_draw_axis(struct area area, const struct heat_data *data, const struct hist_def *def) {
    int rows = data->rows, every = rows > 12 ? rows > 30 ? 4 : 2 : 1;
    for (int row = 0; row < rows; row++) {
        char label[16] = "";
        if (row % every == 0)
            hist_scale_edge(&data->scale, def, row, label);
        area_printf(area, 0, rows - 1 - row, ROLE_DIM, "%6s", label);
        area_char(area, HEAT_LABEL_WIDTH - 1, rows - 1 - row, ROLE_DIM, 0x2502);
    }
}

void heat_draw_cells(struct area area, const struct heat_data *data, bool marks) {
    bool ascii = area.grid->ascii;
    double log_most = log(data->most);
    for (int column = 0; column < data->columns; column++) {
        const uint32_t *counts = heat_counts(data, column);
        if (!data->column[column].frame)
            continue;
        for (int row = 0; row < data->rows; row++) {
            if (!counts[row])
                continue;
            uint8_t heat = heat_of(counts[row], log_most);
            area_heat(area, HEAT_LABEL_WIDTH + column, data->rows - 1 - row, heat, heat_char(heat, ascii));
        }
        int p50 = marks ? heat_quantile_row(data, column, 0.5) : -1;
        int p99 = marks ? heat_quantile_row(data, column, 0.99) : -1;
        if (p99 >= 0)
            area_char(area, HEAT_LABEL_WIDTH + column, data->rows - 1 - p99, ROLE_WARNING, '9');
        if (p50 >= 0)
            area_char(area, HEAT_LABEL_WIDTH + column, data->rows - 1 - p50, ROLE_INFO, '5');
    }
}

void heat_draw_times(struct area area, const struct heat_data *data, int y, bool live) {
    const struct frame *last = data->column[data->columns - 1].frame;
    struct heat_tick ticks[TICKS_MAX];
    char clock[CLOCK_SIZE] = "now";
    if (!last || data->columns < 6)
        return;
    if (!live) // rewound: the map ends at the time of the frame that is looked at
        clock_write(last->wall.tv_sec, clock);
    int n = heat_ticks(data, TICK_APART, ticks, TICKS_MAX), end = HEAT_LABEL_WIDTH + data->columns - (int)strlen(clock);
    area_text(area, end, y, ROLE_DIM, clock);
    for (int i = 0; i < n; i++) { // each ends at its column
        int width = (int)strlen(ticks[i].text), x = HEAT_LABEL_WIDTH + ticks[i].column + 1 - width;
        if (x >= 0 && x + width < end)
            area_text(area, x, y, ROLE_DIM, ticks[i].text);
    }
}

void heat_draw_legend(struct area area, int y, uint32_t most, const char *right) {
    bool ascii = area.grid->ascii;
    double log_most = log(most);
    char text[24];
    int x = 0, end = area.width;
    size_t length = strlen(right);
    if (length && (int)length + (ascii ? 46 : 26) <= end) {
        end -= (int)length;
        area_text(area, end, y, ROLE_TEXT, right);
        end -= 2;
    }
    for (int level = 0; level < heat_levels(ascii); level++) {
        // The smallest count of the level, when there is one.
        double share = (ceil(level * (256.0 - HEAT_LOW) / heat_levels(ascii))) / (255 - HEAT_LOW);
        uint32_t count = (uint32_t)fmax(1, floor(exp(share * log_most)));
        while (count < most && heat_level(heat_of(count, log_most), ascii) < level)
            count++;
        uint8_t heat = heat_of(count, log_most);
        if (heat_level(heat, ascii) != level)
            continue;
        length = unit_format(UNIT_COUNT, count, text, sizeof text);
        if (x + 2 + (int)length > end)
            return;
        area_heat(area, x, y, heat, heat_char(heat, ascii));
        area_text(area, x + 1, y, ROLE_DIM, text);
        x += 2 + (int)length;
    }
    length = unit_format(UNIT_COUNT, most, text, sizeof text);
    if (most && x + (int)length + 12 <= end)
        area_printf(area, x, y, ROLE_DIM, "most %s a cell", text);
}
