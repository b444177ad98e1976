// One frame as text, CSV and JSON: names and nulls as the contract says, numbers short and exact, hostile names
// harmless.
#include "tests/unit/forge.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "views/part_fields.h"
#include "views/part_table.h"
#include "views/write.h"

static const struct column columns[] = {
    {.name = "pid", .title = "PID", .help = "process ID", .unit = UNIT_ID, .width = 7, .ascending = true},
    {.name = "comm", .title = "COMM", .help = "name", .type = COLUMN_TEXT, .width = 10, .ascending = true},
    {.name = "cpu_pct", .title = "CPU%", .help = "CPU", .unit = UNIT_PCT, .width = 6},
    {.name = "bytes", .title = "BYTES", .help = "bytes", .unit = UNIT_BYTES, .width = 8},
};
static const struct column more_columns[] = {
    {.name = "pid", .title = "PID", .help = "process ID", .unit = UNIT_ID, .width = 7, .ascending = true},
    {.name = "ipc", .title = "IPC", .help = "instructions per cycle", .unit = UNIT_RATIO, .width = 5},
};
static const struct column event_columns[] = {
    {.name = "time_s", .title = "TIME", .help = "when", .unit = UNIT_S, .width = 12},
    {.name = "comm", .title = "COMM", .help = "who", .type = COLUMN_TEXT, .width = 10},
};
static const struct table_def def = {.name = "tasks", .help = "tasks", .columns = columns, .n_columns = 4, .n_keys = 1};
static const struct table_def more_def = {
    .name = "more", .help = "more", .columns = more_columns, .n_columns = 2, .n_keys = 1};
static const struct table_def events_def = {
    .name = "io_events", .help = "events", .columns = event_columns, .n_columns = 2, .n_keys = 0};
static const struct series_def load = {"load_1", "load", "load", UNIT_NONE};
static const struct series_def none = {"irq_full_pct", "irq full", "irq", UNIT_PCT};

static const struct part parts[] = {
    {.kind = &part_fields, .name = "summary", .spec = &(const struct fields_spec){.shown = "load_1=load irq_full_pct"}},
    {.kind = &part_table,
     .name = "tasks",
     .title = "Tasks",
     .spec = &(const struct table_spec){.source = {.tables = {"tasks", "more"}, .sort = "cpu_pct"},
                                        .shown = "pid cpu_pct comm",
                                        .rest = "comm"},
     .min_height = 2,
     .weight = 1},
    {.kind = &part_table,
     .name = "events",
     .title = "Events",
     .spec = &(const struct table_spec){.source = {.tables = {"io_events"}, .stream = true}},
     .min_height = 2},
};
static const struct view view = {
    .name = "test",
    .title = "Test",
    .question = "?",
    .needs = (const char *const[]){"a", "b", NULL},
    .parts = parts,
    .n_parts = 3,
};

#define HOSTILE "\033]0;x\007\xff\nrm \"-rf\", /\t\xe2\x80\xae\xc2\x9b"
#define HARMLESS "\\e]0;x\\x07\\xff\\nrm \"-rf\", /\\t\\u202e\\u009b"

static const struct frame *forged(void) {
    static const char *const rows[] = {"pid=1|comm=init|cpu_pct=0.30000000000000004|bytes=9007199254740991",
                                       "pid=2|comm=" HOSTILE "|cpu_pct=99.5", NULL};
    static const char *const more[] = {"pid=1|ipc=1.25", NULL};
    static const char *const events[] = {"time_s=12345.678901234|comm=fio", "time_s=12346|comm=" HOSTILE, NULL};
    struct frame *frame = forge_frame(1);
    struct section *a = forge_section("a", 1), *b = forge_section("b", 1);

    section_table(a, forge_table(&def, rows));
    section_series(a, &load, 1.25);
    section_series(a, &none, NAN);
    section_note(a, SEVERITY_INFO, "irq_full_pct", "no interrupt pressure\033[31m", "take Linux 6.1");
    section_note(a, SEVERITY_WARNING, "nowhere", "not shown in this pane", NULL);
    section_table(b, forge_table(&more_def, more));
    section_stream(b, forge_table(&events_def, events), 7);
    section_events(b, 100, 3);
    frame_add_section(frame, a, 0);
    frame_add_section(frame, b, 0);
    return frame;
}

static struct json_object *at(struct json_object *object, const char *name) {
    struct json_object *value = NULL;

    if (!json_object_object_get_ex(object, name, &value))
        fail_msg("no member %s", name);
    return value;
}

static void test_json(void **state) {
    struct look look = {.frame = forged()};
    struct pane *pane = pane_new(&view);
    char *text = pane_written(pane, &look, FORMAT_JSON);

    (void)state;
    expect_harmless(text);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); // one line
    struct json_object *json = json_tokener_parse(text);
    assert_non_null(json);
    assert_string_equal(json_object_get_string(at(json, "ktop")), "0.1.0");
    assert_int_equal(json_object_get_int(at(json, "schema")), 1);
    assert_string_equal(json_object_get_string(at(json, "time")), "2026-01-31T12:00:01.123Z");
    assert_true(json_object_get_double(at(json, "interval_s")) == 1.0);
    struct json_object *intervals = at(json, "intervals_s");
    assert_true(json_object_object_length(intervals) > 0);
    json_object_object_foreach(intervals, collector, seconds) {
        assert_non_null(frame_section(look.frame, collector, NULL));
        assert_true(json_object_get_double(seconds) == 1.0);
    }
    assert_int_equal(json_object_get_int(at(json, "lost_events")), 3);
    assert_true(json_object_get_double(at(at(json, "series"), "load_1")) == 1.25);
    assert_null(at(at(json, "series"), "irq_full_pct"));
    struct json_object *tasks = at(at(json, "tables"), "tasks"), *events = at(json, "events");
    assert_int_equal(json_object_array_length(tasks), 2);
    struct json_object *first = json_object_array_get_idx(tasks, 0), *second = json_object_array_get_idx(tasks, 1);
    assert_int_equal(json_object_get_int(at(first, "pid")), 2); // by cpu_pct
    assert_string_equal(json_object_get_string(at(first, "comm")), HARMLESS);
    assert_null(at(first, "bytes"));
    assert_null(at(first, "ipc"));
    assert_true(json_object_get_double(at(second, "ipc")) == 1.25);
    assert_int_equal(json_object_get_int64(at(second, "bytes")), 9007199254740991);
    assert_non_null(strstr(text, "\"cpu_pct\":0.3,"));
    assert_int_equal(json_object_array_length(events), 2);
    assert_int_equal(json_object_get_int64(at(json, "events_left_out")), 7);
    assert_true(json_object_get_double(at(json_object_array_get_idx(events, 1), "time_s")) == 12345.678901234);
    assert_int_equal(json_object_array_length(at(json, "notes")), 2);
    assert_string_equal(json_object_get_string(at(json_object_array_get_idx(at(json, "notes"), 0), "severity")),
                        "warning");
    static const char *const order[] = {
        "ktop",   "schema", "host",       "kernel", "time",   "interval_s",      "pane", "lost_events", "intervals_s",
        "series", "tables", "histograms", "trees",  "events", "events_left_out", "notes"};
    size_t i = 0;
    json_object_object_foreach(json, name, value) {
        (void)value;
        assert_string_equal(name, order[i++]);
    }
    assert_int_equal(i, 16);
    json_object_put(json);
    free(text);
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_csv(void **state) {
    struct look look = {.frame = forged()};
    struct pane *pane = pane_new(&view);
    char *text = pane_written(pane, &look, FORMAT_CSV);

    (void)state;
    assert_string_equal(
        text, "table,time,pid,comm,cpu_pct,bytes,ipc\n"
              "tasks,2026-01-31T12:00:01.123Z,2,\"\\e]0;x\\x07\\xff\\nrm \"\"-rf\"\", /\\t\\u202e\\u009b\",99.5,,\n"
              "tasks,2026-01-31T12:00:01.123Z,1,init,0.3,9007199254740991,1.25\n"
              "table,time,time_s,comm\n"
              "events,2026-01-31T12:00:01.123Z,12346,\"\\e]0;x\\x07\\xff\\nrm \"\"-rf\"\", /\\t\\u202e\\u009b\"\n"
              "events,2026-01-31T12:00:01.123Z,12345.678901234,fio\n"
              "table,time,name,value\n"
              "series,2026-01-31T12:00:01.123Z,load_1,1.25\n"
              "series,2026-01-31T12:00:01.123Z,irq_full_pct,\n"
              "table,time,severity,text,fix\n"
              "notes,2026-01-31T12:00:01.123Z,warning,not shown in this pane,\n"
              "notes,2026-01-31T12:00:01.123Z,info,no interrupt pressure\\e[31m,take Linux 6.1\n");
    free(text);
    text = pane_written(pane, &look, FORMAT_CSV); // header lines once a run
    assert_null(strstr(text, "table,"));
    free(text);
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_text(void **state) {
    struct look look = {.frame = forged()};
    struct pane *pane = pane_new(&view);
    char *text = pane_written(pane, &look, FORMAT_TEXT);

    (void)state;
    expect_harmless(text);
    assert_string_equal(text, "== 2026-01-31T12:00:01.123Z  test  1.000 s  box  3 events lost ==\n"
                              "  load 1.25, irq full -\n"
                              "Tasks\n"
                              "      PID   CPU% COMM\n"
                              "        2   99.5 " HARMLESS "\n"
                              "        1    0.3 init\n"
                              "Events\n"
                              "          TIME COMM\n"
                              "         3h25m " HARMLESS "\n"
                              "         3h25m fio\n"
                              "info: no interrupt pressure\\e[31m - take Linux 6.1\n"
                              "\n");
    free(text);
    pane_free(pane);
    frame_unref(look.frame);
}

// A section that stands in two frames: its table is written again and marked, its events and losses are not.
static void test_repeated(void **state) {
    struct frame *frame = (struct frame *)forged();
    struct look look = {.frame = frame};
    struct pane *pane = pane_new(&view);

    (void)state;
    frame->repeated[1] = true;
    frame->stale_ns[1] = FORGE_NS;
    char *json = pane_written(pane, &look, FORMAT_JSON);
    assert_non_null(strstr(json, "\"lost_events\":0"));
    assert_non_null(strstr(json, "\"events\":[]"));
    assert_non_null(strstr(json, "\"ipc\":1.25"));
    assert_non_null(strstr(json, "b is stale: its data is 1.0 s old"));
    char *csv = pane_written(pane, &look, FORMAT_CSV), *text = pane_written(pane, &look, FORMAT_TEXT);
    assert_non_null(strstr(csv, "table,time,time_s,comm\n")); // the header comes once, events may follow
    assert_null(strstr(csv, "events,"));
    assert_null(strstr(text, "fio"));
    assert_null(strstr(text, "lost"));
    free(json);
    free(csv);
    free(text);
    frame->repeated[1] = false; // late, but new
    text = pane_written(pane, &look, FORMAT_TEXT);
    assert_non_null(strstr(text, "3 events lost"));
    free(text);
    pane_free(pane);
    frame_unref(frame);
}

static void test_numbers(void **state) {
    static const struct {
        enum unit unit;
        double value;
        const char *text;
    } cases[] = {
        {UNIT_PER_S, 0, "0"},
        {UNIT_PER_S, -0.0, "0"},
        {UNIT_PER_S, 0.1 + 0.2, "0.3"},
        {UNIT_PER_S, 812, "812"},
        {UNIT_PER_S, 1234.56789012, "1234.56789"},
        {UNIT_PER_S, 0.000123456789, "0.000123457"},
        {UNIT_PER_S, 99.9999999, "100"},
        {UNIT_PCT, 1.0 / 3, "0.333333"},
        {UNIT_BYTES, 9007199254740992.0, "9007199254740992"},
        {UNIT_BYTES, 1e18, "1e+18"},
        {UNIT_US, 1.23456, "1.235"},
        {UNIT_US, 0.0001, "0"},
        {UNIT_S, 1769860801.123456789, "1769860801.123456717"},
        {UNIT_COUNT, -3, "-3"},
        {UNIT_NONE, NAN, ""},
        {UNIT_NONE, INFINITY, ""},
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t length = number_write(cases[i].unit, cases[i].value, out, sizeof(out));
        assert_int_equal(length, strlen(out));
        assert_string_equal(out, cases[i].text);
    }
    assert_int_equal(number_write(UNIT_NONE, 12345, out, 4), 3);
    assert_string_equal(out, "123");
}

// A reader that has gone is an error that the caller is told, in every format.
static void test_broken_pipe(void **state) {
    static const struct write_info info = {.version = "0.1.0", .host = "box", .kernel = "6.18.0"};
    struct look look = {.frame = forged()};
    struct pane *pane = pane_new(&view);

    (void)state;
    for (int format = FORMAT_TEXT; format <= FORMAT_JSON; format++) {
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(pane_write(pane, &look, (enum format)format, &info, full), -ENOSPC);
        fclose(full);
    }
    look.frame = (frame_unref(look.frame), NULL);
    assert_int_equal(pane_write(pane, &look, FORMAT_JSON, &info, stdout), -EINVAL);
    pane_free(pane);
}

static void test_help(void **state) {
    struct look look = {.frame = forged()};
    struct pane *pane = pane_new(&view);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    pane_help(pane, &look, out);
    fclose(out);
    expect_harmless(text);
    assert_non_null(strstr(text, "Test: ?"));
    assert_non_null(strstr(text, "  cpu_pct "));
    assert_non_null(strstr(text, "  ipc "));
    assert_non_null(strstr(text, "invert the order"));
    assert_null(strstr(text, "Enter")); // no table here has anywhere to go
    assert_non_null(strstr(text, "fix: take Linux 6.1"));
    free(text);
    pane_free(pane);
    frame_unref(look.frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),     cmocka_unit_test(test_csv),         cmocka_unit_test(test_text),
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_broken_pipe), cmocka_unit_test(test_help),
        cmocka_unit_test(test_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
