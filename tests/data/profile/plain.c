// Two functions and a caller between them and main(); built with and without what an unwinder needs.
#include "parts.h"

FUNCTION void seven(uint64_t turns) {
    SPIN(turns);
}

FUNCTION void three(uint64_t turns) {
    SPIN(turns);
}

FUNCTION void outer(uint64_t turns, void (*inner)(uint64_t)) {
    inner(turns);
    __asm__ volatile(""); // no tail call
}

FUNCTION void run_seven(uint64_t turns) {
    outer(turns, seven);
    __asm__ volatile("");
}

FUNCTION void run_three(uint64_t turns) {
    outer(turns, three);
    __asm__ volatile("");
}

int main(void) {
    struct part parts[] = {{"seven", run_seven, 7, 0}, {"three", run_three, 3, 0}};
    parts_print(parts, 2, parts_run(parts, 2));
    return 0;
}
