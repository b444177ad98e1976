// The program that records system calls in the kernel, at the raw tracepoint sys_exit, in the context of the thread:
// the arguments from its registers, and the strings that they point to. The kernel has just read these strings itself,
// so their pages are present; of a static or a Go program as of any other. Cost: 0.1 us for each system call of the
// machine, and 0.4 us for a recorded one. Calls by io_uring and of 32-bit programs are not recorded.
#ifndef COLLECTORS_EVENTS_CALL_PROGRAM_H
#define COLLECTORS_EVENTS_CALL_PROGRAM_H

#include "collectors/events/call_table.h"
#include "collectors/kernel/bpf/recorder.h"
#include "collectors/kernel/bpf/task.h"

#define CALL_STRING_BYTES 4096 // with its NUL: PATH_MAX, and a page of mount options
#define CALL_UNREADABLE -1

// What the program writes, and then the strings of the call's arguments, one after the other.
struct call_record {
    uint64_t ns; // CLOCK_MONOTONIC, at the end of the call
    struct bpf_task task;
    uint32_t call, cpu; // call: index in calls_table
    int64_t result;
    uint64_t args[CALL_ARGS];
    int16_t lengths[CALL_STRINGS]; // with the NUL; CALL_UNREADABLE; 0: no such argument
    char comm[16];
};

#define CALL_RING_BYTES (4u << 20) // 25,000 calls

// Generates the program: records the calls whose `wanted` is true, but not those of the process self. The
// recorder is open, with CALL_SCRATCH_BYTES.
#define CALL_SCRATCH_BYTES (sizeof(struct call_record) + CALL_STRINGS * CALL_STRING_BYTES)
void call_program(struct bpf_code *code, const bool *wanted, uint32_t self, const struct bpf_task_offsets *offsets,
                  const struct bpf_recorder *recorder);

#endif
