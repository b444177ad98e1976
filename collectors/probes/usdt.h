// USDT probes: the notes in .note.stapsdt, and their arguments in the kernel's syntax. Document:
// "UserSpaceProbeImplementation" of SystemTap's wiki. Plain functions on bytes and open files: any thread.
#ifndef COLLECTORS_PROBES_USDT_H
#define COLLECTORS_PROBES_USDT_H

#include "collectors/kernel/symbols/elf_file.h"
#include "collectors/probes/file.h"

// The sites of "PROVIDER:NAME" as addresses; how many there are, of which `most` are written. *names (may be NULL): all
// "PROVIDER:NAME" of the file, one each, NULL-terminated, to be freed with all its strings by usdt_names_free.
struct usdt_site {
    uint64_t address, semaphore; // addresses, corrected for prelink; semaphore 0: none
    char args[256];              // as the note has them: "-4@%edi 8@-8(%rbp)"
};
size_t usdt_find(const struct elf_file *file, const char *wanted, struct usdt_site *sites, size_t most, char ***names);
void usdt_names_free(char **names);

// Translates a note's arguments: "arg1=%di:s32 arg2=+-8(%bp):u64". Those that the kernel cannot fetch are left out;
// returns how many. machine: EM_X86_64 or EM_AARCH64.
size_t usdt_args(const char *note, uint16_t machine, char *out, size_t size);

#endif
