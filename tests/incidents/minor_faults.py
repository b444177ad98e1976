# A process maps memory, touches it, and unmaps it again.
from incident import decoy, go, program

decoy()
go((program("mapper", r"""
#include <sys/mman.h>
int main(void) {
    for (;;) {
        char *at = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(at, 4 << 20, MADV_NOHUGEPAGE);
        for (int i = 0; i < 4 << 20; i += 4096)
            at[i] = 1;
        munmap(at, 4 << 20);
    }
}
"""), "mapper"))
