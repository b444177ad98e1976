// The link register of arm64: it holds the return address from a call until the function calls another one. Decoding of
// instructions, for code that no unwind table covers.
#ifndef COLLECTORS_KERNEL_UNWIND_LINK_H
#define COLLECTORS_KERNEL_UNWIND_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum link {
    LINK_LOST,     // stored in a frame, or overwritten
    LINK_SP_MOVED, // holds the return address; the stack pointer is lower than at the call
    LINK_HELD,     // and the stack pointer is that of the call
};
bool unwind_link_is_call(uint32_t code);
// After the `count` instructions from a function's start.
enum link unwind_link_after(const uint32_t *code, size_t count);
// Of the instruction at address - 4: a call of the function at *target. False: not a call, or the target is in a
// register.
bool unwind_link_target(uint32_t call, uint64_t address, uint64_t *target);
// How many of the last instructions belong to the function that they end in: from `paciasp`, else from a return on.
size_t unwind_link_begin(const uint32_t *code, size_t count);
// Whether the instructions, of which the first is interrupted, are those of a PLT entry: `br x17`.
bool unwind_link_is_plt(const uint32_t code[4]);

#endif
