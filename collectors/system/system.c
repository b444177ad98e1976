// The system collector: /proc and /sys of the whole machine, in parts (collectors/system/). It opens its files once and
// reads each at every sample; a file that is missing leaves its values unmeasured, with a note.
#include "collectors/system/system.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/clock.h"
#include "model/mem.h"

// Pressure first: the memory table shows it as well.
static const struct system_part *const parts[] = {
    &system_pressure_part, &system_cpu_part, &system_mem_part, &system_numa_part, &system_disk_part,
    &system_net_part,      &system_tcp_part, &system_irq_part, &system_self_part,
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))
// Between looks at the run queue: no divisor of a frame's length, so that they miss the moment when all collectors
// wake.
#define LOOK_MS 70
#define LOOK_IDLE_MS 310
#define BUSY_RUNNING 0.5     // tasks, and
#define BUSY_PCT 10          // CPU time, of an interval above which the machine is not idle
#define ALL_NS 5000000000ull // on an idle machine whose details are not shown, all is read this often

struct system {
    struct proc_buffer buffer;
    void *states[PARTS];
    uint64_t all_ns; // when all was read last
    bool idle;       // in the last interval
};

static int system_open(struct collector_run *run) {
    char first[8];
    int error = proc_read_line("/proc/stat", first, sizeof first);
    if (error < 0) {
        snprintf(run->reason, sizeof run->reason, "/proc/stat is not readable: %s", strerror(-error));
        snprintf(run->fix, sizeof run->fix, "mount -t proc proc /proc");
        return error;
    }
    struct system *system = xcalloc(1, sizeof *system);
    for (size_t i = 0; i < PARTS; i++)
        system->states[i] = parts[i]->create();
    run->state = system;
    run->poll_fd = -1;
    run->drain_ms = LOOK_MS;
    return 0;
}

static void system_look(struct collector_run *run) {
    struct system *system = run->state;
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i]->look)
            parts[i]->look(system->states[i], &system->buffer);
}

// On an idle machine most values do not change. While no pane shows the details, they are read rarely; their rates are
// over the time between the readings.
static bool is_all_due(struct system *system, const struct collector_run *run) {
    uint64_t now = now_ns();
    if (system->idle && !atomic_load(&run->detail) && now < system->all_ns + ALL_NS)
        return false;
    system->all_ns = now;
    return true;
}

static int system_sample(struct collector_run *run, struct section *out) {
    struct system *system = run->state;
    double series[SYSTEM_N_SERIES];
    for (size_t i = 0; i < SYSTEM_N_SERIES; i++)
        series[i] = NAN;
    struct system_sample sample = {
        .out = out,
        .series = series,
        .buffer = &system->buffer,
        .now = now_ns,
        .pressure = {NAN, NAN, NAN, NAN},
        .all = is_all_due(system, run),
    };
    for (size_t i = 0; i < PARTS; i++)
        parts[i]->sample(system->states[i], &sample);
    for (size_t i = 0; i < SYSTEM_N_SERIES; i++)
        section_series(out, &system_series[i], series[i]);
    system->idle = series[SYS_CPU_IDLE] > 100 - BUSY_PCT && series[SYS_PROCS_RUNNING] < BUSY_RUNNING;
    run->drain_ms = system->idle ? LOOK_IDLE_MS : LOOK_MS;
    enum section_state state = SECTION_OK;
    for (size_t i = 0; i < section_notes(out); i++)
        if (section_note_at(out, i)->severity >= SEVERITY_WARNING)
            state = SECTION_DEGRADED;
    section_set_state(out, state);
    return 0;
}

static void system_close(struct collector_run *run) {
    struct system *system = run->state;
    if (!system)
        return;
    for (size_t i = 0; i < PARTS; i++)
        parts[i]->destroy(system->states[i]);
    proc_buffer_free(&system->buffer);
    free(system);
    run->state = NULL;
}

static void system_check(struct check_report *report) {
    char first[8];
    int error = proc_read_line("/proc/stat", first, sizeof first);
    struct check check = {.capability = "/proc", .works = error == 0};
    snprintf(check.detail, sizeof check.detail, "/proc/stat: %s", error ? strerror(-error) : "readable");
    if (error)
        snprintf(check.fix, sizeof check.fix, "mount -t proc proc /proc");
    report->add(report, &check);
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i]->check)
            parts[i]->check(report);
}

static const struct table_def *const system_tables[] = {
    &system_cpus_table, &system_interrupts_table, &system_softirqs_table,   &system_memory_table,
    &system_numa_table, &system_devices_table,    &system_interfaces_table, &system_tcp_table,
    &system_udp_table,  &system_process_table,    &system_threads_table,    NULL,
};

const struct collector collector_system = {
    .name = "system",
    .help = "CPUs, memory, pressure, disks, network and interrupts from /proc and /sys; below 1 ms of CPU time a "
            "sample on a small machine",
    .always = true,
    .series = system_series,
    .n_series = SYSTEM_N_SERIES,
    .tables = system_tables,
    .open = system_open,
    .drain = system_look,
    .sample = system_sample,
    .close = system_close,
    .check = system_check,
};
