// The kernel's type information: members of structures, in anonymous parts too; bytes that are cut are refused.
#include "collectors/kernel/bpf/btf.h"

#include <errno.h>
#include <linux/btf.h>
#include <string.h>

#include "tests/unit/model_test.h"

static const char names[] = "\0outer\0first\0inside\0last";
enum { OUTER = 1, FIRST = 7, INSIDE = 13, LAST = 20 };

static size_t forge(uint8_t *bytes) {
    const uint32_t types[] = {
        0,     1u << 24,
        4,     32, // 1: int, 4 bytes
        0,     5u << 24 | 1,
        8,     INSIDE,
        1,     32, // 2: an anonymous union; its member is 4 bytes in
        OUTER, 4u << 24 | 3,
        24, // 3: struct outer
        FIRST, 1,
        0,     0,
        2,     64,
        LAST,  1,
        160,
    };
    struct btf_header header = {.magic = BTF_MAGIC,
                                .version = 1,
                                .hdr_len = sizeof(header),
                                .type_len = sizeof(types),
                                .str_off = sizeof(types),
                                .str_len = sizeof(names)};
    memcpy(bytes, &header, sizeof(header));
    memcpy(bytes + sizeof(header), types, sizeof(types));
    memcpy(bytes + sizeof(header) + sizeof(types), names, sizeof(names));
    return sizeof(header) + sizeof(types) + sizeof(names);
}

static void members(void **state) {
    (void)state;
    uint8_t bytes[512];
    size_t size = forge(bytes);
    struct btf_wanted wanted[] = {{"outer", "last", 0}, {"outer", "first", 0}, {"outer", "inside", 0}};
    assert_int_equal(btf_parse(bytes, size, wanted, 3), 0);
    assert_int_equal(wanted[0].offset, 20);
    assert_int_equal(wanted[1].offset, 0);
    assert_int_equal(wanted[2].offset, 12);
    struct btf_wanted missing[] = {{"outer", "first", 0}, {"outer", "none", 0}};
    assert_int_equal(btf_parse(bytes, size, missing, 2), -ENOENT);
    assert_int_equal(missing[1].offset, -1);
}

static void cut(void **state) {
    (void)state;
    uint8_t bytes[512];
    size_t size = forge(bytes);
    struct btf_wanted wanted = {"outer", "first", 0};
    for (size_t n = 0; n < size; n++)
        assert_int_equal(btf_parse(bytes, n, &wanted, 1), -EINVAL);
    struct btf_header header;
    memcpy(&header, bytes, sizeof(header));
    header.type_len -= 4; // within the last type
    memcpy(bytes, &header, sizeof(header));
    assert_int_equal(btf_parse(bytes, size, &wanted, 1), -EINVAL);
    assert_int_equal(btf_members("/nonexistent", &wanted, 1), -ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(members), cmocka_unit_test(cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
