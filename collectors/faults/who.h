// Whose faults, and where: sums by process and mapping. The mappings of the processes that fault most are read from
// /proc/PID/maps, some times a second at most and never for more than a hundredth of the time; those of the others are
// not known. One thread owns it.
#ifndef COLLECTORS_FAULTS_WHO_H
#define COLLECTORS_FAULTS_WHO_H

#include "collectors/collector.h"
#include "collectors/faults/ring.h"
#include "model/text.h"

struct faults_who;

struct faults_who *faults_who_new(const char *proc_path, const struct collect_options *options); // NULL, errno
void faults_who_free(struct faults_who *who);
void faults_who_add(struct faults_who *who, const struct fault *fault);
void faults_who_exec(struct faults_who *who, pid_t pid, const char *comm, size_t length);
// Finds the mappings of what was added; while the processes are still there.
void faults_who_settle(struct faults_who *who);

struct faults_row {
    pid_t pid;
    const struct text *comm, *mapping, *code; // NULL: not known; valid during the call
    const char *kind;                         // NULL: not known
    uint64_t minor, major, kernel, samples;
    double squares; // sum of the squares of what each sample stood for; 0: each fault was looked at
    uint64_t whole; // faults of the process
};
// The busiest processes of what was settled since the last call, and forgets it.
void faults_who_take(struct faults_who *who, void (*row)(void *context, const struct faults_row *row), void *context);

#endif
