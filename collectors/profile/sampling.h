// The sampling event: one perf_event with a ring on each CPU, which follows CPU hot-plug. Needs root, CAP_PERFMON or
// perf_event_paranoid below 1. One thread owns it. Kernel document: perf_event_open(2).
#ifndef COLLECTORS_PROFILE_SAMPLING_H
#define COLLECTORS_PROFILE_SAMPLING_H

#include "collectors/collector.h"
#include "collectors/profile/record.h"

#define PROFILE_HZ 99 // not 100: in lock-step with the timers of the kernel it would see them at each tick, or never

struct profile_source { // what is sampled
    char event[64];
    uint32_t hz;         // 0: every `period` events
    uint32_t hz_limited; // of kernel.perf_event_max_sample_rate, when more was asked for; else 0
    uint64_t period;
    bool is_clock;        // cpu-clock: each sample stands for a time
    int no_pmu;           // -errno: why cpu-clock stands in for cycles; else 0
    bool no_kernel;       // the kernel is left out: not permitted
    bool own_only;        // not whole CPUs but the threads of --pid: no right to do more
    bool no_build_id;     // mappings have devices and inodes instead
    uint32_t max_stack;   // frames of a callchain
    uint32_t stack_bytes; // of the user stack that each sample copies; 0: none
};

struct profile_sampling;
struct waking;

// hz 0: PROFILE_HZ, or the period of --profile-event. Without the right to sample whole CPUs, the processes of --pid
// are sampled, if they are the user's. 0 or -errno. The options stay the caller's, and must live as long.
int profile_sampling_open(struct profile_sampling **out, const struct collect_options *options, uint32_t hz);
// Instead of a clock: samples of one in `period` context switches of each CPU, as they leave it, and a record of every
// switch. profile_sampling_switches() turns both on and off; they are on at first. -EACCES: the kernel may not be
// sampled.
int profile_sampling_open_switches(struct profile_sampling **out, const struct profile_options *options,
                                   uint64_t period);
int profile_sampling_cpus(const struct profile_sampling *sampling); // one more than the highest
void profile_sampling_set_period(struct profile_sampling *sampling, int cpu, uint64_t period);
int profile_sampling_switches(struct profile_sampling *sampling, bool on); // 0, or -errno: they are off
// The event of every wakeup beside them, with its data in the record; NULL: none. `waking` must live as long. Opens the
// events again, as below. 0 or -errno: it is off.
int profile_sampling_wakers(struct profile_sampling *sampling, const struct waking *waking);
int profile_sampling_try_switches(const struct profile_options *options);
void profile_sampling_close(struct profile_sampling *sampling);
int profile_sampling_fd(const struct profile_sampling *sampling); // readable when a ring fills up
const struct profile_source *profile_sampling_source(const struct profile_sampling *sampling);

typedef void profile_record_fn(void *context, const struct profile_record *record);
// Hands over the records up to `until_ns` in the order of their times, whatever CPU wrote them: a mapping comes before
// the samples in it. Returns how many were malformed.
uint64_t profile_sampling_drain(struct profile_sampling *sampling, uint64_t until_ns, profile_record_fn *fn,
                                void *context);
int profile_sampling_follow(struct profile_sampling *sampling); // CPU hot-plug; 0 or -errno: no CPU is sampled
// Opens the events again; what is in the rings, and what happens meanwhile, is lost. 0 or -errno: nothing is open.
int profile_sampling_set_hz(struct profile_sampling *sampling, uint32_t hz);
// CALL_GRAPH_AUTO: from now on samples copy user stacks, or twice as much of them as before. A second event for the
// threads of some processes would need a descriptor for each thread and CPU, so all samples copy. Opens the events
// again, as above. 0; -E2BIG: it is all that the data rate allows; or -errno. Then nothing has changed.
int profile_sampling_copy_more(struct profile_sampling *sampling);
uint32_t profile_sampling_hz_max(void); // kernel.perf_event_max_sample_rate
// 0 when such an event can be had on the first CPU, else -errno. *source says what it is.
int profile_sampling_try(const struct profile_options *options, struct profile_source *source);

#endif
