// Filters that cannot be meant: what is said of each, in one line.
#include "tests/unit/screens.h"

#include "collectors/runner.h"
#include "views/filter.h"

static const struct {
    const char *text;
    enum filter_doubt doubt;
    const char *line;
} filters[] = {
    {"", FILTER_MEANT, ""},
    {"fio", FILTER_MEANT, ""},
    {"pid=12", FILTER_MEANT, ""},
    {"pid=", FILTER_MEANT, ""}, // while it is typed
    {"device=vda op=R latency_us>=10ms", FILTER_MEANT, ""},
    {"latency_us=5ms..20ms", FILTER_MEANT, ""},
    {"latency_us=..20ms", FILTER_MEANT, ""},
    {"latency_us=0.5s..", FILTER_MEANT, ""},
    {"latency_us~fast", FILTER_MEANT, ""},
    {"comm=my sqld", FILTER_MEANT, ""},
    {"cgroup=- pid=-", FILTER_MEANT, ""}, // not known
    {"bytes=4.0K", FILTER_MEANT, ""},     // as they are shown
    {"bytes=512B", FILTER_MEANT, ""},
    {"frequency_hz=2.4GHz", FILTER_MEANT, ""},
    {"util_pct>=90%", FILTER_MEANT, ""},
    {"time_s=14:13", FILTER_MEANT, ""},
    {"time_s=23:59..0:01", FILTER_MEANT, ""}, // over midnight
    {"2>&1", FILTER_MEANT, ""},
    {"--root=UUID", FILTER_MEANT, ""},
    {"severity=critical", FILTER_MEANT, ""}, // of a table that the model makes
    {"root=UUID", FILTER_NOTE, "no column root, used as text: `ktop --list columns` lists them"},
    {"devcie=vda", FILTER_NOTE,
     "no column devcie, used as text: did you mean device? `ktop --list columns` lists them"},
    {"pid=5 devcie=vda", FILTER_WRONG,
     "no column devcie, used as text: did you mean device? `ktop --list columns` lists them"},
    {"comm=a devcie=vda", FILTER_NOTE,
     "no column devcie, used as text: did you mean device? `ktop --list columns` lists them"},
    {"latncy_us>10ms", FILTER_WRONG, "no column latncy_us: did you mean latency_us? `ktop --list columns` lists them"},
    {"comm=fio latncy_us>3", FILTER_WRONG,
     "no column latncy_us: did you mean latency_us? `ktop --list columns` lists them"},
    {"latency_us>fast", FILTER_WRONG, "latency_us: fast is not a number: expected a time such as 500us, 10ms or 2s"},
    {"pid=x\033", FILTER_WRONG, "pid: x\\e is not a number: expected a number such as 12, 0.5, 10k or 3M"},
    {"latency_us>10x", FILTER_WRONG, "latency_us: invalid unit x in 10x: expected a time such as 500us, 10ms or 2s"},
    {"bytes>4ms", FILTER_WRONG, "bytes: invalid unit ms in 4ms: expected a size such as 512, 64K, 3M or 2G"},
    {"time_s>25:00", FILTER_WRONG,
     "time_s: 25:00 is not a time: expected a time such as 10ms or 2s, or a clock time such as 14:13:20"},
    {"latency_us=5ms..2ms", FILTER_WRONG, "latency_us: 5ms is above 2ms: write 2ms..5ms"},
    {"latency_us=2ms..2000us", FILTER_WRONG, "latency_us: empty range 2ms..2000us: a range excludes its upper end"},
    {"latency_us=1ms..fast", FILTER_WRONG,
     "latency_us: fast is not a number: expected a time such as 500us, 10ms or 2s"},
    {"latency_us=..", FILTER_WRONG, "latency_us: expected a range: 1..5, 1.. or ..5"},
    {"pid>1 pid>2 pid>3 pid>4 pid>5 pid>6 pid>7 pid>8 pid>9", FILTER_WRONG,
     "too many terms at pid: a filter has at most 8"},
    {"comm=\"my sqld\" op=\"R\" pid=\"12\"", FILTER_MEANT, ""},
    {"comm=\"-\" comm!=\"latncy_us>3\"", FILTER_MEANT, ""},
    {"\"root=UUID\"", FILTER_MEANT, ""},
    {"pid=\"-\"", FILTER_WRONG, "pid: - is not a number: expected a number such as 12, 0.5, 10k or 3M"},
    {"pid=\"\"", FILTER_WRONG, "pid: \"\" is not a number: expected a number such as 12, 0.5, 10k or 3M"},
    {"comm=\"a b", FILTER_WRONG, "\"a b: missing closing quote (write \\\" for a quote inside)"},
    {"\"", FILTER_WRONG, "\": missing closing quote (write \\\" for a quote inside)"},
    {"comm=\"a\"b\"", FILTER_WRONG, "b\" follows a closing quote: write \\\" for a quote inside a value"},
    {"comm=\"a\" b", FILTER_WRONG, "b follows a quoted value and is not a term such as pid=1"},
    {"comm=\"a\" devcie=vda", FILTER_WRONG, "no column devcie: did you mean device? `ktop --list columns` lists them"},
    {"\"a\" pid=1", FILTER_WRONG,
     "pid=1 follows a quoted text: a filter is one text, or terms such as comm=\"a b\" pid=1"},
    {"pid>1 pid>2 pid>3 pid>4 pid>5 pid>6 pid>7 comm=\"a b\" pid>9", FILTER_WRONG,
     "too many terms at pid: a filter has at most 8"},
};

static void doubts(void **state) {
    struct frame *frame = runner_blank_frame();
    char line[200];
    (void)state;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        enum filter_doubt doubt = filter_check(filters[i].text, frame, line, sizeof(line));
        if (doubt != filters[i].doubt || strcmp(line, filters[i].line) != 0)
            fail_msg("%s: %d, %s", filters[i].text, doubt, line);
    }
    char longest[FILTER_SIZE + 1];
    memset(longest, 'a', FILTER_SIZE);
    longest[FILTER_SIZE] = '\0';
    assert_int_equal(filter_check(longest, frame, line, sizeof(line)), FILTER_WRONG);
    assert_string_equal(line, "filter too long: 256 bytes, at most 255");
    assert_int_equal(filter_check(longest + 1, frame, line, sizeof(line)), FILTER_MEANT);
    frame_unref(frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(doubts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
