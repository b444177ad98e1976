// The frequency of each CPU: cpufreq's scaling_cur_freq, else the "cpu MHz" of /proc/cpuinfo, else unknown. Either
// can be expensive (older kernels interrupt each busy CPU and sleep 10 ms for its answer; /proc/cpuinfo of hundreds of
// CPUs is long), so both have a budget: CPUs beyond it keep their last value until their turn. Kernel document:
// Documentation/admin-guide/pm/cpufreq.rst.
#include "collectors/system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define FREQ_FILES_KEPT 128       // descriptors are few: further CPUs are opened at each reading
#define FREQ_BUDGET_NS 5000000ull // of one sample
#define CPUINFO_SHARE 200         // /proc/cpuinfo is read again after 200 times what reading it took
#define CPUFREQ_PATH_SIZE 80

enum freq_source { FREQ_UNTRIED, FREQ_CPUFREQ, FREQ_CPUINFO, FREQ_NONE };

struct system_freq {
    enum freq_source source;
    struct {
        struct proc_file file;
        char path[CPUFREQ_PATH_SIZE];
    } kept[FREQ_FILES_KEPT];
    size_t next; // the CPU to read next
    struct proc_file cpuinfo;
    uint64_t cpuinfo_due_ns;
};

static void freq_path(char *path, size_t cpu) {
    snprintf(path, CPUFREQ_PATH_SIZE, "/sys/devices/system/cpu/cpu%zu/cpufreq/scaling_cur_freq", cpu);
}

struct system_freq *system_freq_new(void) {
    struct system_freq *freq = xcalloc(1, sizeof *freq);
    for (size_t i = 0; i < FREQ_FILES_KEPT; i++) {
        freq_path(freq->kept[i].path, i);
        freq->kept[i].file = PROC_FILE(freq->kept[i].path);
    }
    freq->cpuinfo = PROC_FILE("/proc/cpuinfo");
    return freq;
}

void system_freq_free(struct system_freq *freq) {
    for (size_t i = 0; i < FREQ_FILES_KEPT; i++)
        proc_file_close(&freq->kept[i].file);
    proc_file_close(&freq->cpuinfo);
    free(freq);
}

static double cpufreq_hz(struct system_freq *freq, size_t cpu, struct proc_buffer *buffer) {
    uint64_t khz;
    if (cpu < FREQ_FILES_KEPT) {
        if (proc_file_read(&freq->kept[cpu].file, buffer) < 0)
            return NAN;
        const char *at = buffer->bytes;
        return proc_number(&at, &khz) && khz ? (double)khz * 1e3 : NAN;
    }
    char path[CPUFREQ_PATH_SIZE];
    freq_path(path, cpu);
    return proc_read_number(path, &khz) && khz ? (double)khz * 1e3 : NAN;
}

static bool cpufreq_sample(struct system_freq *freq, struct system_sample *sample, const bool *online, double *hz,
                           size_t n) {
    bool any = false;
    uint64_t begin = sample->now();
    for (size_t turn = 0; turn < n; turn++) {
        size_t cpu = freq->next >= n ? 0 : freq->next;
        freq->next = cpu + 1;
        if (!online[cpu])
            continue;
        hz[cpu] = cpufreq_hz(freq, cpu, sample->buffer);
        any = any || !isnan(hz[cpu]);
        if (sample->now() - begin > FREQ_BUDGET_NS)
            break;
    }
    return any;
}

// "processor : 3", then "cpu MHz : 2596.096" (x86), "cpu MHz dynamic : 5200" (s390), "clock : 3500.000000MHz" (power).
static bool cpuinfo_parse(const struct proc_buffer *buffer, double *hz, size_t n) {
    bool any = false;
    size_t cpu = n;
    const char *end = buffer->bytes + buffer->length;
    for (const char *line = buffer->bytes; line; line = proc_next_line(line, end)) {
        size_t length = strcspn(line, ":\n");
        if (line[length] != ':')
            continue;
        const char *at = line + length + 1;
        uint64_t id;
        if (strncmp(line, "processor", strlen("processor")) == 0) {
            cpu = proc_number(&at, &id) && id < n ? (size_t)id : n;
        } else if (cpu < n && (strncmp(line, "cpu MHz", strlen("cpu MHz")) == 0 ||
                               strncmp(line, "clock\t", strlen("clock\t")) == 0)) {
            double mhz = proc_decimal(&at);
            hz[cpu] = mhz > 0 ? mhz * 1e6 : NAN;
            any = any || mhz > 0;
        }
    }
    return any;
}

static bool cpuinfo_sample(struct system_freq *freq, struct system_sample *sample, double *hz, size_t n) {
    uint64_t begin = sample->now();
    if (freq->cpuinfo_due_ns > begin)
        return true;
    if (proc_file_read(&freq->cpuinfo, sample->buffer) < 0 || !cpuinfo_parse(sample->buffer, hz, n))
        return false;
    uint64_t end = sample->now();
    freq->cpuinfo_due_ns = end + (end - begin) * CPUINFO_SHARE;
    return true;
}

void system_freq_sample(struct system_freq *freq, struct system_sample *sample, const bool *online, double *hz,
                        size_t n) {
    if (freq->source == FREQ_UNTRIED && n)
        freq->source = cpufreq_sample(freq, sample, online, hz, n) ? FREQ_CPUFREQ
                       : cpuinfo_sample(freq, sample, hz, n)       ? FREQ_CPUINFO
                                                                   : FREQ_NONE;
    else if (freq->source == FREQ_CPUFREQ && sample->all)
        cpufreq_sample(freq, sample, online, hz, n);
    else if (freq->source == FREQ_CPUINFO && sample->all)
        cpuinfo_sample(freq, sample, hz, n);
    if (freq->source == FREQ_NONE)
        section_note(sample->out, SEVERITY_INFO, "frequency_hz",
                     "no CPU frequency: no cpufreq driver, and no frequency in /proc/cpuinfo",
                     "load a cpufreq driver; a virtual machine usually has none");
}

void system_freq_check(struct check_report *report) {
    struct system_freq *freq = system_freq_new();
    struct proc_buffer buffer = {0};
    struct check check = {.capability = "CPU frequency", .works = true};
    double hz[1] = {NAN};
    if (!isnan(cpufreq_hz(freq, 0, &buffer))) {
        snprintf(check.detail, sizeof check.detail, "from cpufreq");
    } else if (proc_file_read(&freq->cpuinfo, &buffer) == 0 && cpuinfo_parse(&buffer, hz, 1)) {
        snprintf(check.detail, sizeof check.detail,
                 "from /proc/cpuinfo (no cpufreq driver; it may not follow the load)");
    } else {
        check.works = false;
        snprintf(check.detail, sizeof check.detail, "no cpufreq driver, and no frequency in /proc/cpuinfo");
        snprintf(check.fix, sizeof check.fix, "load a cpufreq driver; a virtual machine usually has none");
    }
    report->add(report, &check);
    proc_buffer_free(&buffer);
    system_freq_free(freq);
}
