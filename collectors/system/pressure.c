// Pressure stall information: /proc/pressure/{cpu,memory,io,irq}. The series are the share of the measured interval,
// from the `total` counters (microseconds); the kernel's own 10 s averages go to the memory table.
// Kernel document: Documentation/accounting/psi.rst.
#include "collectors/system/system.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

enum { PSI_CPU, PSI_MEMORY, PSI_IO, PSI_IRQ, PSI_FILES };

static const char *const psi_paths[PSI_FILES] = {
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/pressure/irq",
};

struct psi_line {
    double avg10;   // percent
    uint64_t total; // us
};

struct psi {
    struct proc_file file;
    struct psi_line some, full; // of the last sample
    uint64_t last_ns;
    int error;                 // of the last reading
    double some_pct, full_pct; // of the last interval
};

struct pressure {
    struct psi psi[PSI_FILES];
};

static void *pressure_create(void) {
    struct pressure *pressure = xcalloc(1, sizeof *pressure);
    for (size_t i = 0; i < PSI_FILES; i++)
        pressure->psi[i].file = PROC_FILE(psi_paths[i]);
    return pressure;
}

static void pressure_destroy(void *state) {
    struct pressure *pressure = state;
    for (size_t i = 0; i < PSI_FILES; i++)
        proc_file_close(&pressure->psi[i].file);
    free(pressure);
}

// "some avg10=0.12 avg60=0.34 avg300=0.56 total=789"
static struct psi_line psi_parse(const char *text, const char *kind) {
    struct psi_line line = {.avg10 = NAN, .total = PROC_MISSING};
    const char *at = strstr(text, kind);
    if (!at)
        return line;
    size_t length = strcspn(at, "\n");
    const char *avg10 = strstr(at, "avg10="), *total = strstr(at, "total=");
    if (avg10 && avg10 < at + length) {
        avg10 += strlen("avg10=");
        line.avg10 = proc_decimal(&avg10);
    }
    if (total && total < at + length) {
        total += strlen("total=");
        proc_number(&total, &line.total);
    }
    return line;
}

static double psi_share(uint64_t before, uint64_t now, double seconds) {
    double share = counter_rate(before, now, seconds) / 1e6 * 100;
    return share > 100 ? 100 : share; // the last reading and its timestamp are some microseconds apart
}

static int psi_sample(struct psi *psi, struct system_sample *sample) {
    if (psi->error && !sample->all) // missing: tried rarely
        return psi->error;
    int error = psi->error = proc_file_read(&psi->file, sample->buffer);
    double seconds = system_elapsed(&psi->last_ns, sample->now());
    struct psi_line none = {.avg10 = NAN, .total = PROC_MISSING};
    struct psi_line some = error ? none : psi_parse(sample->buffer->bytes, "some ");
    struct psi_line full = error ? none : psi_parse(sample->buffer->bytes, "full ");
    psi->some_pct = psi_share(psi->some.total, some.total, seconds);
    psi->full_pct = psi_share(psi->full.total, full.total, seconds);
    psi->some = some;
    psi->full = full;
    return error;
}

static void pressure_sample(void *state, struct system_sample *sample) {
    struct pressure *pressure = state;
    int errors[PSI_FILES];
    for (size_t i = 0; i < PSI_FILES; i++)
        errors[i] = psi_sample(&pressure->psi[i], sample);
    const struct psi *psi = pressure->psi;
    sample->series[SYS_PSI_CPU_SOME] = psi[PSI_CPU].some_pct;
    sample->series[SYS_PSI_MEMORY_SOME] = psi[PSI_MEMORY].some_pct;
    sample->series[SYS_PSI_MEMORY_FULL] = psi[PSI_MEMORY].full_pct;
    sample->series[SYS_PSI_IO_SOME] = psi[PSI_IO].some_pct;
    sample->series[SYS_PSI_IO_FULL] = psi[PSI_IO].full_pct;
    sample->series[SYS_PSI_IRQ_FULL] = psi[PSI_IRQ].full_pct;
    sample->pressure = (struct system_pressure){
        .memory_some_avg10 = psi[PSI_MEMORY].some.avg10,
        .memory_full_avg10 = psi[PSI_MEMORY].full.avg10,
        .memory_some = psi[PSI_MEMORY].some_pct,
        .memory_full = psi[PSI_MEMORY].full_pct,
    };
    if (errors[PSI_CPU] && errors[PSI_MEMORY] && errors[PSI_IO])
        section_note(sample->out, SEVERITY_WARNING, "memory_some_pct",
                     errors[PSI_CPU] == -EOPNOTSUPP ? "no pressure: PSI is off in this kernel"
                                                    : "no pressure: /proc/pressure is not readable",
                     "boot with psi=1 on the kernel command line (Linux 4.20 or later, CONFIG_PSI)");
    else if (errors[PSI_IRQ])
        section_note(sample->out, SEVERITY_INFO, "irq_full_pct",
                     "no interrupt pressure: /proc/pressure/irq is not readable",
                     "needs Linux 6.1 or later with CONFIG_IRQ_TIME_ACCOUNTING (or PARAVIRT_TIME_ACCOUNTING)");
}

static void pressure_check(struct check_report *report) {
    struct pressure *pressure = pressure_create();
    struct proc_buffer buffer = {0};
    struct check check = {.capability = "pressure (PSI)"};
    int error = proc_file_read(&pressure->psi[PSI_MEMORY].file, &buffer);
    int irq = proc_file_read(&pressure->psi[PSI_IRQ].file, &buffer);
    check.works = error == 0;
    if (error)
        snprintf(check.detail, sizeof check.detail, "/proc/pressure/memory: %s", strerror(-error));
    else
        snprintf(check.detail, sizeof check.detail, "/proc/pressure has cpu, memory and io%s",
                 irq ? "; irq is missing (Linux 6.1 with interrupt time accounting)" : " and irq");
    if (error)
        snprintf(check.fix, sizeof check.fix,
                 "boot with psi=1 on the kernel command line (Linux 4.20 or later, CONFIG_PSI)");
    report->add(report, &check);
    proc_buffer_free(&buffer);
    pressure_destroy(pressure);
}

const struct system_part system_pressure_part = {
    .name = "pressure",
    .create = pressure_create,
    .sample = pressure_sample,
    .destroy = pressure_destroy,
    .check = pressure_check,
};
