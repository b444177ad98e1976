// The columns of the task table, and writing a task into its row.
#ifndef COLLECTORS_TASKS_COLUMNS_H
#define COLLECTORS_TASKS_COLUMNS_H

#include "collectors/kernel/proc/task_parse.h"
#include "collectors/tasks/set.h"
#include "model/table.h"

extern const struct table_def tasks_table;

// What moved in an interval; NAN: not measured.
struct task_rates {
    double cpu_pct, user_pct, system_pct;
    double minor_faults, major_faults, switches, migrations, read_bytes, write_bytes; // per second
    double run_queue_us;
};
extern const struct task_rates task_rates_unknown;

// Over which time a difference is shown. CPU time beyond what that time holds (it was used before, when nobody looked)
// is carried: shown in the next frames, never lost and never more than is possible.
struct task_span {
    double seconds;
    double cpus;       // that the task can use at once
    uint64_t carry_ns; // in: from the frames before; out: left for the next
    uint64_t cpu_ns;   // out: shown now (0 when not known)
};

// The difference of two readings. Counters that went backwards, or that one side lacks, are NAN.
struct task_rates task_rates_between(const struct task_counters *before, const struct task_counters *now,
                                     struct task_span *span);

void tasks_row_stat(struct table_builder *builder, const struct task *task, const struct task_stat *stat,
                    uint64_t boot_s);
void tasks_row_names(struct table_builder *builder, const struct task *task);
void tasks_row_rates(struct table_builder *builder, const struct task *task, const struct task_rates *rates);
// It is over: state X, nothing resident.
void tasks_row_ended(struct table_builder *builder, const struct task *task, uint64_t ended_s);

#endif
