// The newest records of an interval, copied as raw bytes into fixed memory. Nothing here allocates after kept_new, and
// nothing looks at a record's fields. One thread owns it.
#ifndef COLLECTORS_KERNEL_TRACEFS_KEPT_H
#define COLLECTORS_KERNEL_TRACEFS_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEPT_RECORDS 2000
#define KEPT_BYTES (1u << 20) // a power of two

enum kept_more { KEPT_KERNEL_STACK, KEPT_USER_STACK, KEPT_MORE }; // what may belong to a record
struct kept_record {
    uint64_t ts, at;     // trace clock; position in the bytes, which grows for ever
    uint64_t latency_ns; // from an earlier event to this one (group.h); 0: none. Set by the caller after kept_put.
    uint64_t more_at[KEPT_MORE]; // positions of what belongs to it (kept_attach)
    uint32_t size, more_size[KEPT_MORE];
    uint16_t cpu, event; // event: the caller's index
};
struct kept {
    uint8_t *bytes; // 8-byte aligned records
    struct kept_record *records;
    uint64_t n;    // all records of the interval
    uint64_t head; // position after the last one
};

struct kept *kept_new(void);
void kept_free(struct kept *kept);
// Overwrites the oldest records. A record larger than KEPT_BYTES / 4 is counted but not kept.
void kept_put(struct kept *kept, uint64_t ts, uint32_t cpu, uint16_t event, const uint8_t *data, uint32_t size);
// Adds bytes to the record number `n` (kept->n after its kept_put). Once of each kind; false: it is overwritten.
bool kept_attach(struct kept *kept, uint64_t n, enum kept_more which, const uint8_t *data, uint32_t size);
// Walks the records that are still whole, oldest first: start with *cursor 0, ends with NULL.
const struct kept_record *kept_next(const struct kept *kept, uint64_t *cursor);
static inline const uint8_t *kept_bytes(const struct kept *kept, const struct kept_record *record) {
    return kept->bytes + (record->at & (KEPT_BYTES - 1));
}
static inline const uint8_t *kept_more(const struct kept *kept, const struct kept_record *record,
                                       enum kept_more which) {
    return kept->bytes + (record->more_at[which] & (KEPT_BYTES - 1));
}
static inline struct kept_record *kept_last(struct kept *kept) { // of the last kept_put
    return &kept->records[(kept->n - 1) % KEPT_RECORDS];
}
void kept_clear(struct kept *kept);

#endif
