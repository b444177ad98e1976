// The functions that begin a call tree, as ranges of code: the kernel's list of names, and their addresses.
#ifndef COLLECTORS_FUNCTIONS_GRAPH_ROOTS_H
#define COLLECTORS_FUNCTIONS_GRAPH_ROOTS_H

#include "collectors/functions/graph_tree.h"
#include "collectors/kernel/symbols/table.h"

// Of the names in that file, a name a line ("#": none), by /proc/kallsyms: each function of that name, under whatever
// name the table has it. Sorted, the caller's to free; returns how many.
size_t graph_roots_read(const char *list, const char *kallsyms, const struct symbol_table *symbols,
                        struct graph_range **out);

#endif
