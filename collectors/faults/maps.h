// The mappings of one process by address, from /proc/PID/maps. Format: proc_pid_maps(5). smaps is never read: it walks
// the page tables. One thread owns a struct fault_maps.
#ifndef COLLECTORS_FAULTS_MAPS_H
#define COLLECTORS_FAULTS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fault_map {
    uint64_t begin, end;
    uint32_t name, length; // in `names`; "" for memory without a name
    bool shared;           // MAP_SHARED
};

struct fault_maps {         // starts zeroed
    struct fault_map *maps; // ascending, without overlap
    size_t count, room;
    char *names;
    size_t names_length, names_room;
    char *tail; // an incomplete line
    size_t tail_length, tail_room;
};

void fault_maps_free(struct fault_maps *maps);
void fault_maps_clear(struct fault_maps *maps);
// Adds the lines of the next piece of the file; call once with size 0 at the end. Malformed lines are skipped.
void fault_maps_parse(struct fault_maps *maps, const char *bytes, size_t size);
// Reads the whole file of the descriptor, at most `most` bytes. 0 or -errno.
int fault_maps_read(struct fault_maps *maps, int fd, size_t most);
const struct fault_map *fault_maps_find(const struct fault_maps *maps, uint64_t address); // NULL: unmapped

// A mapping's displayed name ("/usr/lib/libc.so.6", "[heap]", "[anon]"; `length` bytes, not NUL-terminated) and kind:
// file, heap, stack, anon, shared, device, kernel.
const char *fault_map_name(const struct fault_maps *maps, const struct fault_map *map, size_t *length);
const char *fault_map_kind(const struct fault_maps *maps, const struct fault_map *map);

#endif
