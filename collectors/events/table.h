// What the collector `events` delivers: the definitions of its tables, its stream and its series.
#ifndef COLLECTORS_EVENTS_TABLE_H
#define COLLECTORS_EVENTS_TABLE_H

#include "collectors/group_tables.h"
#include "model/section.h"

enum { EVENTS_C_EVENT, EVENTS_C_FILTER, EVENTS_C_RATE, EVENTS_C_COUNT, EVENTS_C_TOTAL, EVENTS_C_ACTION, EVENTS_C_ALL };
enum {
    EVENTS_E_TIME,
    EVENTS_E_CPU,
    EVENTS_E_COMM,
    EVENTS_E_PID,
    EVENTS_E_TID,
    EVENTS_E_EVENT,
    EVENTS_E_FIELDS,
    EVENTS_E_ARGS,
    EVENTS_E_PATH,
    EVENTS_E_FLAGS,
    EVENTS_E_RESULT,
    EVENTS_E_KEY,
    EVENTS_E_KEY2,
    EVENTS_E_VALUE,
    EVENTS_E_LATENCY,
    EVENTS_E_STACK,
    EVENTS_E_PPID,
    EVENTS_E_ALL
};
enum { EVENTS_T_EVENT, EVENTS_T_CHOSEN, EVENTS_T_RATE, EVENTS_T_ALL };
enum events_series { EVENTS_PER_S, EVENTS_LOST, EVENTS_RECORDED, EVENTS_SERIES };

extern const struct table_def events_counts_table, events_stream_table, events_tracepoints_table;
extern const struct table_def events_groups_table, events_latencies_table;
extern const struct hist_def events_value_hist, events_latency_hist;
extern const struct group_tables events_group_tables;
extern const struct series_def events_series[EVENTS_SERIES];

#endif
