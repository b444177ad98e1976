// Sums by cgroup. Unchanged rows share a chunk with the previous frame, and the sums of a chunk are cached: ten
// thousand idle tasks cost a comparison of about six hundred pointers.
#include "model/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/columns.h"
#include "model/mem.h"
#include "model/table_private.h"

// The summed values, in the order of the columns: from `tasks`, and from CYCLES on from `task_counters`.
enum {
    CPU,
    USER,
    SYSTEM,
    RUN_QUEUE,
    SWITCHES,
    MINOR,
    MAJOR,
    READ,
    WRITE,
    RSS,
    CYCLES,
    INSTRUCTIONS,
    CACHE_MISSES,
    BRANCH_MISSES,
    SUMS
};
#define FROM_COUNTERS CYCLES

enum { CGROUP, TASKS, IPC, FIRST_SUM, COLUMNS = FIRST_SUM + SUMS };

static const struct column columns[COLUMNS] = {
    [CGROUP] = COLUMN_CGROUP(24, .help = "Path in the unified hierarchy, else in v1's memory or cpu hierarchy."),
    [TASKS] = NUMBER_COLUMN("tasks", "TASKS", UNIT_COUNT, 5,
                            .help = "Live processes in the cgroup, without those of its children."),
    [IPC] = COLUMN_IPC(.help = "Instructions per cycle of all its tasks."),
    [FIRST_SUM + CPU] = COLUMN_CPU_PCT(
            .help = "CPU time of its tasks, including those that exited in the interval, in percent of one CPU."),
    [FIRST_SUM + USER] = COLUMN_USER_PCT(.help = "User CPU time of its tasks, in percent of one CPU."),
    [FIRST_SUM + SYSTEM] = COLUMN_SYSTEM_PCT(.help = "Kernel CPU time of its tasks, in percent of one CPU."),
    [FIRST_SUM + RUN_QUEUE] =
        COLUMN_RUN_QUEUE_US(.help = "Time its tasks were runnable without a CPU in the interval, summed over tasks."),
    [FIRST_SUM + SWITCHES] = COLUMN_CONTEXT_SWITCHES_PER_S(.help = "Context switches of its tasks per second."),
    [FIRST_SUM + MINOR] = COLUMN_MINOR_FAULTS_PER_S(.help = "Page faults of its tasks without I/O, per second."),
    [FIRST_SUM + MAJOR] =
        COLUMN_MAJOR_FAULTS_PER_S(.help = "Page faults of its tasks that waited for I/O, per second."),
    [FIRST_SUM + READ] = COLUMN_READ_BYTES_PER_S(.help = "Bytes its tasks read from storage per second."),
    [FIRST_SUM + WRITE] = COLUMN_WRITE_BYTES_PER_S(.help = "Bytes its tasks wrote or dirtied per second."),
    [FIRST_SUM + RSS] =
        COLUMN_RSS_KIB(.help = "Resident memory of its processes; shared pages count once per process."),
    [FIRST_SUM + CYCLES] = COLUMN_CYCLES_PER_S(.help = "CPU cycles of its tasks per second."),
    [FIRST_SUM + INSTRUCTIONS] = COLUMN_INSTRUCTIONS_PER_S(.help = "Instructions of its tasks per second."),
    [FIRST_SUM + CACHE_MISSES] = COLUMN_CACHE_MISSES_PER_S(.help = "Last-level cache misses of its tasks per second."),
    [FIRST_SUM + BRANCH_MISSES] = COLUMN_BRANCH_MISSES_PER_S(.help = "Mispredicted branches of its tasks per second."),
};

const struct table_def groups_table = {
    .name = "cgroups",
    .help =
        "Resource use of each control group: the sum of its rows in `tasks` (with -p or -u only the selected ones).",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct sums {
    double values[SUMS]; // NAN: not measured
    uint32_t tasks;
};

static const struct sums no_sums = {.values = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}};

static void sum_add(double *sum, double value) {
    if (!isnan(value))
        *sum = isnan(*sum) ? value : *sum + value;
}

static void sums_add(struct sums *to, const struct sums *more) {
    for (int i = 0; i < SUMS; i++)
        sum_add(&to->values[i], more->values[i]);
    to->tasks += more->tasks;
}

// The sums of one chunk of `tasks`, by cgroup. The names live as long as struct groups holds their section.
struct part_of_group {
    const struct text *name;
    struct sums sums;
};
struct chunk_sums {
    const struct chunk *chunk; // NULL: not summed
    uint8_t n, room;
    uint8_t group[TABLE_CHUNK_ROWS]; // of each row
    uint32_t ids[TABLE_CHUNK_ROWS][2];
    struct part_of_group *groups; // usually one
};

struct group {
    const struct text *name; // owned
    uint32_t slot;
    bool used; // in this frame
    struct sums sums;
};

struct groups {
    const struct section *section; // of the chunks: while it is held their addresses are not reused
    const struct table_def *def;
    int at[SUMS], pid, tid, state, cgroup; // columns of the tasks
    struct chunk_sums *chunks;
    size_t n_chunks;
    struct group *groups;
    size_t count, room;
    uint32_t *index; // by name: index into groups + 1; open addressing, a power of two
    size_t index_size;
    struct table_builder *builder;
};

struct groups *groups_new(void) {
    struct groups *groups = xcalloc(1, sizeof(*groups));
    groups->builder = table_builder_new(&groups_table);
    return groups;
}

void groups_free(struct groups *groups) {
    if (!groups)
        return;
    for (size_t i = 0; i < groups->count; i++)
        text_unref(groups->groups[i].name);
    if (groups->section)
        section_unref(groups->section);
    table_builder_free(groups->builder);
    for (size_t i = 0; i < groups->n_chunks; i++)
        free(groups->chunks[i].groups);
    free(groups->chunks);
    free(groups->groups);
    free(groups->index);
    free(groups);
}

// ---- groups by name ----

bool group_is_below(const char *group, const char *above) {
    size_t length = strlen(above);
    if (length && above[length - 1] == '/') // the root
        length--;
    return !strncmp(group, above, length) && (group[length] == '/' || !group[length]);
}

static bool name_is(const struct text *a, const struct text *b) {
    return a == b || (a && b && !text_compare(a, b));
}

static size_t index_slot(const struct groups *groups, const struct text *name) {
    uint64_t hash = 0xcbf29ce484222325ull;
    const char *bytes = text_bytes(name);
    for (size_t i = 0, n = text_length(name); i < n; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
    size_t at = (hash ^ hash >> 32) & (groups->index_size - 1);
    while (groups->index[at] && !name_is(groups->groups[groups->index[at] - 1].name, name))
        at = (at + 1) & (groups->index_size - 1);
    return at;
}

static void index_make(struct groups *groups, size_t size) {
    free(groups->index);
    groups->index_size = size;
    groups->index = xcalloc(size, sizeof(*groups->index));
    for (size_t i = 0; i < groups->count; i++)
        groups->index[index_slot(groups, groups->groups[i].name)] = (uint32_t)i + 1;
}

static struct group *group_get(struct groups *groups, const struct text *name) {
    if ((groups->count + 1) * 2 > groups->index_size)
        index_make(groups, groups->index_size ? groups->index_size * 2 : 64);
    size_t at = index_slot(groups, name);
    if (groups->index[at])
        return &groups->groups[groups->index[at] - 1];
    if (groups->count == groups->room) {
        groups->room = groups->room ? groups->room * 2 : 32;
        groups->groups = xrealloc(groups->groups, groups->room * sizeof(*groups->groups));
    }
    struct group *group = &groups->groups[groups->count++];
    *group = (struct group){.name = text_ref(name), .slot = table_builder_add(groups->builder), .sums = no_sums};
    groups->index[at] = (uint32_t)groups->count;
    return group;
}

// Drops groups without tasks.
static void groups_prune(struct groups *groups) {
    size_t kept = 0;
    for (size_t i = 0; i < groups->count; i++) {
        struct group *group = &groups->groups[i];
        if (group->used) {
            groups->groups[kept++] = *group;
            continue;
        }
        table_builder_remove(groups->builder, group->slot);
        text_unref(group->name);
    }
    if (kept == groups->count)
        return;
    groups->count = kept;
    index_make(groups, groups->index_size);
}

// ---- tasks ----

static double cell_of(const union cell *row, int column) {
    return column < 0 ? NAN : row[column].num;
}

static void row_add(const struct groups *groups, struct chunk_sums *cached, uint32_t i, const union cell *row) {
    const struct text *name = groups->cgroup < 0 ? NULL : row[groups->cgroup].text;
    uint8_t at = 0;
    while (at < cached->n && !name_is(cached->groups[at].name, name))
        at++;
    if (at == cached->room) {
        cached->room = cached->room ? cached->room * 2 : 1;
        cached->groups = xrealloc(cached->groups, cached->room * sizeof(*cached->groups));
    }
    if (at == cached->n)
        cached->groups[cached->n++] = (struct part_of_group){.name = name, .sums = no_sums};
    struct sums *sums = &cached->groups[at].sums;
    double pid = cell_of(row, groups->pid), tid = cell_of(row, groups->tid);
    cached->group[i] = at;
    cached->ids[i][0] = (uint32_t)pid;
    cached->ids[i][1] = (uint32_t)tid;
    for (int k = 0; k < FROM_COUNTERS; k++)
        if (k != RSS || pid == tid) // threads share their process's memory
            sum_add(&sums->values[k], cell_of(row, groups->at[k]));
    const struct text *state = groups->state < 0 ? NULL : row[groups->state].text;
    sums->tasks += pid == tid && text_bytes(state)[0] != 'X';
}

static void chunk_sum(const struct groups *groups, const struct table *table, struct chunk *chunk,
                      struct chunk_sums *cached) {
    if (cached->chunk == chunk)
        return;
    cached->chunk = chunk;
    cached->n = 0;
    for (uint32_t i = 0; chunk && i < TABLE_CHUNK_ROWS; i++)
        if (chunk->live & (1u << i))
            row_add(groups, cached, i, chunk_row(table->def, chunk, i));
}

static void columns_find(struct groups *groups, const struct table_def *def) {
    groups->def = def;
    groups->pid = table_column(def, "pid");
    groups->tid = table_column(def, "tid");
    groups->state = table_column(def, "state");
    groups->cgroup = table_column(def, "cgroup");
    for (int i = 0; i < SUMS; i++)
        groups->at[i] = table_column(def, columns[FIRST_SUM + i].name);
}

static void tasks_sum(struct groups *groups, const struct table *table) {
    if (table->def != groups->def)
        columns_find(groups, table->def);
    if (table->n_chunks > groups->n_chunks) {
        groups->chunks = xrealloc(groups->chunks, table->n_chunks * sizeof(*groups->chunks));
        memset(&groups->chunks[groups->n_chunks], 0, (table->n_chunks - groups->n_chunks) * sizeof(*groups->chunks));
        groups->n_chunks = table->n_chunks;
    }
    for (size_t i = 0; i < table->n_chunks; i++) {
        struct chunk_sums *cached = &groups->chunks[i];
        chunk_sum(groups, table, table->chunks[i], cached);
        for (uint8_t k = 0; table->chunks[i] && k < cached->n; k++) {
            struct group *group = group_get(groups, cached->groups[k].name);
            group->used = true;
            sums_add(&group->sums, &cached->groups[k].sums);
        }
    }
}

// ---- counters ----

struct counted { // rows of the counters by task
    const union cell **slots;
    size_t mask;
    int pid, tid;
};

static size_t counted_slot(const struct counted *counted, uint32_t pid, uint32_t tid) {
    size_t at = (((uint64_t)tid << 32 | pid) * 0x9e3779b97f4a7c15ull >> 32) & counted->mask;
    while (counted->slots[at] && ((uint32_t)counted->slots[at][counted->pid].num != pid ||
                                  (uint32_t)counted->slots[at][counted->tid].num != tid))
        at = (at + 1) & counted->mask;
    return at;
}

// The cgroup of a counter's task is found in `tasks`.
static void counters_sum(struct groups *groups, const struct table *tasks, const struct table *counters) {
    const struct table_def *def = table_def(counters);
    struct counted counted = {.mask = 63, .pid = table_column(def, "pid"), .tid = table_column(def, "tid")};
    int at[SUMS];
    if (counted.pid < 0 || counted.tid < 0 || !table_rows(counters))
        return;
    for (int i = FROM_COUNTERS; i < SUMS; i++)
        at[i] = table_column(def, columns[FIRST_SUM + i].name);
    while (counted.mask < table_rows(counters) * 2)
        counted.mask = counted.mask * 2 + 1;
    counted.slots = xcalloc(counted.mask + 1, sizeof(*counted.slots));
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(counters, &cursor));)
        counted.slots[counted_slot(&counted, (uint32_t)row[counted.pid].num, (uint32_t)row[counted.tid].num)] = row;
    for (size_t i = 0; i < tasks->n_chunks; i++) {
        const struct chunk_sums *cached = &groups->chunks[i];
        for (uint32_t k = 0; tasks->chunks[i] && k < TABLE_CHUNK_ROWS; k++) {
            const union cell *row = tasks->chunks[i]->live & (1u << k)
                                        ? counted.slots[counted_slot(&counted, cached->ids[k][0], cached->ids[k][1])]
                                        : NULL;
            struct group *group = row ? group_get(groups, cached->groups[cached->group[k]].name) : NULL;
            for (int s = FROM_COUNTERS; row && s < SUMS; s++)
                sum_add(&group->sums.values[s], cell_of(row, at[s]));
        }
    }
    free(counted.slots);
}

// ---- the section ----

static void group_write(struct groups *groups, const struct group *group) {
    const double *values = group->sums.values;
    if (!table_builder_row(groups->builder, group->slot)[CGROUP].text)
        table_builder_set_text(groups->builder, group->slot, CGROUP, text_ref(group->name));
    table_builder_set_num(groups->builder, group->slot, TASKS, group->sums.tasks);
    table_builder_set_num(groups->builder, group->slot, IPC,
                          values[CYCLES] > 0 ? values[INSTRUCTIONS] / values[CYCLES] : NAN);
    for (int i = 0; i < SUMS; i++)
        table_builder_set_num(groups->builder, group->slot, (uint16_t)(FIRST_SUM + i), values[i]);
}

struct section *groups_section(struct groups *groups, const struct frame *frame) {
    struct section *section = section_new("groups", frame->begin_ns, frame->end_ns);
    const struct table *tasks = frame_table(frame, "tasks"), *counters = frame_table(frame, "task_counters");
    for (size_t i = 0; i < groups->count; i++) {
        groups->groups[i].used = false;
        groups->groups[i].sums = no_sums;
    }
    if (tasks)
        tasks_sum(groups, tasks);
    if (tasks && counters)
        counters_sum(groups, tasks, counters);
    groups_prune(groups);
    for (size_t i = 0; i < groups->count; i++)
        group_write(groups, &groups->groups[i]);
    // Hold the section whose chunks are cached.
    const struct section *before = groups->section;
    groups->section = NULL;
    for (uint16_t i = 0; tasks && i < frame->n_sections && !groups->section; i++)
        if (section_find_table(frame->sections[i], "tasks") == tasks)
            groups->section = section_ref(frame->sections[i]);
    for (size_t i = groups->section ? tasks->n_chunks : 0; i < groups->n_chunks; i++)
        groups->chunks[i].chunk = NULL; // no longer held
    if (before)
        section_unref(before);
    section_table(section, table_builder_seal(groups->builder));
    section_set_state(section, tasks ? SECTION_OK : SECTION_STARTING);
    return section;
}
