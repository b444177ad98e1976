// Page faults with their addresses: perf's software events page-faults-min and -maj, sampled on every CPU. Needs root,
// CAP_PERFMON or perf_event_paranoid below 1. One thread owns it.
//
// Why these and not the tracepoints exceptions:page_fault_*: they exist on every architecture (arm64 has no such
// tracepoint), say whether the fault waited for I/O, hold those that the kernel took on behalf of the task, and can be
// thinned out: with every n-th fault sampled, the others cost the kernel a counter. Each sample holds the count of its
// event, so the faults that it stands for are known exactly, whatever the period was or whatever got lost before it.
#ifndef COLLECTORS_FAULTS_RING_H
#define COLLECTORS_FAULTS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Samples per second, CPU and kind. A burst of so many is seen whole; what goes on and on is thinned out to half of it.
#define FAULTS_BUDGET 5000

struct fault {
    uint64_t address, ip;
    pid_t pid, tid;
    uint64_t stands_for; // faults of this CPU and kind since the sample before: 1 while each one is looked at
    bool major, kernel;  // kernel: the kernel touched the task's memory (read(2) into fresh pages)
};

struct faults_handler {
    void (*fault)(void *context, const struct fault *fault);
    void (*exec)(void *context, pid_t pid, const char *comm, size_t length); // it has become another program
    void *context;
};

struct faults_ring;

int faults_ring_open(struct faults_ring **out); // 0 or -errno
void faults_ring_close(struct faults_ring *ring);
int faults_ring_fd(const struct faults_ring *ring); // readable when a ring fills up
// Hands over what is in the rings and fits the period to how much that is. Returns the samples that were lost.
uint64_t faults_ring_drain(struct faults_ring *ring, uint64_t now_ns, const struct faults_handler *handler);
// Follows CPU hot-plug. 0 or -errno: no CPU is watched.
int faults_ring_follow(struct faults_ring *ring);
// 0 when a sampled fault event of whole CPUs can be had, else -errno.
int faults_ring_try(void);

// ---- the parts without a kernel, for tests ----

enum { FAULTS_MINOR, FAULTS_MAJOR, FAULTS_KINDS };
struct faults_source {                                  // one kind on one CPU
    uint64_t id;                                        // of the event
    uint64_t counted;                                   // faults up to the last sample
    uint64_t samples;                                   // that were handed out
    uint64_t period, spent;                             // in faults; in samples beyond the budget of the time since
    uint64_t fitted_ns, fitted_counted, fitted_samples; // at the last fitting
};
// Walks the records between tail and head of a ring of `size` (a power of two) bytes. Returns the lost ones.
uint64_t faults_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head,
                        struct faults_source sources[FAULTS_KINDS], const struct faults_handler *handler);
// The period for so many faults in that time: 1, or a prime, so that it does not fall into step with a program.
uint64_t faults_period(uint64_t faults, uint64_t ns);
// Fits the period to what came since the last call. Whether it was changed.
bool faults_fit(struct faults_source *source, uint64_t now_ns);

#endif
