// /proc/PID/maps: names, kinds and ranges, with the text split at every offset.
#include "collectors/faults/maps.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char text[] =
    "5581d2a00000-5581d2a02000 r--p 00000000 fe:01 1234                       /usr/bin/prog with blank\n"
    "5581d2a02000-5581d2a07000 r-xp 00002000 fe:01 1234                       /usr/bin/prog with blank\n"
    "5581d3000000-5581d3021000 rw-p 00000000 00:00 0                          [heap]\n"
    "7f1000000000-7f1000100000 rw-p 00000000 00:00 0 \n"
    "7f1000100000-7f1000200000 rw-s 00000000 00:01 77                         /dev/zero (deleted)\n"
    "7f1000200000-7f1000300000 rw-s 00000000 00:01 78                         /memfd:pool (deleted)\n"
    "7f1000300000-7f1000400000 rw-s 00000000 00:00 0 \n"
    "7f1000400000-7f1000500000 rw-p 00000000 00:00 0                          [anon:jit code]\n"
    "7f1000500000-7f1000600000 rw-s 00000000 00:05 9                          /dev/dri/card0\n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
    "7ffc001fe000-7ffc00200000 r-xp 00000000 00:00 0                          [vdso]\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";

static void expect(const struct fault_maps *maps, uint64_t address, const char *name, const char *kind) {
    const struct fault_map *map = fault_maps_find(maps, address);
    size_t length;
    if (!name) {
        assert_null(map);
        return;
    }
    assert_non_null(map);
    const char *bytes = fault_map_name(maps, map, &length);
    assert_int_equal(length, strlen(name));
    assert_memory_equal(bytes, name, length);
    assert_string_equal(fault_map_kind(maps, map), kind);
}

static void expect_all(const struct fault_maps *maps) {
    assert_int_equal(maps->count, 12);
    expect(maps, 0, NULL, NULL);
    expect(maps, 0x5581d29fffff, NULL, NULL);
    expect(maps, 0x5581d2a00000, "/usr/bin/prog with blank", "file");
    expect(maps, 0x5581d2a01fff, "/usr/bin/prog with blank", "file");
    expect(maps, 0x5581d2a06fff, "/usr/bin/prog with blank", "file");
    expect(maps, 0x5581d2a07000, NULL, NULL);
    expect(maps, 0x5581d3020000, "[heap]", "heap");
    expect(maps, 0x7f1000000000, "[anon]", "anon");
    expect(maps, 0x7f1000100000, "/dev/zero (deleted)", "shared");
    expect(maps, 0x7f10002fffff, "/memfd:pool (deleted)", "shared");
    expect(maps, 0x7f1000300000, "[anon]", "shared");
    expect(maps, 0x7f1000400000, "[anon:jit code]", "anon");
    expect(maps, 0x7f1000500000, "/dev/dri/card0", "device");
    expect(maps, 0x7ffc00020fff, "[stack]", "stack");
    expect(maps, 0x7ffc001ff000, "[vdso]", "kernel");
    expect(maps, 0xffffffffff600fff, "[vsyscall]", "kernel");
    expect(maps, UINT64_MAX, NULL, NULL);
}

static void test_pieces(void **state) {
    (void)state;
    struct fault_maps maps = {0};
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        fault_maps_clear(&maps);
        for (size_t at = 0; at < sizeof(text) - 1; at += piece)
            fault_maps_parse(&maps, text + at, at + piece < sizeof(text) - 1 ? piece : sizeof(text) - 1 - at);
        fault_maps_parse(&maps, NULL, 0);
        expect_all(&maps);
    }
    // Equal names of adjacent mappings are stored once.
    assert_int_equal(maps.maps[0].name, maps.maps[1].name);
    fault_maps_free(&maps);
}

static void test_file(void **state) {
    (void)state;
    struct fault_maps maps = {0};
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], text, sizeof(text) - 1), sizeof(text) - 1);
    close(fds[1]);
    assert_int_equal(fault_maps_read(&maps, fds[0], 1 << 20), 0);
    close(fds[0]);
    expect_all(&maps);
    assert_int_equal(fault_maps_read(&maps, -1, 1 << 20), -EBADF);
    assert_int_equal(maps.count, 0);
    fault_maps_free(&maps);
}

static void test_malformed(void **state) {
    (void)state;
    struct fault_maps maps = {0};
    static const char bad[] =
        "\n-\nzz-10 rw-p 0 0 0 x\n10-zz rw-p\n20-10 rw-p 0 0:0 0 backwards\n10-20\n10-20 \n10-20 rw\n"
        "10-20 rw-p\n18-30 rw-p 0 0:0 0 overlaps\n30-40 rw-p 0 0:0 0    ok\n";
    fault_maps_parse(&maps, bad, sizeof(bad) - 1);
    fault_maps_parse(&maps, NULL, 0);
    assert_int_equal(maps.count, 2);
    expect(&maps, 0x10, "[anon]", "anon");
    expect(&maps, 0x20, NULL, NULL);
    expect(&maps, 0x3f, "ok", "file");
    // A line without end is truncated.
    char line[4096];
    memset(line, 'a', sizeof(line));
    fault_maps_parse(&maps, "40-50 rw-p 0 0:0 0 ", 19);
    for (int i = 0; i < 100; i++)
        fault_maps_parse(&maps, line, sizeof(line));
    fault_maps_parse(&maps, "\n50-60 rw-p 0 0:0 0 b\n", 22);
    assert_true(maps.tail_room < 100000);
    expect(&maps, 0x55, "b", "file");
    fault_maps_free(&maps);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_file),
                                       cmocka_unit_test(test_malformed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
