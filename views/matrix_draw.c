// Draws the pieces of a matrix (see the header).
#include "views/matrix_draw.h"

#include <math.h>
#include <string.h>

static const char ascii_ramp[] = ".:-=+*%#@";

static uint32_t step_char(int step, bool ascii) {
    return ascii ? (uint32_t)ascii_ramp[step] : step ? 0x2580 + (uint32_t)step : 0xb7;
}

void matrix_draw_value(struct area area, int x, int y, double value, double full) {
    int step = matrix_step(value, full);
    if (value == MATRIX_ABSENT)
        return;
    if (isnan(value))
        area_char(area, x, y, ROLE_DIM, '?');
    else if (!step)
        area_char(area, x, y, ROLE_DIM, step_char(0, area.grid->ascii));
    else
        area_heat(area, x, y, matrix_heat(value, full), step_char(step, area.grid->ascii));
}

void matrix_draw_mark(struct area area, int x, int y, int width) {
    for (int i = 0; i < width; i++) {
        struct grid_cell *cell = area_cell(area, x + i, y);
        if (!cell)
            continue;
        cell->role = ROLE_CURSOR;
        cell->ch = cell->ch == 0x2588 ? '+' : cell->ch; // a full block would hide the cursor's own colour
    }
}

void matrix_draw_legend(struct area area, const struct matrix_spec *spec, const struct matrix_measure *measure,
                        struct matrix_data *data, const struct frame *frame, int y) {
    double highest = NAN, sum = 0;
    int at = 0, measured = 0;
    matrix_load_each(data, measure, frame);
    for (int i = 0; i < data->n; i++) {
        double value = data->each[i];
        if (isnan(value))
            continue;
        sum += value;
        measured++;
        if (!(highest >= value)) {
            highest = value;
            at = data->id[i];
        }
    }
    if (!measured) {
        area_printf(area, 0, y, ROLE_DIM, "%s: not measured on any %s", measure->name, spec->thing);
        return;
    }
    char text[96], high[24], mean[24];
    unit_format(measure->unit, highest, high, sizeof(high));
    unit_format(measure->unit, sum / measured, mean, sizeof(mean));
    int length = snprintf(text, sizeof(text), "mean %s  highest %s: %s %d", mean, high, spec->thing, at);
    int end = area.width - length < 0 ? 0 : area.width - length, x = 0;
    area_text(area, end, y, ROLE_TEXT, text);
    if ((int)strlen(measure->name) < end)
        x = area_printf(area, 0, y, ROLE_DIM, "%s ", measure->name);
    for (int step = 0; step <= MATRIX_STEPS && x + 8 < end; step++) {
        double from = step ? data->full * (step - 1) / MATRIX_STEPS : 0;
        char number[8];
        matrix_number(measure->unit, from, number);
        if (step == 1) // just above zero
            snprintf(number, sizeof(number), ">0");
        matrix_draw_value(area, x, y, step ? from + data->full / MATRIX_STEPS / 2 : 0, data->full);
        x += 2 + area_text(area, x + 1, y, ROLE_DIM, number);
    }
}
