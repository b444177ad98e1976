// The thread that runs a BPF program, as its record has it: also of threads that exit before ktop reads the record.
#ifndef COLLECTORS_BPF_TASK_H
#define COLLECTORS_BPF_TASK_H

#include "collectors/kernel/bpf/bpf.h"
#include "collectors/kernel/proc/thread_status.h"

// IDs are those of the first PID and user namespace.
struct bpf_task {
    uint32_t tid, pid;
    uint32_t ppid, user; // ppid 0: none, or unknown; user: real
};
// Where task_struct has them.
struct bpf_task_offsets {
    int32_t parent, tgid; // -1: this kernel does not tell; then ppid is 0
};
struct bpf_task_offsets bpf_task_offsets(void); // reads the kernel's type information: some 10 ms

// Writes a struct bpf_task to `at` bytes behind the address in the register `out`, and the address of the parent's
// task_struct to the 8 bytes of the stack at `stack`, if offsets->parent >= 0. Changes the caller-saved registers.
void bpf_put_task(struct bpf_code *code, uint8_t out, int16_t at, int16_t stack,
                  const struct bpf_task_offsets *offsets);

struct thread_status bpf_task_status(const struct bpf_task *task, const char *comm); // comm: 16 bytes

#endif
