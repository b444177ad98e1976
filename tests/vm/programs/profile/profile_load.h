// The work of the functions with known shares of time.
#ifndef TESTS_VM_PROFILE_LOAD_H
#define TESTS_VM_PROFILE_LOAD_H

#include <stdint.h>

#define FUNCTION __attribute__((noinline, noclone, noipa))

// A loop that no compiler shortens.
#define SPIN(n)                                                                                                        \
    for (uint64_t i = (n); i > 0; i--)                                                                                 \
    __asm__ volatile("")

void lib_ten(uint64_t n);

#endif
