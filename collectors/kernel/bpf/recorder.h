// A BPF program at a raw tracepoint that writes records to a ring buffer, with what it needs: its maps, and a count of
// the records that found no room. It ends with its descriptors. One thread owns it.
#ifndef COLLECTORS_BPF_RECORDER_H
#define COLLECTORS_BPF_RECORDER_H

#include "collectors/kernel/bpf/bpf.h"

struct bpf_recorder {
    struct bpf_ring ring;
    int scratch; // per CPU: memory for one record, larger than the stack; index 0
    int dropped; // per CPU: records that found no room; index 0
    int program, link;
};

// The maps; no program runs yet. scratch_bytes 0: no scratch. 0 or -errno, and nothing is open.
int bpf_recorder_open(struct bpf_recorder *recorder, uint32_t ring_bytes, uint32_t scratch_bytes);
// Loads the program and attaches it. 0 or -errno; the maps stay open.
int bpf_recorder_start(struct bpf_recorder *recorder, const struct bpf_code *code, const char *name,
                       const char *tracepoint);
void bpf_recorder_close(struct bpf_recorder *recorder);             // open, started, or only opened in part
uint64_t bpf_recorder_dropped(const struct bpf_recorder *recorder); // since it was opened

// For its program. Both change the caller-saved registers and the 4 bytes of the stack at -4.
// reg = address of the scratch memory. Returns a jump that is taken if there is no such memory.
size_t bpf_put_scratch(struct bpf_code *code, uint8_t reg, const struct bpf_recorder *recorder);
// Writes the record at `reg`, of the bytes in `size` (a register), to the ring; flags: a register.
void bpf_put_record(struct bpf_code *code, uint8_t reg, uint8_t size, uint8_t flags,
                    const struct bpf_recorder *recorder);

#endif
