// System calls by name: the tables of x86-64, i386 and arm64. Any thread, after the first call.
#ifndef COLLECTORS_KERNEL_SYSCALL_NAMES_H
#define COLLECTORS_KERNEL_SYSCALL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The table of system calls that a program uses. Raw syscall events do not carry it; it follows from the executable.
enum syscalls_abi {
    SYSCALLS_ABI_NATIVE, // the kernel's native table
    SYSCALLS_ABI_32,     // of a 32-bit program on a 64-bit kernel: i386, or 32-bit ARM (numbers only)
    SYSCALLS_ABI_X32,    // of x86-64, with bit 30 set
    SYSCALLS_ABIS
};
#define SYSCALLS_X32_BIT 0x40000000
#define SYSCALLS_NUMBERS 512 // per table; the last one is for all higher ones: "unknown"

enum syscalls_machine { SYSCALLS_X86_64, SYSCALLS_I386, SYSCALLS_ARM64, SYSCALLS_MACHINES };
#ifdef __aarch64__
#define SYSCALLS_MACHINE SYSCALLS_ARM64
#else
#define SYSCALLS_MACHINE SYSCALLS_X86_64
#endif

// NULL: no name there.
const char *syscalls_name_of(enum syscalls_machine machine, uint32_t number);
// -1: none.
int32_t syscalls_number_of(enum syscalls_machine machine, const char *name);
// The name as shown: "openat", "i386:open", "#600".
void syscalls_name(enum syscalls_abi abi, uint32_t number, char *out, size_t size);
// The name without its table, or NULL.
const char *syscalls_plain_name(enum syscalls_abi abi, uint32_t number);
// Results of the kernel for calls that a signal interrupted (ERESTARTSYS to ERESTART_RESTARTBLOCK, without ENOIOCTLCMD
// in between): programs never see them.
static inline bool syscalls_is_restart(int64_t result) {
    return result <= -512 && result >= -516 && result != -515;
}
// "ENOENT"; a number if it has no name.
void syscalls_error_name(uint32_t error, char *out, size_t size);

#endif
