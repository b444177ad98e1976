// Records of the function graph tracer, ftrace:funcgraph_entry and funcgraph_exit: their fields move between kernels,
// so offsets are resolved once, and a record costs loads only.
#ifndef COLLECTORS_FUNCTIONS_GRAPH_RECORDS_H
#define COLLECTORS_FUNCTIONS_GRAPH_RECORDS_H

#include "collectors/functions/graph_tree.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/ring.h"

enum { GRAPH_ENTRY_FUNC, GRAPH_ENTRY_DEPTH, GRAPH_ENTRY_PID, GRAPH_ENTRY_FIELDS };
enum { GRAPH_EXIT_FUNC, GRAPH_EXIT_DEPTH, GRAPH_EXIT_PID, GRAPH_EXIT_BEGIN, GRAPH_EXIT_END, GRAPH_EXIT_FIELDS };

struct graph_records {
    struct format_field entry[GRAPH_ENTRY_FIELDS], exit[GRAPH_EXIT_FIELDS];
    uint16_t entry_id, exit_id;
    uint32_t entry_end, exit_end;
};

// From tracefs at `where`. 0; -ENOENT with *missing: that field (NULL: the format file); or -errno.
int graph_records_read(struct graph_records *records, const char *where, const char **missing);
// The same from the text of both formats.
int graph_records_parse(struct graph_records *records, const char *entry, const char *exit);
// Takes a record to the tree. Records of other events are ignored.
void graph_records_take(const struct graph_records *records, const struct ring_event *event, struct graph_tree *tree);

#endif
