// Limits that are nearly reached: file descriptors of a process (RLIMIT_NOFILE) and of the machine (fs.file-max), tasks
// of a cgroup (pids.max), of a user (RLIMIT_NPROC) and of the machine (kernel.threads-max, kernel.pid_max).
//
// The number of descriptors is the size of /proc/PID/fd since Linux 6.2; before, only processes that run have theirs
// listed. Kernel documents: Documentation/filesystems/proc.rst, admin-guide/sysctl/fs.rst, cgroup-v2.rst (pids).
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define NEAR 0.8       // of a limit: from here on it has a row
#define LOOKED_MAX 128 // processes that run, and as many others in rotation, per sample
#define LISTED_MAX 16  // whose descriptors are counted one by one
#define COUNT_MAX 4096 // descriptors that are counted so
#define USERS_MAX 64
#define TASKS_LEAST 8   // of a user; a lower limit was set on purpose, by a sandbox
#define FILES_LEAST 20  // a lower limit was set on purpose, by a sandbox
#define KEPT_MAX 16     // processes near their limit
#define GROUPS_MAX 128  // with a limit of tasks
#define WALKED_MAX 1024 // cgroups in one search
#define READ_MAX 64     // cgroups read per sample, in rotation
#define SEARCH_NS 3000000000ull
#define MEMBERS_MAX 2048 // of a cgroup
#define PARENTS_MAX 64

enum { LIMIT, OF, PID, COMM, USED, MOST, REFUSED, COLUMNS };

static const struct column columns[COLUMNS] = {
    [LIMIT] =
        TEXT_COLUMN("limit", "LIMIT", 18,
                    .help = "RLIMIT_NOFILE, RLIMIT_NPROC, fs.file-max, pids.max, kernel.threads-max, kernel.pid_max, "
                            "nf_conntrack_max."),
    [OF] = TEXT_COLUMN("of", "OF", 24, .help = "The cgroup or the user; none for a process and for the machine."),
    [PID] = COLUMN_PID(.help = "The process; of a cgroup, a user or the machine, the one that has most."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [USED] = {.name = "used", .title = "USED", .help = "How much of it is used.", .unit = UNIT_COUNT, .width = 7},
    [MOST] = {.name = "most", .title = "MOST", .help = "The limit.", .unit = UNIT_COUNT, .width = 7},
    [REFUSED] = {.name = "refused_per_s",
                 .title = "REFUSED/s",
                 .help = "Tasks that were not created because of the limit, per second.",
                 .unit = UNIT_PER_S,
                 .width = 9},
};

const struct table_def suspects_limits_table = {
    .name = "limits",
    .help = "Limits of descriptors and tasks that are nearly reached.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 3,
};

struct group {
    char path[256]; // below the mount
    double most;
    uint64_t refused, read_ns;
};

// The tasks of a user, and two of its processes: their limit is taken as that of the user.
struct user {
    const struct text *name; // borrowed
    double tasks, newest_s;
    int32_t newest, turned; // turned: in rotation
};

struct limits {
    struct table_builder *builder;
    bool has_size; // of /proc/PID/fd
    int32_t kept[KEPT_MAX];
    size_t n_kept;
    struct proc_file file_nr;
    struct proc_buffer buffer;
    char mount[256]; // of the pids controller; "": none
    struct group groups[GROUPS_MAX];
    size_t n_groups, group_turn, walked;
    uint64_t searched_ns;
    double threads_max, pid_max;
    // Of this sample.
    struct suspects_sample *sample;
    size_t seen, turn, looked, listed, busy;
    struct user users[USERS_MAX];
    size_t n_users;
    uint32_t samples;
    double threads;
    struct {
        double value;
        int32_t pid;
        const struct text *comm; // borrowed
    } most_files, most_threads;
};

static void row_add(struct limits *limits, const char *limit, const char *of, int32_t pid, const struct text *comm,
                    double used, double most, double refused) {
    uint32_t slot = table_builder_add(limits->builder);
    table_builder_set_text(limits->builder, slot, LIMIT, text_from(limit));
    if (of)
        table_builder_set_text(limits->builder, slot, OF, text_from(of));
    if (pid) {
        table_builder_set_num(limits->builder, slot, PID, pid);
        table_builder_set_text(limits->builder, slot, COMM, text_ref(comm));
    }
    table_builder_set_num(limits->builder, slot, USED, used);
    table_builder_set_num(limits->builder, slot, MOST, most);
    table_builder_set_num(limits->builder, slot, REFUSED, refused);
}

// ---- descriptors ----

// -1: unknown.
static double files_of(struct limits *limits, int32_t pid) {
    char path[64];
    struct stat is;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    if (limits->has_size)
        return stat(path, &is) ? -1 : (double)is.st_size;
    if (limits->listed++ >= LISTED_MAX)
        return -1;
    DIR *folder = opendir(path);
    double n = 0;
    while (folder && n < COUNT_MAX && proc_next_id(folder) >= 0)
        n++;
    if (folder)
        closedir(folder);
    return folder ? n : -1;
}

static double limit_of(int32_t pid, int resource, const char *name) {
    struct rlimit limit;
    if (!prlimit(pid, resource, NULL, &limit))
        return limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
    // Without the right to ask, the file has it.
    char path[64], text[2048];
    snprintf(path, sizeof(path), "/proc/%d/limits", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, name);
    unsigned long most;
    return at && sscanf(at + strlen(name), "%lu", &most) == 1 ? (double)most : INFINITY;
}

static double files_limit(int32_t pid) {
    return limit_of(pid, RLIMIT_NOFILE, "Max open files");
}

double suspects_tasks_limit(int32_t pid) {
    double most = pid ? limit_of(pid, RLIMIT_NPROC, "Max processes") : INFINITY;
    return most < TASKS_LEAST ? INFINITY : most;
}

static bool is_kept(const struct limits *limits, int32_t pid) {
    for (size_t i = 0; i < limits->n_kept; i++)
        if (limits->kept[i] == pid)
            return true;
    return false;
}

static void user_count(struct limits *limits, const union cell *row) {
    const struct suspects_columns *at = &limits->sample->at;
    const struct text *name = row[at->user].text;
    size_t i = 0;
    if (!name || !strcmp(text_bytes(name), "root")) // its limit is not enforced
        return;
    while (i < limits->n_users && text_compare(limits->users[i].name, name) != 0)
        i++;
    if (i == USERS_MAX)
        return;
    struct user *user = &limits->users[i];
    if (i == limits->n_users) {
        *user = (struct user){.name = name};
        limits->n_users++;
    }
    user->tasks += fmax(1, row[at->threads].num);
    if (row[at->started].num >= user->newest_s) {
        user->newest_s = row[at->started].num;
        user->newest = (int32_t)row[at->pid].num;
    }
    if ((uint32_t)row[at->pid].num % 16 == limits->samples % 16)
        user->turned = (int32_t)row[at->pid].num;
}

static void process_look(void *context, const union cell *row) {
    struct limits *limits = context;
    const struct suspects_columns *at = &limits->sample->at;
    int32_t pid = (int32_t)row[at->pid].num;
    double threads = row[at->threads].num;
    if (threads > 0)
        limits->threads += threads;
    if (threads > limits->most_threads.value) {
        limits->most_threads.value = threads;
        limits->most_threads.pid = pid;
        limits->most_threads.comm = row[at->comm].text;
    }
    user_count(limits, row);
    bool busy = row[at->cpu].num > 0, kept = is_kept(limits, pid);
    if (busy && !kept && limits->busy++ >= LOOKED_MAX)
        return;
    if (!busy && !kept) {
        if (!limits->has_size || limits->seen++ < limits->turn || limits->looked == LOOKED_MAX)
            return;
        limits->looked++;
    }
    double files = files_of(limits, pid), most = files >= FILES_LEAST * NEAR ? files_limit(pid) : INFINITY;
    if (files > limits->most_files.value) {
        limits->most_files.value = files;
        limits->most_files.pid = pid;
        limits->most_files.comm = row[at->comm].text;
    }
    if (most < FILES_LEAST || files < most * NEAR)
        return;
    row_add(limits, "RLIMIT_NOFILE", NULL, pid, row[at->comm].text, files, most, NAN);
    if (!kept && limits->n_kept < KEPT_MAX)
        limits->kept[limits->n_kept++] = pid;
}

static void kept_update(struct limits *limits) {
    size_t n = 0;
    for (size_t i = 0; i < limits->n_kept; i++) {
        double files = files_of(limits, limits->kept[i]);
        if (files >= FILES_LEAST * NEAR && files >= files_limit(limits->kept[i]) * NEAR)
            limits->kept[n++] = limits->kept[i];
    }
    limits->n_kept = n;
}

static void machine_look(struct limits *limits) {
    uint64_t values[3];
    const char *at = "";
    if (proc_file_read(&limits->file_nr, &limits->buffer) == 0)
        at = limits->buffer.bytes;
    if (proc_numbers(&at, values, 3) == 3 && (double)values[0] >= (double)values[2] * NEAR)
        row_add(limits, "fs.file-max", NULL, limits->most_files.pid, limits->most_files.comm, (double)values[0],
                (double)values[2], NAN);
    uint64_t tracked, most;
    if (proc_read_number("/proc/sys/net/netfilter/nf_conntrack_count", &tracked) &&
        proc_read_number("/proc/sys/net/netfilter/nf_conntrack_max", &most) && most &&
        (double)tracked >= (double)most * NEAR)
        row_add(limits, "nf_conntrack_max", NULL, 0, NULL, (double)tracked, (double)most, NAN);
    if (limits->threads >= limits->threads_max * NEAR)
        row_add(limits, "kernel.threads-max", NULL, limits->most_threads.pid, limits->most_threads.comm,
                limits->threads, limits->threads_max, NAN);
    if (limits->threads >= limits->pid_max * NEAR)
        row_add(limits, "kernel.pid_max", NULL, limits->most_threads.pid, limits->most_threads.comm, limits->threads,
                limits->pid_max, NAN);
}

// ---- cgroups ----

static void mount_find(struct limits *limits) {
    struct proc_file file = PROC_FILE("/proc/self/mountinfo");
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
            bool v1 = !strcmp(type, "cgroup") && strstr(options, ",pids");
            if (v1 || (!strcmp(type, "cgroup2") && !limits->mount[0]))
                snprintf(limits->mount, sizeof(limits->mount), "%s", point);
            if (v1)
                break;
        }
    proc_buffer_free(&buffer);
    proc_file_close(&file);
}

static bool group_number(const struct limits *limits, const char *group, const char *file, uint64_t *value) {
    char path[600];
    snprintf(path, sizeof(path), "%s%s/%s", limits->mount, group, file);
    return proc_read_number(path, value); // false for "max"
}

static double group_refused(const struct limits *limits, const char *group) {
    char path[600], line[64];
    unsigned long long n;
    snprintf(path, sizeof(path), "%s%s/pids.events", limits->mount, group);
    return !proc_read_line(path, line, sizeof(line)) && sscanf(line, "max %llu", &n) == 1 ? (double)n : NAN;
}

static struct group *group_find(struct limits *limits, const char *path) {
    for (size_t i = 0; i < limits->n_groups; i++)
        if (!strcmp(limits->groups[i].path, path))
            return &limits->groups[i];
    return NULL;
}

static void groups_walk(struct limits *limits, char *path, size_t size, int depth) {
    char whole[600];
    uint64_t most;
    size_t length = strlen(path);
    if (limits->walked++ >= WALKED_MAX || depth > 12)
        return;
    if (length && group_number(limits, path, "pids.max", &most) && limits->n_groups < GROUPS_MAX) {
        struct group *group = group_find(limits, path);
        if (!group) {
            group = &limits->groups[limits->n_groups++];
            *group = (struct group){.refused = PROC_MISSING};
            snprintf(group->path, sizeof(group->path), "%s", path);
        }
        group->most = (double)most;
    }
    snprintf(whole, sizeof(whole), "%s%s", limits->mount, path);
    DIR *folder = opendir(whole);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || length + strlen(entry->d_name) + 2 > size)
            continue;
        snprintf(path + length, size - length, "/%s", entry->d_name);
        groups_walk(limits, path, size, depth + 1);
        path[length] = '\0';
    }
    if (folder)
        closedir(folder);
}

static int compare_pids(const void *a, const void *b) {
    return *(const int32_t *)a - *(const int32_t *)b;
}

struct members {
    struct limits *limits;
    const struct text *user; // their owner; NULL: those with these PIDs
    int32_t pids[MEMBERS_MAX];
    size_t n;
    struct {
        int32_t pid;
        double tasks;
    } parents[PARENTS_MAX];
    size_t n_parents;
};

static void member_count(struct members *members, int32_t pid, double tasks) {
    size_t i = 0;
    while (i < members->n_parents && members->parents[i].pid != pid)
        i++;
    if (i == PARENTS_MAX)
        return;
    if (i == members->n_parents)
        members->parents[members->n_parents++].pid = pid;
    members->parents[i].tasks += tasks;
}

// Children count for their parent, threads for their process.
static void member_take(void *context, const union cell *row) {
    struct members *members = context;
    const struct suspects_columns *at = &members->limits->sample->at;
    int32_t pid = (int32_t)row[at->pid].num;
    if (members->user ? text_compare(row[at->user].text, members->user) != 0
                      : !bsearch(&pid, members->pids, members->n, sizeof(pid), compare_pids))
        return;
    member_count(members, (int32_t)row[at->ppid].num, 1);
    if (row[at->threads].num > 1)
        member_count(members, pid, row[at->threads].num - 1);
}

struct named {
    struct limits *limits;
    int32_t pid;
    const struct text *comm;
};

static void named_take(void *context, const union cell *row) {
    struct named *named = context;
    if ((int32_t)row[named->limits->sample->at.pid].num == named->pid)
        named->comm = row[named->limits->sample->at.comm].text;
}

static struct named members_owner(struct limits *limits, struct members *members) {
    struct named named = {.limits = limits};
    double most = 0;
    members->limits = limits;
    suspects_each(limits->sample, member_take, members);
    for (size_t i = 0; i < members->n_parents; i++)
        if (members->parents[i].tasks > most) {
            most = members->parents[i].tasks;
            named.pid = members->parents[i].pid;
        }
    suspects_each(limits->sample, named_take, &named);
    return named;
}

// The process that has most of the tasks in the cgroup.
static struct named group_owner(struct limits *limits, const char *group) {
    struct members *members = xcalloc(1, sizeof(*members));
    char path[600];
    snprintf(path, sizeof(path), "%s%s/cgroup.procs", limits->mount, group);
    FILE *file = fopen(path, "re");
    while (file && members->n < MEMBERS_MAX && fscanf(file, "%d", &members->pids[members->n]) == 1)
        members->n++;
    if (file)
        fclose(file);
    qsort(members->pids, members->n, sizeof(members->pids[0]), compare_pids);
    struct named named = members_owner(limits, members);
    free(members);
    return named;
}

static void users_look(struct limits *limits) {
    for (size_t i = 0; i < limits->n_users; i++) {
        const struct user *user = &limits->users[i];
        if (user->tasks < TASKS_LEAST)
            continue;
        double most = fmin(suspects_tasks_limit(user->newest), suspects_tasks_limit(user->turned));
        if (user->tasks < most * NEAR)
            continue;
        struct members *members = xcalloc(1, sizeof(*members));
        members->user = user->name;
        struct named owner = members_owner(limits, members);
        row_add(limits, "RLIMIT_NPROC", text_bytes(user->name), owner.comm ? owner.pid : 0, owner.comm, user->tasks,
                most, NAN);
        free(members);
    }
}

static void group_look(struct limits *limits, struct group *group) {
    uint64_t now, most;
    if (!group_number(limits, group->path, "pids.max", &most) ||
        !group_number(limits, group->path, "pids.current", &now)) {
        group->most = INFINITY;
        return;
    }
    group->most = (double)most;
    if ((double)now < group->most * NEAR) {
        group->refused = PROC_MISSING;
        return;
    }
    double refused = group_refused(limits, group->path), rate = NAN;
    if (group->refused != PROC_MISSING && !isnan(refused))
        rate = counter_rate(group->refused, (uint64_t)refused, (double)(limits->sample->now_ns - group->read_ns) / 1e9);
    group->refused = isnan(refused) ? PROC_MISSING : (uint64_t)refused;
    group->read_ns = limits->sample->now_ns;
    struct named owner = group_owner(limits, group->path);
    row_add(limits, "pids.max", group->path, owner.comm ? owner.pid : 0, owner.comm, (double)now, group->most, rate);
}

static void groups_look(struct limits *limits) {
    if (limits->sample->now_ns - limits->searched_ns >= SEARCH_NS) {
        char path[256] = "";
        size_t n = 0;
        limits->searched_ns = limits->sample->now_ns;
        for (size_t i = 0; i < limits->n_groups; i++) // gone, or no limit any more
            if (limits->groups[i].most < INFINITY)
                limits->groups[n++] = limits->groups[i];
        limits->n_groups = n;
        limits->walked = 0;
        groups_walk(limits, path, sizeof(path), 0);
    }
    size_t n = limits->n_groups < READ_MAX ? limits->n_groups : READ_MAX;
    for (size_t i = 0; i < n; i++)
        group_look(limits, &limits->groups[(limits->group_turn + i) % limits->n_groups]);
    limits->group_turn = limits->n_groups ? (limits->group_turn + n) % limits->n_groups : 0;
}

// ---- the part ----

static double sysctl_number(const char *path) {
    uint64_t value;
    return proc_read_number(path, &value) ? (double)value : INFINITY;
}

static void *limits_create(void) {
    struct limits *limits = xcalloc(1, sizeof(*limits));
    struct stat is;
    limits->builder = table_builder_new(&suspects_limits_table);
    limits->has_size = !stat("/proc/self/fd", &is) && is.st_size > 0;
    limits->file_nr = PROC_FILE("/proc/sys/fs/file-nr");
    limits->threads_max = sysctl_number("/proc/sys/kernel/threads-max");
    limits->pid_max = sysctl_number("/proc/sys/kernel/pid_max");
    mount_find(limits);
    return limits;
}

static void limits_sample(void *state, struct suspects_sample *sample) {
    struct limits *limits = state;
    limits->sample = sample;
    limits->seen = limits->looked = limits->listed = limits->busy = 0;
    limits->threads = 0;
    limits->most_files.value = limits->most_threads.value = -1;
    limits->most_files.pid = limits->most_threads.pid = 0;
    table_builder_clear(limits->builder);
    kept_update(limits);
    limits->n_users = 0;
    limits->samples++;
    suspects_each(sample, process_look, limits);
    limits->turn = limits->turn + limits->looked >= limits->seen ? 0 : limits->turn + limits->looked;
    machine_look(limits);
    users_look(limits);
    if (limits->mount[0])
        groups_look(limits);
    section_table(sample->out, table_builder_seal(limits->builder));
}

static void limits_destroy(void *state) {
    struct limits *limits = state;
    proc_file_close(&limits->file_nr);
    proc_buffer_free(&limits->buffer);
    table_builder_free(limits->builder);
    free(limits);
}

const struct suspects_part suspects_limits_part = {
    .create = limits_create, .sample = limits_sample, .destroy = limits_destroy};
