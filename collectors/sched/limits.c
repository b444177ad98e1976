#include "collectors/sched/limits.h"

#include <string.h>

#include "model/groups.h"

struct sched_limits sched_limits_of(const struct section *section) {
    struct sched_limits limits = {.table = section ? section_find_table(section, "cpu_limits") : NULL};
    if (!limits.table)
        return limits;
    const struct table_def *def = table_def(limits.table);
    limits.cgroup = table_column(def, "cgroup");
    limits.limit_pct = table_column(def, "cpu_limit_pct");
    limits.throttled_pct = table_column(def, "throttled_pct");
    if (limits.cgroup < 0 || limits.limit_pct < 0 || limits.throttled_pct < 0)
        limits.table = NULL;
    return limits;
}

bool sched_limits_find(const struct sched_limits *limits, const char *cgroup, struct sched_limit *out) {
    size_t cursor = 0, longest = 0;
    for (const union cell *row; limits->table && (row = table_next(limits->table, &cursor));) {
        const char *path = text_bytes(row[limits->cgroup].text);
        double throttled_pct = row[limits->throttled_pct].num;
        if (!(throttled_pct > 0) || strlen(path) <= longest || !group_is_below(cgroup, path))
            continue;
        longest = strlen(path);
        *out = (struct sched_limit){path, row[limits->limit_pct].num, throttled_pct};
    }
    return longest > 0;
}
