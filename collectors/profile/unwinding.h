// Walks user stacks from their copies in samples: the unwinder of collectors/kernel/unwind/, with the mappings of the
// address spaces (maps.h). One thread owns it.
#ifndef COLLECTORS_PROFILE_UNWINDING_H
#define COLLECTORS_PROFILE_UNWINDING_H

#include "collectors/profile/stacks.h"

struct unwinding;
struct unwinding *unwinding_new(struct space_maps *maps);
void unwinding_free(struct unwinding *unwinding);                 // before the maps
struct stacks_unwinder unwinding_of(struct unwinding *unwinding); // for stacks_new
void unwinding_process_gone(struct unwinding *unwinding, pid_t pid);
uint64_t unwinding_bytes(const struct unwinding *unwinding);

#endif
