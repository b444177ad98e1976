// I/O limits of cgroups, from forged directories: v1 and v2, limits that change, and full use.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/block/limit.h"
#include "tests/unit/forge_files.h"

#define SECOND 1000000000ull

static char root[64];
static struct block_names *names;

static int set_up(void **state) {
    (void)state;
    snprintf(root, sizeof(root), "/tmp/ktop-limits-XXXXXX");
    names = block_names_new("/nonexistent"); // named by dev_t
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    block_names_free(names);
    return system(command);
}

static void put(const char *path, const char *text) {
    forge_file(root, path + 1, text);
}

// Row index of that cgroup; *out: its value in the column.
static size_t rows_at(struct block_limits *limits, uint64_t now, const char *cgroup, const char *column, double *out,
                      size_t *notes) {
    struct section *section = section_new("block", now - SECOND, now);
    block_limits_read(limits, now);
    block_limits_fill(limits, names, now, section);
    const struct table *table = section_find_table(section, "io_limits");
    size_t cursor = 0, n = table_rows(table);
    *out = NAN;
    for (const union cell *row; (row = table_next(table, &cursor));)
        if (!strcmp(text_bytes(row[0].text), cgroup))
            *out = row[table_column(&block_limits_table, column)].num;
    *notes = section_notes(section);
    section_unref(section);
    return n;
}

static double value_at(struct block_limits *limits, uint64_t now, const char *cgroup, const char *column) {
    double value;
    size_t notes;
    rows_at(limits, now, cgroup, column, &value, &notes);
    return value;
}

static void version_2(void **state) {
    (void)state;
    put("/cgroup.controllers", "cpu io memory\n");
    put("/a.slice/io.max", "");
    put("/a.slice/b.scope/io.max",
        "8:16 rbps=max wbps=1048576 riops=20 wiops=max\n254:0 rbps=4096 wbps=max riops=max wiops=max\n");
    put("/a.slice/b.scope/io.stat", "8:16 rbytes=4096 wbytes=0 rios=100 wios=5 dbytes=0 dios=0\n");
    put("/a.slice/b.scope/io.pressure",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\nfull avg10=0.00 total=0\n");
    struct block_limits *limits = block_limits_new(root);
    double value;
    size_t notes;
    assert_int_equal(rows_at(limits, SECOND, "/a.slice/b.scope", "of_limit_pct", &value, &notes), 2);
    assert_true(isnan(value)); // not measured yet
    put("/a.slice/b.scope/io.stat", "8:16 rbytes=4096 wbytes=2097152 rios=120 wios=9 dbytes=0 dios=0\n");
    put("/a.slice/b.scope/io.pressure",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 total=0\n");
    assert_float_equal(value_at(limits, 3 * SECOND, "/a.slice/b.scope", "io_wait_pct"), 25, 0.001);
    put("/a.slice/b.scope/io.stat", "8:16 rbytes=4096 wbytes=3145728 rios=140 wios=9 dbytes=0 dios=0\n");
    struct section *section = section_new("block", 3 * SECOND, 4 * SECOND);
    block_limits_read(limits, 4 * SECOND);
    block_limits_fill(limits, names, 4 * SECOND, section);
    const struct table *table = section_find_table(section, "io_limits");
    const struct table_def *def = &block_limits_table;
    size_t cursor = 0, found = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        if (strcmp(text_bytes(row[1].text), "8:16"))
            continue;
        found++;
        assert_float_equal(row[table_column(def, "reads_per_s")].num, 20, 0.001);
        assert_float_equal(row[table_column(def, "read_limit_per_s")].num, 20, 0);
        assert_true(isnan(row[table_column(def, "write_limit_per_s")].num));
        assert_float_equal(row[table_column(def, "writes_per_s")].num, 0, 0);
        assert_float_equal(row[table_column(def, "write_bytes_per_s")].num, 1048576, 0.001);
        assert_float_equal(row[table_column(def, "write_limit_bytes_per_s")].num, 1048576, 0);
        assert_float_equal(row[table_column(def, "of_limit_pct")].num, 100, 0.001);
        assert_float_equal(row[table_column(def, "io_wait_pct")].num, 0, 0.001);
    }
    assert_int_equal(found, 1);
    assert_int_equal(section_notes(section), 1);
    section_unref(section);
    put("/a.slice/b.scope/io.max", "8:16 rbps=max wbps=max riops=50 wiops=max\n"); // one added, one removed
    assert_int_equal(rows_at(limits, 5 * SECOND, "/a.slice/b.scope", "read_limit_per_s", &value, &notes),
                     2); // not read yet
    assert_int_equal(rows_at(limits, 7 * SECOND, "/a.slice/b.scope", "read_limit_per_s", &value, &notes), 1);
    assert_float_equal(value, 50, 0);
    assert_int_equal(notes, 0);
    block_limits_free(limits);
}

static void version_1(void **state) {
    (void)state;
    put("/blkio/blkio.throttle.read_bps_device", "");
    put("/blkio/docker/x/blkio.throttle.write_iops_device", "8:0 10\n");
    put("/blkio/docker/x/blkio.throttle.read_bps_device", "8:0 1000\n");
    put("/blkio/docker/x/blkio.throttle.io_serviced",
        "8:1 Write 77\n8:0 Read 5\n8:0 Write 100\n8:0 Total 105\nTotal 105\n");
    struct block_limits *limits = block_limits_new(root);
    assert_true(isnan(value_at(limits, SECOND, "/docker/x", "writes_per_s")));
    put("/blkio/docker/x/blkio.throttle.io_serviced", "8:0 Read 5\n8:0 Write 107\n8:0 Total 112\nTotal 112\n");
    put("/blkio/docker/x/blkio.throttle.io_service_bytes", "8:0 Read 500\n8:0 Write 4096\nTotal 4596\n");
    assert_float_equal(value_at(limits, 2 * SECOND, "/docker/x", "writes_per_s"), 7, 0.001);
    put("/blkio/docker/x/blkio.throttle.io_serviced", "8:0 Read 5\n8:0 Write 111\n8:0 Total 112\nTotal 112\n");
    assert_float_equal(value_at(limits, 4 * SECOND, "/docker/x", "of_limit_pct"), 20, 0.001); // 2 of 10 writes/s
    put("/blkio/docker/x/blkio.throttle.io_serviced", "8:0 Write 1\n"); // a new cgroup with that name
    assert_true(isnan(value_at(limits, 5 * SECOND, "/docker/x", "writes_per_s")));
    assert_true(isnan(value_at(limits, 6 * SECOND, "/docker/x", "io_wait_pct")));
    block_limits_free(limits);
}

static void many_cgroups(void **state) {
    (void)state;
    put("/cgroup.controllers", "io\n");
    for (int i = 0; i < 100; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/g%d/io.max", i);
        put(path, i % 2 ? "8:0 rbps=1 wbps=max riops=max wiops=max\n" : "");
    }
    struct block_limits *limits = block_limits_new(root);
    double value;
    size_t notes, last = 0, n = 0;
    for (int frame = 1; frame <= 4; frame++) { // a part in each frame
        n = rows_at(limits, (uint64_t)frame * SECOND, "/", "of_limit_pct", &value, &notes);
        assert_true(n >= last && n - last <= 32);
        last = n;
    }
    assert_int_equal(n, 50);
    block_limits_free(limits);
}

static void no_hierarchy(void **state) {
    (void)state;
    struct block_limits *limits = block_limits_new(root); // no cgroup file system
    double value;
    size_t notes;
    assert_int_equal(rows_at(limits, SECOND, "/", "of_limit_pct", &value, &notes), 0);
    block_limits_free(limits);
    put("/cgroup.controllers", "cpu memory\n"); // without the io controller
    limits = block_limits_new(root);
    assert_int_equal(rows_at(limits, SECOND, "/", "of_limit_pct", &value, &notes), 0);
    block_limits_free(limits);
    block_limits_free(NULL);
}

// Names of maximum length, with any bytes, or starting with a dot; the note has the whole name.
static void hostile_names(void **state) {
    (void)state;
    char name[256], cgroup[260], file[300];
    double value;
    size_t notes;
    memset(name, 'w', 255);
    memcpy(name, ".\x1b[1m\xff", 6);
    name[255] = '\0';
    put("/cgroup.controllers", "io\n");
    snprintf(cgroup, sizeof(cgroup), "/%s", name);
    snprintf(file, sizeof(file), "%s/io.max", cgroup);
    put(file, "8:16 rbps=max wbps=max riops=20 wiops=max\n");
    snprintf(file, sizeof(file), "%s/io.stat", cgroup);
    put(file, "8:16 rios=100\n");
    struct block_limits *limits = block_limits_new(root);
    assert_int_equal(rows_at(limits, SECOND, cgroup, "read_limit_per_s", &value, &notes), 1);
    assert_true(value == 20);
    put(file, "8:16 rios=120\n");
    struct section *section = section_new("block", SECOND, 2 * SECOND);
    block_limits_read(limits, 2 * SECOND);
    block_limits_fill(limits, names, 2 * SECOND, section);
    assert_int_equal(section_notes(section), 1);
    const char *text = section_note_at(section, 0)->text;
    assert_non_null(strstr(text, name));
    assert_non_null(strstr(text, "io_total exclude it"));
    section_unref(section);
    block_limits_free(limits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_cgroups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_hierarchy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_names, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
