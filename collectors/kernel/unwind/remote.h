// One step by libunwind: for rows that a rule cannot say (expressions), and as the oracle that tests compare rules
// with. libunwind reads only what its accessors serve: the copied stack and the bytes of one file, within a budget.
#ifndef COLLECTORS_KERNEL_UNWIND_REMOTE_H
#define COLLECTORS_KERNEL_UNWIND_REMOTE_H

#include "collectors/kernel/unwind/object.h"

struct unwind_remote;
// cached: keeps what was decoded, by address: for a single process only. NULL: out of memory.
struct unwind_remote *unwind_remote_new(bool cached);
void unwind_remote_free(struct unwind_remote *remote);

struct unwind_copy {
    const uint8_t *bytes;
    uint64_t start;
    size_t size;
};
enum remote_result { REMOTE_OK, REMOTE_WHOLE, REMOTE_LEFT, REMOTE_FAILED }; // LEFT: needs memory above the copy

// The caller's registers. ip: the address to look up (registers.ip, or one less for a return address); bias: address
// in the process minus address in the file.
enum remote_result unwind_remote_step(struct unwind_remote *remote, const struct unwind_file *file,
                                      const struct unwind_fde *fde, uint64_t bias, uint64_t ip,
                                      const struct unwind_copy *copy, const struct unwind_registers *from,
                                      struct unwind_registers *to);

#endif
