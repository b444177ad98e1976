// Knowing who ran, for as long as that costs the machine less than asking all tasks costs ktop (worth.h). It
// begins without: the first frame looks at all anyway, and tells how often this machine switches. Whatever is not
// known is looked at: an interval is exact only when the switches were on from before the frame that began it.
#include "collectors/tasks/tasks.h"

#include <unistd.h>

// What a task costs that is asked by taskstats, and by its files: on machines that have run for a while, as the price
// of a switch is.
#define ASKED_NS 2000.0
#define READ_NS 4000.0

void tasks_watch(struct tasks *tasks) {
    tasks->watches = !tasks_ran_open(&tasks->ran);
    if (!tasks->watches)
        tasks->ran = NULL;
    tasks->worth = (struct tasks_worth){.limit = tasks->worth.limit};
    tasks->ran_lost = true;
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

void tasks_hear_ran(struct tasks *tasks) {
    if (!tasks->ran)
        return;
    struct tasks_ran_seen seen = tasks_ran_drain(tasks->ran, on_ran, tasks);
    uint64_t now = tasks->clock();
    struct tasks_worth_seen since = {(double)(now - tasks->ran_ns) / 1e9, seen.switches, seen.most, seen.lost};
    tasks->ran_ns = now;
    tasks->ran_lost |= seen.lost || !tasks->worth.on;
    if (tasks->worth.on && !tasks_worth_keep(&tasks->worth, &since)) {
        tasks_ran_switches(tasks->ran, false);
        tasks->ran_lost = true;
    }
}

bool tasks_ran_exact(struct tasks *tasks) {
    if (!tasks->ran)
        return false;
    bool exact = tasks->worth.on && !tasks->ran_lost;
    tasks->ran_lost = !tasks->worth.on;
    if (tasks->frame % 8 == 0 && !tasks_ran_whole(tasks->ran)) { // a CPU came or went: watch the ones that are there
        tasks_ran_close(tasks->ran);
        tasks_watch(tasks);
        return false;
    }
    return exact;
}

void tasks_ran_weigh(struct tasks *tasks, size_t spared) {
    double seconds = (double)(tasks->now_ns - tasks->begin_ns) / 1e9;
    if (!tasks->ran || seconds <= 0)
        return;
    tasks_worth_limit(&tasks->worth, (double)spared / seconds, tasks->link ? ASKED_NS : READ_NS,
                      (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    if (tasks->worth.on || !tasks_worth_again(&tasks->worth, seconds, tasks->switches))
        return;
    // What is on a CPU now, and was asked before it came there, is not known: the next frame looks at all once more.
    tasks->ran_lost = true;
    tasks->ran_ns = tasks->clock();
    tasks->worth.on = !tasks_ran_switches(tasks->ran, true);
}
