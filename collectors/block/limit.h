// The limits that control groups set to their I/O (version 1: blkio.throttle.*_device, version 2: io.max), and how near
// to them the groups are. What such a limit holds back, the kernel tells of only when it lets it go (on a partition
// before as well): no event says how long it waited. One thread owns it.
// Kernel documents: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/blkio-controller.rst.
#ifndef COLLECTORS_BLOCK_LIMIT_H
#define COLLECTORS_BLOCK_LIMIT_H

#include "collectors/block/event.h"
#include "collectors/block/names.h"
#include "model/section.h"

extern const struct table_def block_limits_table;

struct block_limits;
struct block_limits *block_limits_new(const char *cgroups); // "/sys/fs/cgroup"; another directory in tests
void block_limits_free(struct block_limits *limits);
// Once per frame: looks for limits in some of the directories (so many that a frame costs little; all of them every few
// seconds), and reads what the groups with limits did.
void block_limits_read(struct block_limits *limits, uint64_t now_ns);
// Whether a group's limit holds back that kind of operation on the disk. *group: whose it is, "/": the root's; NULL: of
// several groups with such a limit, not one alone did any last. It lives until the next read.
bool block_limits_hold(const struct block_limits *limits, uint32_t dev, enum block_op op, const char **group);
// The table, and a note when a group is at its limit.
void block_limits_fill(struct block_limits *limits, struct block_names *names, uint64_t now_ns, struct section *out);

#endif
