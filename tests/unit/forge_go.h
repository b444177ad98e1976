// A .gopclntab of three functions, as the linkers of Go 1.2, 1.16, 1.18 and 1.20 write it: main.a at 0x401000, 16
// bytes; main.(*T).b, 48 bytes; main.c, 32 bytes, the last one.
#ifndef TESTS_FORGE_GO_H
#define TESTS_FORGE_GO_H

#include <stdint.h>
#include <string.h>

#define GO_TEXT 0x401000u
#define GO_TABLE_MAX 512

struct go_forge {
    uint32_t magic;
    unsigned pointer; // bytes
    uint8_t bytes[GO_TABLE_MAX];
    size_t size;
};

static inline void go_put(struct go_forge *forge, uint64_t value, unsigned size) { // little-endian
    memcpy(forge->bytes + forge->size, &value, size);
    forge->size += size;
}

static inline void go_forge(struct go_forge *forge) {
    static const char names[] = "main.a\0main.(*T).b\0main.c";
    static const uint64_t starts[] = {0, 16, 64, 96}, at[] = {0, 7, 19};
    unsigned pointer = forge->pointer, relative = forge->magic == 0xfffffff0 || forge->magic == 0xfffffff1;
    unsigned word = relative ? 4 : pointer, fields = relative ? 8 : forge->magic == 0xfffffffa ? 7 : 1;
    uint64_t name_table = 8 + (uint64_t)fields * pointer, functions = name_table + sizeof(names);
    uint64_t base = relative ? 0 : GO_TEXT, entries = 7 * word;
    forge->size = 0;
    go_put(forge, forge->magic, 4);
    go_put(forge, 0, 2);
    go_put(forge, 1, 1);
    go_put(forge, pointer, 1);
    go_put(forge, 3, pointer);
    if (fields == 1) { // the entries follow, all offsets are from the start, and the names are last
        functions = 0;
        name_table = 8 + pointer + entries + 3 * (uint64_t)(word + 8);
        entries += 8 + pointer;
    } else {
        go_put(forge, 1, pointer); // files
        if (relative)
            go_put(forge, GO_TEXT, pointer);
        go_put(forge, name_table, pointer);
        for (int i = 0; i < 3; i++)
            go_put(forge, 0, pointer);
        go_put(forge, functions, pointer);
        memcpy(forge->bytes + forge->size, names, sizeof(names));
        forge->size += sizeof(names);
        name_table = 0;
    }
    for (int i = 0; i < 3; i++) {
        go_put(forge, base + starts[i], word);
        go_put(forge, entries + (uint64_t)i * (word + 8), word);
    }
    go_put(forge, base + starts[3], word);
    for (int i = 0; i < 3; i++) {
        go_put(forge, base + starts[i], word);
        go_put(forge, name_table + at[i], 4);
        go_put(forge, 0, 4); // size of the arguments
    }
    if (fields == 1) {
        memcpy(forge->bytes + forge->size, names, sizeof(names));
        forge->size += sizeof(names);
    }
}

#endif
