// Findings on forged frames: one per rule, an idle machine that has none, and what must not flicker.
#include "tests/unit/model_test.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/findings.h"
#include "model/mem.h"

#define SECOND 1000000000ull

// ---- forging ----

struct value {
    const char *name;
    double value;
};

static const struct column task_columns[] = {
    {.name = "pid"},
    {.name = "ppid"},
    {.name = "comm", .type = COLUMN_TEXT},
    {.name = "state", .type = COLUMN_TEXT},
    {.name = "cpu_pct"},
    {.name = "system_pct"},
    {.name = "rss_kib"},
    {.name = "major_faults_per_s"},
    {.name = "read_bytes_per_s"},
    {.name = "write_bytes_per_s"},
    {.name = "ended_s"},
};
static const struct table_def tasks_def = {.name = "tasks", .columns = task_columns, .n_columns = 11, .n_keys = 1};

static const struct column device_columns[] = {{.name = "device", .type = COLUMN_TEXT},
                                               {.name = "reads_per_s"},
                                               {.name = "writes_per_s"},
                                               {.name = "in_flight"},
                                               {.name = "util_pct"}};
static const struct table_def devices_def = {.name = "devices", .columns = device_columns, .n_columns = 5, .n_keys = 1};

static const struct column block_columns[] = {{.name = "device", .type = COLUMN_TEXT}, {.name = "errors_per_s"}};
static const struct table_def block_def = {
    .name = "block_devices", .columns = block_columns, .n_columns = 2, .n_keys = 1};

static const struct column by_process_columns[] = {{.name = "pid"},
                                                   {.name = "comm", .type = COLUMN_TEXT},
                                                   {.name = "device", .type = COLUMN_TEXT},
                                                   {.name = "op", .type = COLUMN_TEXT},
                                                   {.name = "ios_per_s"},
                                                   {.name = "bytes_per_s"}};
static const struct table_def by_process_def = {
    .name = "by_process", .columns = by_process_columns, .n_columns = 6, .n_keys = 4};

static const struct column tcp_columns[] = {{.name = "retransmits_per_s"},      {.name = "retransmit_pct"},
                                            {.name = "segments_out_per_s"},     {.name = "listen_drops_per_s"},
                                            {.name = "listen_overflows_per_s"}, {.name = "resets_in_per_s"},
                                            {.name = "resets_out_per_s"}};
static const struct table_def tcp_def = {.name = "tcp", .columns = tcp_columns, .n_columns = 7};

static const struct column interface_columns[] = {{.name = "interface", .type = COLUMN_TEXT},
                                                  {.name = "rx_errors_per_s"},
                                                  {.name = "tx_errors_per_s"},
                                                  {.name = "rx_drops_per_s"},
                                                  {.name = "tx_drops_per_s"},
                                                  {.name = "rx_packets_per_s"},
                                                  {.name = "tx_packets_per_s"}};
static const struct table_def interfaces_def = {
    .name = "interfaces", .columns = interface_columns, .n_columns = 7, .n_keys = 1};

static const struct column cpu_columns[] = {{.name = "cpu"}, {.name = "irq_pct"}, {.name = "softirq_pct"}};
static const struct table_def cpus_def = {.name = "cpus", .columns = cpu_columns, .n_columns = 3, .n_keys = 1};

static const struct column hist_keys[] = {{.name = "device", .type = COLUMN_TEXT}, {.name = "op", .type = COLUMN_TEXT}};
static const struct hist_def latency_def = {
    .name = "io_latency", .unit_name = "us", .divisor = 1000, .unit = UNIT_US, .keys = hist_keys, .n_keys = 2};

// One row per call: the cells in the order of the columns; a string for a text, a number else. NAN and NULL: null.
static void row(struct table_builder *rows, const struct table_def *def, ...) {
    uint32_t slot = table_builder_add(rows);
    va_list args;
    va_start(args, def);
    for (uint16_t c = 0; c < def->n_columns; c++)
        if (def->columns[c].type == COLUMN_TEXT) {
            const char *text = va_arg(args, const char *);
            table_builder_set_text(rows, slot, c, text ? text_from(text) : NULL);
        } else {
            table_builder_set_num(rows, slot, c, va_arg(args, double));
        }
    va_end(args);
}

static struct table *sealed(struct table_builder *rows) {
    struct table *table = table_builder_seal(rows);
    table_builder_free(rows);
    return table;
}

static struct section *forge_section(uint64_t number, const struct value *values) {
    struct section *section = section_new("system", number * SECOND, (number + 1) * SECOND);
    section_set_state(section, SECTION_OK);
    static struct series_def defs[64]; // by name, for as long as the program runs
    static size_t n_defs;
    for (; values && values->name; values++) {
        size_t i = 0;
        while (i < n_defs && strcmp(defs[i].name, values->name))
            i++;
        if (i == n_defs)
            defs[n_defs++].name = values->name;
        section_series(section, &defs[i], values->value);
    }
    return section;
}

static struct frame *forge_frame(uint64_t number, struct section *take) {
    struct frame *frame =
        frame_new(number, number * SECOND, (number + 1) * SECOND, (struct timespec){.tv_sec = (time_t)number});
    if (take)
        frame_add_section(frame, take, 0);
    return frame;
}

// ---- asking ----

typedef void (*fill_fn)(struct section *section);

struct reported {
    size_t n;
    char severity[16], resource[16], kind[32], comm[32], device[32], evidence[512], pane[16];
    double pid, since_s;
};

static void copy_cell(char *out, size_t size, const union cell *cells, const char *column) {
    snprintf(out, size, "%s", text_bytes(cells[table_column(&findings_table, column)].text));
}

static struct reported read_findings(const struct section *section, const char *kind) {
    const struct table *table = section_find_table(section, "findings");
    struct reported reported = {0};
    size_t cursor = 0;
    for (const union cell *cells; (cells = table_next(table, &cursor));) {
        char found[32];
        copy_cell(found, sizeof(found), cells, "kind");
        if (kind && strcmp(kind, found))
            continue;
        if (reported.n++)
            continue;
        strcpy(reported.kind, found);
        copy_cell(reported.severity, sizeof(reported.severity), cells, "severity");
        copy_cell(reported.resource, sizeof(reported.resource), cells, "resource");
        copy_cell(reported.comm, sizeof(reported.comm), cells, "culprit_comm");
        copy_cell(reported.device, sizeof(reported.device), cells, "culprit_device");
        copy_cell(reported.evidence, sizeof(reported.evidence), cells, "evidence");
        copy_cell(reported.pane, sizeof(reported.pane), cells, "pane");
        reported.pid = cells[table_column(&findings_table, "culprit_pid")].num;
        reported.since_s = cells[table_column(&findings_table, "since_s")].num;
    }
    return reported;
}

static struct reported ask(struct findings *findings, const struct frame *frame, const char *kind) {
    struct section *section = findings_section(findings, frame, NULL);
    struct reported reported = read_findings(section, kind);
    section_unref(section);
    return reported;
}

static struct reported step(struct findings *findings, uint64_t number, const struct value *values, fill_fn fill,
                            const char *kind) {
    struct section *section = forge_section(number, values);
    if (fill)
        fill(section);
    struct frame *frame = forge_frame(number, section);
    struct reported reported = ask(findings, frame, kind);
    frame_unref(frame);
    return reported;
}

// Two equal frames, so that levels appear; the finding of the kind in the second one.
static struct reported twice(const struct value *values, fill_fn fill, const char *kind) {
    size_t before = mem_used();
    struct findings *findings = findings_new();
    step(findings, 1, values, fill, kind);
    struct reported reported = step(findings, 2, values, fill, kind);
    findings_free(findings);
    assert_int_equal(mem_used(), before);
    if (reported.n)
        assert_non_null(reported.evidence);
    return reported;
}

#define IDLE_CPU                                                                                                       \
    {"cpus_online", 2}, {"cpu_idle_pct", 97}, {"cpu_iowait_pct", 0}, {                                                 \
        "procs_running", 1                                                                                             \
    }
#define BUSY_CPU                                                                                                       \
    {"cpus_online", 2}, {"cpu_idle_pct", 0}, {                                                                         \
        "cpu_iowait_pct", 0                                                                                            \
    }

static void expect(struct reported reported, const char *severity, const char *resource, const char *evidence) {
    if (!reported.n || strcmp(reported.evidence, evidence))
        print_message("%zu: %s\n", reported.n, reported.evidence);
    assert_int_equal(reported.n, 1);
    assert_string_equal(reported.severity, severity);
    assert_string_equal(reported.resource, resource);
    assert_string_equal(reported.evidence, evidence);
}

static void expect_no_culprit(struct reported reported) {
    assert_true(isnan(reported.pid));
    assert_string_equal(reported.comm, "");
}

// ---- tables of a troubled machine ----

static void fill_tasks(struct section *section) {
    struct table_builder *rows = table_builder_new(&tasks_def);
    row(rows, &tasks_def, 1.0, 0.0, "init", "S", 0.0, 0.0, 9000.0, 0.0, 0.0, 0.0, NAN);
    row(rows, &tasks_def, 12.0, 1.0, "stress-ng", "R", 100.0, 2.0, 4000.0, 0.0, 0.0, 0.0, NAN);
    row(rows, &tasks_def, 13.0, 1.0, "stress-ng", "R", 98.0, 2.0, 4000.0, 0.0, 0.0, 0.0, NAN);
    row(rows, &tasks_def, 20.0, 1.0, "mysqld", "S", 1.0, 0.0, 5347738.0, 812.0, 0.0, 0.0, NAN);
    row(rows, &tasks_def, 30.0, 1.0, "dd", "D", 1.0, 0.5, 700.0, 0.0, 1e6, 5e7, NAN);
    row(rows, &tasks_def, 40.0, 1.0, "make", "S", 2.0, 0.5, 700.0, 0.0, NAN, NAN, NAN);
    for (int i = 0; i < 12; i++)
        row(rows, &tasks_def, 100.0 + i, 40.0, "cc1", "X", NAN, NAN, NAN, NAN, NAN, NAN, 1e9);
    for (int i = 0; i < 11; i++)
        row(rows, &tasks_def, 200.0 + i, 20.0, "sh", "Z", 0.0, 0.0, 0.0, 0.0, NAN, NAN, NAN);
    section_table(section, sealed(rows));
}

static void fill_disks(struct section *section) {
    struct table_builder *rows = table_builder_new(&devices_def);
    row(rows, &devices_def, "vda", 812.0, 3.0, 32.0, 99.0);
    row(rows, &devices_def, "vdb", 0.0, 0.0, 0.0, 0.0);
    section_table(section, sealed(rows));
    rows = table_builder_new(&by_process_def);
    row(rows, &by_process_def, 51.0, "fio", "vda", "R", 800.0, 3.2e6);
    row(rows, &by_process_def, 52.0, "jbd2", "vda", "W", 3.0, 1e5);
    row(rows, &by_process_def, 53.0, "other", "vdb", "W", 9000.0, 1e9);
    section_table(section, sealed(rows));
    fill_tasks(section);
}

static void fill_hot_network(struct section *section) {
    struct table_builder *rows = table_builder_new(&tcp_def);
    row(rows, &tcp_def, 55.0, 5.5, 1000.0, 3.0, 2.0, 10.0, 250.0);
    section_table(section, sealed(rows));
    rows = table_builder_new(&interfaces_def);
    row(rows, &interfaces_def, "eth0", 2.0, 0.0, 40.0, 10.0, 900.0, 950.0);
    row(rows, &interfaces_def, "lo", 0.0, 0.0, 2.0, 0.0, 900.0, 950.0);
    section_table(section, sealed(rows));
}

static void fill_interrupts(struct section *section) {
    struct table_builder *rows = table_builder_new(&cpus_def);
    row(rows, &cpus_def, 0.0, 1.0, 2.0);
    row(rows, &cpus_def, 1.0, 6.0, 80.0);
    section_table(section, sealed(rows));
}

static void fill_errors(struct section *section) {
    struct table_builder *rows = table_builder_new(&block_def);
    row(rows, &block_def, "vda", 0.0);
    row(rows, &block_def, "sdb", 12.0);
    section_table(section, sealed(rows));
}

static void add_latency(struct hist_set *set, const char *device, const char *op, double ms, int n, double slowest_ms) {
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    for (int i = 0; i < n - 1; i++)
        hist_acc_add(acc, (uint64_t)(ms * 1e6));
    hist_acc_add(acc, (uint64_t)(slowest_ms * 1e6));
    union cell keys[] = {TEXT(device), TEXT(op)};
    hist_set_add(set, keys, hist_seal(acc));
    free(acc);
}

static void fill_latency(struct section *section) {
    struct hist_set *set = hist_set_new(&latency_def);
    add_latency(set, "vda", "R", 0.2, 5000, 900); // one slow one among thousands
    add_latency(set, "vda", "W", 0.2, 5, 900);    // and among few
    add_latency(set, "vdb", "W", 600, 200, 800);  // all slow
    add_latency(set, "vdc", "F", 100, 200, 110);  // a flush may
    section_hists(section, set);
    fill_disks(section);
}

// ---- tests ----

static void idle_machine_has_none(void **state) {
    (void)state;
    const struct value idle[] = {IDLE_CPU,
                                 {"mem_total_kib", 8e6},
                                 {"mem_available_kib", 6e6},
                                 {"cpu_some_pct", 1},
                                 {"memory_full_pct", 0},
                                 {"memory_some_pct", 0},
                                 {"io_some_pct", 1},
                                 {"io_full_pct", 1},
                                 {"cpu_steal_pct", 0},
                                 {"swap_in_per_s", 0},
                                 {"swap_out_per_s", 0},
                                 {"major_faults_per_s", 3},
                                 {"forks_per_s", 5},
                                 {"oom_kills_per_s", 0},
                                 {"tasks_uninterruptible", 1},
                                 {"tasks_zombie", 1},
                                 {"tcp_retransmits_per_s", 1},
                                 {NULL, 0}};
    assert_int_equal(twice(idle, NULL, NULL).n, 0);
    assert_int_equal(twice(NULL, NULL, NULL).n, 0); // no data at all
}

static void nothing_measured(void **state) {
    (void)state;
    // Every name that a rule asks for, not measured; and the tables with nulls only.
    static const char *const names[] = {
        "cpus_online",   "cpu_idle_pct",   "cpu_iowait_pct",        "procs_running",         "cpu_some_pct",
        "cpu_steal_pct", "mem_total_kib",  "mem_available_kib",     "memory_full_pct",       "memory_some_pct",
        "swap_in_per_s", "swap_out_per_s", "major_faults_per_s",    "oom_kills_per_s",       "io_some_pct",
        "io_full_pct",   "forks_per_s",    "tasks_uninterruptible", "tcp_retransmits_per_s", "tasks_zombie"};
    struct value values[32] = {{0}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        values[i] = (struct value){names[i], NAN};
    const struct table_def *const defs[] = {&tasks_def, &devices_def,    &block_def, &by_process_def,
                                            &tcp_def,   &interfaces_def, &cpus_def};
    struct findings *findings = findings_new();
    for (uint64_t number = 1; number < 4; number++) {
        struct section *section = forge_section(number, values);
        for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++) {
            struct table_builder *rows = table_builder_new(defs[i]);
            table_builder_add(rows);
            section_table(section, sealed(rows));
        }
        struct frame *frame = forge_frame(number, section);
        assert_int_equal(ask(findings, frame, NULL).n, 0);
        frame_unref(frame);
    }
    // Symptoms without anything to name a culprit.
    const struct value bad[] = {
        BUSY_CPU, {"procs_running", 30}, {"forks_per_s", 1e4}, {"tasks_zombie", 500}, {NULL, 0}};
    step(findings, 5, bad, NULL, NULL);
    assert_true(step(findings, 6, bad, NULL, NULL).n >= 3);
    findings_free(findings);
}

static void cpu_saturated(void **state) {
    (void)state;
    const struct value values[] = {BUSY_CPU, {"procs_running", 16}, {"cpu_some_pct", 98}, {NULL, 0}};
    struct reported reported = twice(values, fill_tasks, "cpu_saturated");
    expect(reported, "critical", "cpu",
           "2 tasks named stress-ng use 198 % of one CPU, pid 12 the most: 2.0 of 2 CPUs busy and 14 "
           "tasks waiting; tasks stalled on CPU 98 % of the time (PSI some)");
    assert_number(reported.pid, 12);
    assert_string_equal(reported.comm, "stress-ng");
    assert_string_equal(reported.pane, "tasks");
    assert_int_equal(twice(values, fill_tasks, "runaway_task").n, 0); // said once
    // Busy, but no task waits.
    const struct value fine[] = {BUSY_CPU, {"procs_running", 5}, {"cpu_some_pct", 3}, {NULL, 0}};
    assert_int_equal(twice(fine, fill_tasks, "cpu_saturated").n, 0);
    // Without pressure figures the queue must be long.
    const struct value old[] = {BUSY_CPU, {"procs_running", 12}, {"cpu_some_pct", NAN}, {NULL, 0}};
    assert_string_equal(twice(old, NULL, "cpu_saturated").severity, "critical");
    assert_string_equal(twice(old, NULL, "cpu_saturated").evidence,
                        "no single program dominates: 2.0 of 2 CPUs busy and 10 tasks waiting");
    const struct value one[] = {BUSY_CPU, {"procs_running", 2.9}, {"cpu_some_pct", 70}, {NULL, 0}};
    assert_string_equal(twice(one, NULL, "cpu_saturated").evidence,
                        "no single program dominates: 2.0 of 2 CPUs busy and 1 task waiting; tasks stalled on CPU 70 % "
                        "of the time (PSI some)");
    // A queue that was not measured is not an empty one.
    const struct value blind[] = {BUSY_CPU, {"cpu_some_pct", 70}, {NULL, 0}};
    assert_string_equal(twice(blind, NULL, "cpu_saturated").severity, "warning");
    assert_string_equal(
        twice(blind, NULL, "cpu_saturated").evidence,
        "no single program dominates: 2.0 of 2 CPUs busy; tasks stalled on CPU 70 % of the time (PSI some)");
    // The queue is that of the frame: the one before does not hold it down.
    const struct value before[] = {BUSY_CPU, {"procs_running", 3}, {"cpu_some_pct", 98}, {NULL, 0}};
    struct findings *findings = findings_new();
    struct frame *short_queue = forge_frame(1, forge_section(1, before));
    struct frame *long_queue = forge_frame(2, forge_section(2, values));
    assert_int_equal(ask(findings, short_queue, "cpu_saturated").n, 0);
    struct section *section = findings_section(findings, long_queue, short_queue);
    reported = read_findings(section, "cpu_saturated");
    assert_string_equal(reported.severity, "critical");
    assert_non_null(strstr(reported.evidence, "and 14 tasks waiting"));
    section_unref(section);
    frame_unref(short_queue);
    frame_unref(long_queue);
    findings_free(findings);
}

static void cpu_others(void **state) {
    (void)state;
    const struct value pinned[] = {{"cpus_online", 2},   {"cpu_idle_pct", 50}, {"cpu_iowait_pct", 0},
                                   {"cpu_some_pct", 80}, {"procs_running", 3}, {NULL, 0}};
    assert_string_equal(twice(pinned, fill_tasks, "cpu_pressure").severity, "warning");
    const struct value steal[] = {IDLE_CPU, {"cpu_steal_pct", 31}, {NULL, 0}};
    struct reported reported = twice(steal, NULL, "cpu_steal");
    expect(reported, "critical", "cpu", "the hypervisor stole 31.0 % of the CPU time for other guests");
    expect_no_culprit(reported);
    const struct value idle[] = {IDLE_CPU, {NULL, 0}};
    expect(twice(idle, fill_interrupts, "interrupt_load"), "warning", "kernel",
           "CPU 1 spends 86 % of its time in interrupts");
    const struct value one[] = {
        {"cpus_online", 4}, {"cpu_idle_pct", 50}, {"cpu_iowait_pct", 0}, {"cpu_some_pct", 1}, {NULL, 0}};
    reported = twice(one, fill_tasks, "runaway_task");
    assert_int_equal(reported.n, 2); // two tasks, a finding each
    assert_string_equal(reported.severity, "info");
    assert_string_equal(reported.evidence, "stress-ng (pid 12) uses 100 % of one CPU");
}

static void memory(void **state) {
    (void)state;
    const struct value low[] = {IDLE_CPU, {"mem_total_kib", 8388608}, {"mem_available_kib", 421888}, {NULL, 0}};
    struct reported reported = twice(low, fill_tasks, "memory_low");
    expect(reported, "warning", "memory",
           "mysqld (pid 20) uses most memory, 5.1G: 412M of 8.0G memory available (5.0 %)");
    assert_number(reported.pid, 20);
    const struct value pressure[] = {IDLE_CPU, {"memory_full_pct", 30}, {"memory_some_pct", 60}, {NULL, 0}};
    expect(twice(pressure, fill_tasks, "memory_pressure"), "critical", "memory",
           "mysqld (pid 20) has 812 major faults/s: tasks stalled on memory 60 % of the time (PSI some), all tasks 30 "
           "% (PSI full)");
    const struct value swap[] = {IDLE_CPU, {"swap_in_per_s", 500}, {"swap_out_per_s", 5000}, {NULL, 0}};
    expect(twice(swap, NULL, "swapping"), "warning", "memory", "swap-in 500 pages/s, swap-out 5000 pages/s");
    const struct value out[] = {IDLE_CPU, {"swap_in_per_s", 0}, {"swap_out_per_s", 500}, {NULL, 0}};
    assert_int_equal(twice(out, NULL, "swapping").n, 0);
    const struct value faults[] = {IDLE_CPU, {"major_faults_per_s", 900}, {NULL, 0}};
    expect(twice(faults, fill_tasks, "major_faults"), "warning", "memory",
           "mysqld (pid 20) has 812 major faults/s: 900 major faults/s on the machine");
}

static void disks(void **state) {
    (void)state;
    const struct value busy[] = {IDLE_CPU, {"io_some_pct", 70}, {"io_full_pct", 65}, {NULL, 0}};
    struct reported reported = twice(busy, fill_disks, "disk_saturated");
    expect(reported, "critical", "disk",
           "fio (pid 51) does most of the I/O: vda is 99 % busy with 812 reads/s and 3.0 writes/s, 32 in flight; tasks "
           "stalled on I/O 70 % of the time (PSI some)");
    assert_number(reported.pid, 51);
    assert_string_equal(reported.device, "vda");
    assert_int_equal(twice(busy, fill_disks, "io_pressure").n, 0);
    // A parallel disk that no task waits for.
    const struct value calm[] = {IDLE_CPU, {"io_some_pct", 2}, {"io_full_pct", 1}, {NULL, 0}};
    assert_int_equal(twice(calm, fill_disks, NULL).n, 0);
    reported = twice(busy, fill_tasks, "io_pressure"); // no disk that is busy
    assert_string_equal(reported.severity, "warning");
    assert_string_equal(reported.comm, "dd"); // from the tasks
    reported = twice(calm, fill_latency, "disk_latency");
    assert_int_equal(reported.n, 1);
    assert_string_equal(reported.severity, "critical");
    assert_string_equal(reported.device, "vdb");
    assert_string_equal(reported.comm, "other");
    assert_non_null(strstr(reported.evidence, "other (pid 53) does most of the I/O: p99 of 200 writes on vdb: 6"));
    reported = twice(calm, fill_errors, "disk_errors");
    expect(reported, "critical", "disk", "12 I/Os failed on sdb in 1.0 s");
    assert_string_equal(reported.device, "sdb");
}

static void network(void **state) {
    (void)state;
    const struct value values[] = {IDLE_CPU, {"tcp_retransmits_per_s", 55}, {NULL, 0}};
    expect(twice(values, fill_hot_network, "tcp_retransmits"), "warning", "network",
           "55 TCP segments/s retransmitted, 5.5 % of those sent");
    assert_string_equal(twice(values, fill_hot_network, "listen_drops").severity, "warning");
    expect(twice(values, fill_hot_network, "tcp_resets"), "warning", "network",
           "TCP resets: 250/s sent, 10/s received; `perf trace -e tcp:tcp_send_reset` shows addresses and ports, `ss "
           "-tlnp` the listeners");
    struct reported reported = twice(values, fill_hot_network, "interface_errors");
    expect(reported, "warning", "network", "eth0 has 2.0 receive and 0 transmit errors/s");
    assert_string_equal(reported.device, "eth0");
    expect(twice(values, fill_hot_network, "interface_drops"), "warning", "network",
           "eth0 drops 40 received and 10 sent packets/s, 2.6 % of its traffic");
}

static void tasks(void **state) {
    (void)state;
    const struct value values[] = {
        IDLE_CPU, {"tasks_uninterruptible", 6}, {"tasks_zombie", 11}, {"forks_per_s", 900}, {NULL, 0}};
    struct reported reported = twice(values, fill_tasks, "blocked_tasks");
    expect(reported, "warning", "process", "dd (pid 30) and 5 more tasks are uninterruptible (state D)");
    reported = twice(values, fill_tasks, "zombies");
    expect(reported, "info", "process", "mysqld (pid 20) has not reaped 11 of its children: 11 zombie processes");
    reported = twice(values, fill_tasks, "fork_storm");
    expect(reported, "warning", "process",
           "make (pid 40) is the parent of 12 tasks that exited in this interval: 900 processes and threads created "
           "per second");
    assert_number(reported.pid, 40);
}

static void own_sources(void **state) {
    (void)state;
    struct findings *findings = findings_new();
    for (uint64_t number = 1; number < 3; number++) {
        struct section *lossy = section_new("block", number * SECOND, (number + 1) * SECOND);
        section_events(lossy, 900, 100);
        struct section *none = section_new("cpu_counters", 0, 0);
        section_set_state(none, SECTION_UNAVAILABLE);
        section_note(none, SEVERITY_INFO, NULL, "no hardware PMU", NULL);
        struct frame *frame = forge_frame(number, lossy);
        frame_add_section(frame, none, 0);
        frame_add_section(frame, section_new("tasks", 0, 1), number * SECOND);
        struct section *section = findings_section(findings, frame, NULL);
        if (number == 1) { // lost events are an event rule
            assert_int_equal(read_findings(section, NULL).n, 1);
            expect(read_findings(section, "lost_events"), "warning", "kernel",
                   "collector block: 100 of 1000 events lost, its counts are too low");
        } else {
            expect(read_findings(section, "collector_stale"), "info", "kernel",
                   "collector tasks is stale: its data is 2.0 s old");
            expect(read_findings(section, "collector_unavailable"), "info", "kernel",
                   "collector cpu_counters unavailable: no hardware PMU");
            assert_string_equal(read_findings(section, NULL).kind, "lost_events"); // the worst first
        }
        section_unref(section);
        frame_unref(frame);
    }
    findings_free(findings);
}

static void no_flicker(void **state) {
    (void)state;
    const struct value bad[] = {IDLE_CPU, {"cpu_steal_pct", 15}, {NULL, 0}};
    const struct value worse[] = {IDLE_CPU, {"cpu_steal_pct", 40}, {NULL, 0}};
    const struct value good[] = {IDLE_CPU, {"cpu_steal_pct", 0}, {NULL, 0}};
    struct findings *findings = findings_new();
    uint64_t n = 1;
    // One frame is none, and neither is every second one.
    for (int i = 0; i < 3; i++) {
        assert_int_equal(step(findings, n++, bad, NULL, NULL).n, 0);
        assert_int_equal(step(findings, n++, good, NULL, NULL).n, 0);
    }
    assert_int_equal(step(findings, n++, bad, NULL, NULL).n, 0);
    struct reported reported = step(findings, n++, bad, NULL, NULL);
    assert_int_equal(reported.n, 1);
    assert_number(reported.since_s, 2);
    reported = step(findings, n++, worse, NULL, NULL); // worse at once
    assert_string_equal(reported.severity, "critical");
    assert_string_equal(step(findings, n++, bad, NULL, NULL).severity, "critical"); // better later
    assert_string_equal(step(findings, n++, bad, NULL, NULL).severity, "critical");
    assert_string_equal(step(findings, n++, bad, NULL, NULL).severity, "warning");
    for (int i = 0; i < 3; i++) {
        reported = step(findings, n++, good, NULL, NULL);
        assert_int_equal(reported.n, 1);
        assert_number(reported.since_s, 7 + i);
    }
    assert_int_equal(step(findings, n++, good, NULL, NULL).n, 0);
    // A provisional frame says nothing and forgets nothing.
    step(findings, n++, bad, NULL, NULL);
    struct frame *frame = frame_new(0, n * SECOND, n * SECOND, (struct timespec){0});
    assert_int_equal(ask(findings, frame, NULL).n, 0);
    frame_unref(frame);
    assert_int_equal(step(findings, n++, bad, NULL, NULL).n, 1);
    findings_free(findings);
}

static void events_stay_longer(void **state) {
    (void)state;
    const struct value kill[] = {IDLE_CPU, {"oom_kills_per_s", 1}, {NULL, 0}};
    const struct value good[] = {IDLE_CPU, {"oom_kills_per_s", 0}, {NULL, 0}};
    struct findings *findings = findings_new();
    struct reported reported = step(findings, 1, kill, fill_tasks, "oom_kill");
    expect(reported, "critical", "memory",
           "mysqld (pid 20) uses most memory, 5.1G: out of memory; the OOM killer killed 1 process (see dmesg)");
    assert_int_equal(step(findings, 20, good, NULL, "oom_kill").n, 1);
    for (uint64_t n = 21; n < 31; n++)
        assert_int_equal(step(findings, n, good, NULL, "oom_kill").n, 1);
    assert_int_equal(step(findings, 40, good, NULL, "oom_kill").n, 0);
    // The same section once more is no second event.
    struct frame *frame = forge_frame(41, forge_section(41, kill));
    frame->repeated[0] = true;
    assert_int_equal(ask(findings, frame, "oom_kill").n, 0);
    frame_unref(frame);
    findings_free(findings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_machine_has_none),
        cmocka_unit_test(nothing_measured),
        cmocka_unit_test(cpu_saturated),
        cmocka_unit_test(cpu_others),
        cmocka_unit_test(memory),
        cmocka_unit_test(disks),
        cmocka_unit_test(network),
        cmocka_unit_test(tasks),
        cmocka_unit_test(own_sources),
        cmocka_unit_test(no_flicker),
        cmocka_unit_test(events_stay_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
