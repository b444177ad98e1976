// Functions of the kernel: their names, and BPF programs at their entries and returns. Two ways: a kprobe_multi link
// for all of them (Linux 5.18 with CONFIG_FPROBE; the function tracer's own hooks, which cost least), or an event of
// perf's `kprobe` PMU for each. Both end with their descriptors, and need no file of tracefs to be written. Kernel
// documents: Documentation/trace/fprobe.rst, kprobes.rst; include/uapi/linux/bpf.h (BPF_TRACE_KPROBE_MULTI).
#ifndef COLLECTORS_FUNCTIONS_KERNEL_H
#define COLLECTORS_FUNCTIONS_KERNEL_H

#include "collectors/functions/attach.h"
#include "collectors/functions/find.h"

enum kernel_way { KERNEL_UNKNOWN, KERNEL_LINK, KERNEL_PMU };

// Adds the kernel's functions of the choice, as objects "[kernel]" and "[nfs]" with one user each
// (FUNCTION_KERNEL_PID). 0, or -errno with the sentence and its place: none matches, too many, or this kernel has no
// way to count them.
int kernel_functions_find(struct function_choice *choice, struct choice_error *error);
// The same from the text of tracefs' available_filter_functions ("vfs_read\nnfs_open [nfs]\n"), or of /proc/kallsyms.
enum kernel_list { LIST_NAMES, LIST_KALLSYMS };
int kernel_functions_match(struct function_choice *choice, char *text, enum kernel_list kind,
                           struct choice_error *error);
// That text, which the caller frees; NULL with errno. *list_error: why tracefs has no list, or 0.
char *kernel_functions_read(enum kernel_list *kind, int *list_error);
struct kernel_name {
    const char *name, *module; // module "": the kernel's own
};
// Cuts the first line off the text. False: it names no function.
bool kernel_line_parse(char **text, enum kernel_list kind, struct kernel_name *out);
// Adds the names of its functions, or of the modules that have them. Cuts the text; NULL is allowed.
struct name_set;
void kernel_names_add(struct name_set *names, char *text, enum kernel_list kind, bool modules);

struct kernel_places {
    const struct function_abi *abi; // the filter of processes
    const char *const *names;
    const uint32_t *indexes;
    size_t n;
};
// Attaches to them all and adds the descriptors; *refused: places that the kernel does not accept. 0 or -errno.
int kprobes_attach(struct uprobes *probes, const struct function_maps *maps, const struct kernel_places *places,
                   bool returns, size_t *refused);

// Tried once, with a system call of ktop's own.
struct kernel_trial {
    enum kernel_way way;
    double timed_us;
    int link_error, pmu_error;
};
const struct kernel_trial *kernel_trial(void);

#endif
