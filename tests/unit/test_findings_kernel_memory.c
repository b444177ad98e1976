// The findings about memory that belongs to no process.
#include "tests/unit/forge_rules.h"

static const char *huge(const char *pages, double available) {
    rules_begin();
    rules_series("mem_total_kib", 16e6);
    rules_series("mem_available_kib", available);
    rules_table("memory", "huge_pages_total|huge_pages_free|huge_pages_reserved|huge_page_kib", pages);
    return rules_step();
}

static void huge_pages(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_string_equal(huge("4000|0|0|2048", 1.9e6), "");       // a database uses them
        assert_string_equal(huge("4000|4000|3500|2048", 1.9e6), ""); // or will
        assert_string_equal(huge("0|0|0|2048", 8e6), "");
    }
    huge("1000|1000|0|2048", 8e6);
    assert_string_equal(huge("1000|1000|0|2048", 8e6),
                        "info huge_pages_unused nan -: 2.0G of 15.3G are reserved as huge pages and not used (1000 of "
                        "1000 pages, vm.nr_hugepages): only programs that ask for huge pages can use that memory; 7.6G "
                        "available\n");
    assert_int_equal(strncmp(huge("2000|1900|0|2048", 1.9e6), "warning huge_pages_unused", 25), 0);
}

static const char *slab(double kib, double fixed, const char *storms) {
    char row[64];
    snprintf(row, sizeof(row), "%.0f|%.0f", kib, fixed);
    rules_begin();
    rules_series("mem_total_kib", 16e6);
    rules_series("mem_available_kib", 8e6);
    rules_table("memory", "slab_kib|slab_unreclaimable_kib", row);
    if (storms)
        rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    return rules_step();
}

static void slab_grows(void **state) {
    (void)state;
    static const char storms[] = "calls|8|cat|read|-|900000|1400000\ncalls|7|prober|newfstatat|ENOENT|25000|1400000";
    for (int i = 0; i < 5; i++)
        assert_string_equal(slab(200000 + i * 50000, 50000, storms), "");
    assert_string_equal(
        slab(450000, 50000, storms),
        "info slab_growth 7 prober: caches of the kernel (slab: names, inodes and other objects) grow by "
        "48.8M per second to 439M, memory of no process: prober (pid 7) calls newfstatat 25000 times per "
        "second, which fails with ENOENT\n");
    for (int i = 0; i < 8; i++) // it stays as it is
        slab(450000, 50000, NULL);
    assert_string_equal(slab(450000, 50000, NULL), "");
}

static void slab_leaks(void **state) {
    (void)state;
    for (int i = 0; i < 6; i++)
        slab(200000 + i * 50000, 50000 + i * 50000, NULL);
    assert_int_equal(strncmp(slab(500000, 350000, NULL), "warning slab_growth nan", 23), 0);
}

static void slab_slow(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_string_equal(slab(200000 + i * 4000, 50000, NULL), "");
}

static void slab_size(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_string_equal(slab(3.3e6, 3.1e6, NULL), "");
    slab(3.3e6, 3.21e6, NULL);
    assert_int_equal(strncmp(slab(3.3e6, 3.21e6, NULL), "info slab_growth", 16), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {RULES_TEST(huge_pages), RULES_TEST(slab_grows), RULES_TEST(slab_leaks),
                                       RULES_TEST(slab_slow), RULES_TEST(slab_size)};
    return rules_run(tests);
}
