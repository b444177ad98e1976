# A process reads here and there in a large sparse mapping: its memory stays small, its page tables do not.
from incident import decoy, go, program

decoy()
go((program("sparse", """#include <sys/mman.h>
#include <unistd.h>
static volatile char sum;
int main(void) {
    const size_t step = 2 << 20, steps = 300000;
    char *at = mmap(0, steps * step, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return 1;
    madvise(at, steps * step, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < steps; i++) {
        sum += at[i * step]; // the zero page, and 4 KiB of page table
        if (i % 250 == 0)
            usleep(10000);
    }
    pause();
}"""), "sparse"))
