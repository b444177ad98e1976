// Fuzzer: any bytes as a perf map, a jitdump file or kallsyms, as the first byte says; and as a mangled name.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectors/kernel/symbols/demangle.h"
#include "collectors/kernel/symbols/kallsyms.h"
#include "collectors/kernel/symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name(const uint8_t *data, size_t size) {
    char out[DEMANGLED_MAX], *symbol = malloc(size + 1);
    memcpy(symbol, data, size);
    symbol[size] = '\0';
    demangle(symbol, out);
    if (strlen(out) >= sizeof(out))
        abort();
    free(symbol);
}

static void jit(int fd, enum jit_file_kind kind, size_t size) {
    struct jit_file file = {0};
    struct symbol_builder builder = {0};
    uint32_t rank = 1;
    jit_file_read(&file, kind, fd, &builder, &rank);
    if (file.offset > size || rank != builder.count + 1)
        abort();
    symbol_table_free(symbol_builder_finish(&builder, OVERLAP_RANK));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    struct symbol_table *table;
    if (!size)
        return 0;
    if (data[0] == 'n') {
        name(data + 1, size - 1);
        return 0;
    }
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)size - 1)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (data[0] == 'k' && !kallsyms_read(path, &table))
        symbol_table_free(table);
    else if (data[0] == 'm' || data[0] == 'd')
        jit(fd, data[0] == 'm' ? JIT_PERF_MAP : JIT_DUMP, size - 1);
    close(fd);
    return 0;
}
