// User stacks from a copy of the top of the stack (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER) and the unwind
// tables of the mapped files. Where the copy ends, the kernel's frame-pointer chain continues the stack (splice).
// JIT code is stepped over by frame pointer, with checks.
//
// Files are read in blocks with pread(2) into a bounded cache; no descriptor and no mapping of a file is kept, so a
// file that shrinks is a failed read. Input is hostile: every loop is bounded by its size or by a budget per stack.
// One thread owns an unwinder. Only 64-bit user code of the kernel's own architecture can be unwound.
#ifndef COLLECTORS_KERNEL_UNWIND_H
#define COLLECTORS_KERNEL_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__aarch64__) && !defined(UNWIND_ARM64) // a test defines it elsewhere
#define UNWIND_ARM64
#endif

#if !defined(UNWIND_ARM64)
// sample_regs_user: rbx, rbp, rsp, rip, r12 to r15 (asm/perf_regs.h).
#define UNWIND_REGS_MASK (1ull << 1 | 7ull << 6 | 0xfull << 20)
#define UNWIND_SAVED 5 // rbx, r12 to r15
#define UNWIND_LINK_MASK 0
#else
// x19 to x28, x29 (frame pointer), lr, sp, pc.
#define UNWIND_REGS_MASK (0x3fffull << 19)
#define UNWIND_SAVED 10 // x19 to x28
// sample_regs_user without a copy of the stack, for unwind_chain: lr.
#define UNWIND_LINK_MASK (1ull << 30)
#endif

struct unwind_registers {
    uint64_t ip, sp, fp;
    uint64_t lr; // arm64; 0 on x86-64
    uint64_t saved[UNWIND_SAVED];
};
// The values of PERF_SAMPLE_REGS_USER with UNWIND_REGS_MASK, in the kernel's order (ascending bits), after the ABI
// word. `count` values are readable. False: too few.
bool unwind_registers_decode(const uint64_t *values, size_t count, struct unwind_registers *out);

uint64_t unwind_link_decode(uint64_t value); // that of UNWIND_LINK_MASK

// A mapping, as PERF_RECORD_MMAP2 and /proc/PID/maps describe it.
struct unwind_map {
    uint64_t start, end, offset; // file offset of start
    uint64_t identity[2];        // equal for the same file only: device and inode, or the start of its build ID
    bool is_build_id;            // identity is; a file that has another one is not read
    bool executable;
    const char *path; // as the process sees it; "[vdso]", "//anon", ""; valid until the callback is called again
    void *cookie;     // the caller's, for `open`
};

struct unwind_file_state { // of a file when bytes of it were read
    uint64_t size;
    int64_t mtime_s, mtime_ns;
};

// The caller's knowledge of processes. All are called from unwind_stack, in its thread. They must not block: what is
// not there yet is -EAGAIN, the stack is walked without it, and the next stack asks again.
struct unwind_source {
    void *context;
    // The mapping of pid at `address`. False: none is known. Results are kept until unwind_flush or unwind_ended.
    bool (*map)(void *context, pid_t pid, uint64_t address, struct unwind_map *out);
    // Bytes at an offset of the file of a mapping (of /proc/PID/map_files, or of a path below /proc/PID/root): how
    // many, 0 at its end, or -errno, also where the path leads to another device or inode by now (-ESTALE). Of `map`,
    // start, end, offset, identity and cookie are as they were; path is NULL.
    ssize_t (*read)(void *context, pid_t pid, const struct unwind_map *map, uint64_t offset, void *out, size_t size,
                    struct unwind_file_state *state);
    // Bytes of the process's memory: how many, 0: they cannot be read, or -EAGAIN. NULL: process_memory_read is used.
    ssize_t (*memory)(void *context, pid_t pid, uint64_t address, void *out, size_t size);
};
// For `read`: of a descriptor of a regular file, which it closes; or of an error.
ssize_t unwind_read(int fd, uint64_t offset, void *out, size_t size, struct unwind_file_state *state);

enum unwind_ending {
    UNWIND_WHOLE,       // the outermost frame has no caller (undefined return address, or address 0)
    UNWIND_SPLICED,     // the copy ended; the kernel's frame-pointer chain continues it to its end
    UNWIND_CUT,         // the copy ended, and the frame-pointer chain does not meet the last frame
    UNWIND_NO_MAP,      // an address in no known mapping
    UNWIND_NO_ROW,      // no unwind table covers the address, and the frame pointer does not lead on
    UNWIND_LOOP,        // the stack pointer did not grow
    UNWIND_BAD_ADDRESS, // a saved register lies outside the stack, or a return address is not code
    UNWIND_FULL,        // more than `max` frames
    UNWIND_ENDINGS
};
const char *unwind_ending_text(enum unwind_ending ending); // for a note: "no unwind table"

struct unwind_input {
    pid_t pid;
    uint64_t
        version; // of its mappings: with another one than before, all are queried again; constant: see unwind_flush
    struct unwind_registers registers;
    const uint8_t *stack;  // the bytes at registers.sp
    size_t stack_size;     // dyn_size of the sample: the valid ones
    const uint64_t *chain; // user part of the kernel's callchain, innermost first, without context markers
    size_t chain_count;
};

struct unwind_frame {
    uint64_t ip;
    bool exact; // of the interrupted instruction (innermost, or interrupted by a signal), or the start of a signal
                // trampoline; else a return address: look up ip - 1
};

struct unwinder;
struct unwinder *unwinder_new(const struct unwind_source *source);
void unwinder_free(struct unwinder *unwinder);

// Frames from the innermost to the outermost into `out`. The count (at least 1 for max >= 1), and how the walk ended.
size_t unwind_stack(struct unwinder *unwinder, const struct unwind_input *input, struct unwind_frame *out, size_t max,
                    enum unwind_ending *ending);

// The frames of a frame-pointer chain, with what it lacks on arm64: the caller of a function that has no frame record
// yet, or never has one, is in the link register only. *incomplete: an unwind table says that a function of the chain
// keeps no frame record, so that the chain lacks its callers. Of `input`, pid, version, chain and registers.lr are
// used.
size_t unwind_chain(struct unwinder *unwinder, const struct unwind_input *input, struct unwind_frame *out, size_t max,
                    bool *incomplete);

// What is mapped in [start, end) of the process changed: PERF_RECORD_MMAP2 over it, or munmap.
void unwind_flush(struct unwinder *unwinder, pid_t pid, uint64_t start, uint64_t end);
void unwind_ended(struct unwinder *unwinder, pid_t pid); // exit, exec, or PID reuse

uint64_t unwind_bytes(const struct unwinder *unwinder); // memory in use, at most UNWIND_BYTES_MAX
#define UNWIND_BYTES_MAX (40ull << 20)

#endif
