// Forging sub-buffers byte by byte, and reading the captured ones, for the tests of the raw reader and its decoders.
#ifndef TESTS_UNIT_FORGE_RING_H
#define TESTS_UNIT_FORGE_RING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/ring.h"

#define FORGE_PAGE 4096
#define FORGE_CPUS 4
#define FORGE_HEADER 16

// ---- one sub-buffer ----

struct forge {
    uint8_t bytes[FORGE_PAGE];
    uint32_t used; // of the events
};

static inline void forge_start(struct forge *forge, uint64_t ts) {
    memset(forge, 0, sizeof(*forge));
    memcpy(forge->bytes, &ts, 8);
}

static inline void forge_word(struct forge *forge, uint32_t word) {
    memcpy(forge->bytes + FORGE_HEADER + forge->used, &word, 4);
    forge->used += 4;
    memcpy(forge->bytes + 8, &forge->used, 4);
}

static inline void forge_head(struct forge *forge, uint32_t type, uint32_t delta) {
    forge_word(forge, delta << 5 | type);
}

// An event of `words` words whose first is `value`.
static inline void forge_event(struct forge *forge, uint32_t delta, uint32_t words, uint32_t value) {
    forge_head(forge, words, delta);
    for (uint32_t i = 0; i < words; i++)
        forge_word(forge, i ? 0 : value);
}

static inline void forge_missed(struct forge *forge, int64_t count) {
    uint32_t commit = forge->used | RING_MISSED_EVENTS;
    if (count >= 0) {
        commit |= RING_MISSED_STORED;
        memcpy(forge->bytes + FORGE_HEADER + forge->used, &count, 8);
    }
    memcpy(forge->bytes + 8, &commit, 4);
}

// ---- sub-buffers of several CPUs as a source ----

struct forge_source {
    const uint8_t *pages[FORGE_CPUS];
    size_t n[FORGE_CPUS], at[FORGE_CPUS];
    uint32_t page_size, reads;
};

static inline ssize_t forge_read(void *ctx, uint32_t cpu, void *out, size_t size) {
    struct forge_source *source = ctx;
    source->reads++;
    if (source->at[cpu] == source->n[cpu] || size < source->page_size)
        return -11; // -EAGAIN
    memcpy(out, source->pages[cpu] + source->at[cpu]++ * source->page_size, source->page_size);
    return source->page_size;
}

static inline struct ring *forge_ring(struct forge_source *source) {
    if (!source->page_size)
        source->page_size = FORGE_PAGE;
    const struct ring_source from = {.ctx = source,
                                     .read = forge_read,
                                     .n_cpus = FORGE_CPUS,
                                     .page_size = source->page_size,
                                     .page_header = FORGE_HEADER};
    return ring_new(&from);
}

// ---- captured ones ----

static inline char *forge_file(const char *dir, const char *name, size_t *size) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "rb");
    char *bytes = calloc(1, 8 << 20);
    if (!file || !bytes) {
        fprintf(stderr, "cannot read %s (tests run in the top folder)\n", path);
        exit(1);
    }
    *size = fread(bytes, 1, (8 << 20) - 1, file);
    fclose(file);
    return bytes;
}

static inline void forge_load(struct forge_source *source, const char *dir, uint32_t cpus) {
    size_t size;
    char *about = forge_file(dir, "about", &size);
    memset(source, 0, sizeof(*source));
    source->page_size = (uint32_t)strtoul(about, NULL, 10);
    free(about);
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        char name[32];
        snprintf(name, sizeof(name), "cpu%u.raw", cpu);
        source->pages[cpu] = (uint8_t *)forge_file(dir, name, &size);
        source->n[cpu] = size / source->page_size;
    }
}

static inline void forge_unload(struct forge_source *source) {
    for (int cpu = 0; cpu < FORGE_CPUS; cpu++)
        free((void *)source->pages[cpu]);
}

#endif
