// Threads and processes of the pairing: creation, exec, exit; gaps and frames.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/syscalls/pair_private.h"
#include "model/mem.h"
#include "model/text.h"

#define PROCESSES 16384
#define PROCESS_PLACES (PROCESSES * 2)
#define SEEN 2 // intervals: a thread's last events may be read only after its last interval

static uint32_t thread_place(int32_t tid) {
    return ((uint32_t)tid * 2654435761u) >> 16;
}

_Static_assert(SYSCALLS_THREAD_PLACES == 1 << 16, "the places' numbers fit");

// ---- threads ----

static uint32_t process_add(struct syscalls_pair *pair, const struct syscalls_process *process) {
    uint32_t place = thread_place(process->pid) % PROCESS_PLACES;
    for (; pair->process_at[place]; place = (place + 1) % PROCESS_PLACES) {
        struct syscalls_process *there = &pair->processes[pair->process_at[place] - 1];
        if (there->pid != process->pid)
            continue;
        *there = *process;
        return pair->process_at[place] - 1;
    }
    if (pair->n_processes == PROCESSES)
        return SYSCALLS_OTHERS;
    pair->processes[pair->n_processes++] = *process;
    pair->process_at[place] = pair->n_processes;
    return pair->n_processes - 1;
}

static void thread_is(struct syscalls_pair *pair, struct syscalls_thread *thread, uint32_t process) {
    thread->process = process;
    thread->owner = (uint32_t)(thread - pair->threads) | (uint32_t)pair->processes[process].abi << 30;
    thread->id = pair->processes[process].wanted ? SYSCALLS_NONE : SYSCALLS_UNWANTED;
}

static struct syscalls_thread *thread_find(struct syscalls_pair *pair, int32_t tid, uint32_t *place) {
    for (*place = thread_place(tid); pair->thread_at[*place]; *place = (*place + 1) % SYSCALLS_THREAD_PLACES)
        if (pair->threads[pair->thread_at[*place] - 1].tid == tid)
            return &pair->threads[pair->thread_at[*place] - 1];
    return NULL;
}

static struct syscalls_thread *thread_add(struct syscalls_pair *pair, int32_t tid, uint32_t place) {
    if (!pair->n_free && pair->n_threads == SYSCALLS_THREADS)
        return NULL;
    uint32_t index = pair->n_free ? pair->free_threads[--pair->n_free] : pair->n_threads++;
    struct syscalls_thread *thread = &pair->threads[index];
    *thread = (struct syscalls_thread){
        .tid = tid, .id = SYSCALLS_NONE, .interrupted = SYSCALLS_NONE, .unsure = SYSCALLS_NONE, .seen = SEEN};
    for (int i = 0; i < SYSCALLS_CACHE; i++)
        thread->cache[i] = &pair->no_cell;
    pair->thread_at[place] = index + 1;
    return thread;
}

struct syscalls_thread *syscalls_thread_get(struct syscalls_pair *pair, int32_t tid) {
    uint32_t place;
    struct syscalls_thread *thread = thread_find(pair, tid, &place);
    if (!thread) {
        thread = thread_add(pair, tid, place);
        if (!thread)
            return NULL;
        struct syscalls_process process = {.pid = tid, .wanted = !pair->hooks.filters};
        if (pair->hooks.identify)
            pair->hooks.identify(pair->hooks.ctx, tid, &process, thread->comm);
        thread_is(pair, thread, process_add(pair, &process));
    }
    thread->seen = SEEN;
    return thread;
}

// task_newtask, recorded by the parent before the child runs: identifies it without reading /proc.
static void new_task(struct syscalls_pair *pair, int32_t parent_tid, int32_t tid, uint64_t flags) {
    uint32_t place;
    struct syscalls_thread *parent = syscalls_thread_get(pair, parent_tid), *thread = thread_find(pair, tid, &place);
    if (!parent)
        return;
    pair->own += parent->process == SYSCALLS_OWN;
    if (thread && syscalls_is_exit(pair, thread, thread->id))
        syscalls_count_untimed(pair, thread, thread->id, 0);
    if (thread) // the TID is reused
        thread->interrupted = thread->unsure = SYSCALLS_NONE, thread->ended = false;
    else if (!(thread = thread_add(pair, tid, place)))
        return;
    uint32_t process = parent->process;
    memcpy(thread->comm, parent->comm, SYSCALLS_COMM);
    if (!(flags & CLONE_THREAD) && process != SYSCALLS_OWN) {
        struct syscalls_process child = pair->processes[process];
        child.parent = child.pid;
        child.pid = tid;
        memcpy(child.comm, parent->comm, SYSCALLS_COMM);
        if (pair->hooks.filters && child.wanted && !pair->hooks.children && pair->hooks.identify)
            pair->hooks.identify(pair->hooks.ctx, tid, &child, thread->comm);
        process = process_add(pair, &child);
    }
    thread_is(pair, thread, process);
}

// task_rename: prctl, or an exec, after which the ABI may differ.
static void rename_task(struct syscalls_pair *pair, int32_t tid, const char *comm) {
    struct syscalls_thread *thread = syscalls_thread_get(pair, tid);
    if (!thread)
        return;
    pair->own += thread->process == SYSCALLS_OWN;
    struct syscalls_process *process = &pair->processes[thread->process];
    uint32_t abi = syscalls_thread_abi(thread);
    memcpy(thread->comm, comm, SYSCALLS_COMM);
    if (process->pid == tid)
        memcpy(process->comm, comm, SYSCALLS_COMM);
    bool exec =
        thread->id >= 0 && (thread->id == pair->special[abi].execve || thread->id == pair->special[abi].execveat);
    // On x86 the return shows the new ABI: see pair.c.
    if (!exec || !pair->hooks.abi || SYSCALLS_MACHINE == SYSCALLS_X86_64)
        return;
    struct syscalls_cell *cell = syscalls_cell_get(pair, thread, thread->id); // the exec itself has the old ABI
    process->abi = (uint8_t)pair->hooks.abi(pair->hooks.ctx, process->pid);
    thread->owner = (uint32_t)(thread - pair->threads) | (uint32_t)process->abi << 30;
    if (process->abi == abi || cell == &pair->no_cell)
        return;
    cell->owner =
        thread->owner; // found at its return; that ID of the new ABI has no cell of its own any more, which is rare
}

void syscalls_other_event(struct syscalls_pair *pair, const uint8_t *record, uint32_t size) {
    const struct syscalls_layout *layout = &pair->layout;
    uint16_t type = size >= 8 ? load16(record) : 0;
    if (type && type == layout->newtask_id && size >= layout->newtask_end) {
        uint64_t flags = (uint64_t)load64(record + layout->newtask_flags);
        new_task(pair, load32(record + layout->tid), load32(record + layout->newtask_pid), flags);
    } else if (type && type == layout->rename_id && size >= layout->rename_end) {
        rename_task(pair, load32(record + layout->rename_pid), (const char *)record + layout->rename_comm);
    } else {
        pair->damaged++;
    }
}

// ---- gaps, frames ----

void syscalls_pair_gap(struct syscalls_pair *pair, uint64_t ts) {
    for (uint32_t i = 0; i < pair->n_threads; i++) {
        struct syscalls_thread *thread = &pair->threads[i];
        if (thread->id == SYSCALLS_UNWANTED || !thread->tid)
            continue;
        if (thread->id >= 0 && !syscalls_is_exit(pair, thread, thread->id)) {
            thread->unsure = thread->id;
            thread->enter_ts = ts;
            thread->id = SYSCALLS_NONE;
        }
        if (thread->id < SYSCALLS_NONE)
            thread->id = SYSCALLS_NONE;
        thread->interrupted = SYSCALLS_NONE;
    }
}

void syscalls_pair_before(struct syscalls_pair *pair, int32_t tid, int32_t id, const uint64_t args[6], uint64_t ts) {
    uint32_t place;
    if (thread_find(pair, tid, &place))
        return;
    struct syscalls_thread *thread = syscalls_thread_get(pair, tid);
    if (!thread || thread->id != SYSCALLS_NONE)
        return;
    thread->unsure = id;
    thread->enter_ts = ts;
    memcpy(thread->args, args, sizeof(thread->args));
}

void syscalls_pair_own(struct syscalls_pair *pair, int32_t tid) {
    uint32_t place;
    struct syscalls_thread *thread = thread_find(pair, tid, &place);
    if (!thread && !(thread = thread_add(pair, tid, place)))
        return;
    thread->seen = SEEN;
    thread->ended = false;
    thread->interrupted = thread->unsure = SYSCALLS_NONE;
    thread_is(pair, thread, SYSCALLS_OWN);
}

void syscalls_pair_settle(struct syscalls_pair *pair) {
    for (uint32_t i = 0; i < pair->n_threads; i++) {
        struct syscalls_thread *thread = &pair->threads[i];
        if (!thread->tid || !syscalls_is_exit(pair, thread, thread->id))
            continue;
        syscalls_count_untimed(pair, thread, thread->id, 0);
        thread->id = SYSCALLS_NONE;
        thread->ended = true;
    }
}

void syscalls_pair_clear(struct syscalls_pair *pair) {
    for (uint32_t i = 0; i < pair->n_cells; i++) {
        pair->cells[i].owner = UINT32_MAX;
        pair->cell_at[pair->cell_places[i]] = 0;
    }
    for (uint32_t i = 0; i < pair->n_errors; i++)
        pair->error_of[pair->error_places[i]] = 0;
    for (uint32_t i = 0; i < pair->n_calls; i++) {
        struct syscalls_call *call = &pair->calls[i];
        if (!call->used)
            continue;
        for (uint32_t k = 0; k < call->n_slow; k++)
            text_unref(call->slow[k].text);
        memset(call->buckets, 0, sizeof(call->buckets));
        call->n_slow = 0;
        call->floor = 0;
        call->used = false;
    }
    for (uint32_t i = 0; i < pair->n_failures; i++)
        for (uint32_t k = 0; k < pair->failures[i].n; k++)
            text_unref(pair->failures[i].at[k].text);
    pair->n_cells = pair->n_errors = pair->n_failures = pair->n_unread = 0;
    pair->unpaired = pair->left_out = pair->damaged = 0;
}

// Rebuilds the index of the remaining threads and processes.
static void index_again(struct syscalls_pair *pair) {
    uint32_t *moved = xcalloc(pair->n_processes, sizeof(*moved)), n = SYSCALLS_FIXED, place;
    for (uint32_t i = 0; i < pair->n_threads; i++)
        if (pair->threads[i].tid)
            moved[pair->threads[i].process] = 1;
    memset(pair->process_at, 0, PROCESS_PLACES * sizeof(*pair->process_at));
    for (uint32_t i = SYSCALLS_FIXED; i < pair->n_processes; i++) {
        if (!moved[i])
            continue;
        pair->processes[n] = pair->processes[i];
        for (place = thread_place(pair->processes[n].pid) % PROCESS_PLACES; pair->process_at[place];)
            place = (place + 1) % PROCESS_PLACES;
        moved[i] = n++;
        pair->process_at[place] = n;
    }
    pair->n_processes = n;
    memset(pair->thread_at, 0, SYSCALLS_THREAD_PLACES * sizeof(*pair->thread_at));
    for (uint32_t i = 0; i < pair->n_threads; i++) {
        struct syscalls_thread *thread = &pair->threads[i];
        if (!thread->tid)
            continue;
        thread_find(pair, thread->tid, &place);
        pair->thread_at[place] = i + 1;
        if (thread->process >= SYSCALLS_FIXED)
            thread->process = moved[thread->process];
    }
    free(moved);
}

void syscalls_pair_tidy(struct syscalls_pair *pair, bool (*alive)(void *ctx, int32_t tid)) {
    bool removed = false;
    for (uint32_t i = 0; i < pair->n_threads; i++) {
        struct syscalls_thread *thread = &pair->threads[i];
        bool gone = thread->ended || (!thread->seen && alive && thread->tid && !alive(pair->hooks.ctx, thread->tid));
        thread->seen -= thread->seen > 0;
        if (!thread->tid || !gone)
            continue;
        thread->tid = 0;
        thread->id = SYSCALLS_UNWANTED;
        pair->free_threads[pair->n_free++] = i;
        removed = true;
    }
    if (!removed)
        return;
    index_again(pair);
    for (uint32_t cpu = 0; cpu < pair->n_cpus; cpu++) {
        pair->last[cpu].tid = -1;
        pair->last[cpu].thread = NULL;
    }
}

// ---- creation ----

static void special_numbers(struct syscalls_pair *pair, int abi, enum syscalls_machine machine) {
    pair->special[abi].exit = syscalls_number_of(machine, "exit");
    pair->special[abi].exit_group = syscalls_number_of(machine, "exit_group");
    pair->special[abi].clone = syscalls_number_of(machine, "clone");
    pair->special[abi].clone3 = syscalls_number_of(machine, "clone3");
    pair->special[abi].fork = syscalls_number_of(machine, "fork");
    pair->special[abi].vfork = syscalls_number_of(machine, "vfork");
    pair->special[abi].sigreturn = syscalls_number_of(machine, "sigreturn");
    pair->special[abi].rt_sigreturn = syscalls_number_of(machine, "rt_sigreturn");
    pair->special[abi].restart = syscalls_number_of(machine, "restart_syscall");
    pair->special[abi].execve = syscalls_number_of(machine, "execve");
    pair->special[abi].execveat = syscalls_number_of(machine, "execveat");
}

struct syscalls_pair *syscalls_pair_new(const struct syscalls_layout *layout, const struct syscalls_hooks *hooks,
                                        uint32_t n_cpus) {
    static const struct trace_clock mono = TRACE_CLOCK_MONO;
    struct syscalls_pair *pair = xcalloc(1, sizeof(*pair));
    pair->layout = *layout;
    pair->clock = &mono;
    pair->hooks = *hooks;
    pair->n_cpus = n_cpus;
    pair->last = xcalloc(n_cpus, sizeof(*pair->last));
    for (uint32_t cpu = 0; cpu < n_cpus; cpu++)
        pair->last[cpu].tid = -1;
    // Large, but only the used part is ever touched.
    size_t bytes = SYSCALLS_THREADS * sizeof(*pair->threads);
    pair->threads = aligned_alloc(64, bytes);
    if (!pair->threads)
        abort();
    pair->thread_at = xcalloc(SYSCALLS_THREAD_PLACES, sizeof(*pair->thread_at));
    pair->free_threads = xcalloc(SYSCALLS_THREADS, sizeof(*pair->free_threads));
    pair->processes = xcalloc(PROCESSES, sizeof(*pair->processes));
    pair->process_at = xcalloc(PROCESS_PLACES, sizeof(*pair->process_at));
    pair->cells = xcalloc(SYSCALLS_CELLS, sizeof(*pair->cells));
    pair->cell_at = xcalloc(SYSCALLS_CELL_PLACES, sizeof(*pair->cell_at));
    pair->cell_places = xcalloc(SYSCALLS_CELLS, sizeof(*pair->cell_places));
    pair->calls = xcalloc(SYSCALLS_CALLS_MAX, sizeof(*pair->calls));
    pair->errors = xcalloc(SYSCALLS_ERRORS_MAX, sizeof(*pair->errors));
    pair->error_of = xcalloc(SYSCALLS_ERROR_PLACES, sizeof(*pair->error_of));
    pair->error_places = xcalloc(SYSCALLS_ERRORS_MAX, sizeof(*pair->error_places));
    pair->failures = xcalloc(SYSCALLS_FAILURES, sizeof(*pair->failures));
    pair->no_cell = (struct syscalls_cell){.owner = UINT32_MAX, .call = &pair->no_call, .min_ns = UINT64_MAX};
    pair->processes[SYSCALLS_OTHERS] = (struct syscalls_process){.comm = "(others)", .wanted = true};
    pair->processes[SYSCALLS_OWN] = (struct syscalls_process){.comm = "ktop"};
    pair->n_processes = SYSCALLS_FIXED;
    special_numbers(pair, SYSCALLS_ABI_NATIVE, SYSCALLS_MACHINE);
    special_numbers(pair, SYSCALLS_ABI_32, SYSCALLS_I386);
    return pair;
}

void syscalls_pair_free(struct syscalls_pair *pair) {
    if (!pair)
        return;
    syscalls_pair_clear(pair);
    for (uint32_t k = 0; k < pair->no_call.n_slow; k++)
        text_unref(pair->no_call.slow[k].text);
    free(pair->last);
    free(pair->threads);
    free(pair->thread_at);
    free(pair->free_threads);
    free(pair->processes);
    free(pair->process_at);
    free(pair->cells);
    free(pair->cell_at);
    free(pair->cell_places);
    free(pair->calls);
    free(pair->errors);
    free(pair->error_of);
    free(pair->error_places);
    free(pair->failures);
    free(pair);
}
