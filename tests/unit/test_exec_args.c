// The arguments on the stack of a new program, as the kernel lays it out, and forged ones.
#include "collectors/events/exec_args.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tests/unit/model_test.h"

#define SP 0x7ffc00001000ull

static uint8_t stack[4096];

// argc, pointers, then the strings from `gap` on. Returns the size.
static size_t build(unsigned word, const char *const *argv, uint64_t argc, size_t gap) {
    size_t at = gap;
    memset(stack, 0, sizeof(stack));
    memcpy(stack, &argc, word);
    for (size_t i = 0; argv[i]; i++) {
        uint64_t pointer = (word == 4 ? 0xff000000u : SP) + at;
        memcpy(stack + (i + 1) * word, &pointer, word);
        memcpy(stack + at, argv[i], strlen(argv[i]) + 1);
        at += strlen(argv[i]) + 1;
    }
    return at;
}

static void expect(size_t size, uint64_t sp, unsigned word, const char *expected) {
    bool whole;
    const struct text *text = exec_args_text(stack, size, sp, word, &whole);
    if (expected)
        assert_int_equal(whole, !strstr(expected, " ..."));
    if (expected) {
        assert_non_null(text);
        assert_string_equal(text_bytes(text), expected);
    } else {
        assert_null(text);
    }
    text_unref(text);
}

static void whole(void **state) {
    (void)state;
    static const char *const argv[] = {"/bin/sh", "-c", "echo \"it's\" $x", "", NULL};
    size_t size = build(8, argv, 4, 400);
    expect(size, SP, 8, "/bin/sh -c 'echo \"it'\\''s\" $x' ''");
    size = build(4, argv, 4, 400);
    expect(size, 0xff000000u, 4, "/bin/sh -c 'echo \"it'\\''s\" $x' ''");
}

static void cut(void **state) {
    (void)state;
    static const char *const argv[] = {"prog", "argument", NULL};
    size_t size = build(8, argv, 2, 400);
    expect(size - 1, SP, 8, "prog argument ..."); // its NUL is not in the copy
    expect(size - 9, SP, 8, "prog ...");
    expect(400, SP, 8, NULL);
    expect(16, SP, 8, NULL); // not even the second pointer
}

static void hostile(void **state) {
    (void)state;
    static const char *const none[] = {NULL}, *const one[] = {"a", NULL};
    expect(0, SP, 8, NULL);
    expect(15, SP, 8, NULL);
    build(8, none, 0, 400);
    expect(sizeof(stack), SP, 8, NULL); // argc 0: execve(2) without arguments
    build(8, one, UINT64_MAX, 400);
    expect(sizeof(stack), SP, 8, "a ..."); // pointers end where no strings are
    build(8, one, 1, 400);
    uint64_t pointer = SP - 1; // below the stack pointer
    memcpy(stack + 8, &pointer, 8);
    expect(sizeof(stack), SP, 8, NULL);
}

// 2,000 pointers to one long string: the text is bounded.
static void many(void **state) {
    (void)state;
    const uint64_t argc = 300, pointer = SP + 3000;
    memset(stack, 0, sizeof(stack));
    memcpy(stack, &argc, 8);
    for (size_t i = 1; i <= argc; i++)
        memcpy(stack + i * 8, &pointer, 8);
    memset(stack + 3000, 'x', 1000);
    bool whole;
    const struct text *text = exec_args_text(stack, sizeof(stack), SP, 8, &whole);
    assert_true(text_length(text) > 4000 && text_length(text) < 16384);
    assert_string_equal(text_bytes(text) + text_length(text) - 4, " ...");
    text_unref(text);
}

static void cmdline(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *expected;
    } cases[] = {{"a\0b c\0\0", 7, "a 'b c' ''"}, {"a\0bc", 4, "a bc ..."}, {"", 0, NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct text *text = exec_args_cmdline(cases[i].bytes, cases[i].size);
        assert_string_equal(text_bytes(text), cases[i].expected ? cases[i].expected : "");
        text_unref(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(cut), cmocka_unit_test(hostile),
                                       cmocka_unit_test(many), cmocka_unit_test(cmdline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
