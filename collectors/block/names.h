// Names, sizes and partitions of block devices by dev_t, from /sys/block and /proc/diskstats. Read when an unknown
// dev_t appears, when /sys/kernel/uevent_seqnum changed, and every 30 s; never per event. One thread owns it.
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
// Name of the device with that dev_t (major << 20 | minor); "MAJOR:MINOR" if it is not in /sys/block. Valid until the
// next refresh; take a reference to keep it.
const struct text *block_names_get(struct block_names *names, uint32_t dev, uint64_t now_ns);

// Disks with request events (blk-mq, and multipath heads): i from 0 until false. Bio-based disks (zram, dm, md) have
// none.
bool block_names_disk(const struct block_names *names, uint32_t i, uint32_t *dev);
// NVMe multipath heads, at most n; returns their number.
size_t block_names_heads(const struct block_names *names, uint32_t *heads, size_t n);
// Their hidden paths, where /proc/diskstats lists them (not on 5.10); valid until the next refresh.
size_t block_names_paths(const struct block_names *names, const struct block_part **paths);
// Size in 512-byte sectors; 0: unknown.
uint64_t block_names_sectors(const struct block_names *names, uint32_t dev);
// When it left /sys/block (0: present); block_names_previous_gone: the same for the previous disk with its dev_t (0:
// none).
uint64_t block_names_gone(const struct block_names *names, uint32_t dev);
uint64_t block_names_previous_gone(const struct block_names *names, uint32_t dev);
// Returns the number of partitions; *parts is valid until the next refresh.
size_t block_names_parts(const struct block_names *names, const struct block_part **parts);

#endif
