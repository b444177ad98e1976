// Symbols of the kernel, its modules and BPF programs from /proc/kallsyms. Reading it is dear on a machine with many
// BPF programs: once, in the thread of the service. Documents: proc(5), Documentation/admin-guide/sysctl/kernel.rst
// (kptr_restrict).
#ifndef COLLECTORS_SYMBOLS_KALLSYMS_H
#define COLLECTORS_SYMBOLS_KALLSYMS_H

#include "collectors/kernel/symbols/table.h"

// 0 and a table of named objects ("[kernel]", "[ext4]", "[bpf]"), owned by the caller; -EACCES: the kernel hides the
// addresses; -ENOENT: no symbols in it; -errno of the read.
int kallsyms_read(const char *path, struct symbol_table **out);

#endif
