// A recursion whose stack is larger than the copy that a sample has, and one that fits.
#include "parts.h"

FUNCTION void deep_leaf(uint64_t turns) {
    SPIN(turns);
}

FUNCTION void low_leaf(uint64_t turns) {
    SPIN(turns);
}

FUNCTION void descend(int levels, void (*leaf)(uint64_t), uint64_t turns) { // NOLINT(misc-no-recursion)
    volatile char room[128];
    room[0] = 1;
    if (levels)
        descend(levels - 1, leaf, turns);
    else
        leaf(turns);
    room[1] = room[0];
}

FUNCTION void run_deep(uint64_t turns) {
    descend(100, deep_leaf, turns);
    __asm__ volatile("");
}

FUNCTION void run_low(uint64_t turns) {
    descend(20, low_leaf, turns);
    __asm__ volatile("");
}

int main(void) {
    struct part parts[] = {{"deep_leaf", run_deep, 6, 0}, {"low_leaf", run_low, 4, 0}};
    parts_print(parts, 2, parts_run(parts, 2));
    return 0;
}
