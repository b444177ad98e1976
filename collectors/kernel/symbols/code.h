// The instructions of a function as text, with their source lines: made by a reader of the symbol service for the one
// function that is looked at. Bounded: of a long function only what is near the sampled addresses.
#ifndef COLLECTORS_SYMBOLS_CODE_H
#define COLLECTORS_SYMBOLS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/kernel/symbols/symbols.h"

#define CODE_BYTES_MAX (1u << 20)    // of a function that are disassembled
#define CODE_WHOLE_BYTES (16u << 10) // a longer one only around the sampled addresses:
#define CODE_AROUND 192              // bytes before and after each
#define CODE_LINES_MAX 8192          // instructions

struct code_line {
    uint64_t offset;       // as in struct code_query
    uint64_t address;      // in the address space of the object; the text's jumps name such addresses
    uint32_t text;         // in code.texts; likewise the others, 0: unknown
    uint32_t function;     // inlined here
    uint32_t file, source; // source: the text of the line
    uint32_t line;         // 0: unknown
};

struct code {
    uint64_t start, end; // of the function, as offsets
    struct code_line *lines;
    uint32_t n, capacity;
    char *texts; // each ends in NUL; at 0 stands ""
    uint32_t texts_size, texts_capacity;
    struct symbols_source where; // of the queried offset
    char note[160];              // why instructions or lines are missing; "": none are
};

struct code *code_new(void);
void code_free(struct code *code); // NULL is allowed
// Where the copy of the text is in code->texts. 0: "" or no room.
uint32_t code_text(struct code *code, const char *text);

struct code_bytes {
    uint16_t machine; // EM_X86_64, EM_386, EM_AARCH64
    const uint8_t *bytes;
    size_t size;
    uint64_t offset, address; // of the first byte
    const uint64_t *hot;      // offsets that were sampled, sorted
    size_t n_hot;
};
// Adds the instructions of the bytes. False: no disassembler for the machine; code->note says so.
bool code_disassemble(struct code *code, const struct code_bytes *bytes);
// The target of a jump or call in the text of an instruction; false: it has none that is known.
bool code_target(const char *text, uint64_t *address);

// ---- source.c of a program: lines of text ----

struct source_files;
// Files are opened as the process sees them, else as ktop does.
struct source_files *source_files_new(pid_t pid);
void source_files_free(struct source_files *files);
// The text of a line, at most `size` - 1 bytes, without indentation. False: the file is not readable here, is no source
// file, is too large, or is shorter.
bool source_files_line(struct source_files *files, const char *path, uint32_t line, char *out, size_t size);

#endif
