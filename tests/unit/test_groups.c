// Sums by control group: equal to the rows whatever changed since the frame before, threads and ended tasks, counters
// of another table, groups that come and go.
#include "model/groups.h"

#include <math.h>

#include "tests/unit/forge_machine.h"

static struct table_builder *tasks;
static struct groups *groups;

static const struct column counter_columns[] = {
    {.name = "pid", .unit = UNIT_ID},
    {.name = "tid", .unit = UNIT_ID},
    {.name = "cycles_per_s", .unit = UNIT_PER_S},
    {.name = "instructions_per_s", .unit = UNIT_PER_S},
    {.name = "cache_misses_per_s", .unit = UNIT_PER_S},
};
static const struct table_def counters_table = {
    .name = "task_counters", .help = "Forged.", .columns = counter_columns, .n_columns = 5, .n_keys = 2};

static int set_up(void **state) {
    (void)state;
    tasks = table_builder_new(def_of("tasks"));
    groups = groups_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    table_builder_free(tasks);
    groups_free(groups);
    return 0;
}

static const struct frame *frame_of(const char *const *counters) {
    static uint64_t number;
    struct frame *frame = forge_frame(++number);
    struct section *section = forge_section("tasks", number);

    section_table(section, table_builder_seal(tasks));
    frame_add_section(frame, section, 0);
    if (counters) {
        section = forge_section("task_counters", number);
        section_table(section, forge_table(&counters_table, counters));
        frame_add_section(frame, section, 0);
    }
    frame_add_section(frame, groups_section(groups, frame), 0);
    return frame;
}

static double sum_of(const struct frame *frame, const char *group, const char *column) {
    const struct table *table = frame_table(frame, "cgroups");
    int at = table_column(&groups_table, column);
    size_t cursor = 0;

    assert_true(at > 0);
    for (const union cell *row; (row = table_next(table, &cursor));)
        if (group ? row[0].text && !strcmp(text_bytes(row[0].text), group) : !row[0].text)
            return row[at].num;
    return -1;
}

static void expect(const struct frame *frame, const char *group, const char *column, double value) {
    double got = sum_of(frame, group, column);
    if (isnan(value) ? !isnan(got) : fabs(got - value) > 1e-9)
        fail_msg("%s of %s is %f, not %f", column, group ? group : "none", got, value);
}

static void test_sums(void **state) {
    (void)state;
    const struct table_def *def = def_of("tasks");
    forge_row(tasks, def, "pid=1|tid=1|state=S|cgroup=/a|cpu_pct=10|rss_kib=100|minor_faults_per_s=3");
    forge_row(tasks, def, "pid=2|tid=2|state=R|cgroup=/a|cpu_pct=2.5|rss_kib=50|major_faults_per_s=1");
    forge_row(tasks, def, "pid=3|tid=3|state=X|cgroup=/a|cpu_pct=40|rss_kib=0"); // ended: it used its time all the same
    forge_row(tasks, def, "pid=4|tid=4|state=S|cgroup=/b|cpu_pct=7|rss_kib=1000");
    forge_row(tasks, def, "pid=4|tid=5|state=S|cgroup=/b|cpu_pct=8|rss_kib=1000"); // a thread of it: the same memory
    forge_row(tasks, def, "pid=6|tid=6|state=S|cpu_pct=1");
    const struct frame *frame =
        frame_of((const char *const[]){"pid=1|tid=1|cycles_per_s=100|instructions_per_s=50|cache_misses_per_s=7",
                                       "pid=2|tid=2|cycles_per_s=300|instructions_per_s=350",
                                       "pid=4|tid=5|cycles_per_s=10", "pid=77|tid=77|cycles_per_s=1000", NULL});
    assert_int_equal(table_rows(frame_table(frame, "cgroups")), 3);
    expect(frame, "/a", "cpu_pct", 52.5);
    expect(frame, "/a", "rss_kib", 150);
    expect(frame, "/a", "tasks", 2);
    expect(frame, "/a", "minor_faults_per_s", 3);
    expect(frame, "/a", "major_faults_per_s", 1);
    expect(frame, "/a", "read_bytes_per_s", NAN); // of none of them
    expect(frame, "/a", "cycles_per_s", 400);
    expect(frame, "/a", "instructions_per_s", 400);
    expect(frame, "/a", "ipc", 1);
    expect(frame, "/a", "cache_misses_per_s", 7);
    expect(frame, "/b", "cpu_pct", 15);
    expect(frame, "/b", "rss_kib", 1000);
    expect(frame, "/b", "tasks", 1);
    expect(frame, "/b", "cycles_per_s", 10);
    expect(frame, "/b", "ipc", NAN);
    expect(frame, NULL, "cpu_pct", 1);
    expect(frame, NULL, "tasks", 1);
    frame_unref(frame);
    // Without counters they are not known, and not what they were.
    frame = frame_of(NULL);
    expect(frame, "/a", "cycles_per_s", NAN);
    expect(frame, "/a", "cpu_pct", 52.5);
    frame_unref(frame);
}

// Many tasks over many frames: some change their numbers, some their group, some come and go. The kept sums must always
// be those of the rows.
static void test_changes(void **state) {
    (void)state;
    enum { N = 700, GROUPS = 9 };
    static const char *const names[GROUPS] = {"/g0", "/g1", "/g2", "/g3", "/g4", "/g5", "/g6", "/g7", "/g8"};
    const struct table_def *def = def_of("tasks");
    uint16_t pid = (uint16_t)table_column(def, "pid"), tid = (uint16_t)table_column(def, "tid");
    uint16_t cpu = (uint16_t)table_column(def, "cpu_pct"), group = (uint16_t)table_column(def, "cgroup");
    uint32_t slots[N];
    bool there[N] = {false};
    double value[N];
    int in[N];

    srand(1);
    for (int round = 0; round < 60; round++) {
        int most = round % 3 ? 5 : N; // most frames move little
        for (int k = 0; k < most; k++) {
            int i = rand() % N;
            if (there[i] && rand() % 4 == 0) {
                table_builder_remove(tasks, slots[i]);
                there[i] = false;
                continue;
            }
            if (!there[i])
                slots[i] = table_builder_add(tasks);
            there[i] = true;
            value[i] = rand() % 1000;
            in[i] = rand() % (round < 30 ? GROUPS : 2);
            table_builder_set_num(tasks, slots[i], pid, i + 1);
            table_builder_set_num(tasks, slots[i], tid, i + 1);
            table_builder_set_num(tasks, slots[i], cpu, value[i]);
            table_builder_set_text(tasks, slots[i], group, text_from(names[in[i]]));
        }
        const struct frame *frame = frame_of(NULL);
        double sums[GROUPS] = {0};
        int counts[GROUPS] = {0}, n = 0;
        for (int i = 0; i < N; i++)
            if (there[i]) {
                sums[in[i]] += value[i];
                counts[in[i]]++;
            }
        for (int g = 0; g < GROUPS; g++) {
            n += counts[g] > 0;
            assert_true(sum_of(frame, names[g], "cpu_pct") == (counts[g] ? sums[g] : -1));
            assert_true(sum_of(frame, names[g], "tasks") == (counts[g] ? counts[g] : -1));
        }
        assert_int_equal(table_rows(frame_table(frame, "cgroups")), n);
        frame_unref(frame);
    }
}

static void test_nothing(void **state) {
    (void)state;
    struct frame *frame = forge_frame(1);
    struct section *section = groups_section(groups, frame);

    assert_int_equal(table_rows(section_find_table(section, "cgroups")), 0);
    assert_int_equal(section_state(section), SECTION_STARTING);
    section_unref(section);
    frame_unref(frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_sums, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
