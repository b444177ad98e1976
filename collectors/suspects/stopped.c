// Stopped and traced processes: whether a shell's job control stopped them, and which tasks wait for them - at a pipe,
// for a file lock, or for their exit. Of other processes only a few that switch often are looked at, since a traced one
// does. Kernel documents: Documentation/filesystems/proc.rst; proc_locks(5), pipe(7).
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define STOPPED_MAX 16
#define TRACED_MAX 8
#define SWITCHES_LEAST 500.0 // per second
#define HOT_MAX 6            // of those looked at per sample, in rotation
#define PIPES_MAX 32         // of one process
#define FILES_MAX 256
#define LOOKED_MAX 512 // tasks whose wchan is read per sample
#define LOCKS_BYTES 65536

enum { PID, COMM, JOB, TRACER_PID, TRACER_COMM, WAITER_PID, WAITER_COMM, WAITS_AT, WAITERS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [JOB] = {.name = "job",
             .title = "JOB",
             .help = "1 if it is a job of a shell on a terminal (Ctrl-Z).",
             .unit = UNIT_COUNT,
             .width = 3},
    [TRACER_PID] = ID_COLUMN("tracer_pid", "TRACER", 7, .help = "The process that traces it (ptrace)."),
    [TRACER_COMM] = TEXT_COLUMN("tracer_comm", "TRACERCOMM", 15, .help = "Name of that process."),
    [WAITER_PID] = ID_COLUMN("waiter_pid", "WAITER", 7, .help = "A task that waits for it."),
    [WAITER_COMM] = TEXT_COLUMN("waiter_comm", "WAITERCOMM", 15, .help = "Name of that task."),
    [WAITS_AT] =
        TEXT_COLUMN("waits_at", "WAITSAT", 12, .help = "What that task waits for: a pipe, a file lock, its exit."),
    [WAITERS] = {.name = "waiters",
                 .title = "WAITERS",
                 .help = "Tasks that wait for it, as far as found.",
                 .unit = UNIT_COUNT,
                 .width = 7},
};

const struct table_def suspects_stopped_table = {
    .name = "stopped",
    .help = "Stopped and traced processes, and which tasks wait for them.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct halted {
    int32_t pid, parent, tracer, waiter;
    bool job;
    const char *at; // static: what the waiter waits for
    uint32_t waiters;
    uint64_t pipes[PIPES_MAX];
    size_t n_pipes;
    const struct text *comm; // borrowed from the table
};

struct stopped {
    struct table_builder *builder;
    int32_t traced[TRACED_MAX]; // at the last sample: they run between two stops
    size_t n_traced, hot, hot_turn, hot_looked;
    struct suspects_sample *sample;
    struct halted halted[STOPPED_MAX];
    size_t n, turn, seen, looked;
};

static bool text_of(int32_t pid, const char *file, char *out, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
    if (format_file(path, out, size) <= 0)
        out[0] = '\0';
    return out[0];
}

// The inode of a pipe that the descriptor is; 0: it is none.
static uint64_t pipe_of(int32_t pid, int32_t fd) {
    char path[64], link[64];
    unsigned long long inode = 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    ssize_t n = readlink(path, link, sizeof(link) - 1);
    link[n > 0 ? n : 0] = '\0';
    return sscanf(link, "pipe:[%llu]", &inode) == 1 ? inode : 0;
}

static void pipes_list(struct halted *halted) {
    char path[64];
    int32_t fd;
    snprintf(path, sizeof(path), "/proc/%d/fd", halted->pid);
    DIR *folder = opendir(path);
    for (size_t i = 0; folder && i < FILES_MAX && halted->n_pipes < PIPES_MAX && (fd = proc_next_id(folder)) >= 0;
         i++) {
        // Many processes share the pipe of their error output.
        uint64_t inode = fd == 2 ? 0 : pipe_of(halted->pid, fd);
        if (inode)
            halted->pipes[halted->n_pipes++] = inode;
    }
    if (folder)
        closedir(folder);
}

bool suspects_is_job(const char *stat, const char *parent_stat) {
    int session = 0, tty = 0, parent_session = 0, parent_tty = 0;
    const char *own = strrchr(stat, ')'), *parent = strrchr(parent_stat, ')');
    // After the name: state, parent, process group, session, terminal.
    return own && parent && sscanf(own, ") %*c %*d %*d %d %d", &session, &tty) == 2 &&
           sscanf(parent, ") %*c %*d %*d %d %d", &parent_session, &parent_tty) == 2 && tty && tty == parent_tty &&
           session == parent_session;
}

static bool was_traced(const struct stopped *stopped, int32_t pid) {
    for (size_t i = 0; i < stopped->n_traced; i++)
        if (stopped->traced[i] == pid)
            return true;
    return false;
}

static void halted_take(void *context, const union cell *row) {
    struct stopped *stopped = context;
    const struct suspects_columns *at = &stopped->sample->at;
    const struct text *state = row[at->state].text;
    if (!state || stopped->n == STOPPED_MAX)
        return;
    bool traced = was_traced(stopped, (int32_t)row[at->pid].num);
    // A traced process switches at each of its system calls.
    if (row[at->switches].num >= SWITCHES_LEAST && stopped->hot++ >= stopped->hot_turn &&
        stopped->hot_looked < HOT_MAX) {
        stopped->hot_looked++;
        traced = true;
    }
    if (!strchr("Tt", text_bytes(state)[0]) && !traced)
        return;
    char stat[1024], parent[1024], status[2048];
    struct halted *halted = &stopped->halted[stopped->n];
    *halted = (struct halted){
        .pid = (int32_t)row[at->pid].num, .parent = (int32_t)row[at->ppid].num, .comm = row[at->comm].text};
    const char *end = text_of(halted->pid, "stat", stat, sizeof(stat)) ? strrchr(stat, ')') : NULL;
    if (!end)
        return;
    const char *tracer = text_of(halted->pid, "status", status, sizeof(status)) ? strstr(status, "TracerPid:") : NULL;
    halted->tracer = tracer ? (int32_t)strtol(tracer + strlen("TracerPid:"), NULL, 10) : 0;
    if (!halted->tracer && end[2] != 'T')
        return;
    text_of(halted->parent, "stat", parent, sizeof(parent));
    halted->job = suspects_is_job(stat, parent);
    stopped->n++;
    if (!halted->tracer)
        pipes_list(halted);
}

static void waiter_add(struct halted *halted, int32_t pid, const char *at) {
    if (pid == halted->pid)
        return;
    if (!halted->waiters++) {
        halted->waiter = pid;
        halted->at = at;
    }
}

// A task that waits at a pipe: which stopped process has the other end.
static void waiter_look(void *context, const union cell *row) {
    struct stopped *stopped = context;
    const struct suspects_columns *at = &stopped->sample->at;
    const struct text *state = row[at->state].text;
    int32_t pid = (int32_t)row[at->pid].num;
    char where[64], call[160];
    unsigned long long fd;
    if (!state || text_bytes(state)[0] != 'S' || stopped->seen++ < stopped->turn || stopped->looked == LOOKED_MAX)
        return;
    stopped->looked++;
    if (!text_of(pid, "wchan", where, sizeof(where)))
        return;
    for (size_t i = 0; i < stopped->n && strstr(where, "do_wait"); i++)
        if (stopped->halted[i].parent == pid && !stopped->halted[i].job)
            waiter_add(&stopped->halted[i], pid, "its exit");
    if (!strstr(where, "pipe_read") && !strstr(where, "pipe_write"))
        return;
    if (!text_of(pid, "syscall", call, sizeof(call)) || sscanf(call, "%*d %llx", &fd) != 1)
        return;
    uint64_t inode = pipe_of(pid, (int32_t)fd);
    for (size_t i = 0; i < stopped->n && inode; i++)
        for (size_t p = 0; p < stopped->halted[i].n_pipes; p++)
            if (stopped->halted[i].pipes[p] == inode) {
                waiter_add(&stopped->halted[i], pid, "a pipe");
                break;
            }
}

int32_t suspects_lock_waiter(const char *locks, int32_t holder, uint32_t *waiters) {
    int32_t first = 0, owner = 0, pid;
    *waiters = 0;
    for (const char *line = locks; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (sscanf(line, "%*s -> %*s %*s %*s %d", &pid) == 1) {
            if (owner == holder && ++*waiters == 1)
                first = pid;
        } else if (sscanf(line, "%*s %*s %*s %*s %d", &pid) == 1) {
            owner = pid; // the lines after it are its waiters
        }
    }
    return first;
}

static void locks_look(struct stopped *stopped) {
    char *locks = malloc(LOCKS_BYTES);
    if (locks && format_file("/proc/locks", locks, LOCKS_BYTES) > 0)
        for (size_t i = 0; i < stopped->n; i++) {
            uint32_t waiters;
            int32_t pid = suspects_lock_waiter(locks, stopped->halted[i].pid, &waiters);
            if (pid && !stopped->halted[i].waiters) {
                stopped->halted[i].waiter = pid;
                stopped->halted[i].at = "a file lock";
            }
            stopped->halted[i].waiters += waiters;
        }
    free(locks);
}

static void name_set(struct stopped *stopped, uint32_t slot, uint16_t column, int32_t pid) {
    char comm[64];
    text_of(pid, "comm", comm, sizeof(comm));
    comm[strcspn(comm, "\n")] = '\0';
    table_builder_set_num(stopped->builder, slot, column, pid);
    table_builder_set_text(stopped->builder, slot, column + 1, text_from(comm));
}

static void *stopped_create(void) {
    struct stopped *stopped = xcalloc(1, sizeof(*stopped));
    stopped->builder = table_builder_new(&suspects_stopped_table);
    return stopped;
}

static void stopped_sample(void *state, struct suspects_sample *sample) {
    struct stopped *stopped = state;
    stopped->sample = sample;
    stopped->n = stopped->seen = stopped->looked = stopped->hot = stopped->hot_looked = 0;
    table_builder_clear(stopped->builder);
    suspects_each(sample, halted_take, stopped);
    stopped->hot_turn =
        stopped->hot_turn + stopped->hot_looked >= stopped->hot ? 0 : stopped->hot_turn + stopped->hot_looked;
    if (stopped->n) {
        suspects_each(sample, waiter_look, stopped);
        stopped->turn = stopped->turn + stopped->looked >= stopped->seen ? 0 : stopped->turn + stopped->looked;
        locks_look(stopped);
    }
    stopped->n_traced = 0;
    for (size_t i = 0; i < stopped->n; i++) {
        const struct halted *halted = &stopped->halted[i];
        if (halted->tracer && stopped->n_traced < TRACED_MAX)
            stopped->traced[stopped->n_traced++] = halted->pid;
        uint32_t slot = table_builder_add(stopped->builder);
        table_builder_set_num(stopped->builder, slot, PID, halted->pid);
        table_builder_set_text(stopped->builder, slot, COMM, text_ref(halted->comm));
        table_builder_set_num(stopped->builder, slot, JOB, halted->job);
        table_builder_set_num(stopped->builder, slot, WAITERS, halted->waiters);
        if (halted->tracer)
            name_set(stopped, slot, TRACER_PID, halted->tracer);
        if (halted->waiter) {
            name_set(stopped, slot, WAITER_PID, halted->waiter);
            table_builder_set_text(stopped->builder, slot, WAITS_AT, text_from(halted->at));
        }
    }
    section_table(sample->out, table_builder_seal(stopped->builder));
}

static void stopped_destroy(void *state) {
    struct stopped *stopped = state;
    table_builder_free(stopped->builder);
    free(stopped);
}

const struct suspects_part suspects_stopped_part = {
    .create = stopped_create, .sample = stopped_sample, .destroy = stopped_destroy};
