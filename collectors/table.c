// The table of collectors: a new source is one file and one row here.
#include "collectors/collector.h"

#include <string.h>

extern const struct collector collector_system, collector_tasks, collector_counters, collector_extra, collector_block,
    collector_faults, collector_sched;

const struct collector *const collectors[] = {
    &collector_system, &collector_tasks,  &collector_counters, &collector_extra,
    &collector_block,  &collector_faults, &collector_sched,    NULL,
};

const struct collector *collector_find(const char *name) {
    for (size_t i = 0; collectors[i]; i++)
        if (!strcmp(collectors[i]->name, name))
            return collectors[i];
    return NULL;
}
