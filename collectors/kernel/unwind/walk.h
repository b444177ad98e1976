// Steps that need no table: memory of the copy, frame pointers, and checks of return addresses. Used by unwind.c.
#ifndef COLLECTORS_KERNEL_UNWIND_WALK_H
#define COLLECTORS_KERNEL_UNWIND_WALK_H

#include "collectors/kernel/unwind/cfi.h"
#include "collectors/kernel/unwind/remote.h"

enum step {
    STEP_OK,
    STEP_WHOLE, // no caller
    STEP_LEFT,  // needs memory above the copy
    STEP_NO_ROW,
    STEP_BAD,
};

// The address of code without the bits of its pointer authentication.
uint64_t unwind_code_address(uint64_t address);
// The bits that an address of user space may have, from any of its high addresses.
uint64_t unwind_address_mask(uint64_t high);

// A word of the copied stack.
enum step unwind_copy_word(const struct unwind_copy *copy, uint64_t address, uint64_t *value);
// The caller's registers, by a rule.
enum step unwind_apply_rule(const struct cfi_rule *rule, const struct unwind_copy *copy,
                            const struct unwind_registers *from, struct unwind_registers *to);
// Whether a function with this rule keeps a frame record: return address above the caller's frame pointer.
bool unwind_keeps_record(const struct cfi_rule *rule);
// Where the stack pointer is unknown: the CFA by the frame record that fp points to. False: the rule describes none.
bool unwind_rule_by_record(struct cfi_rule *rule);
// The caller's registers, by the frame record that fp points to. The return address is not checked.
enum step unwind_apply_fp(const struct unwind_copy *copy, const struct unwind_registers *from,
                          struct unwind_registers *to);
// The caller's registers, when the interrupted instruction, whose bytes `code` holds, is before the frame record is
// made or after it is gone: the frame pointer is the caller's then. False: it says nothing. The return address is not
// checked.
bool unwind_apply_edge(const uint8_t *code, size_t size, const struct unwind_copy *copy,
                       const struct unwind_registers *from, struct unwind_registers *to);
#define UNWIND_EDGE_MAX 4
// The caller's registers, of an interrupted Go function: size bytes from the stack pointer to the return address.
// False: it is not in the copy, or the architecture has it elsewhere. It is not checked.
bool unwind_apply_go(uint32_t size, const struct unwind_copy *copy, const struct unwind_registers *from,
                     struct unwind_registers *to);
// The registers that a signal interrupted, when ip is at the kernel's trampoline, whose bytes `code` holds. Only where
// UNWIND_TRAMPOLINE: the C libraries of x86-64 describe theirs in their tables.
bool unwind_apply_sigreturn(const uint8_t code[8], const struct unwind_copy *copy, const struct unwind_registers *from,
                            struct unwind_registers *to, enum step *step);
#if defined(UNWIND_ARM64)
#define UNWIND_TRAMPOLINE true
#define UNWIND_RECORD_LOW true // frame records are at the lower end of frames: the caller's stack pointer is unknown
#else
#define UNWIND_TRAMPOLINE false
#define UNWIND_RECORD_LOW false
#endif
// Whether the bytes before a return address, `size` of them up to UNWIND_CALL_MAX, end in a call instruction.
bool unwind_is_call(const uint8_t *before, size_t size);
#define UNWIND_CALL_MAX 8

// The continuation of a stack that leaves the copy: the index in the kernel's frame-pointer chain of the frame after
// the last of `frames`; chain_count: the chain does not meet it.
size_t unwind_splice(const struct unwind_frame *frames, size_t count, const uint64_t *chain, size_t chain_count);

#endif
