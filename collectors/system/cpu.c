// CPUs: /proc/stat and /proc/loadavg. The shares of a CPU come from its ticks alone (they need no clock of ours), and
// always add up to 100: user + nice + system + irq + softirq + steal + iowait + idle; guest is inside user and nice.
// Kernel document: Documentation/filesystems/proc.rst, 1.7.
#include "collectors/system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/mem.h"

#define CPUS_MAX 8192 // NR_CPUS of the largest kernels; a number past it is no CPU

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

#define SHARE(share_, name_, title_, help_)                                                                            \
    [1 + (share_)] = {.name = (name_), .title = (title_), .help = (help_), .unit = UNIT_PCT, .width = 6}

enum { CPU_ID, CPU_FREQUENCY = 1 + CPU_SHARES, CPU_NODE, CPU_COLUMNS };

static const struct column cpu_columns[CPU_COLUMNS] = {
    [CPU_ID] = {.name = "cpu",
                .title = "CPU",
                .help = "Number of the CPU, as the kernel counts them",
                .unit = UNIT_ID,
                .width = 4,
                .ascending = true},
    SHARE(SHARE_USER, "user_pct", "USER%",
          "Time of this CPU in user code, guests included, in percent; the shares but guest add up to 100"),
    SHARE(SHARE_NICE, "nice_pct", "NICE%", "Time of this CPU in user code of tasks with a nice value above 0"),
    SHARE(SHARE_SYSTEM, "system_pct", "SYS%", "Time of this CPU in the kernel, without interrupts"),
    SHARE(SHARE_IRQ, "irq_pct", "IRQ%", "Time of this CPU in hardware interrupts"),
    SHARE(SHARE_SOFTIRQ, "softirq_pct", "SIRQ%", "Time of this CPU in soft interrupts"),
    SHARE(SHARE_STEAL, "steal_pct", "STEAL%", "Time that the hypervisor gave to others while this CPU had work"),
    SHARE(SHARE_GUEST, "guest_pct", "GUEST%",
          "Time of this CPU running virtual machines: a part of user and nice, not beside them"),
    SHARE(SHARE_IOWAIT, "iowait_pct", "WAIT%", "Time of this CPU idle while a task of it waited for I/O"),
    SHARE(SHARE_IDLE, "idle_pct", "IDLE%", "Time of this CPU idle with no I/O waited for"),
    [CPU_FREQUENCY] = {.name = "frequency_hz",
                       .title = "FREQ",
                       .unit = UNIT_HZ,
                       .width = 8,
                       .help = "Frequency of this CPU now, from cpufreq (scaling_cur_freq), else /proc/cpuinfo"},
    [CPU_NODE] = {.name = "node",
                  .title = "NODE",
                  .unit = UNIT_ID,
                  .width = 4,
                  .ascending = true,
                  .help = "NUMA node of this CPU"},
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
    uint64_t looks, running; // since the last sample, and the sum of what they found
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

// Ticks since the last reading. An idle CPU that is read in its sleep has that sleep counted as iowait or idle by what
// waits at that moment, and the kernel may change its mind: then one goes back and the other goes ahead by as much.
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

// CPUs that are not in this reading are offline: their rows go, and what they counted is no base for a rate.
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

// The kernel computes them every 5 s: those of the last look are new enough.
static void load_sample(struct cpus *cpus, struct system_sample *sample) {
    if (!cpus->looks && proc_file_read(&cpus->loadavg, sample->buffer) < 0)
        return;
    if (!cpus->looks)
        loads_parse(cpus, sample->buffer);
    memcpy(sample->series + SYS_LOAD_1, cpus->loads, sizeof cpus->loads);
}

// "0.20 0.18 0.12 3/80 11206": three run or wait for a CPU, one of them the thread that reads it. At the sample all of
// ktop's threads run, which is not what the machine is busy with.
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

// The mean of the looks; without one (frames shorter than the time between two) what /proc/stat said at the sample.
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
        section_note(sample->out, SEVERITY_WARNING, "cpu_user_pct",
                     "CPU times are not known: /proc/stat is not readable", "mount /proc");
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
