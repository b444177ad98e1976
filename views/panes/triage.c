// The pane `triage`: what is wrong and which task causes it, on one screen. Findings first, then the meters of every
// resource, then the heaviest tasks. Only data.
#include "views/part_findings.h"
#include "views/part_gauge.h"
#include "views/part_table.h"
#include "views/part_top.h"

// The inputs of the rules: "nothing wrong" is claimed only for what a rule has checked.
static const struct findings_look looks[] = {
    {"CPU", "cpu_idle_pct"},
    {"CPU limits", "cpu_limits"},
    {"memory", "mem_available_kib"},
    {"pressure", "cpu_some_pct"},
    {"disks", "devices"},
    {"disk latency", "io_latency"},
    {"network interfaces", "interfaces"},
    {"TCP", "tcp"},
    {"tasks", "tasks"},
    {"file systems", "filesystems"},
    {0},
};
static const struct findings_spec findings = {.table = "findings", .looks = looks};

static const struct table_spec findings_in_files = {.source = {.tables = {"findings"}}};
static const struct table_spec filesystems_in_files = {.source = {.tables = {"filesystems"}}};
static const struct table_spec limits_in_files = {.source = {.tables = {"cpu_limits"}}};

// Down the columns of the screen, so that related meters are next to each other.
static const struct gauge meters[] = {
    {
        .label = "CPU",
        .help = "busy share of all CPUs: user and nice, system, interrupts, steal; then iowait",
        .values = {{.series = "cpu_user_pct", .role = ROLE_USER, .ascii = '|'},
                   {.series = "cpu_nice_pct", .role = ROLE_NICE, .ascii = 'n'},
                   {.series = "cpu_system_pct", .role = ROLE_SYSTEM, .ascii = '#'},
                   {.series = "cpu_irq_pct", .role = ROLE_IRQ, .ascii = 'i'},
                   {.series = "cpu_softirq_pct", .role = ROLE_IRQ, .ascii = 'i'},
                   {.series = "cpu_steal_pct", .role = ROLE_STEAL, .ascii = '!'},
                   {.series = "cpu_iowait_pct", .role = ROLE_IOWAIT, .ascii = 'w', .quiet = true}},
        .full = 100,
        .warning = 0.85,
        .critical = 0.97,
    },
    {
        .label = "Load",
        .help = "load averages of 1, 5 and 15 minutes; the bar is full at one per CPU",
        .values = {{.series = "load_1", .role = ROLE_USER}, {.series = "load_5"}, {.series = "load_15"}},
        .of = "cpus_online",
        .text = GAUGE_EACH,
        .apart = true,
        .warning = 1.5,
        .critical = 4,
    },
    {
        .label = "Run queue",
        .help = "runnable tasks (the bar is full at one per CPU), and tasks blocked in the kernel",
        .values = {{.series = "procs_running", .name = "run", .role = ROLE_USER},
                   {.series = "procs_blocked", .name = "blocked"}},
        .of = "cpus_online",
        .text = GAUGE_EACH,
        .apart = true,
        .warning = 2.01,
        .critical = 5,
    },
    {
        .label = "CPU press",
        .help = "share of the time in which some task stalled on CPU (PSI some)",
        .values = {{.series = "cpu_some_pct", .name = "some", .role = ROLE_WARNING}},
        .full = 100,
        .text = GAUGE_EACH,
        .apart = true,
        .warning = 0.2,
        .critical = 0.6,
    },
    {
        .label = "Memory",
        .help = "memory in use; then buffers and page cache, which are reclaimable",
        .values = {{.series = "mem_used_kib", .role = ROLE_USER, .ascii = '|'},
                   {.series = "mem_buffers_kib", .role = ROLE_NICE, .ascii = 'b', .quiet = true},
                   {.series = "mem_cached_kib", .role = ROLE_IOWAIT, .ascii = 'c', .quiet = true}},
        .of = "mem_total_kib",
        .warning = 0.85,
        .critical = 0.95,
    },
    {
        .label = "Swap",
        .help = "swap space in use",
        .values = {{.series = "swap_used_kib", .role = ROLE_STEAL}},
        .of = "swap_total_kib",
        .warning = 0.5,
        .critical = 0.9,
    },
    {
        .label = "Swapping",
        .help = "pages swapped in and out per second",
        .values = {{.series = "swap_in_per_s", .name = "in", .role = ROLE_READ},
                   {.series = "swap_out_per_s", .name = "out"}},
        .text = GAUGE_EACH,
    },
    {
        .label = "Mem press",
        .help = "share of the time in which some tasks, and all tasks, stalled on memory (PSI some, full)",
        .values = {{.series = "memory_some_pct", .name = "some", .role = ROLE_WARNING},
                   {.series = "memory_full_pct", .name = "full"}},
        .full = 100,
        .text = GAUGE_EACH,
        .apart = true,
        .warning = 0.05,
        .critical = 0.2,
    },
    {
        .label = "Busy disk",
        .help = "the device with the highest utilisation",
        .values =
            {{.table = "devices", .column = "util_pct", .better = "block_devices", .largest = true, .role = ROLE_READ}},
        .full = 100,
        .warning = 0.8,
        .critical = 0.95,
    },
    {
        .label = "Disks",
        .help = "bytes read from and written to all disks, per second",
        .values = {{.series = "disk_read_bytes_per_s", .name = "r", .role = ROLE_READ},
                   {.series = "disk_write_bytes_per_s", .name = "w"}},
        .text = GAUGE_EACH,
    },
    {
        .label = "I/O press",
        .help = "share of the time in which some tasks, and all tasks, stalled on I/O (PSI some, full)",
        .values = {{.series = "io_some_pct", .name = "some", .role = ROLE_WARNING},
                   {.series = "io_full_pct", .name = "full"}},
        .full = 100,
        .text = GAUGE_EACH,
        .apart = true,
        .warning = 0.2,
        .critical = 0.6,
    },
    {
        .label = "Network",
        .help = "bytes received and sent by all interfaces, per second",
        .values = {{.series = "net_rx_bytes_per_s", .name = "rx", .role = ROLE_GRAPH},
                   {.series = "net_tx_bytes_per_s", .name = "tx"}},
        .text = GAUGE_EACH,
    },
    {0},
};
static const struct gauge_spec gauges = {.gauges = meters};

static const struct top_list lists[] = {
    {"CPU", {"cpu_pct"}},
    {"Memory", {"rss_kib"}},
    {"I/O per second", {"read_bytes_per_s", "write_bytes_per_s"}},
    {"Run-queue latency", {"run_queue_us"}},
    {"Major faults per second", {"major_faults_per_s"}},
    {"Switches per second", {"context_switches_per_s"}},
    {0},
};
static const struct top_spec top = {
    .table = "tasks", .name = "comm", .id = "pid", .lists = lists, .essential = 3, .jump_pane = "tasks"};

static const struct part parts[] = {
    {.kind = &part_findings, .name = "findings", .title = "Findings", .spec = &findings, .min_height = 3, .weight = 2},
    {.kind = &part_table, .name = "findings", .spec = &findings_in_files, .hidden = true},
    {.kind = &part_table, .name = "cpu_limits", .spec = &limits_in_files, .hidden = true},
    {.kind = &part_table, .name = "filesystems", .spec = &filesystems_in_files, .hidden = true},
    {.kind = &part_gauge, .name = "meters", .spec = &gauges, .title = "Resources", .min_height = 4},
    {.kind = &part_top, .name = "top", .title = "Top tasks", .spec = &top, .min_height = 3, .weight = 3},
};
static const char *const needs[] = {"system",   "tasks",   "block", "cpu_limits", "filesystems",
                                    "suspects", "sockets", "kmsg",  NULL};

const struct view view_triage = {
    .name = "triage",
    .key = '1',
    .title = "Triage",
    .question = "What is wrong, and which task or device causes it?",
    .needs = needs,
    .parts = parts,
    .n_parts = sizeof parts / sizeof *parts,
};
