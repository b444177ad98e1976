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

// Stack pointer of main.a: at the return address up to 4, then 24 bytes below it up to 14.
static const uint8_t go_steps[] = {0, 2, 4, 48, 10, 47, 2, 0};

// Of one function; `steps`: 0: none.
static inline void go_put_function(struct go_forge *forge, uint64_t start, unsigned word, uint64_t name, uint64_t steps,
                                   unsigned flags) {
    go_put(forge, start, word);
    go_put(forge, name, 4);
    go_put(forge, 0, 8); // arguments, deferred return
    go_put(forge, steps, 4);
    go_put(forge, 0, 8); // files, lines
    go_put(forge, 0, 4); // tables of data
    if (forge->magic != 0xfffffffb)
        go_put(forge, 0, 4); // compilation unit
    if (forge->magic == 0xfffffff1)
        go_put(forge, 0, 4); // line
    go_put(forge, 0, 1);     // kind
    go_put(forge, forge->magic == 0xfffffffb ? 0 : flags, 1);
    go_put(forge, 0, 2);
}

static inline void go_forge(struct go_forge *forge) {
    static const char names[] = "main.a\0main.(*T).b\0main.c";
    static const uint64_t starts[] = {0, 16, 64, 96}, at[] = {0, 7, 19};
    static const unsigned flags[] = {0, 1, 2}; // main.(*T).b has no caller, main.c changes the stack
    unsigned pointer = forge->pointer, relative = forge->magic == 0xfffffff0 || forge->magic == 0xfffffff1;
    unsigned old = forge->magic == 0xfffffffb, fields = relative ? 8 : old ? 1 : 7;
    unsigned word = relative ? 4 : pointer, each = word + 32 + 4 * !old + 4 * (forge->magic == 0xfffffff1);
    uint64_t base = relative ? 0 : GO_TEXT, header = 8 + (uint64_t)fields * pointer;
    uint64_t name_table = header, step_table = name_table + sizeof(names), entries = step_table + sizeof(go_steps);
    if (old) { // the entries come first, and all offsets are from the start
        entries = header;
        name_table = entries + 7ull * word + 3ull * each;
        step_table = name_table + sizeof(names);
    }
    forge->size = 0;
    go_put(forge, forge->magic, 4);
    go_put(forge, 0, 2);
    go_put(forge, 1, 1);
    go_put(forge, pointer, 1);
    go_put(forge, 3, pointer);
    if (!old) {
        go_put(forge, 1, pointer); // files
        if (relative)
            go_put(forge, GO_TEXT, pointer);
        go_put(forge, name_table, pointer);
        go_put(forge, 0, pointer);
        go_put(forge, 0, pointer);
        go_put(forge, step_table, pointer);
        go_put(forge, entries, pointer);
    }
    for (int part = 0; part < 2; part++) {
        if ((part == 0) == old) {
            for (int i = 0; i < 4; i++) {
                go_put(forge, base + starts[i], word);
                if (i < 3)
                    go_put(forge, (old ? entries : 0) + 7ull * word + (uint64_t)i * each, word);
            }
            for (int i = 0; i < 3; i++)
                go_put_function(forge, base + starts[i], word, (old ? name_table : 0) + at[i],
                                i == 1 ? 0 : (old ? step_table : 0) + 1, flags[i]);
            continue;
        }
        memcpy(forge->bytes + forge->size, names, sizeof(names));
        memcpy(forge->bytes + forge->size + sizeof(names), go_steps, sizeof(go_steps));
        forge->size += sizeof(names) + sizeof(go_steps);
    }
}

#endif
