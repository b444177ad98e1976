// Frames of Go functions: tables of every format, and damaged ones.
#include "collectors/kernel/unwind/go_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/forge_go.h"

static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};

// An object whose bytes are a table alone.
static struct unwind_object object_of(const uint8_t *bytes, size_t size) {
    return (struct unwind_object){.memory = bytes, .size = size};
}

static void is(const struct unwind_file *file, uint64_t vaddr, int size) { // -1: not known
    struct unwind_go_frame frame;
    assert_true(unwind_go_find(file, vaddr, &frame));
    assert_false(frame.top);
    assert_int_equal(frame.sized, size >= 0);
    if (size >= 0)
        assert_int_equal(frame.size, size);
}

static void every_format(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct go_forge forge = {.magic = magics[i], .pointer = 8};
        struct unwind_go_frame frame;
        go_forge(&forge);
        struct unwind_object object = object_of(forge.bytes, forge.size);
        struct unwind_file file = {.object = &object};
        assert_true(unwind_go_open(&file, 0, forge.size, 0));
        assert_false(unwind_go_find(&file, GO_TEXT - 1, &frame));
        is(&file, GO_TEXT, 0);
        is(&file, GO_TEXT + 3, 0);
        is(&file, GO_TEXT + 4, 24);
        is(&file, GO_TEXT + 13, 24);
        is(&file, GO_TEXT + 14, 0);
        assert_true(unwind_go_find(&file, GO_TEXT + 16, &frame));
        assert_int_equal(frame.top, magics[i] != 0xfffffffb); // which has no flags
        assert_false(frame.sized);
        is(&file, GO_TEXT + 64, magics[i] == 0xfffffffb ? 0 : -1);
        is(&file, GO_TEXT + 80, -1); // the steps end before it
        assert_false(unwind_go_find(&file, GO_TEXT + 96, &frame));
    }
}

static void text_is_not_known(void **state) {
    (void)state;
    struct go_forge forge = {.magic = 0xfffffff1, .pointer = 8};
    go_forge(&forge);
    memset(forge.bytes + 8 + 16, 0, 8);
    struct unwind_object object = object_of(forge.bytes, forge.size);
    struct unwind_file file = {.object = &object};
    assert_true(unwind_go_open(&file, 0, forge.size, GO_TEXT));
    is(&file, GO_TEXT + 4, 24);
}

static void try_all(const uint8_t *bytes, size_t size) {
    struct unwind_object object = object_of(bytes, size);
    struct unwind_file file = {.object = &object};
    struct unwind_go_frame frame;
    if (!unwind_go_open(&file, 0, size, GO_TEXT)) {
        assert_int_equal(object.go.size, 0);
        assert_false(unwind_go_find(&file, GO_TEXT, &frame));
        return;
    }
    for (unsigned i = 0; i < 100; i++)
        unwind_go_find(&file, GO_TEXT + i, &frame);
}

static void damaged(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct go_forge forge = {.magic = magics[i], .pointer = 8};
        go_forge(&forge);
        for (size_t size = 0; size < forge.size; size++) { // cut; each is read where it ends, for a sanitizer
            uint8_t *bytes = test_malloc(size + !size);
            memcpy(bytes, forge.bytes, size);
            try_all(bytes, size);
            test_free(bytes);
        }
        for (size_t at = 0; at < forge.size; at++) {
            for (unsigned bit = 1; bit < 256; bit = bit * 2 + 1) {
                struct go_forge wrong = forge;
                wrong.bytes[at] ^= (uint8_t)bit;
                try_all(wrong.bytes, wrong.size);
            }
        }
    }
    struct go_forge narrow = {.magic = 0xfffffff1, .pointer = 4}; // of a 32-bit program
    go_forge(&narrow);
    struct unwind_object object = object_of(narrow.bytes, narrow.size);
    struct unwind_file file = {.object = &object};
    assert_false(unwind_go_open(&file, 0, narrow.size, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format),
        cmocka_unit_test(text_is_not_known),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
