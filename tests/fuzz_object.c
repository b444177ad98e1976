// Fuzzer: any bytes as an ELF file, read as the symbol service does.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/symbols/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[] = "/tmp/ktop-fuzz-object-XXXXXX";
static int fd = -1;

static void clean(void) {
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct object_symbols symbols;
    struct object_key key = {.pid = getpid(), .path = path};
    if (fd < 0) {
        fd = mkostemp(path, O_CLOEXEC);
        atexit(clean);
    }
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    object_read(&key, &symbols);
    for (uint32_t i = 1; symbols.table && i < symbols.table->count; i++) {
        const struct symbol *symbol = &symbols.table->symbols[i];
        if (symbol[-1].start + symbol[-1].size > symbol->start || symbol->name >= symbols.table->names_size)
            abort();
    }
    symbol_table_free(symbols.table);
    return 0;
}
