// Names of JIT code as runtimes write them: /tmp/perf-PID.map, in the mount and PID namespace of the process, and
// jitdump files. Anybody can put a file there: only a regular file of the process's own user or of root is read, and
// only what was appended since. Documents: tools/perf/Documentation/jit-interface.txt, jitdump-specification.txt.
#ifndef COLLECTORS_SYMBOLS_PERF_MAP_H
#define COLLECTORS_SYMBOLS_PERF_MAP_H

#include <sys/types.h>

#include "collectors/kernel/symbols/table.h"

#define PERF_MAP_BYTES_MAX ((uint64_t)256 << 20)

// A file that grows. Zeroed at first.
struct jit_file {
    uint64_t device, inode, offset; // read up to here
};

// Whose files are read. Zeroed at first; what a process said of itself is kept when it has ended.
struct jit_owner {
    pid_t pid;
    bool known;
    unsigned real, effective; // user IDs
    int ns_pid;               // in the innermost PID namespace
};
void jit_owner_read(struct jit_owner *owner, pid_t pid);

enum jit_file_kind { JIT_PERF_MAP, JIT_DUMP };

// Opens what there is to read beyond file->offset. The descriptor; -EAGAIN: nothing new; -ENOENT: no such file; another
// -errno: refused, and `reason` says why. *restarted: it is another file than before, to be read from its start.
// `path` is the jitdump file's as the process sees it; of a perf map it is not used.
int jit_file_open(struct jit_file *file, enum jit_file_kind kind, const struct jit_owner *owner, const char *path,
                  bool *restarted, char reason[160]);
// Adds symbols with ranks from *rank on, which it moves past them. true: the builder is full and there is more.
bool jit_file_read(struct jit_file *file, enum jit_file_kind kind, int fd, struct symbol_builder *builder,
                   uint32_t *rank);

#endif
