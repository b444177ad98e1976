// A program and its shared library.
#include "parts.h"

void library_work(uint64_t turns);
void library_calls(void (*back)(uint64_t), uint64_t turns);

FUNCTION void called_back(uint64_t turns) {
    SPIN(turns);
}

FUNCTION void run_back(uint64_t turns) {
    library_calls(called_back, turns);
    __asm__ volatile("");
}

int main(void) {
    struct part parts[] = {{"library_work", library_work, 6, 0}, {"called_back", run_back, 4, 0}};
    parts_print(parts, 2, parts_run(parts, 2));
    return 0;
}
