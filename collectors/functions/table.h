// What the collector `functions` delivers: the definitions of its tables, its histograms, its stream and its series.
#ifndef COLLECTORS_FUNCTIONS_TABLE_H
#define COLLECTORS_FUNCTIONS_TABLE_H

#include "model/section.h"

// The measures that both tables share: offsets from the first one of each.
enum {
    FUNCTIONS_M_CALLS,
    FUNCTIONS_M_TOTAL,
    FUNCTIONS_M_AVG,
    FUNCTIONS_M_P99,
    FUNCTIONS_M_MAX,
    FUNCTIONS_M_MISSED,
    FUNCTIONS_M_IN_FLIGHT,
    FUNCTIONS_M_COUNT,
    FUNCTIONS_M_ALL
};
enum {
    FUNCTIONS_F_FUNCTION,
    FUNCTIONS_F_OBJECT,
    FUNCTIONS_F_MEASURES,
    FUNCTIONS_F_PROCESSES = FUNCTIONS_F_MEASURES + FUNCTIONS_M_ALL,
    FUNCTIONS_F_TIMED,
    FUNCTIONS_F_SPEC,
    FUNCTIONS_F_ALL
};
enum {
    FUNCTIONS_P_PID,
    FUNCTIONS_P_COMM,
    FUNCTIONS_P_FUNCTION,
    FUNCTIONS_P_OBJECT,
    FUNCTIONS_P_MEASURES,
    FUNCTIONS_P_ALL = FUNCTIONS_P_MEASURES + FUNCTIONS_M_ALL
};
enum {
    FUNCTIONS_S_TIME,
    FUNCTIONS_S_LATENCY,
    FUNCTIONS_S_COMM,
    FUNCTIONS_S_PID,
    FUNCTIONS_S_TID,
    FUNCTIONS_S_FUNCTION,
    FUNCTIONS_S_CALLER,
    FUNCTIONS_S_ARGS,
    FUNCTIONS_S_STACK,
    FUNCTIONS_S_ALL
};
enum functions_series { FUNCTIONS_CALLS, FUNCTIONS_COST, FUNCTIONS_MISSED, FUNCTIONS_PLACES, FUNCTIONS_SERIES };

extern const struct table_def functions_table, functions_process_table, functions_slow_table;
extern const struct hist_def functions_latency_hist;
extern const struct series_def functions_series[FUNCTIONS_SERIES];

#endif
