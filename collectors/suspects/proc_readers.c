// Programs that use much CPU time to read /proc of other processes: agents, and loops of ps or lsof. A busy process
// whose time goes into the kernel is looked at several times a second: does it have a file of a process open?
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define BUSY_PCT 15      // of a CPU
#define KERNEL_SHARE 0.3 // of that in the kernel
#define READERS_MAX 4
#define FILES_MAX 64 // of a process: more are not looked at
#define WINDOW 16    // looks that are averaged
#define LOOKS_LEAST 5
#define LOOK_MS 130
#define FORGET_NS 2500000000ull // since it was busy

enum { PID, COMM, CPU_PCT, READS, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [CPU_PCT] = COLUMN_CPU_PCT(.help = "Its CPU time, in % of one CPU."),
    [READS] = NUMBER_COLUMN("proc_pct", "PROC%", UNIT_PCT, 6,
                            .help = "Share of the time in which it has a file of another process in /proc open."),
};

const struct table_def suspects_readers_table = {
    .name = "proc_readers",
    .help = "Busy processes that read /proc of other processes.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct reader {
    int32_t pid;             // 0: unused
    const struct text *comm; // a reference
    double cpu_pct;
    uint32_t looks, reads; // bits of the last WINDOW looks
    uint64_t busy_ns;
};

struct readers {
    struct table_builder *builder;
    struct reader readers[READERS_MAX];
    struct suspects_sample *sample;
};

// The list of processes, or a file of one of them. Files of the machine (/proc/stat) are kept open by good monitors.
bool suspects_is_process_file(const char *link, int32_t self) {
    if (strncmp(link, "/proc", 5) != 0)
        return false;
    if (!link[5])
        return true;
    if (link[5] != '/' || !isdigit((unsigned char)link[6]))
        return false;
    return strtol(link + 6, NULL, 10) != self;
}

static bool reads_now(int32_t pid) {
    char path[64], link[64];
    bool reads = false;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *files = opendir(path);
    struct dirent *entry;
    for (size_t n = 0; files && !reads && n < FILES_MAX && (entry = readdir(files)); n++) {
        ssize_t length = readlinkat(dirfd(files), entry->d_name, link, sizeof(link) - 1);
        link[length > 0 ? length : 0] = '\0';
        reads = suspects_is_process_file(link, pid);
    }
    if (files)
        closedir(files);
    return reads;
}

static void reader_drop(struct reader *reader) {
    text_unref(reader->comm);
    *reader = (struct reader){0};
}

static void task_take(void *context, const union cell *row) {
    struct readers *readers = context;
    const struct suspects_columns *at = &readers->sample->at;
    int32_t pid = (int32_t)row[at->pid].num;
    double cpu = row[at->cpu].num, kernel = at->system < 0 ? NAN : row[at->system].num;
    if (!(cpu >= BUSY_PCT) || !(kernel >= cpu * KERNEL_SHARE) || pid == getpid())
        return;
    struct reader *place = &readers->readers[0];
    for (size_t i = 0; i < READERS_MAX && place->pid != pid; i++) {
        struct reader *reader = &readers->readers[i];
        if (reader->pid == pid || (place->pid && (!reader->pid || reader->cpu_pct < place->cpu_pct)))
            place = reader;
    }
    if (place->pid != pid) {
        if (place->pid && place->cpu_pct >= cpu)
            return;
        reader_drop(place);
        *place = (struct reader){.pid = pid, .comm = text_ref(row[at->comm].text)};
    }
    place->cpu_pct = cpu;
    place->busy_ns = readers->sample->now_ns;
}

static void readers_sample(void *state, struct suspects_sample *sample) {
    struct readers *readers = state;
    readers->sample = sample;
    suspects_each(sample, task_take, readers);
    table_builder_clear(readers->builder);
    for (size_t i = 0; i < READERS_MAX; i++) {
        struct reader *reader = &readers->readers[i];
        if (reader->pid && sample->now_ns >= reader->busy_ns + FORGET_NS)
            reader_drop(reader);
        if (!reader->reads || reader->looks < LOOKS_LEAST)
            continue;
        uint32_t slot = table_builder_add(readers->builder);
        table_builder_set_num(readers->builder, slot, PID, reader->pid);
        table_builder_set_text(readers->builder, slot, COMM, text_ref(reader->comm));
        table_builder_set_num(readers->builder, slot, CPU_PCT, reader->cpu_pct);
        table_builder_set_num(readers->builder, slot, READS, 100.0 * __builtin_popcount(reader->reads) / reader->looks);
    }
    section_table(sample->out, table_builder_seal(readers->builder));
}

static uint32_t readers_drain(void *state, uint64_t now) {
    struct readers *readers = state;
    bool follows = false;
    (void)now;
    for (size_t i = 0; i < READERS_MAX; i++) {
        struct reader *reader = &readers->readers[i];
        if (!reader->pid)
            continue;
        reader->reads = (reader->reads << 1 | reads_now(reader->pid)) & ((1u << WINDOW) - 1);
        reader->looks += reader->looks < WINDOW;
        follows = true;
    }
    return follows ? LOOK_MS : 0;
}

static void *readers_create(void) {
    struct readers *readers = xcalloc(1, sizeof(*readers));
    readers->builder = table_builder_new(&suspects_readers_table);
    return readers;
}

static void readers_destroy(void *state) {
    struct readers *readers = state;
    for (size_t i = 0; i < READERS_MAX; i++)
        text_unref(readers->readers[i].comm);
    table_builder_free(readers->builder);
    free(readers);
}

const struct suspects_part suspects_readers_part = {
    .create = readers_create, .sample = readers_sample, .drain = readers_drain, .destroy = readers_destroy};
