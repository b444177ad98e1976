// Putting entry and return of each system call together, and adding up: by thread and call, with a histogram by call.
// It runs for every system call of the machine: no allocation, no text, no name. No kernel: who a thread is it asks
// through a callback. One thread owns it.
//
// What makes a call one call: a call that a signal interrupted and the kernel began again (ERESTART*, restart_syscall)
// counts once, from its first entry, and with EINTR only if the program saw EINTR, which the sigreturn tells; the
// return of clone and fork in the child is none; exit and exit_group count though they do not return; a return without
// an entry (refused by seccomp, begun before the stream was) counts without a time.
#ifndef COLLECTORS_SYSCALLS_PAIR_H
#define COLLECTORS_SYSCALLS_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/ring_page.h"
#include "model/hist.h"

#define SYSCALLS_COMM 16
#define SYSCALLS_SLOWEST 4 // kept of each call
// Calls that failed: kept of each thread, call and error. Taking them is bounded, in windows of time of the events: so
// many of each, and so many in all.
#define SYSCALLS_FAILED 8
#define SYSCALLS_FAILED_WINDOW_BITS 27 // 134 ms
#define SYSCALLS_FAILED_WINDOW 4
#define SYSCALLS_FAILED_WINDOW_ALL 64
#define SYSCALLS_FAILURES 512 // threads, calls and errors that have some kept
#define SYSCALLS_CACHE 8

// Indexes of processes that are always there: of threads that nobody knows, and ktop's own.
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
    const struct text *text; // the arguments, when they were looked at early; owned
    bool looked;
};

// One system call, of all threads.
struct syscalls_call {
    uint64_t floor; // what a call must take to be among the slowest
    uint32_t n_slow;
    uint8_t abi;
    uint16_t number;
    bool used; // in this interval
    struct syscalls_single slow[SYSCALLS_SLOWEST];
    uint32_t buckets[HIST_BUCKETS];
};

// One thread's calls of one number in the interval.
struct syscalls_cell {
    uint32_t owner; // index of the thread, and its abi above; UINT32_MAX: free
    int32_t id;
    struct syscalls_call *call;
    uint64_t calls, total_ns, min_ns, max_ns; // calls without the untimed ones
    uint32_t errors, untimed;
    uint32_t error, error_at; // the last error, and its place in the table of errors
};

struct syscalls_error {
    uint32_t cell, error, count;
    uint32_t failures; // index + 1; 0: none are kept
};

// The latest calls of one thread and number that failed with one error.
struct syscalls_failures {
    struct syscalls_call *call;
    uint64_t window; // of the last one
    uint32_t n, next, in_window;
    struct syscalls_single at[SYSCALLS_FAILED];
};

enum {
    SYSCALLS_NONE = -1,        // the thread is in its program
    SYSCALLS_UNWANTED = -2,    // a thread that is not counted
    SYSCALLS_INTERRUPTED = -3, // the last call may be begun again
    SYSCALLS_RESTARTED = -4,   // in restart_syscall, for the interrupted call
};

struct syscalls_thread {
    int32_t tid, id; // id: of the call that it is in, or one of the above
    uint64_t enter_ts;
    uint64_t args[6];
    struct syscalls_cell *cache[SYSCALLS_CACHE];
    // Rarely touched:
    uint32_t owner, process;
    uint64_t interrupted_ts, interrupted_args[6], interrupted_ns;
    int32_t interrupted; // a call's id, or SYSCALLS_NONE
    int32_t unsure;      // the call that it was in at a gap or when the stream began (at enter_ts), or SYSCALLS_NONE
    uint8_t seen;        // 2: had an event in the interval; 1: in the one before
    bool ended;          // went into exit
    char comm[SYSCALLS_COMM];
} __attribute__((aligned(64)));

// Field offsets of the events, for kernels with 8-byte longs.
struct syscalls_layout {
    uint16_t enter_id, exit_id, newtask_id, rename_id; // of the events; 0: not there
    uint16_t tid;                                      // common_pid, in all of them
    uint16_t enter_nr, enter_args, exit_nr, exit_ret;
    uint16_t newtask_pid, newtask_comm, newtask_flags, rename_pid, rename_comm;
    uint32_t enter_end, exit_end, newtask_end, rename_end; // shorter records are damaged
};

struct syscalls_hooks {
    // Who that thread is: fills in process and the thread's comm; process->pid 0: it is gone.
    void (*identify)(void *ctx, int32_t tid, struct syscalls_process *process, char *comm);
    // The program's table of numbers after an exec.
    enum syscalls_abi (*abi)(void *ctx, int32_t pid);
    void *ctx;
    bool children; // of wanted processes are wanted
    bool filters;  // only some processes are wanted
};

struct syscalls_pair {
    struct syscalls_layout layout;
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
    } unread[SYSCALLS_FAILED_WINDOW_ALL]; // whose arguments are to be looked at soon
    uint32_t n_unread;
    struct syscalls_cell no_cell; // for what finds no room
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
// Takes a CPU's events up to limit: a ring_run_fn whose ctx is the pair. Returns how many, without ktop's own.
uint64_t syscalls_pair_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit);
// Events before and after it do not belong together.
void syscalls_pair_gap(struct syscalls_pair *pair, uint64_t ts);
// A thread that was in that call before the stream began at ts, unless an event has told of it already.
void syscalls_pair_before(struct syscalls_pair *pair, int32_t tid, int32_t id, const uint64_t args[6], uint64_t ts);
// A thread of ktop's own: neither it nor what it makes is counted, whatever was thought of it before.
void syscalls_pair_own(struct syscalls_pair *pair, int32_t tid);
// Before the interval's figures are read: counts the threads that went into exit.
void syscalls_pair_settle(struct syscalls_pair *pair);
// After: forgets the interval. alive (may be NULL) is asked about threads that had no events for a while.
void syscalls_pair_clear(struct syscalls_pair *pair);
void syscalls_pair_tidy(struct syscalls_pair *pair, bool (*alive)(void *ctx, int32_t tid));

static inline enum syscalls_abi syscalls_thread_abi(const struct syscalls_thread *thread) {
    return (enum syscalls_abi)(thread->owner >> 30);
}
// The table and number that an id of that thread means.
enum syscalls_abi syscalls_call_of(const struct syscalls_thread *thread, int32_t id, uint32_t *number);

#endif
