// Probes of one process in a file, without a breakpoint in any other process that maps it. Programs run for every
// thread of the process, also for later ones; a child has no probes after fork, and the process keeps them after exec.
// They end with their descriptors.
//
// Two ways: a uprobe_multi link for all places of the process (Linux 6.6), or an event of perf's `uprobe` PMU for each.
// The second one takes a grace period of the kernel, 20 to 100 ms, to remove each probe. Kernel documents:
// Documentation/ABI/testing/sysfs-bus-event_source-devices-uprobe, include/uapi/linux/bpf.h (BPF_TRACE_UPROBE_MULTI).
#ifndef COLLECTORS_FUNCTIONS_ATTACH_H
#define COLLECTORS_FUNCTIONS_ATTACH_H

#include <sys/types.h>

#include "collectors/functions/program.h"

enum uprobe_way { UPROBES_UNKNOWN, UPROBES_LINK, UPROBES_PMU };

struct uprobe_places {
    int file; // descriptor
    pid_t pid;
    uint32_t returned_bytes; // struct function_abi
    const uint64_t *offsets; // in the file
    const uint32_t *indexes; // in the maps
    size_t n;
};

struct uprobes { // descriptors of attachments
    int *fds;
    size_t n, capacity;
};

// Attaches entry or return programs to all of them and adds the descriptors. 0 or -errno; then some may be attached.
int uprobes_attach(struct uprobes *uprobes, const struct function_maps *maps, const struct uprobe_places *places,
                   bool returns);
void uprobes_keep(struct uprobes *uprobes, int fd); // adds a descriptor
void uprobes_detach(struct uprobes *uprobes);       // may take 100 ms for each descriptor

// Tried once, in ktop's own code: which way works, and what a call costs the program, in us. 0 us: it does not work.
struct uprobe_trial {
    enum uprobe_way way;
    double timed_us, counted_us;
    int error; // UPROBES_UNKNOWN: of the first step that failed
};
const struct uprobe_trial *uprobe_trial(void);

// Bytes by which the stack pointer is higher after a return.
uint32_t uprobe_returned_bytes(uint16_t machine, bool is64);

#endif
