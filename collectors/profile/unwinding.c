// The mappings and files that the unwinder asks for (see the header). A file is opened by the mapping, which leads to
// the very inode, also of a deleted or replaced file; else by its path, if that still leads to the same file.
#include "collectors/profile/unwinding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collectors/kernel/symbols/open.h"
#include "collectors/kernel/unwind/unwind.h"
#include "model/mem.h"

struct unwinding {
    struct space_maps *maps;
    struct unwinder *unwinder;
    struct space *space; // of the sample that is being walked
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

static bool is_same(const struct map_file *file, const struct stat *stat) {
    // Without device and inode there is a build ID, which the unwinder compares.
    return !file->inode || (file->inode == stat->st_ino && file->device >> 32 == major(stat->st_dev) &&
                            (file->device & UINT32_MAX) == minor(stat->st_dev));
}

static int map_open(void *context, pid_t pid, const struct unwind_map *wanted) {
    struct unwinding *unwinding = context;
    const struct map *map = space_maps_find(unwinding->maps, unwinding->space, pid, wanted->start);
    char path[96];
    struct stat stat;
    if (!map)
        return -ENOENT;
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)map->start,
             (unsigned long long)map->end);
    int fd = open_regular(path, false, &stat);
    if (fd >= 0)
        return fd;
    // Of a process that has ended: what ktop itself has at that path. Its identity is checked like that of the others.
    for (int own = 0; own < 2; own++) {
        int root = open_root(own ? 0 : pid);
        if (root < 0)
            continue;
        fd = open_below(root, map->file->path, false, &stat);
        close(root);
        if (fd >= 0 && is_same(map->file, &stat))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -ESTALE;
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
    const struct unwind_source source = {unwinding, map_find, map_open};
    unwinding->maps = maps;
    unwinding->unwinder = unwinder_new(&source);
    return unwinding;
}

void unwinding_free(struct unwinding *unwinding) {
    if (!unwinding)
        return;
    unwinder_free(unwinding->unwinder);
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
