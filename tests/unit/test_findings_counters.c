// Findings from the CPUs' counters on forged frames: what is reported, and that the healthy, the unmeasured, the idle
// and the passing are not.
#include "tests/unit/forge_machine.h"

#include "model/findings.h"

struct cpu {
    double idle, turbo;
    const char *bound;
};

struct scene {
    double ipc, mpki, busy_pct;
    const char *task; // uses all that is used; NULL: there is no table of tasks
    int n;
    struct cpu cpus[8];
};

static const struct frame *forge(uint64_t number, const struct scene *scene) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *counters = forge_section("cpu_counters", number),
                   *tasks = forge_section("tasks", number);
    char row[256];
    snprintf(row, sizeof(row), "cpus_online=%d|cpu_idle_pct=%g|cpu_iowait_pct=0|procs_running=1", scene->n,
             100 - scene->busy_pct);
    add_series(system, row);
    struct table_builder *cpus = table_builder_new(def_of("cpus")), *counts = table_builder_new(def_of("cpu_counters"));
    for (int i = 0; i < scene->n; i++) {
        const struct cpu *cpu = &scene->cpus[i];
        snprintf(row, sizeof(row), "cpu=%d|idle_pct=%g|iowait_pct=0|steal_pct=0", i, cpu->idle);
        forge_row(cpus, def_of("cpus"), row);
        int used = snprintf(row, sizeof(row), "cpu=%d|cycles_per_s=2e9", i);
        if (cpu->turbo > 0)
            used += snprintf(row + used, sizeof(row) - (size_t)used, "|turbo_ratio=%g|active_hz=%g", cpu->turbo,
                             cpu->turbo * 2.5e9);
        if (cpu->bound)
            snprintf(row + used, sizeof(row) - (size_t)used, "|bound=%s", cpu->bound);
        forge_row(counts, def_of("cpu_counters"), row);
    }
    if (scene->ipc > 0) {
        snprintf(row, sizeof(row), "ipc=%g|cache_mpki=%g", scene->ipc, scene->mpki);
        add_series(counters, row);
    }
    if (scene->task) {
        snprintf(row, sizeof(row), "pid=77|tid=77|ppid=1|comm=%s|state=R|cpu_pct=%g|system_pct=0", scene->task,
                 scene->busy_pct * scene->n);
        add_table(tasks, "tasks", ROWS(row));
    }
    section_table(system, table_builder_seal(cpus));
    section_table(counters, table_builder_seal(counts));
    table_builder_free(cpus);
    table_builder_free(counts);
    frame_add_section(frame, system, 0);
    frame_add_section(frame, counters, 0);
    frame_add_section(frame, tasks, 0);
    return frame;
}

// The scenes follow each other, a frame each (the last one stays). What the last frame tells of the kind; "" for
// nothing.
static const char *reported(const struct scene *scenes, int n, const char *kind) {
    static char evidence[512];
    struct findings *findings = findings_new();
    const struct frame *before = NULL;
    evidence[0] = '\0';
    for (int i = 0; i < n; i++) {
        const struct frame *frame = forge((uint64_t)i + 1, &scenes[i]);
        struct section *section = findings_section(findings, frame, before);
        const struct table *table = section_find_table(section, "findings");
        size_t cursor = 0;
        evidence[0] = '\0';
        for (const union cell *row; (row = table_next(table, &cursor));)
            if (!strcmp(text_bytes(row[table_column(table_def(table), "kind")].text), kind))
                snprintf(evidence, sizeof(evidence), "%s: %s",
                         text_bytes(row[table_column(table_def(table), "severity")].text),
                         text_bytes(row[table_column(table_def(table), "evidence")].text));
        section_unref(section);
        frame_unref(before);
        before = frame;
    }
    frame_unref(before);
    findings_free(findings);
    return evidence;
}

static const char *always(struct scene scene, const char *kind) {
    struct scene scenes[4] = {scene, scene, scene, scene};
    return reported(scenes, 4, kind);
}

static void throttled(void **state) {
    (void)state;
    const struct scene slow = {
        .n = 4, .busy_pct = 75, .cpus = {{2, 0.4, NULL}, {1, 0.5, NULL}, {5, 0.45, NULL}, {95, 0.3, NULL}}};
    assert_string_equal(always(slow, "cpu_throttled"),
                        "warning: 3 of 3 busy CPUs run at 1.1GHz, 45 % of base frequency: thermal throttling, a power "
                        "limit, or a frequency cap");
    // A moment of it is not reported.
    struct scene fast = slow;
    for (int i = 0; i < 4; i++)
        fast.cpus[i].turbo = 1.1;
    struct scene passing[] = {fast, fast, slow, slow};
    assert_string_equal(reported(passing, 4, "cpu_throttled"), "");
    struct scene flicker[] = {slow, fast, slow, fast, slow, fast, slow};
    assert_string_equal(reported(flicker, 7, "cpu_throttled"), "");
}

static void not_throttled(void **state) {
    (void)state;
    static const struct scene scenes[] = {
        {.n = 4,
         .busy_pct = 100,
         .cpus = {{0, 1.3, NULL}, {0, 1, NULL}, {0, 0.9, NULL}, {0, 0.75, NULL}}}, // turbo off, some heat
        {.n = 4, .busy_pct = 100, .cpus = {{0}, {0}, {0}, {0}}},                   // not measured
        {.n = 4,
         .busy_pct = 30,
         .cpus =
             {{70, 0.3, NULL}, {60, 0.3, NULL}, {90, 0.3, NULL}, {50, 0.3, NULL}}}, // slow, since there is little to do
        {.n = 4,
         .busy_pct = 100,
         .cpus = {{0, 1, NULL}, {0, 1, NULL}, {0, 1, NULL}, {0, 0.5, NULL}}}, // one of four: not the machine
    };
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
        assert_string_equal(always(scenes[i], "cpu_throttled"), "");
}

#define MEMORY                                                                                                         \
    { 0, 0, "memory-bound" }
static const struct scene waits = {
    .ipc = 0.31, .mpki = 28, .n = 4, .busy_pct = 80, .task = "mcf", .cpus = {MEMORY, MEMORY, MEMORY, {90, 0, "idle"}}};

static void memory_bound(void **state) {
    (void)state;
    assert_string_equal(always(waits, "memory_bound"),
                        "info: mcf (pid 77) uses most CPU time: 3 of 3 active CPUs are memory-bound: IPC 0.31, 28 "
                        "cache misses per 1,000 instructions");
    struct scene nobody = waits;
    nobody.task = NULL;
    assert_string_equal(always(nobody, "memory_bound"),
                        "info: 3 of 3 active CPUs are memory-bound: IPC 0.31, 28 cache misses per 1,000 instructions");
    struct scene good = waits;
    good.ipc = 2;
    struct scene passing[] = {good, good, waits, waits};
    assert_string_equal(reported(passing, 4, "memory_bound"), "");
}

static void not_memory_bound(void **state) {
    (void)state;
    struct scene scenes[6];
    for (int i = 0; i < 6; i++)
        scenes[i] = waits;
    scenes[0].busy_pct = 30;        // most of the machine has nothing to do
    scenes[1].ipc = 1.4;            // it gets on well
    scenes[2].cpus[0].bound = NULL; // the numbers of one do not carry the word: two of three
    scenes[3].cpus[0].bound = "compute-bound";
    scenes[4].ipc = 0; // no series at all
    for (int i = 0; i < 4; i++)
        scenes[5].cpus[i].bound = NULL;
    for (int i = 0; i < 6; i++)
        assert_string_equal(always(scenes[i], "memory_bound"), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(throttled), cmocka_unit_test(not_throttled),
                                       cmocka_unit_test(memory_bound), cmocka_unit_test(not_memory_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
