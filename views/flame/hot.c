// Adds up sampled addresses (see the header).
#include "views/flame/hot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

enum { PID, SYMBOL, DSO, OFFSET, SAMPLES, COLUMNS };

static bool find_columns(const struct table *table, int columns[COLUMNS]) {
    static const char *const names[COLUMNS] = {"pid", "symbol", "dso", "offset", "samples"};

    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = table_column(table_def(table), names[i]);
        if (columns[i] < 0)
            return false;
    }
    return true;
}

static void add(struct hot *hot, double offset, uint64_t samples) {
    if (hot->n == hot->capacity) {
        hot->capacity = hot->capacity ? hot->capacity * 2 : 64;
        hot->list = xrealloc(hot->list, hot->capacity * sizeof(*hot->list));
    }
    hot->list[hot->n++] = (struct hot_address){offset, samples};
}

static void add_table(struct hot *hot, const struct table *table, const struct hot_wanted *wanted, double *most) {
    int columns[COLUMNS];
    const union cell *row;
    size_t cursor = 0;

    if (!table || !find_columns(table, columns))
        return;
    while ((row = table_next(table, &cursor))) {
        double offset = row[columns[OFFSET]].num, samples = row[columns[SAMPLES]].num, pid = row[columns[PID]].num;
        bool inside = offset >= wanted->low && offset < wanted->high;
        if (strcmp(text_bytes(row[columns[DSO]].text), wanted->object) != 0 ||
            (!inside && strcmp(text_bytes(row[columns[SYMBOL]].text), wanted->symbol) != 0) ||
            (wanted->pid > 0 && (double)wanted->pid != pid) || !(samples > 0))
            continue;
        hot->total += (uint64_t)samples;
        if (samples > *most) {
            *most = samples;
            hot->pid = (long)pid;
        }
        if (isnan(offset))
            hot->unplaced += samples;
        else
            add(hot, offset, (uint64_t)samples);
    }
}

static int by_offset(const void *a, const void *b) {
    const struct hot_address *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void merge(struct hot *hot) {
    size_t n = 0;
    uint64_t most = 0;

    if (hot->n)
        qsort(hot->list, hot->n, sizeof(*hot->list), by_offset);
    for (size_t i = 0; i < hot->n; i++) {
        if (n && hot->list[n - 1].offset == hot->list[i].offset)
            hot->list[n - 1].samples += hot->list[i].samples;
        else
            hot->list[n++] = hot->list[i];
    }
    hot->n = n;
    hot->hottest = NAN;
    for (size_t i = 0; i < n; i++)
        if (hot->list[i].samples > most) {
            most = hot->list[i].samples;
            hot->hottest = hot->list[i].offset;
        }
}

// The same frames as flame_span_tree() merges.
struct hot hot_make(const struct look *look, uint64_t from, uint64_t to, const char *tree,
                    const struct hot_wanted *wanted) {
    struct hot hot = {0};
    double most = 0;

    for (size_t i = look->n_window + 1; i-- > 0;) {
        bool last = i == look->n_window;
        const struct frame *frame = last ? look->frame : look->window[i];
        if (look->n_window - i > wanted->frames)
            break;
        if (!frame || frame->number < from || frame->number > to ||
            (!last && look->frame && frame->number >= look->frame->number))
            continue;
        if (frame->number != from && frame_tree_repeated(frame, tree))
            continue;
        add_table(&hot, frame_table(frame, "addresses"), wanted, &most);
    }
    merge(&hot);
    return hot;
}

void hot_free(struct hot *hot) {
    free(hot->list);
    *hot = (struct hot){0};
}

uint64_t hot_between(const struct hot *hot, double low, double high) {
    size_t from = 0, to = hot->n;
    uint64_t sum = 0;

    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (hot->list[middle].offset < low)
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < hot->n && hot->list[from].offset < high; from++)
        sum += hot->list[from].samples;
    return sum;
}

static int by_samples(const void *a, const void *b) {
    const struct hot_address *x = a, *y = b;
    return x->samples < y->samples ? 1 : x->samples > y->samples ? -1 : by_offset(a, b);
}

void hot_ask(const struct hot *hot, struct code_ask *ask) {
    struct hot_address *sorted = hot->n ? xcalloc(hot->n, sizeof(*sorted)) : NULL;

    if (sorted) {
        memcpy(sorted, hot->list, hot->n * sizeof(*sorted));
        qsort(sorted, hot->n, sizeof(*sorted), by_samples);
    }
    ask->pid = hot->pid;
    ask->n_hot = 0;
    for (size_t i = 0; sorted && i < hot->n && ask->n_hot < CODE_ASK_HOT; i++)
        ask->hot[ask->n_hot++] = (uint64_t)sorted[i].offset;
    free(sorted);
}
