// Reading of /proc/kcore; see the header.
#include "collectors/kernel/symbols/kcore.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "collectors/kernel/symbols/elf_file.h"

ssize_t kcore_read(const char *path, uint64_t address, uint8_t *out, size_t size, uint16_t *machine) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct elf_file file;
    struct elf_source source = {.fd = fd, .size = INT64_MAX}; // its size is the address space's
    ssize_t n = elf_file_open(&file, &source);
    if (!n)
        n = -ENOENT;
    *machine = file.machine;
    for (size_t i = 0; i < file.n_segments && n == -ENOENT; i++) {
        const GElf_Phdr *segment = &file.segments[i];
        uint64_t in = address - segment->p_vaddr;
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr || in >= segment->p_memsz)
            continue;
        size = size < segment->p_memsz - in ? size : (size_t)(segment->p_memsz - in);
        n = segment->p_offset > INT64_MAX - in - size ? -EINVAL
                                                      : elf_file_read_some(&file, segment->p_offset + in, out, size);
    }
    elf_file_close(&file);
    close(fd);
    return n;
}
