// Which processes create files on a file system that runs out of inodes: the kernel reports each creation (fanotify,
// Linux 5.9) while one does. Shared by the collector and its test. One thread owns it. See fanotify(7).
#ifndef COLLECTORS_FILESYSTEMS_CREATORS_H
#define COLLECTORS_FILESYSTEMS_CREATORS_H

#include <stddef.h>
#include <stdint.h>

#include "model/table.h"

extern const struct table_def file_creators_table;

#define CREATORS_TARGETS_MAX 8

struct creators_target {
    uint64_t fsid;           // as in struct fanotify_event_info_fid
    const struct text *path; // mount point; borrowed until the next sample
};

struct creators;
struct creators *creators_new(void);
void creators_free(struct creators *creators);
// n: at most CREATORS_TARGETS_MAX. The result is the caller's. Without targets nothing is reported. A process stays for
// some time after its last file.
struct table *creators_sample(struct creators *creators, const struct creators_target *targets, size_t n,
                              uint64_t now_ns);
// Takes what was read from a fanotify descriptor; malformed bytes end it.
void creators_take(struct creators *creators, const void *bytes, size_t n, uint64_t now_ns);

#endif
