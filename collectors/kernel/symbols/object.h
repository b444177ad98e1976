// The symbols of one mapped file: opened by what maps it, compared with what was mapped, and read from the best source
// that the machine has: its own symbol table, a separate debug file, MiniDebugInfo, its dynamic symbols. Reads files
// and may wait for them: only the thread of the service calls it.
#ifndef COLLECTORS_SYMBOLS_OBJECT_H
#define COLLECTORS_SYMBOLS_OBJECT_H

#include "collectors/kernel/symbols/symbols.h"
#include "collectors/kernel/symbols/table.h"

enum object_state {
    OBJECT_READ,     // the table may be empty, with a reason
    OBJECT_REPLACED, // at its path there is another file
    OBJECT_MISSING,  // it could not be opened: another process that maps it may have it
};

// Which file was read, to notice that another one took its inode.
struct object_identity {
    uint64_t device, inode, size;
    int64_t changed_ns;
};

struct object_symbols {
    enum object_state state;
    struct symbol_table *table; // owned by the caller; NULL unless OBJECT_READ
    struct object_identity identity;
    char reason[160]; // why symbols are missing; "" when they are not
};

void object_read(const struct object_key *key, struct object_symbols *out);
// Identity of the file that a process maps now; false: it cannot be opened.
bool object_identify(const struct object_key *key, struct object_identity *out);
// Bytes of the file as it is mapped, from an offset on: how many, or -errno.
ssize_t object_code(const struct object_key *key, uint64_t offset, uint8_t *out, size_t size, uint16_t *machine);
// Opens what has debug info: the file itself, or its separate debug file. A descriptor, or -errno.
int object_open_debug(const struct object_key *key, uint64_t *size);

#endif
