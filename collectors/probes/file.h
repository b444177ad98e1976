// From a function or a USDT probe of an ELF file to the offsets in the file at which the kernel puts uprobes. Files of
// a process are opened below its root, so it works for containers. Reads files: any thread, may block.
#ifndef COLLECTORS_PROBES_FILE_H
#define COLLECTORS_PROBES_FILE_H

#include <sys/types.h>

#include "collectors/probes/spec.h"

#define PROBE_SITES_MAX 64 // of one USDT probe

struct probe_site {
    uint64_t offset, semaphore; // in the file; semaphore 0: none
    char args[400];             // of a USDT probe, in the kernel's syntax: "arg1=%di:s32 arg2=..."
};

struct probe_file {
    // How the kernel finds the file while this struct is open: its path, below /proc/PID/root where that is needed, or
    // /proc/self/fd/N where a link or a blank in the path would lead it astray.
    char path[PROBE_PATH_MAX + 64];
    int fd;
    struct probe_site sites[PROBE_SITES_MAX];
    size_t n_sites;
    char note[160]; // arguments that the kernel cannot fetch; "": none
};

// `pid` 0: no process. 0, or -errno with the sentence and the place in spec->text. Close it in each case.
int probe_file_open(struct probe_file *file, const struct probe_spec *spec, pid_t pid, struct choice_error *error);
void probe_file_close(struct probe_file *file);

#endif
