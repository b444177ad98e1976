// The pane `health`: the state of ktop's collectors and the cost of ktop.
#include <string.h>

#include "views/part_fields.h"
#include "views/part_table.h"

static enum role collector_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (!strcmp(column->name, "lost"))
        return value.num > 0 ? ROLE_WARNING : ROLE_TEXT;
    if (strcmp(column->name, "state") || !value.text)
        return ROLE_TEXT;
    const char *state = text_bytes(value.text);
    return !strcmp(state, "ok")         ? ROLE_GOOD
           : !strcmp(state, "stale")    ? ROLE_STALE
           : !strcmp(state, "starting") ? ROLE_DIM
           : !strcmp(state, "off")      ? ROLE_DIM
                                        : ROLE_WARNING;
}

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "process",
        .title = "Cost of ktop",
        .spec =
            &(const struct fields_spec){
                .source = {.tables = {"process", "history"}},
                .shown = "cpu_pct=CPU,_%_of_one rss_kib=memory threads=threads history_frames=frames_kept "
                         "history_bytes=history pid=PID",
                .width = 24,
            },
        .min_height = 2,
    },
    {
        .kind = &part_table,
        .name = "collectors",
        .title = "Collectors",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"collectors"}},
                .role = collector_role,
            },
        .min_height = 4,
        .weight = 2,
    },
    {
        .kind = &part_table,
        .name = "threads",
        .title = "Threads of ktop",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"threads"}, .sort = "cpu_pct"},
            },
        .min_height = 3,
        .weight = 1,
    },
};

const struct view view_health = {
    .name = "health",
    .key = 'X',
    .title = "Health",
    .question = "Do all collectors work, are events lost, and what does ktop cost this machine?",
    .needs = (const char *const[]){"system", "system.detail", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
};
