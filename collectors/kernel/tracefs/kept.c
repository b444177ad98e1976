#include "collectors/kernel/tracefs/kept.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

struct kept *kept_new(void) {
    struct kept *kept = xcalloc(1, sizeof(*kept));
    kept->bytes = xmalloc(KEPT_BYTES);
    kept->records = xcalloc(KEPT_RECORDS, sizeof(*kept->records));
    return kept;
}

void kept_free(struct kept *kept) {
    if (!kept)
        return;
    free(kept->bytes);
    free(kept->records);
    free(kept);
}

// Contiguous, aligned to 8. Returns its position.
static uint64_t bytes_put(struct kept *kept, const uint8_t *data, uint32_t size) {
    uint64_t at = kept->head;
    if ((at & (KEPT_BYTES - 1)) + size > KEPT_BYTES)
        at = (at | (KEPT_BYTES - 1)) + 1;
    memcpy(kept->bytes + (at & (KEPT_BYTES - 1)), data, size);
    kept->head = (at + size + 7) & ~7ull;
    return at;
}

void kept_put(struct kept *kept, uint64_t ts, uint32_t cpu, uint16_t event, const uint8_t *data, uint32_t size) {
    struct kept_record *record = &kept->records[kept->n++ % KEPT_RECORDS];
    uint64_t at;
    if (size > KEPT_BYTES / 4) {
        *record = (struct kept_record){.size = 0};
        return;
    }
    at = bytes_put(kept, data, size);
    *record = (struct kept_record){.ts = ts, .at = at, .size = size, .cpu = (uint16_t)cpu, .event = event};
}

bool kept_attach(struct kept *kept, uint64_t n, enum kept_more which, const uint8_t *data, uint32_t size) {
    struct kept_record *record = &kept->records[(n - 1) % KEPT_RECORDS];
    if (!n || n > kept->n || kept->n - n >= KEPT_RECORDS || !record->size || size > KEPT_BYTES / 4)
        return false;
    record->more_at[which] = bytes_put(kept, data, size);
    record->more_size[which] = size;
    return true;
}

const struct kept_record *kept_next(const struct kept *kept, uint64_t *cursor) {
    if (!*cursor && kept->n > KEPT_RECORDS)
        *cursor = kept->n - KEPT_RECORDS;
    while (*cursor < kept->n) {
        const struct kept_record *record = &kept->records[(*cursor)++ % KEPT_RECORDS];
        if (record->size && kept->head - record->at <= KEPT_BYTES)
            return record;
    }
    return NULL;
}

void kept_clear(struct kept *kept) {
    kept->n = 0;
}
