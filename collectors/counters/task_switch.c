// The state of one CPU between context switches. See the header for the attribution rules.
#include "collectors/counters/task_switch.h"

#include <linux/perf_event.h>
#include <string.h>

struct sample { // without header
    uint32_t pid, tid;
    uint64_t time;
    uint64_t n, enabled, running, values[1 + TASK_EVENTS_MAX]; // leader first
};
#define SAMPLE_FIXED offsetof(struct sample, values)

struct sample_id { // at the end of every other record
    uint32_t pid, tid;
    uint64_t time;
};

struct fork_record {
    uint32_t pid, ppid, tid, ptid;
    uint64_t time;
};

bool switch_mark_decode(const void *bytes, size_t size, unsigned n, struct switch_mark *out) {
    uint64_t words[4 + TASK_EVENTS_MAX]; // count, enabled, running, the leader's, the members'
    if (n > TASK_EVENTS_MAX || size != (4 + (size_t)n) * sizeof(*words))
        return false;
    memcpy(words, bytes, size);
    if (words[0] != 1 + n)
        return false;
    *out = (struct switch_mark){.enabled = words[1], .running = words[2], .switches = words[3]};
    memcpy(out->values, words + 4, n * sizeof(*words));
    return true;
}

// Attributes the slice since the mark to a task: `tid` 0 is the idle task, below 0 unknown. `reading`: the group at the
// slice's end, or NULL when only the time is known.
static void slice_add(struct switches *s, pid_t pid, pid_t tid, uint64_t enabled, const struct switch_mark *reading) {
    struct switch_totals *totals = s->totals;
    struct task_counts slice = {.time_ns = enabled > s->since ? enabled - s->since : 0}, *to = &totals->unattributed;
    bool counted = reading && reading->running >= s->mark.running;
    for (unsigned i = 0; counted && i < s->n_values; i++) {
        counted = reading->values[i] >= s->mark.values[i]; // a decreasing counter is invalid
        slice.values[s->which[i]] = reading->values[i] - s->mark.values[i];
    }
    if (counted)
        slice.running_ns = reading->running - s->mark.running;
    if (!counted || (s->incomplete && !s->gap)) {
        struct task_counts values = slice;
        values.time_ns = slice.running_ns = values.running_ns = 0;
        if (counted)
            task_counts_add(&totals->unattributed, &values);
        memset(slice.values, 0, sizeof(slice.values));
    }
    if (!s->gap && tid == 0) {
        to = &totals->idle;
    } else if (!s->gap && tid > 0) {
        struct task_sum *sum = task_sums_get(totals->sums, pid, tid);
        uint64_t begin = s->since + (uint64_t)s->clock;
        if (sum) {
            to = &sum->counts;
            sum->first_ns = begin < sum->first_ns ? begin : sum->first_ns;
        }
    }
    task_counts_add(to, &slice);
}

static bool on_sample(struct switches *s, const struct perf_event_header *record) {
    const struct sample *sample = (const void *)(record + 1);
    size_t size = record->size - sizeof(*record);
    struct switch_mark now;
    // After the time, a sample has the layout of a group read.
    if (size < SAMPLE_FIXED || !switch_mark_decode(&sample->n, size - offsetof(struct sample, n), s->n_values, &now)) {
        switches_forget(s);
        return true;
    }
    if (s->until && now.switches > s->until->switches)
        return false;
    s->totals->seen++;
    s->clock = (int64_t)(sample->time - now.enabled);
    s->has_clock = true;
    if (s->marked) {
        // An exiting thread has released its PID before its last switch: the kernel then records -1.
        bool named = (pid_t)sample->tid >= 0;
        pid_t pid = named ? (pid_t)sample->pid : s->pid, tid = named ? (pid_t)sample->tid : s->known ? s->tid : -1;
        s->gap |= now.switches <= s->mark.switches || now.switches > s->mark.switches + 1 + s->n_unsampled;
        slice_add(s, pid, tid, now.enabled, &now);
    }
    s->mark = now;
    s->since = now.enabled;
    s->marked = s->sampled = true;
    s->gap = s->incomplete = s->known = false;
    s->n_unsampled = 0;
    return true;
}

static void current_set(struct switches *s, const uint32_t *task) {
    s->pid = (pid_t)task[0];
    s->tid = (pid_t)task[1];
    s->known = s->tid >= 0;
}

// A switch that the group did not count: only its time is known. False: it is later than the cut.
static bool slice_end_unsampled(struct switches *s, const uint32_t *task, uint64_t time) {
    if (!s->marked || !s->has_clock)
        return true;
    uint64_t enabled = time - (uint64_t)s->clock;
    if (s->until && enabled > s->until->enabled)
        return false;
    slice_add(s, (pid_t)task[0], (pid_t)task[1], enabled, NULL);
    s->since = enabled > s->since ? enabled : s->since;
    s->incomplete = true;
    return true;
}

static bool on_switch(struct switches *s, const struct perf_event_header *record) {
    const uint32_t *other = (const uint32_t *)(record + 1);
    struct sample_id id;
    if (record->size < sizeof(*record) + 2 * sizeof(*other) + sizeof(id)) {
        switches_forget(s);
        return true;
    }
    memcpy(&id, (const uint8_t *)record + record->size - sizeof(id), sizeof(id));
    const uint32_t current[2] = {(uint32_t)s->pid, s->known ? (uint32_t)s->tid : UINT32_MAX};
    if (record->misc & PERF_RECORD_MISC_SWITCH_OUT) {
        if (!s->sampled && !slice_end_unsampled(s, (pid_t)id.tid < 0 ? current : &id.pid, id.time)) // the group was off
            return false;
        s->sampled = false;
        current_set(s, other);
        return true;
    }
    // The switch-in record of the same switch. If it names another task, a switch has no record: some kernels write
    // none while certain tasks run (the idle task of some CPUs).
    if (s->known && (pid_t)id.tid != s->tid) {
        static const uint32_t unknown[2] = {UINT32_MAX, UINT32_MAX};
        if (!slice_end_unsampled(s, other[1] == current[1] ? current : unknown, id.time))
            return false;
        s->n_unsampled++;
        current_set(s, &id.pid);
    }
    if (!s->known)
        current_set(s, &id.pid);
    s->sampled = false;
    return true;
}

static void on_fork(struct switches *s, const struct perf_event_header *record) {
    struct fork_record fork;
    if (record->size < sizeof(*record) + sizeof(fork))
        return;
    memcpy(&fork, record + 1, sizeof(fork));
    struct task_sum *sum = task_sums_get(s->totals->sums, (pid_t)fork.pid, (pid_t)fork.tid);
    if (sum && fork.time > sum->forked_ns) {
        sum->pid = (pid_t)fork.pid;
        sum->forked_ns = fork.time;
    }
}

bool switches_record(void *context, const struct perf_event_header *record) {
    struct switches *s = context;
    uint64_t lost[2] = {0, 1}; // event ID, lost records
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        return on_sample(s, record);
    case PERF_RECORD_SWITCH_CPU_WIDE:
        return on_switch(s, record);
    case PERF_RECORD_FORK:
        on_fork(s, record);
        return true;
    case PERF_RECORD_LOST:
        if (record->size >= sizeof(*record) + sizeof(lost))
            memcpy(lost, record + 1, sizeof(lost));
        switches_forget(s);
        s->totals->lost += lost[1] - 1;
        return true;
    default:
        return true;
    }
}

void switches_restart(struct switches *s) {
    s->marked = s->has_clock = s->known = s->sampled = s->incomplete = s->gap = false;
    s->n_unsampled = 0;
    s->until = NULL;
}

void switches_forget(struct switches *s) {
    s->totals->lost++;
    s->gap = true;
    s->known = s->sampled = false;
}

uint64_t switches_cut(struct switches *s, const struct switch_mark *reading) {
    uint64_t span = s->marked && reading->enabled > s->cut_at ? reading->enabled - s->cut_at : 0;
    if (s->marked) {
        // Counted switches without samples: lost, and the PERF_RECORD_LOST is still to come.
        if (reading->switches > s->mark.switches + s->n_unsampled) {
            s->gap = true;
            s->known = false;
        }
        slice_add(s, s->pid, s->known ? s->tid : -1, reading->enabled, reading);
    }
    s->mark = *reading;
    s->since = s->cut_at = reading->enabled;
    s->marked = true;
    s->gap = s->incomplete = false;
    s->n_unsampled = 0;
    s->until = NULL;
    return span;
}
