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

static const char *page_tables_of(double kib, double available, const char *owners) {
    char row[32];
    snprintf(row, sizeof(row), "%.0f", kib);
    rules_begin();
    rules_series("mem_total_kib", 16e6);
    rules_series("mem_available_kib", available);
    rules_table("memory", "page_tables_kib", row);
    rules_table("page_tables", "pid|comm|page_tables_kib|rss_kib", owners);
    return rules_step();
}

static void page_tables(void **state) {
    (void)state;
    static const char owners[] = "7|small|400000|90\n8|sparse|480000|2048";
    page_tables_of(790000, 8e6, owners);
    assert_string_equal(page_tables_of(790000, 8e6, owners), ""); // less than 5 %
    page_tables_of(810000, 8e6, owners);
    assert_string_equal(
        page_tables_of(810000, 8e6, owners),
        "info page_tables 8 sparse: page tables take 791M of 15.3G, memory of no process; sparse (pid 8) "
        "has 469M of them, RSS 2.0M\n");
    page_tables_of(2.5e6, 8e6, owners);
    assert_int_equal(strncmp(page_tables_of(2.5e6, 8e6, owners), "warning page_tables nan -", 25), 0);
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 4; i++)
        assert_string_equal(page_tables_of(100000 + i * 40000, 8e6, owners), "");
    assert_string_equal(page_tables_of(260000, 8e6, owners),
                        "warning page_tables 8 sparse: page tables take 254M of 15.3G, and grow by 39.1M per second, "
                        "memory of no process; sparse (pid 8) has 469M of them, RSS 2.0M\n");
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 9; i++) // slowly
        assert_string_equal(page_tables_of(100000 + i * 8000, 8e6, owners), "");
}

static const char *compaction(const char *stalls, double pressure, const char *storms) {
    rules_begin();
    rules_series("memory_some_pct", pressure);
    rules_table("memory", "compaction_stalls_per_s", stalls);
    if (storms)
        rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    return rules_step();
}

static void compaction_stalls(void **state) {
    (void)state;
    static const char of_one[] = "compactions|7|app|order 9|-|180|200\ncompactions|8|other|order 3|-|20|200";
    static const char of_many[] = "compactions|7|app|order 9|-|90|200\ncompactions|8|other|order 3|-|80|200";
    for (int i = 0; i < 3; i++)
        assert_string_equal(compaction("19", 4, of_one), "");
    compaction("200", 4, of_one);
    assert_string_equal(compaction("200", 4, of_one),
                        "info compaction 7 app: direct compaction: app (pid 7) stalls 180 times per second for "
                        "contiguous memory (compact_stall, order 9); tasks stalled on memory 4 % of the time (PSI "
                        "some)\n");
    assert_int_equal(strncmp(compaction("200", 12, of_one), "warning compaction 7 app", 24), 0);
    for (int i = 0; i < 4; i++)
        compaction("0", 0, NULL);
    compaction("200", 12, of_many);
    assert_string_equal(compaction("200", 12, of_many),
                        "warning compaction nan -: direct compaction: tasks stall 200 times per second for contiguous "
                        "memory (compact_stall); tasks stalled on memory 12 % of the time (PSI some)\n");
    for (int i = 0; i < 4; i++)
        compaction("0", 0, NULL);
    compaction("30", 0.0 / 0.0, NULL); // without PSI, and not counted by process yet
    assert_string_equal(compaction("30", 0.0 / 0.0, NULL),
                        "info compaction nan -: direct compaction: tasks stall 30 times per second for contiguous "
                        "memory (compact_stall)\n");
}

// Full pressure and the faults of its task are its consequences.
static void compaction_is_the_cause(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("memory_some_pct", 60);
        rules_series("memory_full_pct", 30);
        rules_table("memory", "compaction_stalls_per_s", "300");
        rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", "compactions|7|app|order 9|-|300|300");
        rules_step();
    }
    assert_string_equal(rules_of.kinds[0], "compaction");
    assert_string_equal(rules_of.kinds[1], "memory_pressure");
    assert_string_equal(rules_of.causes[1], "compaction");
}

int main(void) {
    const struct CMUnitTest tests[] = {RULES_TEST(huge_pages),        RULES_TEST(slab_grows),
                                       RULES_TEST(page_tables),       RULES_TEST(slab_leaks),
                                       RULES_TEST(slab_slow),         RULES_TEST(slab_size),
                                       RULES_TEST(compaction_stalls), RULES_TEST(compaction_is_the_cause)};
    return rules_run(tests);
}
