// Forged block events, and the formats of captured ones.
#ifndef TESTS_UNIT_FORGE_BLOCK_H
#define TESTS_UNIT_FORGE_BLOCK_H

#include "collectors/block/match.h"
#include "tests/unit/forge_ring.h"

#define BLOCK_DATA "tests/data/block-6.18"

// Formats of a captured kernel: for each event "== NAME", then its format file.
static inline void forge_formats(struct block_formats *formats, const char *dir) {
    size_t size;
    char *text = forge_file(dir, "formats", &size);
    memset(formats, 0, sizeof(*formats));
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        char head[64];
        snprintf(head, sizeof(head), "== %s\n", block_event_names[kind]);
        char *at = strstr(text, head);
        if (!at)
            continue;
        at += strlen(head);
        char *end = strstr(at, "\n== ");
        size_t length = end ? (size_t)(end + 1 - at) : strlen(at);
        if (block_format_parse(&formats->kinds[kind], (enum block_kind)kind, at, length, NULL)) {
            fprintf(stderr, "%s: bad format\n", block_event_names[kind]);
            exit(1);
        }
    }
    block_formats_index(formats);
    free(text);
}

static inline struct block_event forge_block(enum block_kind kind, uint64_t ts, const char *rwbs, uint64_t sector,
                                             uint32_t sectors) {
    return (struct block_event){.ts = ts,
                                .kind = (uint8_t)kind,
                                .dev = 7 << 20,
                                .sector = sector,
                                .sectors = sectors,
                                .bytes = sectors * 512,
                                .tid = 42,
                                .rwbs = rwbs,
                                .rwbs_size = (uint8_t)(strlen(rwbs) + 1),
                                .comm = "fio\0\0\0\0\0\0\0\0\0\0\0\0"};
}

#endif
