// Finding tasks. /proc is listed whole only at the start, every 32 frames, and when something cannot be explained:
// the kernel allocates PIDs in order, and /proc/loadavg has the last one, so that the new ones since the last
// frame are looked up one by one among a handful of PIDs.
#include "collectors/tasks/tasks.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/mem.h"

#define LIST_FRAMES 32
#define FRESH_NOW 1000 // new tasks read in full at once; the rest at a high fork rate follows later

void pid_list_add(struct pid_list *list, pid_t pid) {
    if (list->count == list->room) {
        list->room = list->room ? list->room * 2 : 64;
        list->pids = xrealloc(list->pids, list->room * sizeof(*list->pids));
    }
    list->pids[list->count++] = pid;
}

// A task that is seen for the first time. One that began within this interval had all counters at 0 then. At the first
// listing only stat is read, so that there is something to show soon; names and the other counters follow.
static bool task_begin(struct tasks *tasks, struct task *task) {
    struct task_stat stat = {0};
    task->seen = tasks->listing;
    task->settled = !tasks->all_new && tasks->fresh.count < FRESH_NOW;
    task_read_user(&tasks->proc, tasks->names, task);
    if (!tasks->all_new) {
        if (task_read_stat(&tasks->proc, task, &stat)) {
            if (task->process)
                task->process->members--;
            tasks_set_drop(tasks->set, task);
            return false;
        }
        // Start times are cut to a tick, so one tick before the interval may be within it; and it was not there before.
        if (((double)stat.start + 2) * tasks->tick_ns >= (double)tasks->begin_boot_ns) {
            task->born = true;
            task->read_ns = tasks->begin_ns;
            task->counters.have = UINT8_MAX;
        }
    }
    if (task->settled) {
        task->grouped = !task->process && stat.threads > 1;
        tasks_poll(tasks, &task, 1);
    } else {
        pid_list_add(&tasks->unsettled, task->key);
        task_update(tasks, task, NULL);
    }
    if (task->list == TASKS_ENDED)
        return false;
    if (tasks->threads && !task->process && task->threads > 1 && !task->members)
        task_threads_list(tasks, task);
    return true;
}

struct task *task_found(struct tasks *tasks, pid_t pid) {
    struct task *task = tasks_set_find(tasks->set, pid);
    if (task)
        return task;
    task = tasks_set_add(tasks->set, pid);
    return task_begin(tasks, task) ? task : NULL;
}

struct thread_listing {
    struct tasks *tasks;
    struct task *process;
    uint32_t n;
};

static void thread_seen(void *context, pid_t tid) {
    struct thread_listing *listing = context;
    struct tasks *tasks = listing->tasks;
    listing->n++;
    struct task *thread = tasks_set_find(tasks->set, -tid);
    if (thread && thread->process != listing->process) { // the TID was reused by another process
        task_gone(tasks, thread);
        thread = NULL;
    }
    if (thread) {
        thread->seen = tasks->listing;
        return;
    }
    thread = tasks_set_add(tasks->set, -tid);
    thread->process = listing->process;
    thread->pid = listing->process->pid;
    listing->process->members++;
    task_begin(tasks, thread);
}

// Calls fn for each known thread of the process (of any when NULL) and stops on none: fn may end or drop it.
static void threads_each(struct tasks *tasks, const struct task *process,
                         void (*fn)(struct tasks *tasks, struct task *thread)) {
    for (int list = TASKS_ACTIVE; list <= TASKS_IDLE; list++)
        for (size_t i = tasks_set_count(tasks->set, list); i > 0; i--) {
            if (i > tasks_set_count(tasks->set, list))
                continue;
            struct task *task = tasks_set_at(tasks->set, list, i - 1);
            if (task->process && (!process || task->process == process))
                fn(tasks, task);
        }
}

static void thread_end_unseen(struct tasks *tasks, struct task *thread) {
    if (thread->seen != tasks->listing)
        task_gone(tasks, thread);
}

void task_threads_list(struct tasks *tasks, struct task *process) {
    char path[32];
    snprintf(path, sizeof(path), "%d/task", process->pid);
    tasks->listing++;
    struct thread_listing listing = {tasks, process, 0};
    if (process->slot != TASK_NO_SLOT && !process->members) { // from now on its threads stand for it
        table_builder_remove(tasks->builder, process->slot);
        process->slot = TASK_NO_SLOT;
    }
    proc_list(&tasks->proc, path, thread_seen, &listing);
    if (process->members > listing.n)
        threads_each(tasks, process, thread_end_unseen);
}

static void thread_drop(struct tasks *tasks, struct task *thread) {
    if (thread->slot != TASK_NO_SLOT)
        table_builder_remove(tasks->builder, thread->slot);
    thread->process->members--;
    tasks_set_drop(tasks->set, thread);
}

void task_threads_drop(struct tasks *tasks, struct task *process) {
    if (process)
        threads_each(tasks, process, task_gone);
    else
        threads_each(tasks, NULL, thread_drop);
}

static void process_seen(void *context, pid_t pid) {
    struct tasks *tasks = context;
    struct task *task = tasks_set_find(tasks->set, pid);
    if (task)
        task->seen = tasks->listing;
    else
        pid_list_add(&tasks->fresh, pid);
}

void tasks_list(struct tasks *tasks) {
    tasks->listing++;
    uint32_t listing = tasks->listing;
    tasks->listed_frame = tasks->frame;
    if (proc_list(&tasks->proc, ".", process_seen, tasks))
        return;
    for (int list = TASKS_ACTIVE; list <= TASKS_IDLE; list++)
        for (size_t i = tasks_set_count(tasks->set, list); i > 0; i--) {
            if (i > tasks_set_count(tasks->set, list))
                continue;
            struct task *task = tasks_set_at(tasks->set, list, i - 1);
            if (!task->process && task->seen != listing)
                task_update(tasks, task, NULL);
        }
}

// A PID allocated since the last frame: of a process, of a thread, or free again.
static void number_look(struct tasks *tasks, pid_t number) {
    struct task_status status;
    char path[32];
    if (tasks_set_find(tasks->set, number))
        return;
    snprintf(path, sizeof(path), "%d/status", number);
    ssize_t got = proc_read(&tasks->proc, path);
    if (got > 0 && !task_status_parse(tasks->proc.buffer, (size_t)got, &status) && status.tgid == number)
        pid_list_add(&tasks->fresh, number);
}

void tasks_find_new(struct tasks *tasks, uint64_t forks, bool ends) {
    const struct collect_options *options = tasks->options;
    if (options->n_pids && !options->children) {
        for (size_t i = 0; i < options->n_pids; i++)
            pid_list_add(&tasks->fresh, options->pids[i]);
        return;
    }
    pid_t last = tasks->load.last_pid;
    struct host_load load = tasks->load;
    ssize_t got = proc_read(&tasks->proc, "loadavg");
    bool has_load = got > 0 && !host_load_parse(tasks->proc.buffer, (size_t)got, &load);
    // Fewer threads than the forks explain: without taskstats, the only sign of an exit.
    if (tasks->has_load && has_load && !tasks->gets_exits)
        ends |= tasks->load.threads + forks > load.threads;
    tasks->load = load;
    size_t known = tasks->n_processes;
    bool follow = tasks->has_load && has_load && load.last_pid >= last &&
                  (size_t)(load.last_pid - last) <= 256 + known / 4 && tasks->listed_frame;
    tasks->has_load = has_load;
    if (ends || !follow || tasks->frame - tasks->listed_frame >= LIST_FRAMES) {
        tasks_list(tasks);
        return;
    }
    for (pid_t number = last + 1; number <= load.last_pid; number++)
        number_look(tasks, number);
}

void tasks_settle(struct tasks *tasks, uint64_t until_ns) {
    for (size_t n = 0; tasks->settle_at < tasks->unsettled.count; n++) {
        if (n % 16 == 15 && tasks->clock() >= until_ns)
            return;
        struct task *task = tasks_set_find(tasks->set, tasks->unsettled.pids[tasks->settle_at++]);
        if (!task || task->settled)
            continue;
        task->settled = true;
        task->read_ns = 0; // what follows is the baseline
        task_read_names(&tasks->proc, tasks->names, task);
        // By the same queries as in every frame, so that the next difference is of the same source.
        tasks_poll(tasks, &task, 1);
    }
    tasks->unsettled.count = tasks->settle_at = 0;
}
