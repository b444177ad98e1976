// Exits. taskstats reports each one with the task's full account, which is the only record of a task that began and
// ended between two frames. The process connector and the tracepoint sched_process_exit report the PID only. A task is
// shown as ended (state X) in one frame: the one in which it leaves the process table. Until its parent has waited for
// it, it is shown as a zombie.
#include "collectors/tasks/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define SHORT_US 50000
#define ENDED_ROWS_MAX 4096 // rows of ended tasks in one frame; the rest is counted

void tasks_forget_ended(struct tasks *tasks) {
    size_t n;
    while ((n = tasks_set_count(tasks->set, TASKS_ENDED))) {
        struct task *task = tasks_set_at(tasks->set, TASKS_ENDED, n - 1);
        if (task->slot != TASK_NO_SLOT)
            table_builder_remove(tasks->builder, task->slot);
        tasks_set_drop(tasks->set, task);
    }
    tasks->n_ended = tasks->n_ended_hidden = 0;
}

// Gives it a row if it has none yet: it ended before it was read.
static bool ended_row(struct tasks *tasks, struct task *task) {
    if (task->slot != TASK_NO_SLOT)
        return true;
    if (!task_wanted(tasks, task) || (tasks->threads && task->members))
        return false;
    if (tasks_set_count(tasks->set, TASKS_ENDED) > ENDED_ROWS_MAX) {
        tasks->n_ended_hidden++;
        return false;
    }
    task->slot = table_builder_add(tasks->builder);
    return true;
}

static void ended_show(struct tasks *tasks, struct task *task) {
    // Rates are over the whole frame, even if it was read a moment ago.
    struct task_span span = {(double)(tasks->now_ns - tasks->begin_ns) / 1e9, tasks->cpus, task->carry_ns, 0};
    struct task_rates rates = task_rates_unknown;
    if (task->end)
        rates = task_rates_between(&task->counters, &task->end->counters, &span);
    if (!task->process)
        tasks->explained_ns += span.cpu_ns;
    // Its parent inherits all of its CPU time, most of which was counted before.
    if (!task->process && (task->counters.have & HAVE_TICKS))
        tasks->inherited_ticks -= (int64_t)(task->counters.utime + task->counters.stime + task->counters.children);
    if (!ended_row(tasks, task))
        return;
    tasks_row_names(tasks->builder, task);
    tasks_row_rates(tasks->builder, task, &rates);
    tasks_row_ended(tasks->builder, task, tasks->now_wall_s);
}

void task_gone(struct tasks *tasks, struct task *task) {
    if (task->list == TASKS_ENDED)
        return;
    if (!task->process) {
        if (task->members)
            task_threads_drop(tasks, task);
        tasks->n_ended++;
    } else if (task->process->members) {
        task->process->members--;
    }
    task_state_set(tasks, task, '\0');
    tasks_set_move(tasks->set, task, TASKS_ENDED);
    ended_show(tasks, task);
}

// The final name: it may have called execve since it was read, or was never read.
static void end_names(struct tasks *tasks, struct task *task, const struct task_account *account) {
    if (!task->comm)
        task->ppid = account->ppid;
    names_release(tasks->names, task->comm);
    task->comm = names_get(tasks->names, account->comm, strlen(account->comm));
    if (!task->user)
        task->user = names_user(tasks->names, account->uid);
}

static void end_keep(struct tasks *tasks, struct task *task, const struct task_account *account) {
    if (!task->end)
        task->end = xcalloc(1, sizeof(*task->end));
    if (!account->group)
        end_names(tasks, task, account);
    // The exact time lacks the run time since the last scheduler update, which is all of a short life: for
    // short-lived tasks tick sampling is right on average.
    uint64_t ticked_ns = account->elapsed_us < SHORT_US ? (account->utime_us + account->stime_us) * 1000 : 0;
    struct task_counters *c = &task->end->counters;
    *c = (struct task_counters){
        .utime = account->utime_us,
        .stime = account->stime_us,
        .cpu_ns = account->cpu_ns > ticked_ns ? account->cpu_ns : ticked_ns,
        .run_delay_ns = account->run_delay_ns,
        .switches = account->switches,
        .minflt = account->minflt,
        .majflt = account->majflt,
        .read_bytes = account->read_bytes,
        .write_bytes = account->write_bytes,
        .have = HAVE_CPU | HAVE_DELAY | HAVE_SWITCHES,
    };
    if (account->has_all) {
        c->have |= HAVE_IO | HAVE_FAULTS;
        task->end->begin_s = account->begin_s;
        task->end->exit_code = account->exit_code;
    }
    pid_list_add(&tasks->exited, task->key);
}

// A task that was never seen alive.
static struct task *end_add(struct tasks *tasks, const struct task_account *account, pid_t key) {
    struct task *task = tasks_set_add(tasks->set, key);
    task->uid = account->uid;
    task->born = task->settled = true;
    task->counters.have = UINT8_MAX;
    if (key < 0) {
        task->process = tasks_set_find(tasks->set, account->tgid);
        task->pid = account->tgid;
        task->process->members++;
    }
    return task;
}

static void thread_ending(struct tasks *tasks, const struct task_account *account) {
    struct task *thread = tasks_set_find(tasks->set, -account->pid);
    if (thread && thread->end) {
        task_gone(tasks, thread);
        thread = NULL;
    }
    struct task *process = account->has_tgid ? tasks_set_find(tasks->set, account->tgid) : NULL;
    if (!thread && process && process->members)
        thread = end_add(tasks, account, -account->pid);
    if (thread)
        end_keep(tasks, thread, account);
}

void tasks_exit_add(void *context, const struct task_account *account) {
    struct tasks *tasks = context;
    struct task *task;
    if (account->group) { // the last thread of several is gone
        task = tasks_set_find(tasks->set, account->tgid);
        if (task) {
            uint32_t exit_code = task->end ? task->end->exit_code : 0;
            end_keep(tasks, task, account);
            task->end->exit_code = exit_code;
        }
        return;
    }
    tasks->seen++;
    if (tasks->threads)
        thread_ending(tasks, account);
    if (account->has_tgid && account->tgid != account->pid)
        return;
    task = tasks_set_find(tasks->set, account->pid);
    if (task && task->end) { // the PID was reused since the last frame
        task_gone(tasks, task);
        task = NULL;
    }
    // Before 5.19 the message lacks the TGID: a task that never called exec may be a thread.
    if (!task && (account->has_tgid || !account->forked))
        task = end_add(tasks, account, account->pid);
    if (task && !task->grouped)
        end_keep(tasks, task, account);
}

void tasks_exits_read(struct tasks *tasks) {
    if (!tasks->gets_exits)
        return;
    int rc = taskstats_endings(tasks->link, tasks_exit_add, tasks);
    if (rc > 0) {
        tasks->lost += (uint64_t)rc;
        tasks->listed_frame = 0; // find out by listing
    } else if (rc < 0) {
        tasks->gets_exits = false;
        tasks->link_reason = "the kernel stopped reporting exits";
        tasks->link_fix = "start ktop again";
    }
}

void tasks_exits_resolve(struct tasks *tasks) {
    for (size_t i = 0; i < tasks->exited.count; i++) {
        struct task *task = tasks_set_find(tasks->set, tasks->exited.pids[i]);
        if (task && task->end)
            task_update(tasks, task, NULL);
    }
    tasks->exited.count = 0;
}
