// Decoding the scheduler's events of several kernels' formats.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "collectors/sched/event.h"

#define COMMON                                                                                                         \
    "format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                    \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                             \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                     \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define COMM_PID                                                                                                       \
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                                                         \
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"                                                             \
    "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
#define SWITCH(state_type, state_size)                                                                                 \
    "name: sched_switch\nID: 300\n" COMMON "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"             \
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"                                                        \
    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"                                                         \
    "\tfield:" state_type " prev_state;\toffset:32;\tsize:" state_size ";\tsigned:1;\n"                                \
    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"                                                   \
    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"                                                        \
    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"

static const char switch_text[] = SWITCH("long", "8");
static const char odd_switch[] = SWITCH("short", "2");
// 5.10 has `success` before the CPU.
static const char old_wakeup[] =
    "name: sched_wakeup\nID: 302\n" COMMON COMM_PID "\tfield:int success;\toffset:32;\tsize:4;\tsigned:1;\n"
    "\tfield:int target_cpu;\toffset:36;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
// Since 5.14.
static const char waking_text[] = "name: sched_waking\nID: 301\n" COMMON COMM_PID
                                  "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
// 6.18's name is elsewhere in the record.
static const char new_migrate[] =
    "name: sched_migrate_task\nID: 299\n" COMMON "\tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n\tfield:int prio;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\tfield:int orig_cpu;\toffset:20;\tsize:4;\tsigned:1;\n"
    "\tfield:int dest_cpu;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

static int parse(struct sched_formats *formats, enum sched_kind kind, const char *text, const char **missing) {
    struct format_field fields[SCHED_FIELDS];
    uint16_t id;
    size_t n = sched_event_fields(kind, fields);
    int error = format_parse(text, strlen(text), "sched", fields, n, &id, missing);
    return error ? error : sched_format_take(formats, kind, fields, id, missing);
}

static void put(uint8_t *record, size_t at, uint64_t value, size_t size) {
    memcpy(record + at, &value, size);
}

static void all_kinds(void **state) {
    (void)state;
    struct sched_formats formats = {0};
    struct sched_event event;
    uint8_t record[64] = {0};
    assert_int_equal(parse(&formats, SCHED_SWITCH, switch_text, NULL), 0);
    assert_int_equal(parse(&formats, SCHED_WAKEUP, old_wakeup, NULL), 0);
    assert_int_equal(parse(&formats, SCHED_MIGRATE, new_migrate, NULL), 0);
    assert_int_equal(sched_formats_index(&formats), 0);

    put(record, 0, 300, 2);
    put(record, 2, EVENT_FLAG_SOFTIRQ, 1);
    put(record, 4, 4711, 4);
    memcpy(record + 8, "sixteen-letters!", 16);
    put(record, 24, 4711, 4);
    put(record, 28, 120, 4);
    put(record, 32, 0x102, 8);
    memcpy(record + 40, "next", 5);
    put(record, 56, 4712, 4);
    put(record, 60, (uint32_t)-1, 4);
    assert_true(sched_event_decode(&formats, 99, 3, record, 64, &event));
    assert_int_equal(event.kind, SCHED_SWITCH);
    assert_int_equal(event.ts, 99);
    assert_int_equal(event.cpu, 3);
    assert_int_equal(event.flags, EVENT_FLAG_SOFTIRQ);
    assert_int_equal(event.tid, 4711);
    assert_int_equal(event.prio, 120);
    assert_int_equal(event.state, 0x102);
    assert_int_equal(event.next, 4712);
    assert_int_equal(event.next_prio, -1);
    assert_memory_equal(event.comm, "sixteen-letters!", 16);
    assert_string_equal(event.next_comm, "next");
    assert_false(sched_event_decode(&formats, 99, 3, record, 63, &event)); // cut off
    assert_false(sched_event_decode(&formats, 99, 3, record, 1, &event));

    put(record, 0, 302, 2);
    put(record, 36, 1, 4);
    assert_true(sched_event_decode(&formats, 100, 0, record, 40, &event));
    assert_int_equal(event.kind, SCHED_WAKEUP);
    assert_int_equal(event.tid, 4711);
    assert_int_equal(event.target, 1);

    put(record, 0, 299, 2);
    put(record, 12, 77, 4);
    put(record, 24, 5, 4);
    assert_true(sched_event_decode(&formats, 100, 0, record, 28, &event));
    assert_int_equal(event.kind, SCHED_MIGRATE);
    assert_int_equal(event.tid, 77);
    assert_int_equal(event.target, 5);
    assert_null(event.comm);

    for (uint32_t id = 0; id < 65536; id += 1 + id / 400) { // others'
        put(record, 0, id, 2);
        bool ours = id == 299 || id == 300 || id == 302;
        assert_int_equal(sched_event_decode(&formats, 1, 0, record, 64, &event), ours);
    }
}

// The usual layouts take the fast path of the decoder.
static void usual_layouts(void **state) {
    (void)state;
    struct sched_formats formats = {0};
    assert_int_equal(parse(&formats, SCHED_SWITCH, switch_text, NULL), 0);
    assert_int_equal(sched_formats_index(&formats), 0);
    assert_false(formats.usual);
    assert_int_equal(parse(&formats, SCHED_WAKING, waking_text, NULL), 0);
    assert_int_equal(sched_formats_index(&formats), 0);
    assert_true(formats.usual);
    assert_int_equal(parse(&formats, SCHED_WAKING, old_wakeup, NULL), 0);
    assert_int_equal(sched_formats_index(&formats), 0);
    assert_false(formats.usual);
}

static void bad_formats(void **state) {
    (void)state;
    struct sched_formats formats = {0};
    const char *missing = NULL;
    assert_int_equal(parse(&formats, SCHED_SWITCH, odd_switch, &missing), -EPROTO);
    assert_string_equal(missing, "prev_state");
    assert_int_equal(parse(&formats, SCHED_SWITCH, old_wakeup, &missing), -ENOENT);
    assert_int_equal(parse(&formats, SCHED_WAKEUP, "nonsense", &missing), -EINVAL);
    assert_false(formats.kinds[SCHED_SWITCH].present);
    formats.kinds[SCHED_SWITCH] = (struct sched_layout){.present = true, .id = 10};
    formats.kinds[SCHED_WAKEUP] = (struct sched_layout){.present = true, .id = 1000};
    assert_int_equal(sched_formats_index(&formats), -ERANGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_kinds), cmocka_unit_test(usual_layouts),
                                       cmocka_unit_test(bad_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
