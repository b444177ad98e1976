// What the pane triage writes as text and as JSON.
#include "tests/unit/forge_triage.h"

static void files(void **state) {
    (void)state;
    const struct frame *frame = make(1, busy, busy_tasks, busy_findings);
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    forge_look(&look, &frame, 1);
    forge_text(pane, &look, FORMAT_TEXT,
               "== 2026-09-21T14:13:21.000Z  triage  1.000 s  h ==\n"
               "Findings\n"
               "  critical memory: 0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: postgres (pid "
               "812) holds 7.7G (for 1m15s) - see pane memory\n"
               "  critical disk: postgres (812) on vda: vda busy 99 % of the time, reads take 45 ms (for 12s) - see "
               "pane disk\n"
               "  warning scheduler: java (4242): somebody waited 72 % of the time for one of 4 CPUs (for 3s) - see "
               "pane tasks\n"
               "  info kernel: counters has not answered for 5 s - see pane health\n"
               "Resources\n"
               "  CPU       88.8%\n"
               "  Load      14.20 9.80 3.10\n"
               "  Run queue run 11 blocked 6\n"
               "  CPU press some 72.0%\n"
               "  Memory    14.7G of 15.3G\n"
               "  Swap      6.2G of 7.6G\n"
               "  Swapping  in 3100 out 8800\n"
               "  Mem press some 41.0% full 18.0%\n"
               "  Busy disk vda 99.2%\n"
               "  Disks     r 200M/s w 83.9M/s\n"
               "  I/O press some 63.0% full 52.0%\n"
               "  Network   rx 10.5M/s tx 2.3M/s\n"
               "Top tasks\n"
               "  CPU: 151% java \\e[2J\\xff (4242), 98.7% postgres (812), 34.5% kswapd0 (77), 12.0% postgres (813), "
               "0.1% systemd (1)\n"
               "  Memory: 7.7G postgres (812), 4.0G postgres (813), 2.0G java \\e[2J\\xff (4242), 11.7M systemd (1), "
               "8.8M rsync (9)\n"
               "  I/O per second: 195M postgres (812), 77.2M java \\e[2J\\xff (4242), 3.8M rsync (9)\n"
               "  Run-queue latency: 903ms java \\e[2J\\xff (4242), 12.0ms postgres (812), 800us postgres (813), 20us "
               "kswapd0 (77)\n"
               "  Major faults per second: none\n"
               "  Switches per second: none\n"
               "\n");
    forge_text(
        pane, &look, FORMAT_JSON,
        "{\"ktop\":\"1\",\"schema\":1,\"host\":\"h\",\"kernel\":\"k\",\"time\":\"2026-09-21T14:13:21.000Z\",\"interval_"
        "s\":1,\"pane\":\"triage\",\"lost_events\":0,\"intervals_s\":{\"system\":1,\"tasks\":1,\"findings\":1},"
        "\"series\":{\"load_1\":14.2,\"load_5\":9.8,\"load_15\":3.1,\"cpus_online\":4,\"procs_running\":11,\"procs_"
        "blocked\":6,\"cpu_user_pct\":61,\"cpu_nice_pct\":2,\"cpu_system_pct\":21,\"cpu_irq_pct\":0.2,\"cpu_softirq_"
        "pct\":3.1,\"cpu_steal_pct\":1.5,\"cpu_iowait_pct\":11.2,\"mem_total_kib\":16000000,\"mem_available_kib\":"
        "400000,\"mem_used_kib\":15400000,\"mem_buffers_kib\":20000,\"mem_cached_kib\":180000,\"swap_total_kib\":"
        "8000000,\"swap_used_kib\":6500000,\"swap_in_per_s\":3100,\"swap_out_per_s\":8800,\"cpu_some_pct\":72,\"memory_"
        "some_pct\":41,\"memory_full_pct\":18,\"io_some_pct\":63,\"io_full_pct\":52,\"disk_read_bytes_per_s\":"
        "210000000,\"disk_write_bytes_per_s\":88000000,\"net_rx_bytes_per_s\":11000000,\"net_tx_bytes_per_s\":2400000,"
        "\"cpu_idle_pct\":0},\"tables\":{\"findings\":[{\"severity\":\"critical\",\"resource\":\"memory\",\"kind\":"
        "\"memory_low\",\"culprit_pid\":812,\"culprit_comm\":\"postgres\",\"culprit_device\":null,\"evidence\":\"0.4G "
        "of 15.3G available (2.5 %), 8800 pages swapped out per second: postgres (pid 812) holds "
        "7.7G\",\"pane\":\"memory\",\"since_s\":75,\"cause\":null,\"level_name\":\"mem_available_kib\",\"level\":"
        "400000,\"level_before\":6200000},{\"severity\":\"critical\",\"resource\":\"disk\","
        "\"kind\":\"disk_"
        "saturated\",\"culprit_pid\":812,\"culprit_comm\":\"postgres\",\"culprit_device\":\"vda\",\"evidence\":\"vda "
        "busy 99 % of the time, reads take 45 "
        "ms\",\"pane\":\"disk\",\"since_s\":12,\"cause\":null,\"level_name\":null,\"level\":null,\"level_before\":null}"
        ",{\"severity\":\"warning\",\"resource\":\"scheduler\","
        "\"kind\":\"cpu_"
        "pressure\",\"culprit_pid\":4242,\"culprit_comm\":\"java\",\"culprit_device\":null,\"evidence\":\"somebody "
        "waited 72 % of the time for one of 4 "
        "CPUs\",\"pane\":\"tasks\",\"since_s\":3,\"cause\":null,\"level_name\":null,\"level\":null,\"level_before\":"
        "null},{\"severity\":\"info\",\"resource\":\"kernel\","
        "\"kind\":\"collector_"
        "stale\",\"culprit_pid\":null,\"culprit_comm\":null,\"culprit_device\":null,\"evidence\":\"counters has not "
        "answered for 5 "
        "s\",\"pane\":\"health\",\"since_s\":0,\"cause\":null,\"level_name\":null,\"level\":null,\"level_before\":null}"
        "]},\"histograms\":{},\"trees\":{},\"events\":[],"
        "\"notes\":[]}\n");
    pane_free(pane);
    frame_unref(frame);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
