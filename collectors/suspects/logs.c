// Processes that send log lines so fast that the log daemon is busy with them.
//
// A log daemon is a process that has a socket with the path of one open; its name does not count. Only for a busy
// process the list of Unix sockets is read (/proc/PID/net/unix), and only for a busy daemon a BPF program counts, for
// WINDOW_NS every few seconds, the calls that send or read, by thread and descriptor. The descriptors with most calls
// are then looked up: a sender's socket is connected to one of the daemon. So no process is searched for its
// descriptors, and other traffic of Unix sockets does not count. Kernel documents: unix(7), proc_pid_net(5),
// sock_diag(7).
#include "collectors/suspects/logs.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/unix_diag.h"
#include "collectors/suspects/suspects.h"
#include "model/clock.h"
#include "model/columns.h"
#include "model/mem.h"

#define BUSY_PCT 15 // of a CPU
#define DAEMONS_MAX 4
#define FILES_MAX 1024   // of a busy process: more are not looked at
#define SOCKETS_MAX 1024 // of a network namespace that receive log lines; a service of the journal has one each
#define LINES_MAX 65536  // of /proc/PID/net/unix
#define CHECK_NS 10000000000ull
#define WINDOW_NS 90000000ull
#define REST_NS 3500000000ull   // between windows
#define FORGET_NS 2500000000ull // since it was busy
#define KEYS_MAX 4096
#define SENDERS_MAX 32   // descriptors that are looked up
#define SENDERS_SHARE 64 // none with fewer calls than 1/64 of the lines
#define SENT_MOST 1.25   // lines sent for each that is read, within the precision of the window
#define LOOKS 16         // that are averaged
#define LOOKS_LEAST 4
#define LOOK_MS 60
#define KMSG "/dev/kmsg"

enum { PID, COMM, CPU_PCT, SOCKET, LINES, SENDER_PID, SENDER_COMM, SENDER_LINES, WAITS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = "The log daemon: it has the socket open."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [CPU_PCT] = COLUMN_CPU_PCT(.help = "Its CPU time, in % of one CPU."),
    [SOCKET] = TEXT_COLUMN("socket", "SOCKET", 28, .help = "Path of the socket from which it reads most lines."),
    [LINES] =
        NUMBER_COLUMN("lines_per_s", "LINES/s", UNIT_PER_S, 8, .help = "Lines (datagrams, or reads) of all senders."),
    [SENDER_PID] = ID_COLUMN("sender_pid", "SENDER", 7, .help = "The process that sends most."),
    [SENDER_COMM] = TEXT_COLUMN("sender_comm", "SENDERCOMM", 15, .help = "Name of that process."),
    [SENDER_LINES] = NUMBER_COLUMN("sender_lines_per_s", "SENT/s", UNIT_PER_S, 8, .help = "Lines of that process."),
    [WAITS] = NUMBER_COLUMN("waits_pct", "WAITS%", UNIT_PCT, 6,
                            .help = "Share of the time in which it waits to send: the queue of the socket is full."),
};

const struct table_def suspects_logs_table = {
    .name = "log_senders",
    .help = "Log daemons that are busy, and the process that sends them most lines.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct sender {
    struct logs_key key; // of its thread with most calls; pid 0: none
    double per_s;
    uint32_t looks, waits; // bits of the last LOOKS looks
};

struct daemon {
    int32_t pid;             // 0: unused
    const struct text *comm; // a reference
    double cpu_pct;
    bool is_log;
    uint64_t busy_ns, check_ns; // when it was busy; when it is looked at again
    double lines_per_s;         // NAN: not counted yet
    char socket[64];
    struct sender sender;
};

struct log_socket {
    uint64_t inode;
    char path[64];
};

struct call_count {
    struct logs_key key;
    uint64_t n;
};

struct logs {
    struct table_builder *builder;
    struct bpf_code code;
    int map, program, link; // -1: none
    bool missing;           // the kernel does not allow such programs
    uint64_t begin_ns, due_ns;
    struct daemon daemons[DAEMONS_MAX];
    struct log_socket sockets[SOCKETS_MAX]; // of the process that was looked at last
    size_t n_sockets;
    struct suspects_sample *sample;
};

// ---- log daemons ----

bool logs_is_log_path(const char *path) {
    static const char log[] = "/dev/log", journal[] = "/run/systemd/journal";
    size_t length = strlen(path);
    // Also in the directory of a daemon that has changed its root. The journal has a directory for each namespace.
    return (length >= sizeof(log) - 1 && !strcmp(path + length - (sizeof(log) - 1), log)) ||
           !strncmp(path, journal, sizeof(journal) - 1) || !strcmp(path, "/var/run/log");
}

bool logs_socket_parse(const char *line, uint64_t *inode, const char **path) {
    unsigned long long number;
    int end = 0;
    // Num RefCount Protocol Flags Type St Inode Path
    if (sscanf(line, "%*s %*x %*x %*x %*x %*x %llu%n", &number, &end) != 1 || !end)
        return false;
    *inode = number;
    *path = line + end + (line[end] == ' ');
    return true;
}

bool logs_sleeps_in_send(const char *wchan) {
    return strstr(wchan, "unix_") || strstr(wchan, "sock_alloc_send");
}

// Passes the Unix sockets of the process's network namespace until fn returns false.
static void sockets_each(int32_t pid, bool (*fn)(void *context, uint64_t inode, const char *path), void *context) {
    char name[64], *line = NULL;
    size_t size = 0;
    ssize_t n;
    snprintf(name, sizeof(name), "/proc/%d/net/unix", pid);
    FILE *file = fopen(name, "re");
    bool more = file != NULL;
    for (size_t i = 0; more && i < LINES_MAX && (n = getline(&line, &size, file)) > 0; i++) {
        uint64_t inode;
        const char *path;
        line[n - 1] = '\0';
        more = !logs_socket_parse(line, &inode, &path) || fn(context, inode, path);
    }
    free(line);
    if (file)
        fclose(file);
}

static bool socket_take(void *context, uint64_t inode, const char *path) {
    struct logs *logs = context;
    if (!logs_is_log_path(path))
        return true;
    struct log_socket *socket = &logs->sockets[logs->n_sockets++];
    socket->inode = inode;
    snprintf(socket->path, sizeof(socket->path), "%s", path);
    return logs->n_sockets < SOCKETS_MAX;
}

static void sockets_find(struct logs *logs, int32_t pid) {
    logs->n_sockets = 0;
    sockets_each(pid, socket_take, logs);
}

static const struct log_socket *log_socket(const struct logs *logs, uint64_t inode) {
    for (size_t i = 0; inode && i < logs->n_sockets; i++)
        if (logs->sockets[i].inode == inode)
            return &logs->sockets[i];
    return NULL;
}

// The inode of a socket that the descriptor is, or 0; kmsg: it is the kernel's log.
static uint64_t file_look(uint32_t pid, uint32_t fd, bool *kmsg) {
    char path[64], link[64];
    unsigned long long inode = 0;
    snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, fd);
    ssize_t n = readlink(path, link, sizeof(link) - 1);
    link[n > 0 ? n : 0] = '\0';
    *kmsg = !strcmp(link, KMSG);
    return sscanf(link, "socket:[%llu]", &inode) == 1 ? inode : 0;
}

// Whether it has a socket open that receives log lines.
static bool is_log_daemon(struct logs *logs, int32_t pid) {
    char path[64];
    bool kmsg, found = false;
    int32_t fd;
    sockets_find(logs, pid);
    if (!logs->n_sockets)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    for (size_t n = 0; files && !found && n < FILES_MAX && (fd = proc_next_id(files)) >= 0; n++)
        found = log_socket(logs, file_look((uint32_t)pid, (uint32_t)fd, &kmsg));
    if (files)
        closedir(files);
    return found;
}

static void daemon_drop(struct daemon *daemon) {
    text_unref(daemon->comm);
    *daemon = (struct daemon){0};
}

// A log daemon keeps its place; else the busiest processes have them.
static void task_take(void *context, const union cell *row) {
    struct logs *logs = context;
    const struct suspects_columns *at = &logs->sample->at;
    int32_t pid = (int32_t)row[at->pid].num;
    double cpu = row[at->cpu].num;
    if (!(cpu >= BUSY_PCT) || pid == getpid())
        return;
    struct daemon *place = NULL;
    for (size_t i = 0; i < DAEMONS_MAX; i++) {
        struct daemon *daemon = &logs->daemons[i];
        if (daemon->pid == pid) {
            place = daemon;
            break;
        }
        if (!daemon->is_log && (!place || (place->pid && (!daemon->pid || daemon->cpu_pct < place->cpu_pct))))
            place = daemon;
    }
    if (!place || (place->pid && place->pid != pid && place->cpu_pct >= cpu))
        return;
    if (place->pid != pid) {
        daemon_drop(place);
        *place = (struct daemon){.pid = pid, .comm = text_ref(row[at->comm].text), .lines_per_s = NAN};
    }
    place->cpu_pct = cpu;
    place->busy_ns = logs->sample->now_ns;
}

// ---- a window ----

static void window_close(struct logs *logs) {
    int *const fds[] = {&logs->link, &logs->program, &logs->map};
    for (size_t i = 0; i < 3; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

static void window_open(struct logs *logs) {
    logs->map = bpf_map(BPF_MAP_TYPE_HASH, sizeof(struct logs_key), 8, KEYS_MAX);
    if (logs->map >= 0 && logs_program(&logs->code, logs->map))
        logs->program = bpf_load(&logs->code, BPF_PROG_TYPE_RAW_TRACEPOINT, "ktop_logs");
    if (logs->program >= 0)
        logs->link = bpf_attach_raw(logs->program, "sys_exit");
    logs->begin_ns = now_ns();
    logs->missing = logs->link < 0;
    if (logs->missing)
        window_close(logs);
}

static int compare_counts(const void *a, const void *b) {
    const struct call_count *x = a, *y = b;
    return (x->n < y->n) - (x->n > y->n);
}

// The counts of the window, largest first. To be freed.
static struct call_count *window_read(struct logs *logs, size_t *n, double *seconds) {
    struct call_count *counts = xcalloc(KEYS_MAX, sizeof(*counts));
    struct logs_key key;
    *seconds = (double)(now_ns() - logs->begin_ns) / 1e9;
    close(logs->link);
    logs->link = -1;
    *n = 0;
    for (bool more = !bpf_next_key(logs->map, NULL, &key); more && *n < KEYS_MAX;
         more = !bpf_next_key(logs->map, &key, &key))
        if (!bpf_lookup(logs->map, &key, &counts[*n].n) && key.pid != (uint32_t)getpid())
            counts[(*n)++].key = key;
    qsort(counts, *n, sizeof(*counts), compare_counts);
    window_close(logs);
    return counts;
}

// What the daemon reads of log lines; the path from which most come.
static double lines_read(struct logs *logs, struct daemon *daemon, const struct call_count *counts, size_t n) {
    double lines = 0;
    for (size_t i = 0; i < n; i++) {
        const struct logs_key *key = &counts[i].key;
        bool kmsg;
        if (key->pid != (uint32_t)daemon->pid || !(key->fd & LOGS_READS))
            continue;
        const struct log_socket *socket = log_socket(logs, file_look(key->pid, key->fd & ~LOGS_READS, &kmsg));
        if (!socket && !kmsg)
            continue;
        if (lines == 0)
            snprintf(daemon->socket, sizeof(daemon->socket), "%s", socket ? socket->path : KMSG);
        lines += (double)counts[i].n;
    }
    return lines;
}

// Descriptors with which a process sends.
struct sending {
    const struct call_count *count;
    uint64_t inode;              // 0: the kernel's log
    bool known, logs, connected; // sock_diag has it; it may send to the daemon; it is connected to it
};

struct sendings {
    const struct logs *of;
    struct sending at[SENDERS_MAX];
    size_t n;
};

static void peer_take(void *context, const struct unix_diag_socket *socket) {
    struct sendings *sendings = context;
    for (size_t i = 0; i < sendings->n; i++) {
        struct sending *sending = &sendings->at[i];
        if (sending->inode != socket->inode)
            continue;
        sending->known = true;
        sending->connected = log_socket(sendings->of, socket->peer);
        // An unconnected socket names the receiver in each call: it may be the daemon.
        sending->logs = sending->connected || (!socket->peer && socket->type == SOCK_DGRAM);
    }
}

static bool unnamed_take(void *context, uint64_t inode, const char *path) {
    struct sending *sending = context;
    if (inode != sending->inode)
        return true;
    sending->logs = !path[0];
    return false;
}

static bool is_own_netns(uint32_t pid) {
    char path[64];
    struct stat own, of;
    snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
    return !stat("/proc/self/ns/net", &own) && !stat(path, &of) && own.st_ino == of.st_ino;
}

static void sendings_find(struct logs *logs, const struct daemon *daemon, const struct call_count *counts, size_t n,
                          double lines, struct sendings *out) {
    *out = (struct sendings){.of = logs};
    for (size_t i = 0; i < n && out->n < SENDERS_MAX && (double)counts[i].n >= lines / SENDERS_SHARE; i++) {
        const struct logs_key *key = &counts[i].key;
        bool kmsg;
        if (key->fd & LOGS_READS || key->pid == (uint32_t)daemon->pid)
            continue;
        uint64_t inode = file_look(key->pid, key->fd, &kmsg);
        if (inode || kmsg)
            out->at[out->n++] = (struct sending){&counts[i], inode, kmsg, kmsg && !strcmp(daemon->socket, KMSG), false};
    }
    bool dumped = !unix_diag_dump(peer_take, out);
    // Those of other network namespaces, and all if the kernel has no unix_diag. Here the others are no Unix sockets.
    for (size_t i = 0; i < out->n; i++) {
        uint32_t pid = out->at[i].count->key.pid;
        if (!out->at[i].known && !(dumped && is_own_netns(pid)))
            sockets_each((int32_t)pid, unnamed_take, &out->at[i]);
    }
}

// The process with most calls that send to the daemon, and not more than `most` of them per second. connected: only by
// sockets that are connected to it.
static struct sender sender_find(const struct sendings *sendings, double seconds, bool connected, double most) {
    struct sender top = {0};
    for (size_t i = 0; i < sendings->n; i++) {
        const struct sending *first = &sendings->at[i];
        double calls = 0;
        for (size_t k = 0; k < sendings->n; k++) {
            const struct sending *sending = &sendings->at[k];
            if (sending->logs && (sending->connected || !connected) && sending->count->key.pid == first->count->key.pid)
                calls += (double)sending->count->n;
        }
        double per_s = calls / seconds;
        if (first->logs && (first->connected || !connected) && per_s > top.per_s && per_s <= most)
            top = (struct sender){.key = first->count->key, .per_s = per_s};
    }
    return top;
}

// An unconnected socket counts only where the connected ones do not explain the lines, and all its calls can be lines.
static struct sender sender_of(const struct sendings *sendings, double seconds, double lines_per_s) {
    struct sender connected = sender_find(sendings, seconds, true, INFINITY);
    return connected.per_s >= lines_per_s / 2 ? connected
                                              : sender_find(sendings, seconds, false, lines_per_s * SENT_MOST);
}

static void window_take(struct logs *logs) {
    size_t n;
    double seconds;
    struct call_count *counts = window_read(logs, &n, &seconds);
    struct sendings sendings;
    for (size_t i = 0; i < DAEMONS_MAX; i++) {
        struct daemon *daemon = &logs->daemons[i];
        if (!daemon->is_log)
            continue;
        sockets_find(logs, daemon->pid);
        daemon->lines_per_s = lines_read(logs, daemon, counts, n) / seconds;
        struct sender sender = {0};
        if (daemon->lines_per_s > 0) {
            sendings_find(logs, daemon, counts, n, daemon->lines_per_s * seconds, &sendings);
            sender = sender_of(&sendings, seconds, daemon->lines_per_s);
        }
        if (memcmp(&sender.key, &daemon->sender.key, sizeof(sender.key)) != 0)
            daemon->sender = sender;
        daemon->sender.per_s = sender.per_s;
    }
    free(counts);
}

// ---- the part ----

static void row_add(struct logs *logs, const struct daemon *daemon) {
    const struct sender *sender = &daemon->sender;
    char comm[32];
    if (!daemon->is_log || !(daemon->lines_per_s > 0))
        return;
    uint32_t slot = table_builder_add(logs->builder);
    table_builder_set_num(logs->builder, slot, PID, daemon->pid);
    table_builder_set_text(logs->builder, slot, COMM, text_ref(daemon->comm));
    table_builder_set_num(logs->builder, slot, CPU_PCT, daemon->cpu_pct);
    table_builder_set_text(logs->builder, slot, SOCKET, text_from(daemon->socket));
    table_builder_set_num(logs->builder, slot, LINES, daemon->lines_per_s);
    if (!sender->key.pid || proc_read_comm((int32_t)sender->key.pid, comm, sizeof(comm)))
        return;
    table_builder_set_num(logs->builder, slot, SENDER_PID, sender->key.pid);
    table_builder_set_text(logs->builder, slot, SENDER_COMM, text_from(comm));
    table_builder_set_num(logs->builder, slot, SENDER_LINES, sender->per_s);
    if (sender->looks >= LOOKS_LEAST)
        table_builder_set_num(logs->builder, slot, WAITS, 100.0 * __builtin_popcount(sender->waits) / sender->looks);
}

static void logs_sample(void *state, struct suspects_sample *sample) {
    struct logs *logs = state;
    bool any = false;
    if (logs->link >= 0) // the interval is shorter than the window
        window_take(logs);
    logs->sample = sample;
    if (!logs->missing)
        suspects_each(sample, task_take, logs);
    table_builder_clear(logs->builder);
    for (size_t i = 0; i < DAEMONS_MAX; i++) {
        struct daemon *daemon = &logs->daemons[i];
        if (daemon->pid && sample->now_ns >= daemon->busy_ns + FORGET_NS)
            daemon_drop(daemon);
        if (daemon->pid && sample->now_ns >= daemon->check_ns) {
            daemon->is_log = is_log_daemon(logs, daemon->pid);
            daemon->check_ns = sample->now_ns + CHECK_NS;
        }
        any |= daemon->is_log;
        row_add(logs, daemon);
    }
    if (any && !logs->missing && sample->now_ns >= logs->due_ns) {
        window_open(logs);
        logs->due_ns = sample->now_ns + REST_NS;
    }
    section_table(sample->out, table_builder_seal(logs->builder));
}

// Reading /proc/TID/syscall blocks while the task hangs in execve, so only that of a thread that sleeps in a send is
// read. Where wchan is not available (x86 before 5.16), no wait is found.
static bool sender_look(struct sender *sender) {
    struct proc_syscall call;
    char path[64], wchan[64];
    snprintf(path, sizeof(path), "/proc/%u/wchan", sender->key.tid);
    if (!sender->key.pid || proc_read_line(path, wchan, sizeof(wchan)))
        return false;
    bool waits = logs_sleeps_in_send(wchan) && !proc_syscall_read("/proc", (int32_t)sender->key.tid, &call) &&
                 logs_send_waits(&call, sender->key.fd);
    sender->waits = (sender->waits << 1 | waits) & ((1u << LOOKS) - 1);
    sender->looks += sender->looks < LOOKS;
    return true;
}

static uint32_t logs_drain(void *state, uint64_t now) {
    struct logs *logs = state;
    bool follows = false;
    if (logs->link >= 0 && now >= logs->begin_ns + WINDOW_NS)
        window_take(logs);
    for (size_t i = 0; i < DAEMONS_MAX; i++)
        follows |= logs->daemons[i].is_log && sender_look(&logs->daemons[i].sender);
    return follows || logs->link >= 0 ? LOOK_MS : 0;
}

static void *logs_create(void) {
    struct logs *logs = xcalloc(1, sizeof(*logs));
    logs->builder = table_builder_new(&suspects_logs_table);
    logs->map = logs->program = logs->link = -1;
    return logs;
}

static void logs_destroy(void *state) {
    struct logs *logs = state;
    window_close(logs);
    for (size_t i = 0; i < DAEMONS_MAX; i++)
        daemon_drop(&logs->daemons[i]);
    table_builder_free(logs->builder);
    free(logs);
}

const struct suspects_part suspects_logs_part = {
    .create = logs_create, .sample = logs_sample, .drain = logs_drain, .destroy = logs_destroy};
