// What the tests of the model share: cmocka, and forged sections and tables.
#ifndef TESTS_MODEL_TEST_H
#define TESTS_MODEL_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define NUM(x) ((union cell){.num = (x)})
#define TEXT(x) ((union cell){.text = text_from(x)})
#define assert_text(text, string) assert_string_equal(text_bytes(text), string)
// cmocka's own compares floats with a tolerance only, and not in every version.
#define assert_number(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-9)

#endif
