// The default choice of the histograms: the busiest device among those that the pane's filter leaves. The choice stays
// while the device exists and no other one is clearly busier over many seconds, because a picture that jumps cannot be
// read.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/hist/select.h"

#define SPAN_NS (20 * 1000000000ull) // the span that decides which is busiest
#define CLEARLY 2.0                  // replaced by one this many times as busy,
#define MORE 1.0                     // and by at least this difference

struct busy {
    char value[64];
    double sum;
};
struct busy_list {
    struct busy *all;
    size_t n, capacity;
};

// Rows mostly keep their place from frame to frame, so the hint is tried first. NULL: absent, and not to be added.
static struct busy *busy_find(struct busy_list *list, const char *value, size_t hint, bool add) {
    if (hint < list->n && !strcmp(list->all[hint].value, value))
        return &list->all[hint];
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->all[i].value, value))
            return &list->all[i];
    if (!add)
        return NULL;
    if (list->n == list->capacity) {
        list->capacity = list->capacity * 2 + 16;
        list->all = xrealloc(list->all, list->capacity * sizeof *list->all);
    }
    struct busy *new = &list->all[list->n++];
    *new = (struct busy){.sum = 0};
    snprintf(new->value, sizeof new->value, "%s", value);
    return new;
}

// Newest frame first: only a device that is in it can be chosen. filter NULL: any.
static void busy_add(struct busy_list *list, const struct hist_measure *measure, const struct filter *filter,
                     const struct frame *frame, bool newest) {
    const struct table *table = frame_table(frame, measure->table);
    const struct table *better = measure->better ? frame_table(frame, measure->better) : NULL;
    int column = table ? table_column(table_def(table), measure->set) : -1;
    size_t at = 0, place = 0;
    char value[64];

    for (const union cell *row; column >= 0 && (row = table_next(table, &at)); place++) {
        if (filter && !filter_passes(filter, measure->def->keys, measure->def->n_keys, row))
            continue;
        double busy = table_better(better, row, measure->set, row[column].num);
        hist_select_key_text(&measure->def->keys[0], row[0], value, sizeof value);
        struct busy *of = value[0] ? busy_find(list, value, place, newest) : NULL;
        if (of && busy > 0)
            of->sum += busy * frame_interval_s(frame);
    }
}

// Returns the seconds that the sum covers.
static double busy_sum(struct busy_list *list, const struct hist_measure *measure, const struct filter *filter,
                       const struct look *look) {
    double seconds = 0;

    for (size_t i = 0; i <= look->n_window; i++) {
        const struct frame *frame = i ? look->window[look->n_window - i] : look->frame;
        if ((i && frame == look->frame) || frame->end_ns + SPAN_NS < look->frame->end_ns)
            continue;
        seconds += frame_interval_s(frame);
        busy_add(list, measure, filter, frame, !i);
    }
    return seconds;
}

static void busiest_find(struct hist_select *select, const struct hist_measure *measure, const struct look *look) {
    struct busy_list list = {0};
    const struct busy *most = NULL;
    double now = 0, seconds = busy_sum(&list, measure, &select->filter, look);
    bool there = false;

    if (!list.n && !select->filter.n) // text that occurs in no device name does not select devices
        seconds = busy_sum(&list, measure, NULL, look);
    for (size_t i = 0; i < list.n; i++) {
        if (list.all[i].sum > (most ? most->sum : 0))
            most = &list.all[i];
        if (strcmp(list.all[i].value, select->busy_value) != 0)
            continue;
        now = list.all[i].sum;
        there = true;
    }
    if (list.n && !there) // unplugged, or filtered out
        select->busy_value[0] = '\0';
    if (most && (!select->busy_value[0] || (most->sum > now * CLEARLY && most->sum > now + MORE * seconds)))
        snprintf(select->busy_value, sizeof select->busy_value, "%s", most->value);
    free(list.all);
}

void hist_select_settle(struct part_context *ctx) {
    struct hist_select *select = ctx->state;
    const struct hist_spec *spec = ctx->part->spec;
    const struct hist_measure *measure = spec->measures;

    hist_filter_settle(ctx);
    while (spec->busiest && measure->set && strcmp(measure->set, spec->busiest) != 0)
        measure++;
    if (spec->busiest && measure->set && ctx->look->frame) {
        snprintf(select->busy_column, sizeof select->busy_column, "%s", measure->def->keys[0].name);
        // The same frame gives the same choice. A rewound frame shows what was shown then, unless the filter is new.
        if (!select->busy_value[0] || !select->busy_number ||
            (ctx->look->live && ctx->look->frame->number != select->busy_number))
            busiest_find(select, measure, ctx->look);
        select->busy_number = ctx->look->frame->number;
    }
    hist_select_share(ctx);
}
