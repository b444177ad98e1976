// The whole collector: on the files of a real machine (tests/data), on the same cut short and with bytes changed, and
// without any; and what its description promises.
#include "tests/unit/system_root.h"

#include <fcntl.h>

extern const struct collector collector_system;

static const char *const files[] = {
    "/proc/stat",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/diskstats",
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/cpuinfo",
    "/proc/net/dev",
    "/proc/net/snmp",
    "/proc/net/netstat",
    "/proc/net/snmp6",
    "/proc/net/sockstat",
    "/proc/pressure/cpu",
    "/proc/pressure/memory",
    "/proc/pressure/io",
    "/proc/self/statm",
    "/sys/block/vda/size",
    "/sys/devices/system/node/node0/meminfo",
    "/sys/devices/system/node/node0/numastat",
    "/sys/class/net/eth0/operstate",
    "/sys/class/net/eth0/device/vendor",
};
#define FILES (sizeof files / sizeof *files)

static size_t data_read(const char *path, char *bytes, size_t size) {
    char full[256];
    snprintf(full, sizeof full, "tests/data/system-6.18%s", path);
    FILE *file = fopen(full, "r");
    assert_non_null(file);
    size_t length = fread(bytes, 1, size - 1, file);
    fclose(file);
    bytes[length] = '\0';
    return length;
}

static void data_copy(void) {
    static char bytes[65536];
    for (size_t i = 0; i < FILES; i++)
        root_write_bytes(files[i], bytes, data_read(files[i], bytes, sizeof bytes));
}

static struct section *sample(struct collector_run *run) {
    struct section *section = section_new("system", 1, 2);
    assert_int_equal(collector_system.sample(run, section), 0);
    return section;
}

static double series(const struct section *section, const char *name) {
    for (size_t i = 0; i < section_n_series(section); i++) {
        const struct series_def *def;
        double value = section_series_at(section, i, &def);
        if (!strcmp(def->name, name))
            return value;
    }
    fail_msg("no series %s", name);
    return NAN;
}

static void a_real_machine(void **state) {
    (void)state;
    data_copy();
    struct collector_run run = {.first = true};
    assert_int_equal(collector_system.open(&run), 0);
    struct section *section = sample(&run);
    assert_int_equal(section_state(section), SECTION_OK);
    assert_int_equal(section_n_series(section), SYSTEM_N_SERIES);
    for (size_t i = 0; collector_system.tables[i]; i++)
        assert_non_null(section_find_table(section, collector_system.tables[i]->name));
    assert_near(series(section, "cpus_online"), 2);
    assert_near(series(section, "mem_total_kib"), 24684084);
    assert_nan(series(section, "cpu_idle_pct"));
    assert_nan(series(section, "forks_per_s"));
    assert_int_equal(table_rows(section_find_table(section, "cpus")), 2);
    assert_int_equal(table_rows(section_find_table(section, "interfaces")), 4);
    section_unref(section);
    usleep(2000);
    section = sample(&run); // nothing moved
    assert_near(series(section, "forks_per_s"), 0);
    assert_near(series(section, "net_rx_bytes_per_s"), 0);
    assert_nan(series(section, "cpu_idle_pct")); // no tick at all: no share of anything
    section_unref(section);
    collector_system.close(&run);
}

static void values_are_sane(const struct section *section) {
    for (size_t i = 0; i < section_n_series(section); i++) {
        const struct series_def *def;
        double value = section_series_at(section, i, &def);
        assert_true(isnan(value) || (value >= 0 && isfinite(value)));
        assert_true(isnan(value) || def->unit != UNIT_PCT || value <= 100.000001);
    }
    for (size_t i = 0; collector_system.tables[i]; i++) {
        const struct table_def *def = collector_system.tables[i];
        const struct table *table = section_find_table(section, def->name);
        size_t cursor = 0;
        for (const union cell *row; (row = table_next(table, &cursor));)
            for (uint16_t column = 0; column < def->n_columns; column++) {
                if (def->columns[column].type != COLUMN_NUMBER || isnan(row[column].num))
                    continue;
                assert_true(row[column].num >= 0 && isfinite(row[column].num));
                bool share = def->columns[column].unit == UNIT_PCT &&
                             strncmp(def->columns[column].name, "cpu_pct", 7) &&
                             !strstr(def->columns[column].name, "avg10");
                assert_true(!share || row[column].num <= 100.000001);
            }
    }
}

static uint32_t dice_state = 20261120;
static uint32_t dice(uint32_t sides) {
    dice_state = dice_state * 1664525 + 1013904223;
    return (dice_state >> 8) % sides;
}

static void cut_short_and_changed(void **state) {
    (void)state;
    static char bytes[65536];
    data_copy();
    struct collector_run run = {.first = true};
    assert_int_equal(collector_system.open(&run), 0);
    for (size_t round = 0; round < 400; round++) {
        const char *path = files[round % FILES];
        size_t length = data_read(path, bytes, sizeof bytes);
        if (dice(3) == 0)
            length = dice((uint32_t)length + 1);
        else
            for (uint32_t n = dice(40) + 1; n && length; n--)
                bytes[dice((uint32_t)length)] = dice(4) ? (char)("0123456789 :\n-xCcp\t"[dice(19)]) : (char)dice(256);
        root_write_bytes(path, bytes, length);
        struct section *section = sample(&run);
        values_are_sane(section);
        section_unref(section);
    }
    collector_system.close(&run);
}

static void nothing_there(void **state) {
    (void)state;
    struct collector_run run = {.first = true};
    assert_true(collector_system.open(&run) < 0);
    assert_true(run.reason[0] && run.fix[0]);
    collector_system.close(&run);
    root_write("/proc/stat", "cpu  1 1 1 1\n");
    run = (struct collector_run){.first = true};
    assert_int_equal(collector_system.open(&run), 0);
    struct section *section = sample(&run);
    assert_int_equal(section_state(section), SECTION_DEGRADED);
    values_are_sane(section);
    section_unref(section);
    collector_system.close(&run);
}

static size_t descriptors(void) {
    size_t n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void leaves_no_descriptor(void **state) {
    (void)state;
    data_copy();
    size_t before = descriptors();
    struct collector_run run = {.first = true};
    assert_int_equal(collector_system.open(&run), 0);
    for (int i = 0; i < 3; i++)
        section_unref(sample(&run));
    assert_true(descriptors() - before < 40);
    collector_system.close(&run);
    assert_int_equal(descriptors(), before);
}

static void described_in_full(void **state) {
    (void)state;
    for (size_t i = 0; i < collector_system.n_series; i++) {
        assert_non_null(collector_system.series[i].name);
        assert_non_null(collector_system.series[i].title);
        assert_true(strlen(collector_system.series[i].help) > 8);
    }
    for (size_t i = 0; collector_system.tables[i]; i++) {
        const struct table_def *def = collector_system.tables[i];
        assert_true(strlen(def->help) > 8);
        for (uint16_t column = 0; column < def->n_columns; column++) {
            const struct column *c = &def->columns[column];
            assert_non_null(c->name);
            assert_true(c->title && c->width >= strlen(c->title));
            assert_true(strlen(c->help) > 4);
            assert_int_equal(table_column(def, c->name), column); // no name twice
        }
    }
}

static size_t checks;
static void count_check(struct check_report *report, const struct check *check) {
    (void)report;
    checks++;
    assert_non_null(check->capability);
    assert_true(check->detail[0]);
    assert_true(check->works || check->fix[0]);
}

static void doctor(void **state) {
    (void)state;
    struct check_report report = {.add = count_check};
    collector_system.check(&report);
    assert_true(checks >= 3);
    data_copy();
    collector_system.check(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_real_machine, root_make, root_drop),
        cmocka_unit_test_setup_teardown(cut_short_and_changed, root_make, root_drop),
        cmocka_unit_test_setup_teardown(nothing_there, root_make, root_drop),
        cmocka_unit_test_setup_teardown(leaves_no_descriptor, root_make, root_drop),
        cmocka_unit_test(described_in_full),
        cmocka_unit_test_setup_teardown(doctor, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
