// Page faults with their addresses: perf's software events page-faults-min and -maj, sampled on every CPU. Needs root,
// CAP_PERFMON or perf_event_paranoid below 1. One thread owns it.
//
// The tracepoints exceptions:page_fault_* are not used. The perf events exist on every architecture (arm64 lacks the
// tracepoints), separate major from minor faults, include faults taken in the kernel on behalf of the task, and can be
// sampled: at 1:n, a skipped fault costs the kernel one counter increment. Each sample carries its event's count, so
// its weight is exact whatever the period was and however many samples were lost before it.
#ifndef COLLECTORS_FAULTS_RING_H
#define COLLECTORS_FAULTS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Samples per second, CPU and kind. A burst of this size is recorded in full; a sustained rate is sampled at half it.
#define FAULTS_BUDGET 5000

struct fault {
    uint64_t address, ip;
    pid_t pid, tid;
    uint64_t weight;    // faults of this CPU and kind since the previous sample; 1 while every fault is sampled
    bool major, kernel; // kernel: taken in kernel mode (read(2) into new pages)
};

struct faults_handler {
    void (*fault)(void *context, const struct fault *fault);
    void (*exec)(void *context, pid_t pid, const char *comm, size_t length); // execve
    void *context;
};

struct faults_ring;

int faults_ring_open(struct faults_ring **out); // 0 or -errno
void faults_ring_close(struct faults_ring *ring);
int faults_ring_fd(const struct faults_ring *ring); // readable when a ring fills up
// Passes the rings' records to the handler and fits the period to the rate. Returns the number of lost samples.
uint64_t faults_ring_drain(struct faults_ring *ring, uint64_t now_ns, const struct faults_handler *handler);
// Follows CPU hotplug. 0 or -errno: no CPU is watched.
int faults_ring_follow(struct faults_ring *ring);
// 0 when a CPU-wide sampled fault event can be opened, else -errno.
int faults_ring_try(void);

// ---- the parts without a kernel, for tests ----

enum { FAULTS_MINOR, FAULTS_MAJOR, FAULTS_KINDS };
struct faults_source {                                  // one kind on one CPU
    uint64_t id;                                        // event ID
    uint64_t counted;                                   // faults up to the last sample
    uint64_t samples;                                   // passed to the handler
    uint64_t period, spent;                             // in faults; token bucket, in samples over the budget
    uint64_t fitted_ns, fitted_counted, fitted_samples; // at the last fit
};
// Walks the records between tail and head of a ring of `size` (a power of two) bytes. Returns the lost samples.
uint64_t faults_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head,
                        struct faults_source sources[FAULTS_KINDS], const struct faults_handler *handler);
// The sampling period for this rate: 1, or a prime, so that it cannot alias with a program's own period.
uint64_t faults_period(uint64_t faults, uint64_t ns);
// Fits the period to the rate since the last call. True if the period changed.
bool faults_fit(struct faults_source *source, uint64_t now_ns);

#endif
