// The newest records of an interval, copied as raw bytes into fixed memory. Nothing here allocates after kept_new, and
// nothing looks at a record's fields. One thread owns it.
#ifndef COLLECTORS_EVENTS_KEPT_H
#define COLLECTORS_EVENTS_KEPT_H

#include <stddef.h>
#include <stdint.h>

#define KEPT_RECORDS 2000
#define KEPT_BYTES (1u << 20) // a power of two

struct kept_record {
    uint64_t ts, at; // trace clock; position in the bytes, which grows for ever
    uint32_t size;
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
// Walks the records that are still whole, oldest first: start with *cursor 0, ends with NULL.
const struct kept_record *kept_next(const struct kept *kept, uint64_t *cursor);
static inline const uint8_t *kept_bytes(const struct kept *kept, const struct kept_record *record) {
    return kept->bytes + (record->at & (KEPT_BYTES - 1));
}
void kept_clear(struct kept *kept);

#endif
