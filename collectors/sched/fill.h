// The rows, histograms and series of a frame from what the state machine added up. Once per frame, in the collector's
// thread.
#ifndef COLLECTORS_SCHED_FILL_H
#define COLLECTORS_SCHED_FILL_H

#include "collectors/sched/limits.h"
#include "collectors/sched/table.h"
#include "collectors/sched/who.h"

struct sched_fill {
    const struct sched_machine *machine; // flushed to `end`
    struct sched_who *who;
    const struct sched_limits *limits;
    struct table_builder *rows; // of the tasks, kept from frame to frame
    uint64_t end;               // of the machine's clock
    double seconds;             // recorded in this interval; NAN: nothing to divide by yet
};
void sched_fill_tasks(const struct sched_fill *fill, struct section *out);
void sched_fill_cpus(const struct sched_fill *fill, struct section *out);
void sched_fill_hists(const struct sched_fill *fill, struct section *out);
// A note where much is not known of a CPU.
void sched_fill_unseen(const struct sched_fill *fill, struct section *out);
// Series but SCHED_S_SAMPLED and SCHED_S_LOST.
void sched_fill_series(const struct sched_fill *fill, double values[SCHED_S_ALL]);
// ---- stuck.c ----
void sched_fill_stuck(const struct sched_fill *fill, struct section *out);

// A new text of the task's name; NULL: not known.
const struct text *sched_comm_text(const struct sched_task *task);
const struct text *sched_state_text(uint8_t state); // NULL: not known

#endif
