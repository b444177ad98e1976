// A library that works in a constructor: the program's own code has not begun, and the outermost frames are those of
// the dynamic linker.
#include <stdlib.h>

#define main work
#include "plain.c"
#undef main

__attribute__((constructor)) static void construct(void) {
    exit(work());
}
