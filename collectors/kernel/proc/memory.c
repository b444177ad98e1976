// Each read takes a few microseconds.
#include "collectors/kernel/proc/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

// struct procmap_query and its constants, of linux/fs.h from 6.11 on.
struct mapping_query {
    uint64_t size, flags, address; // in
    uint64_t begin, end, mapping_flags, page_size, offset, inode;
    uint32_t major, minor, name_size, build_id_size;
    uint64_t name, build_id; // addresses
};
#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)
#define MAPPING_WRITABLE 0x02
#define MAPPING_SHARED 0x08

_Static_assert(sizeof(struct mapping_query) == 104, "as the kernel's");

// Split at the page end, so that an unmapped next page does not make the read fail.
size_t process_memory_read(int32_t pid, uint64_t address, void *out, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), first = page - address % page;
    struct iovec to = {out, size};
    struct iovec from[2] = {{(void *)(uintptr_t)address, first < size ? first : size},
                            {(void *)(uintptr_t)(address + first), first < size ? size - first : 0}};
    ssize_t n = process_vm_readv(pid, &to, 1, from, first < size ? 2 : 1, 0);
    return n > 0 ? (size_t)n : 0;
}

bool process_memory_is_constant(const char *proc, int32_t pid, uint64_t address, size_t length) {
    char path[160];
    struct mapping_query query = {.size = sizeof(query), .address = address};
    snprintf(path, sizeof(path), "%s/%d/maps", proc, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    int error = ioctl(fd, MAPPING_QUERY, &query);
    close(fd);
    return !error && !(query.mapping_flags & (MAPPING_WRITABLE | MAPPING_SHARED)) && query.end - address > length;
}
