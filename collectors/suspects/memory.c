// Memory limits of the cgroups of processes that use much memory and run, for the time until it is exhausted.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/suspects/suspects.h"
#include "model/mem.h"

#define LEAST_KIB 16384
#define GROUPS_MAX 8
#define MOUNTS "/proc/self/mountinfo"

enum { CGROUP, LIMIT, USED, COLUMNS };

static const struct column columns[COLUMNS] = {
    [CGROUP] = {.name = "cgroup",
                .title = "CGROUP",
                .help = "cgroup of a process that uses memory and runs.",
                .type = COLUMN_TEXT,
                .width = 24,
                .ascending = true},
    [LIMIT] = {.name = "limit_kib",
               .title = "LIMIT",
               .help = "Lowest memory limit of the cgroup and those above it.",
               .unit = UNIT_KIB,
               .width = 7},
    [USED] = {.name = "used_kib",
              .title = "USED",
              .help = "Memory that counts against the limit, without page cache that is reclaimable.",
              .unit = UNIT_KIB,
              .width = 7},
};

const struct table_def suspects_memory_table = {
    .name = "memory_limits",
    .help = "cgroups with a memory limit, of processes that use memory and run.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct memory {
    struct table_builder *builder;
    char mount[256]; // "": none
    bool v2;
    struct suspects_sample *sample;
    const struct text *groups[GROUPS_MAX]; // of this sample, borrowed
    size_t n;
};

static bool has_word(const char *list, const char *word) {
    const char *at = strstr(list, word);
    return at && (at == list || at[-1] == ',') && !strchr("abcdefghijklmnopqrstuvwxyz_", at[strlen(word)] | 32);
}

// The hierarchy of the memory controller: v1 if it is mounted, else v2.
static void mount_find(struct memory *memory) {
    struct proc_file file = PROC_FILE(MOUNTS);
    struct proc_buffer buffer = {0};
    if (proc_file_read(&file, &buffer) == 0)
        for (char *line = buffer.bytes, *end; line && *line; line = end) {
            char point[256], type[32], options[256];
            end = strchr(line, '\n');
            if (end)
                *end++ = '\0';
            const char *rest = strstr(line, " - ");
            if (!rest || sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 ||
                sscanf(rest, " - %31s %*s %255s", type, options) != 2)
                continue;
            bool v1 = !strcmp(type, "cgroup") && has_word(options, "memory");
            if (v1 || (!strcmp(type, "cgroup2") && !memory->mount[0])) {
                snprintf(memory->mount, sizeof(memory->mount), "%s", point);
                memory->v2 = !v1;
            }
            if (v1)
                break;
        }
    proc_buffer_free(&buffer);
    proc_file_close(&file);
}

static double number_of(const char *mount, const char *cgroup, const char *file) {
    char path[1400];
    uint64_t value;
    snprintf(path, sizeof(path), "%s%s/%s", mount, cgroup, file);
    return proc_read_number(path, &value) ? (double)value : NAN; // NAN also for "max"
}

static double cache_of(const char *mount, const char *cgroup, bool v2, double *limit) {
    static const char *const v1_names[] = {"total_inactive_file", "hierarchical_memory_limit"};
    static const char *const v2_names[] = {"inactive_file", "-"};
    char path[1400];
    uint64_t values[2] = {PROC_MISSING, PROC_MISSING};
    struct proc_buffer buffer = {0};
    snprintf(path, sizeof(path), "%s%s/memory.stat", mount, cgroup);
    struct proc_file file = {.path = path, .fd = -1};
    if (proc_file_read(&file, &buffer) == 0)
        proc_pairs(&buffer, v2 ? v2_names : v1_names, 2, values);
    proc_file_close(&file);
    proc_buffer_free(&buffer);
    *limit = counter_value(values[1]);
    return values[0] == PROC_MISSING ? 0 : (double)values[0];
}

bool suspects_memory_limit(const char *mount, bool v2, const char *cgroup, double *limit_kib, double *used_kib) {
    char path[1024];
    double limit = NAN, used = NAN, cache = 0;
    snprintf(path, sizeof(path), "%s", strcmp(cgroup, "/") ? cgroup : "");
    if (v2) {
        // The level with the least room counts.
        for (char *slash = path; slash && path[0]; slash = strrchr(path, '/'), slash ? *slash = '\0' : 0) {
            double most = number_of(mount, path, "memory.max"), own;
            if (isnan(most))
                continue;
            double now = number_of(mount, path, "memory.current") - cache_of(mount, path, true, &own);
            if (isnan(limit) || most - now < limit - used) {
                limit = most;
                used = now;
            }
        }
    } else if (path[0]) {
        used = number_of(mount, path, "memory.usage_in_bytes");
        cache = cache_of(mount, path, false, &limit);
        used -= cache;
    }
    // v1 without a limit has a value near 2^63.
    if (!(limit < 1e18) || isnan(used))
        return false;
    *limit_kib = limit / 1024;
    *used_kib = fmax(0, used) / 1024;
    return true;
}

static void *memory_create(void) {
    struct memory *memory = xcalloc(1, sizeof(*memory));
    memory->builder = table_builder_new(&suspects_memory_table);
    mount_find(memory);
    return memory;
}

static void group_take(void *context, const union cell *row) {
    struct memory *memory = context;
    const struct suspects_columns *at = &memory->sample->at;
    const struct text *group = row[at->cgroup].text;
    if (!(row[at->rss].num >= LEAST_KIB) || !(row[at->cpu].num > 0) || !group || memory->n == GROUPS_MAX ||
        !strcmp(text_bytes(group), "/"))
        return;
    for (size_t i = 0; i < memory->n; i++)
        if (!text_compare(memory->groups[i], group))
            return;
    memory->groups[memory->n++] = group;
}

static void memory_sample(void *state, struct suspects_sample *sample) {
    struct memory *memory = state;
    memory->sample = sample;
    memory->n = 0;
    table_builder_clear(memory->builder);
    if (memory->mount[0])
        suspects_each(sample, group_take, memory);
    for (size_t i = 0; i < memory->n; i++) {
        double limit, used;
        if (!suspects_memory_limit(memory->mount, memory->v2, text_bytes(memory->groups[i]), &limit, &used))
            continue;
        uint32_t slot = table_builder_add(memory->builder);
        table_builder_set_text(memory->builder, slot, CGROUP, text_ref(memory->groups[i]));
        table_builder_set_num(memory->builder, slot, LIMIT, limit);
        table_builder_set_num(memory->builder, slot, USED, used);
    }
    section_table(sample->out, table_builder_seal(memory->builder));
}

static void memory_destroy(void *state) {
    struct memory *memory = state;
    table_builder_free(memory->builder);
    free(memory);
}

const struct suspects_part suspects_memory_part = {
    .create = memory_create, .sample = memory_sample, .destroy = memory_destroy};
