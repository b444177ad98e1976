// Fuzzer: any bytes as code of each machine, as a jitdump file and as /proc/kcore.
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectors/kernel/symbols/code.h"
#include "collectors/kernel/symbols/jitdump.h"
#include "collectors/kernel/symbols/kcore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void disassemble(const uint8_t *data, size_t size) {
    static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64, EM_NONE};
    uint64_t address = 0;
    memcpy(&address, data, size < sizeof(address) ? size : sizeof(address));
    const uint64_t hot[] = {address, address + size / 2};
    for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
        struct code *code = code_new();
        uint64_t target;
        code_disassemble(code, &(struct code_bytes){.machine = machines[i],
                                                    .bytes = data,
                                                    .size = size,
                                                    .offset = address,
                                                    .address = address,
                                                    .hot = hot,
                                                    .n_hot = 2});
        for (uint32_t k = 0; k < code->n; k++)
            code_target(code->texts + code->lines[k].text, &target);
        if (code->n > CODE_LINES_MAX)
            abort();
        code_free(code);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t out[64];
    char path[32];
    uint16_t machine;
    uint64_t address = 0;
    if (size < sizeof(address))
        return 0;
    memcpy(&address, data + size - sizeof(address), sizeof(address));
    disassemble(data, size);
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (jitdump_code(fd, address, out, sizeof(out)) > (ssize_t)sizeof(out) ||
        kcore_read(path, address, out, sizeof(out), &machine) > (ssize_t)sizeof(out))
        abort();
    close(fd);
    return 0;
}
