// Offsets in the kernel's struct pt_regs, for programs at system calls: the layout is that of ptrace(2), and does not
// change. Other architectures have no REGS_BYTES.
#ifndef COLLECTORS_BPF_REGS_H
#define COLLECTORS_BPF_REGS_H

#include "collectors/kernel/bpf/bpf.h"

#if defined(__x86_64__)
#define REGS_BYTES 168
#define REGS_NUMBER 120 // orig_ax
#define REGS_NUMBER_BYTES 8
#define REGS_MODE 136 // cs
#define REGS_ARGUMENTS                                                                                                 \
    { 112, 104, 96, 56, 72, 64 } // di si dx r10 r8 r9
#define REGS_IS_32_BIT(mode) BPF_JUMP_IF(BPF_JEQ, mode, 0x23)
#elif defined(__aarch64__)
#define REGS_BYTES 288
#define REGS_NUMBER 280 // syscallno
#define REGS_NUMBER_BYTES 4
#define REGS_MODE 264 // pstate: PSR_MODE32_BIT
#define REGS_ARGUMENTS                                                                                                 \
    { 272, 8, 16, 24, 32, 40 } // orig_x0 x1 x2 x3 x4 x5
#define REGS_IS_32_BIT(mode) BPF_JUMP_IF(BPF_JSET, mode, 0x10)
#endif

#endif
