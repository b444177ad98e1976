// The header of .gopclntab, the table of functions that Go's runtime uses itself. Formats of Go 1.2, 1.16, 1.18 and
// 1.20 on: Go's src/runtime/symtab.go, src/debug/gosym/pclntab.go. Plain functions on bytes: any thread.
#ifndef COLLECTORS_KERNEL_GO_TABLE_H
#define COLLECTORS_KERNEL_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GO_HEAD_BYTES 72 // the longest header

struct go_head {
    uint64_t count;                            // of functions
    uint64_t names, functions, entries, steps; // offsets in the section; 0: not of this format
    uint64_t text;                             // what the starts of functions are relative to
    uint8_t pointer;                           // bytes of a pointer
    uint8_t word;                              // bytes of each half of an entry
    uint8_t quantum;                           // bytes of the shortest instruction
    uint8_t flags_at;                          // in the description of a function, of 8-byte pointers; 0: it has none
};

// text: address of .text, for a program whose table is completed when it is loaded. False: malformed, or shorter than
// the header of its format.
bool go_head_parse(const uint8_t *bytes, size_t size, uint64_t text, struct go_head *out);

#endif
