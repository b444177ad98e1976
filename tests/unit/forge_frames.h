// What the tests of the panes of the scheduler and of system calls share: a row of frames, each forged by the test's
// own make(), their series and their histograms. Included once, by the test.
#ifndef TESTS_UNIT_FORGE_FRAMES_H
#define TESTS_UNIT_FORGE_FRAMES_H

#include "tests/unit/forge_io.h"
#include "tests/unit/forge_wider.h"
#include "tests/unit/screens.h"

#define FRAMES 30
static const struct frame *frames[FRAMES];

static const struct frame *make(uint64_t number); // 1 to FRAMES

static inline int frames_make(void **state) {
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++)
        frames[i] = make(i + 1);
    return 0;
}

static inline int frames_drop(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    return 0;
}

static inline void forge_series(struct section *section, const struct series_def *defs, const double *values, int n) {
    for (int i = 0; i < n; i++)
        section_series(section, &defs[i], values[i]);
}

// A histogram under one key, a text or (NULL) a number.
static inline void forge_hist_of(struct hist_set *set, const char *text, double number, const struct forge_run *runs) {
    union cell key = {.num = number};
    if (text)
        key.text = text_from(text);
    hist_set_add(set, &key, forge_runs(runs));
}

// A pane and the look at all the frames; the pane is the caller's to free.
static inline struct pane *forge_pane(const struct view *view, struct look *look) {
    forge_look(look, frames, FRAMES);
    return pane_new(view);
}

#endif
