// The columns of the task table, and writing a task into its row.
#ifndef COLLECTORS_TASKS_COLUMNS_H
#define COLLECTORS_TASKS_COLUMNS_H

#include "collectors/kernel/proc/task_parse.h"
#include "collectors/tasks/set.h"
#include "model/table.h"

extern const struct table_def tasks_table;

// Rates of an interval; NAN: not measured.
struct task_rates {
    double cpu_pct, user_pct, system_pct;
    double minor_faults, major_faults, switches, migrations, read_bytes, write_bytes; // per second
    double run_queue_us;
};
extern const struct task_rates task_rates_unknown;

// The time over which a difference is shown. CPU time beyond what fits into it (used earlier, not sampled then) is
// carried into the next frames: never lost, and never above the possible maximum.
struct task_span {
    double seconds;
    double cpus;       // usable by the task at once
    uint64_t carry_ns; // in: from the frames before; out: left for the next
    uint64_t cpu_ns;   // out: shown now (0: unknown)
};

// The difference of two readings. Counters that decreased, or that one side lacks, are NAN.
struct task_rates task_rates_between(const struct task_counters *before, const struct task_counters *now,
                                     struct task_span *span);

void tasks_row_stat(struct table_builder *builder, const struct task *task, const struct task_stat *stat,
                    uint64_t boot_s);
void tasks_row_names(struct table_builder *builder, const struct task *task);
void tasks_row_rates(struct table_builder *builder, const struct task *task, const struct task_rates *rates);
// An ended task: state X, no resident memory.
void tasks_row_ended(struct table_builder *builder, const struct task *task, uint64_t ended_s);

#endif
