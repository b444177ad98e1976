// The records of a sampling event as perf_event_open(2) lays them out, with the fields and the trailer (sample_id_all)
// that sampling.c asks for. Plain functions on bytes: a record is never trusted beyond its size.
#ifndef COLLECTORS_PROFILE_RECORD_H
#define COLLECTORS_PROFILE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_header;

#define RECORD_BUILD_ID_MAX 20

struct profile_format {
    bool raw;             // samples have PERF_SAMPLE_RAW
    bool user_stack;      // samples have PERF_SAMPLE_STACK_USER
    unsigned n_user_regs; // of sample_regs_user; 0: samples have no PERF_SAMPLE_REGS_USER
    uint64_t period;      // samples have no PERF_SAMPLE_PERIOD: each stands for so many events; 0: they have it
};

enum profile_record_type {
    RECORD_OTHER, // of no use here
    RECORD_SAMPLE,
    RECORD_MMAP,
    RECORD_COMM,
    RECORD_EXEC,
    RECORD_FORK,
    RECORD_EXIT,
    RECORD_KSYMBOL,
    RECORD_LOST,
    RECORD_SWITCH,
    RECORD_THROTTLED, // the kernel stopped the event for the rest of a timer tick
};

struct profile_sample {
    uint64_t ip, period;
    uint32_t cpu;
    bool kernel;         // it was in the kernel
    const uint64_t *ips; // the callchain, leaf first, with the markers PERF_CONTEXT_*
    size_t n_ips;
    const uint8_t *raw; // a tracepoint's record; NULL: the event is none
    size_t raw_size;
    const uint64_t *regs; // of user mode, NULL: none, or of 32-bit code
    size_t n_regs;
    const uint8_t *stack; // the copy of the user stack, from the stack pointer up; NULL: none
    size_t stack_size;    // valid bytes of it
};

struct profile_mmap { // executable memory
    uint64_t start, end, offset;
    uint64_t device, inode; // device: major << 32 | minor; 0 with a build ID
    uint8_t build_id[RECORD_BUILD_ID_MAX];
    uint8_t build_id_size; // 0: none
    const char *path;
};

struct profile_record {
    enum profile_record_type type;
    uint64_t time; // CLOCK_MONOTONIC
    pid_t pid, tid;
    union {
        struct profile_sample sample;
        struct profile_mmap mmap;
        const char *comm; // COMM, EXEC
        pid_t parent;     // FORK, EXIT: the process
        uint64_t lost;    // records
        struct {
            uint32_t cpu;
            bool out, preempted; // out: pid and tid left the CPU; else they got it. preempted: they are still runnable
        } change;                // SWITCH
        struct {
            uint64_t address;
            uint32_t size;
            const char *name;
            bool gone;
        } ksymbol;
    };
};

// What points to text or numbers points into the record. False: the record is malformed.
bool profile_record_decode(const struct profile_format *format, const struct perf_event_header *header,
                           struct profile_record *out);
// The record's time alone; 0: it is too short to have one.
uint64_t profile_record_time(const struct perf_event_header *header);

#endif
