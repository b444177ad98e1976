// From the groups' rates to values: multiplexing, events that open but never count, sums and ratios; and the counters
// of this machine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/counters/cpu_counters.h"
#include "model/live.h"
#include "tests/unit/system_root.h"

extern const struct collector collector_cpu_counters;

// A CPU with forged rates of its groups.
static void blank_cpu(struct counter_cpu *cpu) {
    *cpu = (struct counter_cpu){.online = true, .counted_pct = NAN, .base_hz = NAN};
    for (unsigned i = 0; i < N_HARDWARE; i++) {
        cpu->hardware_per_s[i] = NAN;
        cpu->state[i] = COUNTER_MISSING;
    }
    for (unsigned i = 0; i < N_SOFTWARE; i++)
        cpu->software_per_s[i] = NAN;
}

#define GROUP(cpu_, counted_, ...)                                                                                     \
    add_group(cpu_, counted_, (const struct forged[]){__VA_ARGS__},                                                    \
              sizeof((const struct forged[]){__VA_ARGS__}) / sizeof(struct forged))
struct forged {
    uint8_t event;
    double per_s;
};
static void add_group(struct counter_cpu *cpu, double counted_pct, const struct forged *events, size_t n) {
    struct perf_group *group = &cpu->groups[cpu->n_groups];
    struct perf_rates *rates = &cpu->rates[cpu->n_groups];
    for (size_t i = 0; i < n; i++) {
        group->which[i] = events[i].event;
        rates->per_s[i] = counted_pct > 0 ? events[i].per_s : NAN;
        if (cpu->state[events[i].event] == COUNTER_MISSING)
            cpu->state[events[i].event] = COUNTER_COUNTS;
    }
    group->n = (uint8_t)n;
    rates->counted_pct = counted_pct;
    cpu_counters_merge(cpu, cpu->n_groups++);
}

static void merge(void **state) {
    (void)state;
    struct counter_cpu cpu;
    blank_cpu(&cpu);
    GROUP(&cpu, 80, {CYCLES, 2e9}, {INSTRUCTIONS, 1e9});
    assert_float_equal(cpu.hardware_per_s[INSTRUCTIONS], 1e9, 0);
    assert_float_equal(cpu.counted_pct, 80, 0);
    GROUP(&cpu, 40, {CYCLES, 7e9}, {BRANCHES, 5e8});
    assert_float_equal(cpu.hardware_per_s[BRANCHES], 5e8, 0);
    assert_float_equal(cpu.hardware_per_s[CYCLES], 2e9, 0); // of the first group that has it
    assert_float_equal(cpu.counted_pct, 40, 0);             // the least
    GROUP(&cpu, NAN, {CACHE_MISSES, NAN});
    assert_float_equal(cpu.counted_pct, 40, 0);
    GROUP(&cpu, 10, {APERF, 1}, {MPERF, 1}); // not on the PMU: does not affect counted_pct
    assert_float_equal(cpu.counted_pct, 40, 0);
    assert_true(isnan(cpu.hardware_per_s[CACHE_MISSES]));
}

static void starving(void **state) {
    (void)state;
    const struct perf_group group = {.n = 1}, empty = {.n = 0};
    const struct perf_rates never = {.counted_pct = 0}, some = {.counted_pct = 1}, unknown = {.counted_pct = NAN};
    assert_true(cpu_counters_starved(&group, &never));
    assert_false(cpu_counters_starved(&group, &some));
    assert_false(cpu_counters_starved(&group, &unknown));
    assert_false(cpu_counters_starved(&empty, &never));
}

static void judge_one(struct counter_cpu *cpus, int n, struct cpu_counters *counters) {
    *counters = (struct cpu_counters){
        .n_cpus = n, .cpus = cpus, .has_hardware = true, .facts = counters->facts, .watchdog = counters->watchdog};
    counters->facts.n_kinds = 1;
    cpu_counters_judge(counters);
}

static void opened_is_not_counts(void **state) {
    (void)state;
    struct counter_cpu cpus[3];
    struct cpu_counters counters = {0};
    for (int i = 0; i < 3; i++)
        blank_cpu(&cpus[i]);
    GROUP(&cpus[0], 100, {CYCLES, 3e9}, {INSTRUCTIONS, 0}, {CACHE_MISSES, 0}, {BRANCH_MISSES, 0});
    GROUP(&cpus[1], 100, {CYCLES, 3e9}, {INSTRUCTIONS, 1e9}, {CACHE_MISSES, 5}, {BRANCH_MISSES, 0});
    GROUP(&cpus[2], 100, {CYCLES, 1e3}, {INSTRUCTIONS, 0}, {CACHE_MISSES, 0}, {BRANCH_MISSES, 0});
    judge_one(cpus, 3, &counters);
    // By CPU: its neighbour counts, it does not.
    assert_int_equal(cpus[0].state[INSTRUCTIONS], COUNTER_ZERO);
    assert_true(isnan(cpus[0].hardware_per_s[INSTRUCTIONS]));
    assert_true(isnan(cpu_counters_ratio(&cpus[0], INSTRUCTIONS, CYCLES)));
    assert_int_equal(cpus[1].state[INSTRUCTIONS], COUNTER_COUNTS);
    // No misses on one CPU are plausible if another CPU has some; none on all CPUs are not.
    assert_int_equal(cpus[0].state[CACHE_MISSES], COUNTER_COUNTS);
    assert_float_equal(cpus[0].hardware_per_s[CACHE_MISSES], 0, 0);
    assert_int_equal(cpus[0].state[BRANCH_MISSES], COUNTER_ZERO);
    assert_int_equal(cpus[1].state[BRANCH_MISSES], COUNTER_ZERO);
    // An idle CPU is not judged.
    assert_int_equal(cpus[2].state[INSTRUCTIONS], COUNTER_COUNTS);
    assert_float_equal(cpus[2].hardware_per_s[INSTRUCTIONS], 0, 0);
    assert_int_equal(cpus[0].state[BRANCHES], COUNTER_MISSING);
    // A count above 0 clears the state.
    cpus[0].hardware_per_s[BRANCH_MISSES] = 7;
    cpu_counters_judge(&counters);
    assert_int_equal(cpus[0].state[BRANCH_MISSES], COUNTER_COUNTS);
    // The state stays while the CPU is idle.
    cpus[0].hardware_per_s[CYCLES] = cpus[0].hardware_per_s[INSTRUCTIONS] = 0;
    cpus[0].software_per_s[CONTEXT_SWITCHES] = 1;
    cpu_counters_judge(&counters);
    assert_int_equal(cpus[0].state[INSTRUCTIONS], COUNTER_ZERO);
    assert_int_equal(cpus[0].state[CYCLES], COUNTER_COUNTS);
    // Context switches but no cycles: the cycles are not counted.
    cpus[0].hardware_per_s[CYCLES] = 0;
    cpus[0].software_per_s[CONTEXT_SWITCHES] = 300;
    cpu_counters_judge(&counters);
    assert_int_equal(cpus[0].state[CYCLES], COUNTER_ZERO);
    assert_true(isnan(cpus[0].hardware_per_s[CYCLES]));
}

static void never_ran_is_starved(void **state) {
    (void)state;
    struct counter_cpu cpu;
    struct cpu_counters counters = {0};
    blank_cpu(&cpu);
    GROUP(&cpu, 0, {CYCLES, 0}, {BRANCHES, 0});
    GROUP(&cpu, 60, {CYCLES, 1e9}, {INSTRUCTIONS, 1e9});
    judge_one(&cpu, 1, &counters);
    assert_int_equal(cpu.state[BRANCHES], COUNTER_STARVED);
    assert_int_equal(cpu.state[CYCLES], COUNTER_COUNTS); // its other group ran
    assert_true(isnan(cpu_counters_ratio(&cpu, BRANCHES, CYCLES)));
    assert_float_equal(cpu_counters_ratio(&cpu, INSTRUCTIONS, CYCLES), 1, 0);
    cpu.rates[0] = (struct perf_rates){.per_s = {1e9, 5e8}, .counted_pct = 40};
    cpu.hardware_per_s[BRANCHES] = 5e8;
    cpu_counters_judge(&counters);
    assert_int_equal(cpu.state[BRANCHES], COUNTER_COUNTS);
}

static void ratios_of_one_group(void **state) {
    (void)state;
    struct counter_cpu cpus[2];
    for (int i = 0; i < 2; i++)
        blank_cpu(&cpus[i]);
    struct cpu_counters counters = {.n_cpus = 2, .cpus = cpus};
    GROUP(&cpus[0], 50, {CYCLES, 2e9}, {INSTRUCTIONS, 1e9});
    GROUP(&cpus[0], 50, {CACHE_MISSES, 1e6});
    GROUP(&cpus[0], 50, {CYCLES, 4e9}, {STALLED_BACKEND, 1e9});
    assert_float_equal(cpu_counters_ratio(&cpus[0], INSTRUCTIONS, CYCLES), 0.5, 0);
    assert_true(isnan(cpu_counters_ratio(&cpus[0], CACHE_MISSES, INSTRUCTIONS)));       // at different times
    assert_float_equal(cpu_counters_ratio(&cpus[0], STALLED_BACKEND, CYCLES), 0.25, 0); // its own cycles
    assert_true(isnan(cpu_counters_ratio(&cpus[1], INSTRUCTIONS, CYCLES)));
    GROUP(&cpus[1], 100, {CYCLES, 2e9}, {INSTRUCTIONS, 3e9});
    assert_float_equal(cpu_counters_ratio_all(&counters, INSTRUCTIONS, CYCLES), 1, 0);
    assert_true(isnan(cpu_counters_ratio_all(&counters, BRANCH_MISSES, BRANCHES)));
    cpus[1].online = false;
    assert_float_equal(cpu_counters_ratio_all(&counters, INSTRUCTIONS, CYCLES), 0.5, 0);
    assert_true(isnan(ratio_of(1, 0)) && isnan(ratio_of(NAN, 1)) && isnan(ratio_of(1, NAN)) && isnan(ratio_of(0, 0)));
}

static void frequency(void **state) {
    (void)state;
    struct counter_cpu cpu;
    struct cpu_derived derived;
    blank_cpu(&cpu);
    GROUP(&cpu, 100, {CYCLES, 1.5e9}, {REF_CYCLES, 1e9});
    cpu_counters_derive(&cpu, &derived);
    assert_true(isnan(derived.active_hz) && isnan(derived.turbo_ratio)); // at an unknown clock rate
    cpu.base_hz = 2e9;
    cpu_counters_derive(&cpu, &derived);
    assert_float_equal(derived.active_hz, 3e9, 1); // half asleep, and at 3 GHz while awake
    assert_float_equal(derived.turbo_ratio, 1.5, 1e-9);
    GROUP(&cpu, 100, {APERF, 4e8}, {MPERF, 8e8}, {TSC, 2.4e9}); // goes first, and its clock is exact
    cpu_counters_derive(&cpu, &derived);
    assert_float_equal(derived.active_hz, 1.2e9, 1);
    assert_float_equal(derived.turbo_ratio, 0.6, 1e-9);
    cpu.base_hz = NAN;
    cpu_counters_derive(&cpu, &derived);
    assert_float_equal(derived.turbo_ratio, 0.5, 1e-9);
}

static void topdown_shares(void **state) {
    (void)state;
    struct counter_cpu cpu;
    struct cpu_derived derived;
    blank_cpu(&cpu);
    GROUP(&cpu, 100, {CYCLES, 2e9}, {INSTRUCTIONS, 2e9});
    cpu_counters_derive(&cpu, &derived);
    assert_true(isnan(derived.retiring) && isnan(derived.backend));
    GROUP(&cpu, 100, {SLOTS, 99e8}, {TOPDOWN_RETIRING, 3e9}, {TOPDOWN_BAD_SPECULATION, 1e9}, {TOPDOWN_FRONTEND, 2e9},
          {TOPDOWN_BACKEND, 4e9});
    cpu_counters_derive(&cpu, &derived);
    assert_float_equal(derived.retiring, 0.3, 1e-9);
    assert_float_equal(derived.bad_speculation, 0.1, 1e-9);
    assert_float_equal(derived.frontend, 0.2, 1e-9);
    assert_float_equal(derived.backend, 0.4, 1e-9);
}

static struct cpu_derived busy(void) {
    struct cpu_derived d = {.cycles_per_s = 2e9};
    d.ipc = d.retiring = d.bad_speculation = d.frontend = d.backend = d.stalled_backend = d.stalled_frontend = NAN;
    d.cache_misses_per_cycle = d.branch_misses_per_cycle = NAN;
    return d;
}

// The bottleneck is named only if the values support it.
static void words(void **state) {
    (void)state;
    struct cpu_derived d = busy();
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_UNKNOWN);
    assert_null(counter_bound_words[BOUND_UNKNOWN]);
    d.cycles_per_s = NAN;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_UNKNOWN);
    d.cycles_per_s = 1e6;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_IDLE);
    d = busy();
    d.ipc = 0.4;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_UNKNOWN); // slow, cause unknown
    d.cache_misses_per_cycle = 0.0051;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_MEMORY);
    assert_int_equal(cpu_counters_bound(&d, false),
                     BOUND_UNKNOWN); // those misses may have been found in the next cache
    d.ipc = 1.2;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_UNKNOWN);
    d = busy();
    d.branch_misses_per_cycle = 0.02;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_BRANCHES);
    d = busy();
    d.stalled_backend = 0.7;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_BACKEND);
    d = busy();
    d.ipc = 2.5;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_COMPUTE);
    d.retiring = 0.1, d.bad_speculation = 0.1, d.frontend = 0.1, d.backend = 0.7; // top-down decides
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_BACKEND);
    d.cache_misses_per_cycle = 0.01;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_MEMORY);
    d.retiring = 0.6, d.backend = 0.2;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_COMPUTE);
    d.retiring = 0.45, d.backend = 0.25;
    assert_int_equal(cpu_counters_bound(&d, true), BOUND_UNKNOWN);
}

// ---- what the kernel offers, from a forged /sys ----

static void event_texts(void **state) {
    (void)state;
    uint64_t config;
    assert_true(cpu_counters_event_parse("event=0x00,umask=0x81", &config));
    assert_int_equal(config, 0x8100);
    assert_true(cpu_counters_event_parse("event=0x3c", &config));
    assert_int_equal(config, 0x3c);
    assert_true(cpu_counters_event_parse("umask=0x4,event=0x0", &config));
    assert_int_equal(config, 0x400);
    static const char *const bad[] = {"", "event", "event=", "event=x", "event=0x1,", "event=0x1,any=1", "event=0x100"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(cpu_counters_event_parse(bad[i], &config));
}

#define PMU "/sys/bus/event_source/devices/"

static void facts_plain(void **state) {
    (void)state;
    struct counter_facts facts;
    root_write("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\n");
    root_write(PMU "cpu/type", "4\n");
    root_write(PMU "msr/type", "9\n");
    root_write(PMU "msr/events/tsc", "event=0x00\n");
    cpu_counters_facts_load(&facts, 4);
    assert_int_equal(facts.n_kinds, 1);
    assert_false(facts.last_level);
    assert_true(facts.kinds[0].has[CYCLES] && facts.kinds[0].has[TSC]);
    assert_false(facts.kinds[0].has[SLOTS] || facts.kinds[0].has[TOPDOWN_RETIRING] || facts.kinds[0].has[APERF]);
    assert_int_equal(facts.kinds[0].events[TSC].type, 9);
    assert_int_equal(facts.kinds[0].events[CYCLES].config, hardware_events[CYCLES].config);
    assert_int_equal(cpu_counters_kind_of(&facts, 3), 0);
    cpu_counters_facts_free(&facts);
    assert_true(isnan(cpu_counters_base_hz(2)));
    assert_false(cpu_counters_watchdog());
    root_write("/sys/devices/system/cpu/cpu2/acpi_cppc/nominal_freq", "2400\n");
    assert_float_equal(cpu_counters_base_hz(2), 2.4e9, 0);
    root_write("/sys/devices/system/cpu/cpu2/cpufreq/base_frequency", "2600000\n");
    assert_float_equal(cpu_counters_base_hz(2), 2.6e9, 0);
    root_write("/proc/sys/kernel/nmi_watchdog", "0\n");
    assert_false(cpu_counters_watchdog());
    root_write("/proc/sys/kernel/nmi_watchdog", "1\n");
    assert_true(cpu_counters_watchdog());
}

static void forge_topdown(const char *device) {
    static const char *const files[][2] = {{"topdown-retiring", "event=0x00,umask=0x80\n"},
                                           {"topdown-bad-spec", "event=0x00,umask=0x81\n"},
                                           {"topdown-fe-bound", "event=0x00,umask=0x82\n"},
                                           {"topdown-be-bound", "event=0x00,umask=0x83\n"}};
    for (size_t i = 0; i < 4; i++) {
        char path[128];
        snprintf(path, sizeof path, PMU "%s/events/%s", device, files[i][0]);
        root_write(path, files[i][1]);
    }
}

static void facts_hybrid(void **state) {
    (void)state;
    struct counter_facts facts;
    root_write("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\n");
    root_write(PMU "cpu_core/type", "4\n");
    root_write(PMU "cpu_core/cpus", "0-3\n");
    root_write(PMU "cpu_core/events/slots", "event=0x00,umask=0x4\n");
    forge_topdown("cpu_core");
    root_write(PMU "cpu_atom/type", "10\n");
    root_write(PMU "cpu_atom/cpus", "4-7\n");
    root_write(PMU "cpu_atom/events/topdown-retiring", "event=0xc2,umask=0x0\n"); // the other three are missing
    root_write(PMU "msr/type", "9\n");
    root_write(PMU "msr/events/aperf", "event=0x01\n");
    root_write(PMU "msr/events/mperf", "event=0x02\n");
    cpu_counters_facts_load(&facts, 8);
    assert_int_equal(facts.n_kinds, 2);
    assert_true(facts.last_level);
    assert_int_equal(cpu_counters_kind_of(&facts, 3), 0);
    assert_int_equal(cpu_counters_kind_of(&facts, 4), 1);
    const struct counter_kind *core = &facts.kinds[0], *atom = &facts.kinds[1];
    assert_string_equal(atom->name, "cpu_atom");
    // PERF_PMU_TYPE_SHIFT: the kernel would take a plain one for the big cores.
    assert_int_equal(core->events[CYCLES].config >> 32, 4);
    assert_int_equal(atom->events[CYCLES].config >> 32, 10);
    assert_int_equal(atom->events[BRANCHES].config & 0xffffffff, hardware_events[BRANCHES].config);
    assert_true(core->has[SLOTS] && core->has[TOPDOWN_BACKEND]);
    assert_int_equal(core->events[SLOTS].config, 0x400);
    assert_int_equal(core->events[TOPDOWN_BACKEND].config, 0x8300);
    assert_int_equal(core->events[SLOTS].type, 4);
    assert_false(atom->has[SLOTS] || atom->has[TOPDOWN_RETIRING]);
    assert_true(atom->has[APERF] && atom->has[MPERF] && !atom->has[TSC]);
    cpu_counters_facts_free(&facts);
}

// ---- the notes ----

static const struct note *note_about(const struct section *section, const char *words) {
    for (size_t i = 0; i < section_notes(section); i++)
        if (strstr(section_note_at(section, i)->text, words))
            return section_note_at(section, i);
    return NULL;
}

static void notes(void **state) {
    (void)state;
    struct counter_cpu cpus[4];
    struct cpu_counters counters = {0};
    for (int i = 0; i < 4; i++) {
        blank_cpu(&cpus[i]);
        GROUP(&cpus[i], 100, {CYCLES, 3e9}, {INSTRUCTIONS, 1e9}, {CACHE_REFERENCES, 5}, {CACHE_MISSES, 5},
              {BRANCHES, i < 2 ? 0 : 7}, {BRANCH_MISSES, 3});
    }
    judge_one(cpus, 4, &counters);
    struct section *section = section_new("cpu_counters", 1, 2);
    section_set_state(section, SECTION_OK);
    cpu_counters_notes(&counters, section);
    const struct note *note = note_about(section, "at 0 while");
    assert_non_null(note);
    assert_non_null(strstr(note->text, ": branches on CPUs 0-1"));
    assert_true(note->fix && *note->fix);
    assert_int_equal(section_state(section), SECTION_DEGRADED);
    note = note_about(section, "does not count");
    assert_string_equal(note->text, "this PMU does not count ref-cycles, stalled-cycles-frontend, "
                                    "stalled-cycles-backend, top-down");
    assert_string_equal(note->column, "stalled_backend_pct");
    assert_null(note_about(section, "watchdog"));
    section_unref(section);

    // The watchdog is named only when it is on.
    for (int watchdog = 0; watchdog < 2; watchdog++) {
        for (int i = 0; i < 4; i++) {
            blank_cpu(&cpus[i]);
            GROUP(&cpus[i], 100, {CYCLES, 3e9}, {INSTRUCTIONS, 1e9});
            GROUP(&cpus[i], i == 3 ? 0 : 100, {BRANCHES, 7}, {BRANCH_MISSES, 3});
        }
        counters.watchdog = watchdog;
        judge_one(cpus, 4, &counters);
        section = section_new("cpu_counters", 1, 2);
        cpu_counters_notes(&counters, section);
        note = note_about(section, "these never ran: branches on CPU 3, branch-misses on CPU 3");
        assert_non_null(note);
        assert_int_equal(note->severity, SEVERITY_WARNING);
        assert_int_equal(strstr(note->text, "NMI watchdog") != NULL, watchdog);
        assert_int_equal(strstr(note->fix, "nmi_watchdog=0") != NULL, watchdog);
        section_unref(section);
    }
}

// On this machine: either a reason, or the software counters count this process's work.
static void machine(void **state) {
    (void)state;
    struct collect_options options = {0};
    struct collector_run run = {.options = &options, .poll_fd = -1};
    if (collector_cpu_counters.open(&run)) {
        assert_true(run.reason[0] && run.fix[0]);
        collector_cpu_counters.close(&run);
        return;
    }
    struct section *first = section_new("cpu_counters", 1, 1), *second = section_new("cpu_counters", 1, 2);
    assert_int_equal(collector_cpu_counters.sample(&run, first), 0);
    const struct table *table = section_find_table(first, "cpu_counters");
    int csw = table_column(table_def(table), "context_switches_per_s");
    size_t cursor = 0, rows = 0;
    for (const union cell *row; (row = table_next(table, &cursor)); rows++)
        assert_true(isnan(row[csw].num));
    assert_true(rows >= 1);
    for (int i = 0; i < 20; i++)
        usleep(1000);
    assert_int_equal(collector_cpu_counters.sample(&run, second), 0);
    table = section_find_table(second, "cpu_counters");
    double total = 0;
    cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        assert_true(row[csw].num >= 0);
        total += row[csw].num;
    }
    assert_true(total > 0);
    int cycles = table_column(table_def(table), "cycles_per_s");
    cursor = 0;
    if (isnan(table_next(table, &cursor)[cycles].num)) {
        assert_int_equal(section_state(second), SECTION_DEGRADED);
        assert_int_equal(section_notes(second), 1);
        assert_non_null(section_note_at(second, 0)->fix);
    }
    section_unref(first);
    section_unref(second);
    collector_cpu_counters.close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge),
        cmocka_unit_test(starving),
        cmocka_unit_test(opened_is_not_counts),
        cmocka_unit_test(never_ran_is_starved),
        cmocka_unit_test(ratios_of_one_group),
        cmocka_unit_test(frequency),
        cmocka_unit_test(topdown_shares),
        cmocka_unit_test(words),
        cmocka_unit_test(event_texts),
        cmocka_unit_test_setup_teardown(facts_plain, root_make, root_drop),
        cmocka_unit_test_setup_teardown(facts_hybrid, root_make, root_drop),
        cmocka_unit_test(notes),
        cmocka_unit_test(machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
