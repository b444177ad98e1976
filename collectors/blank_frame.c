// The frame that holds every table, series, histogram and tree there is, and no data: for help, lists and the manual.
#include <time.h>

#include "collectors/runner.h"
#include "collectors/schema.h"
#include "model/groups.h"
#include "model/health.h"

static void trees_add(struct section *section, const struct tree_def *const *defs) {
    for (; defs && *defs; defs++) {
        struct name_table *names = name_table_new();
        struct tree_builder *builder = tree_builder_new(*defs, names);
        section_tree(section, tree_builder_seal(builder));
        tree_builder_free(builder);
        name_table_unref(names);
    }
}

struct frame *runner_blank_frame(void) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t now = now_ns();
    struct frame *frame = frame_new(0, now, now, wall);
    for (size_t i = 0; collectors[i]; i++) {
        struct section *section = section_new(collectors[i]->name, now, now);
        section_complete(section, collectors[i]);
        trees_add(section, collectors[i]->trees);
        frame_add_section(frame, section, 0);
    }
    struct groups *groups = groups_new();
    struct section *sums = groups_section(groups, frame);
    groups_free(groups);
    struct findings *findings = findings_new();
    const struct health_self nothing = {0};
    struct section *found = findings_section(findings, frame, NULL), *health = health_section(frame, &nothing);
    frame_add_section(frame, sums, 0);
    frame_add_section(frame, found, 0);
    frame_add_section(frame, health, 0);
    findings_free(findings);
    return frame;
}
