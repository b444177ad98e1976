// Scheduler events, decoded from raw records of the sched tracepoints with offsets resolved once.
// Kernel source: include/trace/events/sched.h, include/linux/trace_events.h (common_flags). No state, no allocation:
// any thread.
#ifndef COLLECTORS_SCHED_EVENT_H
#define COLLECTORS_SCHED_EVENT_H

#include "collectors/kernel/tracefs/format.h"

enum sched_kind {
    SCHED_SWITCH,     // sched_switch: a CPU goes from one task to another
    SCHED_WAKEUP,     // sched_wakeup: the task is runnable on target_cpu; recorded by that CPU, not always the waker's
    SCHED_WAKEUP_NEW, // the same for a new task
    SCHED_WAKING,     // sched_waking: recorded by the waker before a CPU is chosen; target_cpu is the task's last one
    SCHED_MIGRATE,    // sched_migrate_task: the task moves to another CPU's queue
    SCHED_KINDS,
};
extern const char *const sched_event_names[SCHED_KINDS];

#define SCHED_COMM 16 // TASK_COMM_LEN

// prev_state of a switch, as the kernel has reported it since 4.14.
enum {
    SCHED_STATE_S = 0x01,
    SCHED_STATE_D = 0x02,
    SCHED_STATE_STOPPED = 0x04 | 0x08, // T, t
    SCHED_STATE_ENDED = 0x10 | 0x20,   // X, Z
    SCHED_STATE_REPORTED = 0xff,       // with P (parked) and I (idle kernel threads); 0: preempted or yielded
};

struct sched_event {
    uint64_t ts;
    uint32_t cpu; // that recorded it
    uint8_t kind, flags;
    int32_t current;              // the task that ran
    int32_t tid, prio;            // the event's task; of a switch the previous one
    uint32_t state;               // of a switch: state of the previous task
    int32_t target;               // CPU of a wakeup or a migration
    int32_t next, next_prio;      // of a switch: the next task
    const char *comm, *next_comm; // in the record, SCHED_COMM bytes; NULL: none, or not a plain array
};

struct sched_layout {
    bool present;
    uint16_t id, end;                                                             // a shorter record is damaged
    uint16_t current, tid, prio, state, target, next, next_prio, comm, next_comm; // offsets; comm 0: none
};
struct sched_formats {
    struct sched_layout kinds[SCHED_KINDS];
    uint16_t low_id;
    uint8_t by_id[64]; // kind + 1; the IDs of one system are close together
    bool usual;        // sched_switch and sched_waking have the two layouts below
};

static const struct sched_layout sched_usual_switch = {.present = true,
                                                       .end = 64,
                                                       .current = 4,
                                                       .tid = 24,
                                                       .prio = 28,
                                                       .state = 32,
                                                       .next = 56,
                                                       .next_prio = 60,
                                                       .comm = 8,
                                                       .next_comm = 40};
static const struct sched_layout sched_usual_waking = {
    .present = true, .end = 36, .current = 4, .tid = 24, .prio = 28, .target = 32, .comm = 8};

#define SCHED_FIELDS 8
// The fields of that kind of event, for format_read. Returns how many.
size_t sched_event_fields(enum sched_kind kind, struct format_field fields[SCHED_FIELDS]);
// Takes the fields of a format. 0; -EPROTO when one has an unexpected size (*missing is its name; may be NULL).
int sched_format_take(struct sched_formats *formats, enum sched_kind kind, const struct format_field *fields,
                      uint16_t id, const char **missing);
// After all formats: builds the table of IDs and recognises the usual layouts. -ERANGE when the IDs are too far apart.
int sched_formats_index(struct sched_formats *formats);

static inline int32_t sched_load(const uint8_t *record, uint16_t offset) {
    int32_t value;
    memcpy(&value, record + offset, sizeof(value));
    return value;
}

// Inline, as it runs for every switch and wakeup of the machine. The record is long enough (layout->end).
static inline __attribute__((always_inline)) void sched_decode(const struct sched_layout *layout, enum sched_kind kind,
                                                               uint64_t ts, uint32_t cpu, const uint8_t *record,
                                                               struct sched_event *out) {
    out->ts = ts;
    out->cpu = cpu;
    out->kind = (uint8_t)kind;
    out->flags = record[2];
    out->current = sched_load(record, layout->current);
    out->tid = sched_load(record, layout->tid);
    out->prio = sched_load(record, layout->prio);
    out->comm = layout->comm ? (const char *)record + layout->comm : NULL;
    if (kind == SCHED_SWITCH) {
        out->state = (uint32_t)sched_load(record, layout->state); // little endian: the low half of a long
        out->next = sched_load(record, layout->next);
        out->next_prio = sched_load(record, layout->next_prio);
        out->next_comm = layout->next_comm ? (const char *)record + layout->next_comm : NULL;
    } else {
        out->target = sched_load(record, layout->target);
    }
}

// Any event. False when the record is of another kind, or too short.
static inline bool sched_event_decode(const struct sched_formats *formats, uint64_t ts, uint32_t cpu,
                                      const uint8_t *record, uint32_t size, struct sched_event *out) {
    uint16_t id;
    if (size < 8)
        return false;
    memcpy(&id, record, 2);
    uint16_t at = (uint16_t)(id - formats->low_id);
    if (at >= sizeof(formats->by_id) || !formats->by_id[at])
        return false;
    enum sched_kind kind = (enum sched_kind)(formats->by_id[at] - 1);
    const struct sched_layout *layout = &formats->kinds[kind];
    if (size < layout->end)
        return false;
    sched_decode(layout, kind, ts, cpu, record, out);
    return true;
}

#endif
