// Reading and parsing of /proc files: kept descriptors, long files, hostile numbers, differences of counters.
#include "tests/unit/system_root.h"

#include <errno.h>

static void reads_whole_files_again_and_again(void **state) {
    (void)state;
    struct proc_buffer buffer = {0};
    struct proc_file file = PROC_FILE("/proc/long");
    assert_int_equal(proc_file_read(&file, &buffer), -ENOENT);
    assert_string_equal(buffer.bytes, "");
    size_t length = 300000;
    char *bytes = malloc(length + 1);
    memset(bytes, 'x', length);
    bytes[length] = '\0';
    root_write("/proc/long", bytes);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(proc_file_read(&file, &buffer), 0);
        assert_int_equal(buffer.length, length);
        assert_string_equal(buffer.bytes, bytes);
    }
    root_write("/proc/long", "short"); // truncated and written in place: the descriptor sees it
    assert_int_equal(proc_file_read(&file, &buffer), 0);
    assert_string_equal(buffer.bytes, "short");
    proc_file_close(&file);
    proc_buffer_free(&buffer);
    free(bytes);
}

static void numbers(void **state) {
    (void)state;
    uint64_t value = 7;
    const char *at = "  12\t34 x";
    assert_true(proc_number(&at, &value));
    assert_int_equal(value, 12);
    assert_true(proc_number(&at, &value));
    assert_int_equal(value, 34);
    assert_false(proc_number(&at, &value));
    assert_string_equal(at, " x");
    at = "\n5";
    assert_false(proc_number(&at, &value)); // never past the line
    at = "-5";
    assert_false(proc_number(&at, &value));
    at = "18446744073709551614";
    assert_true(proc_number(&at, &value));
    assert_int_equal(value, UINT64_MAX - 1);
    at = "99999999999999999999999999";
    assert_true(proc_number(&at, &value));
    assert_int_equal(value, UINT64_MAX - 1); // PROC_MISSING is never a value
    assert_string_equal(at, "");
    at = "3.25 0.05 x";
    assert_near(proc_decimal(&at), 3.25);
    assert_near(proc_decimal(&at), 0.05);
    assert_nan(proc_decimal(&at));
}

static struct proc_buffer buffer_of(char *text) {
    return (struct proc_buffer){.bytes = text, .length = strlen(text), .capacity = strlen(text) + 1};
}

static void pairs(void **state) {
    (void)state;
    static const char *const names[] = {"Total", "Total_Free", "scan_throttle", "scan*", "gone", "last"};
    char text[] = "Total:  10 kB\nscan_b 3\nTotal_Free: 4 kB\nscan_throttle 100\nscan_a 2\nodd\n:\n\nlast 9";
    struct proc_buffer buffer = buffer_of(text);
    uint64_t values[6];
    proc_pairs(&buffer, names, 6, values);
    assert_int_equal(values[0], 10);
    assert_int_equal(values[1], 4);
    assert_int_equal(values[2], 100);
    assert_int_equal(values[3], 5);
    assert_int_equal(values[4], PROC_MISSING);
    assert_int_equal(values[5], 9);
}

static void headed_pairs(void **state) {
    (void)state;
    static const char *const names[] = {"A", "Max", "C", "D"};
    char text[] = "Tcp2: A\nTcp2: 99\nTcp: A Max B C D\nTcp: 1 -1 2 3\nUdp: A\nUdp: 7\n";
    struct proc_buffer buffer = buffer_of(text);
    uint64_t values[4];
    proc_headed_pairs(&buffer, "Tcp", names, 4, values);
    assert_int_equal(values[0], 1);
    assert_int_equal(values[1], PROC_MISSING); // negative
    assert_int_equal(values[2], 3);
    assert_int_equal(values[3], PROC_MISSING); // fewer numbers than names
    proc_headed_pairs(&buffer, "Gone", names, 4, values);
    assert_int_equal(values[0], PROC_MISSING);
}

static void line_of_pairs(void **state) {
    (void)state;
    static const char *const names[] = {"inuse", "tw", "mem"};
    char text[] = "sockets: used 9\nTCPX: inuse 1\nTCP: inuse 3 orphan 0 tw 4 alloc 5\nUDP: inuse 2 mem 7\n";
    struct proc_buffer buffer = buffer_of(text);
    uint64_t values[3];
    proc_line_pairs(&buffer, "TCP", names, 3, values);
    assert_int_equal(values[0], 3);
    assert_int_equal(values[1], 4);
    assert_int_equal(values[2], PROC_MISSING); // of the next line
    proc_line_pairs(&buffer, "RAW", names, 3, values);
    assert_int_equal(values[0], PROC_MISSING);
}

static void differences(void **state) {
    (void)state;
    assert_int_equal(counter_delta(5, 9), 4);
    assert_int_equal(counter_delta(9, 5), PROC_MISSING);                    // reset
    assert_int_equal(counter_delta(4294967290u, 4), 10);                    // wrapped at 32 bits
    assert_int_equal(counter_delta(4294967290u, 2000000000), PROC_MISSING); // too far for a wrap
    assert_int_equal(counter_delta(1ull << 40, 4), PROC_MISSING);
    assert_int_equal(counter_delta(PROC_MISSING, 4), PROC_MISSING);
    assert_int_equal(counter_delta(4, PROC_MISSING), PROC_MISSING);
    assert_near(counter_rate(10, 30, 0.5), 40);
    assert_nan(counter_rate(10, 30, 0));
    assert_nan(counter_rate(30, 10, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_whole_files_again_and_again, root_make, root_drop),
        cmocka_unit_test(numbers),
        cmocka_unit_test(pairs),
        cmocka_unit_test(headed_pairs),
        cmocka_unit_test(line_of_pairs),
        cmocka_unit_test(differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
