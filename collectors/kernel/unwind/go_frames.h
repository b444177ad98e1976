// Frames of Go code from its runtime's own table, .gopclntab: Go writes no .eh_frame. Callers have frame pointers; what
// those lack is the caller of a function that has no frame of its own, and where a thread or goroutine begins.
// Formats of Go 1.2, 1.16, 1.18 and 1.20 on: Go's src/runtime/symtab.go, runtime2.go (_func), internal/abi/symtab.go.
#ifndef COLLECTORS_KERNEL_UNWIND_GO_FRAMES_H
#define COLLECTORS_KERNEL_UNWIND_GO_FRAMES_H

#include "collectors/kernel/unwind/object.h"

struct unwind_go_frame {
    bool top;      // the function has no caller
    bool sized;    // `size` is known
    uint32_t size; // from the stack pointer to the return address
};

// Reads the header of a table. text: address of .text, for a program whose table is completed when it is loaded. False:
// malformed; then file->object->go is empty.
bool unwind_go_open(const struct unwind_file *file, uint64_t offset, uint64_t size, uint64_t text);
// False: the address is in no function of the table.
bool unwind_go_find(const struct unwind_file *file, uint64_t vaddr, struct unwind_go_frame *out);

#endif
