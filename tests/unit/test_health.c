// The health section: a row per collector, what is late or lost, the history.
#include "tests/unit/model_test.h"

#include <unistd.h>

#include "model/health.h"
#include "model/mem.h"

static union cell cell(const struct table *table, const char *collector, const char *column) {
    union cell key = TEXT(collector);
    const union cell *row = table_find(table, &key);
    text_unref(key.text);
    assert_non_null(row);
    return row[table_column(table_def(table), column)];
}

static void rows(void **state) {
    (void)state;
    size_t before = mem_used();
    struct frame *frame = frame_new(1, 1000000000, 3000000000, (struct timespec){0});
    struct section *block = section_new("block", 1000000000, 3000000000);
    section_set_state(block, SECTION_DEGRADED);
    section_note(block, SEVERITY_INFO, NULL, "an aside", NULL);
    section_note(block, SEVERITY_WARNING, "queue_us", "no insert events", NULL);
    section_events(block, 5000, 12);
    section_cost(block, 20000000);
    frame_add_section(frame, block, 0);
    frame_add_section(frame, section_new("tasks", 0, 1), 2500000000);
    frame_add_section(frame, section_new("cpu_counters", 5, 5), 0);
    frame_add_section(frame, section_new("sched", 2000000000, 2000000000), 0);
    struct section *waits = section_new("faults", 5, 5);
    section_note(waits, SEVERITY_WARNING, NULL, "it waits", NULL);
    frame_add_section(frame, waits, 0);
    struct health_self self = {.cpu_ns = 2000000, .history_frames = 60, .history_bytes = 123456};
    struct section *health = health_section(frame, &self);
    assert_string_equal(section_collector(health), "health");
    const struct table *table = section_find_table(health, "collectors");
    assert_int_equal(table_rows(table), 6);
    assert_text(cell(table, "sched", "state").text, "starting");
    assert_null(cell(table, "sched", "detail").text);
    assert_text(cell(table, "faults", "state").text, "starting");
    assert_text(cell(table, "faults", "detail").text, "it waits");
    assert_text(cell(table, "block", "state").text, "degraded");
    assert_number(cell(table, "block", "cpu_pct").num, 1);
    assert_number(cell(table, "block", "events_per_s").num, 2500);
    assert_number(cell(table, "block", "lost").num, 12);
    assert_text(cell(table, "block", "detail").text, "no insert events");
    assert_text(cell(table, "tasks", "state").text, "stale");
    assert_text(cell(table, "tasks", "detail").text, "its data is 2.5 s old");
    assert_true(isnan(cell(table, "tasks", "cpu_pct").num));
    assert_text(cell(table, "cpu_counters", "state").text, "off");
    assert_text(cell(table, "cpu_counters", "detail").text,
                "runs only while a pane that needs it is shown or pinned (p)");
    assert_true(isnan(cell(table, "cpu_counters", "lost").num));
    assert_number(cell(table, "frames", "cpu_pct").num, 0.1);
    table = section_find_table(health, "history");
    size_t cursor = 0;
    const union cell *row = table_next(table, &cursor);
    assert_number(row[0].num, getpid());
    assert_number(row[1].num, 60);
    assert_number(row[2].num, 123456);
    section_unref(health);
    // A collector that runs, or ran, for a finding.
    self.lease = (struct health_lease){"cpu_counters", "sampled 2.0 s", false};
    health = health_section(frame, &self);
    table = section_find_table(health, "collectors");
    assert_text(cell(table, "cpu_counters", "state").text, "off");
    assert_text(cell(table, "cpu_counters", "detail").text, "sampled 2.0 s");
    assert_text(cell(table, "block", "detail").text, "no insert events");
    section_unref(health);
    self.lease = (struct health_lease){"sched", "sampled 2.0 s", true};
    health = health_section(frame, &self);
    table = section_find_table(health, "collectors");
    assert_text(cell(table, "sched", "state").text, "starting");
    assert_text(cell(table, "sched", "detail").text, "sampled 2.0 s");
    section_unref(health);
    self.lease = (struct health_lease){"sched", "sampled 2.0 s", false};
    health = health_section(frame, &self);
    table = section_find_table(health, "collectors");
    assert_text(cell(table, "sched", "state").text, "off");
    section_unref(health);
    frame_unref(frame);
    assert_int_equal(mem_used(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
