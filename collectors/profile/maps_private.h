// The parts of the address spaces: processes and mappings (maps.c), the files that are mapped and the text of
// /proc/PID/maps (map_files.c).
#ifndef COLLECTORS_PROFILE_MAPS_PRIVATE_H
#define COLLECTORS_PROFILE_MAPS_PRIVATE_H

#include "collectors/profile/maps.h"

#define SPACE_BUCKET_BITS 12
#define FILE_BUCKETS 4096

struct space_maps {
    char proc[128];
    void (*gone)(void *context, pid_t pid);
    void *context;
    struct space *buckets[1 << SPACE_BUCKET_BITS];
    struct space *newest, *oldest;
    size_t n, n_maps;
    uint32_t last_version;
    struct map_file *files[FILE_BUCKETS];
};

// The file of a mapping, with a reference of the caller's.
struct map_file *map_file_get(struct space_maps *maps, const struct profile_mmap *mmap);
void map_file_unref(struct space_maps *maps, struct map_file *file);
// Puts a mapping over what is there. Takes the reference to its file.
void list_insert(struct space_maps *maps, struct map_list *list, struct map map);
// Adds the executable mappings of /proc/PID/maps. False: it cannot be read.
bool maps_parse(struct space_maps *maps, struct map_list *list, int fd);

#endif
