// Which file systems became read-only, from texts of mountinfo.
#include "tests/unit/forge.h"

#include <stdio.h>

#include "collectors/filesystems/filesystems.h"

#define MOUNT(flags, options) "21 20 259:9 / /a " flags " - ext4 /dev/nvme9n9 " options "\n"

static struct read_only *state_of;
static uint64_t seconds;

// The rows after that text, one second later: "MOUNT TYPE errors since" a line.
static const char *after(const char *text) {
    static char out[512];
    char copy[1024];
    size_t cursor = 0, used = 0;
    snprintf(copy, sizeof(copy), "%s", text);
    read_only_update(state_of, copy, ++seconds * FORGE_NS);
    struct section *section = forge_section("filesystems", 1);
    section_table(section, read_only_rows(state_of, seconds * FORGE_NS));
    const struct table *table = section_find_table(section, "read_only_mounts");
    out[0] = '\0';
    for (const union cell *row; (row = table_next(table, &cursor));)
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s %s %.0f %.0f\n",
                                 text_bytes(row[table_column(&read_only_table, "mount")].text),
                                 text_bytes(row[table_column(&read_only_table, "type")].text),
                                 row[table_column(&read_only_table, "after_errors")].num,
                                 row[table_column(&read_only_table, "since_s")].num);
    section_unref(section);
    return out;
}

static int begin(void **state) {
    (void)state;
    state_of = read_only_new();
    seconds = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    read_only_free(state_of);
    return 0;
}

static void remounted(void **state) {
    (void)state;
    assert_string_equal(after(MOUNT("rw", "rw")), "");
    assert_string_equal(after(MOUNT("ro,noatime", "ro,errors=remount-ro")), "/a ext4 0 0\n");
    assert_string_equal(after(MOUNT("ro,noatime", "ro,errors=remount-ro")), "/a ext4 0 1\n");
    assert_string_equal(after(MOUNT("rw", "rw")), "");
    assert_string_equal(after(MOUNT("ro", "ro")), "/a ext4 0 0\n");
    assert_string_equal(after(""), "");
    assert_string_equal(after(MOUNT("ro", "ro")), ""); // another mount
}

static void failed(void **state) {
    (void)state;
    assert_string_equal(after(MOUNT("rw", "rw,errors=remount-ro")), "");
    assert_string_equal(after(MOUNT("rw", "ro,errors=remount-ro")), "/a ext4 1 0\n");
    assert_string_equal(after(MOUNT("ro", "ro,errors=remount-ro")), "/a ext4 1 1\n");
    assert_string_equal(after(MOUNT("rw", "rw")), "");
    assert_string_equal(after(MOUNT("rw", "rw,emergency_ro")), "/a ext4 1 0\n");
}

// Since before the first text.
static void at_start(void **state) {
    (void)state;
    assert_string_equal(after(MOUNT("ro", "ro") "9 1 7:3 / /snap ro,nodev - squashfs /dev/loop3 ro\n"), "");
    assert_string_equal(after(MOUNT("ro", "ro")), "");
    assert_string_equal(after(MOUNT("ro", "ro") "9 1 8:1 / /b rw - ext4 /dev/sdz1 rw,emergency_ro\n"),
                        "/b ext4 1 nan\n");
}

// A mount that is read-only by itself, another path of the same file system, and none on a disk.
static void by_mount(void **state) {
    (void)state;
    assert_string_equal(after(MOUNT("rw", "rw") "9 1 0:9 / /t rw - tmpfs t rw\n"), "");
    assert_string_equal(after(MOUNT("ro", "rw") "9 1 0:9 / /t ro - tmpfs t ro\n"), "");
    assert_string_equal(after("22 20 259:9 /x /long/path ro - ext4 /dev/nvme9n9 ro\n" MOUNT("ro", "ro")),
                        "/a ext4 0 0\n");
}

// Another mount of it is read-only by itself, before the error and after.
static void with_bind(void **state) {
    (void)state;
#define BIND(options) "22 20 259:9 /x /long/path ro - ext4 /dev/nvme9n9 " options "\n"
    assert_string_equal(after(BIND("rw") MOUNT("rw", "rw")), "");
    assert_string_equal(after(BIND("ro") MOUNT("rw", "ro")), "/a ext4 1 0\n");
    assert_string_equal(after(BIND("rw") MOUNT("rw", "rw")), "");
    assert_string_equal(after(BIND("ro") MOUNT("ro", "ro")), "/a ext4 0 0\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(remounted, begin, end), cmocka_unit_test_setup_teardown(failed, begin, end),
        cmocka_unit_test_setup_teardown(at_start, begin, end),  cmocka_unit_test_setup_teardown(by_mount, begin, end),
        cmocka_unit_test_setup_teardown(with_bind, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
