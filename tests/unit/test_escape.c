// Names as the kernel gives them must come out fit for a screen: every control character and broken byte escaped.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "views/escape.h"
#include "views/width.h"

static void expect(const char *bytes, size_t length, const char *want) {
    char out[256];
    size_t n = escape_text(bytes, length, out, sizeof(out));

    assert_string_equal(out, want);
    assert_int_equal(n, strlen(want));
}
#define EXPECT(bytes, want) expect(bytes, sizeof(bytes) - 1, want)

static void test_controls(void **state) {
    (void)state;
    EXPECT("", "");
    EXPECT("plain", "plain");
    EXPECT("a\nb\tc\033[31md", "a\\nb\\tc\\e[31md");
    EXPECT("\r\a\x7f\0x", "\\x0d\\x07\\x7f\\x00x");
    EXPECT("\xc2\x9b"
           "31m",
           "\\u009b31m");
    EXPECT("\xe2\x80\xae"
           "evil",
           "\\u202eevil");
    EXPECT("\xe2\x80\xa8\xe2\x81\xa6", "\\u2028\\u2066");
}

static void test_invalid(void **state) {
    (void)state;
    EXPECT("\xff\xfe", "\\xff\\xfe");
    EXPECT("\xc3", "\\xc3");
    EXPECT("\xc0\xaf", "\\xc0\\xaf");                   // overlong
    EXPECT("\xe0\x80\xaf", "\\xe0\\x80\\xaf");          // overlong
    EXPECT("\xed\xa0\x80", "\\xed\\xa0\\x80");          // surrogate
    EXPECT("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); // past U+10FFFF
    EXPECT("\xe4\xb8\xad\xc3\xa9 ok", "\xe4\xb8\xad\xc3\xa9 ok");
}

static void test_size(void **state) {
    char out[8];

    (void)state;
    assert_int_equal(escape_text("abc", 3, out, 0), 0);
    assert_int_equal(escape_text("abc", 3, out, 1), 0);
    assert_string_equal(out, "");
    assert_int_equal(escape_text("a\033b", 3, out, 3), 1); // no half escape
    assert_string_equal(out, "a");
    assert_int_equal(escape_text("a\xc3\xa9", 3, out, 3), 1); // no half character
    assert_string_equal(out, "a");
}

// A text that is cut says so, and never in the middle of a character.
static void test_fit(void **state) {
    char out[32], tight[8];

    (void)state;
    escape_fit("abcde", 5, out, sizeof(out));
    assert_string_equal(out, "abcde");
    escape_fit("abcdef", 5, out, sizeof(out));
    assert_string_equal(out, "abcd\u2026");
    escape_fit("\u00e9\u00e9\u00e9\u00e9", 3, out, sizeof(out));
    assert_string_equal(out, "\u00e9\u00e9\u2026");
    escape_fit("\u4e2d\u4e2d\u4e2d", 5, out, sizeof(out)); // two cells each
    assert_string_equal(out, "\u4e2d\u4e2d\u2026");
    escape_fit("\u4e2d\u4e2d\u4e2d", 4, out, sizeof(out));
    assert_string_equal(out, "\u4e2d\u2026");
    escape_fit("a\033\xff", 40, out, sizeof(out));
    assert_string_equal(out, "a\\e\\xff");
    escape_fit("abcdefgh", 40, tight, sizeof(tight)); // no room in the bytes
    assert_string_equal(tight, "abcd\u2026");
    escape_fit("", 0, tight, sizeof(tight));
    assert_string_equal(tight, "");
    escape_fit("ab", 0, tight, sizeof(tight));
    assert_string_equal(tight, "\u2026");
}

static void test_random_is_always_valid(void **state) {
    (void)state;
    srand(7);
    for (int round = 0; round < 2000; round++) {
        char bytes[64], out[400];
        size_t length = (size_t)rand() % sizeof(bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)rand();
        size_t n = escape_text(bytes, length, out, sizeof(out));
        for (size_t i = 0; i < n;) {
            uint32_t ch;
            size_t step = utf8_decode(out + i, n - i, &ch);
            assert_true(step > 0 && !char_is_control(ch));
            i += step;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_random_is_always_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
