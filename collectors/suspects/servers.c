// Servers of file systems that do not answer: tasks that wait in a request to a FUSE daemon, or to a server in the
// network, without having run in between. Costs nothing while no such file system is mounted; then a few hundred tasks
// per sample have their wchan read, in rotation. What may block (the system call of a task that hangs, the search for
// the daemon) is read in a thread of its own.
// Kernel documents: Documentation/filesystems/fuse/fuse.rst, proc.rst.
#include <dirent.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/holder.h"
#include "collectors/kernel/proc/memory.h"
#include "collectors/kernel/proc/syscall.h"
#include "collectors/kernel/proc/syscall_args.h"
#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/slow_calls.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define MOUNTS "/proc/self/mountinfo"
#define MOUNTS_MAX 64
#define TURN 256   // tasks looked at per sample
#define THREADS 64 // threads of processes with several, per sample
#define WAITERS_MAX 32
#define KTHREADD 2 // parent of all kernel threads

enum { PID, COMM, STATE, MOUNT, TYPE, WAITERS, LONGEST, WAITER_PID, WAITER_COMM, FILE_NAME, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = "PID of the server; none for a server in the network."),
    [COMM] = COLUMN_COMM(.help = "Name of the server process, or the source of the mount."),
    [STATE] = TEXT_COLUMN("server_state", "S", 1, .help = "State of the server process."),
    [MOUNT] = TEXT_COLUMN("mount", "MOUNT", 24, .help = "Mount point of its file system."),
    [TYPE] = TEXT_COLUMN("type", "TYPE", 8, .help = "Type of that file system."),
    [WAITERS] = {.name = "waiters",
                 .title = "WAITERS",
                 .help = "Tasks that wait for a reply without having run.",
                 .unit = UNIT_COUNT,
                 .width = 7},
    [LONGEST] = NUMBER_COLUMN("longest_s", "LONGEST", UNIT_S, 7, .help = "For how long the first of them waits."),
    [WAITER_PID] = ID_COLUMN("waiter_pid", "WAITER", 7, .help = "The task that waits longest."),
    [WAITER_COMM] = TEXT_COLUMN("waiter_comm", "WAITERCOMM", 15, .help = "Name of that task."),
    [FILE_NAME] = TEXT_COLUMN("file", "FILE", 24, .help = "File that it waits for."),
};

const struct table_def suspects_servers_table = {
    .name = "server_waits",
    .help = "Servers of file systems (FUSE, NFS and others) whose reply tasks wait for.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
};

struct remote {
    bool fuse;
    unsigned minor; // of its device
    char path[128], type[24], source[64];
};

struct mounts {
    struct remote remote[MOUNTS_MAX];
    size_t n;
};

// Which server a task waits for. Freed by whichever thread is the last to use it.
struct question {
    struct slow_call call;
    int32_t tid;
    struct mounts mounts;
    // Result.
    int mount; // index; -1: unknown
    int32_t server;
    char file[192];
};

struct waiter {
    int32_t tid, pid; // tid 0: unused
    char comm[32];
    uint64_t since_ns, seen_ns, slices; // slices: how often it ran
    struct question *question;          // NULL: not asked yet
    bool answered;
};

struct servers {
    struct table_builder *builder;
    struct slow_calls *calls;
    struct proc_file list;
    struct proc_buffer buffer;
    bool listed;
    struct mounts mounts;
    struct waiter waiters[WAITERS_MAX];
    // While looking.
    struct suspects_sample *sample;
    size_t seen, turn, turned;
    double threads;
};

// ---- mounts ----

static bool is_network(const char *type) {
    return !strcmp(type, "nfs") || !strcmp(type, "nfs4") || !strcmp(type, "cifs") || !strncmp(type, "smb", 3) ||
           !strcmp(type, "ceph") || !strcmp(type, "9p");
}

void suspects_mounts_parse(char *text,
                           void (*fn)(void *context, unsigned minor, const char *path, const char *type,
                                      const char *source),
                           void *context) {
    for (char *line = text, *end; line && *line; line = end) {
        char path[128], type[24], source[64];
        unsigned minor;
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*d %*d %*u:%u %*s %127s", &minor, path) != 2 ||
            sscanf(rest, " - %23s %63s", type, source) != 2)
            continue;
        bool fuse = !strcmp(type, "fuse") || !strcmp(type, "fuseblk") || !strncmp(type, "fuse.", 5);
        if (fuse || is_network(type))
            fn(context, minor, path, type, source);
    }
}

static void mount_take(void *context, unsigned minor, const char *path, const char *type, const char *source) {
    struct servers *servers = context;
    if (servers->mounts.n == MOUNTS_MAX)
        return;
    struct remote *remote = &servers->mounts.remote[servers->mounts.n++];
    *remote = (struct remote){.fuse = !strncmp(type, "fuse", 4), .minor = minor};
    snprintf(remote->path, sizeof(remote->path), "%s", path);
    snprintf(remote->type, sizeof(remote->type), "%s", type);
    snprintf(remote->source, sizeof(remote->source), "%s", source);
}

static void mounts_read(struct servers *servers) {
    struct pollfd changed = {.fd = servers->list.fd, .events = POLLPRI};
    if (servers->listed && poll(&changed, 1, 0) <= 0)
        return;
    if (proc_file_read(&servers->list, &servers->buffer) < 0)
        return;
    servers->listed = true;
    servers->mounts.n = 0;
    suspects_mounts_parse(servers->buffer.bytes, mount_take, servers);
}

// ---- one task: may block ----

static bool lies_below(const char *path, const char *point) {
    size_t length = strlen(point);
    return !strncmp(path, point, length) && (path[length] == '/' || !path[length] || (length == 1 && point[0] == '/'));
}

// A relative path: below the working directory.
static void path_complete(struct question *question) {
    char link[64], directory[192], whole[sizeof(question->file)];
    snprintf(link, sizeof(link), "/proc/%d/cwd", question->tid);
    ssize_t n = readlink(link, directory, sizeof(directory) - 1);
    directory[n > 0 ? n : 0] = '\0';
    snprintf(whole, sizeof(whole), "%.120s/%.60s", directory, question->file);
    memcpy(question->file, whole, sizeof(whole));
}

static void file_of(struct question *question) {
    struct proc_syscall call;
    bool is_path = false;
    char link[64];
    if (proc_syscall_read("/proc", question->tid, &call) || call.nr < 0 || call.is_32)
        return;
    const char *name = syscalls_plain_name(SYSCALLS_ABI_NATIVE, (uint32_t)call.nr);
    int argument = name ? syscall_file_arg(name, &is_path) : -1;
    if (argument < 0)
        return;
    if (is_path) {
        size_t n = process_memory_read(question->tid, call.args[argument], question->file, sizeof(question->file) - 1);
        question->file[n] = '\0';
        if (n && question->file[0] != '/')
            path_complete(question);
        return;
    }
    snprintf(link, sizeof(link), "/proc/%d/fd/%u", question->tid, (uint32_t)call.args[argument]);
    ssize_t n = readlink(link, question->file, sizeof(question->file) - 1);
    question->file[n > 0 ? n : 0] = '\0';
}

static void question_run(struct slow_call *call) {
    struct question *question = (struct question *)call;
    size_t best = 0;
    question->mount = -1;
    file_of(question);
    for (size_t i = 0; i < question->mounts.n; i++) {
        size_t length = strlen(question->mounts.remote[i].path);
        if (question->file[0] == '/' && lies_below(question->file, question->mounts.remote[i].path) && length >= best) {
            best = length;
            question->mount = (int)i;
        }
    }
    if (question->mount < 0 && question->mounts.n == 1)
        question->mount = 0;
    const struct remote *remote = question->mount >= 0 ? &question->mounts.remote[question->mount] : NULL;
    if (remote && remote->fuse)
        question->server = sched_fuse_server("/proc", remote->minor, remote->path);
}

static void question_free(struct slow_call *call) {
    free(call);
}

// ---- waiters ----

static void waiter_drop(struct servers *servers, struct waiter *waiter) {
    if (waiter->question)
        slow_call_drop(servers->calls, &waiter->question->call);
    *waiter = (struct waiter){0};
}

static bool text_of(int32_t tid, const char *file, char *out, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", tid, file);
    if (format_file(path, out, size) <= 0)
        return false;
    out[strcspn(out, "\n")] = '\0';
    return true;
}

// How often it ran; 0: unknown.
static uint64_t slices_of(int32_t tid) {
    char text[96];
    unsigned long long slices = 0;
    return text_of(tid, "schedstat", text, sizeof(text)) && sscanf(text, "%*u %*u %llu", &slices) == 1 ? slices : 0;
}

bool suspects_waits_for_server(const char *wchan) {
    static const char *const functions[] = {"request_wait_answer", "fuse_", "rpc_wait", "nfs", "cifs_",
                                            "wait_for_response",   "ceph_", "p9_client"};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strstr(wchan, functions[i]))
            return true;
    return false;
}

static bool is_waiting(int32_t tid) {
    char where[64];
    // A daemon of FUSE waits for requests in fuse_dev_do_read.
    return text_of(tid, "wchan", where, sizeof(where)) && suspects_waits_for_server(where) &&
           !strstr(where, "fuse_dev_");
}

static void waiter_found(struct servers *servers, int32_t tid, int32_t pid) {
    struct waiter *unused = NULL;
    for (size_t i = 0; i < WAITERS_MAX; i++) {
        if (servers->waiters[i].tid == tid)
            return;
        if (!servers->waiters[i].tid && !unused)
            unused = &servers->waiters[i];
    }
    if (!unused)
        return;
    uint64_t now = servers->sample->now_ns;
    *unused = (struct waiter){.tid = tid, .pid = pid, .since_ns = now, .seen_ns = now, .slices = slices_of(tid)};
    text_of(tid, "comm", unused->comm, sizeof(unused->comm));
}

static void task_look(void *context, const union cell *row) {
    struct servers *servers = context;
    const struct suspects_columns *at = &servers->sample->at;
    const struct text *state = row[at->state].text;
    // Kernel threads of a file system wait for work in its functions.
    if (!state || !strchr("SD", text_bytes(state)[0]) || row[at->ppid].num == KTHREADD)
        return;
    int32_t pid = (int32_t)row[at->pid].num, tid;
    bool blocked = text_bytes(state)[0] == 'D';
    bool has_turn = servers->seen++ >= servers->turn && servers->turned < TURN;
    servers->turned += has_turn;
    if (!blocked && !has_turn)
        return;
    if (is_waiting(pid))
        waiter_found(servers, pid, pid);
    if (!(row[at->threads].num > 1) || servers->threads <= 0)
        return;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    while (folder && servers->threads > 0 && (tid = proc_next_id(folder)) >= 0) {
        servers->threads--;
        if (tid != pid && is_waiting(tid))
            waiter_found(servers, tid, pid);
    }
    if (folder)
        closedir(folder);
}

static void waiter_step(struct servers *servers, struct waiter *waiter) {
    uint64_t now = servers->sample->now_ns;
    uint64_t slices = slices_of(waiter->tid);
    if (!slices || !is_waiting(waiter->tid)) {
        waiter_drop(servers, waiter);
        return;
    }
    if (slices != waiter->slices) { // another wait
        waiter->slices = slices;
        waiter->since_ns = now;
    }
    if (!waiter->question && now - waiter->since_ns > 500000000u) {
        waiter->question = xcalloc(1, sizeof(*waiter->question));
        waiter->question->call = (struct slow_call){.run = question_run, .free = question_free};
        waiter->question->tid = waiter->tid;
        waiter->question->mounts = servers->mounts;
        waiter->answered = slow_call_start(servers->calls, &waiter->question->call);
    } else if (waiter->question && !waiter->answered) {
        waiter->answered = slow_call_done(servers->calls, &waiter->question->call);
    }
}

// ---- rows ----

static const struct remote *remote_of(const struct waiter *waiter) {
    const struct question *question = waiter->answered ? waiter->question : NULL;
    return question && question->mount >= 0 ? &question->mounts.remote[question->mount] : NULL;
}

static bool is_first(const struct servers *servers, size_t at, const struct remote *remote) {
    for (size_t i = 0; i < at; i++) {
        const struct remote *other = servers->waiters[i].tid ? remote_of(&servers->waiters[i]) : NULL;
        if (other && !strcmp(other->path, remote->path))
            return false;
    }
    return true;
}

static void server_row(struct servers *servers, size_t at, const struct remote *remote) {
    const struct waiter *longest = &servers->waiters[at];
    struct table_builder *builder = servers->builder;
    uint32_t waiters = 0, slot = table_builder_add(builder);
    for (size_t i = at; i < WAITERS_MAX; i++) {
        const struct waiter *waiter = &servers->waiters[i];
        const struct remote *other = waiter->tid ? remote_of(waiter) : NULL;
        if (!other || strcmp(other->path, remote->path) != 0)
            continue;
        waiters++;
        if (waiter->since_ns < longest->since_ns)
            longest = waiter;
    }
    int32_t server = longest->question->server;
    char comm[64], state[1024];
    snprintf(comm, sizeof(comm), "%s", remote->source);
    if (server) {
        table_builder_set_num(builder, slot, PID, server);
        text_of(server, "comm", comm, sizeof(comm));
        const char *end = text_of(server, "stat", state, sizeof(state)) ? strrchr(state, ')') : NULL;
        if (end && end[1] == ' ')
            table_builder_set_text(builder, slot, STATE, text_new(end + 2, 1));
    }
    table_builder_set_text(builder, slot, COMM, text_from(comm));
    table_builder_set_text(builder, slot, MOUNT, text_from(remote->path));
    table_builder_set_text(builder, slot, TYPE, text_from(remote->type));
    table_builder_set_num(builder, slot, WAITERS, waiters);
    table_builder_set_num(builder, slot, LONGEST, (double)(servers->sample->now_ns - longest->since_ns) / 1e9);
    table_builder_set_num(builder, slot, WAITER_PID, longest->pid);
    table_builder_set_text(builder, slot, WAITER_COMM, text_from(longest->comm));
    if (longest->question->file[0])
        table_builder_set_text(builder, slot, FILE_NAME, text_from(longest->question->file));
}

static void *servers_create(void) {
    struct servers *servers = xcalloc(1, sizeof(*servers));
    servers->builder = table_builder_new(&suspects_servers_table);
    servers->calls = slow_calls_new();
    servers->list = PROC_FILE(MOUNTS);
    return servers;
}

static void servers_sample(void *state, struct suspects_sample *sample) {
    struct servers *servers = state;
    servers->sample = sample;
    mounts_read(servers);
    for (size_t i = 0; i < WAITERS_MAX; i++)
        if (servers->waiters[i].tid)
            waiter_step(servers, &servers->waiters[i]);
    servers->seen = servers->turned = 0;
    servers->threads = THREADS;
    if (servers->mounts.n) {
        suspects_each(sample, task_look, servers);
        servers->turn = servers->turn + servers->turned >= servers->seen ? 0 : servers->turn + servers->turned;
    }
    table_builder_clear(servers->builder);
    for (size_t i = 0; i < WAITERS_MAX; i++) {
        const struct remote *remote = servers->waiters[i].tid ? remote_of(&servers->waiters[i]) : NULL;
        if (remote && is_first(servers, i, remote))
            server_row(servers, i, remote);
    }
    section_table(sample->out, table_builder_seal(servers->builder));
}

static void servers_destroy(void *state) {
    struct servers *servers = state;
    for (size_t i = 0; i < WAITERS_MAX; i++)
        waiter_drop(servers, &servers->waiters[i]);
    slow_calls_free(servers->calls);
    proc_file_close(&servers->list);
    proc_buffer_free(&servers->buffer);
    table_builder_free(servers->builder);
    free(servers);
}

const struct suspects_part suspects_servers_part = {
    .create = servers_create, .sample = servers_sample, .destroy = servers_destroy};
