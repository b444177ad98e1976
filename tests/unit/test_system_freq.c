// The frequency of the CPUs: cpufreq first, then /proc/cpuinfo of several architectures, then a note.
#include "tests/unit/system_root.h"

static void stat_write(int n) {
    char text[4096];
    int at = sprintf(text, "cpu  1 1 1 1\n");
    for (int i = 0; i < n; i++)
        at += sprintf(text + at, "cpu%d 1 1 1 1\n", i);
    root_write("/proc/stat", text);
}

static void from_cpufreq(void **state) {
    (void)state;
    stat_write(200);
    root_write("/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 1000.5\n");
    for (int i = 0; i < 200; i++) {
        char path[96], text[32];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
        snprintf(text, sizeof text, "%d\n", 800000 + i);
        root_write(path, text);
    }
    struct fixture fixture = fixture_new(&system_cpu_part);
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "0", "frequency_hz"), 800e6);
    assert_near(fixture_num(&fixture, "cpus", "199", "frequency_hz"), 800.199e6); // past the kept descriptors
    root_write("/sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq", "1200000\n");
    root_write("/sys/devices/system/cpu/cpu4/cpufreq/scaling_cur_freq", "<unknown>\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "3", "frequency_hz"), 1200e6);
    assert_nan(fixture_num(&fixture, "cpus", "4", "frequency_hz"));
    fixture_free(&fixture);
}

static uint64_t slow_clock = SECOND;
static uint64_t slow_now(void) {
    return slow_clock += SECOND / 250; // every look at the clock finds that 4 ms have passed
}

static void a_slow_driver_keeps_to_its_budget(void **state) {
    (void)state;
    bool online[8];
    double hz[8], series[SYSTEM_N_SERIES];
    for (int i = 0; i < 8; i++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", i);
        root_write(path, "1000000\n");
        online[i] = true;
        hz[i] = NAN;
    }
    struct system_freq *freq = system_freq_new();
    struct proc_buffer buffer = {0};
    struct section *section = section_new("system", 0, 0);
    struct system_sample sample = {.out = section, .series = series, .all = true, .buffer = &buffer, .now = slow_now};
    size_t known = 0;
    for (int round = 1; round <= 4; round++) {
        system_freq_sample(freq, &sample, online, hz, 8);
        known = 0;
        for (int i = 0; i < 8; i++)
            known += !isnan(hz[i]);
        assert_int_equal(known, round * 2); // two per sample, in turn
    }
    section_unref(section);
    proc_buffer_free(&buffer);
    system_freq_free(freq);
}

static void from_cpuinfo(void **state) {
    (void)state;
    stat_write(2);
    root_write("/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2596.096\n\nprocessor\t: 1\ncpu MHz\t\t: 800.000\n\n"
                                "processor\t: 77777777777\ncpu MHz\t\t: 1\n");
    struct fixture fixture = fixture_new(&system_cpu_part);
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "0", "frequency_hz"), 2596.096e6);
    assert_near(fixture_num(&fixture, "cpus", "1", "frequency_hz"), 800e6);
    fixture_free(&fixture);
    root_write("/proc/cpuinfo", "processor\t: 0\ncpu\t\t: POWER9\nclock\t\t: 3800.000000MHz\n");
    fixture = fixture_new(&system_cpu_part);
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "0", "frequency_hz"), 3800e6);
    assert_nan(fixture_num(&fixture, "cpus", "1", "frequency_hz"));
    fixture_free(&fixture);
}

static void from_nowhere(void **state) {
    (void)state;
    stat_write(1);
    root_write("/proc/cpuinfo", "processor\t: 0\nBogoMIPS\t: 125.00\n"); // arm64
    struct fixture fixture = fixture_new(&system_cpu_part);
    fixture_sample(&fixture);
    assert_nan(fixture_num(&fixture, "cpus", "0", "frequency_hz"));
    assert_int_equal(section_notes(fixture.section), 1);
    assert_string_equal(section_note_at(fixture.section, 0)->column, "frequency_hz");
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_cpufreq, root_make, root_drop),
        cmocka_unit_test_setup_teardown(a_slow_driver_keeps_to_its_budget, root_make, root_drop),
        cmocka_unit_test_setup_teardown(from_cpuinfo, root_make, root_drop),
        cmocka_unit_test_setup_teardown(from_nowhere, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
