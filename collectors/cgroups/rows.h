// Control groups as the rows of a table: what the collectors "cgroups" and "cpu_limits" have in common. One thread owns
// it.
#ifndef COLLECTORS_CGROUPS_ROWS_H
#define COLLECTORS_CGROUPS_ROWS_H

#include "collectors/cgroups/cgroups.h"
#include "collectors/collector.h"

// run->state of both.
struct cgroups_rows {
    struct cgroups cgroups;
    struct table_builder *builder;
    size_t turn; // the group whose turn it is to be read
};

// For open and close of the collector. only_cpu: nothing but the hierarchy that limits CPU time; without a hierarchy
// -errno, and `reason` is the one.
int cgroups_rows_open(struct collector_run *run, const struct table_def *def, bool only_cpu, const char *reason);
void cgroups_rows_close(struct collector_run *run);
// The row of the group, if it has one, goes (a cgroup_fn).
void cgroups_rows_drop(void *rows, struct cgroup *group);
// The group has a row from now on, with its path in column 0. True when it is new: nothing was read of it before.
bool cgroups_rows_add(struct cgroups_rows *rows, struct cgroup *group);

#endif
