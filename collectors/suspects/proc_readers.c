// Programs that use much CPU time to read /proc of other processes: agents, and loops of ps or lsof. A busy process
// whose time goes into the kernel is looked at several times a second: does it have a file of a process open? Programs
// of a loop end too soon for that: of a process whose ended children used as much, the youngest children are looked at.
// Kernel document: Documentation/filesystems/proc.rst (/proc/PID/task/TID/children).
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
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

#define BUSY_PCT 15      // of a CPU
#define KERNEL_SHARE 0.3 // of that in the kernel
#define READERS_MAX 4
#define FILES_MAX 64 // of a process: more are not looked at
#define WINDOW 16    // looks that are averaged
#define LOOKS_LEAST 5
#define LOOK_MS 130
#define FORGET_NS 2500000000ull // since it was busy
#define PARENTS_MAX 16
#define THREADS_MAX 32      // of a parent
#define CHILDREN_MAX 4      // that are looked at: the youngest
#define CHILDREN_BYTES 4096 // of the list of children that are read

enum { PID, COMM, CPU_PCT, READS, CHILD, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [CPU_PCT] = COLUMN_CPU_PCT(.help = "Its CPU time, or that of its ended children, in % of one CPU."),
    [READS] = NUMBER_COLUMN("proc_pct", "PROC%", UNIT_PCT, 6,
                            .help = "Share of the time in which it has a file of another process in /proc open."),
    [CHILD] = TEXT_COLUMN("child", "CHILD", 15, .help = "The program that it starts again and again; none: itself."),
};

const struct table_def suspects_readers_table = {
    .name = "proc_readers",
    .help = "Busy processes that read /proc of other processes.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct reader {
    int32_t pid;              // 0: unused
    const struct text *comm;  // a reference
    const struct text *child; // a reference, to the name of its children, which are looked at; NULL: itself is
    double cpu_pct;
    uint32_t looks, reads; // bits of the last WINDOW looks
    uint64_t busy_ns;
};

// A process with children that ended in this interval.
struct parent {
    int32_t pid;
    const struct text *child; // borrowed: the name of the one that used most
    double child_pct;         // of that one
    double cpu_pct, system_pct;
};

struct readers {
    struct table_builder *builder;
    struct reader readers[READERS_MAX];
    struct parent parents[PARENTS_MAX];
    size_t n_parents;
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

size_t suspects_children_last(const char *text, int32_t *out, size_t most) {
    size_t n = 0;
    int32_t child;
    int length;
    for (; sscanf(text, "%d%n", &child, &length) == 1 && text[length] == ' '; text += length)
        out[n++ % most] = child;
    return n < most ? n : most;
}

static bool child_of_thread_reads(int32_t pid, int32_t tid) {
    char path[64], text[CHILDREN_BYTES];
    int32_t children[CHILDREN_MAX];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
    long length = format_file(path, text, sizeof(text));
    if (length < 0 && length != -EFBIG)
        return false;
    for (size_t n = suspects_children_last(text, children, CHILDREN_MAX); n-- > 0;)
        if (children[n] != getpid() && reads_now(children[n]))
            return true;
    return false;
}

// Any thread may start programs.
static bool child_reads_now(int32_t pid) {
    char path[64];
    int32_t tid;
    bool reads = false;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (size_t n = 0; threads && !reads && n < THREADS_MAX && (tid = proc_next_id(threads)) >= 0; n++)
        reads = child_of_thread_reads(pid, tid);
    if (threads)
        closedir(threads);
    return reads;
}

static void reader_drop(struct reader *reader) {
    text_unref(reader->comm);
    text_unref(reader->child);
    *reader = (struct reader){0};
}

// The busiest ones have the places. child: NULL or the name of its children.
static void reader_offer(struct readers *readers, int32_t pid, const struct text *comm, const struct text *child,
                         double cpu) {
    struct reader *place = &readers->readers[0];
    for (size_t i = 0; i < READERS_MAX && place->pid != pid; i++) {
        struct reader *reader = &readers->readers[i];
        if (reader->pid == pid || (place->pid && (!reader->pid || reader->cpu_pct < place->cpu_pct)))
            place = reader;
    }
    if (place->pid != pid || !place->child != !child) {
        if (place->pid && place->cpu_pct >= cpu)
            return;
        reader_drop(place);
        *place = (struct reader){.pid = pid, .comm = text_ref(comm), .child = child ? text_ref(child) : NULL};
    }
    place->cpu_pct = cpu;
    place->busy_ns = readers->sample->now_ns;
}

static bool is_busy(double cpu_pct, double system_pct) {
    return cpu_pct >= BUSY_PCT && system_pct >= cpu_pct * KERNEL_SHARE;
}

static void task_take(void *context, const union cell *row) {
    struct readers *readers = context;
    const struct suspects_columns *at = &readers->sample->at;
    int32_t pid = (int32_t)row[at->pid].num;
    if (pid == getpid() || at->system < 0)
        return;
    if (is_busy(row[at->cpu].num, row[at->system].num))
        reader_offer(readers, pid, row[at->comm].text, NULL, row[at->cpu].num);
    for (size_t i = 0; i < readers->n_parents; i++)
        if (readers->parents[i].pid == pid && is_busy(readers->parents[i].cpu_pct, readers->parents[i].system_pct))
            reader_offer(readers, pid, row[at->comm].text, readers->parents[i].child, readers->parents[i].cpu_pct);
}

static void parents_find(struct readers *readers) {
    const struct suspects_columns *at = &readers->sample->at;
    const struct table *tasks = readers->sample->tasks;
    size_t cursor = 0;
    readers->n_parents = 0;
    for (const union cell *row; tasks && at->system >= 0 && (row = table_next(tasks, &cursor));) {
        int32_t ppid = (int32_t)row[at->ppid].num;
        size_t i = 0;
        if (isnan(row[at->ended].num) || !(row[at->cpu].num > 0) || ppid <= 1)
            continue;
        while (i < readers->n_parents && readers->parents[i].pid != ppid)
            i++;
        if (i == PARENTS_MAX)
            continue;
        if (i == readers->n_parents)
            readers->parents[readers->n_parents++] = (struct parent){.pid = ppid};
        struct parent *parent = &readers->parents[i];
        if (row[at->cpu].num > parent->child_pct) {
            parent->child = row[at->comm].text;
            parent->child_pct = row[at->cpu].num;
        }
        parent->cpu_pct += row[at->cpu].num;
        parent->system_pct += row[at->system].num;
    }
}

static void readers_sample(void *state, struct suspects_sample *sample) {
    struct readers *readers = state;
    readers->sample = sample;
    parents_find(readers);
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
        if (reader->child)
            table_builder_set_text(readers->builder, slot, CHILD, text_ref(reader->child));
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
        bool reads = reader->child ? child_reads_now(reader->pid) : reads_now(reader->pid);
        reader->reads = (reader->reads << 1 | reads) & ((1u << WINDOW) - 1);
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
        reader_drop(&readers->readers[i]);
    table_builder_free(readers->builder);
    free(readers);
}

const struct suspects_part suspects_readers_part = {
    .create = readers_create, .sample = readers_sample, .drain = readers_drain, .destroy = readers_destroy};
