// What is known of processes: their mappings, with the object that each belongs to. Bounded: the least recently used
// process is forgotten, and queried again when it is sampled again.
#ifndef COLLECTORS_KERNEL_UNWIND_SPACE_H
#define COLLECTORS_KERNEL_UNWIND_SPACE_H

#include "collectors/kernel/unwind/object.h"

struct space_map {
    struct unwind_map map; // path is NULL
    unsigned slot;
    uint32_t id; // of the object; 0: code of no file
};
struct unwind_space {
    pid_t pid; // 0: free
    uint64_t version, used;
    struct space_map *maps; // ascending, without overlap
    size_t count, allocated, last;
};

struct unwind_spaces;
struct unwind_spaces *unwind_spaces_new(const struct unwind_source *source, struct unwind_objects *objects);
void unwind_spaces_free(struct unwind_spaces *spaces);
uint64_t unwind_spaces_bytes(const struct unwind_spaces *spaces);
// The space of a process, made when it is new, emptied when its version is another one. Borrowed until the next call.
struct unwind_space *unwind_spaces_get(struct unwind_spaces *spaces, pid_t pid, uint64_t version);
void unwind_spaces_flush(struct unwind_spaces *spaces, pid_t pid, uint64_t start, uint64_t end);
void unwind_spaces_ended(struct unwind_spaces *spaces, pid_t pid);

// The mapping at an address, and its object (NULL: of no file). NULL: no mapping. Borrowed until the next call.
const struct unwind_map *unwind_space_map(struct unwind_spaces *spaces, struct unwind_space *space, uint64_t address,
                                          struct unwind_object **object);

#endif
