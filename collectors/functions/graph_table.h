// The call graph's tree, tables and series, as frames have them.
#ifndef COLLECTORS_FUNCTIONS_GRAPH_TABLE_H
#define COLLECTORS_FUNCTIONS_GRAPH_TABLE_H

#include "model/section.h"

enum {
    GRAPH_F_LINE,
    GRAPH_F_DEPTH,
    GRAPH_F_CALLS,
    GRAPH_F_TOTAL_US,
    GRAPH_F_SELF_US,
    GRAPH_F_AVG_US,
    GRAPH_F_MAX_US,
    GRAPH_F_CUT,
    GRAPH_F_CALLS_ALL,
    GRAPH_F_TOTAL_US_ALL,
    GRAPH_F_MAX_US_ALL,
    GRAPH_F_FUNCTION,
    GRAPH_F_ALL
};
enum {
    GRAPH_C_LINE,
    GRAPH_C_CALL,
    GRAPH_C_DEPTH,
    GRAPH_C_TIME,
    GRAPH_C_TOTAL_US,
    GRAPH_C_SELF_US,
    GRAPH_C_PID,
    GRAPH_C_TID,
    GRAPH_C_CPU,
    GRAPH_C_COMM,
    GRAPH_C_FUNCTION,
    GRAPH_C_ALL
};
enum { GRAPH_S_CALLS, GRAPH_S_LOST, GRAPH_S_INCOMPLETE, GRAPH_SERIES };

extern const struct tree_def graph_tree_def;
extern const struct table_def graph_functions_table, graph_calls_table;
extern const struct series_def graph_series[GRAPH_SERIES];

#endif
