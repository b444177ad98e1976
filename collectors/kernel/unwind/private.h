// For the tests and the benchmark of the unwinder.
#ifndef COLLECTORS_KERNEL_UNWIND_PRIVATE_H
#define COLLECTORS_KERNEL_UNWIND_PRIVATE_H

#include "collectors/kernel/unwind/unwind.h"

// An unwinder that takes every step that has a row by libunwind, with its cache: for one process, never flushed.
struct unwinder *unwinder_new_oracle(const struct unwind_source *source);

#endif
