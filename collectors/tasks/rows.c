// Which tasks have a row: those selected by --pid and --user; threads replace their process where threads are shown.
#include "collectors/tasks/tasks.h"

static bool pid_listed(const struct collect_options *options, pid_t pid) {
    for (size_t i = 0; i < options->n_pids; i++)
        if (options->pids[i] == pid)
            return true;
    return false;
}

bool task_wanted(struct tasks *tasks, const struct task *task) {
    const struct collect_options *options = tasks->options;
    const struct task *process = task->process ? task->process : task;
    if (options->has_user && process->uid != options->user)
        return false;
    if (!options->n_pids || pid_listed(options, process->pid) || pid_listed(options, task->tid))
        return true;
    if (!options->children)
        return false;
    pid_t up = process->ppid;
    for (int hops = 0; up > 0 && hops < 128; hops++) {
        if (pid_listed(options, up))
            return true;
        const struct task *parent = tasks_set_find(tasks->set, up);
        if (!parent || parent->ppid == up)
            return false;
        // A parent with a row was selected, perhaps through an ancestor that has ended.
        if (parent->slot != TASK_NO_SLOT)
            return true;
        up = parent->ppid;
    }
    return false;
}

bool task_row_sync(struct tasks *tasks, struct task *task) {
    bool wanted = !(tasks->threads && task->members && !task->process);
    if (wanted && (task->slot == TASK_NO_SLOT || tasks->options->has_user))
        wanted = task_wanted(tasks, task);
    if (wanted && task->slot == TASK_NO_SLOT)
        task->slot = table_builder_add(tasks->builder);
    if (!wanted && task->slot != TASK_NO_SLOT) {
        table_builder_remove(tasks->builder, task->slot);
        task->slot = TASK_NO_SLOT;
    }
    return task->slot != TASK_NO_SLOT;
}
