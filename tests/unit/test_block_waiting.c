// I/Os in flight for long: selection, order and rows.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collectors/block/waiting.h"
#include "tests/unit/forge_match.h"

#define VDA (7u << 20)

static void oldest_first(void **state) {
    (void)state;
    struct block_waiting found[3];
    at(BLOCK_BIO_QUEUE, 50, "R", 8, 8);
    at(BLOCK_ISSUE, 60, "R", 8, 8);
    at(BLOCK_BIO_QUEUE, 40, "W", 80, 16); // traced late: its writer was interrupted
    at(BLOCK_INSERT, 70, "W", 800, 8);
    at(BLOCK_ISSUE, 80, "R", 8000, 8);
    at(BLOCK_ISSUE, 81, "R", 16000, 8);
    at(BLOCK_COMPLETE, 85, "R", 16000, 8);
    assert_int_equal(block_waiting_find(match, 100, found, 3), 3); // four in flight: the youngest is omitted
    assert_int_equal(found[0].since_ns, 40);
    assert_int_equal(found[0].where, BLOCK_WAITING_ARRIVED);
    assert_int_equal(found[0].bytes, 8192);
    assert_int_equal(found[0].op, BLOCK_WRITE);
    assert_int_equal(found[1].since_ns, 50); // since its bio's arrival, not its issue
    assert_int_equal(found[1].where, BLOCK_WAITING_ISSUED);
    assert_int_equal(found[1].sector, 8);
    assert_int_equal(found[1].tid, 42);
    assert_string_equal(found[1].comm, "fio");
    assert_int_equal(found[2].since_ns, 70);
    assert_int_equal(found[2].where, BLOCK_WAITING_QUEUED);
    assert_int_equal(block_waiting_find(match, 50, found, 3), 1); // started before 50
    at(BLOCK_COMPLETE, 90, "R", 8, 8);
    assert_int_equal(block_waiting_find(match, 100, found, 3), 3);
    assert_int_equal(found[2].since_ns, 80);
}

static void issued_on(uint32_t dev, uint64_t ts, uint64_t sector) {
    struct block_event event = forge_block(BLOCK_ISSUE, ts, "R", sector, 8);
    event.dev = dev;
    block_match_event(match, &event);
}

// A hung disk with a full queue does not hide another hung disk.
static void each_disk(void **state) {
    (void)state;
    struct block_waiting found[4];
    for (uint64_t i = 0; i < 6; i++)
        issued_on(VDA, 10 + i, 8 * i);
    issued_on(VDA + 1, 50, 8);
    issued_on(VDA + 1, 51, 80);
    issued_on(VDA + 2, 40, 8);
    assert_int_equal(block_waiting_find(match, 100, found, 4), 4);
    const uint64_t want[] = {10, 11, 40, 50};
    for (int i = 0; i < 4; i++)
        assert_int_equal(found[i].since_ns, want[i]);
    assert_int_equal(block_waiting_find(match, 100, found, 2), 2); // more disks than room: the oldest
    assert_int_equal(found[0].since_ns, 10);
    assert_int_equal(found[1].since_ns, 40);
    issued_on(VDA + 2, 5, 80); // traced late: older than its disk's oldest so far
    assert_int_equal(block_waiting_find(match, 100, found, 3), 3);
    assert_int_equal(found[0].since_ns, 5);
    assert_int_equal(found[1].since_ns, 10);
    assert_int_equal(found[2].since_ns, 50);
}

static void neither_own_nor_suspect(void **state) {
    (void)state;
    struct block_waiting found[4];
    const pid_t own = 42;
    block_match_own(match, &own, 1);
    at(BLOCK_ISSUE, 50, "R", 8, 8);
    assert_int_equal(block_waiting_find(match, 100, found, 4), 0);
    block_match_own(match, NULL, 0);
    at(BLOCK_ISSUE, 60, "R", 80, 8);
    block_match_lost(match, 70); // its completion may be lost
    at(BLOCK_ISSUE, 80, "R", 800, 8);
    assert_int_equal(block_waiting_find(match, 100, found, 4), 1);
    assert_int_equal(found[0].since_ns, 80);
    block_match_tidy(match, 80 + 70000000000ull); // on a hung disk for more than a minute
    assert_int_equal(block_waiting_find(match, 100, found, 4), 1);
}

static void rows(void **state) {
    (void)state;
    struct block_waiting waiting[] = {
        {.since_ns = 1000000000,
         .sector = 8,
         .dev = VDA,
         .bytes = 4096,
         .tid = -5,
         .op = BLOCK_READ,
         .where = 2,
         .comm = "dd"},
        {.since_ns = 3000000000, .sector = BLOCK_NO_SECTOR, .dev = VDA, .tid = -6, .op = BLOCK_FLUSH, .comm = "jbd2"},
    };
    struct block_names *names = block_names_new("/nowhere");
    struct block_tasks *submitters = block_tasks_new("/nowhere", "/nowhere", NULL);
    struct section *section = section_new("block", 0, 4000000000);
    block_waiting_resolve(waiting, 2, submitters);
    block_waiting_fill(waiting, 2, 4000000000, names, section);
    const struct table *table = section_find_table(section, "io_in_flight");
    const struct table_def *def = table_def(table);
    assert_int_equal(table_rows(table), 2);
    size_t cursor = 0;
    const union cell *row = table_next(table, &cursor);
    assert_string_equal(text_bytes(row[table_column(def, "device")].text), "7:0");
    assert_true(row[table_column(def, "age_us")].num == 3e6 && row[table_column(def, "pid")].num == -5);
    assert_string_equal(text_bytes(row[table_column(def, "state")].text), "issued");
    row = table_next(table, &cursor);
    assert_string_equal(text_bytes(row[table_column(def, "comm")].text), "jbd2");
    assert_string_equal(text_bytes(row[table_column(def, "op")].text), "F");
    assert_true(row[table_column(def, "sector")].num != row[table_column(def, "sector")].num); // not measured
    section_unref(section);
    block_tasks_free(submitters);
    block_names_free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(oldest_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(neither_own_nor_suspect, set_up, tear_down),
        cmocka_unit_test(rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
