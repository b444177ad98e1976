// Draws and writes meters. A meter reads only what its row of data names; a value that the frame lacks is "-", and the
// data of a late collector is shown as stale.
#include "views/part_gauge.h"

#include <math.h>
#include <string.h>

#include "model/column.h"
#include "views/bar.h"
#include "views/escape.h"

#define LABEL_WIDTH 10
#define TEXT_WIDTH 18
#define SPARK_FROM 24 // a bar of at least this length gives half of its cells to the sparkline
#define GAUGE_WIDTH 38
#define GAUGE_WIDTH_MANY 54 // from the third one side by side on: a sparkline rather than one more meter

// Where a series was found last: the next frame mostly has it at the same place.
struct place {
    size_t section, index;
};

struct reading {
    double values[GAUGE_VALUES], sum;    // sum: of the values that are not quiet; NAN: nothing was measured
    double shown;                        // the value of the bar: the sum, or the first value
    double full;                         // NAN or 0: no full scale
    enum unit units[GAUGE_VALUES], unit; // unit: of the value being read, then of the sum
    bool stale;
    char key[32]; // of the largest row
};

static double series_at(const struct frame *frame, const char *name, size_t section, size_t index,
                        const struct series_def **def) {
    if (section >= frame->n_sections || index >= section_n_series(frame->sections[section]))
        return *def = NULL, NAN;
    double value = section_series_at(frame->sections[section], index, def);
    if (strcmp((*def)->name, name) != 0)
        *def = NULL;
    return value;
}

static double read_series(const struct frame *frame, const char *name, struct place *place, struct reading *out) {
    const struct series_def *def;
    double value = series_at(frame, name, place->section, place->index, &def);
    for (size_t s = 0; !def && s < frame->n_sections; s++)
        for (size_t i = 0; !def && i < section_n_series(frame->sections[s]); i++) {
            value = series_at(frame, name, s, i, &def);
            if (def)
                *place = (struct place){s, i};
        }
    if (!def)
        return NAN;
    out->unit = def->unit;
    out->stale |= frame->stale_ns[place->section] != 0;
    return value;
}

static double read_table(const struct frame *frame, const struct gauge_value *value, struct reading *out) {
    const struct table *table = frame_table(frame, value->table);
    const struct table *better = value->better ? frame_table(frame, value->better) : NULL;
    int column = table ? table_column(table_def(table), value->column) : -1;
    double result = NAN;
    const union cell *row;
    if (column < 0)
        return NAN;
    const struct column *key = &table_def(table)->columns[0];
    out->unit = table_def(table)->columns[column].unit;
    for (size_t cursor = 0; (row = table_next(table, &cursor));) {
        double num = row[column].num;
        if (isnan(num))
            continue;
        if (num > 0) // idle rows are not looked up
            num = table_better(better, row, value->column, num);
        if (!value->largest) {
            result = isnan(result) ? num : result + num;
        } else if (!(num <= result)) { // also if there is no result yet
            char text[32];
            size_t n = num > 0 ? column_format(key, row[0], text, sizeof text) : 0;
            result = num;
            escape_text(text, n, out->key, sizeof out->key);
        }
    }
    return result;
}

static void gauge_read(const struct gauge *gauge, const struct frame *frame, struct place *places,
                       struct reading *out) {
    *out = (struct reading){.sum = NAN, .shown = NAN, .full = gauge->full};
    for (int i = 0; i < GAUGE_VALUES; i++) {
        const struct gauge_value *value = &gauge->values[i];
        if (!value->series && !value->table)
            break;
        out->unit = UNIT_NONE;
        double v = value->series ? read_series(frame, value->series, &places[i], out) : read_table(frame, value, out);
        out->values[i] = v;
        out->units[i] = out->unit;
        if (!value->quiet && !isnan(v))
            out->sum = isnan(out->sum) ? v : out->sum + v;
    }
    out->unit = out->units[0];
    out->shown = gauge->apart ? out->values[0] : out->sum;
    if (gauge->of) {
        out->full = read_series(frame, gauge->of, &places[GAUGE_VALUES], out);
        out->unit = out->units[0];
    }
}

static bool has_bar(const struct gauge *gauge) {
    return gauge->of || gauge->full > 0;
}

// ---- text ----

static void value_text(enum unit unit, double value, char *out, size_t size) {
    size_t n = unit_format(unit, value, out, size);
    if (unit == UNIT_PCT && !isnan(value) && n + 1 < size)
        strcpy(out + n, "%");
    else if (unit == UNIT_BYTES_PER_S && !isnan(value) && n + 2 < size)
        strcpy(out + n, "/s");
}

static void gauge_text(const struct gauge *gauge, const struct reading *reading, char *out, size_t size) {
    char value[32], full[32];
    size_t used = 0;
    out[0] = '\0';
    if (gauge->text == GAUGE_TOTAL) {
        value_text(reading->unit, reading->sum, value, sizeof value);
        if (gauge->of && reading->full == 0)
            snprintf(out, size, "none");
        else if (gauge->of && !(isnan(reading->sum) && isnan(reading->full))) {
            value_text(reading->unit, reading->full, full, sizeof full);
            snprintf(out, size, "%s of %s", value, full);
        } else
            snprintf(out, size, "%s%s%s", reading->key, reading->key[0] ? " " : "", value);
        return;
    }
    for (int i = 0; i < GAUGE_VALUES && (gauge->values[i].series || gauge->values[i].table) && used < size; i++) {
        const char *name = gauge->values[i].name;
        if (gauge->values[i].quiet)
            continue;
        value_text(reading->units[i], reading->values[i], value, sizeof value);
        int n =
            snprintf(out + used, size - used, "%s%s%s%s", used ? " " : "", name ? name : "", name ? " " : "", value);
        used += n > 0 ? (size_t)n : 0;
    }
}

// ---- drawing ----

static enum role text_role(const struct gauge *gauge, const struct reading *reading) {
    double share = reading->full > 0 ? reading->shown / reading->full : NAN;
    if (reading->stale)
        return ROLE_STALE;
    if (gauge->critical > 0 && share >= gauge->critical)
        return ROLE_CRITICAL;
    if (gauge->warning > 0 && share >= gauge->warning)
        return ROLE_WARNING;
    return ROLE_TEXT;
}

static void draw_bar(struct area area, int x, int width, const struct gauge *gauge, const struct reading *reading) {
    struct bar_segment segments[GAUGE_VALUES];
    int n = 0;
    for (; n < (gauge->apart ? 1 : GAUGE_VALUES) && (gauge->values[n].series || gauge->values[n].table); n++)
        segments[n] = (struct bar_segment){
            .share = reading->full > 0 ? reading->values[n] / reading->full : NAN,
            .role = reading->stale ? ROLE_STALE : gauge->values[n].role,
            .ascii = gauge->values[n].ascii ? gauge->values[n].ascii : '|',
            .shaded = gauge->values[n].quiet,
        };
    area_char(area, x, 0, ROLE_DIM, '[');
    area_char(area, x + width - 1, 0, ROLE_DIM, ']');
    bar_stack(area, x + 1, 0, width - 2, segments, n);
}

// The previous frames, newest at the right, relative to the full scale or to the largest value.
static void draw_spark(struct area area, int x, int width, const struct gauge *gauge, const struct look *look,
                       struct place *places) {
    double shares[512], largest = 0;
    int n = width < 512 ? width : 512;
    if (n > (int)look->n_window)
        n = (int)look->n_window;
    for (int i = 0; i < n; i++) {
        struct reading reading;
        gauge_read(gauge, look->window[look->n_window - (size_t)n + (size_t)i], places, &reading);
        shares[i] = has_bar(gauge) ? reading.shown / reading.full : reading.shown;
        largest = fmax(largest, shares[i]);
    }
    for (int i = 0; i < n; i++) {
        double share = has_bar(gauge) ? shares[i] : largest > 0 ? shares[i] / largest : shares[i];
        spark_draw(area, x + width - n + i, 0, share, gauge->values[0].role);
    }
}

static void gauge_draw_one(struct area area, const struct gauge *gauge, const struct look *look) {
    struct place places[GAUGE_VALUES + 1] = {0};
    struct reading reading;
    char text[96];

    gauge_read(gauge, look->frame, places, &reading);
    gauge_text(gauge, &reading, text, sizeof text);
    area_text(area, 0, 0, ROLE_HEADER, gauge->label);
    int bar = area.width - LABEL_WIDTH - 1 - TEXT_WIDTH;
    int need = text_width(text), x = area.width - TEXT_WIDTH;
    if (need > TEXT_WIDTH) { // a long value takes cells from the bar
        bar -= need - TEXT_WIDTH;
        x = area.width - need;
    }
    if (bar < 4) { // too short for a bar
        bar = 0;
        x = LABEL_WIDTH;
    }
    area_text(area, x, 0, text_role(gauge, &reading), text);
    if (!bar)
        return;
    int spark = !has_bar(gauge) ? bar : bar >= SPARK_FROM ? bar / 2 - 1 : 0;
    if (has_bar(gauge))
        draw_bar(area, LABEL_WIDTH, spark ? bar - spark - 1 : bar, gauge, &reading);
    if (spark)
        draw_spark(area, LABEL_WIDTH + bar - spark, spark, gauge, look, places);
}

static int gauge_count(const struct gauge_spec *spec) {
    int n = 0;
    while (spec->gauges[n].label)
        n++;
    return n;
}

// The number of meters side by side.
static int gauge_columns(const struct gauge_spec *spec, int width) {
    int n = gauge_count(spec), columns = (width + 2) / (GAUGE_WIDTH + 2);
    if (columns > 2)
        columns = (width + 2) / (GAUGE_WIDTH_MANY + 2) > 2 ? (width + 2) / (GAUGE_WIDTH_MANY + 2) : 2;
    if (columns < 1 || n < 1)
        return 1;
    int rows = (n + columns - 1) / columns;
    return (n + rows - 1) / rows; // the smallest number that fits these rows
}

static int gauge_height(struct part_context *ctx, int width) {
    const struct gauge_spec *spec = ctx->part->spec;
    int columns = gauge_columns(spec, width);
    return (gauge_count(spec) + columns - 1) / columns;
}

static void gauge_draw(struct part_context *ctx) {
    const struct gauge_spec *spec = ctx->part->spec;
    int n = gauge_count(spec), columns = gauge_columns(spec, ctx->area.width);
    int rows = (n + columns - 1) / columns, width = (ctx->area.width + 2) / columns;
    if (!ctx->look->frame)
        return;
    for (int i = 0; i < n; i++)
        gauge_draw_one(area_sub(ctx->area, i / rows * width, i % rows, width - 2, 1), &spec->gauges[i], ctx->look);
}

// ---- files: a line each; the series themselves are written for the whole pane ----

static void gauge_write_text(struct part_context *ctx, FILE *out) {
    const struct gauge_spec *spec = ctx->part->spec;
    for (const struct gauge *gauge = spec->gauges; gauge->label && ctx->look->frame; gauge++) {
        struct place places[GAUGE_VALUES + 1] = {0};
        struct reading reading;
        char text[96];
        gauge_read(gauge, ctx->look->frame, places, &reading);
        gauge_text(gauge, &reading, text, sizeof text);
        fprintf(out, "  %-9s %s%s\n", gauge->label, text, reading.stale ? " (stale)" : "");
    }
}

static void gauge_describe(const struct part *part, const struct frame *schema, FILE *out) {
    const struct gauge_spec *spec = part->spec;
    (void)schema;
    for (const struct gauge *gauge = spec->gauges; gauge->label; gauge++)
        fprintf(out, "  %-26s %s\n", gauge->label, gauge->help);
}

static size_t gauge_sources(const struct part *part, const char **names, size_t max) {
    const struct gauge_spec *spec = part->spec;
    size_t n = 0;
    for (const struct gauge *gauge = spec->gauges; gauge->label && n < max; gauge++)
        names[n++] = gauge->values[0].series ? gauge->values[0].series : gauge->values[0].table;
    return n;
}

static bool gauge_shows(const struct part *part, const void *state, const char *name) {
    const struct gauge_spec *spec = part->spec;

    (void)state;
    for (const struct gauge *gauge = spec->gauges; gauge->label; gauge++)
        for (int i = 0; i < GAUGE_VALUES && (gauge->values[i].series || gauge->values[i].table); i++)
            if (!strcmp(gauge->values[i].series ? gauge->values[i].series : gauge->values[i].column, name))
                return true;
    return false;
}

const struct part_kind part_gauge = {
    .height = gauge_height,
    .draw = gauge_draw,
    .write_text = gauge_write_text,
    .describe = gauge_describe,
    .sources = gauge_sources,
    .shows = gauge_shows,
};
