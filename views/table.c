// The table of views: a new pane is one file and one row here, in the contract's order.
#include <string.h>

#include "views/view.h"

#define VIEWS(X)                                                                                                       \
    X(triage)                                                                                                          \
    X(tasks)                                                                                                           \
    X(cpus) X(memory) X(disk) X(network) X(sched) X(syscalls) X(events) X(profile) X(functions) X(probes) X(health)

#define DECLARE(name) extern const struct view view_##name;
#define ROW(name) &view_##name,
VIEWS(DECLARE)

const struct view *const views[] = {VIEWS(ROW) NULL};

const struct view *view_find(const char *name) {
    for (size_t i = 0; views[i]; i++)
        if (!strcmp(views[i]->name, name))
            return views[i];
    return NULL;
}
