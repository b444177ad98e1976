// Memory: fields of old and new kernels, rates of vmstat, what is missing.
#include "tests/unit/system_root.h"

static void one_row_and_its_series(void **state) {
    (void)state;
    root_write("/proc/meminfo", "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\n"
                                "Buffers:          20 kB\nCached:          300 kB\nSwapTotal:       500 kB\n"
                                "SwapFree:        450 kB\nDirty:             7 kB\nWriteback:         3 kB\n"
                                "Shmem:            11 kB\nWritebackTmp:     99 kB\nHugePages_Total:   4\n");
    root_write("/proc/vmstat", "pswpin 10\npswpout 20\nallocstall_dma 1\nallocstall_normal 2\npgfault 1000\n"
                               "pgmajfault 100\npgscan_kswapd 5\npgscan_direct 6\npgscan_direct_throttle 1000\n"
                               "pgscan_anon 11\npgsteal_kswapd 1\npgsteal_direct 2\nworkingset_refault_anon 1\n"
                               "workingset_refault_file 1\noom_kill 0\n");
    struct fixture fixture = fixture_new(&system_mem_part);
    fixture.pressure.memory_some_avg10 = 1.25;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "memory"), 1);
    assert_near(fixture_num(&fixture, "memory", NULL, "total_kib"), 1000);
    assert_near(fixture_num(&fixture, "memory", NULL, "used_kib"), 400);
    assert_near(fixture_num(&fixture, "memory", NULL, "writeback_kib"), 3);
    assert_near(fixture_num(&fixture, "memory", NULL, "huge_pages_total"), 4);
    assert_near(fixture_num(&fixture, "memory", NULL, "some_avg10_pct"), 1.25);
    assert_nan(fixture_num(&fixture, "memory", NULL, "corrupted_kib"));
    assert_nan(fixture_num(&fixture, "memory", NULL, "minor_faults_per_s"));
    assert_near(fixture.series[SYS_MEM_USED] + fixture.series[SYS_MEM_AVAILABLE], fixture.series[SYS_MEM_TOTAL]);
    assert_near(fixture.series[SYS_SWAP_USED], 50);
    root_write("/proc/vmstat", "pswpin 30\npswpout 24\nallocstall_dma 2\nallocstall_normal 5\npgfault 2100\n"
                               "pgmajfault 200\npgscan_kswapd 15\npgscan_direct 26\npgscan_direct_throttle 9000\n"
                               "pgscan_anon 41\npgsteal_kswapd 3\npgsteal_direct 8\nworkingset_refault_anon 3\n"
                               "workingset_refault_file 9\noom_kill 2\n");
    root_clock += 2 * SECOND;
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_SWAP_IN], 10);
    assert_near(fixture.series[SYS_SWAP_OUT], 2);
    assert_near(fixture.series[SYS_MAJOR_FAULTS], 50);
    assert_near(fixture.series[SYS_MINOR_FAULTS], 500);
    assert_near(fixture.series[SYS_OOM_KILLS], 1);
    assert_near(fixture_num(&fixture, "memory", NULL, "kswapd_scans_per_s"), 5);
    assert_near(fixture_num(&fixture, "memory", NULL, "direct_scans_per_s"), 10);
    assert_near(fixture_num(&fixture, "memory", NULL, "steals_per_s"), 4);
    assert_near(fixture_num(&fixture, "memory", NULL, "allocation_stalls_per_s"), 2);
    assert_near(fixture_num(&fixture, "memory", NULL, "refaults_per_s"), 5);
    fixture_free(&fixture);
}

static void old_kernels(void **state) {
    (void)state;
    // 2.6.32: no MemAvailable, counters of reclaim by zone, no oom_kill.
    root_write("/proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 20 kB\nCached: 300 kB\n");
    root_write("/proc/vmstat", "pgscan_kswapd_dma 1\npgscan_kswapd_normal 2\npgfault 5\npgmajfault 5\n");
    struct fixture fixture = fixture_new(&system_mem_part);
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_MEM_AVAILABLE], 420);
    assert_nan(fixture.series[SYS_SWAP_USED]);
    root_write("/proc/vmstat", "pgscan_kswapd_dma 2\npgscan_kswapd_normal 11\npgfault 5\npgmajfault 7\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "memory", NULL, "kswapd_scans_per_s"), 10);
    assert_near(fixture.series[SYS_MINOR_FAULTS], 0); // not negative
    assert_nan(fixture.series[SYS_OOM_KILLS]);
    fixture_free(&fixture);
}

static void nothing_there(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_mem_part);
    for (int i = 0; i < 2; i++) {
        fixture_sample(&fixture);
        root_clock += SECOND;
        assert_int_equal(fixture_rows(&fixture, "memory"), 1);
        assert_nan(fixture.series[SYS_MEM_TOTAL]);
        assert_nan(fixture.series[SYS_MEM_USED]);
        assert_int_equal(section_notes(fixture.section), 1);
    }
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_row_and_its_series, root_make, root_drop),
        cmocka_unit_test_setup_teardown(old_kernels, root_make, root_drop),
        cmocka_unit_test_setup_teardown(nothing_there, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
