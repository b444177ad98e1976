// Which frame is shown. Frames are found by number, so that the history may grow and drop frames meanwhile; the held
// frame lives until it is released.
#include "tui/rewind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "views/filter.h"

void rewind_done(struct rewind *rewind) {
    rewind_unlook(rewind);
    frame_unref(rewind->newest);
    frame_unref(rewind->held);
    rewind->newest = rewind->held = NULL;
}

void rewind_newest(struct rewind *rewind, const struct frame *take) {
    frame_unref(rewind->newest);
    rewind->newest = take;
}

bool rewind_live(const struct rewind *rewind) {
    return !rewind->held;
}

void rewind_freeze(struct rewind *rewind) {
    if (!rewind->held && rewind->newest)
        rewind->held = frame_ref(rewind->newest);
}

void rewind_to_live(struct rewind *rewind) {
    frame_unref(rewind->held);
    rewind->held = NULL;
}

static void hold(struct rewind *rewind, const struct frame *take) {
    frame_unref(rewind->held);
    rewind->held = take;
}

bool rewind_step(struct rewind *rewind, long frames) {
    const struct frame *from = rewind->held ? rewind->held : rewind->newest;
    if (!from || !rewind->newest)
        return false;
    if (frames > 0 && (rewind_live(rewind) || from->number + (uint64_t)frames >= rewind->newest->number)) {
        bool moved = !rewind_live(rewind);
        rewind_to_live(rewind);
        return moved;
    }
    const struct frame *to = history_step(rewind->history, from->number, frames);
    if (!to || (frames < 0 ? to->number >= from->number : to->number <= from->number)) {
        frame_unref(to);
        return false;
    }
    hold(rewind, to);
    return true;
}

bool rewind_to_time(struct rewind *rewind, struct timespec wall) {
    const struct frame *to = history_at(rewind->history, wall);
    if (to)
        hold(rewind, to);
    return to != NULL;
}

bool rewind_shows(const struct rewind *rewind, struct timespec wall) {
    const struct frame *frame = rewind->held;
    double ago =
        frame ? (double)(frame->wall.tv_sec - wall.tv_sec) + (double)(frame->wall.tv_nsec - wall.tv_nsec) / 1e9 : -1;
    return ago >= 0 && ago <= frame_interval_s(frame);
}

bool rewind_to_frame(struct rewind *rewind, uint64_t number) {
    const struct frame *to = history_find(rewind->history, number);
    bool same = to && to->number == number;
    if (same)
        hold(rewind, to);
    else
        frame_unref(to);
    return same;
}

double rewind_age_s(const struct rewind *rewind) {
    if (!rewind->held || !rewind->newest || rewind->newest->end_ns < rewind->held->end_ns)
        return 0;
    return (double)(rewind->newest->end_ns - rewind->held->end_ns) / 1e9;
}

const struct look *rewind_look(struct rewind *rewind) {
    rewind_unlook(rewind);
    const struct frame *frame = rewind->held ? rewind->held : rewind->newest;
    size_t n = 0;
    if (frame && frame->number)
        n = history_window(rewind->history, frame->number, rewind->window, REWIND_WINDOW_MAX);
    rewind->look =
        (struct look){.frame = frame_ref(frame), .window = rewind->window, .n_window = n, .live = rewind_live(rewind)};
    return &rewind->look;
}

void rewind_unlook(struct rewind *rewind) {
    for (size_t i = 0; i < rewind->look.n_window; i++)
        frame_unref(rewind->window[i]);
    frame_unref(rewind->look.frame);
    rewind->look = (struct look){0};
}

bool rewind_parse_time(const char *text, struct timespec now, struct timespec *out) {
    double of_day, step;
    *out = now;
    if (*text == '-') {
        char *end;
        double back = strtod(text + 1, &end);
        if (end == text + 1 || !(back >= 0 && back < 1e9))
            return false;
        back *= *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
        if (*end && (!strchr("smh", *end) || end[1]))
            return false;
        double whole = (double)now.tv_sec - back;
        out->tv_sec = (time_t)whole;
        return true;
    }
    if (!filter_clock(text, &of_day, &step) || step < 1)
        return false;
    int seconds = (int)of_day;
    struct tm local;
    localtime_r(&now.tv_sec, &local);
    local.tm_hour = seconds / 3600;
    local.tm_min = seconds / 60 % 60;
    local.tm_sec = seconds % 60;
    local.tm_isdst = -1;
    out->tv_sec = mktime(&local);
    out->tv_nsec = 999999999;
    if (out->tv_sec > now.tv_sec) {
        local.tm_mday--;
        local.tm_isdst = -1;
        out->tv_sec = mktime(&local);
    }
    return true;
}
