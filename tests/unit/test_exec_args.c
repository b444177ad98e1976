// Texts of arguments and paths of directories from records of the BPF program, forged ones among them.
#include "collectors/events/exec_args.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/events/exec_program.h"
#include "tests/unit/model_test.h"

static void expect(const char *bytes, size_t size, const char *expected) {
    const struct text *text = exec_args_text(bytes, size);
    assert_string_equal(text_bytes(text), expected ? expected : "");
    text_unref(text);
}

static void arguments(void **state) {
    (void)state;
    expect("a\0b c\0\0", 7, "a 'b c' ''");
    expect("/bin/sh\0-c\0echo \"it's\" $x", 26, "/bin/sh -c 'echo \"it'\\''s\" $x'");
    expect("a\0bc", 4, "a bc ..."); // its NUL is not in the record
    expect("", 0, NULL);            // execve(2) without arguments
    expect("\0", 1, "''");
}

// The text is bounded, whatever quotes add.
static void many(void **state) {
    (void)state;
    char *bytes = calloc(1, EXEC_ARGS_BYTES);
    for (size_t i = 0; i < EXEC_ARGS_BYTES; i++)
        bytes[i] = i % 3 == 2 ? '\0' : '\'';
    const struct text *text = exec_args_text(bytes, EXEC_ARGS_BYTES);
    assert_true(text_length(text) > 8192 && text_length(text) < 16384);
    assert_string_equal(text_bytes(text) + text_length(text) - 4, " ...");
    text_unref(text);
    free(bytes);
}

static void path_is(struct exec_record record, const char *names, size_t size, const char *expected) {
    char out[64];
    record.dir_bytes = (uint32_t)size;
    assert_int_equal(exec_dir_path(&record, names, out, sizeof(out)), expected != NULL);
    if (expected)
        assert_string_equal(out, expected);
}

static void directories(void **state) {
    (void)state;
    const struct exec_record known = {.flags = EXEC_DIR_KNOWN, .dentry = 1, .root = 2, .hashed = 3};
    const struct exec_record removed = {.flags = EXEC_DIR_KNOWN, .dentry = 1, .root = 2};
    const struct exec_record mount_root = {.flags = EXEC_DIR_KNOWN, .dentry = 2, .root = 2}; // a root is never hashed
    path_is(known, "leaf\0top\0", 9, "/top/leaf");
    path_is(known, "", 0, "/");
    path_is(removed, "leaf\0top\0", 9, "/top/leaf (deleted)");
    path_is(mount_root, "leaf\0top\0", 9, "/top/leaf");
    path_is((struct exec_record){.dentry = 1, .hashed = 3}, "leaf\0top\0", 9, NULL); // deeper than the program reads
    path_is(known, "leaf\0top", 8, NULL);
    static char name[64];
    memset(name, 'x', 63);
    path_is(known, name, 64, NULL); // '/' does not fit
    path_is(known, name + 1, 63, "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    path_is(removed, name + 1, 63, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(arguments), cmocka_unit_test(many),
                                       cmocka_unit_test(directories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
