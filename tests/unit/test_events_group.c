// Groups and latencies: fields of forged formats, tallies that overflow, starts and ends of pairs.
#include <stdio.h>
#include <string.h>

#include "collectors/kernel/groups/group_field.h"
#include "collectors/kernel/groups/group_pair.h"
#include "model/text.h"
#include "tests/unit/model_test.h"

static const char format[] = "name: thing\nID: 77\nformat:\n"
                             "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                             "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                             "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                             "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                             "\tfield:long ret;\toffset:8;\tsize:8;\tsigned:1;\n"
                             "\tfield:char comm[16];\toffset:16;\tsize:16;\tsigned:0;\n"
                             "\tfield:__data_loc char[] name;\toffset:32;\tsize:4;\tsigned:0;\n"
                             "\tfield:unsigned int flags;\toffset:36;\tsize:4;\tsigned:0;\n"
                             "\tfield:signed char tiny;\toffset:40;\tsize:1;\tsigned:1;\n"
                             "\tfield:unsigned long args[2];\toffset:48;\tsize:16;\tsigned:0;\n\n"
                             "print fmt: \"ret=%ld\", REC->ret\n";

static int resolve(struct group_field *field, const char *name, bool number, char *why) {
    *field = (struct group_field){.name = ""};
    snprintf(field->name, sizeof(field->name), "%s", name);
    return group_field_resolve(field, format, strlen(format), "forged:thing", number, why, 256);
}

static void assert_key(const char *name, const struct group_record *record, const char *expected) {
    struct group_field field;
    uint64_t words[GROUP_KEY_WORDS];
    char why[256] = "";
    assert_int_equal(resolve(&field, name, false, why), 0);
    assert_true(group_field_key(&field, record, words));
    const struct text *text = group_field_text(&field, words);
    assert_string_equal(text_bytes(text), expected);
    text_unref(text);
}

static void keys_of_all_kinds(void **state) {
    (void)state;
    uint8_t data[96] = {0};
    int64_t ret = -5;
    uint32_t flags = 4000000000u, where = 10u << 16 | 64;
    memcpy(data + 8, &ret, 8);
    memcpy(data + 16, "a-comm", 7);
    memcpy(data + 32, &where, 4);
    memcpy(data + 36, &flags, 4);
    data[40] = 0xfe;
    memcpy(data + 64, "/etc/host", 10);
    struct group_record record = {.data = data, .size = sizeof(data), .cpu = 3, .tid = 42};
    assert_key("ret", &record, "-5");
    assert_key("comm", &record, "a-comm");
    assert_key("name", &record, "/etc/host");
    assert_key("flags", &record, "4000000000");
    assert_key("tiny", &record, "-2");
    assert_key("cpu", &record, "3");
    assert_key("pid", &record, "42");
    struct group_field field;
    uint64_t words[GROUP_KEY_WORDS];
    char why[256];
    double value;
    assert_int_equal(resolve(&field, "tiny", true, why), 0);
    assert_true(group_field_value(&field, &record, &value));
    assert_int_equal((int)value, -2);
    assert_int_equal(resolve(&field, "name", false, why), 0);
    record.size = 70; // the string ends past the record
    assert_false(group_field_key(&field, &record, words));
    record.size = 34;
    assert_false(group_field_key(&field, &record, words));
}

static void errors_name_the_field(void **state) {
    (void)state;
    struct group_field field;
    char why[256];
    assert_int_not_equal(resolve(&field, "flgs", false, why), 0);
    assert_string_equal(why, "forged:thing has no field flgs: did you mean flags?");
    assert_int_not_equal(resolve(&field, "comm", true, why), 0);
    assert_string_equal(why, "field comm of forged:thing is not a number: it cannot be summed");
    assert_int_not_equal(resolve(&field, "args", false, why), 0);
    assert_string_equal(why, "field args of forged:thing is an array: expected a number or a string");
}

static struct group_key key_of(uint64_t number) {
    return (struct group_key){.words = {{number}}};
}

static void overflow_is_counted(void **state) {
    (void)state;
    struct group_tally *tally = group_tally_new(true);
    for (int round = 0; round < 2; round++) {
        uint64_t count = 0;
        for (uint64_t i = 0; i < 3 * GROUP_KEYS; i++) {
            struct group_key key = key_of(i % (GROUP_KEYS + 10));
            group_tally_add(tally, &key, (double)i);
        }
        assert_int_equal(tally->n, GROUP_KEYS);
        for (size_t i = 0; i < tally->n; i++)
            count += tally->entries[i].stat.count;
        assert_int_equal(tally->others.count, 20);
        assert_int_equal(count + tally->others.count, 3 * GROUP_KEYS);
        assert_int_equal(tally->hists[GROUP_KEYS].count, 20);
        assert_int_equal((int)tally->others.min, GROUP_KEYS);
        group_tally_fold(tally, 7);
        assert_in_range(tally->others.count, 22, 23);
        assert_int_equal(tally->hists[GROUP_KEYS].count, tally->others.count);
        assert_int_equal(tally->hists[7].count, 0);
        group_tally_clear(tally);
        assert_int_equal(tally->n, 0);
    }
    group_tally_free(tally);
}

static void starts_and_ends(void **state) {
    (void)state;
    struct group_starts *starts = group_starts_new();
    struct group_key a = key_of(1), b = key_of(2);
    uint64_t latency = 0;
    group_start(starts, &a, 100);
    group_start(starts, &a, 150);
    assert_false(group_end(starts, &b, 160, &latency));
    assert_true(group_end(starts, &a, 170, &latency));
    assert_int_equal(latency, 20);
    assert_false(group_end(starts, &a, 180, &latency));
    assert_int_equal(group_starts_frame(starts).replaced, 1);
    const uint64_t most = GROUP_STARTS / 4 * 3;
    for (uint64_t i = 0; i < most + 5; i++) {
        struct group_key key = key_of(i * 977);
        group_start(starts, &key, i);
    }
    struct group_starts_figures figures = group_starts_frame(starts);
    assert_int_equal(figures.open, most);
    assert_int_equal(figures.refused, 5);
    for (uint64_t i = 0; i < most; i += 2) { // removing must not hide the others of a run
        struct group_key key = key_of(i * 977);
        assert_true(group_end(starts, &key, i + 9, &latency));
        assert_int_equal(latency, 9);
    }
    group_starts_drop(starts, most / 2);
    figures = group_starts_frame(starts);
    assert_int_equal(figures.open, most / 4);
    assert_int_equal(figures.replaced, most / 4);
    for (uint64_t i = 1; i < most; i += 2) {
        struct group_key key = key_of(i * 977);
        assert_int_equal(group_end(starts, &key, i, &latency), i >= most / 2);
    }
    assert_int_equal(group_starts_frame(starts).open, 0);
    group_starts_free(starts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_all_kinds),
        cmocka_unit_test(errors_name_the_field),
        cmocka_unit_test(overflow_is_counted),
        cmocka_unit_test(starts_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
