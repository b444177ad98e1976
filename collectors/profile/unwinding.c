// The mappings, files and memory that the unwinder reads (see the header). A file is opened by the mapping, which leads
// to the very inode, also of a deleted or replaced file; else by its path, if that still leads to the same file. Files
// and memory are read by slow calls: a mount may hang.
#include "collectors/profile/unwinding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collectors/kernel/proc/memory.h"
#include "collectors/kernel/slow_calls.h"
#include "collectors/kernel/symbols/open.h"
#include "collectors/kernel/unwind/unwind.h"
#include "model/mem.h"

#define READS_MAX SLOW_CALL_THREADS_MAX

// Bytes of a file, or of a process's memory.
struct reading {
    struct slow_call call; // the first member
    pid_t pid;
    bool is_memory;
    uint64_t identity[2]; // of the file; of memory the process
    uint64_t offset;      // or address
    uint64_t start, end;  // of the mapping
    uint64_t device, inode;
    char *path;
    struct unwind_file_state state;
    ssize_t got; // or -errno
    size_t size;
    uint8_t bytes[];
};

struct unwinding {
    struct space_maps *maps;
    struct unwinder *unwinder;
    struct space *space;              // of the sample that is being walked
    struct reading *reads[READS_MAX]; // that did not come in time
    struct unwind_frame frames[STACKS_PATH_MAX];
};

static bool map_find(void *context, pid_t pid, uint64_t address, struct unwind_map *out) {
    struct unwinding *unwinding = context;
    const struct map *map = space_maps_find(unwinding->maps, unwinding->space, pid, address);
    if (!map)
        return false;
    const struct map_file *file = map->file;
    *out = (struct unwind_map){.start = map->start,
                               .end = map->end,
                               .offset = map->offset,
                               .identity = {file->device, file->inode},
                               .executable = true, // no others are kept
                               .path = file->anonymous ? "" : file->path};
    out->is_build_id = file->build_id_size >= sizeof(out->identity);
    if (out->is_build_id)
        memcpy(out->identity, file->build_id, sizeof(out->identity));
    return true;
}

// ---- in a thread of the service ----

static bool is_same(const struct reading *reading, const struct stat *stat) {
    // Without device and inode there is a build ID, which the unwinder compares.
    return !reading->inode || (reading->inode == stat->st_ino && reading->device >> 32 == major(stat->st_dev) &&
                               (reading->device & UINT32_MAX) == minor(stat->st_dev));
}

static int file_open(const struct reading *reading) {
    char path[96];
    struct stat stat;
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)reading->pid, (unsigned long long)reading->start,
             (unsigned long long)reading->end);
    int fd = open_regular(path, false, &stat);
    if (fd >= 0)
        return fd;
    // Of a process that has ended: what ktop itself has at that path. Its identity is checked like that of the others.
    for (int own = 0; own < 2; own++) {
        int root = open_root(own ? 0 : reading->pid);
        if (root < 0)
            continue;
        fd = open_below(root, reading->path, false, &stat);
        close(root);
        if (fd >= 0 && is_same(reading, &stat))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -ESTALE;
}

static void reading_run(struct slow_call *call) {
    struct reading *reading = (struct reading *)call;
    if (reading->is_memory)
        reading->got = (ssize_t)process_memory_read(reading->pid, reading->offset, reading->bytes, reading->size);
    else
        reading->got = unwind_read(file_open(reading), reading->offset, reading->bytes, reading->size, &reading->state);
}

static void reading_free(struct slow_call *call) {
    struct reading *reading = (struct reading *)call;
    free(reading->path);
    free(reading);
}

// ---- in the thread of the collector ----

// Whether the reading is one of the file or process of another, and whether it is that of the same bytes.
static bool is_of(const struct reading *a, const struct reading *b) {
    return a->is_memory == b->is_memory && !memcmp(a->identity, b->identity, sizeof(a->identity));
}

static ssize_t reading_result(struct unwinding *unwinding, struct reading *reading, void *out, size_t size,
                              struct unwind_file_state *state) {
    ssize_t got = reading->got;
    if (got > 0)
        memcpy(out, reading->bytes, (size_t)got < size ? (size_t)got : size);
    if (state)
        *state = reading->state;
    slow_call_drop(space_maps_calls(unwinding->maps), &reading->call);
    return got;
}

// Where a reading can be kept that does not come in time. NULL: one of the same file or process is under way, or too
// many are.
static struct reading **reading_slot(struct unwinding *unwinding, const struct reading *wanted) {
    struct slow_calls *calls = space_maps_calls(unwinding->maps);
    struct reading **place = NULL, **old = NULL;
    for (size_t i = 0; i < READS_MAX; i++) {
        struct reading **at = &unwinding->reads[i];
        if (!*at)
            place = at;
        else if (slow_call_done(calls, &(*at)->call)) // whose bytes were not wanted again
            old = at;
        else if (is_of(*at, wanted))
            return NULL;
    }
    if (!place && old) {
        slow_call_drop(calls, &(*old)->call);
        *old = NULL;
        place = old;
    }
    return place;
}

// Takes the reading.
static ssize_t reading_make(struct unwinding *unwinding, struct reading *wanted, void *out, size_t size,
                            struct unwind_file_state *state) {
    struct slow_calls *calls = space_maps_calls(unwinding->maps);
    struct reading **place;
    for (size_t i = 0; i < READS_MAX; i++) {
        struct reading *past = unwinding->reads[i];
        if (past && is_of(past, wanted) && past->offset == wanted->offset && past->size == wanted->size &&
            slow_call_done(calls, &past->call)) {
            reading_free(&wanted->call);
            unwinding->reads[i] = NULL;
            return reading_result(unwinding, past, out, size, state);
        }
    }
    place = reading_slot(unwinding, wanted);
    if (!place) {
        reading_free(&wanted->call);
        return -EAGAIN;
    }
    if (slow_call_start(calls, &wanted->call))
        return reading_result(unwinding, wanted, out, size, state);
    *place = wanted;
    return -EAGAIN;
}

static struct reading *reading_new(pid_t pid, uint64_t offset, size_t size) {
    struct reading *reading = xcalloc(1, sizeof(*reading) + size);
    reading->call.run = reading_run;
    reading->call.free = reading_free;
    reading->pid = pid;
    reading->offset = offset;
    reading->size = size;
    return reading;
}

static ssize_t map_read(void *context, pid_t pid, const struct unwind_map *wanted, uint64_t offset, void *out,
                        size_t size, struct unwind_file_state *state) {
    struct unwinding *unwinding = context;
    const struct map *map = space_maps_find(unwinding->maps, unwinding->space, pid, wanted->start);
    if (!map)
        return -ENOENT;
    struct reading *reading = reading_new(pid, offset, size);
    reading->start = map->start;
    reading->end = map->end;
    reading->device = map->file->device;
    reading->inode = map->file->inode;
    memcpy(reading->identity, wanted->identity, sizeof(reading->identity));
    reading->path = xstrdup(map->file->path);
    return reading_make(unwinding, reading, out, size, state);
}

static ssize_t memory_read(void *context, pid_t pid, uint64_t address, void *out, size_t size) {
    struct reading *reading = reading_new(pid, address, size);
    reading->is_memory = true;
    reading->identity[0] = (uint64_t)pid;
    return reading_make(context, reading, out, size, NULL);
}

// Whether the kernel's callchain leads through code alone; frame pointers that are no frame pointers lead anywhere.
static bool is_code(struct unwinding *unwinding, const uint64_t *chain, size_t n_chain) {
    for (size_t i = 0; i < n_chain; i++)
        if (!space_maps_find(unwinding->maps, unwinding->space, unwinding->space->pid, chain[i]))
            return false;
    return true;
}

static size_t walk(void *context, struct space *space, const struct profile_sample *sample, const uint64_t *chain,
                   size_t n_chain, struct stacks_frame *frames, size_t max, bool *whole, bool *cut) {
    struct unwinding *unwinding = context;
    struct unwind_input input = {.pid = space->pid,
                                 .version = space->version,
                                 .stack = sample->stack,
                                 .stack_size = sample->stack_size,
                                 .chain = chain,
                                 .chain_count = n_chain};
    enum unwind_ending ending;
    if (!sample->regs || !unwind_registers_decode(sample->regs, sample->n_regs, &input.registers))
        return 0;
    unwinding->space = space;
    size_t n = unwind_stack(unwinding->unwinder, &input, unwinding->frames,
                            max < STACKS_PATH_MAX ? max : STACKS_PATH_MAX, &ending);
    for (size_t i = 0; i < n; i++)
        frames[i] = (struct stacks_frame){unwinding->frames[i].ip, unwinding->frames[i].exact};
    *whole = ending == UNWIND_WHOLE;
    *cut = ending == UNWIND_CUT || ending == UNWIND_FULL;
    if (!*whole && ending != UNWIND_SPLICED && n < n_chain && is_code(unwinding, chain, n_chain))
        return 0;
    return n;
}

static size_t chain_walk(void *context, struct space *space, const struct profile_sample *sample, const uint64_t *chain,
                         size_t n_chain, struct stacks_frame *frames, size_t max, bool *incomplete) {
    struct unwinding *unwinding = context;
    struct unwind_input input = {.pid = space->pid,
                                 .version = space->version,
                                 .registers.lr = unwind_link_decode(sample->regs[0]),
                                 .chain = chain,
                                 .chain_count = n_chain};
    unwinding->space = space;
    size_t n = unwind_chain(unwinding->unwinder, &input, unwinding->frames,
                            max < STACKS_PATH_MAX ? max : STACKS_PATH_MAX, incomplete);
    for (size_t i = 0; i < n; i++)
        frames[i] = (struct stacks_frame){unwinding->frames[i].ip, unwinding->frames[i].exact};
    return n;
}

struct unwinding *unwinding_new(struct space_maps *maps) {
    struct unwinding *unwinding = xcalloc(1, sizeof(*unwinding));
    const struct unwind_source source = {unwinding, map_find, map_read, memory_read};
    unwinding->maps = maps;
    unwinding->unwinder = unwinder_new(&source);
    return unwinding;
}

void unwinding_free(struct unwinding *unwinding) {
    if (!unwinding)
        return;
    unwinder_free(unwinding->unwinder);
    for (size_t i = 0; i < READS_MAX; i++)
        if (unwinding->reads[i])
            slow_call_drop(space_maps_calls(unwinding->maps), &unwinding->reads[i]->call);
    free(unwinding);
}

struct stacks_unwinder unwinding_of(struct unwinding *unwinding) {
    return (struct stacks_unwinder){walk, chain_walk, unwinding};
}

void unwinding_process_gone(struct unwinding *unwinding, pid_t pid) {
    if (unwinding)
        unwind_ended(unwinding->unwinder, pid);
}

uint64_t unwinding_bytes(const struct unwinding *unwinding) {
    return unwind_bytes(unwinding->unwinder);
}
