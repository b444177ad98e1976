// Calls at the end of functions: a jump to the last one, which leaves no frame of its caller, and a call of a function
// that does not return, whose return address is behind the end of its caller.
#include <setjmp.h>

#include "parts.h"

#define OPAQUE __attribute__((noinline, noclone, noipa))

static uint64_t in_first;
static jmp_buf out;

OPAQUE uint64_t tail_last(uint64_t turns) {
    SPIN(turns);
    return turns;
}

OPAQUE uint64_t tail_first(uint64_t turns) {
    uint64_t before = cpu_ns();
    SPIN(turns);
    in_first += cpu_ns() - before;
    return tail_last(turns + turns / 2);
}

FUNCTION void run_tail(uint64_t turns) {
    tail_first(turns);
}

OPAQUE __attribute__((noreturn)) void leaves(uint64_t turns) {
    SPIN(turns);
    longjmp(out, 1);
}

OPAQUE void abandoned(uint64_t turns) {
    leaves(turns + 1);
}

FUNCTION void run_leaves(uint64_t turns) {
    if (!setjmp(out)) // NOLINT(cert-err52-cpp)
        abandoned(turns);
}

int main(void) {
    struct part parts[] = {{"tail_first", run_tail, 2, 0}, {"tail_last", NULL, 0, 0}, {"leaves", run_leaves, 5, 0}};
    uint64_t total = parts_run(parts, 3);
    parts[1].ns = parts[0].ns - in_first;
    parts[0].ns = in_first;
    parts_print(parts, 3, total);
    return 0;
}
