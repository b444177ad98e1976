// What the block collector delivers: definitions of tables, histograms, series and stream, and filling a section from
// the sums (collectors/block/stat.h).
#ifndef COLLECTORS_BLOCK_TABLE_H
#define COLLECTORS_BLOCK_TABLE_H

#include "collectors/block/names.h"
#include "collectors/block/stat.h"
#include "collectors/block/submitter.h"
#include "collectors/block/waiting.h"
#include "model/section.h"

extern const struct table_def block_devices_table, block_process_table, block_cgroup_table, block_errors_table,
    block_events_table;
// Their columns, in order.
enum {
    BLOCK_D_DEVICE,
    BLOCK_D_QUEUE,
    BLOCK_D_SERVICE,
    BLOCK_D_ERRORS,
    BLOCK_D_READ_P50,
    BLOCK_D_READ_P99,
    BLOCK_D_WRITE_P50,
    BLOCK_D_WRITE_P99,
    BLOCK_D_READ_P999,
    BLOCK_D_TOTAL,
    BLOCK_D_SEQUENTIAL,
    BLOCK_D_TIMEOUTS,
    BLOCK_D_REQUEUES,
    BLOCK_D_FLUSHES,
    BLOCK_D_DISCARDS,
    BLOCK_D_LAST_ERROR,
    BLOCK_D_LAST_SECTOR,
    BLOCK_D_BUSY,
    BLOCK_D_OLDEST,
    BLOCK_D_OLDEST_PID,
    BLOCK_D_OLDEST_COMM
};
enum {
    BLOCK_P_PID,
    BLOCK_P_COMM,
    BLOCK_P_DEVICE,
    BLOCK_P_OP,
    BLOCK_P_IOS,
    BLOCK_P_BYTES,
    BLOCK_P_LATENCY,
    BLOCK_P_P99,
    BLOCK_P_TOTAL,
    BLOCK_P_TOTAL_RATE,
    BLOCK_P_TOTAL_P99,
    BLOCK_P_SEQUENTIAL,
    BLOCK_P_AVG_BYTES,
    BLOCK_P_CGROUP
};
enum {
    BLOCK_C_CGROUP,
    BLOCK_C_DEVICE,
    BLOCK_C_OP,
    BLOCK_C_IOS,
    BLOCK_C_BYTES,
    BLOCK_C_LATENCY,
    BLOCK_C_TOTAL,
    BLOCK_C_TOTAL_RATE
};
enum { BLOCK_X_DEVICE, BLOCK_X_OP, BLOCK_X_ERROR, BLOCK_X_ERRORS, BLOCK_X_COUNT, BLOCK_X_SECTOR };
enum {
    BLOCK_E_TIME,
    BLOCK_E_END,
    BLOCK_E_COMM,
    BLOCK_E_PID,
    BLOCK_E_OP,
    BLOCK_E_DEVICE,
    BLOCK_E_SECTOR,
    BLOCK_E_BYTES,
    BLOCK_E_QUEUE,
    BLOCK_E_LATENCY,
    BLOCK_E_ERROR,
    BLOCK_E_TOTAL,
    BLOCK_E_CGROUP,
    BLOCK_E_OFFSET,
    BLOCK_E_KEPT
};
extern const struct hist_def block_latency_hist, block_queue_hist, block_total_hist, block_size_hist,
    block_device_size_hist, block_offset_hist, block_process_hists[BLOCK_TIMES], block_cgroup_hists[BLOCK_TIMES];

enum block_series {
    BLOCK_S_IOS,
    BLOCK_S_IN_FLIGHT,
    BLOCK_S_QUEUED,
    BLOCK_S_UNMATCHED,
    BLOCK_S_ABANDONED,
    BLOCK_S_REQUEUES,
    BLOCK_S_MERGES,
    BLOCK_S_ERRORS,
    BLOCK_S_LOST,
    BLOCK_S_ALL,
};
extern const struct series_def block_series[BLOCK_S_ALL];

struct block_fill {
    struct block_stat *stat;
    struct block_names *names;
    uint64_t begin_ns, end_ns; // equal: no interval yet, the tables are empty
    int64_t wall_offset_ns;    // CLOCK_REALTIME - CLOCK_MONOTONIC
    struct block_tasks *submitters;
    const struct block_waiting *waiting; // I/Os in flight, oldest first
    size_t n_waiting;
};
// Updates the disks: rows, sizes, partitions. Call before the first event, and once per frame.
void block_fill_disks(struct block_names *names, struct block_stat *stat, struct block_match *match, uint64_t now_ns);
void block_fill_section(const struct block_fill *fill, struct section *out);

#endif
