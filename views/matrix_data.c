// Orders the items, places them, and reads their values from the tables of frames.
#include "views/matrix_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define HEAT_LOWEST 40 // dark blue on black is invisible
#define COLUMNS_MAX 4

static void reserve(struct matrix_data *data, size_t n) {
    if (!data->place)
        data->place = xcalloc(MATRIX_IDS_MAX, sizeof(*data->place));
    if (n <= data->capacity)
        return;
    data->id = xrealloc(data->id, n * sizeof(*data->id));
    data->group = xrealloc(data->group, n * sizeof(*data->group));
    data->row = xrealloc(data->row, n * sizeof(*data->row));
    data->each = xrealloc(data->each, n * sizeof(*data->each));
    data->column = xrealloc(data->column, n * sizeof(*data->column));
    data->capacity = n;
}

static double *values_reserve(struct matrix_data *data, size_t n) {
    if (n > data->values_capacity) {
        data->values = xrealloc(data->values, n * sizeof(*data->values));
        data->values_capacity = n;
    }
    for (size_t i = 0; i < n; i++)
        data->values[i] = MATRIX_ABSENT;
    return data->values;
}

void matrix_free(struct matrix_data *data) {
    free(data->id);
    free(data->group);
    free(data->row);
    free(data->column);
    free(data->each);
    free(data->place);
    free(data->values);
    *data = (struct matrix_data){0};
}

static bool stands_before(const struct matrix_data *data, int a, double group, int id) {
    bool known = !isnan(group), other = !isnan(data->group[a]);
    if (known && other && data->group[a] != group)
        return data->group[a] < group;
    return known != other ? other : data->id[a] < id;
}

// Tables mostly have their rows in ID order, so each item finds its place at once.
static void insert(struct matrix_data *data, int id, double group) {
    int at = data->n++;
    for (; at > 0 && !stands_before(data, at - 1, group, id); at--) {
        data->id[at] = data->id[at - 1];
        data->group[at] = data->group[at - 1];
    }
    data->id[at] = id;
    data->group[at] = group;
}

bool matrix_things(struct matrix_data *data, const struct matrix_spec *spec, const struct frame *frame) {
    const struct table *table = frame ? frame_table(frame, spec->measures[0].table) : NULL;
    size_t cursor = 0;
    data->n = data->n_groups = 0;
    if (!table || !table_rows(table))
        return false;
    reserve(data, table_rows(table));
    memset(data->place, 0xff, MATRIX_IDS_MAX * sizeof(*data->place));
    int group = spec->group ? table_column(table_def(table), spec->group) : -1;
    for (const union cell *row; (row = table_next(table, &cursor));)
        if (row[0].num >= 0 && row[0].num < MATRIX_IDS_MAX)
            insert(data, (int)row[0].num, group >= 0 ? row[group].num : NAN);
    for (int i = 0; i < data->n; i++) {
        data->place[data->id[i]] = (int16_t)i;
        data->n_groups += !i || (!isnan(data->group[i]) && data->group[i] != data->group[i - 1]);
    }
    return data->n > 0;
}

// Each group begins a new row. Returns the number of rows.
static int place(struct matrix_data *data, int per_row, int per_cell) {
    int row = 0, within = 0; // items in this row so far
    for (int i = 0; i < data->n; i++) {
        bool new_group = data->grouped && i && !isnan(data->group[i]) && data->group[i] != data->group[i - 1];
        if (new_group || within == per_row * per_cell) {
            row++;
            within = 0;
        }
        data->row[i] = row;
        data->column[i] = within / per_cell;
        within++;
    }
    data->per_row = per_row;
    data->per_cell = per_cell;
    data->rows = row + 1;
    return data->rows;
}

static int power_below(int n) {
    int power = 1;
    while (power * 2 <= n)
        power *= 2;
    return power;
}

void matrix_layout(struct matrix_data *data, int width, int height) {
    data->grouped = data->n_groups <= height; // otherwise a group would have no row
    static const int widths[] = {4, 2, 1};
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        data->width = widths[i];
        // A blank after every eighth cell, so that IDs can be found by counting.
        int per_row = power_below((width * 8) / (widths[i] * 8 + 1));
        if (place(data, per_row < 1 ? 1 : per_row, 1) <= height)
            return;
    }
    while (data->rows > height && data->per_cell < data->n)
        place(data, data->per_row, data->per_cell * 2);
}

void matrix_layout_rows(struct matrix_data *data, int height) {
    data->grouped = data->n_groups <= height;
    data->width = 1;
    place(data, 1, 1);
    while (data->rows > height && data->per_cell < data->n)
        place(data, 1, data->per_cell + 1);
}

// ---- values ----

struct source {
    const struct table *table;
    int columns[COLUMNS_MAX];
    int n;
    bool rest;
};

static bool source_open(struct source *source, const struct matrix_measure *measure, const struct frame *frame) {
    char names[128], *save;
    *source = (struct source){.table = frame ? frame_table(frame, measure->table) : NULL, .rest = measure->rest};
    if (!source->table)
        return false;
    snprintf(names, sizeof(names), "%s", measure->columns);
    for (char *name = strtok_r(names, " ", &save); name && source->n < COLUMNS_MAX; name = strtok_r(NULL, " ", &save)) {
        int column = table_column(table_def(source->table), name);
        if (column < 0)
            return false;
        source->columns[source->n++] = column;
    }
    return source->n > 0;
}

static double source_value(const struct source *source, const union cell *row) {
    double sum = 0;
    for (int i = 0; i < source->n; i++)
        sum += row[source->columns[i]].num;
    return !source->rest ? sum : sum > 100 ? 0 : 100 - sum;
}

static void keep_highest(double *cell, double value) {
    if (isnan(value) ? *cell == MATRIX_ABSENT : !(*cell >= value))
        *cell = value;
}

static void full_set(struct matrix_data *data, const struct matrix_measure *measure, size_t n) {
    data->full = measure->full;
    for (size_t i = 0; measure->full == 0 && i < n; i++)
        if (data->values[i] > data->full)
            data->full = data->values[i];
}

static int place_of(const struct matrix_data *data, double id) {
    return id >= 0 && id < MATRIX_IDS_MAX ? data->place[(int)id] : -1;
}

void matrix_load(struct matrix_data *data, const struct matrix_measure *measure, const struct frame *frame) {
    size_t n = (size_t)data->rows * (size_t)data->per_row, cursor = 0;
    double *values = values_reserve(data, n);
    struct source source;
    bool there = source_open(&source, measure, frame);
    for (const union cell *row; there && (row = table_next(source.table, &cursor));) {
        int i = place_of(data, row[0].num);
        if (i >= 0)
            keep_highest(&values[data->row[i] * data->per_row + data->column[i]], source_value(&source, row));
    }
    full_set(data, measure, n);
}

void matrix_load_frames(struct matrix_data *data, const struct matrix_measure *measure,
                        const struct frame *const *frames, int columns) {
    size_t n = (size_t)data->rows * (size_t)columns;
    double *values = values_reserve(data, n);
    for (int column = 0; column < columns; column++) {
        struct source source;
        size_t cursor = 0;
        if (!source_open(&source, measure, frames[column]))
            continue;
        for (const union cell *row; (row = table_next(source.table, &cursor));) {
            int i = place_of(data, row[0].num);
            if (i >= 0)
                keep_highest(&values[data->row[i] * columns + column], source_value(&source, row));
        }
    }
    full_set(data, measure, n);
}

void matrix_load_each(struct matrix_data *data, const struct matrix_measure *measure, const struct frame *frame) {
    struct source source;
    size_t cursor = 0;
    for (int i = 0; i < data->n; i++)
        data->each[i] = NAN;
    bool there = source_open(&source, measure, frame);
    for (const union cell *row; there && (row = table_next(source.table, &cursor));) {
        int i = place_of(data, row[0].num);
        if (i >= 0)
            data->each[i] = source_value(&source, row);
    }
}

double matrix_value(const struct matrix_measure *measure, const struct frame *frame, int id) {
    struct source source;
    union cell key = {.num = id};
    if (!source_open(&source, measure, frame))
        return NAN;
    const union cell *row = table_find(source.table, &key);
    return row ? source_value(&source, row) : NAN;
}

// ---- how it looks ----

static double share_of(double value, double full) {
    return !(value > 0) || !(full > 0) ? 0 : value >= full ? 1 : value / full;
}

uint8_t matrix_heat(double value, double full) {
    double share = share_of(value, full);
    return share > 0 ? (uint8_t)(HEAT_LOWEST + share * (255 - HEAT_LOWEST)) : 0;
}

int matrix_step(double value, double full) {
    double share = share_of(value, full);
    return share > 0 ? 1 + (int)(share * (MATRIX_STEPS - 0.001)) : 0;
}

void matrix_number(enum unit unit, double value, char out[8]) {
    static const char suffixes[] = " kMGTP";
    int suffix = 0;
    if (isnan(value)) {
        snprintf(out, 8, "-");
        return;
    }
    bool small = unit == UNIT_RATIO || unit == UNIT_NONE;
    for (; value >= 999.5 && suffix < 5; suffix++)
        value /= 1000;
    if (suffix && value >= 99.5 && suffix < 5) { // four characters: the next suffix
        snprintf(out, 8, ".%.0f%c", fmin(9, round(value / 100)), suffixes[suffix + 1]);
        return;
    }
    if (suffix)
        snprintf(out, 8, "%.0f%c", value, suffixes[suffix]);
    else
        snprintf(out, 8, "%.*f", small && value < 9.95 ? 1 : 0, value);
}
