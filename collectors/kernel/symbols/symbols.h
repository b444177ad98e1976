// From addresses to names, for profiles. A code address becomes an ID in a name table at once, and the ID gets its
// symbol as soon as that is known: files are read in a thread of their own ("ktop-symbols"), so neither a collector
// nor the screen waits for one. Until then the name is "[libfoo.so+0x12ab]", which is also the name of a function
// without a symbol: there the offset is the one of its start, if the unwind table has it.
//
// Addresses of one function get the same ID once its file has been read; before, each address has its own. Views merge
// nodes of equal names (views/flame/fold.h).
//
// One collector thread calls these functions. Kernel documents: Documentation/ABI/testing/procfs-... (map_files),
// proc(5), elf(5).
#ifndef COLLECTORS_SYMBOLS_H
#define COLLECTORS_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/names.h"

struct symbols;
struct symbols_object;

#define BUILD_ID_MAX 20

// What a mapping says of its file, as PERF_RECORD_MMAP2 and /proc/PID/maps have it.
struct object_key {
    pid_t pid;              // of a process that maps it: its root, its map_files and its perf map are looked at
    uint64_t start, end;    // of the mapping, for /proc/PID/map_files/START-END
    uint64_t device, inode; // makedev(major, minor); 0: unknown
    uint8_t build_id[BUILD_ID_MAX];
    uint8_t build_id_size; // 0: unknown
    const char *path;      // as the process sees it; "[vdso]", "//anon", "/memfd:jit (deleted)"
};

// The name table gets the names; a reference is kept. Starts the thread. NULL with errno.
struct symbols *symbols_new(struct name_table *names);
void symbols_free(struct symbols *symbols); // waits for the thread at most 100 ms; a read that hangs is abandoned

// The same object for the same file (build ID, else device, inode, and change time), whatever process maps it.
// Borrowed; it lives as long as `symbols`. Never NULL; the number of objects is bounded, above that one object stands
// for all. A mapping without a file ("//anon", "[heap]", a JIT's memfd) gives the process's JIT object: its offsets are
// addresses. Mapping "jit-PID.dump" announces a jitdump file.
struct symbols_object *symbols_object(struct symbols *symbols, const struct object_key *key);
// Code that no file has, of one process: JIT code, named by /tmp/perf-PID.map and jitdump.
struct symbols_object *symbols_jit(struct symbols *symbols, pid_t pid);
bool symbols_is_jit(const struct symbols_object *object); // pass addresses, not offsets

// IDs of names (model/names.h: name_pack). `offset` is in the file: ip - mapping start + mapping file offset; of a JIT
// object the address itself. Callers' addresses are return addresses: pass ip - 1.
uint32_t symbols_user(struct symbols *symbols, struct symbols_object *object, uint64_t offset);
uint32_t symbols_kernel(struct symbols *symbols, uint64_t ip); // kernel, modules, BPF programs
// PERF_RECORD_KSYMBOL: code that came or went after kallsyms was read.
void symbols_ksymbol(struct symbols *symbols, uint64_t address, uint32_t size, const char *name, bool gone);
void symbols_process_ended(struct symbols *symbols, pid_t pid); // its JIT object is for no new process of that PID

// ---- source lines ----
//
// Where an address is in the source: the innermost inlined function first, the function that the symbol names last.
#define SOURCE_FRAMES_MAX 8
struct source_frame {
    char function[192]; // "": unknown
    char file[192];     // "": unknown
    uint32_t line;      // 0: unknown
};
struct symbols_source {
    uint32_t n; // 0: the file has no debug info for the address
    struct source_frame frames[SOURCE_FRAMES_MAX];
};
// For what is drawn: the last 256 answers are kept. false: looked up in the thread, call again later. `offset` as in
// symbols_user(); JIT code and the kernel have no lines.
bool symbols_source(struct symbols *symbols, struct symbols_object *object, uint64_t offset,
                    struct symbols_source *out);

// ---- instructions ----
//
// Of one function at a time: a new query replaces the one before. The answer is in code.h.
#define CODE_HOT_MAX 64
struct code_query {
    struct symbols_object *object; // NULL: the kernel
    uint64_t offset;               // in the function, as in symbols_user(); of the kernel an address
    uint64_t hot[CODE_HOT_MAX];    // offsets that were sampled, sorted
    uint32_t n_hot;
    pid_t pid; // a process that runs it: its memory and its root are looked at
};
struct code;
void symbols_code_want(struct symbols *symbols, const struct code_query *query);
struct code *symbols_code_take(struct symbols *symbols); // the caller's; NULL: not read yet, or taken before
// An address of the symbol that was named before, as in symbols_user(), of the kernel (`object` NULL) as in
// symbols_kernel(). `of`: name_object() of the name. False: not found.
bool symbols_find(struct symbols *symbols, struct symbols_object *object, const char *symbol, const char *of,
                  uint64_t *offset);
// How far the offset is in its symbol; of the kernel (`object` NULL) an address. False: no symbol covers it.
bool symbols_within(struct symbols *symbols, struct symbols_object *object, uint64_t offset, uint64_t *within);
struct symbols_object *symbols_file(struct symbols *symbols, const char *path); // mapped at that path; NULL: none

// What could not be named, and why, since the last call; for notes. false: nothing more. Each reason comes once per
// object.
struct symbols_note {
    char text[160]; // "libfoo.so has no symbols: install its debug package"
};
bool symbols_note(struct symbols *symbols, struct symbols_note *out);
uint64_t symbols_bytes(const struct symbols *symbols); // memory in use, at most SYMBOLS_BYTES_MAX
#define SYMBOLS_BYTES_MAX (96ull << 20)
// Whether everything asked for so far has been looked up; for batch, which writes each frame once.
bool symbols_idle(const struct symbols *symbols);

#endif
