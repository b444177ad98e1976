// I/O limits of cgroups (v1: blkio.throttle.*_device, v2: io.max), and their use. The kernel traces a throttled bio
// when it is released (on a partition also before), so no event gives the time it was held. One thread owns it. Kernel
// documents: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/blkio-controller.rst.
#ifndef COLLECTORS_BLOCK_LIMIT_H
#define COLLECTORS_BLOCK_LIMIT_H

#include "collectors/block/event.h"
#include "collectors/block/names.h"
#include "model/section.h"

extern const struct table_def block_limits_table;

struct block_limits;
struct block_limits *block_limits_new(const char *cgroups); // "/sys/fs/cgroup"; another directory in tests
void block_limits_free(struct block_limits *limits);
// Once per frame: walks a bounded number of directories (all of them every few seconds), and reads the counters of the
// cgroups with a limit.
void block_limits_read(struct block_limits *limits, uint64_t now_ns);
// Whether a cgroup limit throttles such an operation on the disk. *group: its path ("/": the root); NULL: several
// cgroups have such a limit, and not exactly one did I/O in the last frame. Valid until the next read.
bool block_limits_apply(const struct block_limits *limits, uint32_t dev, enum block_op op, const char **group);
// Fills the table; adds a note when a cgroup is at its limit.
void block_limits_fill(struct block_limits *limits, struct block_names *names, uint64_t now_ns, struct section *out);

#endif
