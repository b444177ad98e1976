// Pairs entry and return of each system call and sums by thread and call, with a histogram by call. Runs for every
// system call of the machine: no allocation, no text, no names. Knows no kernel interface: threads are identified by a
// callback. One thread owns it. What counts as one call: a call that was interrupted by a signal and restarted
// (ERESTART*, restart_syscall) counts once, from its first entry, and fails with EINTR only if the program saw EINTR,
// which the sigreturn shows. The return of clone and fork in the child does not count. exit and exit_group count,
// though they do not return. A return without an entry (refused by seccomp, entered before tracing) counts without a
// latency.
#ifndef COLLECTORS_SYSCALLS_PAIR_H
#define COLLECTORS_SYSCALLS_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/ring_page.h"
#include "collectors/kernel/tracefs/trace_clock.h"
#include "model/hist.h"

#define SYSCALLS_COMM 16
#define SYSCALLS_SLOWEST 4 // kept of each system call
// Failed calls, kept per (thread, call, error); rate-limited per time window, per key and in total.
#define SYSCALLS_FAILED 8
#define SYSCALLS_FAILED_WINDOW_BITS 27 // 134 ms
#define SYSCALLS_FAILED_WINDOW 4
#define SYSCALLS_FAILED_WINDOW_ALL 64
#define SYSCALLS_FAILURES 512 // keys (thread, call, error) with kept calls
#define SYSCALLS_CACHE 8

// Indexes of the two fixed processes: of unknown threads, and of ktop itself.
enum { SYSCALLS_OTHERS, SYSCALLS_OWN, SYSCALLS_FIXED };

struct syscalls_process {
    int32_t pid, parent;
    uint32_t user;
    char comm[SYSCALLS_COMM];
    bool wanted;
    uint8_t abi; // enum syscalls_abi: native or 32
};

// A single call.
struct syscalls_single {
    uint64_t begin_ts, latency_ns, args[6];
    int64_t result;
    int32_t tid;
    uint32_t process; // index
    char comm[SYSCALLS_COMM];
    const struct text *text; // the arguments, if read early; owned
    bool looked;
};

// One system call, of all threads.
struct syscalls_call {
    uint64_t floor; // shortest latency among the kept slowest calls
    uint32_t n_slow;
    uint8_t abi;
    uint16_t number;
    bool used; // in this interval
    struct syscalls_single slow[SYSCALLS_SLOWEST];
    uint32_t buckets[HIST_BUCKETS];
};

// One thread's calls of one system call in the interval.
struct syscalls_cell {
    uint32_t owner; // index of the thread, and its abi above; UINT32_MAX: free
    int32_t id;
    struct syscalls_call *call;
    uint64_t calls, total_ns, min_ns, max_ns; // calls: without the untimed ones
    uint32_t errors, untimed;
    uint32_t error, error_at; // the last error, and its index in the table of errors
};

struct syscalls_error {
    uint32_t cell, error, count;
    uint32_t failures; // index + 1; 0: none are kept
};

// The latest failed calls of one (thread, call, error).
struct syscalls_failures {
    struct syscalls_call *call;
    uint64_t window; // of the last one
    uint32_t n, next, in_window;
    struct syscalls_single at[SYSCALLS_FAILED];
};

enum {
    SYSCALLS_NONE = -1,        // the thread is in user space
    SYSCALLS_UNWANTED = -2,    // the thread is not counted
    SYSCALLS_INTERRUPTED = -3, // the last call may be restarted
    SYSCALLS_RESTARTED = -4,   // in restart_syscall, for the interrupted call
};

struct syscalls_thread {
    int32_t tid, id; // id: its current call, or one of the above
    uint64_t enter_ts;
    uint64_t args[6];
    struct syscalls_cell *cache[SYSCALLS_CACHE];
    // Rarely touched:
    uint32_t owner, process;
    uint64_t interrupted_ts, interrupted_args[6], interrupted_ns;
    int32_t interrupted; // a call's id, or SYSCALLS_NONE
    int32_t unsure;      // its call at a gap or at the start of tracing (at enter_ts), or SYSCALLS_NONE
    uint8_t seen;        // 2: had an event in the interval; 1: in the one before
    bool ended;          // it entered exit
    char comm[SYSCALLS_COMM];
} __attribute__((aligned(64)));

// Field offsets of the events, for kernels with 8-byte longs.
struct syscalls_layout {
    uint16_t enter_id, exit_id, newtask_id, rename_id; // of the events; 0: missing
    uint16_t tid;                                      // common_pid, in all of them
    uint16_t enter_nr, enter_args, exit_nr, exit_ret;
    uint16_t newtask_pid, newtask_comm, newtask_flags, rename_pid, rename_comm;
    uint32_t enter_end, exit_end, newtask_end, rename_end; // shorter records are damaged
};

struct syscalls_hooks {
    // Identifies the thread: fills in process and the thread's comm; process->pid 0: it is gone.
    void (*identify)(void *ctx, int32_t tid, struct syscalls_process *process, char *comm);
    // The ABI of the program after an exec.
    enum syscalls_abi (*abi)(void *ctx, int32_t pid);
    void *ctx;
    bool children; // of wanted processes are wanted
    bool filters;  // a filter is set
};

struct syscalls_pair {
    struct syscalls_layout layout;
    const struct trace_clock *clock; // of the pages; all other times are CLOCK_MONOTONIC's
    struct syscalls_hooks hooks;
    struct syscalls_thread *threads;
    uint32_t n_threads, n_free, *free_threads, *thread_at;
    struct syscalls_process *processes;
    uint32_t n_processes, *process_at;
    struct syscalls_cell *cells;
    uint32_t n_cells, *cell_at, *cell_places;
    struct syscalls_call *calls;
    uint32_t n_calls;
    uint16_t call_at[SYSCALLS_ABIS][SYSCALLS_NUMBERS]; // + 1
    struct syscalls_error *errors;
    uint32_t n_errors, *error_of, *error_places;
    struct syscalls_failures *failures;
    uint32_t n_failures, failed_in_window;
    uint64_t failed_window;
    struct {
        uint16_t failures, at;
    } unread[SYSCALLS_FAILED_WINDOW_ALL]; // whose arguments are to be read soon
    uint32_t n_unread;
    struct syscalls_cell no_cell; // for what does not fit
    struct syscalls_call no_call;
    struct {
        int32_t tid;
        struct syscalls_thread *thread;
    } * last; // by CPU
    uint32_t n_cpus;
    struct {
        int32_t exit, exit_group, clone, clone3, fork, vfork, sigreturn, rt_sigreturn, restart, execve, execveat;
    } special[2];                         // by abi: native, 32
    uint64_t unpaired, left_out, damaged; // in the interval
    uint64_t own;                         // events of ktop's own threads, ever
};

struct syscalls_pair *syscalls_pair_new(const struct syscalls_layout *layout, const struct syscalls_hooks *hooks,
                                        uint32_t n_cpus);
void syscalls_pair_free(struct syscalls_pair *pair);
// Takes a CPU's events up to limit: a ring_run_fn whose ctx is the pair. Returns how many, ktop's own excluded.
uint64_t syscalls_pair_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit);
// A gap: events before and after it cannot be paired.
void syscalls_pair_gap(struct syscalls_pair *pair, uint64_t ts);
// A thread that was in that call when the stream began at ts; ignored if the thread already had an event.
void syscalls_pair_before(struct syscalls_pair *pair, int32_t tid, int32_t id, const uint64_t args[6], uint64_t ts);
// A ktop thread: neither it nor its children are counted from now on.
void syscalls_pair_own(struct syscalls_pair *pair, int32_t tid);
// Before the interval's sums are read: counts the threads that entered exit.
void syscalls_pair_settle(struct syscalls_pair *pair);
// After: clears the interval. alive (may be NULL) is called for threads without recent events.
void syscalls_pair_clear(struct syscalls_pair *pair);
void syscalls_pair_tidy(struct syscalls_pair *pair, bool (*alive)(void *ctx, int32_t tid));

static inline enum syscalls_abi syscalls_thread_abi(const struct syscalls_thread *thread) {
    return (enum syscalls_abi)(thread->owner >> 30);
}
// The ABI and number of an ID of that thread.
enum syscalls_abi syscalls_call_of(const struct syscalls_thread *thread, int32_t id, uint32_t *number);

#endif
