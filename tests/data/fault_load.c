// Touches known numbers of pages of known mappings, on a line from its standard input: a truth for page faults.
// fault_load count DIR: PAGES new pages of a file, of the heap, of the stack, of a file through the kernel (read(2)),
// and of a file that is not in memory; then says how many faults the kernel counted. fault_load storm: maps, touches
// and unmaps memory until its standard input ends, then says the same.
#include <alloca.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE 4096
#define FILE_PAGES 300
#define HEAP_PAGES 200
#define STACK_PAGES 100
#define KERNEL_PAGES 70
#define COLD_PAGES 40
#define STACK_USED 64 // pages that may have been touched before

static char *map_file(const char *dir, const char *name, size_t pages, int cold) {
    char path[4096], page[PAGE] = {1};
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (size_t i = 0; fd >= 0 && i < pages; i++)
        if (write(fd, page, PAGE) != PAGE)
            exit(1);
    if (fd < 0 || fsync(fd))
        exit(1);
    if (cold)
        posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED || madvise(at, pages * PAGE, MADV_RANDOM))
        exit(1);
    close(fd);
    return at;
}

static void touch(char *at, size_t pages) { // a write to a private mapping: one fault a page, no fault-around
    for (size_t i = 0; i < pages; i++)
        *(volatile char *)(at + i * PAGE) = 1;
}

static __attribute__((noinline)) void touch_stack(void) {
    size_t size = (size_t)(STACK_PAGES + STACK_USED) * PAGE;
    char *low = alloca(size);
    low = (char *)((uintptr_t)low & ~(uintptr_t)(PAGE - 1));
    for (int i = STACK_PAGES - 1; i >= 0; i--)
        *(volatile char *)(low + (size_t)i * PAGE) = 1;
}

static void count(const char *dir) {
    struct rusage before, after;
    char line, text[128];
    char *file = map_file(dir, "file", FILE_PAGES, 0), *kernel = map_file(dir, "kernel", KERNEL_PAGES, 0);
    char *cold = map_file(dir, "cold", COLD_PAGES, 1), *heap = sbrk((HEAP_PAGES + 1) * PAGE);
    int zero = open("/dev/zero", O_RDONLY);
    heap = (char *)(((uintptr_t)heap + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
    touch(file, 1); // what runs now has run before: its own pages are there
    getrusage(RUSAGE_SELF, &before);
    munmap(file, PAGE);
    file += PAGE;
    if (write(1, "ready\n", 6) != 6 || read(0, &line, 1) != 1)
        exit(1);
    getrusage(RUSAGE_SELF, &before);
    touch(file, FILE_PAGES - 1);
    touch(heap, HEAP_PAGES);
    touch_stack();
    for (size_t i = 0; i < KERNEL_PAGES; i++)
        if (read(zero, kernel + i * PAGE, PAGE) != PAGE)
            exit(1);
    touch(cold, COLD_PAGES);
    getrusage(RUSAGE_SELF, &after);
    int n = snprintf(text, sizeof(text), "%ld %ld\n", after.ru_minflt - before.ru_minflt,
                     after.ru_majflt - before.ru_majflt);
    if (write(1, text, (size_t)n) != n || read(0, &line, 1) < 0)
        exit(1);
}

static void storm(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    struct rusage used;
    do {
        char *at = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        touch(at, 64);
        munmap(at, 64 * PAGE);
    } while (poll(&input, 1, 0) == 0);
    getrusage(RUSAGE_SELF, &used);
    printf("%ld %ld\n", used.ru_minflt, used.ru_majflt);
}

int main(int argc, char **argv) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    if (argc == 3 && !strcmp(argv[1], "count"))
        count(argv[2]);
    else
        storm();
    return 0;
}
