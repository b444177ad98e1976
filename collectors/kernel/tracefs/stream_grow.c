#include "collectors/kernel/tracefs/stream_grow.h"

#include <stdlib.h>

#include "model/live.h"
#include "model/mem.h"

#define RETRY_NS 10000000000ull
#define CUT_AFTER_NS 100000 // more than the two clocks are apart

static void make(void *ctx) {
    struct stream_grow *grow = ctx;
    struct capture_step failed;
    const struct capture_size size = {.cpu_kib = grow->cpu_kib, .next = true, .second = grow->next.second};
    grow->error = capture_open(&grow->next, grow->next.config, grow->clock, &size, &failed);
    if (!grow->error)
        grow->error = capture_switch(&grow->next, grow->events, false, &failed);
}

static void take_away(void *ctx) {
    struct stream_grow *grow = ctx;
    capture_close(&grow->next);
}

// Without a side thread the stream waits for it.
static void remove_old(struct stream_grow *grow) {
    grow->state = GROW_REMOVE;
    if (!stream_side_start(&grow->side, "ktop-buffers", take_away, grow))
        take_away(grow);
}

void stream_grow_look(struct stream_grow *grow, struct capture *now, const char *clock) {
    if (grow->state != GROW_IDLE || (grow->failed_ns && now_ns() - grow->failed_ns < RETRY_NS) ||
        !ring_pipe_wanted(now->pipe, now->ring, &grow->cpu_kib))
        return;
    grow->next = (struct capture){.config = now->config, .second = !now->second};
    grow->clock = clock;
    grow->events = now->enabled;
    grow->state = stream_side_start(&grow->side, "ktop-buffers", make, grow) ? GROW_MAKE : GROW_IDLE;
}

// Events may have been switched meanwhile. Between two slices nothing is recorded, and nothing has to be cut.
static void made(struct stream_grow *grow, struct capture *now, bool on, const struct trace_clock *clock) {
    struct capture_step failed;
    if (!grow->error)
        grow->error = capture_switch(&grow->next, now->enabled, on, &failed);
    if (grow->error) {
        grow->failed_ns = now_ns();
        remove_old(grow);
        return;
    }
    grow->state = GROW_CUT;
    grow->cut_ns = on ? now_ns() + CUT_AFTER_NS : 0;
    grow->cut = on ? trace_clock_time(clock, grow->cut_ns) : 0;
}

bool stream_grow_due(struct stream_grow *grow, struct capture *now, bool on, const struct trace_clock *clock,
                     uint64_t horizon_ns) {
    bool done = stream_side_done(&grow->side, now->config);
    if (grow->state == GROW_MAKE && done)
        made(grow, now, on, clock);
    else if (grow->state == GROW_REMOVE && !grow->side.running)
        grow->state = GROW_IDLE;
    return grow->state == GROW_CUT && horizon_ns >= grow->cut_ns;
}

uint64_t stream_grow_hand_over(struct stream_grow *grow, struct capture *now) {
    struct capture old = *now;
    capture_record(&old, false);
    uint64_t lost = capture_lost(&old);
    ring_follow(grow->next.ring, old.ring, grow->cut);
    *now = grow->next;
    grow->next = old;
    remove_old(grow);
    return lost;
}

void stream_grow_end(struct stream_grow *grow) {
    stream_side_join(&grow->side);
    capture_close(&grow->next);
    grow->state = GROW_IDLE;
    free(grow->cpu_kib);
    grow->cpu_kib = NULL;
}
