// What cannot be measured, and why: the notes of a frame, and the lines of --doctor. Counters that are missing, stay at
// zero or never run are separate causes, each reported with its CPUs.
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/counters/cpu_counters.h"

#define NAMES_SIZE 400
#define LIST_SIZE 48

static const char watchdog_fix[] = "sysctl kernel.nmi_watchdog=0 (hard lockups are then not reported)";
static const char holder_fix[] = "stop the other profiler, or the virtual machine that uses the PMU";

static size_t text_add(char *out, size_t size, size_t at, const char *text) {
    int n = at < size ? snprintf(out + at, size - at, "%s", text) : 0;
    return n < 0 ? at : at + (size_t)n < size ? at + (size_t)n : size - 1;
}

static bool concerns(const struct counter_cpu *cpu, unsigned event, enum counter_state state) {
    return cpu->online && cpu->state[event] == state;
}

// "0-3,8": the CPUs on which the event is in that state; "" for all or none. *n: their number.
static void cpus_text(const struct cpu_counters *counters, unsigned event, enum counter_state state,
                      char out[LIST_SIZE], int *n) {
    int online = 0;
    size_t at = 0;
    *n = 0;
    out[0] = '\0';
    for (int cpu = 0; cpu < counters->n_cpus; cpu++) {
        int last = cpu;
        online += counters->cpus[cpu].online;
        if (!concerns(&counters->cpus[cpu], event, state))
            continue;
        while (last + 1 < counters->n_cpus && concerns(&counters->cpus[last + 1], event, state))
            last++;
        char range[32];
        snprintf(range, sizeof range, last > cpu ? "%s%d-%d" : "%s%d", at ? "," : "", cpu, last);
        if (at + strlen(range) + 4 < LIST_SIZE)
            at = text_add(out, LIST_SIZE, at, range);
        else if (at && out[at - 1] != '.')
            at = text_add(out, LIST_SIZE, at, ",…");
        *n += last - cpu + 1;
        online += last - cpu;
        cpu = last;
    }
    if (*n == online)
        out[0] = '\0';
}

// "branches, slots on CPUs 8-15": the events from..to-1 in that state. Returns their number.
static int names_text(const struct cpu_counters *counters, enum counter_state state, unsigned from, unsigned to,
                      char out[NAMES_SIZE]) {
    size_t at = strlen(out);
    int found = 0;
    for (unsigned i = from; i < to; i++) {
        char list[LIST_SIZE];
        int n;
        cpus_text(counters, i, state, list, &n);
        if (!n)
            continue;
        found++;
        at = text_add(out, NAMES_SIZE, at, at ? ", " : "");
        at = text_add(out, NAMES_SIZE, at, hardware_events[i].name);
        if (list[0]) {
            at = text_add(out, NAMES_SIZE, at, n > 1 ? " on CPUs " : " on CPU ");
            at = text_add(out, NAMES_SIZE, at, list);
        }
    }
    return found;
}

static void missing_note(const struct cpu_counters *counters, struct section *out) {
    char names[NAMES_SIZE] = "", text[NAMES_SIZE + 64];
    int basic = names_text(counters, COUNTER_MISSING, CYCLES, N_BASIC, names);
    names_text(counters, COUNTER_MISSING, N_BASIC, N_GENERIC, names);
    int n;
    char list[LIST_SIZE];
    cpus_text(counters, TOPDOWN_RETIRING, COUNTER_MISSING, list, &n);
    if (n) // one name for the four events
        snprintf(names + strlen(names), sizeof names - strlen(names), "%stop-down%s%s", names[0] ? ", " : "",
                 list[0] ? " on CPUs " : "", list);
    if (!names[0])
        return;
    snprintf(text, sizeof text, "this PMU does not count %s", names);
    section_note(out, SEVERITY_INFO, basic ? NULL : "stalled_backend_pct", text, "none: this machine lacks it");
    if (basic)
        section_set_state(out, SECTION_DEGRADED);
}

static void zero_note(const struct cpu_counters *counters, struct section *out) {
    char names[NAMES_SIZE] = "", text[NAMES_SIZE + 64];
    int basic = names_text(counters, COUNTER_ZERO, CYCLES, N_BASIC, names);
    int all = basic + names_text(counters, COUNTER_ZERO, N_BASIC, N_HARDWARE, names);
    if (!all)
        return;
    snprintf(text, sizeof text, "opened, but at 0 while the CPU was busy, so unknown: %s", names);
    section_note(out, basic ? SEVERITY_WARNING : SEVERITY_INFO, basic ? NULL : "stalled_backend_pct", text,
                 "none: this PMU, or its emulation, does not implement the event");
    if (basic)
        section_set_state(out, SECTION_DEGRADED);
}

static void starved_note(const struct cpu_counters *counters, struct section *out) {
    char names[NAMES_SIZE] = "", text[NAMES_SIZE + 96];
    const char *holder =
        counters->watchdog ? "the NMI watchdog holds a hardware counter" : "another process holds hardware counters";
    const char *fix = counters->watchdog ? watchdog_fix : holder_fix;
    if (names_text(counters, COUNTER_STARVED, CYCLES, N_HARDWARE, names)) {
        snprintf(text, sizeof text, "%s; these never ran: %s", holder, names);
        section_note(out, SEVERITY_WARNING, "counted_pct", text, fix);
        section_set_state(out, SECTION_DEGRADED);
    } else if (counters->squeezed) {
        snprintf(text, sizeof text, "%s; the others are counted in turn, in smaller groups", holder);
        section_note(out, SEVERITY_INFO, "counted_pct", text, fix);
    }
}

static void no_hardware_note(const struct cpu_counters *counters, struct section *out) {
    char reason[256], fix[256];
    int error = -ENODEV;
    for (int cpu = counters->n_cpus; cpu-- > 0;)
        if (counters->cpus[cpu].online)
            error = counters->cpus[cpu].missing[CYCLES];
    perf_explain(error, true, reason, sizeof reason, fix, sizeof fix);
    if (error == -EBUSY && cpu_counters_watchdog()) {
        snprintf(reason, sizeof reason, "the NMI watchdog holds the hardware counter");
        snprintf(fix, sizeof fix, "%s", watchdog_fix);
    }
    section_note(out, SEVERITY_WARNING, "ipc", reason, fix);
    section_set_state(out, SECTION_DEGRADED);
}

void cpu_counters_notes(const struct cpu_counters *counters, struct section *out) {
    if (!counters->has_hardware) {
        no_hardware_note(counters, out);
        return;
    }
    starved_note(counters, out);
    zero_note(counters, out);
    missing_note(counters, out);
}

// ---- --doctor ----

// Opens the event CPU-wide on the current CPU; *moved: it counts while the CPU works. 0 or -errno.
static int event_try(const struct perf_event *event, bool *moved) {
    int cpu = sched_getcpu();
    struct perf_reading before, after;
    uint64_t words[4];
    int fd = perf_open(event, cpu < 0 ? 0 : cpu, -1);
    if (fd < 0)
        return fd;
    ssize_t n = read(fd, words, sizeof words);
    bool ok = n > 0 && perf_decode(words, (size_t)n, 1, &before);
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    for (int i = 0; i < 5; i++) { // a sleep is a context switch; the loop is cycles and instructions
        nanosleep(&pause, NULL);
        for (int spin = 0; spin < 20000; spin++)
            __asm__("" ::: "memory"); // keeps the loop
    }
    n = read(fd, words, sizeof words);
    ok = ok && n > 0 && perf_decode(words, (size_t)n, 1, &after);
    close(fd);
    *moved = ok && after.values[0] > before.values[0];
    return 0;
}

static void check_hardware(struct check_report *report) {
    struct check check = {.capability = "hardware counters"};
    size_t at = 0;
    int error = 0, works = 0;
    for (unsigned i = 0; i < N_BASIC; i++) {
        bool moved = false;
        int failed = event_try(&hardware_events[i], &moved);
        error = error ? error : failed;
        works += !failed && moved;
        at += (size_t)snprintf(check.detail + at, sizeof check.detail - at, "%s%s%s", at ? ", " : "",
                               hardware_events[i].name,
                               failed   ? " (missing)"
                               : !moved ? " (opens, but stays 0)"
                                        : "");
    }
    check.works = works > 0;
    if (!works && error)
        perf_explain(error, true, check.detail, sizeof check.detail, check.fix, sizeof check.fix);
    else if (!works)
        snprintf(check.fix, sizeof check.fix, "%s", cpu_counters_watchdog() ? watchdog_fix : holder_fix);
    report->add(report, &check);
}

// The events of the derived columns other than IPC and misses.
static void check_more(struct check_report *report) {
    struct check check = {.capability = "stalls, top-down, active frequency"};
    struct counter_facts facts;
    int cpu = sched_getcpu(), works = 0;
    size_t at = 0;
    cpu = cpu < 0 ? 0 : cpu;
    cpu_counters_facts_load(&facts, cpu + 1);
    const struct counter_kind *kind = &facts.kinds[cpu_counters_kind_of(&facts, cpu)];
    static const uint8_t events[] = {STALLED_FRONTEND, STALLED_BACKEND, TOPDOWN_RETIRING, REF_CYCLES, APERF};
    for (unsigned i = 0; i < sizeof events; i++) {
        unsigned event = events[i], leader = event == TOPDOWN_RETIRING && kind->has[SLOTS] ? SLOTS : event;
        int fd = kind->has[event] ? perf_open(&kind->events[leader], cpu, -1) : -ENOENT;
        if (fd >= 0)
            close(fd);
        works += fd >= 0;
        at += (size_t)snprintf(check.detail + at, sizeof check.detail - at, "%s%s%s", at ? ", " : "",
                               event == TOPDOWN_RETIRING ? "top-down"
                               : event == APERF          ? "aperf and mperf"
                                                         : hardware_events[event].name,
                               fd < 0 ? " (missing)" : "");
    }
    cpu_counters_facts_free(&facts);
    check.works = works > 0;
    if (!works)
        snprintf(check.fix, sizeof check.fix, "use a processor that has them, outside a virtual machine");
    report->add(report, &check);
}

void cpu_counters_check(struct check_report *report) {
    check_hardware(report);
    check_more(report);
    struct check check = {.capability = "software counters of whole CPUs"};
    bool moved = false;
    int error = event_try(&software_events[CONTEXT_SWITCHES], &moved);
    check.works = !error;
    if (error)
        perf_explain(error, false, check.detail, sizeof check.detail, check.fix, sizeof check.fix);
    else
        snprintf(check.detail, sizeof check.detail, "context switches, migrations, page faults");
    report->add(report, &check);
}
