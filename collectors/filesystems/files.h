// Open files that fill a file system. Shared by the collector and its test. One thread owns it.
#ifndef COLLECTORS_FILESYSTEMS_FILES_H
#define COLLECTORS_FILESYSTEMS_FILES_H

#include <stdint.h>

#include "model/table.h"

extern const struct table_def filesystem_files_table;

// A file system that is nearly full or fills up.
struct files_target {
    uint64_t device; // st_dev of its files
    double size_kib;
    const struct text *mount; // borrowed until the next sample
};

struct files;
struct files *files_new(void);
void files_free(struct files *files);
// tasks: the table of that name, or NULL. The result is the caller's. Without targets it reads nothing.
struct table *files_sample(struct files *files, const struct files_target *targets, size_t n, const struct table *tasks,
                           uint64_t now_ns);

#endif
