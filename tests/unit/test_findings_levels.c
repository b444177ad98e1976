// Levels of findings: what the rule's input was two minutes before the finding began, on forged frames of a second.
#include "tests/unit/forge_rules.h"

#include "model/findings_private.h"
#include "tests/unit/forge_io.h"

#define KEEP ((size_t)64 << 20)

static int start(void **state) {
    rules_start(state);
    rules_keep(mem_used() + KEEP);
    return 0;
}
#define LEVEL_TEST(name) cmocka_unit_test_setup_teardown(name, start, rules_end)

// A number of the finding of that kind in the last frame; NAN also without such a finding.
static double number_of(const char *kind, const char *column) {
    const struct table *table = frame_table(rules_of.previous, "findings");
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));)
        if (!strcmp(text_bytes(row[table_column(&findings_table, "kind")].text), kind))
            return row[table_column(&findings_table, column)].num;
    return NAN;
}

static const char *cpu_frames(int n, double pressure) {
    const char *said = "";
    for (int i = 0; i < n; i++) {
        rules_begin();
        rules_series("cpus_online", 4);
        rules_series("cpu_idle_pct", pressure >= 20 ? 1 : 80);
        rules_series("cpu_some_pct", pressure);
        said = rules_step();
    }
    return said;
}

// At its begin, and much later, when frames of two minutes ago have the finding.
static void risen(void **state) {
    (void)state;
    static const char before[] = "; PSI some is 20 x its level two minutes before (4.0 %)\n";
    cpu_frames(160, 4);
    assert_non_null(strstr(cpu_frames(2, 80), before));
    assert_float_equal(number_of("cpu_saturated", "level"), 80, 0);
    assert_float_equal(number_of("cpu_saturated", "level_before"), 4, 0);
    assert_non_null(strstr(cpu_frames(300, 60), "; PSI some is 15 x its level two minutes before (4.0 %)\n"));
}

// The median of a minute: one peak in it does not count.
static void peak(void **state) {
    (void)state;
    cpu_frames(39, 4);
    cpu_frames(1, 19);
    cpu_frames(120, 4);
    assert_non_null(strstr(cpu_frames(2, 80), "(4.0 %)"));
}

static void no_history(void **state) {
    (void)state;
    cpu_frames(85, 4);
    const char *said = cpu_frames(2, 80);
    assert_non_null(strstr(said, "cpu_saturated"));
    assert_null(strstr(said, "before"));
    assert_float_equal(number_of("cpu_saturated", "level"), 80, 0);
    assert_true(isnan(number_of("cpu_saturated", "level_before")));
}

// The finding held two minutes before: that level was no ordinary one.
static void high_before(void **state) {
    (void)state;
    cpu_frames(60, 30);
    cpu_frames(100, 4);
    const char *said = cpu_frames(2, 90);
    assert_non_null(strstr(said, "cpu_saturated"));
    assert_null(strstr(said, "before"));
    assert_true(isnan(number_of("cpu_saturated", "level_before")));
}

// Little more than before is no news for the sentence.
static void little_more(void **state) {
    (void)state;
    cpu_frames(160, 19);
    assert_null(strstr(cpu_frames(2, 30), "before"));
    assert_float_equal(number_of("cpu_saturated", "level_before"), 19, 0);
}

static void memory_frame(double available) {
    rules_begin();
    rules_series("mem_total_kib", 1 << 20);
    rules_series("mem_available_kib", available);
}

static void fallen(void **state) {
    (void)state;
    for (int i = 0; i < 160; i++) {
        memory_frame(600 << 10);
        rules_step();
    }
    memory_frame(50 << 10);
    rules_step();
    memory_frame(50 << 10);
    assert_non_null(strstr(rules_step(), "; available memory two minutes before: 600M\n"));
}

static void from_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 160; i++) {
        rules_begin();
        rules_series("forks_per_s", 0);
        rules_step();
    }
    const char *said = "";
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("forks_per_s", 900);
        said = rules_step();
    }
    assert_non_null(strstr(said, "; the rate two minutes before: 0\n"));
}

static void disk_frame(double vda, double vdb) {
    char rows[128];
    rules_begin();
    rules_series("io_some_pct", 60);
    rules_series("cpus_online", 2);
    snprintf(rows, sizeof rows, "vda|%f|100|0|60000|0|12\nvdb|%f|100|0|60000|0|12", vda, vdb);
    rules_table("devices", "device|util_pct|reads_per_s|writes_per_s|read_wait_us|write_wait_us|in_flight", rows);
}

// Each device is compared with itself.
static void rows(void **state) {
    (void)state;
    for (int i = 0; i < 160; i++) {
        disk_frame(5, 40);
        rules_step();
    }
    disk_frame(99, 98);
    rules_step();
    disk_frame(99, 98);
    const char *said = rules_step();
    assert_non_null(strstr(said, "; utilisation is 20 x its level two minutes before (5.0 %)\n"));
    assert_non_null(strstr(said, "; utilisation is 2.5 x its level two minutes before (40.0 %)\n"));
}

// p99 of the reads of vda, with any flags; the first histogram is of the other disk.
static const char *latency_frame(uint64_t us) {
    struct hist_set *set = hist_set_new(real_hist("io_latency"));
    const struct forge_run slow[] = {{us * 1000, 200}, {0}}, other[] = {{90000000, 200}, {0}};
    rules_begin();
    forge_hist(set, "vdb", "R", other);
    forge_hist(set, "vda", "W", other);
    forge_hist(set, "vda", "RA", slow);
    forge_hist(set, "vda", "R", slow);
    section_hists(rules_of.section, set);
    return rules_step();
}

static void latency(void **state) {
    (void)state;
    for (int i = 0; i < 160; i++)
        latency_frame(5000);
    latency_frame(240000);
    const char *said = latency_frame(240000), *is = strstr(said, "; latency is ");
    double times = is ? strtod(is + strlen("; latency is "), NULL) : NAN;
    assert_true(times > 46 && times < 50); // buckets are 1.6 % wide
    assert_non_null(strstr(said, " x its level two minutes before (5."));
    assert_true(number_of("disk_latency", "level_before") > 4900 && number_of("disk_latency", "level_before") < 5100);
}

static bool is_kept(uint64_t number) {
    const struct frame *frame = history_find(rules_of.history, number);
    bool same = frame->number == number;
    frame_unref(frame);
    return same;
}

// The frames of the finding's begin outlive the history's other ones until some minutes after its end.
static void keeps(void **state) {
    (void)state;
    rules_end(state);
    rules_start(state);
    rules_keep(mem_used() + 400000);
    cpu_frames(100, 4); // frame 101 is the first of the finding
    cpu_frames(30, 80);
    cpu_frames(560, 4);
    assert_true(history_count(rules_of.history) < 400);
    assert_false(is_kept(90));
    for (uint64_t number = 91; number <= 105; number++)
        assert_true(is_kept(number));
    assert_false(is_kept(107));
    assert_false(is_kept(300));
    cpu_frames(400, 4);
    assert_false(is_kept(100));
}

// Rows of threads: the one that causes the finding.
static void threads(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("cpus_online", 4);
        rules_series("cpu_idle_pct", 70);
        rules_table("tasks", "pid|tid|comm|state|cpu_pct|system_pct|priority",
                    "11|11|spin|S|0|0|20\n11|12|spin|R|97|0|20\n13|13|other|R|99|99|20");
        rules_step();
    }
    assert_float_equal(number_of("runaway_task", "level"), 97, 0); // of the first one
    rules_begin();
    rules_series("cpus_online", 4);
    rules_series("cpu_idle_pct", 70);
    rules_table("tasks", "pid|tid|comm|state|cpu_pct|system_pct|priority",
                "11|11|spin|S|0|0|20\n11|12|spin|R|97|96|20\n11|14|spin|S|1|0|20");
    rules_step();
    assert_float_equal(number_of("runaway_task", "level"), 97, 0);
}

// Each rule's input exists, and a row can be found by the finding's key.
static void inputs(void **state) {
    (void)state;
    size_t n = 0;
    for (size_t i = 0; rules[i]; i++) {
        const struct rule_level *level = &rules[i]->level;
        if (level->kind == LEVEL_NONE)
            continue;
        n++;
        assert_non_null(level->what);
        if (level->kind == LEVEL_HIST) {
            assert_int_equal(real_hist(level->of)->n_keys, 2);
            continue;
        }
        for (size_t k = 0; k < 2 && level->names[k]; k++) {
            if (level->kind == LEVEL_SERIES) {
                real_series(level->names[k]);
                continue;
            }
            const struct table_def *def = def_of(level->of);
            int column = table_column(def, level->names[k]);
            assert_true(column >= 0 && def->columns[column].type == COLUMN_NUMBER);
            assert_true(level->kind == LEVEL_ROW ? def->n_keys >= 1 : level->kind == LEVEL_LARGEST || !def->n_keys);
        }
    }
    assert_true(n >= 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LEVEL_TEST(risen),       LEVEL_TEST(peak),    LEVEL_TEST(no_history),   LEVEL_TEST(high_before),
        LEVEL_TEST(little_more), LEVEL_TEST(fallen),  LEVEL_TEST(from_nothing), LEVEL_TEST(rows),
        LEVEL_TEST(latency),     LEVEL_TEST(threads), RULES_TEST(keeps),        RULES_TEST(inputs),
    };
    return rules_run(tests);
}
