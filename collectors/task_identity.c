#include "collectors/task_identity.h"

#include "collectors/kernel/proc/self.h"

#define GENERATIONS 32

bool thread_filters(const struct collect_options *options) {
    return options && (options->pids || options->has_user);
}

bool thread_wanted_among(thread_find_fn *find, void *context, const struct collect_options *options,
                         const struct thread_status *status) {
    if (!thread_filters(options))
        return true;
    if (options->has_user && status->user != options->user)
        return false;
    if (!options->pids)
        return true;
    int32_t pid = status->pid, parent = status->parent;
    for (int generation = 0; generation < GENERATIONS && pid > 0; generation++) {
        for (size_t i = 0; i < options->n_pids; i++)
            if (options->pids[i] == pid)
                return true;
        struct thread_status next;
        pid = options->children ? parent : 0; // it may have exited, and is chosen all the same
        parent = pid > 0 && find(context, pid, &next) ? next.parent : 0;
    }
    return false;
}

static bool find_in_proc(void *proc, int32_t pid, struct thread_status *out) {
    return thread_status_read(proc, pid, out);
}

bool thread_wanted(const char *proc, const struct collect_options *options, const struct thread_status *status) {
    return thread_wanted_among(find_in_proc, (void *)proc, options, status);
}

struct task_identity task_identify(const char *proc, const struct collect_options *options, int32_t tid) {
    struct task_identity identity = {.status = {.pid = tid, .user = (uid_t)-1}};
    identity.found = proc && thread_status_read(proc, tid, &identity.status);
    bool is_self = identity.found && self_process(identity.status.pid) && !(options && options->show_self);
    identity.wanted = !is_self && (proc ? thread_wanted(proc, options, &identity.status) : !thread_filters(options));
    return identity;
}
