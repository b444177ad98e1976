// The row part (see the header): which row, and which of its pages.
#include "views/row/part_row.h"

#include <string.h>

#include "views/pane_parts.h"
#include "views/row/full.h"
#include "views/row/time.h"

#define HEADING_MAX 512

struct row_state {
    struct row_key key;
    char heading[HEADING_MAX];
    bool turned; // to the page in full, if there are both
    struct row_time time;
    struct row_full full;
};

static const struct row_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static void init(void *state, const struct part *part) {
    struct row_state *self = state;
    const struct row_spec *spec = part->spec;

    if (spec->shown)
        row_points_init(&self->time.points, spec->shown);
}

static void done(void *state, const struct part *part) {
    struct row_state *self = state;

    (void)part;
    row_key_forget(&self->key);
    row_points_done(&self->time.points);
    row_full_done(&self->full);
}

static void heading_make(struct row_state *self, const char *names, const struct join *join, size_t row) {
    char copy[HEADING_MAX], *save, text[HEADING_MAX];
    size_t used = 0;

    self->heading[0] = '\0';
    snprintf(copy, sizeof(copy), "%s", names);
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        int column = join_column(join, name);
        // An unknown key is a value too: "-".
        if (column < 0 || (cell_is_null(join->columns[column], join_cell(join, row, (uint16_t)column)) &&
                           column >= join->defs[0]->n_keys))
            continue;
        cell_text(join->columns[column], join_cell(join, row, (uint16_t)column), text, sizeof(text));
        bool words = join->columns[column]->type == COLUMN_TEXT && used;
        used += (size_t)snprintf(self->heading + used, sizeof(self->heading) - used, "%s%s%s%s", used ? "  " : "",
                                 words ? "" : column_title(join->columns[column]), words ? "" : " ", text);
        if (used >= sizeof(self->heading))
            return;
    }
}

static bool open_row(void *state, const struct part *part, const struct join *join, size_t row) {
    struct row_state *self = state;
    const struct row_spec *spec = part->spec;

    self->turned = false;
    self->full.top = 0;
    row_time_reset(&self->time);
    heading_make(self, spec->heading, join, row);
    if (!spec->source.stream)
        return row_key_take(&self->key, join, row, spec->same);
    row_key_take_event(&self->key, join, row);
    return true;
}

static bool is_full(const struct part_context *ctx) {
    return !spec_of(ctx)->shown || ((const struct row_state *)ctx->state)->turned;
}

static void load_time(struct part_context *ctx) {
    struct row_state *self = ctx->state;

    row_points_load(&self->time.points, &self->key, &spec_of(ctx)->source, ctx->look);
}

static void draw(struct part_context *ctx) {
    struct row_state *self = ctx->state;
    const struct row_spec *spec = spec_of(ctx);

    if (!self->key.n)
        return;
    if (is_full(ctx)) {
        if (row_full_draw(&self->full, &spec->source, &self->key, spec->lines, ctx->look->frame, ctx->area))
            return;
        area_text(ctx->area, 1, 0, ROLE_TEXT, self->heading);
        const char *unmeasured = part_unmeasured(ctx->part, ctx->look);
        area_text(ctx->area, 1, 1, ROLE_DIM,
                  unmeasured    ? unmeasured
                  : spec->shown ? "not in this list at this time: Left: its history"
                                : "not in this list at this time");
        return;
    }
    load_time(ctx);
    row_time_draw(&self->time, self->heading, ctx->area);
}

static int height(struct part_context *ctx, int width) {
    (void)ctx;
    (void)width;
    return 1 << 14; // all rows available
}

static void status(struct part_context *ctx, char *out, size_t size) {
    const struct row_state *self = ctx->state;
    const struct row_spec *spec = spec_of(ctx);

    if (is_full(ctx))
        snprintf(out, size, "%s%s%s%s%sEsc: back", spec->shown ? "Left: history, " : "",
                 row_full_scrolls(&self->full) ? "Up Down scroll, " : "", spec->jump.pane ? "Enter: " : "",
                 spec->jump.pane ? spec->jump.pane : "", spec->jump.pane ? ", " : "");
    else
        row_time_status(&self->time, out, size);
}

static bool key(struct part_context *ctx) {
    struct row_state *self = ctx->state;

    if (spec_of(ctx)->shown && (ctx->key == KEY_VIEW_LEFT || ctx->key == KEY_VIEW_RIGHT)) {
        self->turned = ctx->key == KEY_VIEW_RIGHT;
        return true;
    }
    if (is_full(ctx) && ctx->key == KEY_VIEW_ENTER)
        return jump_key(ctx, &spec_of(ctx)->jump, &self->key);
    if (is_full(ctx))
        return row_full_key(&self->full, ctx->key);
    load_time(ctx);
    return row_time_key(&self->time, ctx);
}

static bool takes(const struct part *part, int key) {
    const struct row_spec *spec = part->spec;

    return spec->shown || key == KEY_VIEW_UP;
}

static const struct part_key keys[] = {
    {KEY_VIEW_LEFT, "Left Right", "history of the row; the row in full"},
    {KEY_VIEW_ENTER, "Enter", "in the history of a row: all panes go to the selected frame"},
    {KEY_VIEW_UP, "Up Down", "in a row in full: scroll (Esc: back)"},
    {0},
};

static void write_text(struct part_context *ctx, FILE *out) {
    struct row_state *self = ctx->state;

    if (is_full(ctx)) {
        row_full_write(&self->full, &spec_of(ctx)->source, &self->key, ctx->look->frame, out);
        return;
    }
    load_time(ctx);
    row_time_write(&self->time, self->heading, out);
}

static bool shows(const struct part *part, const void *state, const char *name) {
    const struct row_spec *spec = part->spec;

    (void)state;
    // A row with only the page in full belongs to a list, which explains its columns.
    return spec->shown && is_listed(spec->shown, name);
}

const struct part_kind part_row = {
    .state_size = sizeof(struct row_state),
    .init = init,
    .done = done,
    .open = open_row,
    .height = height,
    .draw = draw,
    .key = key,
    .keys = keys,
    .takes = takes,
    .write_text = write_text,
    .status = status,
    .sources = rows_sources,
    .shows = shows,
    .no_series = true,
};
