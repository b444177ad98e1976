// The parts of the system collector: one file of /proc or a few that belong together, each with its tables. Private to
// collectors/system*.c and their tests. Everything runs in the collector's thread.
#ifndef COLLECTORS_SYSTEM_H
#define COLLECTORS_SYSTEM_H

#include "collectors/collector.h"
#include "collectors/kernel/proc/file.h"

// Index into system_series, in the order of the frame.
enum system_value {
    SYS_LOAD_1,
    SYS_LOAD_5,
    SYS_LOAD_15,
    SYS_UPTIME,
    SYS_CPUS_ONLINE,
    SYS_PROCS_RUNNING,
    SYS_PROCS_BLOCKED,
    SYS_FORKS,
    SYS_CONTEXT_SWITCHES,
    SYS_INTERRUPTS,
    SYS_CPU_USER, // the nine shares stand together, in the order of enum cpu_share
    SYS_CPU_NICE,
    SYS_CPU_SYSTEM,
    SYS_CPU_IRQ,
    SYS_CPU_SOFTIRQ,
    SYS_CPU_STEAL,
    SYS_CPU_GUEST,
    SYS_CPU_IOWAIT,
    SYS_CPU_IDLE,
    SYS_MEM_TOTAL,
    SYS_MEM_AVAILABLE,
    SYS_MEM_USED,
    SYS_MEM_FREE,
    SYS_MEM_CACHED,
    SYS_MEM_BUFFERS,
    SYS_MEM_DIRTY,
    SYS_MEM_WRITEBACK,
    SYS_SWAP_TOTAL,
    SYS_SWAP_USED,
    SYS_SWAP_IN,
    SYS_SWAP_OUT,
    SYS_MAJOR_FAULTS,
    SYS_MINOR_FAULTS,
    SYS_OOM_KILLS,
    SYS_PSI_CPU_SOME,
    SYS_PSI_MEMORY_SOME,
    SYS_PSI_MEMORY_FULL,
    SYS_PSI_IO_SOME,
    SYS_PSI_IO_FULL,
    SYS_PSI_IRQ_FULL,
    SYS_DISK_READ,
    SYS_DISK_WRITE,
    SYS_NET_RX,
    SYS_NET_TX,
    SYS_TCP_RETRANSMITS,
    SYSTEM_N_SERIES
};
extern const struct series_def system_series[SYSTEM_N_SERIES];

// Shares of the time of a CPU, in the order of the columns of `cpus`.
enum cpu_share {
    SHARE_USER,
    SHARE_NICE,
    SHARE_SYSTEM,
    SHARE_IRQ,
    SHARE_SOFTIRQ,
    SHARE_STEAL,
    SHARE_GUEST,
    SHARE_IOWAIT,
    SHARE_IDLE,
    CPU_SHARES
};

// The kernel's own averages over 10 s, in percent; NAN without PSI. Set by the pressure part, shown by others too.
struct system_pressure {
    double memory_some_avg10, memory_full_avg10, memory_some, memory_full;
};

// The argument of a part at each sample.
struct system_sample {
    struct section *out;
    double *series; // SYSTEM_N_SERIES values, NAN until a part sets them
    struct proc_buffer *buffer;
    uint64_t (*now)(void); // CLOCK_MONOTONIC, taken right at each reading; tests set their own
    struct system_pressure pressure;
    // Read also what changes rarely and no finding or series needs. False: a part may keep its last values.
    bool all;
};

// A part: has its own files, counters of the last sample, and table builders. A file that is missing leaves its values
// at NAN and adds a note.
struct system_part {
    const char *name;
    void *(*create)(void);
    void (*look)(void *state, struct proc_buffer *buffer); // between samples; may be NULL
    void (*sample)(void *state, struct system_sample *sample);
    void (*destroy)(void *state);
    void (*check)(struct check_report *report); // may be NULL
};
extern const struct system_part system_pressure_part, system_cpu_part, system_mem_part, system_numa_part,
    system_disk_part, system_net_part, system_tcp_part, system_irq_part, system_self_part;

extern const struct table_def system_cpus_table, system_interrupts_table, system_softirqs_table, system_memory_table,
    system_numa_table, system_devices_table, system_interfaces_table, system_tcp_table, system_udp_table,
    system_process_table, system_threads_table;

// Seconds since the last reading (0 at the first), and remembers this one.
static inline double system_elapsed(uint64_t *last_ns, uint64_t now_ns) {
    double seconds = *last_ns && now_ns > *last_ns ? (double)(now_ns - *last_ns) / 1e9 : 0;
    *last_ns = now_ns;
    return seconds;
}

// Where the frequency of the CPUs comes from (freq.c).
struct system_freq;
struct system_freq *system_freq_new(void);
void system_freq_free(struct system_freq *freq);
// hz[i] of CPU i < n where online[i], kept from the last time if not read now; NAN: unknown.
void system_freq_sample(struct system_freq *freq, struct system_sample *sample, const bool *online, double *hz,
                        size_t n);
void system_freq_check(struct check_report *report);

// Interval to the next reading of interrupts after one that took cost_ns of CPU time (irq.c).
uint64_t system_irq_wait_ns(uint64_t cost_ns);

// nodes[i]: the NUMA node of CPU i < n (topology.c); NAN: unknown.
void system_topology_load(double *nodes, size_t n);

#endif
