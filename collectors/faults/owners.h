// Fault counts by process and mapping. /proc/PID/maps is read for the processes with most faults, a few times a second
// at most, and reading takes at most 1 % of the time; the mappings of other processes are unknown. One thread owns it.
#ifndef COLLECTORS_FAULTS_OWNERS_H
#define COLLECTORS_FAULTS_OWNERS_H

#include "collectors/collector.h"
#include "collectors/faults/ring.h"
#include "model/text.h"

struct faults_owners;

struct faults_owners *faults_owners_new(const char *proc_path, const struct collect_options *options); // NULL, errno
void faults_owners_free(struct faults_owners *owners);
void faults_owners_add(struct faults_owners *owners, const struct fault *fault);
void faults_owners_exec(struct faults_owners *owners, pid_t pid, const char *comm, size_t length);
// Resolves the added faults to mappings. Call it while the processes still exist.
void faults_owners_settle(struct faults_owners *owners);

struct faults_row {
    pid_t pid;
    const struct text *comm, *mapping, *code; // NULL: unknown; valid during the call
    const char *kind;                         // NULL: unknown
    uint64_t minor, major, kernel, samples;
    double squares; // sum of the squared weights above 1; 0: every fault was recorded
    uint64_t whole; // faults of the process
};
typedef void faults_row_fn(void *context, const struct faults_row *row);
// Calls row() for the processes with most faults settled since the last call, then clears the counts.
void faults_owners_take(struct faults_owners *owners, faults_row_fn *row, void *context);

#endif
