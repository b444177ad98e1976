// Separate debug files, as distributions install them, and what debuginfod's clients have already fetched. Never the
// network. Document: "Debugging Information in Separate Files" (gdb's manual).
#ifndef COLLECTORS_SYMBOLS_DEBUG_FILE_H
#define COLLECTORS_SYMBOLS_DEBUG_FILE_H

#include "collectors/kernel/symbols/elf_file.h"

// Opens the debug file of `file`, which a process sees at `path`. Looks below the process's root, then on the host.
// The descriptor of an ELF file whose build ID or checksum fits, opened into *out as well; -1: none.
int debug_file_open(const struct elf_file *file, pid_t pid, const char *path, struct elf_file *out);

#endif
