// What the collector `events` delivers: the definitions of its tables, its stream and its series.
#ifndef COLLECTORS_EVENTS_TABLE_H
#define COLLECTORS_EVENTS_TABLE_H

#include "model/section.h"

enum { EVENTS_C_EVENT, EVENTS_C_FILTER, EVENTS_C_RATE, EVENTS_C_COUNT, EVENTS_C_TOTAL, EVENTS_C_ALL };
enum {
    EVENTS_E_TIME,
    EVENTS_E_CPU,
    EVENTS_E_COMM,
    EVENTS_E_PID,
    EVENTS_E_TID,
    EVENTS_E_EVENT,
    EVENTS_E_FIELDS,
    EVENTS_E_ARGS,
    EVENTS_E_ALL
};
enum { EVENTS_T_EVENT, EVENTS_T_CHOSEN, EVENTS_T_RATE, EVENTS_T_ALL };
enum events_series { EVENTS_PER_S, EVENTS_LOST, EVENTS_RECORDED, EVENTS_SERIES };

extern const struct table_def events_counts_table, events_stream_table, events_tracepoints_table;
extern const struct series_def events_series[EVENTS_SERIES];

#endif
