// The newest records of an interval, and their text.
#include "collectors/kernel/tracefs/kept.h"

#include <string.h>

#include "collectors/kernel/tracefs/event_text.h"
#include "tests/unit/model_test.h"

static uint64_t walk(const struct kept *kept, uint64_t *first_ts) {
    uint64_t cursor = 0, n = 0;
    const struct kept_record *record;
    while ((record = kept_next(kept, &cursor))) {
        uint64_t value;
        memcpy(&value, kept_bytes(kept, record), 8);
        assert_int_equal(value, record->ts);
        assert_int_equal(((uintptr_t)kept_bytes(kept, record)) & 7, 0);
        if (!n++)
            *first_ts = record->ts;
        else
            assert_int_equal(record->ts, *first_ts + n - 1);
    }
    return n;
}

static void put(struct kept *kept, uint64_t n, uint32_t size) {
    static uint8_t bytes[KEPT_BYTES];
    memcpy(bytes, &n, 8);
    kept_put(kept, n, 3, 7, bytes, size);
}

static void newest_are_kept(void **state) {
    (void)state;
    struct kept *kept = kept_new();
    uint64_t first = 0;
    assert_int_equal(walk(kept, &first), 0);
    for (uint64_t i = 0; i < 5; i++)
        put(kept, i, 12);
    assert_int_equal(walk(kept, &first), 5);
    for (uint64_t i = 5; i < 10000; i++)
        put(kept, i, 20);
    assert_int_equal(kept->n, 10000);
    assert_int_equal(walk(kept, &first), KEPT_RECORDS);
    assert_int_equal(first, 10000 - KEPT_RECORDS);
    kept_clear(kept);
    assert_int_equal(walk(kept, &first), 0);
    put(kept, 1, 12);
    assert_int_equal(walk(kept, &first), 1);
    kept_free(kept);
}

// A stack is written after its event, maybe after others.
static void attached(void **state) {
    (void)state;
    struct kept *kept = kept_new();
    uint64_t cursor = 0;
    for (uint64_t i = 0; i < 3; i++)
        put(kept, i, 12);
    assert_true(kept_attach(kept, 2, KEPT_USER_STACK, (const uint8_t *)"stack", 6));
    assert_false(kept_attach(kept, 0, KEPT_USER_STACK, (const uint8_t *)"stack", 6));
    assert_false(kept_attach(kept, 4, KEPT_USER_STACK, (const uint8_t *)"stack", 6));
    assert_int_equal(kept_next(kept, &cursor)->more_size[KEPT_USER_STACK], 0);
    const struct kept_record *second = kept_next(kept, &cursor);
    assert_int_equal(second->more_size[KEPT_USER_STACK], 6);
    assert_string_equal(kept_more(kept, second, KEPT_USER_STACK), "stack");
    assert_int_equal(kept_next(kept, &cursor)->more_size[KEPT_USER_STACK], 0);
    for (uint64_t i = 3; i < 3 + KEPT_RECORDS; i++)
        put(kept, i, 12);
    assert_false(kept_attach(kept, 3, KEPT_USER_STACK, (const uint8_t *)"stack", 6)); // overwritten
    assert_true(kept_attach(kept, 4, KEPT_USER_STACK, (const uint8_t *)"stack", 6));
    kept_free(kept);
}

// Records of an odd size: the ring of bytes overwrites the oldest before the ring of records does.
static void bytes_are_bounded(void **state) {
    (void)state;
    struct kept *kept = kept_new();
    uint64_t first = 0;
    for (uint64_t i = 0; i < 5000; i++)
        put(kept, i, 1004);
    uint64_t n = walk(kept, &first);
    assert_in_range(n, KEPT_BYTES / 1008 - 2, KEPT_BYTES / 1008);
    assert_int_equal(first, 5000 - n);
    put(kept, 5000, KEPT_BYTES / 4 + 1); // too large to be kept, but counted
    assert_int_equal(kept->n, 5001);
    assert_int_equal(walk(kept, &first), n);
    kept_free(kept);
}

// ---- text ----

// signal:signal_generate, shortened, with a moved field.
static const char format[] = "name: signal_generate\nID: 77\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                             "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:int moved;\toffset:8;\tsize:4;\tsigned:1;\n"
                             "\tfield:int sig;\toffset:12;\tsize:4;\tsigned:1;\n"
                             "\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
                             "\tfield:unsigned long big;\toffset:32;\tsize:8;\tsigned:0;\n\n"
                             "print fmt: \"sig=%d comm=%s big=%lu\", REC->sig, REC->comm, REC->big\n";

static void record_fill(uint8_t record[40], int32_t sig) {
    memset(record, 0, 40);
    record[0] = 77;
    memcpy(record + 12, &sig, 4);
    memcpy(record + 16, "a b", 3);
    memset(record + 32, 0xff, 8);
}

static void text_of_a_record(void **state) {
    (void)state;
    struct event_format *events = event_format_new(format, strlen(format), "signal");
    uint8_t record[40];
    assert_non_null(events);
    assert_int_equal(event_format_id(events), 77);
    record_fill(record, 9);
    const struct text *text = event_format_text(events, record, sizeof(record));
    record_fill(record, 64);
    const struct text *other = event_format_text(events, record, sizeof(record));
    event_format_unref(events); // the texts need it still
    assert_string_equal(text_bytes(text), "sig=9 (SIGKILL) comm=a b big=18446744073709551615");
    assert_string_equal(text_bytes(other), "sig=64 comm=a b big=18446744073709551615");
    text_unref(text);
    text_unref(other);
    assert_null(event_format_new("name: x\n", 8, "signal"));
}

static void fields_of_a_record(void **state) {
    (void)state;
    struct event_format *events = event_format_new(format, strlen(format), "other");
    uint8_t record[40];
    char out[32];
    record_fill(record, -5);
    assert_true(event_format_field(events, record, sizeof(record), "sig", out, sizeof(out)));
    assert_string_equal(out, "-5");
    assert_true(event_format_field(events, record, sizeof(record), "comm", out, sizeof(out)));
    assert_string_equal(out, "a b");
    assert_true(event_format_field(events, record, sizeof(record), "big", out, sizeof(out)));
    assert_string_equal(out, "18446744073709551615");
    assert_false(event_format_field(events, record, sizeof(record), "absent", out, sizeof(out)));
    assert_false(event_format_field(events, record, 36, "big", out, sizeof(out))); // shorter than its format
    event_format_unref(events);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_are_kept),  cmocka_unit_test(attached),           cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(text_of_a_record), cmocka_unit_test(fields_of_a_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
