// The rows of a frame from what was paired and added up.
#ifndef COLLECTORS_SYSCALLS_FILL_H
#define COLLECTORS_SYSCALLS_FILL_H

#include "collectors/kernel/tracefs/stream.h"
#include "collectors/syscalls/args.h"
#include "collectors/syscalls/pair.h"
#include "collectors/syscalls/process.h"
#include "collectors/syscalls/table.h"

// Texts of calls in progress, kept as long as the call goes on; by index of the thread. Owned by the collector.
struct syscalls_kept;
struct syscalls_kept *syscalls_kept_new(void);
void syscalls_kept_free(struct syscalls_kept *kept);

struct syscalls_fill {
    struct syscalls_pair *pair;
    struct syscalls_args *args;
    const struct syscalls_procfs *procfs;
    struct syscalls_kept *kept;
    double seconds;         // of the interval; 0: nothing is measured yet
    double scale;           // for counts
    uint64_t upto_ts;       // the stream's clock: events up to it are counted
    int64_t wall_offset_ns; // CLOCK_REALTIME - the stream's clock
    uint32_t in_progress;   // filled in: threads in a call
    uint64_t calls, errors; // filled in
};
void syscalls_fill_section(struct syscalls_fill *fill, struct section *out);

#endif
