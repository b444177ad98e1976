// cgroups as table rows: shared by the collectors "cgroups" and "cpu_limits". One thread owns it.
#ifndef COLLECTORS_CGROUPS_ROWS_H
#define COLLECTORS_CGROUPS_ROWS_H

#include "collectors/cgroups/cgroups.h"
#include "collectors/collector.h"

// run->state of both.
struct cgroups_rows {
    struct cgroups cgroups;
    struct table_builder *builder;
    size_t turn; // the next cgroup to read
};

// Open and close of the collector. only_cpu: only the hierarchy with CPU limits. Without a hierarchy -errno, with
// `reason`.
int cgroups_rows_open(struct collector_run *run, const struct table_def *def, bool only_cpu, const char *reason);
void cgroups_rows_close(struct collector_run *run);
// Removes the cgroup's row, if it has one (a cgroup_fn).
void cgroups_rows_drop(void *rows, struct cgroup *group);
// Gives the cgroup a row, with its path in column 0. True when it is new: it was never read before.
bool cgroups_rows_add(struct cgroups_rows *rows, struct cgroup *group);

#endif
