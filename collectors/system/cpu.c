// CPUs: /proc/stat and /proc/loadavg. The shares of a CPU come from its ticks alone (no other clock is needed), and
// always add up to 100: user + nice + system + irq + softirq + steal + iowait + idle; guest is inside user and nice.
// Kernel document: Documentation/filesystems/proc.rst, 1.7.
#include "collectors/system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/kernel/perf/cpus.h"
#include "model/columns.h"
#include "model/mem.h"

enum {
    TIME_USER,
    TIME_NICE,
    TIME_SYSTEM,
    TIME_IDLE,
    TIME_IOWAIT,
    TIME_IRQ,
    TIME_SOFTIRQ,
    TIME_STEAL,
    TIME_GUEST,
    TIME_GUEST_NICE,
    TIMES
};

enum { CPU_ID, CPU_FREQUENCY = 1 + CPU_SHARES, CPU_NODE, CPU_COLUMNS };

static const struct column cpu_columns[CPU_COLUMNS] = {
    [CPU_ID] = COLUMN_CPU(.help = HELP_CPU),
    [1 + SHARE_USER] = COLUMN_USER_PCT(.help = "User code, guests included; all shares but GUEST% add up to 100."),
    [1 + SHARE_NICE] = NUMBER_COLUMN("nice_pct", "NICE%", UNIT_PCT, 6, .help = "User code of tasks with nice above 0."),
    [1 + SHARE_SYSTEM] = COLUMN_SYSTEM_PCT(.help = "Kernel code, interrupts excluded."),
    [1 + SHARE_IRQ] = NUMBER_COLUMN("irq_pct", "IRQ%", UNIT_PCT, 6, .help = "Hardware interrupts."),
    [1 + SHARE_SOFTIRQ] = NUMBER_COLUMN("softirq_pct", "SIRQ%", UNIT_PCT, 6, .help = "Soft interrupts."),
    [1 + SHARE_STEAL] =
        NUMBER_COLUMN("steal_pct", "STEAL%", UNIT_PCT, 6, .help = "Runnable, but the hypervisor ran another guest."),
    [1 + SHARE_GUEST] = NUMBER_COLUMN("guest_pct", "GUEST%", UNIT_PCT, 6,
                                      .help = "Running virtual machines; included in USR% and NICE%."),
    [1 + SHARE_IOWAIT] = NUMBER_COLUMN("iowait_pct", "WAIT%", UNIT_PCT, 6, .help = "Idle with I/O outstanding."),
    [1 + SHARE_IDLE] = NUMBER_COLUMN("idle_pct", "IDLE%", UNIT_PCT, 6, .help = "Idle with no I/O outstanding."),
    [CPU_FREQUENCY] = NUMBER_COLUMN("frequency_hz", "FREQ", UNIT_HZ, 8,
                                    .help = "Current frequency, from cpufreq (scaling_cur_freq) or /proc/cpuinfo."),
    [CPU_NODE] = COLUMN_NODE(.help = "NUMA node."),
};

const struct table_def system_cpus_table = {
    .name = "cpus",
    .help = "What each online CPU spent the interval on, from /proc/stat",
    .columns = cpu_columns,
    .n_columns = CPU_COLUMNS,
    .n_keys = 1,
};

struct cpu {
    bool online, seen; // has a row; was in this reading
    uint32_t slot;
    uint64_t times[TIMES];
};

struct cpus {
    struct proc_file stat, loadavg;
    struct table_builder *builder;
    struct system_freq *freq;
    struct cpu *cpus;
    bool *online;
    double *hz, *nodes;
    bool changed; // which are online, since the nodes were looked up
    size_t n;     // of the arrays: the highest CPU number + 1
    bool have_all;
    uint64_t all[TIMES];
    uint64_t last_ns, forks, switches, interrupts;
    uint64_t looks, running; // looks since the last sample; sum of their running tasks
    double loads[3];         // of the last look
};

static void *cpus_create(void) {
    struct cpus *cpus = xcalloc(1, sizeof *cpus);
    cpus->stat = PROC_FILE("/proc/stat");
    cpus->loadavg = PROC_FILE("/proc/loadavg");
    cpus->builder = table_builder_new(&system_cpus_table);
    cpus->freq = system_freq_new();
    cpus->forks = cpus->switches = cpus->interrupts = PROC_MISSING;
    return cpus;
}

static void cpus_destroy(void *state) {
    struct cpus *cpus = state;
    proc_file_close(&cpus->stat);
    proc_file_close(&cpus->loadavg);
    table_builder_free(cpus->builder);
    system_freq_free(cpus->freq);
    free(cpus->cpus);
    free(cpus->online);
    free(cpus->hz);
    free(cpus->nodes);
    free(cpus);
}

// Ticks since the last reading. While a CPU is idle, the kernel adds the current idle period to iowait or idle
// depending on nr_iowait at the read, so one of them may decrease and the other increase by the same amount.
static uint64_t ticks_since(const uint64_t *before, const uint64_t *now, uint64_t *ticks) {
    for (size_t i = 0; i < TIMES; i++) {
        uint64_t delta = counter_delta(before[i], now[i]);
        ticks[i] = delta == PROC_MISSING ? 0 : delta;
    }
    for (size_t i = TIME_IDLE; i <= TIME_IOWAIT; i++) {
        size_t other = i == TIME_IDLE ? TIME_IOWAIT : TIME_IDLE;
        if (now[i] == PROC_MISSING || before[i] == PROC_MISSING || now[i] >= before[i])
            continue;
        uint64_t back = before[i] - now[i];
        ticks[other] -= back < ticks[other] ? back : ticks[other];
    }
    // Guest time is inside user (nice) time; the two are not read at one instant.
    if (ticks[TIME_GUEST] > ticks[TIME_USER])
        ticks[TIME_GUEST] = ticks[TIME_USER];
    if (ticks[TIME_GUEST_NICE] > ticks[TIME_NICE])
        ticks[TIME_GUEST_NICE] = ticks[TIME_NICE];
    uint64_t sum = 0;
    for (size_t i = 0; i <= TIME_STEAL; i++)
        sum += ticks[i];
    return sum;
}

static void shares_of(const uint64_t *before, const uint64_t *now, double *shares) {
    static const uint8_t times[CPU_SHARES] = {
        [SHARE_USER] = TIME_USER,   [SHARE_NICE] = TIME_NICE,       [SHARE_SYSTEM] = TIME_SYSTEM,
        [SHARE_IRQ] = TIME_IRQ,     [SHARE_SOFTIRQ] = TIME_SOFTIRQ, [SHARE_STEAL] = TIME_STEAL,
        [SHARE_GUEST] = TIME_GUEST, [SHARE_IOWAIT] = TIME_IOWAIT,   [SHARE_IDLE] = TIME_IDLE,
    };
    uint64_t ticks[TIMES];
    uint64_t sum = ticks_since(before, now, ticks);
    ticks[TIME_GUEST] += ticks[TIME_GUEST_NICE];
    for (size_t i = 0; i < CPU_SHARES; i++) {
        size_t time = times[i];
        shares[i] = sum && now[time] != PROC_MISSING ? (double)ticks[time] * 100 / (double)sum : NAN;
    }
}

static void shares_none(double *shares) {
    for (size_t i = 0; i < CPU_SHARES; i++)
        shares[i] = NAN;
}

static struct cpu *cpu_at(struct cpus *cpus, uint64_t id) {
    if (id >= CPUS_MAX)
        return NULL;
    if (id >= cpus->n) {
        size_t n = (size_t)id + 1;
        cpus->cpus = xrealloc(cpus->cpus, n * sizeof *cpus->cpus);
        cpus->online = xrealloc(cpus->online, n * sizeof *cpus->online);
        cpus->hz = xrealloc(cpus->hz, n * sizeof *cpus->hz);
        cpus->nodes = xrealloc(cpus->nodes, n * sizeof *cpus->nodes);
        for (size_t i = cpus->n; i < n; i++) {
            cpus->cpus[i] = (struct cpu){0};
            cpus->online[i] = false;
            cpus->hz[i] = cpus->nodes[i] = NAN;
        }
        cpus->n = n;
    }
    return &cpus->cpus[id];
}

// "cpu  1 2 3 …" (all of them) or "cpu7 1 2 3 …": old kernels have fewer numbers; what is missing is not measured.
static void line_cpu(struct cpus *cpus, const char *line, struct system_sample *sample) {
    const char *at = line + strlen("cpu");
    bool all = *at == ' ';
    uint64_t id = 0, times[TIMES];
    for (size_t i = 0; i < TIMES; i++)
        times[i] = PROC_MISSING;
    if ((!all && !proc_number(&at, &id)) || proc_numbers(&at, times, TIMES) <= TIME_IDLE)
        return;
    double shares[CPU_SHARES];
    shares_none(shares);
    if (all) {
        if (cpus->have_all)
            shares_of(cpus->all, times, shares);
        memcpy(cpus->all, times, sizeof times);
        memcpy(sample->series + SYS_CPU_USER, shares, sizeof shares);
        cpus->have_all = true;
        return;
    }
    struct cpu *cpu = cpu_at(cpus, id);
    if (!cpu || cpu->seen)
        return;
    if (cpu->online)
        shares_of(cpu->times, times, shares);
    else
        cpu->slot = table_builder_add(cpus->builder);
    cpus->changed |= !cpu->online;
    cpu->online = cpu->seen = true;
    memcpy(cpu->times, times, sizeof times);
    table_builder_set_num(cpus->builder, cpu->slot, CPU_ID, (double)id);
    for (uint16_t i = 0; i < CPU_SHARES; i++)
        table_builder_set_num(cpus->builder, cpu->slot, 1 + i, shares[i]);
}

// The number after a name: "ctxt 457783".
static bool line_value(const char *line, const char *name, uint64_t *value) {
    size_t length = strlen(name);
    const char *at = line + length;
    return strncmp(line, name, length) == 0 && *at == ' ' && proc_number(&at, value);
}

static void stat_parse(struct cpus *cpus, struct system_sample *sample, double seconds) {
    uint64_t forks = PROC_MISSING, switches = PROC_MISSING, interrupts = PROC_MISSING, value;
    const char *end = sample->buffer->bytes + sample->buffer->length;
    for (const char *line = sample->buffer->bytes; line; line = proc_next_line(line, end)) {
        if (strncmp(line, "cpu", 3) == 0)
            line_cpu(cpus, line, sample);
        else if (line_value(line, "intr", &value))
            interrupts = value;
        else if (line_value(line, "ctxt", &value))
            switches = value;
        else if (line_value(line, "processes", &value))
            forks = value;
        else if (line_value(line, "procs_running", &value))
            sample->series[SYS_PROCS_RUNNING] = (double)value;
        else if (line_value(line, "procs_blocked", &value))
            sample->series[SYS_PROCS_BLOCKED] = (double)value;
    }
    sample->series[SYS_FORKS] = counter_rate(cpus->forks, forks, seconds);
    sample->series[SYS_CONTEXT_SWITCHES] = counter_rate(cpus->switches, switches, seconds);
    sample->series[SYS_INTERRUPTS] = counter_rate(cpus->interrupts, interrupts, seconds);
    cpus->forks = forks;
    cpus->switches = switches;
    cpus->interrupts = interrupts;
}

// CPUs that are not in this reading are offline: their rows are removed, and their counts are no base for a rate.
static size_t cpus_settle(struct cpus *cpus) {
    size_t n_online = 0;
    for (size_t i = 0; i < cpus->n; i++) {
        struct cpu *cpu = &cpus->cpus[i];
        if (cpu->online && !cpu->seen) {
            table_builder_remove(cpus->builder, cpu->slot);
            cpu->online = false;
            cpus->hz[i] = NAN;
        }
        cpu->seen = false;
        cpus->online[i] = cpu->online;
        n_online += cpu->online;
    }
    return n_online;
}

static const char *loads_parse(struct cpus *cpus, const struct proc_buffer *buffer) {
    const char *at = buffer->bytes;
    for (size_t i = 0; i < 3; i++)
        cpus->loads[i] = proc_decimal(&at);
    return at;
}

// The kernel computes them every 5 s: the last look's values are current.
static void load_sample(struct cpus *cpus, struct system_sample *sample) {
    if (!cpus->looks && proc_file_read(&cpus->loadavg, sample->buffer) < 0)
        return;
    if (!cpus->looks)
        loads_parse(cpus, sample->buffer);
    memcpy(sample->series + SYS_LOAD_1, cpus->loads, sizeof cpus->loads);
}

// "0.20 0.18 0.12 3/80 11206": three tasks are runnable, one of them the reading thread. At the sample all of ktop's
// threads run, which would distort the value.
static void cpus_look(void *state, struct proc_buffer *buffer) {
    struct cpus *cpus = state;
    uint64_t running;
    if (proc_file_read(&cpus->loadavg, buffer) < 0)
        return;
    const char *at = loads_parse(cpus, buffer);
    if (!proc_number(&at, &running))
        return;
    cpus->running += running > 0 ? running - 1 : 0;
    cpus->looks++;
}

// The mean of the looks; without one (frames shorter than their interval) the value of /proc/stat at the sample.
static void running_take(struct cpus *cpus, double *running) {
    if (cpus->looks)
        *running = (double)cpus->running / (double)cpus->looks;
    cpus->looks = cpus->running = 0;
}

static void cpus_sample(void *state, struct system_sample *sample) {
    struct cpus *cpus = state;
    load_sample(cpus, sample);
    struct timespec up;
    if (clock_gettime(CLOCK_BOOTTIME, &up) == 0)
        sample->series[SYS_UPTIME] = (double)up.tv_sec + (double)up.tv_nsec / 1e9;
    int error = proc_file_read(&cpus->stat, sample->buffer);
    double seconds = system_elapsed(&cpus->last_ns, sample->now());
    if (error < 0)
        section_note(sample->out, SEVERITY_WARNING, "cpu_user_pct", "no CPU times: /proc/stat is not readable",
                     "mount /proc");
    stat_parse(cpus, sample, seconds);
    running_take(cpus, &sample->series[SYS_PROCS_RUNNING]);
    size_t n_online = cpus_settle(cpus);
    if (error == 0)
        sample->series[SYS_CPUS_ONLINE] = (double)n_online;
    system_freq_sample(cpus->freq, sample, cpus->online, cpus->hz, cpus->n);
    if (cpus->changed)
        system_topology_load(cpus->nodes, cpus->n);
    cpus->changed = false;
    for (size_t i = 0; i < cpus->n; i++)
        if (cpus->online[i]) {
            table_builder_set_num(cpus->builder, cpus->cpus[i].slot, CPU_FREQUENCY, cpus->hz[i]);
            table_builder_set_num(cpus->builder, cpus->cpus[i].slot, CPU_NODE, cpus->nodes[i]);
        }
    section_table(sample->out, table_builder_seal(cpus->builder));
}

const struct system_part system_cpu_part = {
    .name = "cpu",
    .create = cpus_create,
    .look = cpus_look,
    .sample = cpus_sample,
    .destroy = cpus_destroy,
    .check = system_freq_check,
};
