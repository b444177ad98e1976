// The fields part: see the header. Labels are the columns' and series' own titles, so they are the same everywhere.
#include "views/part_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define FIELDS_MAX 64
#define FIELD_WIDTH 26
#define FIELD_TIGHT 18 // minimum, so that two fit side by side
#define GAP 2
#define FILE_WIDTH 110

struct field {
    char label[24];
    const char *name;
    struct column column; // for a series: made from its definition
    union cell value;
};

struct fields_state {
    struct rows rows;
    struct field fields[FIELDS_MAX];
    size_t n;
};

static const struct fields_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static void done(void *state, const struct part *part) {
    struct fields_state *self = state;

    (void)part;
    rows_done(&self->rows);
}

// Adds a field; label NULL: its title.
static void add_field(struct fields_state *self, const char *label, const struct column *column, union cell value) {
    struct field *field = &self->fields[self->n];

    if (self->n == FIELDS_MAX)
        return;
    self->n++;
    *field = (struct field){.name = column->name, .column = *column, .value = value};
    if (!label)
        label = column_title(column);
    snprintf(field->label, sizeof(field->label), "%s", label);
}

static void add_column(struct fields_state *self, const char *label, uint16_t column) {
    const struct join *join = self->rows.join;
    const struct column *c = join->columns[column];

    add_field(self, label, c, self->rows.n ? join_cell(join, rows_at(&self->rows, 0), column) : cell_null(c->type));
}

// "name" or "name=label": cuts the name off, and returns the label or NULL.
static char *split_label(char *name) {
    char *label = strchr(name, '=');

    if (!label)
        return NULL;
    *label++ = '\0';
    for (char *c = label; *c; c++)
        if (*c == '_')
            *c = ' ';
    return label;
}

static void add_named(struct fields_state *self, const struct frame *frame, char *name) {
    const struct series_def *def = NULL;
    const char *label = split_label(name);
    int column = self->rows.join ? join_column(self->rows.join, name) : -1;

    if (column >= 0) {
        add_column(self, label, (uint16_t)column);
        return;
    }
    union cell value = {.num = frame_series(frame, name, &def)};
    if (!def)
        return;
    struct column like = {.name = def->name, .title = def->title, .help = def->help, .unit = def->unit};
    add_field(self, label, &like, value);
}

// Collects the fields of this frame. The filter does not apply: fields are not rows.
static void load(struct part_context *ctx) {
    struct fields_state *self = ctx->state;
    const struct fields_spec *spec = spec_of(ctx);
    const struct frame *frame = ctx->look ? ctx->look->frame : NULL;
    char *save;

    self->n = 0;
    if (!frame)
        return;
    rows_load(&self->rows, &spec->source, frame, NULL, NULL, false);
    if (!spec->shown) {
        for (uint16_t i = 0; self->rows.join && i < self->rows.join->n_columns; i++)
            add_column(self, NULL, i);
        return;
    }
    char *names = xstrdup(spec->shown);
    for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save))
        add_named(self, frame, name);
    free(names);
}

static int columns_in(const struct part_context *ctx, int width) {
    int field = spec_of(ctx)->width ? spec_of(ctx)->width : FIELD_WIDTH;
    int columns = (width + GAP) / (field + GAP);

    // Two tight columns show twice as much as a loose one.
    if (columns < 2)
        columns = width >= 2 * FIELD_TIGHT + GAP ? 2 : 1;
    return columns;
}

static int field_width(const struct part_context *ctx, int width) {
    int field = spec_of(ctx)->width ? spec_of(ctx)->width : FIELD_WIDTH;
    int most = (width + GAP) / columns_in(ctx, width) - GAP;

    return field > most ? most : field;
}

static int height(struct part_context *ctx, int width) {
    struct fields_state *self = ctx->state;

    load(ctx);
    int columns = columns_in(ctx, width);
    return self->n ? (int)(self->n + (size_t)columns - 1) / columns : 1;
}

static void draw_field(struct part_context *ctx, struct area area, const struct field *field) {
    const struct fields_spec *spec = spec_of(ctx);
    char text[256];
    enum role role = ROLE_TEXT;

    cell_text(&field->column, field->value, text, sizeof(text));
    if (cell_is_null(&field->column, field->value))
        role = ROLE_DIM;
    else if (spec->role && field->column.type == COLUMN_NUMBER)
        role = spec->role(field->name, field->value.num);
    int width = text_width(text), x = area.width - width;
    area_text(area, 0, 0, ROLE_DIM, field->label);
    if (x > 0)
        area_text(area, x - 1, 0, role, " ");
    area_text(area, x < 0 ? 0 : x, 0, role, text);
}

static void draw(struct part_context *ctx) {
    struct fields_state *self = ctx->state;
    int width = field_width(ctx, ctx->area.width), columns = columns_in(ctx, ctx->area.width);

    load(ctx);
    if (!self->n) {
        area_text(ctx->area, 1, 0, ROLE_DIM, "not available");
        return;
    }
    int rows = (int)(self->n + (size_t)columns - 1) / columns;
    bool fits = rows <= ctx->area.height;
    for (size_t i = 0; i < self->n; i++) {
        // Down the columns while there is room; else along the rows, so that the most important stay.
        int x = fits ? (int)i / rows : (int)i % columns, y = fits ? (int)i % rows : (int)i / columns;
        draw_field(ctx, area_sub(ctx->area, x * (width + GAP), y, width, 1), &self->fields[i]);
    }
}

// ---- files ----

static void write_text(struct part_context *ctx, FILE *out) {
    struct fields_state *self = ctx->state;
    char text[256];
    int used = 0;

    load(ctx);
    for (size_t i = 0; i < self->n; i++) {
        const struct field *field = &self->fields[i];
        cell_text(&field->column, field->value, text, sizeof(text));
        int width = text_width(field->label) + 1 + text_width(text);
        if (used && used + width + 2 > FILE_WIDTH) {
            fputc('\n', out);
            used = 0;
        }
        fprintf(out, "%s%s %s", used ? ", " : "  ", field->label, text);
        used += width + 2;
    }
    fputs(self->n ? "\n" : "  not available\n", out);
}

static void write_csv(struct part_context *ctx, FILE *out) {
    struct fields_state *self = ctx->state;

    load(ctx);
    rows_write_csv(&self->rows, ctx, ctx->part->name, out);
}

static void write_json(struct part_context *ctx, struct json_object *pane) {
    struct fields_state *self = ctx->state;

    load(ctx);
    rows_write_json(&self->rows, ctx, ctx->part->name, false, pane);
}

static void describe_series(char *name, const struct frame *schema, FILE *out) {
    const struct series_def *def = NULL;

    split_label(name);
    frame_series(schema, name, &def);
    if (def)
        fprintf(out, "  %-26s %s\n", def->name, def->help ? def->help : "");
}

static void describe(const struct part *part, const struct frame *schema, FILE *out) {
    const struct fields_spec *spec = part->spec;
    char *names, *save;

    if (!schema)
        return;
    if (spec->source.tables[0]) {
        rows_describe(&spec->source, schema, part->name, out);
        return;
    }
    names = xstrdup(spec->shown ? spec->shown : "");
    for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save))
        describe_series(name, schema, out);
    free(names);
}

static bool shows(const struct part *part, const void *state, const char *name) {
    const struct fields_spec *spec = part->spec;

    (void)state;
    return !spec->shown || is_listed(spec->shown, name);
}

const struct part_kind part_fields = {
    .state_size = sizeof(struct fields_state),
    .done = done,
    .height = height,
    .draw = draw,
    .write_text = write_text,
    .write_csv = write_csv,
    .write_json = write_json,
    .describe = describe,
    .sources = rows_sources,
    .shows = shows,
};
