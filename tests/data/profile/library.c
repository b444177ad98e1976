// The library of shared.c: it works itself, and calls the program back.
#include "parts.h"

FUNCTION void library_work(uint64_t turns) {
    SPIN(turns);
}

FUNCTION void library_calls(void (*back)(uint64_t), uint64_t turns) {
    back(turns);
    __asm__ volatile("");
}
