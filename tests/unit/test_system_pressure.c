// Pressure: shares of the measured interval, kernels without some of the files, kernels without PSI.
#include "tests/unit/system_root.h"

static void write_psi(const char *what, unsigned some, unsigned full) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/pressure/%s", what);
    snprintf(text, sizeof text,
             "some avg10=9.12 avg60=3.65 avg300=0.95 total=%u\nfull avg10=1.50 avg60=0.00 avg300=0.00 total=%u\n", some,
             full);
    root_write(path, text);
}

static void shares_of_the_interval(void **state) {
    (void)state;
    write_psi("cpu", 1000, 0);
    write_psi("memory", 5000, 100);
    write_psi("io", 4294967000u, 0);
    root_write("/proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
    struct fixture fixture = fixture_new(&system_pressure_part);
    fixture_sample(&fixture);
    assert_nan(fixture.series[SYS_PSI_CPU_SOME]);
    assert_near(fixture.pressure.memory_some_avg10, 9.12);
    assert_near(fixture.pressure.memory_full_avg10, 1.5);
    write_psi("cpu", 501000, 0);
    write_psi("memory", 5000, 200100);
    write_psi("io", 4294967000u - 5, 9000000); // back, and more than the interval
    root_write("/proc/pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=20007\n");
    root_clock += 2 * SECOND;
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_PSI_CPU_SOME], 25);
    assert_near(fixture.series[SYS_PSI_MEMORY_SOME], 0);
    assert_near(fixture.series[SYS_PSI_MEMORY_FULL], 10);
    assert_near(fixture.pressure.memory_full, 10);
    assert_nan(fixture.series[SYS_PSI_IO_SOME]);
    assert_near(fixture.series[SYS_PSI_IO_FULL], 100);
    assert_near(fixture.series[SYS_PSI_IRQ_FULL], 1);
    assert_int_equal(section_notes(fixture.section), 0);
    fixture_free(&fixture);
}

static void no_psi_is_a_note(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_pressure_part);
    for (int i = 0; i < 2; i++) {
        fixture_sample(&fixture);
        root_clock += SECOND;
        assert_nan(fixture.series[SYS_PSI_CPU_SOME]);
        assert_nan(fixture.pressure.memory_some_avg10);
        assert_int_equal(section_notes(fixture.section), 1);
        assert_non_null(strstr(section_note_at(fixture.section, 0)->fix, "psi=1"));
    }
    write_psi("cpu", 1, 1); // 5.10: cpu has no full line, and there is no irq
    root_write("/proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
    write_psi("memory", 1, 1);
    write_psi("io", 1, 1);
    fixture_sample(&fixture);
    assert_string_equal(section_note_at(fixture.section, 0)->column, "irq_full_pct");
    fixture_free(&fixture);
}

static void hostile_files(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "some",
                                        "some avg10=",
                                        "some avg10=x total=\n",
                                        "full total=some ",
                                        "some avg10=1e9 total=999999999999999999999999\n"};
    struct fixture fixture = fixture_new(&system_pressure_part);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        root_write("/proc/pressure/cpu", texts[i]);
        root_write("/proc/pressure/memory", texts[i]);
        fixture_sample(&fixture);
        root_clock += SECOND;
        double share = fixture.series[SYS_PSI_CPU_SOME];
        assert_true(isnan(share) || (share >= 0 && share <= 100));
    }
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shares_of_the_interval, root_make, root_drop),
        cmocka_unit_test_setup_teardown(no_psi_is_a_note, root_make, root_drop),
        cmocka_unit_test_setup_teardown(hostile_files, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
