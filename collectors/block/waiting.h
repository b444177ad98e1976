// I/Os in flight for long: what a hung disk has not completed, and the submitters. Completed I/Os are reported by their
// events; these are found only by scanning the flights. Once per frame, in the collector's thread.
#ifndef COLLECTORS_BLOCK_WAITING_H
#define COLLECTORS_BLOCK_WAITING_H

#include "collectors/block/match.h"
#include "collectors/block/names.h"
#include "collectors/block/submitter.h"
#include "model/section.h"

#define BLOCK_WAITING_MAX 64
#define BLOCK_WAITING_NS 100000000ull // younger ones are left to their completions

enum block_waiting_where { BLOCK_WAITING_ARRIVED, BLOCK_WAITING_QUEUED, BLOCK_WAITING_ISSUED };

struct block_waiting {
    uint64_t since_ns, sector; // since: first traced event: bio arrival, request arrival or issue
    uint32_t dev, bytes;
    int32_t tid, pid; // pid: set by block_waiting_resolve
    bool wanted;      // set by block_waiting_resolve: not filtered out
    uint8_t op, where;
    char comm[BLOCK_COMM + 1];
};

// The n (from 1) oldest that started before `before_ns`, sorted oldest first, at least one of each disk; without ktop's
// own. Returns their number.
size_t block_waiting_find(const struct block_match *match, uint64_t before_ns, struct block_waiting *out, size_t n);

// Sets pid and wanted: one read in /proc each.
void block_waiting_resolve(struct block_waiting *waiting, size_t n, const struct block_tasks *submitters);

extern const struct table_def block_waiting_table;
// A row for each that is not filtered out.
void block_waiting_fill(const struct block_waiting *waiting, size_t n, uint64_t now_ns, struct block_names *names,
                        struct section *out);

#endif
