// File locks that processes wait for, from /proc/locks. On a machine with many locks it is read less often.
// Kernel document: proc_locks(5).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/slow_calls.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define LARGE_BYTES 65536 // some 1,000 locks
#define LARGE_SAMPLES 8
#define LOCKS_MAX 16

enum { INODE, PID, COMM, WAITERS, WAITER_PID, WAITER_COMM, COLUMNS };

static const struct column columns[COLUMNS] = {
    [INODE] = TEXT_COLUMN("inode", "INODE", 16, .help = "The locked file: major:minor:inode, as in /proc/locks."),
    [PID] = COLUMN_PID(.help = "The process that holds the lock."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [WAITERS] =
        {.name = "waiters", .title = "WAITERS", .help = "Processes that wait for it.", .unit = UNIT_COUNT, .width = 7},
    [WAITER_PID] = ID_COLUMN("waiter_pid", "WAITER", 7, .help = "The first of them."),
    [WAITER_COMM] = TEXT_COLUMN("waiter_comm", "WAITERCOMM", 15, .help = "Name of that process."),
};

const struct table_def suspects_files_table = {
    .name = "file_locks",
    .help = "File locks that processes wait for.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

// The kernel waits for an RCU grace period before it lists the locks, for seconds on an overloaded machine.
struct reading {
    struct slow_call call;
    struct proc_buffer buffer;
};

struct file_locks {
    struct table_builder *builder;
    struct slow_calls *calls;
    struct reading *reading; // under way; NULL: none
    unsigned rest;           // samples until the next reading
};

size_t suspects_file_locks_parse(const char *text, struct suspects_file_lock *out, size_t most) {
    size_t n = 0;
    struct suspects_file_lock last = {.holder = 0};
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        int32_t pid;
        if (sscanf(line, "%*s -> %*s %*s %*s %d", &pid) == 1) {
            if (!last.waiters++)
                last.waiter = pid;
            if (last.waiters == 1 && n < most)
                out[n++] = last;
            else if (n && last.waiters > 1 && !strcmp(out[n - 1].inode, last.inode))
                out[n - 1].waiters = last.waiters;
            continue;
        }
        last = (struct suspects_file_lock){0};
        if (sscanf(line, "%*s %*s %*s %*s %d %31s", &last.holder, last.inode) != 2)
            last.holder = 0;
    }
    return n;
}

static void name_set(struct file_locks *locks, uint32_t slot, uint16_t column, int32_t pid) {
    char comm[64];
    if (proc_read_comm(pid, comm, sizeof(comm)))
        return;
    table_builder_set_num(locks->builder, slot, column, pid);
    table_builder_set_text(locks->builder, slot, column + 1, text_from(comm));
}

static void reading_run(struct slow_call *call) {
    struct reading *reading = (struct reading *)call;
    struct proc_file file = PROC_FILE("/proc/locks");
    proc_file_read(&file, &reading->buffer); // empty after an error
    proc_file_close(&file);
}

static void reading_free(struct slow_call *call) {
    struct reading *reading = (struct reading *)call;
    proc_buffer_free(&reading->buffer);
    free(reading);
}

static void reading_take(struct file_locks *locks) {
    struct suspects_file_lock all[LOCKS_MAX];
    const struct proc_buffer *buffer = &locks->reading->buffer;
    size_t n = buffer->length ? suspects_file_locks_parse(buffer->bytes, all, LOCKS_MAX) : 0;
    locks->rest = buffer->length > LARGE_BYTES ? LARGE_SAMPLES - 1 : 0;
    slow_call_drop(locks->calls, &locks->reading->call);
    locks->reading = NULL;
    table_builder_clear(locks->builder);
    for (size_t i = 0; i < n; i++) {
        uint32_t slot = table_builder_add(locks->builder);
        table_builder_set_text(locks->builder, slot, INODE, text_from(all[i].inode));
        table_builder_set_num(locks->builder, slot, WAITERS, all[i].waiters);
        if (all[i].holder > 0) // -1: of an open file description
            name_set(locks, slot, PID, all[i].holder);
        name_set(locks, slot, WAITER_PID, all[i].waiter);
    }
}

static void *file_locks_create(void) {
    struct file_locks *locks = xcalloc(1, sizeof(*locks));
    locks->builder = table_builder_new(&suspects_files_table);
    locks->calls = slow_calls_new();
    return locks;
}

static void file_locks_sample(void *state, struct suspects_sample *sample) {
    struct file_locks *locks = state;
    if (locks->reading) {
        if (slow_call_done(locks->calls, &locks->reading->call))
            reading_take(locks);
    } else if (locks->rest) {
        locks->rest--;
    } else {
        locks->reading = xcalloc(1, sizeof(*locks->reading));
        locks->reading->call = (struct slow_call){.run = reading_run, .free = reading_free};
        if (slow_call_start(locks->calls, &locks->reading->call))
            reading_take(locks);
    }
    section_table(sample->out, table_builder_seal(locks->builder));
}

static void file_locks_destroy(void *state) {
    struct file_locks *locks = state;
    if (locks->reading)
        slow_call_drop(locks->calls, &locks->reading->call);
    slow_calls_free(locks->calls);
    table_builder_free(locks->builder);
    free(locks);
}

const struct suspects_part suspects_files_part = {
    .create = file_locks_create, .sample = file_locks_sample, .destroy = file_locks_destroy};
