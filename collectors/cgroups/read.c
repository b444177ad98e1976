// Hierarchies of control groups, what is in them, and the files of one group. Each file is opened, read and closed:
// thousands of groups would not fit under the limit of open files.
#include "collectors/cgroups/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model/mem.h"

#define GROUPS_MAX 4096
#define DEPTH_MAX 32
#define FILE_MAX_BYTES 8192
#define LIST_NS 2000000000ull // at least between two lists

// ---- mounts ----

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

// Paths hold blanks and backslashes as three octal digits.
static void unescape(const char *from, char *out, size_t size) {
    size_t n = 0;
    for (; *from && n + 1 < size; n++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
            out[n] = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            out[n] = *from++;
        }
    }
    out[n] = '\0';
}

static void mount_take(struct cgroup_mount *mount, const char *root, const char *path) {
    if (mount->path[0])
        return;
    unescape(root, mount->root, sizeof(mount->root));
    unescape(path, mount->path, sizeof(mount->path));
}

// "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:1 - cgroup cgroup rw,cpu": the fields after " - " are the kind, the
// source and the hierarchy's options.
static void mount_parse(char *line, struct cgroup_mount mounts[CGROUP_HIERARCHIES]) {
    static const char *const controllers[] = {
        [CGROUP_V1_CPU] = "cpu", [CGROUP_V1_CPUACCT] = "cpuacct", [CGROUP_V1_MEMORY] = "memory"};
    char *fields[5] = {0}, *last[3] = {0}, *save, *dash = strstr(line, " - ");
    if (!dash)
        return;
    *dash = '\0';
    for (int i = 0; i < 5; i++)
        fields[i] = strtok_r(i ? NULL : line, " ", &save);
    for (int i = 0; i < 3; i++)
        last[i] = strtok_r(i ? NULL : dash + 3, " ", &save);
    if (!fields[4] || !last[2])
        return;
    if (!strcmp(last[0], "cgroup2"))
        mount_take(&mounts[CGROUP_V2], fields[3], fields[4]);
    for (int i = CGROUP_V1_CPU; i < CGROUP_HIERARCHIES && !strcmp(last[0], "cgroup"); i++)
        if (has_word(last[2], controllers[i]))
            mount_take(&mounts[i], fields[3], fields[4]);
}

void cgroup_mounts_parse(const char *text, struct cgroup_mount mounts[CGROUP_HIERARCHIES]) {
    char *copy = xstrdup(text), *save;
    memset(mounts, 0, sizeof(*mounts) * CGROUP_HIERARCHIES);
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        mount_parse(line, mounts);
    free(copy);
}

static int file_read(struct cgroups *cgroups, int dir, const char *path) {
    struct proc_buffer *buffer = &cgroups->buffer;
    if (!buffer->bytes) {
        buffer->bytes = xmalloc(FILE_MAX_BYTES);
        buffer->capacity = FILE_MAX_BYTES;
    }
    buffer->length = 0;
    buffer->bytes[0] = '\0';
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got = read(fd, buffer->bytes, buffer->capacity - 1);
    int rc = got < 0 ? -errno : 0;
    close(fd);
    buffer->length = got > 0 ? (size_t)got : 0;
    buffer->bytes[buffer->length] = '\0';
    return rc;
}

static char *text_read(const char *path) {
    FILE *file = fopen(path, "re");
    size_t size = 0, length = 0, got;
    char *text = NULL;
    if (!file)
        return NULL;
    do {
        if (length + 4096 > size)
            text = xrealloc(text, size = length + 65536);
        length += got = fread(text + length, 1, size - length - 1, file);
    } while (got);
    text[length] = '\0';
    fclose(file);
    return text;
}

int cgroups_open(struct cgroups *cgroups, const char *root) {
    char path[1100];
    int n = 0;
    memset(cgroups, 0, sizeof(*cgroups));
    snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
    char *text = text_read(path);
    if (text)
        cgroup_mounts_parse(text, cgroups->mounts);
    free(text);
    for (int i = 0; i < CGROUP_HIERARCHIES; i++) {
        cgroups->fds[i] = -1;
        if (!cgroups->mounts[i].path[0])
            continue;
        snprintf(path, sizeof(path), "%s%s", root, cgroups->mounts[i].path);
        cgroups->fds[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        n += cgroups->fds[i] >= 0;
    }
    return n ? 0 : -ENOENT;
}

int cgroups_keep_cpu(struct cgroups *cgroups) {
    int keep = cgroups->fds[CGROUP_V1_CPU] >= 0 ? CGROUP_V1_CPU : CGROUP_V2;
    for (int i = 0; i < CGROUP_HIERARCHIES; i++)
        if (i != keep && cgroups->fds[i] >= 0) {
            close(cgroups->fds[i]);
            cgroups->fds[i] = -1;
        }
    return cgroups->fds[keep] >= 0 ? 0 : -ENOENT;
}

void cgroups_close(struct cgroups *cgroups) {
    for (int i = 0; i < CGROUP_HIERARCHIES; i++)
        if (cgroups->mounts[i].path[0] && cgroups->fds[i] >= 0)
            close(cgroups->fds[i]);
    for (size_t i = 0; i < cgroups->count; i++)
        free(cgroups->groups[i].path);
    free(cgroups->groups);
    proc_buffer_free(&cgroups->buffer);
}

// ---- which groups there are ----

static struct cgroup *group_get(struct cgroups *cgroups, const char *path) {
    size_t low = 0, high = cgroups->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(cgroups->groups[middle].path, path);
        if (!order)
            return &cgroups->groups[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (cgroups->count == GROUPS_MAX) {
        cgroups->left_out++;
        return NULL;
    }
    if (cgroups->count == cgroups->room) {
        cgroups->room = cgroups->room ? cgroups->room * 2 : 64;
        cgroups->groups = xrealloc(cgroups->groups, cgroups->room * sizeof(*cgroups->groups));
    }
    memmove(&cgroups->groups[low + 1], &cgroups->groups[low], (cgroups->count - low) * sizeof(*cgroups->groups));
    cgroups->groups[low] = (struct cgroup){.path = xstrdup(path), .slot = UINT32_MAX};
    cgroups->count++;
    return &cgroups->groups[low];
}

// `path` is below the mount; `name` the same in the hierarchy. Both are put back.
static void walk(struct cgroups *cgroups, int hierarchy, int dir, char *path, size_t size, int depth) {
    size_t length = strlen(path);
    struct cgroup *group = group_get(cgroups, length ? path : "/");
    if (group) {
        group->seen = true;
        group->in |= (uint8_t)(1u << hierarchy);
    }
    DIR *entries = fdopendir(dir);
    if (!entries) {
        close(dir);
        return;
    }
    for (struct dirent *entry; depth < DEPTH_MAX && (entry = readdir(entries));) {
        if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            length + 1 + strlen(entry->d_name) >= size)
            continue;
        int below = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0)
            continue;
        snprintf(path + length, size - length, "/%s", entry->d_name);
        walk(cgroups, hierarchy, below, path, size, depth + 1);
        path[length] = '\0';
    }
    closedir(entries);
}

void cgroups_list(struct cgroups *cgroups, void (*gone)(void *context, struct cgroup *group), void *context) {
    size_t kept = 0;
    cgroups->left_out = 0;
    for (size_t i = 0; i < cgroups->count; i++) {
        cgroups->groups[i].seen = false;
        cgroups->groups[i].in = 0;
    }
    for (int i = 0; i < CGROUP_HIERARCHIES; i++) {
        char path[4096];
        // Where a container's group is mounted, its tasks' paths begin with that group, or with the namespace's root.
        snprintf(path, sizeof(path), "%s", strcmp(cgroups->mounts[i].root, "/") ? cgroups->mounts[i].root : "");
        int dir = cgroups->fds[i] < 0 ? -1 : openat(cgroups->fds[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0)
            walk(cgroups, i, dir, path, sizeof(path), 0);
    }
    for (size_t i = 0; i < cgroups->count; i++) {
        if (cgroups->groups[i].seen) {
            cgroups->groups[kept++] = cgroups->groups[i];
            continue;
        }
        gone(context, &cgroups->groups[i]);
        free(cgroups->groups[i].path);
    }
    cgroups->count = kept;
}

// ---- one group ----

static bool group_file(struct cgroups *cgroups, const struct cgroup *group, int hierarchy, const char *file) {
    char path[4352];
    const char *below = group->path, *root = cgroups->mounts[hierarchy].root;
    if (!(group->in & (1u << hierarchy)))
        return false;
    if (strcmp(root, "/") != 0 && !strncmp(below, root, strlen(root)))
        below += strlen(root);
    while (*below == '/')
        below++;
    snprintf(path, sizeof(path), "%s%s%s", below, *below ? "/" : "", file);
    return !file_read(cgroups, cgroups->fds[hierarchy], path);
}

static void pressure_read(struct cgroups *cgroups, const struct cgroup *group, const char *file, uint64_t *some,
                          uint64_t *full) {
    static const char *const kinds[] = {"some ", "full "};
    uint64_t *out[] = {some, full};
    bool there = group_file(cgroups, group, CGROUP_V2, file);
    for (int i = 0; i < 2; i++) {
        const char *line = there ? strstr(cgroups->buffer.bytes, kinds[i]) : NULL;
        const char *total = line ? strstr(line, "total=") : NULL;
        if (!out[i])
            continue;
        *out[i] = PROC_MISSING;
        if (total && (total += strlen("total=")))
            proc_number(&total, out[i]);
    }
}

static uint64_t number_read(struct cgroups *cgroups, const struct cgroup *group, int hierarchy, const char *file) {
    uint64_t value;
    const char *at;
    if (!group_file(cgroups, group, hierarchy, file))
        return PROC_MISSING;
    at = cgroups->buffer.bytes;
    return proc_number(&at, &value) ? value : PROC_MISSING;
}

void cgroup_read_throttling(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_counts *out) {
    static const char *const names[] = {"usage_usec", "nr_periods", "nr_throttled", "throttled_usec", "throttled_time"};
    uint64_t values[5] = {PROC_MISSING, PROC_MISSING, PROC_MISSING, PROC_MISSING, PROC_MISSING}, old[5];
    if (group_file(cgroups, group, CGROUP_V2, "cpu.stat"))
        proc_pairs(&cgroups->buffer, names, 5, values);
    // Beside v1, v2 has a cpu.stat without the controller: the one that has it knows of throttling.
    if (values[1] == PROC_MISSING && group_file(cgroups, group, CGROUP_V1_CPU, "cpu.stat")) {
        proc_pairs(&cgroups->buffer, names, 5, old);
        memcpy(&values[1], &old[1], sizeof(old) - sizeof(old[0]));
    }
    *out = (struct cgroup_counts){.usage_us = values[0],
                                  .periods = values[1],
                                  .throttled = values[2],
                                  .throttled_us = values[3] != PROC_MISSING   ? values[3]
                                                  : values[4] != PROC_MISSING ? values[4] / 1000
                                                                              : PROC_MISSING};
}

void cgroup_read(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_counts *out) {
    cgroup_read_throttling(cgroups, group, out);
    if (out->usage_us == PROC_MISSING) {
        uint64_t ns = number_read(cgroups, group, CGROUP_V1_CPUACCT, "cpuacct.usage");
        out->usage_us = ns == PROC_MISSING ? ns : ns / 1000;
    }
    pressure_read(cgroups, group, "cpu.pressure", &out->cpu_some_us, NULL);
    pressure_read(cgroups, group, "io.pressure", &out->io_some_us, NULL);
    pressure_read(cgroups, group, "memory.pressure", &out->memory_some_us, &out->memory_full_us);
    out->memory_bytes = number_read(cgroups, group, CGROUP_V2, "memory.current");
    if (out->memory_bytes == PROC_MISSING)
        out->memory_bytes = number_read(cgroups, group, CGROUP_V1_MEMORY, "memory.usage_in_bytes");
}

double cgroup_read_cpu_limit(struct cgroups *cgroups, const struct cgroup *group) {
    uint64_t quota = PROC_MISSING, period = PROC_MISSING;
    if (group_file(cgroups, group, CGROUP_V2, "cpu.max")) { // "max 100000" or "50000 100000"
        const char *at = cgroups->buffer.bytes;
        if (proc_number(&at, &quota))
            proc_number(&at, &period);
    } else { // -1: none
        quota = number_read(cgroups, group, CGROUP_V1_CPU, "cpu.cfs_quota_us");
        if (quota != PROC_MISSING)
            period = number_read(cgroups, group, CGROUP_V1_CPU, "cpu.cfs_period_us");
    }
    return quota != PROC_MISSING && period != PROC_MISSING && period ? 100 * (double)quota / (double)period : NAN;
}

double cgroup_read_processes(struct cgroups *cgroups, const struct cgroup *group, double *pid) {
    int hierarchy = group->in & (1u << CGROUP_V1_CPU) ? CGROUP_V1_CPU : CGROUP_V2;
    const struct proc_buffer *buffer = &cgroups->buffer;
    double n = 0;
    *pid = NAN;
    if (!group_file(cgroups, group, hierarchy, "cgroup.procs") || buffer->length >= FILE_MAX_BYTES - 1)
        return NAN; // threads in groups of their own, or too many to count
    for (const char *at = buffer->bytes; (at = strchr(at, '\n')); at++)
        n++;
    if (n == 1)
        *pid = atof(buffer->bytes);
    return n;
}

void cgroup_read_limits(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_limits *out) {
    *out = (struct cgroup_limits){cgroup_read_cpu_limit(cgroups, group), NAN};
    uint64_t memory = number_read(cgroups, group, CGROUP_V2, "memory.max");
    if (memory == PROC_MISSING)
        memory = number_read(cgroups, group, CGROUP_V1_MEMORY, "memory.limit_in_bytes");
    if (memory < (1ull << 60)) // v1 has the largest number of pages for none
        out->memory_bytes = (double)memory;
}

uint64_t cgroup_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void cgroups_list_due(struct cgroups *cgroups, uint64_t share, cgroup_fn *gone, cgroup_fn *each, void *context) {
    uint64_t now = cgroup_clock_ns(), wait = cgroups->list_cost_ns * share;
    if (cgroups->listed_ns && now - cgroups->listed_ns < (wait > LIST_NS ? wait : LIST_NS))
        return;
    cgroups_list(cgroups, gone, context);
    for (size_t i = 0; i < cgroups->count; i++)
        each(context, &cgroups->groups[i]);
    cgroups->listed_ns = cgroup_clock_ns();
    cgroups->list_cost_ns = cgroups->listed_ns - now;
}

double cgroup_throttled_pct(const struct cgroup_counts *before, const struct cgroup_counts *now) {
    uint64_t periods = counter_delta(before->periods, now->periods);
    uint64_t throttled = counter_delta(before->throttled, now->throttled);
    if (periods == PROC_MISSING || throttled == PROC_MISSING)
        return NAN;
    return periods ? 100 * (double)throttled / (double)periods : 0;
}
