// Names, sizes and partitions of block devices by their numbers, from /sys/block and /proc/diskstats. Read when an
// unknown number appears, when the kernel told of a device that came, went or changed (/sys/kernel/uevent_seqnum), and
// every half minute; never per event. One thread owns it.
#ifndef COLLECTORS_BLOCK_NAMES_H
#define COLLECTORS_BLOCK_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/block/match.h"
#include "model/text.h"

struct block_names;
struct block_names *block_names_new(const char *sys_block); // "/sys/block"; another directory in tests
void block_names_free(struct block_names *names);
// True when everything was read again.
bool block_names_refresh(struct block_names *names, uint64_t now_ns);
// The name of the device with that kernel dev_t (major << 20 | minor); "MAJOR:MINOR" when /sys/block does not have it.
// Valid until the next refresh; take a reference to keep it.
const struct text *block_names_get(struct block_names *names, uint32_t dev, uint64_t now_ns);

// The disks that have request events (blk-mq ones, and those that send bios on to hidden ones): i from 0 until false.
// Other bio-based ones (zram, dm, md) have none.
bool block_names_disk(const struct block_names *names, uint32_t i, uint32_t *dev);
// NVMe disks with several paths, at most n; how many.
size_t block_names_heads(const struct block_names *names, uint32_t *heads, size_t n);
// Their paths, which are hidden, as far as /proc/diskstats has their numbers (not on 5.10); valid until the next
// refresh.
size_t block_names_paths(const struct block_names *names, const struct block_part **paths);
// Its length in sectors of 512 bytes, 0: not known.
uint64_t block_names_sectors(const struct block_names *names, uint32_t dev);
// Since when it is known to be gone from /sys/block (0: it is there); the same of the disk that had its number before
// it (0: there was none).
uint64_t block_names_gone(const struct block_names *names, uint32_t dev);
uint64_t block_names_before(const struct block_names *names, uint32_t dev);
// Number of partitions; their pairs stay valid until the next refresh.
size_t block_names_parts(const struct block_names *names, const struct block_part **parts);

#endif
