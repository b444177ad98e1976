// Which tasks ran, from switch records, while those cost the machine less than querying all tasks costs ktop
// (switch_budget.h). They begin switched off: the first frame queries all tasks anyway, and measures the switch rate.
// An interval is exact only if the records were on before it began; otherwise all tasks are queried.
#include "collectors/tasks/tasks.h"

#include <unistd.h>

// Cost of querying a task, by taskstats and by its files, with cold caches.
#define ASKED_NS 2000.0
#define READ_NS 4000.0

void tasks_switches_start(struct tasks *tasks) {
    tasks->wants_switches = !switch_records_open(&tasks->switch_records);
    if (!tasks->wants_switches)
        tasks->switch_records = NULL;
    tasks->budget = (struct switch_budget){.limit = tasks->budget.limit};
    tasks->switches_missed = true;
}

static void on_ran(void *context, pid_t pid, pid_t tid, bool exec) {
    struct tasks *tasks = context;
    struct task *task = tasks_set_find(tasks->set, pid);
    for (int i = 0; i < 2; i++) {
        if (task) {
            task->ran = true;
            if (exec)
                task->refreshes = 0;
            if (task->list == TASKS_IDLE)
                tasks_set_move(tasks->set, task, TASKS_ACTIVE);
        }
        if (!tasks->threads)
            return;
        task = tasks_set_find(tasks->set, -tid);
    }
}

void tasks_switches_read(struct tasks *tasks) {
    if (!tasks->switch_records)
        return;
    struct switch_records_read seen = switch_records_drain(tasks->switch_records, on_ran, tasks);
    uint64_t now = tasks->clock();
    struct switch_budget_sample since = {(double)(now - tasks->drained_ns) / 1e9, seen.switches, seen.most, seen.lost};
    tasks->drained_ns = now;
    tasks->switches_missed |= seen.lost || !tasks->budget.on;
    if (tasks->budget.on && !switch_budget_keep(&tasks->budget, &since)) {
        switch_records_enable(tasks->switch_records, false);
        tasks->switches_missed = true;
    }
}

bool tasks_switches_complete(struct tasks *tasks) {
    if (!tasks->switch_records)
        return false;
    bool exact = tasks->budget.on && !tasks->switches_missed;
    tasks->switches_missed = !tasks->budget.on;
    if (tasks->frame % 8 == 0 &&
        !switch_records_cover_cpus(tasks->switch_records)) { // a CPU came or went: watch the ones that are there
        switch_records_close(tasks->switch_records);
        tasks_switches_start(tasks);
        return false;
    }
    return exact;
}

void tasks_switches_budget(struct tasks *tasks, size_t spared) {
    double seconds = (double)(tasks->now_ns - tasks->begin_ns) / 1e9;
    if (!tasks->switch_records || seconds <= 0)
        return;
    switch_budget_limit(&tasks->budget, (double)spared / seconds, tasks->link ? ASKED_NS : READ_NS,
                        (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    if (tasks->budget.on || !switch_budget_retry(&tasks->budget, seconds, tasks->switches))
        return;
    // A task that got a CPU after it was queried, and before the records are on, has no record: query all once more.
    tasks->switches_missed = true;
    tasks->drained_ns = tasks->clock();
    tasks->budget.on = !switch_records_enable(tasks->switch_records, true);
}
