// The I/Os that have not ended: what a disk that hangs still owes, and to whom. An I/O that ends tells of itself; one
// that does not is only seen by looking at what is in flight. Once per frame, in the collector's thread.
#ifndef COLLECTORS_BLOCK_WAITING_H
#define COLLECTORS_BLOCK_WAITING_H

#include "collectors/block/match.h"
#include "collectors/block/names.h"
#include "collectors/block/who.h"
#include "model/section.h"

#define BLOCK_WAITING_MAX 64
#define BLOCK_WAITING_NS 100000000ull // younger ones are told with the I/Os that ended

enum block_waiting_where { BLOCK_WAITING_ARRIVED, BLOCK_WAITING_QUEUED, BLOCK_WAITING_ISSUED };

struct block_waiting {
    uint64_t since_ns, sector; // since: arrival of the bio, or of the request, or its issue: what was seen first
    uint32_t dev, bytes;
    int32_t tid, pid; // pid: of the process, as block_waiting_resolve found it
    bool wanted;      // the same: the user wants to see it
    uint8_t op, where;
    char comm[BLOCK_COMM + 1];
};

// The oldest n (from 1) of those that began before `before_ns`, of each disk one at least, the oldest first; ktop's own
// aside. Returns how many.
size_t block_waiting_find(const struct block_match *match, uint64_t before_ns, struct block_waiting *out, size_t n);

// Whose they are: one look into /proc each.
void block_waiting_resolve(struct block_waiting *waiting, size_t n, const struct block_who *who);

extern const struct table_def block_waiting_table;
// A row for each, of those whom the user wants to see.
void block_waiting_fill(const struct block_waiting *waiting, size_t n, uint64_t now_ns, struct block_names *names,
                        struct section *out);

#endif
