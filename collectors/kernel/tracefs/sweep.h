// The names of ktop's instances and probes in the kernel, and whether the ktop that owns a name is still alive.
//
// A name holds the PID, the start time and, unless it is the first one, the inode of the PID namespace. A ktop can
// judge its own namespace; the first namespace sees all tasks and can judge every other one too; a ktop inside a
// container leaves all others alone. "Unknown" is never removed.
#ifndef COLLECTORS_SWEEP_H
#define COLLECTORS_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PID_NS_FIRST 4026531836ul // PROC_PID_INIT_INO of the kernel

struct ktop_id {
    pid_t pid;                // as /proc shows it
    unsigned long long start; // field 22 of /proc/<pid>/stat
    unsigned long pid_ns;     // inode of the PID namespace of that /proc
};

// The identity of this process. Cached by the first call, before guard_start forks, so the guard uses ktop's identity.
const struct ktop_id *ktop_id_self(void);
// Kernel events carry host TIDs: in another PID namespace /proc has other threads under these TIDs, or none.
static inline bool ktop_in_child_pidns(void) {
    return ktop_id_self()->pid_ns && ktop_id_self()->pid_ns != PID_NS_FIRST;
}
// "ktop-<pid>-<start>-<what>[.<ns>]" for instances, "ktop_<pid>_<start>_<what>[_n<ns>]" for groups of probes.
void ktop_instance_name(const struct ktop_id *id, const char *what, char *name, size_t size);
void ktop_group_name(const struct ktop_id *id, const char *what, char *name, size_t size);
bool ktop_instance_parse(const char *name, struct ktop_id *id);
bool ktop_group_parse(const char *name, struct ktop_id *id);

enum ktop_life { KTOP_ALIVE, KTOP_GONE, KTOP_UNKNOWN };
// `proc` is "/proc", or a forged one in tests.
enum ktop_life ktop_life(const char *proc, const struct ktop_id *id);
// Reads the identity of /proc/self there; false if unknown.
bool ktop_id_read(const char *proc, struct ktop_id *id);

// One pass over the tracefs at `where`: removes the instances and probes of `of` (NULL: of every ktop that is gone).
// Returns how many were removed; *left counts the ones that should have gone but did not (busy, not allowed). Or
// -errno.
int sweep_pass(const char *where, const struct ktop_id *of, void (*report)(const char *line), int *left);

#endif
