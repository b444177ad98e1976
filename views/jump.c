// From a row to another pane (see the header).
#include "views/jump.h"

#include <string.h>

#include "views/escape.h"
#include "views/pane_parts.h"

enum found {
    FOUND_UNKNOWN, // nothing to search: the pane's collectors were not running
    FOUND_NOTHING,
    FOUND_SOME
};

static bool has_columns(const struct filter *filter, const struct table_def *def) {
    for (size_t i = 0; i < filter->n; i++)
        if (table_column(def, filter->terms[i].name) < 0)
            return false;
    return filter->n > 0;
}

static enum found table_finds(const struct table *table, const struct filter *filter) {
    const union cell *row;
    size_t at = 0;

    if (!table || !table_rows(table) || !has_columns(filter, table_def(table)))
        return FOUND_UNKNOWN;
    while ((row = table_next(table, &at)))
        if (filter_passes(filter, table_def(table)->columns, table_def(table)->n_columns, row))
            return FOUND_SOME;
    return FOUND_NOTHING;
}

static enum found frame_finds(const struct frame *frame, const struct view *view, const char *text) {
    enum found found = FOUND_UNKNOWN, here;
    const char *names[SOURCES_MAX];
    struct filter filter;

    filter_parse(text, frame, &filter);
    for (size_t i = 0; i < view->n_parts; i++) {
        const struct part *part = &view->parts[i];
        size_t n = part->kind->sources ? part->kind->sources(part, names, SOURCES_MAX) : 0;
        for (size_t k = 0; k < n; k++)
            if ((here = table_finds(frame_table(frame, names[k]), &filter)) > found)
                found = here;
    }
    return found;
}

// The newest frame up to the current one with a match; the current one also if it has no data. NULL: none.
static const struct frame *frame_to_go(const struct look *look, const struct view *view, const char *filter) {
    if (frame_finds(look->frame, view, filter) != FOUND_NOTHING)
        return look->frame;
    for (size_t i = look->n_window; i-- > 0;)
        if (look->window[i] && frame_finds(look->window[i], view, filter) == FOUND_SOME)
            return look->window[i];
    return NULL;
}

bool jump_to(struct part_context *ctx, const char *pane, const char *filter, const char *note) {
    const struct view *view = view_find(pane);
    const struct frame *now = ctx->look->frame;
    const struct frame *frame = view && now && filter[0] ? frame_to_go(ctx->look, view, filter) : now;
    char shown[60], ago[40] = "";

    escape_fit(filter, 40, shown, sizeof(shown));
    if (!frame && now) {
        snprintf(ctx->message, sizeof(ctx->message), "%s: no match in the pane %s in any frame", shown, pane);
        return false;
    }
    ctx->jump_pane = pane;
    snprintf(ctx->jump_filter, sizeof(ctx->jump_filter), "%s", filter);
    if (frame != now) {
        ctx->go_frame = frame->number;
        snprintf(ago, sizeof(ago), "%.1f s earlier", (double)(now->end_ns - frame->end_ns) / 1e9);
    }
    if (note)
        snprintf(ctx->message, sizeof(ctx->message), "%s%s%s", note, ago[0] ? ", " : "", ago);
    else if (ago[0])
        snprintf(ctx->message, sizeof(ctx->message), "%s is gone: showing %s; g: live", shown, ago);
    return true;
}

static int key_column(const struct row_key *key, const char *name) {
    for (uint16_t i = 0; i < key->n; i++)
        if (!strcmp(key->columns[i]->name, name))
            return i;
    return -1;
}

// The alias that the row's name is, or NULL.
static const struct jump_alias *alias_of(const struct jump *jump, const struct row_key *key) {
    int i = key_column(key, "comm");

    for (const struct jump_alias *name = jump->names; i >= 0 && name && name->name; name++)
        if (!strcmp(name->name, text_bytes(key->cells[i].text)))
            return name;
    return NULL;
}

// Jumps to the threads that the alias stands for.
static void jump_alias(struct part_context *ctx, const struct jump *jump, const struct jump_alias *name) {
    if (!name->filter || !jump_to(ctx, jump->pane, name->filter, name->note))
        snprintf(ctx->message, sizeof(ctx->message), "%s", name->none);
}

bool jump_key(struct part_context *ctx, const struct jump *jump, const struct row_key *key) {
    const struct jump_alias *alias = alias_of(jump, key);
    char names[256], *save, filter[FILTER_SIZE] = "";

    if (alias) {
        jump_alias(ctx, jump, alias);
        return true;
    }
    snprintf(names, sizeof(names), "%s", jump->columns ? jump->columns : "");
    for (char *name = strtok_r(names, " ", &save); name && !filter[0]; name = strtok_r(NULL, " ", &save)) {
        int i = key_column(key, name);
        if (i >= 0)
            filter_for(key->columns[i], key->cells[i], filter, sizeof(filter));
    }
    if (jump->pane)
        jump_to(ctx, jump->pane, filter, NULL);
    return jump->pane != NULL;
}
