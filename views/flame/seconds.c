#include "views/flame/seconds.h"

#include <math.h>
#include <string.h>

static void count(struct seconds *seconds, double time_s) {
    double whole = floor(time_s);
    int64_t second = (int64_t)whole;
    struct second *at = &seconds->ring[(uint64_t)second % SECONDS_MAX];
    int cell = (int)((time_s - whole) * SECOND_CELLS);

    if (at->used && at->second > second) // older than all that is kept
        return;
    if (!at->used || at->second != second)
        *at = (struct second){.second = second, .used = true};
    at->counts[cell < SECOND_CELLS ? cell : SECOND_CELLS - 1]++;
}

static void add(struct seconds *seconds, const struct frame *frame, const char *stream) {
    uint64_t left_out = 0;
    const struct table *table = frame_stream(frame, stream, &left_out);
    int column = table ? table_column(table_def(table), "time_s") : -1;
    const union cell *row;
    struct filter filter;
    size_t at = 0;

    if (column < 0 || frame_stream_repeated(frame, stream))
        return;
    const struct table_def *def = table_def(table);
    filter_parse(seconds->filter, frame, &filter);
    seconds->left_out += left_out;
    while ((row = table_next(table, &at)))
        if (!isnan(row[column].num) && fabs(row[column].num) < 1e12 &&
            (!seconds->filter[0] || filter_lets(&filter, def->columns, def->n_columns, row)))
            count(seconds, row[column].num);
}

void seconds_load(struct seconds *seconds, const struct look *look, const char *stream, const char *filter) {
    uint64_t last = look->frame ? look->frame->number : 0;
    uint64_t first = look->n_window ? look->window[0]->number : last;

    if (strcmp(seconds->filter, filter) != 0 || (seconds->to && (last < seconds->from || first > seconds->to + 1))) {
        memset(seconds, 0, sizeof(*seconds));
        snprintf(seconds->filter, sizeof(seconds->filter), "%s", filter);
    }
    if (seconds->to && first < seconds->from && last < seconds->to) { // rewound to where nothing is counted
        char same[FILTER_SIZE];
        memcpy(same, seconds->filter, sizeof(same));
        memset(seconds, 0, sizeof(*seconds));
        memcpy(seconds->filter, same, sizeof(same));
    }
    for (size_t i = 0; i < look->n_window; i++)
        if (look->window[i]->number > seconds->to && look->window[i]->number < last)
            add(seconds, look->window[i], stream);
    if (look->frame && last > seconds->to)
        add(seconds, look->frame, stream);
    if (!seconds->to)
        seconds->from = first;
    seconds->to = last > seconds->to ? last : seconds->to;
}

const uint32_t *seconds_at(const struct seconds *seconds, int64_t second) {
    const struct second *at = &seconds->ring[(uint64_t)second % SECONDS_MAX];
    return at->used && at->second == second ? at->counts : NULL;
}

static void overlap(const struct frame *frame, double begin, double end, uint64_t *from, uint64_t *to) {
    double last = (double)frame->wall.tv_sec + (double)frame->wall.tv_nsec / 1e9;

    if (last <= begin || last - frame_interval_s(frame) >= end)
        return;
    *from = *to ? *from : frame->number;
    *to = frame->number;
}

bool seconds_frames(const struct look *look, double begin, double end, uint64_t *from, uint64_t *to) {
    *from = *to = 0;
    for (size_t i = 0; i < look->n_window; i++)
        if (!look->frame || look->window[i]->number < look->frame->number)
            overlap(look->window[i], begin, end, from, to);
    if (look->frame)
        overlap(look->frame, begin, end, from, to);
    return *to != 0;
}
