// Probes in the kernel: writes their definitions to tracefs, in a group of ktop's own, and removes them. What a probe
// needs is found by writing it. The guard and the sweep remove what a dead ktop left (collectors/kernel/tracefs/).
// Kernel documents: Documentation/trace/kprobetrace.rst, uprobetracer.rst.
#ifndef COLLECTORS_PROBES_DEFINE_H
#define COLLECTORS_PROBES_DEFINE_H

#include "collectors/probes/file.h"

#define PROBE_COMMAND_MAX 2560
#define PROBE_STACK "ktop_sp"  // the field with the stack pointer, by which returns are matched with entries
#define PROBE_CALLER "ktop_ra" // the field with the return address: at its entry a function has no frame yet

// A definition in the kernel's syntax; each character has its place in the specification, -1: it has none.
struct probe_command {
    char text[PROBE_COMMAND_MAX];
    int16_t places[PROBE_COMMAND_MAX];
    size_t length;
};

struct probe {
    struct probe_spec spec;
    char group[64], event[64];
    char entry[64];   // for a return probe: the event at the function's start, "": none
    char where[160];  // for the user: "/usr/bin/bash:readline+4", "vfs_read"
    char note[160];   // "": none
    bool with_caller; // record the return address, where the probe is at the entry of a file's function
};

bool probe_has_caller(const struct probe *probe); // it has the field PROBE_CALLER
// The definition of the probe, or of its entry, at that site (NULL: in the kernel). For unit tests as well.
void probe_command_make(struct probe_command *command, const struct probe *probe, const char *path,
                        const struct probe_site *site, bool entry, uint32_t maxactive);
// The kernel's words about that command, from the text of error_log: the sentence, and the offset in the command that
// its caret marks. False: the log has none.
bool probe_log_error(const char *log, const char *command, char *sentence, size_t size, int32_t *at);

// probe->spec, group and event are set; fills in the rest. `pid`: see probe_file_open. 0, or -errno with the sentence
// and the place in spec.text; nothing is left in the kernel then.
int probe_define(struct probe *probe, pid_t pid, struct choice_error *error);
// Its instances must be gone. Waits for at most 1 s until the kernel no longer uses it.
void probe_undefine(const struct probe *probe);
// The number of probes that are being defined, exist, or are being removed. Any thread.
int probes_held(void);

#endif
