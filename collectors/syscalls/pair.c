// The event path first, then rare cases: interrupted calls, returns without an entry, the slowest calls.
#include <errno.h>
#include <string.h>

#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/syscalls/pair_private.h"
#include "model/text.h"

#define ERROR_MAX 4095

#define unlikely(condition_) __builtin_expect(condition_, 0)

static void enter_rare(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id, uint64_t ts,
                       const uint8_t *args);
static void exit_rare(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id, int64_t ret, uint64_t ts);
static bool failed(struct syscalls_pair *pair, struct syscalls_thread *thread, struct syscalls_cell *cell, int64_t ret,
                   uint64_t ts);
static void keep_slow(struct syscalls_call *call, const struct syscalls_thread *thread, uint64_t latency, int64_t ret);
static void keep_failed(struct syscalls_pair *pair, struct syscalls_error *error, const struct syscalls_thread *thread,
                        uint64_t ts);

// ---- for every event ----

static inline struct syscalls_cell *cell_of(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id) {
    struct syscalls_cell *cell = thread->cache[id & (SYSCALLS_CACHE - 1)];
    if (unlikely(cell->owner != thread->owner || cell->id != id))
        cell = syscalls_cell_get(pair, thread, id);
    return cell;
}

static inline void done(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id, int64_t ret,
                        uint64_t ts) {
    struct syscalls_cell *cell = cell_of(pair, thread, id);
    if (unlikely((uint64_t)ret >= (uint64_t)-ERROR_MAX) && failed(pair, thread, cell, ret, ts))
        return;
    uint64_t latency = ts - thread->enter_ts;
    cell->calls++;
    cell->total_ns += latency;
    if (latency < cell->min_ns)
        cell->min_ns = latency;
    if (latency > cell->max_ns)
        cell->max_ns = latency;
    cell->call->buckets[hist_bucket(latency)]++;
    if (unlikely(latency > cell->call->floor))
        keep_slow(cell->call, thread, latency, ret);
}

uint64_t syscalls_pair_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct syscalls_pair *pair = ctx;
    const struct syscalls_layout layout = pair->layout;
    const struct trace_clock clock = *pair->clock;
    struct ring_page at = *page;
    struct syscalls_thread *thread = pair->last[cpu].thread;
    int32_t last = pair->last[cpu].tid;
    uint64_t n = 0, own = pair->own;
    do {
        const uint8_t *record = at.data;
        uint16_t type = load16(record);
        n++;
        if (type == layout.enter_id ? at.size < layout.enter_end
                                    : type != layout.exit_id || at.size < layout.exit_end) {
            syscalls_other_event(pair, record, at.size);
            continue;
        }
        int32_t tid = load32(record + layout.tid);
        if (tid != last) {
            thread = syscalls_thread_get(pair, tid);
            last = tid;
        }
        if (unlikely(!thread)) {
            pair->left_out++;
        } else if (type == layout.enter_id) {
            int32_t id = load32(record + layout.enter_nr);
            uint64_t ts = trace_clock_mono(&clock, at.ts);
            if (unlikely(thread->id != SYSCALLS_NONE)) {
                enter_rare(pair, thread, id, ts, record + layout.enter_args);
            } else {
                thread->id = id;
                thread->enter_ts = ts;
                memcpy(thread->args, record + layout.enter_args, sizeof(thread->args));
            }
        } else {
            int32_t id = load32(record + layout.exit_nr);
            int64_t ret = load64(record + layout.exit_ret);
            uint64_t ts = trace_clock_mono(&clock, at.ts);
            if (unlikely(thread->id != id || id < 0)) {
                exit_rare(pair, thread, id, ret, ts);
            } else {
                thread->id = SYSCALLS_NONE;
                done(pair, thread, id, ret, ts);
            }
        }
    } while (ring_page_next(&at) && at.ts < limit);
    *page = at;
    pair->last[cpu].thread = thread;
    pair->last[cpu].tid = last;
    return n - (pair->own - own);
}

// ---- tables ----

static uint32_t cell_place(uint32_t owner, int32_t id) {
    return (uint32_t)(((uint64_t)owner << 32 | (uint32_t)id) * 0x9e3779b97f4a7c15ull >> 46);
}

_Static_assert(SYSCALLS_CELL_PLACES == 1 << 18 && SYSCALLS_ERROR_PLACES == 1 << 17, "the places' numbers fit");

enum syscalls_abi syscalls_call_of(const struct syscalls_thread *thread, int32_t id, uint32_t *number) {
    enum syscalls_abi abi = syscalls_thread_abi(thread);
    *number = (uint32_t)id;
    if (abi == SYSCALLS_ABI_NATIVE && SYSCALLS_MACHINE == SYSCALLS_X86_64 && id & SYSCALLS_X32_BIT) {
        *number = (uint32_t)id & ~(uint32_t)SYSCALLS_X32_BIT;
        return SYSCALLS_ABI_X32;
    }
    return abi;
}

static struct syscalls_call *call_get(struct syscalls_pair *pair, const struct syscalls_thread *thread, int32_t id) {
    uint32_t number;
    enum syscalls_abi abi = syscalls_call_of(thread, id, &number);
    if (number >= SYSCALLS_NUMBERS)
        number = SYSCALLS_NUMBERS - 1; // no such system call
    uint16_t *at = &pair->call_at[abi][number];
    if (!*at && pair->n_calls == SYSCALLS_CALLS_MAX)
        return NULL;
    if (!*at) {
        *at = (uint16_t)++pair->n_calls;
        pair->calls[*at - 1].abi = (uint8_t)abi;
        pair->calls[*at - 1].number = (uint16_t)number;
    }
    struct syscalls_call *call = &pair->calls[*at - 1];
    call->used = true;
    return call;
}

struct syscalls_cell *syscalls_cell_get(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id) {
    uint32_t place = cell_place(thread->owner, id);
    struct syscalls_cell *cell;
    for (; pair->cell_at[place]; place = (place + 1) % SYSCALLS_CELL_PLACES) {
        cell = &pair->cells[pair->cell_at[place] - 1];
        if (cell->owner == thread->owner && cell->id == id) {
            thread->cache[id & (SYSCALLS_CACHE - 1)] = cell;
            return cell;
        }
    }
    struct syscalls_call *call = pair->n_cells < SYSCALLS_CELLS ? call_get(pair, thread, id) : NULL;
    if (!call) { // counted nowhere else
        pair->left_out++;
        return &pair->no_cell;
    }
    cell = &pair->cells[pair->n_cells++];
    *cell = (struct syscalls_cell){.owner = thread->owner, .id = id, .call = call, .min_ns = UINT64_MAX};
    pair->cell_at[place] = pair->n_cells;
    pair->cell_places[pair->n_cells - 1] = place;
    thread->cache[id & (SYSCALLS_CACHE - 1)] = cell;
    return cell;
}

// NULL when there is no room.
static struct syscalls_error *error_count(struct syscalls_pair *pair, struct syscalls_cell *cell, uint32_t error) {
    cell->errors++;
    if (cell->error == error) {
        pair->errors[cell->error_at].count++;
        return &pair->errors[cell->error_at];
    }
    if (cell == &pair->no_cell)
        return NULL;
    uint32_t index = (uint32_t)(cell - pair->cells);
    uint32_t place = (uint32_t)(((uint64_t)index << 12 | error) * 0x9e3779b97f4a7c15ull >> 47);
    struct syscalls_error *entry;
    for (; pair->error_of[place]; place = (place + 1) % SYSCALLS_ERROR_PLACES) {
        entry = &pair->errors[pair->error_of[place] - 1];
        if (entry->cell == index && entry->error == error)
            break;
    }
    if (!pair->error_of[place]) {
        if (pair->n_errors == SYSCALLS_ERRORS_MAX)
            return NULL;
        pair->errors[pair->n_errors++] = (struct syscalls_error){.cell = index, .error = error};
        pair->error_of[place] = pair->n_errors;
        pair->error_places[pair->n_errors - 1] = place;
    }
    cell->error = error;
    cell->error_at = pair->error_of[place] - 1;
    pair->errors[cell->error_at].count++;
    return &pair->errors[cell->error_at];
}

// ---- irregular entries and returns ----

static bool is_sigreturn(const struct syscalls_pair *pair, const struct syscalls_thread *thread, int32_t id) {
    uint32_t abi = syscalls_thread_abi(thread);
    return id >= 0 && (id == pair->special[abi].rt_sigreturn || id == pair->special[abi].sigreturn);
}

bool syscalls_is_exit(const struct syscalls_pair *pair, const struct syscalls_thread *thread, int32_t id) {
    uint32_t abi = syscalls_thread_abi(thread);
    return id >= 0 && (id == pair->special[abi].exit || id == pair->special[abi].exit_group);
}

static bool is_clone(const struct syscalls_pair *pair, const struct syscalls_thread *thread, int32_t id) {
    uint32_t abi = syscalls_thread_abi(thread);
    return id >= 0 && (id == pair->special[abi].clone || id == pair->special[abi].clone3 ||
                       id == pair->special[abi].fork || id == pair->special[abi].vfork);
}

static bool is_exec(const struct syscalls_pair *pair, uint32_t abi, int32_t id) {
    return id >= 0 && (id == pair->special[abi].execve || id == pair->special[abi].execveat);
}

void syscalls_count_untimed(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id, int64_t ret) {
    struct syscalls_cell *cell = cell_of(pair, thread, id);
    cell->untimed++;
    if ((uint64_t)ret >= (uint64_t)-ERROR_MAX)
        error_count(pair, cell, (uint32_t)-ret);
}

// A call that returned an error. True when the program does not see it: the call is not over.
static bool failed(struct syscalls_pair *pair, struct syscalls_thread *thread, struct syscalls_cell *cell, int64_t ret,
                   uint64_t ts) {
    if (!syscalls_is_restart(ret)) {
        struct syscalls_error *error = error_count(pair, cell, (uint32_t)-ret);
        if (error)
            keep_failed(pair, error, thread, ts);
        return false;
    }
    thread->id = SYSCALLS_INTERRUPTED;
    thread->interrupted = cell->id;
    thread->interrupted_ts = thread->enter_ts;
    thread->interrupted_ns = ts - thread->enter_ts;
    memcpy(thread->interrupted_args, thread->args, sizeof(thread->args));
    return true;
}

static void enter_rare(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id, uint64_t ts,
                       const uint8_t *args) {
    if (thread->id == SYSCALLS_UNWANTED) {
        pair->own += thread->process == SYSCALLS_OWN;
        return;
    }
    if (syscalls_is_exit(pair, thread, thread->id)) // the TID is reused, by a thread whose creation was not recorded
        syscalls_count_untimed(pair, thread, thread->id, 0);
    else if (thread->id >= 0)
        pair->unpaired++;
    bool interrupted = thread->id == SYSCALLS_INTERRUPTED;
    memcpy(thread->args, args, sizeof(thread->args));
    thread->id = id;
    thread->enter_ts = ts;
    if (!interrupted || id < 0)
        return;
    if (id == pair->special[syscalls_thread_abi(thread)].restart) {
        thread->id = SYSCALLS_RESTARTED;
    } else if (id == thread->interrupted && !memcmp(thread->args, thread->interrupted_args, sizeof(thread->args))) {
        thread->enter_ts = thread->interrupted_ts; // restarted: still the same call
        thread->interrupted = SYSCALLS_NONE;
    } // else a signal handler: its sigreturn shows the fate of the interrupted call
}

// The fate of an interrupted call: the handler returns into it, or with EINTR into the program.
static void handler_returns(struct syscalls_pair *pair, struct syscalls_thread *thread, int64_t ret) {
    if (thread->interrupted < 0)
        return;
    if (ret != -EINTR) {
        thread->id = SYSCALLS_INTERRUPTED;
        return;
    }
    uint64_t now = thread->interrupted_ts + thread->interrupted_ns;
    thread->enter_ts = thread->interrupted_ts;
    memcpy(thread->args, thread->interrupted_args, sizeof(thread->args));
    int32_t id = thread->interrupted;
    thread->interrupted = SYSCALLS_NONE;
    done(pair, thread, id, ret, now);
}

static void exit_rare(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id, int64_t ret,
                      uint64_t ts) {
    int32_t was = thread->id;
    if (was == SYSCALLS_UNWANTED) {
        pair->own += thread->process == SYSCALLS_OWN;
        return;
    }
    thread->id = SYSCALLS_NONE;
    if (is_sigreturn(pair, thread, was) && id < 0) {
        done(pair, thread, was, 0, ts); // its result is a register of the interrupted program
        handler_returns(pair, thread, ret);
        return;
    }
    if (was == SYSCALLS_RESTARTED && id == pair->special[syscalls_thread_abi(thread)].restart) {
        thread->enter_ts = thread->interrupted_ts;
        memcpy(thread->args, thread->interrupted_args, sizeof(thread->args));
        done(pair, thread, thread->interrupted, ret, ts);
        if (thread->id != SYSCALLS_INTERRUPTED)
            thread->interrupted = SYSCALLS_NONE;
        return;
    }
    if (ret == 0 && is_exec(pair, syscalls_thread_abi(thread), was) &&
        is_exec(pair, syscalls_thread_abi(thread) ^ SYSCALLS_ABI_32, id)) { // from now on with the other ABI
        done(pair, thread, was, ret, ts);
        pair->processes[thread->process].abi = syscalls_thread_abi(thread) ^ SYSCALLS_ABI_32;
        thread->owner ^= (uint32_t)SYSCALLS_ABI_32 << 30;
        return;
    }
    if (id < 0 || syscalls_is_restart(ret) || (is_clone(pair, thread, id) && ret == 0))
        return;
    syscalls_count_untimed(pair, thread, id, ret);
    pair->unpaired++;
    thread->unsure = SYSCALLS_NONE;
}

// ---- single calls: the slowest, the latest failed ----

static void keep(struct syscalls_single *out, const struct syscalls_thread *thread, uint64_t latency, int64_t ret) {
    *out = (struct syscalls_single){.begin_ts = thread->enter_ts,
                                    .latency_ns = latency,
                                    .result = ret,
                                    .tid = thread->tid,
                                    .process = thread->process};
    memcpy(out->args, thread->args, sizeof(out->args));
    memcpy(out->comm, thread->comm, sizeof(out->comm));
}

static void keep_slow(struct syscalls_call *call, const struct syscalls_thread *thread, uint64_t latency, int64_t ret) {
    struct syscalls_single *least = &call->slow[0];
    if (call->n_slow < SYSCALLS_SLOWEST) {
        least = &call->slow[call->n_slow++];
    } else {
        for (uint32_t i = 1; i < SYSCALLS_SLOWEST; i++)
            if (call->slow[i].latency_ns < least->latency_ns)
                least = &call->slow[i];
        text_unref(least->text);
    }
    keep(least, thread, latency, ret);
    if (call->n_slow < SYSCALLS_SLOWEST)
        return;
    call->floor = UINT64_MAX;
    for (uint32_t i = 0; i < SYSCALLS_SLOWEST; i++)
        if (call->slow[i].latency_ns < call->floor)
            call->floor = call->slow[i].latency_ns;
}

static struct syscalls_failures *failures_of(struct syscalls_pair *pair, struct syscalls_error *error) {
    if (!error->failures) {
        if (pair->n_failures == SYSCALLS_FAILURES)
            return NULL;
        struct syscalls_failures *fresh = &pair->failures[pair->n_failures++];
        fresh->call = pair->cells[error->cell].call;
        fresh->window = fresh->n = fresh->next = fresh->in_window = 0;
        error->failures = pair->n_failures;
    }
    return &pair->failures[error->failures - 1];
}

// Only the first few of each window, so that at high error rates each costs only a comparison of times.
static void keep_failed(struct syscalls_pair *pair, struct syscalls_error *error, const struct syscalls_thread *thread,
                        uint64_t ts) {
    uint64_t window = ts >> SYSCALLS_FAILED_WINDOW_BITS;
    if (window > pair->failed_window) { // CPUs are slightly out of step
        pair->failed_window = window;
        pair->failed_in_window = 0;
    }
    if (pair->failed_in_window == SYSCALLS_FAILED_WINDOW_ALL || pair->n_unread == SYSCALLS_FAILED_WINDOW_ALL)
        return;
    struct syscalls_failures *failures = failures_of(pair, error);
    if (!failures)
        return;
    if (window > failures->window) {
        failures->window = window;
        failures->in_window = 0;
    }
    // Keys with kept calls leave half of the window to new keys.
    if (failures->in_window == SYSCALLS_FAILED_WINDOW ||
        (failures->n && pair->failed_in_window >= SYSCALLS_FAILED_WINDOW_ALL / 2))
        return;
    failures->in_window++;
    pair->failed_in_window++;
    struct syscalls_single *at = &failures->at[failures->next];
    if (failures->n == SYSCALLS_FAILED)
        text_unref(at->text);
    else
        failures->n++;
    keep(at, thread, ts - thread->enter_ts, -(int64_t)error->error);
    pair->unread[pair->n_unread].failures = (uint16_t)(error->failures - 1);
    pair->unread[pair->n_unread++].at = (uint16_t)failures->next;
    failures->next = (failures->next + 1) % SYSCALLS_FAILED;
}
