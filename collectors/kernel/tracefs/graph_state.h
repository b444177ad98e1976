// The global state of the function graph tracer. Its filters (set_graph_function, set_graph_notrace, max_graph_depth)
// are the same for all instances, and before Linux 6.12 the tracer works in the top-level buffer only. ktop uses them
// only while each has its default, so restoring them needs no memory of what they were: the guard and the sweep do it
// for a ktop that is gone. An instance named "...-graph" marks their use; "...-graph-top_KIB" also that of the
// top-level buffer, whose size was KIB. Kernel document: Documentation/trace/ftrace.rst.
#ifndef COLLECTORS_KERNEL_TRACEFS_GRAPH_STATE_H
#define COLLECTORS_KERNEL_TRACEFS_GRAPH_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_INSTANCE "graph"
#define GRAPH_TOP_INSTANCE "graph-top_" // followed by the size

struct graph_filters {
    const char *functions; // names or globs, separated by blanks; "": all
    const char *notrace;
    uint32_t depth; // 0: no limit
};

// 0, -EBUSY with a sentence that names what is in use and how to release it, or -errno of a file. top: the top-level
// buffer is needed as well. own: the name of ktop's instance in this tracefs, which does not count; NULL: none.
int graph_state_unused(const char *where, bool top, const char *own, char *reason, size_t reason_size, char *fix,
                       size_t fix_size);
// The top-level buffer's size, to be restored to: in KiB per CPU. 0: sizes differ between CPUs; leave them.
uint32_t graph_state_top_kib(const char *where);
// Sets the filters. 0, or -errno and the file and word that the kernel refused.
int graph_state_set(const char *where, const struct graph_filters *filters, char *refused, size_t size);
// Writes each word into a list of names or IDs; clear: instead of what is in it. 0, or -errno and the word.
int graph_list_write(const char *where, const char *file, const char *words, bool clear, char *refused, size_t size);

// "F:traceon", or another command, for each function in the set_ftrace_filter of that buffer: the kernel runs it when F
// is entered. 0, or -errno and the function.
int graph_command_set(const char *dir, const char *functions, const char *command, char *refused, size_t size);

// Whether an instance of that name marks the use of the global state.
bool graph_state_is_mark(const char *name);
// Everything back to its default; files that have it already are not written. The tracer of the instance `name` goes
// first. 0 or -errno (busy while a descriptor of the dead ktop is open): call again.
int graph_state_restore(const char *where, const char *name);

#endif
