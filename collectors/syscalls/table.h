// What the syscalls collector delivers: the definitions of its tables, histograms, series and its stream.
#ifndef COLLECTORS_SYSCALLS_TABLE_H
#define COLLECTORS_SYSCALLS_TABLE_H

#include "model/section.h"

extern const struct table_def syscalls_table, syscalls_process_table, syscalls_both_table, syscalls_errors_table,
    syscalls_progress_table, syscalls_slow_table;
// The measures that syscalls, syscalls_processes and syscalls_by_process share: offsets from the first one of each.
enum {
    SYSCALLS_M_CALLS,
    SYSCALLS_M_ERRORS,
    SYSCALLS_M_AVG,
    SYSCALLS_M_MAX,
    SYSCALLS_M_TOTAL,
    SYSCALLS_M_SHARE,
    SYSCALLS_M_ERROR_NAMES,
    SYSCALLS_M_ALL
};
// Their columns, in order.
enum {
    SYSCALLS_C_SYSCALL,
    SYSCALLS_C_MEASURES,
    SYSCALLS_C_P50 = SYSCALLS_C_MEASURES + SYSCALLS_M_ALL,
    SYSCALLS_C_P99,
    SYSCALLS_C_COUNT
};
enum { SYSCALLS_P_PID, SYSCALLS_P_COMM, SYSCALLS_P_MEASURES, SYSCALLS_P_COUNT = SYSCALLS_P_MEASURES + SYSCALLS_M_ALL };
enum {
    SYSCALLS_B_PID,
    SYSCALLS_B_COMM,
    SYSCALLS_B_SYSCALL,
    SYSCALLS_B_MEASURES,
    SYSCALLS_B_COUNT = SYSCALLS_B_MEASURES + SYSCALLS_M_ALL
};
enum { SYSCALLS_E_PID, SYSCALLS_E_SYSCALL, SYSCALLS_E_ERROR, SYSCALLS_E_COMM, SYSCALLS_E_RATE, SYSCALLS_E_COUNT };
enum {
    SYSCALLS_I_TID,
    SYSCALLS_I_PID,
    SYSCALLS_I_COMM,
    SYSCALLS_I_SYSCALL,
    SYSCALLS_I_SINCE,
    SYSCALLS_I_ARGS,
    SYSCALLS_I_AT_LEAST,
    SYSCALLS_I_IDLE
};
enum {
    SYSCALLS_S_TIME,
    SYSCALLS_S_PID,
    SYSCALLS_S_TID,
    SYSCALLS_S_COMM,
    SYSCALLS_S_SYSCALL,
    SYSCALLS_S_LATENCY,
    SYSCALLS_S_RESULT,
    SYSCALLS_S_ERROR,
    SYSCALLS_S_ARGS,
    SYSCALLS_S_IDLE
};
extern const struct hist_def syscalls_latency_hist;

enum syscalls_series {
    SYSCALLS_CALLS,
    SYSCALLS_ERRORS,
    SYSCALLS_IN_PROGRESS,
    SYSCALLS_SAMPLED,
    SYSCALLS_RECORDED,
    SYSCALLS_UNPAIRED,
    SYSCALLS_LOST,
    SYSCALLS_SERIES,
};
extern const struct series_def syscalls_series[SYSCALLS_SERIES];

#endif
