// Programs and maps of bpf(2), without a library: what ktop runs in the kernel is a few hundred instructions that it
// generates itself. Everything ends with its descriptors: a ktop that was killed leaves nothing. Needs CAP_BPF and
// CAP_PERFMON, or root. Kernel documents: Documentation/bpf/ (ringbuf.rst, map_array.rst).
#ifndef COLLECTORS_BPF_H
#define COLLECTORS_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- instructions ----

#define BPF_I(code_, dst_, src_, off_, imm_)                                                                           \
    ((struct bpf_insn){.code = (code_), .dst_reg = (dst_), .src_reg = (src_), .off = (off_), .imm = (imm_)})
#define BPF_MOVE(dst, src) BPF_I(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define BPF_MOVE_IMM(dst, imm) BPF_I(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define BPF_ADD_REG(dst, src) BPF_I(BPF_ALU64 | BPF_ADD | BPF_X, dst, src, 0, 0)
#define BPF_SUB_REG(dst, src) BPF_I(BPF_ALU64 | BPF_SUB | BPF_X, dst, src, 0, 0)
#define BPF_ADD_IMM(dst, imm) BPF_I(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, imm)
#define BPF_AND_IMM(dst, imm) BPF_I(BPF_ALU64 | BPF_AND | BPF_K, dst, 0, 0, imm)
#define BPF_SHIFT_RIGHT(dst, imm) BPF_I(BPF_ALU64 | BPF_RSH | BPF_K, dst, 0, 0, imm)
#define BPF_LOAD(size, dst, src, off) BPF_I(BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define BPF_STORE(size, dst, off, src) BPF_I(BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define BPF_STORE_IMM(size, dst, off, imm) BPF_I(BPF_ST | BPF_MEM | (size), dst, 0, off, imm)
#define BPF_JUMP_IF(op, reg, imm) BPF_I(BPF_JMP | (op) | BPF_K, reg, 0, 0, imm)
#define BPF_JUMP_IF_REG(op, reg, with) BPF_I(BPF_JMP | (op) | BPF_X, reg, with, 0, 0)
#define BPF_JUMP BPF_I(BPF_JMP | BPF_JA, 0, 0, 0, 0)
#define BPF_HELPER(function) BPF_I(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define BPF_RETURN BPF_I(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#define BPF_CODE_MAX 2048
struct bpf_code {
    struct bpf_insn insns[BPF_CODE_MAX];
    size_t n; // beyond BPF_CODE_MAX: too long, bpf_load refuses it
};
// Returns the instruction's index, for bpf_land.
size_t bpf_put(struct bpf_code *code, struct bpf_insn insn);
void bpf_put_map(struct bpf_code *code, uint8_t reg, int map_fd);
// The address of the value of an array with one entry.
void bpf_put_map_value(struct bpf_code *code, uint8_t reg, int map_fd);
// Reads the kernel's pointer at R3 + offset to the 8 bytes of the stack at `stack`; 0 where it cannot be read. Changes
// the caller-saved registers.
void bpf_put_pointer(struct bpf_code *code, int16_t stack, int32_t offset);
// The same for 4 bytes, into a register.
void bpf_put_word(struct bpf_code *code, uint8_t reg, int16_t stack, int32_t offset);
// Look up the key at that offset of the stack in the map (R0: its value's address, or 0); put the value there.
void bpf_put_lookup(struct bpf_code *code, int map_fd, int16_t key);
void bpf_put_update(struct bpf_code *code, int map_fd, int16_t key, int16_t value, int flags);
// The jump at that index goes to the next instruction to be put.
void bpf_land(struct bpf_code *code, size_t jump);
// A jump back to that index: a loop, which the kernel accepts from Linux 5.3 on if it ends.
void bpf_jump_to(struct bpf_code *code, size_t to);

// ---- the kernel's side ----

// Descriptors or -errno. Maps are private to ktop.
int bpf_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t entries);
int bpf_map_flags(enum bpf_map_type type, uint32_t key_size, uint32_t value_size, uint32_t entries, uint32_t flags);
int bpf_load(const struct bpf_code *code, enum bpf_prog_type type, const char *name);
int bpf_attach_raw(int program, const char *tracepoint); // until the descriptor is closed
int bpf_attach_perf(int program, int event);             // 0 or -errno; until the event is closed

// Links to many places at once, with a cookie for each (bpf_get_attach_cookie). The headers that ktop is built with may
// be older than the kernel.
enum bpf_multi { BPF_KPROBE_MULTI = 42, BPF_UPROBE_MULTI = 48 };                         // attach types
int bpf_load_multi(const struct bpf_code *code, enum bpf_multi multi, const char *name); // type kprobe
struct bpf_uprobes {
    const char *path;
    const uint64_t *offsets, *cookies;
    uint32_t n;
    bool returns;
    int32_t pid; // of a process
};
int bpf_link_uprobes(int program, const struct bpf_uprobes *uprobes); // Linux 6.6; until the descriptor is closed
struct bpf_kprobes {
    const char *const *names;
    const uint64_t *cookies;
    uint32_t n;
    bool returns;
};
int bpf_link_kprobes(int program, const struct bpf_kprobes *kprobes); // Linux 5.18, CONFIG_FPROBE
// The sum over all CPUs of an 8-byte value of a per-CPU array. 0 if it cannot be read.
uint64_t bpf_sum(int map_fd, uint32_t index);
// Keys of a map in no order; key NULL: the first one. -ENOENT: the end. next may be key.
int bpf_next_key(int map_fd, const void *key, void *next);
int bpf_lookup(int map_fd, const void *key, void *value);
int bpf_update(int map_fd, const void *key, const void *value);
// The cause of a failure and the fix, one sentence each.
void bpf_explain(int error, char *reason, size_t reason_size, char *fix, size_t fix_size);

// ---- a ring buffer ----

struct bpf_ring {
    int fd;                // of the map; readable when there are records
    uint32_t size;         // a power of two, at least a page
    uint64_t *consumer;    // position up to which records were read
    const uint8_t *kernel; // the producer's position, then the data twice in a row
};
int bpf_ring_open(struct bpf_ring *ring, uint32_t size); // 0 or -errno
void bpf_ring_close(struct bpf_ring *ring);
// Passes all finished records, oldest first; each is contiguous and aligned to 8 bytes. Returns how many.
size_t bpf_ring_drain(struct bpf_ring *ring, void (*fn)(void *context, const uint8_t *record, uint32_t size),
                      void *context);

#endif
