// A library on a mount that hangs: its code runs on, its file cannot be read.
#include <stdint.h>

__attribute__((noinline)) static void hang_inner(uint64_t n) {
    for (volatile uint64_t i = 0; i < n; i++)
        ;
}

void hang_spin(uint64_t n) {
    hang_inner(n);
    __asm__ volatile(""); // no tail call
}
