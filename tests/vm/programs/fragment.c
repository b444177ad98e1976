// fragment MIB ORDER_KIB: an application that stalls in direct compaction. It fills MIB of memory with small pages and
// frees every other one, so that no two free pages are contiguous; prints its PID; then it uses the free pages in
// blocks of ORDER_KIB, which the kernel has to make by compaction. Then all over again.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static char *map(size_t bytes, int advice) {
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || madvise(at, bytes, advice)) {
        perror("fragment");
        exit(1);
    }
    return at;
}

int main(int argc, char **argv) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (size_t)atol(argv[argc > 2 ? 1 : 0]) << 20,
           block = (size_t)atol(argv[argc > 2 ? 2 : 0]) << 10;
    if (!all || !block)
        return 2;
    for (int round = 0;; round++) {
        size_t half = all / 2 / 100 * 85; // the kernel keeps some for itself
        char *small = map(all, MADV_NOHUGEPAGE), *large = map(half, MADV_HUGEPAGE);
        for (size_t i = 0; i < all; i += page)
            small[i] = 1;
        for (size_t i = 0; i < all; i += 2 * page)
            madvise(small + i, page, MADV_DONTNEED);
        if (!round)
            printf("%d\n", getpid());
        fflush(stdout);
        for (size_t i = 0; i < half; i += block)
            large[i] = 1;
        munmap(small, all);
        munmap(large, half);
    }
}
