// A section of the collector "cpu_limits" with the cgroups of a test.
#ifndef TESTS_UNIT_FORGE_LIMITS_H
#define TESTS_UNIT_FORGE_LIMITS_H

#include "collectors/collector.h"
#include "collectors/sched/limits.h"

extern const struct collector collector_cpu_limits;

struct forged_limit {
    const char *cgroup;
    double throttled_pct; // the limit is 20 % of one CPU
};

static inline const struct section *forge_limits(size_t n, const struct forged_limit *limits) {
    const struct table_def *def = collector_cpu_limits.tables[0];
    struct table_builder *builder = table_builder_new(def);
    struct section *section = section_new("cpu_limits", 0, 1000000000);
    for (size_t i = 0; i < n; i++) {
        uint32_t row = table_builder_add(builder);
        table_builder_set_text(builder, row, (uint16_t)table_column(def, "cgroup"), text_from(limits[i].cgroup));
        table_builder_set_num(builder, row, (uint16_t)table_column(def, "cpu_limit_pct"), 20);
        table_builder_set_num(builder, row, (uint16_t)table_column(def, "throttled_pct"), limits[i].throttled_pct);
    }
    section_table(section, table_builder_seal(builder));
    table_builder_free(builder);
    return section;
}

#endif
