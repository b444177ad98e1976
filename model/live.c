// The live model: slots for the sections of collector threads, and the one thread that cuts frames from them.
//
// The lock is held for pointer work only, never across a system call: sections are merged, frames built and dropped,
// and the pipe is written outside of it. A collector can therefore never delay the screen, nor the screen a collector.
#include "model/live.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "model/groups.h"
#include "model/health.h"
#include "model/mem.h"
#include "model/thread.h"

// How long a frame waits past its tick for late collectors: a quarter of the delay, so that a frame is never mistaken
// for the next one, and at most 250 ms, so that the screen does not lag visibly.
#define GRACE_SHARE 4
#define GRACE_MAX_NS 250000000ull
// How long the first interval waits for collectors that have just started: long enough to be complete, but bounded in
// case one of them hangs.
#define START_MAX_NS 2000000000ull
// Three fewer than fit: groups, findings and health are sections too.
#define SLOTS_MAX (FRAME_SECTIONS_MAX - 3)

struct slot {
    const char *collector;
    const struct section *shown;   // in the last frame
    const struct section *pending; // newer than that; NULL: none
    bool paused;
    bool begun;  // has put a whole section, in any state but SECTION_STARTING
    bool missed; // missed the last frame and has put nothing since: not waited for
};

struct live {
    pthread_mutex_t lock; // guards everything up to the next blank line
    pthread_cond_t wake;
    struct slot slots[SLOTS_MAX];
    int n_slots;
    uint64_t delay_ns, base_ns; // ticks are base + n * delay, n > 0; base 0: no grid yet
    uint64_t grid;              // rises with every change of the grid
    bool stop, provisional_due;
    bool whole;            // a frame was cut: no provisional ones from now on
    uint64_t awaited_tick; // the tick whose sections the frames thread waits for; 0: none
    const struct frame *latest;
    struct recorder *recorder; // NULL: none

    // Private to the frames thread (before and after it: the owner's).
    uint64_t number, cut_ns, cpu_spent_ns;
    uint64_t lease_ns; // as the hook knows it
    struct findings *findings;
    struct groups *groups;
    const struct live_hooks *hooks;
    void *hooks_arg;
    const struct origin *origin;

    struct history *history;
    int pipe[2]; // read end, write end; -1: none. Readable while there is a frame to take
    bool running;
    pthread_t thread;
    atomic_uint_fast64_t cpu_ns;
};

static uint64_t delay_clamp(uint64_t delay_ns) {
    return delay_ns < LIVE_DELAY_MIN_NS   ? LIVE_DELAY_MIN_NS
           : delay_ns > LIVE_DELAY_MAX_NS ? LIVE_DELAY_MAX_NS
                                          : delay_ns;
}

struct live *live_new(uint64_t delay_ns, size_t history_bytes) {
    struct live *live = xcalloc(1, sizeof(*live));
    pthread_mutex_init(&live->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&live->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    live->delay_ns = delay_clamp(delay_ns);
    if (pipe2(live->pipe, O_CLOEXEC | O_NONBLOCK)) // live_start reports it
        live->pipe[0] = live->pipe[1] = -1;
    live->history = history_new(history_bytes, NULL);
    live->findings = findings_new();
    findings_set_history(live->findings, live->history);
    live->groups = groups_new();
    return live;
}

void live_free(struct live *live) {
    if (!live)
        return;
    live_stop(live);
    for (int i = 0; i < live->n_slots; i++) {
        section_unref(live->slots[i].shown);
        section_unref(live->slots[i].pending);
    }
    frame_unref(live->latest);
    history_free(live->history);
    findings_free(live->findings);
    groups_free(live->groups);
    origin_unref(live->origin);
    if (live->pipe[0] >= 0) {
        close(live->pipe[0]);
        close(live->pipe[1]);
    }
    pthread_cond_destroy(&live->wake);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

int live_add(struct live *live, const char *collector) {
    if (live->n_slots == SLOTS_MAX)
        return -ENOSPC;
    live->slots[live->n_slots].collector = collector;
    return live->n_slots++;
}

void live_hook(struct live *live, const struct live_hooks *hooks, void *arg) {
    live->hooks = hooks;
    live->hooks_arg = arg;
}

void live_no_profile(struct live *live) {
    findings_no_profile(live->findings);
}

void live_set_origin(struct live *live, const struct origin *take) {
    origin_unref(live->origin);
    live->origin = take;
}

void live_record(struct live *live, struct recorder *recorder) {
    pthread_mutex_lock(&live->lock);
    live->recorder = recorder;
    pthread_mutex_unlock(&live->lock);
}

// ---- the grid; all with the lock held ----

// The first caller starts the grid, so that the collectors and the frames agree on it whatever starts first.
static void grid_begin(struct live *live, uint64_t now) {
    if (!live->base_ns)
        live->base_ns = now;
}

static uint64_t grid_next(const struct live *live, uint64_t after_ns) {
    if (after_ns < live->base_ns)
        return live->base_ns + live->delay_ns;
    return live->base_ns + ((after_ns - live->base_ns) / live->delay_ns + 1) * live->delay_ns;
}

uint64_t live_next_tick(struct live *live, uint64_t after_ns) {
    uint64_t now = now_ns();
    pthread_mutex_lock(&live->lock);
    grid_begin(live, now);
    uint64_t tick = grid_next(live, after_ns);
    pthread_mutex_unlock(&live->lock);
    return tick;
}

void live_tick_soon(struct live *live, uint64_t in_ns) {
    uint64_t soon = now_ns() + in_ns;
    pthread_mutex_lock(&live->lock);
    if (live->whole && soon > live->delay_ns && grid_next(live, soon - in_ns) > soon) {
        live->base_ns = soon - live->delay_ns;
        live->grid++;
    }
    pthread_mutex_unlock(&live->lock);
    pthread_cond_signal(&live->wake);
}

uint64_t live_delay(const struct live *shared) {
    struct live *live = (struct live *)shared;
    pthread_mutex_lock(&live->lock);
    uint64_t delay = live->delay_ns;
    pthread_mutex_unlock(&live->lock);
    return delay;
}

void live_set_delay(struct live *live, uint64_t delay_ns) {
    uint64_t now = now_ns();
    delay_ns = delay_clamp(delay_ns);
    pthread_mutex_lock(&live->lock);
    if (delay_ns != live->delay_ns) {
        if (live->base_ns && now > live->base_ns) {
            // The new grid continues from the last tick of the old one, without ticks in the past.
            live->base_ns = grid_next(live, now) - live->delay_ns;
            live->base_ns += (now - live->base_ns) / delay_ns * delay_ns;
        }
        live->delay_ns = delay_ns;
        live->grid++;
    }
    pthread_mutex_unlock(&live->lock);
    pthread_cond_signal(&live->wake);
}

// ---- the collectors' side ----

// Timers may fire slightly early or late relative to each other; a sample this close before a tick counts for the tick.
static uint64_t slack_ns(const struct live *live) {
    uint64_t tenth = live->delay_ns / 10;
    return tenth < 10000000 ? tenth : 10000000;
}

static bool in_time(const struct live *live, const struct section *section, uint64_t tick) {
    return section && section_end(section) + slack_ns(live) >= tick;
}

static bool awaited(const struct live *live, const struct slot *slot, uint64_t tick) {
    const struct section *newest = slot->pending ? slot->pending : slot->shown;
    if (slot->paused || slot->missed || (newest && section_state(newest) == SECTION_UNAVAILABLE))
        return false;
    return !in_time(live, slot->pending, tick);
}

static bool any_awaited(const struct live *live, uint64_t tick) {
    for (int i = 0; i < live->n_slots; i++)
        if (awaited(live, &live->slots[i], tick))
            return true;
    return false;
}

static bool is_measured(const struct section *section) {
    return section_end(section) > section_begin(section) &&
           (section_state(section) == SECTION_OK || section_state(section) == SECTION_DEGRADED);
}

static void slot_put(struct live *live, int slot, struct section *take, bool whole) {
    struct slot *own = &live->slots[slot];
    pthread_mutex_lock(&live->lock);
    const struct section *before = own->pending;
    own->pending = NULL;
    pthread_mutex_unlock(&live->lock);
    // A section that no frame has shown yet (this collector or a frame was late) is merged with the next one. One that
    // overlaps was handed over early and is already part of the next one.
    if (before && is_measured(before) && is_measured(take) && section_end(before) <= section_begin(take))
        section_absorb(take, before);
    pthread_mutex_lock(&live->lock);
    own->pending = take;
    own->missed = false;
    own->begun |= whole && section_state(take) != SECTION_STARTING;
    live->provisional_due = true;
    // Only the last awaited section wakes the frames thread.
    bool wake = !live->whole || (live->awaited_tick && !any_awaited(live, live->awaited_tick));
    pthread_mutex_unlock(&live->lock);
    if (wake)
        pthread_cond_signal(&live->wake);
    section_unref(before);
}

void live_put(struct live *live, int slot, struct section *take) {
    slot_put(live, slot, take, true);
}

void live_put_early(struct live *live, int slot, struct section *take) {
    slot_put(live, slot, take, false);
}

void live_pause(struct live *live, int slot, bool paused) {
    pthread_mutex_lock(&live->lock);
    live->slots[slot].paused = paused;
    live->slots[slot].missed = false;
    pthread_mutex_unlock(&live->lock);
    pthread_cond_signal(&live->wake);
}

// ---- the frames thread ----

// Waits (releasing the lock meanwhile) for a wake-up or the time.
static void wait_until(struct live *live, uint64_t when) {
    struct timespec time = {.tv_sec = (time_t)(when / 1000000000), .tv_nsec = (long)(when % 1000000000)};
    pthread_cond_timedwait(&live->wake, &live->lock, &time);
}

// Fills the frame with each slot's section, under the lock; a slot without one gets an empty one made outside of it.
struct cut {
    uint64_t tick, end_ns;
    const struct section *sections[SLOTS_MAX];
    const struct section *freed[SLOTS_MAX];
    bool current[SLOTS_MAX], repeated[SLOTS_MAX]; // current: not stale; repeated: also in the previous frame
    bool any_data;
};

static void cut_take(struct live *live, struct cut *cut, bool provisional) {
    uint64_t earliest = UINT64_MAX;
    for (int i = 0; i < live->n_slots; i++) {
        struct slot *slot = &live->slots[i];
        const struct section *newest = slot->pending ? slot->pending : slot->shown;
        cut->sections[i] = section_ref(newest);
        cut->any_data |= newest && section_state(newest) != SECTION_STARTING;
        if (provisional)
            continue;
        bool fresh = in_time(live, slot->pending, cut->tick);
        cut->repeated[i] = !slot->pending;
        cut->current[i] = fresh || slot->paused || !newest || section_state(newest) == SECTION_UNAVAILABLE ||
                          section_state(newest) == SECTION_STARTING;
        slot->missed = !fresh && !slot->paused;
        if (fresh && section_end(slot->pending) < earliest)
            earliest = section_end(slot->pending);
        if (slot->pending) {
            cut->freed[i] = slot->shown;
            slot->shown = slot->pending;
            slot->pending = NULL;
        }
    }
    // The actual interval: if all sampled after the tick (a stopped machine, a crowded CPU), it ended then.
    cut->end_ns = earliest != UINT64_MAX && earliest > cut->tick ? earliest : cut->tick;
}

static struct timespec wall_at(uint64_t when_ns) {
    int64_t ns = wall_offset_ns() + (int64_t)when_ns;
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static void frame_publish(struct live *live, const struct frame *take) {
    pthread_mutex_lock(&live->lock);
    if (live->recorder && take->number)
        recorder_put(live->recorder, take);
    const struct frame *old = live->latest;
    live->latest = take;
    pthread_mutex_unlock(&live->lock);
    frame_unref(old);
    ssize_t ignored = write(live->pipe[1], "", 1); // a full pipe is readable, which suffices
    (void)ignored;
}

static void lease_update(struct live *live) {
    uint64_t until_ns = findings_lease(live->findings);
    if (until_ns == live->lease_ns || !live->hooks || !live->hooks->lease)
        return;
    live->lease_ns = until_ns;
    live->hooks->lease(live->hooks_arg, FINDINGS_COLLECTOR, until_ns);
}

// Without the lock: only this thread writes `latest`, so it may read it.
static void frame_finish(struct live *live, struct cut *cut, uint64_t number, uint64_t begin_ns) {
    struct frame *frame = frame_new(number, begin_ns, cut->end_ns, wall_at(cut->end_ns));
    frame->origin = origin_ref(live->origin);
    for (int i = 0; i < live->n_slots; i++) {
        const struct section *section = cut->sections[i];
        if (!section)
            section = section_new(live->slots[i].collector, cut->end_ns, cut->end_ns);
        uint64_t stale = 0;
        if (number && !cut->current[i])
            stale = cut->end_ns > section_end(section) ? cut->end_ns - section_end(section) : 1;
        frame_add_section(frame, section, stale);
        frame->repeated[i] = cut->repeated[i];
        section_unref(cut->freed[i]);
    }
    const struct frame *previous = live->latest && live->latest->number ? live->latest : NULL;
    uint64_t spent = thread_cpu_ns();
    struct health_self self = {.cpu_ns = spent - live->cpu_spent_ns,
                               .history_frames = history_count(live->history) + (number != 0),
                               .history_bytes = history_bytes(live->history)};
    struct section *groups = groups_section(live->groups, frame);
    struct section *findings = findings_section(live->findings, frame, previous);
    char words[320];
    if (findings_lease_words(live->findings, frame->end_ns, words, sizeof(words)))
        self.lease = (struct health_lease){FINDINGS_COLLECTOR, words, live->lease_ns != 0};
    struct section *health = health_section(frame, &self);
    uint64_t stale = 0; // as stale as the tasks that it sums
    frame_section(frame, "tasks", &stale);
    frame_add_section(frame, groups, stale);
    frame_add_section(frame, findings, 0);
    frame_add_section(frame, health, 0);
    if (number) {
        live->cpu_spent_ns = spent;
        history_push(live->history, frame_ref(frame));
    }
    frame_publish(live, frame);
    lease_update(live);
    atomic_store_explicit(&live->cpu_ns, thread_cpu_ns(), memory_order_relaxed);
}

// With the lock held, which is released meanwhile.
static void cut_provisional(struct live *live) {
    struct cut cut = {.tick = now_ns()};
    live->provisional_due = false;
    cut_take(live, &cut, true);
    cut.end_ns = cut.tick;
    pthread_mutex_unlock(&live->lock);
    if (cut.any_data)
        frame_finish(live, &cut, 0, cut.tick);
    else
        for (int i = 0; i < live->n_slots; i++)
            section_unref(cut.sections[i]);
    pthread_mutex_lock(&live->lock);
}

// With the lock held. False: the grid changed or live_stop was called, and there is nothing to cut yet.
static bool wait_for_tick(struct live *live, uint64_t tick) {
    uint64_t grid = live->grid;
    while (now_ns() < tick) {
        if (live->stop || live->grid != grid)
            return false;
        if (!live->number && live->provisional_due)
            cut_provisional(live);
        else
            wait_until(live, tick);
    }
    return !live->stop;
}

static void wait_for_sections(struct live *live, uint64_t tick) {
    uint64_t grace = live->delay_ns / GRACE_SHARE, now = now_ns();
    if (grace > GRACE_MAX_NS)
        grace = GRACE_MAX_NS;
    // Collectors stopped together with us (SIGSTOP) resume with us, long after the tick: their grace period starts now.
    uint64_t end = (now > tick + grace ? now : tick) + grace;
    live->awaited_tick = tick;
    while (!live->stop && any_awaited(live, tick) && now_ns() < end)
        wait_until(live, end);
    live->awaited_tick = 0;
}

static bool all_begun(const struct live *live) {
    for (int i = 0; i < live->n_slots; i++)
        if (!live->slots[i].begun && !live->slots[i].paused)
            return false;
    return true;
}

// With the lock held. Provisional frames only, until every collector has begun; then the first interval begins for all
// of them at once.
static void wait_for_begin(struct live *live) {
    uint64_t end = live->base_ns + START_MAX_NS;
    while (!live->stop && !all_begun(live) && now_ns() < end) {
        if (live->provisional_due)
            cut_provisional(live);
        else
            wait_until(live, end);
    }
    live->base_ns = live->cut_ns = now_ns();
    live->grid++;
    pthread_mutex_unlock(&live->lock);
    if (live->hooks && live->hooks->grid_moved)
        live->hooks->grid_moved(live->hooks_arg);
    pthread_mutex_lock(&live->lock);
}

static void *frames_thread(void *argument) {
    struct live *live = argument;
    pthread_setname_np(pthread_self(), "ktop-frames");
    if (live->hooks && live->hooks->began)
        live->hooks->began(live->hooks_arg);
    pthread_mutex_lock(&live->lock);
    wait_for_begin(live);
    while (!live->stop) {
        uint64_t now = now_ns();
        uint64_t tick = grid_next(live, now > live->cut_ns ? now : live->cut_ns);
        if (!wait_for_tick(live, tick))
            continue;
        // Stopped or starved past further ticks: those are skipped, and the frame's interval is longer.
        now = now_ns();
        if (now >= tick + live->delay_ns)
            tick = grid_next(live, now) - live->delay_ns;
        wait_for_sections(live, tick);
        if (live->hooks && live->hooks->cutting) {
            pthread_mutex_unlock(&live->lock);
            live->hooks->cutting(live->hooks_arg);
            pthread_mutex_lock(&live->lock);
        }
        if (live->stop)
            break;
        struct cut cut = {.tick = tick};
        cut_take(live, &cut, false);
        live->whole = true;
        pthread_mutex_unlock(&live->lock);
        frame_finish(live, &cut, ++live->number, live->cut_ns);
        pthread_mutex_lock(&live->lock);
        live->cut_ns = cut.end_ns;
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

int live_start(struct live *live) {
    if (live->pipe[0] < 0)
        return -EMFILE;
    uint64_t now = now_ns();
    pthread_mutex_lock(&live->lock);
    grid_begin(live, now);
    live->cut_ns = live->base_ns;
    live->stop = false;
    pthread_mutex_unlock(&live->lock);
    int error = thread_start(&live->thread, frames_thread, live);
    live->running = !error;
    return -error;
}

void live_stop(struct live *live) {
    if (!live->running)
        return;
    pthread_mutex_lock(&live->lock);
    live->stop = true;
    pthread_mutex_unlock(&live->lock);
    pthread_cond_signal(&live->wake);
    pthread_join(live->thread, NULL);
    live->running = false;
}

// ---- the reader's side ----

struct history *live_history(struct live *live) {
    return live->history;
}

int live_fd(const struct live *live) {
    return live->pipe[0];
}

const struct frame *live_latest(struct live *live) {
    // Cleared first: a frame that arrives right after it makes the fd readable again.
    char taken[64];
    while (read(live->pipe[0], taken, sizeof(taken)) == sizeof(taken))
        ;
    pthread_mutex_lock(&live->lock);
    const struct frame *frame = frame_ref(live->latest);
    pthread_mutex_unlock(&live->lock);
    return frame;
}

uint64_t live_cpu_ns(const struct live *live) {
    return atomic_load_explicit(&((struct live *)live)->cpu_ns, memory_order_relaxed);
}
