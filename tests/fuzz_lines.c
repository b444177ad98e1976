// Fuzzer: any bytes as an ELF file with debug info; the last eight are the address.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectors/kernel/symbols/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct symbols_source source;
    const char *reason;
    uint64_t address = 0;
    if (size < sizeof(address))
        return 0;
    memcpy(&address, data + size - sizeof(address), sizeof(address));
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    struct lines *lines = lines_open(fd, size, &reason);
    for (unsigned i = 0; lines && i < 4; i++) // and in the functions of the first inputs
        if (lines_find(lines, i ? 0x4000f8 + i * 0x10 : address, &source) && source.n > SOURCE_FRAMES_MAX)
            abort();
    const char *file;
    uint32_t line;
    for (unsigned i = 0; lines && i < 8; i++)
        if (lines_row(lines, i ? 0x4000f8 + i * 4 : address, &file, &line) && !strlen(file) && !line)
            abort();
    lines_close(lines);
    close(fd);
    return 0;
}
