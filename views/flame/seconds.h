// Samples counted by time: 50 counts a second, of the seconds that the history holds.
#ifndef VIEWS_FLAME_SECONDS_H
#define VIEWS_FLAME_SECONDS_H

#include "views/filter.h"
#include "views/view.h"

#define SECOND_CELLS 50 // of 20 ms
#define SECONDS_MAX 512 // kept

struct seconds {
    struct second {
        int64_t second; // since 1970
        bool used;
        uint32_t counts[SECOND_CELLS];
    } ring[SECONDS_MAX];
    uint64_t from, to; // numbers of the frames that are counted; to 0: none
    char filter[FILTER_SIZE];
    uint64_t left_out; // samples of these frames that the stream did not keep
};

// Counts the frames that are looked at; what is counted already stays. `stream` has a column time_s.
void seconds_load(struct seconds *seconds, const struct look *look, const char *stream, const char *filter);
// The counts of a second, NULL: no sample.
const uint32_t *seconds_at(const struct seconds *seconds, int64_t second);
// The numbers of the frames whose interval overlaps begin <= time < end (seconds since 1970). False: none is kept.
bool seconds_frames(const struct look *look, double begin, double end, uint64_t *from, uint64_t *to);

#endif
