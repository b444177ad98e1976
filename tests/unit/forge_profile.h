// Forging the records of a sampling event, byte by byte.
#ifndef TESTS_UNIT_FORGE_PROFILE_H
#define TESTS_UNIT_FORGE_PROFILE_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

#include "collectors/profile/record.h"

struct forged {
    _Alignas(8) uint8_t bytes[65536];
    size_t n;
};

static inline void forged_begin(struct forged *forged, uint32_t type, uint16_t misc) {
    struct perf_event_header header = {.type = type, .misc = misc};
    memcpy(forged->bytes, &header, sizeof header);
    forged->n = sizeof header;
}

static inline void forged_put(struct forged *forged, const void *bytes, size_t size) {
    memcpy(forged->bytes + forged->n, bytes, size);
    forged->n += size;
}

static inline void forged_u64(struct forged *forged, uint64_t value) {
    forged_put(forged, &value, sizeof value);
}

static inline void forged_u32(struct forged *forged, uint32_t value) {
    forged_put(forged, &value, sizeof value);
}

static inline void forged_text(struct forged *forged, const char *text) { // padded to 8 bytes, as the kernel does
    size_t n = strlen(text) + 1;
    forged_put(forged, text, n);
    memset(forged->bytes + forged->n, 0, (8 - n % 8) % 8);
    forged->n += (8 - n % 8) % 8;
}

static inline const struct perf_event_header *forged_end(struct forged *forged) {
    ((struct perf_event_header *)forged->bytes)->size = (uint16_t)forged->n;
    return (const struct perf_event_header *)forged->bytes;
}

// With the trailer of sample_id_all.
static inline const struct perf_event_header *forged_trailed(struct forged *forged, uint64_t time) {
    forged_u64(forged, 0x1234);
    forged_u64(forged, time);
    forged_u64(forged, 3);
    return forged_end(forged);
}

static inline const struct perf_event_header *forged_sample(struct forged *forged, uint16_t mode, const uint64_t *ips,
                                                            size_t n) {
    forged_begin(forged, PERF_RECORD_SAMPLE, mode);
    forged_u64(forged, n > 1 ? ips[1] : 0x1000);
    forged_u32(forged, 42);
    forged_u32(forged, 43);
    forged_u64(forged, 777);
    forged_u64(forged, 5); // CPU
    forged_u64(forged, 10101010);
    forged_u64(forged, n);
    forged_put(forged, ips, n * sizeof *ips);
    return forged_end(forged);
}

#endif
