// What the collector `probes` delivers: the definitions of its table, its stream and its series.
#ifndef COLLECTORS_PROBES_TABLE_H
#define COLLECTORS_PROBES_TABLE_H

#include "collectors/group_tables.h"
#include "model/section.h"

enum {
    PROBES_P_PROBE,
    PROBES_P_KIND,
    PROBES_P_WHERE,
    PROBES_P_RATE,
    PROBES_P_HITS,
    PROBES_P_TOTAL,
    PROBES_P_MISSED,
    PROBES_P_MISSED_TOTAL,
    PROBES_P_KERNEL_MISSED,
    PROBES_P_ENTRIES,
    PROBES_P_IN_FLIGHT,
    PROBES_P_STATE,
    PROBES_P_SPEC,
    PROBES_P_ALL
};
enum {
    PROBES_E_TIME,
    PROBES_E_CPU,
    PROBES_E_COMM,
    PROBES_E_PID,
    PROBES_E_TID,
    PROBES_E_PROBE,
    PROBES_E_ARGS,
    PROBES_E_KEY,
    PROBES_E_KEY2,
    PROBES_E_VALUE,
    PROBES_E_LATENCY,
    PROBES_E_STACK,
    PROBES_E_USER_STACK,
    PROBES_E_ALL
};
enum probes_series { PROBES_PER_S, PROBES_LOST, PROBES_RECORDED, PROBES_SERIES };

extern const struct table_def probes_table, probes_stream_table;
extern const struct table_def probes_groups_table, probes_latencies_table;
extern const struct hist_def probes_value_hist, probes_latency_hist;
extern const struct group_tables probes_group_tables;
extern const struct series_def probes_series[PROBES_SERIES];

#endif
