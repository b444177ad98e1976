// Block devices: which are shown, rates and averages, kernels of several ages, devices that come, go and start anew.
#include "tests/unit/system_root.h"

static void block(const char *name, const char *sectors) {
    char path[128];
    snprintf(path, sizeof path, "/sys/block/%s/size", name);
    root_write(path, sectors);
}

static void rates_and_averages(void **state) {
    (void)state;
    block("vda", "2048\n");
    block("loop0", "16\n");
    block("loop1", "0\n");
    root_write("/sys/block/vda/device/vendor", "ACME    \n");
    root_write("/sys/block/vda/device/model", "Disk 9   \n");
    root_write("/proc/diskstats", " 254 0 vda 100 1 800 1000 200 2 1600 2000 3 5000 9000 10 0 80 100 5 50\n"
                                  " 254 1 vda1 100 1 800 1000 200 2 1600 2000 0 5000 9000 10 0 80 100 5 50\n"
                                  "   7 0 loop0 5 0 40 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                                  "   7 1 loop1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    struct fixture fixture = fixture_new(&system_disk_part);
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "devices"), 2); // no partition, no loop1 that never did I/O
    assert_near(fixture_num(&fixture, "devices", "vda", "size_bytes"), 1048576);
    assert_string_equal(text_bytes(fixture_cell(&fixture, "devices", "vda", "model").text), "ACME Disk 9");
    assert_null(fixture_cell(&fixture, "devices", "loop0", "model").text);
    assert_near(fixture_num(&fixture, "devices", "vda", "in_flight"), 3);
    assert_nan(fixture_num(&fixture, "devices", "vda", "reads_per_s"));
    assert_nan(fixture.series[SYS_DISK_READ]);
    root_write("/proc/diskstats",
               " 254 0 vda 300 11 2800 1400 250 22 2000 2100 4294967295 6500 12000 14 0 160 300 7 70\n"
               " 254 1 vda1 300 1 800 1000 200 2 1600 2000 0 5000 9000 10 0 80 100 5 50\n"
               "   7 0 loop0 5 0 40 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
               "   7 1 loop1 4 0 32 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    root_clock += 2 * SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "devices"), 3);
    assert_near(fixture_num(&fixture, "devices", "vda", "reads_per_s"), 100);
    assert_near(fixture_num(&fixture, "devices", "vda", "writes_per_s"), 25);
    assert_near(fixture_num(&fixture, "devices", "vda", "read_bytes_per_s"), 512000);
    assert_near(fixture_num(&fixture, "devices", "vda", "write_bytes_per_s"), 102400);
    assert_near(fixture_num(&fixture, "devices", "vda", "in_flight"), 0); // -1 of the kernel
    assert_near(fixture_num(&fixture, "devices", "vda", "util_pct"), 75);
    assert_near(fixture_num(&fixture, "devices", "vda", "queue_length"), 1.5);
    assert_near(fixture_num(&fixture, "devices", "vda", "read_wait_us"), 2000);
    assert_near(fixture_num(&fixture, "devices", "vda", "write_wait_us"), 2000);
    assert_near(fixture_num(&fixture, "devices", "vda", "read_merges_per_s"), 5);
    assert_near(fixture_num(&fixture, "devices", "vda", "read_size_bytes"), 5120);
    assert_near(fixture_num(&fixture, "devices", "vda", "write_size_bytes"), 4096);
    assert_near(fixture_num(&fixture, "devices", "vda", "discards_per_s"), 2);
    assert_near(fixture_num(&fixture, "devices", "vda", "discard_wait_us"), 50000);
    assert_near(fixture_num(&fixture, "devices", "vda", "flushes_per_s"), 1);
    assert_near(fixture_num(&fixture, "devices", "vda", "flush_wait_us"), 10000);
    assert_near(fixture_num(&fixture, "devices", "loop0", "reads_per_s"), 0);
    assert_nan(fixture_num(&fixture, "devices", "loop0", "read_wait_us")); // nothing completed
    assert_nan(fixture_num(&fixture, "devices", "loop0", "read_size_bytes"));
    assert_near(fixture_num(&fixture, "devices", "loop1", "reads_per_s"), 2); // its first I/O counts at once
    assert_near(fixture.series[SYS_DISK_READ], 512000);                       // loop devices stand on others
    assert_near(fixture.series[SYS_DISK_WRITE], 102400);
    fixture_free(&fixture);
}

static void kernels_of_other_ages(void **state) {
    (void)state;
    block("sda", "8\n");
    block("sdb", "8\n");
    block("hda", "8\n");
    block("cciss!c0d0", "8\n");
    // 4.17 has 11 fields, 4.18 to 5.4 has 15; 2.6.24 had partitions with 4; a future one may have more than 17.
    root_write("/proc/diskstats", "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n8 16 sdb 1 0 8 1 1 0 8 1 0 1 1 1 0 8 1\n"
                                  "3 0 hda 1 8 1 8\n104 0 cciss/c0d0 1 0 8 1 1 0 8 1 0 1 1 0 0 0 0 0 0 55 66 77\n");
    struct fixture fixture = fixture_new(&system_disk_part);
    fixture_sample(&fixture);
    root_write("/proc/diskstats", "8 0 sda 11 0 88 1 1 0 8 1 0 1 1\n8 16 sdb 1 0 8 1 1 0 8 1 0 1 1 5 0 16 3\n"
                                  "3 0 hda 1 8 1 8\n104 0 cciss/c0d0 3 0 8 1 1 0 8 1 0 1 1 0 0 0 0 0 0 99 99 99\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "devices"), 3);
    assert_near(fixture_num(&fixture, "devices", "sda", "reads_per_s"), 10);
    assert_nan(fixture_num(&fixture, "devices", "sda", "discards_per_s"));
    assert_nan(fixture_num(&fixture, "devices", "sda", "flushes_per_s"));
    assert_near(fixture_num(&fixture, "devices", "sdb", "discards_per_s"), 4);
    assert_nan(fixture_num(&fixture, "devices", "sdb", "flushes_per_s"));
    assert_near(fixture_num(&fixture, "devices", "cciss/c0d0", "reads_per_s"), 2);
    assert_near(fixture_num(&fixture, "devices", "cciss/c0d0", "size_bytes"), 4096);
    fixture_free(&fixture);
}

static void devices_come_and_go(void **state) {
    (void)state;
    block("sda", "8\n");
    block("sdb", "8\n");
    block("sdc", "8\n");
    struct fixture fixture = fixture_new(&system_disk_part);
    root_write("/proc/diskstats", "8 0 sda 1000 0 8000 1 0 0 0 0 0 1 1\n8 16 sdb 5 0 8 1 1 0 8 1 0 1 1\n");
    fixture_sample(&fixture);
    // sda is another disk now, sdb went, sdc came: no rate of any of them is known.
    root_write("/proc/diskstats", "8 0 sda 5 0 40 1 0 0 0 0 0 1 1\n8 32 sdc 500 0 8 1 1 0 8 1 0 1 1\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "devices"), 2);
    assert_nan(fixture_num(&fixture, "devices", "sda", "reads_per_s"));
    assert_nan(fixture_num(&fixture, "devices", "sda", "read_bytes_per_s"));
    assert_nan(fixture_num(&fixture, "devices", "sdc", "reads_per_s"));
    assert_near(fixture.series[SYS_DISK_READ], 0);
    // A counter of milliseconds that wraps at 32 bits is followed.
    root_write("/proc/diskstats", "8 0 sda 5 0 40 4294967290 0 0 0 0 0 4294967290 4294967290\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    root_write("/proc/diskstats", "8 0 sda 6 0 48 94 0 0 0 0 0 94 94\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "devices", "sda", "util_pct"), 10);
    assert_near(fixture_num(&fixture, "devices", "sda", "read_wait_us"), 100000);
    root_delete("/proc/diskstats");
    struct fixture missing = fixture_new(&system_disk_part);
    fixture_sample(&missing);
    assert_int_equal(fixture_rows(&missing, "devices"), 0);
    assert_int_equal(section_notes(missing.section), 1);
    fixture_free(&missing);
    fixture_free(&fixture);
}

static void empty_loop_devices_are_not_shown(void **state) {
    (void)state;
    static const char *const idle = "7 0 loop0 9 0 72 1 0 0 0 0 0 1 1\n", *const busy =
                                                                              "7 0 loop0 19 0 152 1 0 0 0 0 0 1 1\n";
    block("loop0", "0\n");
    root_write("/proc/diskstats", idle); // used and detached before we came
    struct fixture fixture = fixture_new(&system_disk_part);
    for (int i = 0; i < 2; i++) {
        fixture_sample(&fixture);
        root_clock += SECOND;
        assert_int_equal(fixture_rows(&fixture, "devices"), 0);
    }
    block("loop0", "64\n"); // attached and used
    root_write("/proc/diskstats", busy);
    fixture_sample(&fixture);
    root_clock += SECOND;
    assert_near(fixture_num(&fixture, "devices", "loop0", "reads_per_s"), 10);
    assert_near(fixture_num(&fixture, "devices", "loop0", "size_bytes"), 32768);
    fixture_sample(&fixture); // idle, but there
    root_clock += SECOND;
    assert_near(fixture_num(&fixture, "devices", "loop0", "reads_per_s"), 0);
    block("loop0", "0\n");
    fixture_sample(&fixture); // its size was looked at in this one
    root_clock += SECOND;
    fixture_sample(&fixture);
    root_clock += SECOND;
    assert_int_equal(fixture_rows(&fixture, "devices"), 0);
    block("loop0", "64\n");
    fixture_sample(&fixture);
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "devices", "loop0", "reads_per_s"), 0);
    fixture_free(&fixture);
}

static void hostile_lines(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_disk_part);
    root_write(
        "/proc/diskstats",
        "8 0\n8 0 \n8\n\n8 0 ../../etc 1 0 8 1 1 0 8 1 0 1 1\n8 0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 0 8 1 1 0 8 1 0 1 1\nx y z\n8 0 sda 1 0 8 1 -1 0 8");
    fixture_sample(&fixture);
    fixture_sample(&fixture); // no time has passed
    assert_int_equal(fixture_rows(&fixture, "devices"), 0);
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates_and_averages, root_make, root_drop),
        cmocka_unit_test_setup_teardown(kernels_of_other_ages, root_make, root_drop),
        cmocka_unit_test_setup_teardown(devices_come_and_go, root_make, root_drop),
        cmocka_unit_test_setup_teardown(empty_loop_devices_are_not_shown, root_make, root_drop),
        cmocka_unit_test_setup_teardown(hostile_lines, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
