// The parts of the address spaces: processes and mappings (maps.c), the files that are mapped and the text of
// /proc/PID/maps (map_files.c), and how it is read (maps_read.c).
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
    struct slow_calls *calls;
    size_t n, n_maps;
    uint32_t last_version;
    struct map_file *files[FILE_BUCKETS];
};

// The file of a mapping, with a reference of the caller's.
struct map_file *map_file_get(struct space_maps *maps, const struct profile_mmap *mmap);
void map_file_unref(struct space_maps *maps, struct map_file *file);
// Puts a mapping over what is there. Takes the reference to its file.
void list_insert(struct space_maps *maps, struct map_list *list, struct map map);
// The lines of /proc/PID/maps that are of executable mappings. The caller frees it. NULL: there are none, or it cannot
// be read. In any thread.
char *maps_text(int fd);
// Adds them. Changes the text.
void maps_parse(struct space_maps *maps, struct map_list *list, char *text);
// Reads the mappings of a process; or of its thread tid, or of `parent` (0: not of that), if its own cannot be read.
// False: they have not come yet. `list` gets them.
bool maps_read(struct space_maps *maps, struct space *space, pid_t tid, pid_t parent, struct map_list *list);
void maps_read_cancel(struct space_maps *maps, struct space *space); // the process has other mappings by now

#endif
