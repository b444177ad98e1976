// A whole machine made by hand: the sections of all collectors with their real columns, for the screens of the panes.
#ifndef TESTS_UNIT_FORGE_MACHINE_H
#define TESTS_UNIT_FORGE_MACHINE_H

#include <math.h>
#include <stdio.h>

#include "tests/unit/forge.h"
#include "tests/unit/schema.h"

static inline void add_table(struct section *section, const char *name, const char *const *rows) {
    section_table(section, forge_table(def_of(name), rows));
}

// "name=value|…"
static inline void add_series(struct section *section, const char *values) {
    char *copy = strdup(values), *save;

    for (char *field = strtok_r(copy, "|", &save); field; field = strtok_r(NULL, "|", &save)) {
        char *value = strchr(field, '=');
        *value++ = '\0';
        section_series(section, real_series(field), atof(value));
    }
    free(copy);
}

#define ROWS(...)                                                                                                      \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }
#define HOSTILE_NAME "\033[2J\xff\nevil\xc2\x9b"

static inline struct section *machine_system(uint64_t number) {
    struct section *s = forge_section("system", number);

    add_series(s, "load_1=4.25|cpu_user_pct=61.3|cpu_system_pct=12.5|cpu_iowait_pct=20|cpu_steal_pct=0|cpu_irq_pct=0.2|"
                  "cpu_softirq_pct=1|cpu_idle_pct=5|cpu_some_pct=33.3|procs_running=5|context_switches_per_s=12345|"
                  "interrupts_per_s=8200");
    add_table(s, "cpus",
              ROWS("cpu=0|user_pct=90.5|nice_pct=0|system_pct=5.5|irq_pct=0.2|softirq_pct=1.8|steal_pct=0|guest_pct=0|"
                   "iowait_pct=1|idle_pct=1|frequency_hz=3200000000",
                   "cpu=1|user_pct=32|nice_pct=0|system_pct=19.5|irq_pct=0.2|softirq_pct=0.2|steal_pct=0|guest_pct=0|"
                   "iowait_pct=39|idle_pct=9.1|frequency_hz=2400000000"));
    add_table(s, "interrupts",
              ROWS("irq=36|name=virtio1-req.0|cpu=0|per_s=812", "irq=LOC|name=Local timer interrupts|cpu=1|per_s=250",
                   "irq=LOC|name=Local timer interrupts|cpu=0|per_s=1000"));
    add_table(s, "softirqs", ROWS("name=TIMER|cpu=0|per_s=500", "name=BLOCK|cpu=0|per_s=812"));
    add_table(s, "memory",
              ROWS("total_kib=8388608|available_kib=524288|used_kib=7864320|free_kib=131072|cached_kib=409600|"
                   "buffers_kib=2048|shmem_kib=10240|dirty_kib=1024|writeback_kib=0|anon_kib=7340032|slab_kib=65536|"
                   "slab_unreclaimable_kib=32768|page_tables_kib=20480|committed_kib=12582912|swap_total_kib=2097152|"
                   "swap_used_kib=1048576|some_pct=23.4|full_pct=5.5|major_faults_per_s=321|minor_faults_per_s=4321|"
                   "swap_in_per_s=300|swap_out_per_s=812|allocation_stalls_per_s=2|refaults_per_s=55|"
                   "oom_kills_per_s=0|direct_scans_per_s=1000"));
    add_table(s, "numa",
              ROWS("node=0|total_kib=8388608|used_kib=8257536|free_kib=131072|file_kib=409600|anon_kib=7340032|"
                   "misses_per_s=0|other_per_s=0|dirty_kib=1024"));
    add_table(s, "interfaces",
              ROWS("interface=lo|rx_bytes_per_s=100|tx_bytes_per_s=100|rx_drops_per_s=0|tx_drops_per_s=0|"
                   "rx_errors_per_s=0|tx_errors_per_s=0|state=unknown",
                   "interface=eth0|rx_bytes_per_s=117964800|tx_bytes_per_s=2048|util_pct=94.4|rx_drops_per_s=12|"
                   "tx_drops_per_s=0|rx_errors_per_s=0|tx_errors_per_s=0|speed_mbit_per_s=1000|state=up"));
    add_table(s, "tcp",
              ROWS("retransmits_per_s=41|retransmit_pct=2.5|established=97|listen_drops_per_s=3|"
                   "listen_overflows_per_s=3|resets_in_per_s=1|resets_out_per_s=0|active_opens_per_s=10|"
                   "passive_opens_per_s=20|attempt_fails_per_s=0|timeouts_per_s=4|syn_retransmits_per_s=0|"
                   "segments_in_per_s=81234|segments_out_per_s=1640|out_of_order_per_s=0|zero_windows_per_s=0|"
                   "backlog_drops_per_s=0|prunes_per_s=0|syn_cookies_per_s=0|time_wait=12|orphans=0|socket_kib=732"));
    add_table(s, "udp",
              ROWS("datagrams_in_per_s=5|datagrams_out_per_s=5|no_port_per_s=0|in_errors_per_s=0|"
                   "receive_buffer_errors_per_s=0|send_buffer_errors_per_s=0"));
    add_table(s, "process", ROWS("pid=4711|cpu_pct=0.8|rss_kib=9216|threads=6"));
    add_table(s, "threads", ROWS("tid=4711|thread=ktop|cpu_pct=0.3", "tid=4712|thread=ktop-tasks|cpu_pct=0.5"));
    return s;
}

static inline struct section *machine_tasks(uint64_t number) {
    struct section *s = forge_section("tasks", number);

    add_series(s, "tasks_total=312|threads_total=1204|tasks_running=3|tasks_uninterruptible=1|tasks_zombie=1|"
                  "tasks_ended_per_s=1");
    add_table(
        s, "tasks",
        ROWS("pid=1|tid=1|ppid=0|user=root|comm=init|command=/sbin/init splash|state=S|cpu_pct=0|user_pct=0|"
             "system_pct=0|threads=1|rss_kib=12288|vsize_kib=170000|minor_faults_per_s=0|major_faults_per_s=0|"
             "read_bytes_per_s=0|write_bytes_per_s=0|run_queue_us=0",
             "pid=812|tid=812|ppid=1|user=anna|comm=cc1|command=/usr/lib/gcc/cc1 -quiet -O2 long.c|state=R|"
             "cpu_pct=98.7|user_pct=95|system_pct=3.7|threads=1|rss_kib=524288|vsize_kib=600000|"
             "minor_faults_per_s=4000|major_faults_per_s=0|read_bytes_per_s=0|write_bytes_per_s=4096|"
             "run_queue_us=15300",
             "pid=4242|tid=4242|ppid=1|user=bob|comm=fio|command=fio --name=randread --bs=4k|state=D|cpu_pct=22.5|"
             "user_pct=2.5|system_pct=20|threads=4|rss_kib=65536|vsize_kib=300000|minor_faults_per_s=21|"
             "major_faults_per_s=320|read_bytes_per_s=104857600|write_bytes_per_s=0|run_queue_us=120",
             "pid=5000|tid=5000|ppid=812|user=anna|comm=true|state=X|cpu_pct=0.4|threads=1",
             "pid=6666|tid=6666|ppid=1|user=mallory|comm=" HOSTILE_NAME "|command=" HOSTILE_NAME " --x|state=Z|"
             "cpu_pct=0|user_pct=0|system_pct=0|threads=1|rss_kib=0|minor_faults_per_s=0|major_faults_per_s=0"));
    return s;
}

static inline struct section *machine_pertask(uint64_t number) {
    struct section *s = forge_section("task_counters", number);

    add_table(s, "task_counters",
              ROWS("pid=812|tid=812|ipc=1.25|cycles_per_s=3000000000|instructions_per_s=3750000000|"
                   "cache_references_per_s=40000|cache_misses_per_s=10000|cache_miss_pct=25|"
                   "branch_misses_per_s=2000000|counted_pct=50",
                   "pid=9999|tid=9999|ipc=2"));
    section_note(s, SEVERITY_INFO, "ipc", "other counters have the PMU for half of the time", NULL);
    return s;
}

static inline struct section *machine_counters(uint64_t number) {
    struct section *s = forge_section("cpu_counters", number);

    section_set_state(s, SECTION_DEGRADED);
    add_table(s, "cpu_counters",
              ROWS("cpu=0|context_switches_per_s=10000|migrations_per_s=12|page_faults_per_s=4100",
                   "cpu=1|context_switches_per_s=2345|migrations_per_s=9|page_faults_per_s=241"));
    section_note(s, SEVERITY_WARNING, "ipc", "no hardware PMU: this virtual machine has none",
                 "give the virtual machine a PMU");
    return s;
}

static inline struct section *machine_faults(uint64_t number) {
    struct section *s = forge_section("faults", number);

    add_table(
        s, "fault_mappings",
        ROWS("pid=812|comm=cc1|mapping=[anon]|kind=anon|minor_faults_per_s=3600|major_faults_per_s=0|share_pct=90|"
             "kernel_pct=0.3|code=/usr/lib/gcc/cc1|samples=360|error_pct=10.3",
             "pid=812|comm=cc1|mapping=[unmapped]|kind=gone|minor_faults_per_s=400|major_faults_per_s=0|share_pct=10|"
             "kernel_pct=0|code=/usr/lib/gcc/cc1|samples=40|error_pct=31",
             "pid=4242|comm=fio|mapping=/srv/data.0|kind=file|minor_faults_per_s=11|major_faults_per_s=320|"
             "share_pct=97|kernel_pct=100|code=[kernel]|samples=331|error_pct=0",
             "pid=4242|comm=fio|minor_faults_per_s=10|major_faults_per_s=0|share_pct=3|kernel_pct=0|samples=10|"
             "error_pct=0"));
    return s;
}

static inline struct section *machine_health(uint64_t number) {
    struct section *s = forge_section("health", number);

    add_table(s, "collectors",
              ROWS("collector=system|state=ok|cpu_pct=0.1|events_per_s=0|lost=0",
                   "collector=tasks|state=ok|cpu_pct=0.5|events_per_s=12|lost=0",
                   "collector=cpu_counters|state=degraded|cpu_pct=0|events_per_s=0|lost=0|detail=no hardware PMU",
                   "collector=block|state=stale|detail=its data is 3.2 s old", "collector=frames|state=ok|cpu_pct=0"));
    add_table(s, "history", ROWS("pid=4711|history_frames=61|history_bytes=2097152"));
    return s;
}

static inline const struct frame *machine(uint64_t number) {
    struct frame *frame = forge_frame(number);

    frame_add_section(frame, machine_system(number), 0);
    frame_add_section(frame, machine_tasks(number), 0);
    frame_add_section(frame, machine_pertask(number), 0);
    frame_add_section(frame, machine_counters(number), 0);
    frame_add_section(frame, machine_faults(number), 0);
    frame_add_section(frame, machine_health(number), 0);
    return frame;
}

// The literal screens of a pane, then all that every pane must bear: any size, no frame, stale data, every format.
static inline void check_pane(const struct view *view, const char *at_80, const char *at_40,
                              const char *const *tables) {
    struct look look = {.frame = machine(1)}, nothing = {0};
    struct pane *pane = pane_new(view);

    draw_all_sizes(pane, &nothing);
    expect_screen(pane, &look, 80, 24, at_80);
    expect_screen(pane, &look, 40, 10, at_40);
    draw_all_sizes(pane, &look);
    char *wide = pane_screen(pane, &look, 200, 50, true);
    for (const char *c = wide; *c; c++)
        assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
    free(wide);
    for (int format = FORMAT_TEXT; format <= FORMAT_JSON; format++) {
        char *text = pane_written(pane, &look, (enum format)format);
        expect_harmless(text);
        for (size_t i = 0; tables[i]; i++) {
            char name[64];
            snprintf(name, sizeof(name), format == FORMAT_JSON ? "\"%s\":[{" : "\n%s,", tables[i]);
            if (format != FORMAT_TEXT && !strstr(text, name))
                fail_msg("no table %s: %s", tables[i], text);
        }
        free(text);
    }
    frame_unref(look.frame);
    pane_free(pane);
}

#endif
