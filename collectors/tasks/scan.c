// Reads tasks, and decides which ones to skip. tasks.c has the plan. Nothing here lists directories or waits; exited
// tasks go to exits.c.
#include "collectors/tasks/tasks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define REFRESH_FRAMES 32 // between readings of an idle task's stat: its memory may be reclaimed while it sleeps
#define NAMES_REFRESHES 8 // of these readings, one also reads names: cgroup, user
#define GROUP_FRAMES 16   // between readings of the cgroup of a task that never idles: it may be moved
#define TURN_QUERIED 1500 // idle tasks queried by taskstats in a frame, at 0.9 us each
#define TURN_READ 500     // idle tasks read by their files in a frame, at 2.5 us each
// Idle tasks queried per second while switch records are available but too expensive.
#define LOOK_ASKED 10000
#define LOOK_READ 4000

struct task **tasks_work(struct tasks *tasks, size_t n) {
    if (n > tasks->work_room) {
        tasks->work_room = n + n / 4 + 64;
        tasks->work = xrealloc(tasks->work, tasks->work_room * sizeof(*tasks->work));
    }
    return tasks->work;
}

void task_state_set(struct tasks *tasks, struct task *task, char state) {
    if (!task->process) {
        if (task->state)
            tasks->n_state[(unsigned char)task->state & 127]--;
        else if (state)
            tasks->n_processes++;
        if (state)
            tasks->n_state[(unsigned char)state & 127]++;
        else if (task->state) {
            tasks->n_processes--;
            tasks->n_threads -= task->threads;
            task->threads = 0;
        }
    }
    task->state = state;
}

static bool is_zombie(const struct task *task) {
    return (task->state == 'Z' || task->state == 'X') && task->threads <= 1;
}

// Exiting, but perhaps not a zombie yet: the exit is reported before. The main thread of several may stay so for as
// long as the process runs.
static bool is_leaving(const struct task *task, const struct task_stat *stat) {
    return stat->state == 'Z' || ((stat->flags & TASK_EXITING) && (stat->threads <= 1 || task->process));
}

// The counters that are not in stat. For a process with several threads only taskstats has all of them.
static void counters_rest(struct tasks *tasks, struct task *task, const struct task_account *account,
                          struct task_counters *now) {
    if (is_zombie(task)) {
        if (task->end) {
            struct task_counters last = task->end->counters;
            last.utime = now->utime;
            last.stime = now->stime;
            last.have |= HAVE_TICKS;
            *now = last;
        }
        return;
    }
    task_read_io(&tasks->proc, task, now);
    bool single = task->process || task->threads <= 1;
    if (account) {
        now->cpu_ns = account->cpu_ns;
        now->run_delay_ns = account->run_delay_ns;
        now->switches = account->switches;
        now->have |= HAVE_CPU | HAVE_DELAY | HAVE_SWITCHES;
    } else if (single && !task->grouped) {
        task_read_schedstat(&tasks->proc, task, now);
        task_read_switches(&tasks->proc, task, now);
    }
    if (single && !task->grouped)
        task_read_migrations(&tasks->proc, task, now);
}

// The time over which its counters are shown: this frame, or the part after its last reading. A task that was skipped
// for several frames and has run may have run at any time since. All of it is shown in this frame: a rate over the
// longer time would drop the rest.
static struct task_span task_span(const struct tasks *tasks, const struct task *task, uint64_t now) {
    uint64_t from = task->read_ns < tasks->begin_ns ? tasks->begin_ns : task->read_ns;
    bool single = task->process || (task->threads <= 1 && !task->grouped);
    return (struct task_span){now > from ? (double)(now - from) / 1e9 : 0, single ? 1 : tasks->cpus, task->carry_ns, 0};
}

// Rates of 0 for measured columns: the task did not run.
static void task_calm(struct tasks *tasks, struct task *task) {
    static const struct task_counters zero;
    struct task_counters before = zero;
    struct task_span span = {1, 1, 0, 0};
    before.have = task->counters.have;
    struct task_rates rates = task_rates_between(&before, &before, &span);
    if (task->slot != TASK_NO_SLOT)
        tasks_row_rates(tasks->builder, task, &rates);
    task->calm = true;
}

static bool rates_are_zero(const struct task_rates *rates) {
    const double *v = (const double *)rates;
    for (size_t i = 0; i < sizeof(*rates) / sizeof(*v); i++)
        if (v[i] != 0 && !isnan(v[i]))
            return false;
    return true;
}

static void task_identity(struct tasks *tasks, struct task *task, const struct task_stat *stat) {
    bool renamed = !task->comm || text_length(task->comm->text) != stat->comm_len ||
                   memcmp(text_bytes(task->comm->text), stat->comm, stat->comm_len);
    task->ppid = stat->ppid;
    task->kthread = stat->flags & TASK_KTHREAD;
    if (!task->process) {
        tasks->n_threads = tasks->n_threads + stat->threads - task->threads;
        task->grouped |= stat->threads > 1;
    }
    task->threads = stat->threads;
    task_state_set(tasks, task, stat->state);
    if (renamed) {
        names_release(tasks->names, task->comm);
        task->comm = names_get(tasks->names, stat->comm, stat->comm_len);
        task->barred = false;
    }
    // Just after exec a program has its new name before its arguments, or still its parent's arguments.
    if (task->settled && (renamed || task->refreshes < 3))
        task_read_names(&tasks->proc, tasks->names, task);
    else if (task->settled && (tasks->frame + (uint32_t)task->tid) % GROUP_FRAMES == 0) // not all in one frame
        task_read_group(&tasks->proc, tasks->names, task);
}

// The PID was reused: the old task ended, the new one is read in this frame.
static bool task_replaced(struct tasks *tasks, struct task *task, const struct task_stat *stat) {
    bool other = task->start ? task->start != stat->start : task->end && !is_leaving(task, stat);
    if (!other)
        return false;
    pid_t pid = task->process ? 0 : task->pid;
    task_gone(tasks, task);
    if (pid)
        pid_list_add(&tasks->fresh, pid);
    return true;
}

// CPU time of its children that were never seen: it inherits their time when it waits for them.
static void inherit(struct tasks *tasks, const struct task *task, const struct task_counters *now) {
    if (!task->process && task->read_ns && now->children > task->counters.children)
        tasks->inherited_ticks += (int64_t)(now->children - task->counters.children);
}

bool task_update(struct tasks *tasks, struct task *task, const struct task_account *account) {
    struct task_stat stat;
    // The time of the reading, not of its handling: ktop may be preempted in between.
    uint64_t now_ns = account ? tasks->queried_ns : tasks->clock();
    tasks->n_reads++;
    int rc = task_read_stat(&tasks->proc, task, &stat);
    if (rc == -ENOENT || rc == -ESRCH) {
        if (!task->end) // its exit was reported after the exits were read last
            tasks_exits_read(tasks);
        task_gone(tasks, task);
        return false;
    }
    if (rc) // not readable now: stays as it is
        return true;
    if (task_replaced(tasks, task, &stat))
        return false;
    task->start = stat.start;
    task_identity(tasks, task, &stat);
    if (task->end && !is_zombie(task) && !is_leaving(task, &stat)) { // its first thread ended, the process did not
        free(task->end);
        task->end = NULL;
    }
    struct task_counters now = {0};
    task_counters_stat(&now, &stat);
    if (task->settled)
        counters_rest(tasks, task, account, &now);
    bool counted = task->read_ns;
    struct task_span span = task_span(tasks, task, now_ns);
    struct task_rates rates = task_rates_between(&task->counters, &now, &span);
    task->carry_ns = counted ? span.carry_ns : 0;
    if (!task->process && counted)
        tasks->explained_ns += span.cpu_ns;
    inherit(tasks, task, &now);
    task->counters = now;
    task->read_ns = now_ns;
    task->read_frame = tasks->frame;
    task->born = false;
    task->calm = counted && rates_are_zero(&rates);
    task->mobile |= counted && !task->calm;
    if (task_row_sync(tasks, task)) {
        tasks_row_stat(tasks->builder, task, &stat, tasks->boot_s);
        tasks_row_names(tasks->builder, task);
        tasks_row_rates(tasks->builder, task, counted ? &rates : &task_rates_unknown);
    }
    return true;
}

// Polls without a change until a task is idle: more for one that has run before.
static uint8_t still_limit(const struct tasks *tasks, const struct task *task) {
    return tasks->exact ? 1 : task->mobile ? 16 : 2;
}

// It did not run since its last reading: only refresh, periodically, what changes without running.
static void task_still(struct tasks *tasks, struct task *task, const struct task_account *account) {
    task->still += task->still < UINT8_MAX;
    if (!task->calm)
        task_calm(tasks, task);
    unsigned tid = (unsigned)task->tid; // not all in one frame
    if (tasks->frame - task->read_frame >= REFRESH_FRAMES + tid % REFRESH_FRAMES) {
        if ((tasks->frame / REFRESH_FRAMES + tid) % NAMES_REFRESHES == 0 && task->settled)
            task_read_names(&tasks->proc, tasks->names, task);
        if (!task_update(tasks, task, account)) // its rates are over the time since its last query
            return;
    } else {
        task->read_ns = account ? tasks->queried_ns : tasks->clock();
    }
    if (task->still >= still_limit(tasks, task) && task->list == TASKS_ACTIVE && task->settled && task->state != 'R' &&
        !is_zombie(task))
        tasks_set_move(tasks->set, task, TASKS_IDLE);
}

static void task_moved(struct tasks *tasks, struct task *task, const struct task_account *account) {
    task->still = 0;
    tasks->n_moved++;
    if (!task_update(tasks, task, account))
        return;
    tasks_set_move(tasks->set, task, TASKS_ACTIVE);
    if (tasks->threads && !task->process && (task->threads > 1 || task->members) &&
        (tasks->forks || task->members != task->threads))
        task_threads_list(tasks, task);
}

struct answers {
    struct tasks *tasks;
    struct task **work;
    struct task_account accounts[TASKSTATS_BATCH];
    bool known[TASKSTATS_BATCH];
};

static void answer_keep(void *context, size_t i, const struct task_account *account) {
    struct answers *answers = context;
    answers->known[i] = account;
    if (account)
        answers->accounts[i] = *account;
}

// Whether the files must be read: the account differs from the last one, or there was none.
static bool account_moved(const struct task *task, const struct task_account *account) {
    const struct task_counters *c = &task->counters;
    if (!task->settled || !task->read_ns || task->carry_ns || !(c->have & HAVE_CPU) || !(c->have & HAVE_SWITCHES))
        return true;
    return c->cpu_ns != account->cpu_ns || c->switches != account->switches || c->run_delay_ns != account->run_delay_ns;
}

static void poll_batch(struct answers *answers, size_t n) {
    struct taskstats_question questions[TASKSTATS_BATCH];
    struct tasks *tasks = answers->tasks;
    for (size_t i = 0; i < n; i++)
        questions[i] = (struct taskstats_question){answers->work[i]->tid, !answers->work[i]->process};
    memset(answers->known, 0, sizeof(answers->known));
    taskstats_ask(tasks->link, questions, n, answer_keep, answers);
    tasks->queried_ns = tasks->clock();
    for (size_t i = 0; i < n; i++) {
        struct task *task = answers->work[i];
        if (task->list == TASKS_ENDED)
            continue;
        const struct task_account *account = answers->known[i] ? &answers->accounts[i] : NULL;
        if (is_zombie(task) || !account || task->state == 'R' || account_moved(task, account))
            task_moved(tasks, task, account);
        else
            task_still(tasks, task, account);
    }
}

// Without taskstats: schedstat's time is exact, and cheaper than stat, but covers one thread only.
static void poll_files(struct tasks *tasks, struct task *task) {
    struct task_counters now = {0};
    const struct task_counters *c = &task->counters;
    bool single = task->process || (task->threads == 1 && !task->grouped);
    if (single && task->settled && task->read_ns && !task->carry_ns && (c->have & HAVE_CPU) && !is_zombie(task) &&
        task->state != 'R') {
        int rc = task_read_schedstat(&tasks->proc, task, &now);
        tasks->n_reads++;
        if (!rc && now.cpu_ns == c->cpu_ns && now.run_delay_ns == c->run_delay_ns) {
            task_still(tasks, task, NULL);
            return;
        }
    }
    uint8_t still = task->still;
    task_moved(tasks, task, NULL);
    if (task->list == TASKS_ENDED || !task->calm || task->state == 'R')
        return;
    task->still = still < 254 ? still + 1 : 128;
    if (task->still >= still_limit(tasks, task) && task->settled && !is_zombie(task))
        tasks_set_move(tasks->set, task, TASKS_IDLE);
}

void tasks_poll(struct tasks *tasks, struct task **work, size_t n) {
    if (!tasks->link) {
        for (size_t i = 0; i < n; i++)
            if (work[i]->list != TASKS_ENDED)
                poll_files(tasks, work[i]);
        return;
    }
    struct answers answers;
    answers.tasks = tasks;
    for (size_t at = 0; at < n; at += TASKSTATS_BATCH) {
        answers.work = work + at;
        poll_batch(&answers, n - at < TASKSTATS_BATCH ? n - at : TASKSTATS_BATCH);
    }
}

// CPU time of the host not accounted for by the tasks that were read.
static double unexplained_ns(const struct tasks *tasks) {
    double inherited = tasks->gets_exits || tasks->inherited_ticks < 0 ? 0 : (double)tasks->inherited_ticks;
    return ((double)tasks->frame_ticks - inherited) * tasks->tick_ns - (double)tasks->explained_ns;
}

// Error of the host's tick sampling: three standard deviations of the number of ticks, with ticks of 4 ms
// (CONFIG_HZ=250), plus 2 % of a CPU.
static double noise_ns(const struct tasks *tasks) {
    double busy = (double)tasks->frame_ticks * tasks->tick_ns,
           seconds = (double)(tasks->now_ns - tasks->begin_ns) / 1e9;
    double noise = 3 * sqrt(busy / 4e6) * 4e6;
    return 0.02 * 1e9 * (seconds < 1 ? 1 : seconds) + (noise < 0.5 * busy ? noise : 0.5 * busy);
}

// The active tasks to query: all, or in an exact interval those that ran or whose row still shows rates.
static size_t active_work(struct tasks *tasks, struct task **work) {
    size_t n = 0;
    for (size_t i = tasks_set_count(tasks->set, TASKS_ACTIVE); i > 0; i--) {
        struct task *task = tasks_set_at(tasks->set, TASKS_ACTIVE, i - 1);
        bool look = task->ran || !task->calm || !task->settled || task->state == 'R' || is_zombie(task);
        task->ran = false;
        if (task->read_frame == tasks->frame) // found or ended in this very frame: read already
            continue;
        if (!tasks->exact || look)
            work[n++] = task;
        else
            tasks_set_move(tasks->set, task, TASKS_IDLE);
    }
    return n;
}

// The next n idle tasks, in round-robin order.
static void poll_idle(struct tasks *tasks, struct task **work, size_t idle, size_t n) {
    size_t start = idle ? tasks->idle_cursor % idle : 0, first = n < idle - start ? n : idle - start;
    tasks->idle_cursor = (uint32_t)(start + n);
    tasks_poll(tasks, work + start, first);
    tasks_poll(tasks, work, n - first);
}

// Unaccounted CPU time: an idle task woke, or one came and went unseen. Query all idle tasks once. If that does not
// explain it, query half of them per frame until the gap grows, so that a task that wakes is right within two frames.
static void tasks_scan(struct tasks *tasks, struct task **work, size_t idle, size_t turn) {
    double noise = noise_ns(tasks), before = unexplained_ns(tasks);
    if (before <= noise) {
        tasks->foreign_ns = 0;
        return;
    }
    size_t more = idle - turn, half = (idle + 1) / 2;
    if (tasks->foreign_ns > 0 && before - tasks->foreign_ns <= noise)
        more = turn < half ? half - turn : 0;
    else
        tasks->n_scans++;
    poll_idle(tasks, work, idle, more);
    double after = unexplained_ns(tasks);
    tasks->foreign_ns = after > noise ? after : 0;
}

// The idle tasks in turn: as many as fit into about 2 ms, which is all of them on most machines, but each at least
// every 16 frames. In an exact interval, only what can change without running.
static size_t idle_turn(const struct tasks *tasks, size_t idle) {
    size_t turn = idle / 16 + (tasks->link ? TURN_QUERIED : TURN_READ);
    double seconds = (double)(tasks->now_ns - tasks->begin_ns) / 1e9;
    size_t look = idle / 16 + (size_t)((tasks->link ? LOOK_ASKED : LOOK_READ) * seconds);
    if (tasks->wants_switches && look > turn)
        turn = look;
    if (tasks->exact)
        turn = idle / REFRESH_FRAMES + 1;
    return turn < idle ? turn : idle;
}

void tasks_poll_all(struct tasks *tasks) {
    tasks->exact = tasks_switches_complete(tasks);
    tasks->n_moved = 0;
    size_t active = tasks_set_count(tasks->set, TASKS_ACTIVE), idle = tasks_set_count(tasks->set, TASKS_IDLE);
    size_t all = active + idle;
    struct task **work = tasks_work(tasks, all);
    active = active_work(tasks, work);
    idle = tasks_set_count(tasks->set, TASKS_IDLE);
    for (size_t i = 0; i < idle; i++)
        work[active + i] = tasks_set_at(tasks->set, TASKS_IDLE, i);
    tasks_poll(tasks, work, active);
    size_t turn = idle_turn(tasks, idle);
    poll_idle(tasks, work + active, idle, turn);
    if (!tasks->exact && turn < idle)
        tasks_scan(tasks, work + active, idle, turn);
    tasks_switches_budget(tasks, all > tasks->n_moved ? all - tasks->n_moved : 0);
}
