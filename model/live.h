// The live model: collectors put sections in, frames come out. It owns the clock.
//
// The first interval begins when every collector has begun (2 s after the start at the latest), so that it is as
// complete as every other. Frames are cut on a monotonic grid (that time + n * delay). At each tick the collectors
// sample on their own. The cutter waits for them for a grace period: a quarter of the delay, at most 250 ms; a
// collector that also missed the previous tick gets none. Then it repeats the last section of late collectors (marked
// stale and repeated), runs the findings, pushes the frame into the history and signals the pipe. A late section goes
// into the next frame; if a newer one arrives before that, it absorbs the counts of the late one (section_absorb), so
// that no histogram, event or lost count is missing. Missed ticks (a stopped machine) are skipped: the next frame is
// longer, and its begin and end show that.
#ifndef MODEL_LIVE_H
#define MODEL_LIVE_H

#include "model/clock.h"
#include "model/findings.h"
#include "model/history.h"
#include "model/record/recorder.h"

#define LIVE_DELAY_MIN_NS 100000000ull
#define LIVE_DELAY_MAX_NS 60000000000ull

struct live;

struct live *live_new(uint64_t delay_ns, size_t history_bytes);
void live_free(struct live *live); // after live_stop, and after all collector threads ended or were abandoned

// Callbacks of the frames thread: when it starts, when the first interval starts (which moves the ticks), and when it
// is about to cut a frame. May be NULL.
struct live_hooks {
    void (*began)(void *arg), (*grid_moved)(void *arg), (*cutting)(void *arg);
    // After a frame: the collector has to run until then although no pane needs it (CLOCK_MONOTONIC). Its last section
    // must stay until the lease is returned (until_ns 0). Only when that changes. May be NULL.
    void (*lease)(void *arg, const char *collector, uint64_t until_ns);
};
void live_hook(struct live *live, const struct live_hooks *hooks, void *arg); // before live_start
// Before live_start. Returns the slot. `collector` must outlive the model.
int live_add(struct live *live, const char *collector);
void live_no_profile(struct live *live); // before live_start: findings sample no CPUs (findings_no_profile)
void live_set_origin(struct live *live, const struct origin *take); // before live_start: of all frames
// From now on every whole frame goes to the recorder (NULL: none), which must outlive that.
void live_record(struct live *live, struct recorder *recorder);
int live_start(struct live *live); // starts the cutter thread ("ktop-frames"); 0 or -errno
void live_stop(struct live *live);

// Any collector thread, its own slot only: hands over its section for the interval in one short step. A section that no
// frame has shown is added to it (section_absorb), so no other thread may have it before. Before the first whole frame
// each put makes a provisional one (number 0), as soon as anything but SECTION_STARTING is there.
void live_put(struct live *live, int slot, struct section *take);
// The same for a partial first reading, so that the screen is not empty: the collector has not begun with it.
void live_put_early(struct live *live, int slot, struct section *take);
// A collector that is not needed now (cost follows attention) is neither waited for nor shown as stale: put a section
// without data, or its last section remains.
void live_pause(struct live *live, int slot, bool paused);
// The first tick after `after_ns`, never one before a change of the delay; changes with the delay, and when the first
// interval begins.
uint64_t live_next_tick(struct live *live, uint64_t after_ns);
// Moves the next tick forward to `in_ns` from now, unless it comes sooner: a source that just started is seen at once.
// The ticks after it are a delay apart. Not before the first whole frame. The runner must be woken by the caller.
void live_tick_soon(struct live *live, uint64_t in_ns);

uint64_t live_delay(const struct live *live);
void live_set_delay(struct live *live,
                    uint64_t delay_ns); // clamped; the collectors' runner must be woken by the caller

struct history *live_history(struct live *live);
// Readable when a newer frame is there (including provisional ones before the first whole interval).
int live_fd(const struct live *live);
// Empties the pipe and returns a reference to the newest frame (provisional or whole), or NULL when there is none yet.
const struct frame *live_latest(struct live *live);
// CPU time of the frames thread, for the health pane.
uint64_t live_cpu_ns(const struct live *live);

#endif
