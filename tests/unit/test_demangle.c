// Demangling: C++, Rust of both kinds, names that are left as they are, and names made to cost time or stack.
#include "tests/unit/model_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collectors/kernel/symbols/demangle.h"

static void assert_demangled(const char *symbol, const char *expected) {
    char out[DEMANGLED_MAX];
    bool mangled = strcmp(symbol, expected) != 0;
    assert_int_equal(demangle(symbol, out), mangled);
    assert_string_equal(out, expected);
}

static void names(void **state) {
    (void)state;
    assert_demangled("main", "main");
    assert_demangled("", "");
    assert_demangled("read@plt", "read@plt");
    assert_demangled("_start", "_start");
    assert_demangled("_Z", "_Z");
    assert_demangled("_ZN2ns4sortIiEEvPT_m", "ns::sort<int>");
    assert_demangled("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back");
    assert_demangled("_ZN2ns4sortEi@plt", "ns::sort@plt");
    assert_demangled("_ZN2ns4sortEi.cold", "ns::sort");
    assert_demangled("_ZN2ns5ClassC1Ei", "ns::Class::Class");
    // Rust: legacy without its hash, and v0.
    assert_demangled("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
    assert_demangled("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
                     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
    assert_demangled("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    // Not mangled, although they begin as if.
    assert_demangled("_Znothing", "_Znothing");
    assert_demangled("_Ruby_call", "_Ruby_call");
    assert_demangled("_D3std5stdio7writelnFZv", "_D3std5stdio7writelnFZv");
    assert_demangled("$s4main3fooyyF", "$s4main3fooyyF");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Each substitution stands for two of the one before: 2^n names in a few bytes per step.
static void doubling(void **state) {
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char symbol[4096] = "_Z1fISt4pairI1AS1_E", out[DEMANGLED_MAX]; // S0_ pair, S1_ A, S2_ pair<A, A>
    char *at = symbol + strlen(symbol);
    for (int i = 2; i < 35; i++)
        at += sprintf(at, "S0_IS%c_S%c_E", digits[i], digits[i]);
    strcpy(at, "Evv");
    double before = seconds();
    assert_true(demangle(symbol, out));
    assert_int_equal(strlen(out), DEMANGLED_MAX - sizeof("@plt"));
    assert_true(seconds() - before < 2);
    // Rust v0: tuples of back references.
    strcpy(symbol, "_RIC1fT");
    at = symbol + strlen(symbol);
    at += sprintf(at, "hhE");
    for (int i = 0; i < 60; i++)
        at += sprintf(at, "TB6_B6_E");
    sprintf(at, "E");
    before = seconds();
    demangle(symbol, out);
    assert_true(strlen(out) < DEMANGLED_MAX);
    assert_true(seconds() - before < 2);
}

static void deep_and_long(void **state) {
    (void)state;
    char out[DEMANGLED_MAX], symbol[DEMANGLED_MAX];
    static const char *const repeated[] = {"P", "St4pairI", "F", "N", "I", "X", "A_", "_", "T", "R", "lnx", "cvP", "J"};
    static const char *const starts[] = {"_Z1f", "_R", "_ZN", "_RNv", "_RI", "_ZTI", "_ZZN1"};
    for (size_t s = 0; s < sizeof(starts) / sizeof(*starts); s++)
        for (size_t r = 0; r < sizeof(repeated) / sizeof(*repeated); r++) {
            strcpy(symbol, starts[s]);
            while (strlen(symbol) + strlen(repeated[r]) < sizeof(symbol) - 2)
                strcat(symbol, repeated[r]);
            double before = seconds();
            demangle(symbol, out);
            assert_true(strlen(out) < DEMANGLED_MAX);
            assert_true(seconds() - before < 2);
        }
    size_t size = 1 << 20;
    char *huge = malloc(size);
    memset(huge, 'P', size);
    memcpy(huge, "_Z1f", 4);
    huge[size - 1] = '\0';
    assert_false(demangle(huge, out));
    assert_int_equal(strlen(out), DEMANGLED_MAX - 1);
    assert_memory_equal(out, huge, DEMANGLED_MAX - 1);
    free(huge);
}

// The demangled name is longer than the output: its start is kept.
static void cut(void **state) {
    (void)state;
    char symbol[4096] = "_Z1fI", out[DEMANGLED_MAX];
    for (int i = 0; i < 300; i++)
        strcat(symbol, "y");
    strcat(symbol, "Evv");
    assert_true(demangle(symbol, out));
    assert_memory_equal(out, "f<unsigned long long, ", 22);
    assert_int_equal(strlen(out), DEMANGLED_MAX - sizeof("@plt"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names), cmocka_unit_test(doubling),
                                       cmocka_unit_test(deep_and_long), cmocka_unit_test(cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
