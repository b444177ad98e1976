// Which frame is shown: the newest, or a frozen or earlier one.
#ifndef TUI_REWIND_H
#define TUI_REWIND_H

#include "views/view.h"

#define REWIND_WINDOW_MAX 1024

struct rewind {
    struct history *history;
    const struct frame *newest; // a reference, or NULL
    const struct frame *held;   // a reference when not live
    const struct frame *window[REWIND_WINDOW_MAX];
    struct look look; // of the last rewind_look
};

void rewind_done(struct rewind *rewind);
void rewind_newest(struct rewind *rewind, const struct frame *take); // a newer frame has arrived
bool rewind_live(const struct rewind *rewind);
void rewind_freeze(struct rewind *rewind);
void rewind_to_live(struct rewind *rewind);
// Steps by frames; forward past the newest is live again. False: no further frame in that direction.
bool rewind_step(struct rewind *rewind, long frames);
bool rewind_to_time(struct rewind *rewind, struct timespec wall);     // to the nearest frame, and stays there
bool rewind_shows(const struct rewind *rewind, struct timespec wall); // the held frame's interval has that time
bool rewind_to_frame(struct rewind *rewind, uint64_t number);         // and stays there; false: it is no longer kept
double rewind_age_s(const struct rewind *rewind); // time between the ends of the shown frame and the newest

// For the panes to draw; the references behind it are held until rewind_unlook.
const struct look *rewind_look(struct rewind *rewind);
void rewind_unlook(struct rewind *rewind);

// "12:30", "12:30:05" (today, or yesterday if that is in the future) or "-90", "-5m" before `now`. False: neither.
bool rewind_parse_time(const char *text, struct timespec now, struct timespec *out);

#endif
