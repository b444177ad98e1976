// From a row to its details (see the header).
#include "views/table_enter.h"

#include <string.h>

#include "views/filter.h"
#include "views/row/key.h"

// Events are in one frame only.
static bool shows_events(const struct part *part) {
    return part->kind == &part_table && ((const struct table_spec *)part->spec)->source.stream;
}

// The newest frame, up to the current one, whose stream has a row that the filter finds: the events that a table counts
// may be long past. NULL: none.
static const struct frame *frame_with(const struct look *look, const char *stream, const char *text) {
    struct filter filter;

    for (size_t i = 0; i <= look->n_window; i++) {
        const struct frame *frame = i ? look->window[look->n_window - i] : look->frame;
        const struct table *table = frame ? frame_stream(frame, stream, NULL) : NULL;
        const union cell *row;
        size_t at = 0;
        filter_parse(text, frame, &filter);
        while (table && (row = table_next(table, &at)))
            if (filter_passes(&filter, table_def(table)->columns, table_def(table)->n_columns, row))
                return frame;
    }
    return NULL;
}

// The filter that finds the details of the row; false if a part of it is left out (filter_add).
static bool row_filter(const struct table_spec *spec, const struct join *join, size_t row, char *out, size_t size) {
    struct row_key key = {0};
    char names[256], *save;
    bool whole = true;

    if (!spec->opens_by) {
        row_key_take(&key, join, row, NULL);
        whole = row_key_filter(&key, out, size);
        row_key_forget(&key);
        return whole;
    }
    out[0] = '\0';
    snprintf(names, sizeof(names), "%s", spec->opens_by);
    for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        char *contains = strchr(name, '~');
        if (contains)
            *contains = '\0';
        int column = join_column(join, name);
        if (column >= 0)
            whole &= filter_add(join->columns[column], join_cell(join, row, (uint16_t)column),
                                contains ? FILTER_CONTAINS : FILTER_EQUAL, out, size);
    }
    return whole;
}

// To the list of events, in a frame that has some of the row's. False if no frame has any: an empty list would be
// misleading.
static bool open_events(struct part_context *ctx, const struct part *list) {
    const struct table_spec *spec = ctx->part->spec, *of = list->spec;
    const struct frame *frame = frame_with(ctx->look, of->source.tables[0], ctx->go_filter);

    if (frame)
        ctx->go_frame = frame->number;
    else
        snprintf(ctx->message, sizeof(ctx->message), "%s",
                 spec->opens_none ? spec->opens_none : "no event of this row in any frame of the history");
    return frame != NULL;
}

// To the part of this pane that shows the row.
static bool open_row(struct part_context *ctx, const struct join *join, size_t row, const char *opens) {
    const struct table_spec *spec = ctx->part->spec;
    const struct part *part = view_part(ctx->pane->view, opens);

    if (!part)
        return false;
    if (spec->source.stream && ctx->look->frame)
        ctx->go_frame = ctx->look->frame->number;
    if (part->kind->open) {
        ctx->go_part = part;
        return part->kind->open(ctx->pane->parts[part - ctx->pane->view->parts], part, join, row);
    }
    bool whole = row_filter(spec, join, row, ctx->go_filter, sizeof(ctx->go_filter));
    if (shows_events(part) && ctx->look->frame && !open_events(ctx, part))
        return true;
    ctx->go_part = part;
    snprintf(ctx->message, sizeof(ctx->message), "%s",
             !whole             ? "part of the filter does not apply here; Esc: back"
             : spec->opens_note ? spec->opens_note
                                : "Esc: back");
    return true;
}

// To the other pane, with the filter that finds the row there.
static bool jump(struct part_context *ctx, const struct join *join, size_t row) {
    const struct table_spec *spec = ctx->part->spec;
    struct row_key key = {0};

    row_key_take_named(&key, join, row, spec->jump.columns);
    bool used = jump_key(ctx, &spec->jump, &key);
    row_key_forget(&key);
    return used;
}

// What is recorded from now on, or no longer.
static bool toggle(struct part_context *ctx, const struct join *join, size_t row, const char *name) {
    int column = join_column(join, name);

    if (column < 0)
        return false;
    snprintf(ctx->toggles, sizeof(ctx->toggles), "%s", text_bytes(join_cell(join, row, (uint16_t)column).text));
    return true;
}

bool table_count(struct part_context *ctx, const struct join *join, size_t row) {
    const struct table_spec *spec = ctx->part->spec;
    int column = spec->toggles ? join_column(join, spec->toggles) : -1;

    if (column < 0)
        return false;
    const char *name = text_bytes(join_cell(join, row, (uint16_t)column).text);
    snprintf(ctx->counts, sizeof(ctx->counts), "%.*s", (int)strcspn(name, ":"), name);
    return true;
}

bool table_remove(struct part_context *ctx, const struct join *join, size_t row) {
    const struct table_spec *spec = ctx->part->spec;
    int column = spec->removes ? join_column(join, spec->removes) : -1;

    if (column < 0)
        return false;
    snprintf(ctx->removes, sizeof(ctx->removes), "%s", text_bytes(join_cell(join, row, (uint16_t)column).text));
    column = spec->removed_as ? join_column(join, spec->removed_as) : -1;
    if (column >= 0)
        snprintf(ctx->removed_as, sizeof(ctx->removed_as), "%s",
                 text_bytes(join_cell(join, row, (uint16_t)column).text));
    return true;
}

bool table_enter(struct part_context *ctx, const struct join *join, size_t row) {
    const struct table_spec *spec = ctx->part->spec;

    if (spec->toggles)
        return toggle(ctx, join, row, spec->toggles);
    return spec->opens ? open_row(ctx, join, row, spec->opens) : jump(ctx, join, row);
}

bool table_annotate(struct part_context *ctx, const struct join *join, size_t row) {
    return open_row(ctx, join, row, ((const struct table_spec *)ctx->part->spec)->annotates);
}
