// Opens and closes the shared state, and adds and removes rows with their cgroups.
#include "collectors/cgroups/rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/mem.h"

int cgroups_rows_open(struct collector_run *run, const struct table_def *def, bool only_cpu, const char *reason) {
    struct cgroups_rows *rows = xcalloc(1, sizeof(*rows));
    run->state = rows;
    rows->builder = table_builder_new(def);
    int rc = cgroups_open(&rows->cgroups, "");
    if (!rc && only_cpu)
        rc = cgroups_keep_cpu(&rows->cgroups);
    if (rc) {
        snprintf(run->reason, sizeof(run->reason), "%s", reason);
        snprintf(run->fix, sizeof(run->fix), "mount -t cgroup2 none /sys/fs/cgroup");
    }
    return rc;
}

void cgroups_rows_close(struct collector_run *run) {
    struct cgroups_rows *rows = run->state;
    run->state = NULL;
    if (!rows)
        return;
    cgroups_close(&rows->cgroups);
    table_builder_free(rows->builder);
    free(rows);
}

void cgroups_rows_drop(void *context, struct cgroup *group) {
    struct cgroups_rows *rows = context;
    if (group->slot != UINT32_MAX)
        table_builder_remove(rows->builder, group->slot);
    group->slot = UINT32_MAX;
}

bool cgroups_rows_add(struct cgroups_rows *rows, struct cgroup *group) {
    if (group->slot != UINT32_MAX)
        return false;
    group->slot = table_builder_add(rows->builder);
    table_builder_set_text(rows->builder, group->slot, 0, text_from(group->path));
    return true;
}
