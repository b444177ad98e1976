// The command line: every option's value, and that wrong usage says what, why and what to do.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tui/options.h"

static bool parse(struct options *options, const char *line) {
    static char words[512];
    char *argv[32] = {"ktop"}, *rest = words, *word;
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    while ((word = strsep(&rest, "|")))
        argv[argc++] = word;
    options_default(options);
    return options_parse(options, *line ? argc : 1, argv);
}

static void test_defaults(void **state) {
    struct options o;
    (void)state;
    assert_true(parse(&o, ""));
    assert_int_equal(o.action, ACTION_TUI);
    assert_int_equal(o.delay_ns, 1000000000);
    assert_int_equal(o.history_bytes, 64 << 20);
    assert_int_equal(o.iterations, 0);
}

static void test_events(void **state) {
    struct options o;
    (void)state;
    assert_true(parse(&o, "-e|cs,cpu-clock|--event|{cs,faults}:u|--event=r1a8"));
    assert_int_equal(o.n_event_texts, 3);
    assert_int_equal(events_resolve(&o), 0);
    assert_ptr_equal(o.collect.events, &o.events);
    assert_int_equal(o.events.n, 5);
    assert_int_equal(o.events.n_groups, 4);
    perf_event_list_free(&o.events);
    assert_true(parse(&o, "-e|cs,cycels\nx"));
    assert_int_equal(events_resolve(&o), 2);
    assert_non_null(strstr(o.error, "--event: unknown event 'cycels"));
    assert_null(strchr(o.error, '\n'));
    perf_event_list_free(&o.events);
    assert_false(parse(&o, "-e"));
    assert_non_null(strstr(o.error, "--event needs SPEC"));
}

static void test_profile(void **state) {
    struct options o;
    (void)state;
    assert_true(parse(&o, "--frequency|999|--call-graph=dwarf,4100|--profile-idle|--profile-event|cs/period=7/"));
    assert_int_equal(o.collect.profile.frequency_hz, 999);
    assert_int_equal(o.collect.profile.call_graph, CALL_GRAPH_DWARF);
    assert_int_equal(o.collect.profile.stack_bytes, 4096);
    assert_true(o.collect.profile.idle);
    assert_int_equal(events_resolve(&o), 0);
    assert_ptr_equal(o.collect.profile.event, &o.profile_events);
    assert_int_equal(o.profile_events.events[0].period, 7);
    assert_int_equal(o.profile_events.events[0].attr.sample_period, 0);
    perf_event_list_free(&o.profile_events);
    assert_false(o.off_cpu);
    assert_false(o.no_profile);
    assert_true(parse(&o, "--no-profile"));
    assert_true(o.no_profile);
    assert_true(parse(&o, "--off-cpu|--call-graph|fp"));
    assert_true(o.off_cpu);
    assert_false(o.collect.profile.wakers);
    assert_int_equal(o.collect.profile.call_graph, CALL_GRAPH_FP);
    assert_int_equal(events_resolve(&o), 0);
    assert_null(o.collect.profile.event);
    assert_true(parse(&o, "--wakers"));
    assert_true(o.off_cpu && o.collect.profile.wakers);
    assert_true(parse(&o, "--profile-event|cs,faults"));
    assert_int_equal(events_resolve(&o), 2);
    assert_non_null(strstr(o.error, "expected one event"));
    perf_event_list_free(&o.profile_events);
    static const char *const wrong[] = {"--frequency|0",       "--frequency|x",    "--frequency|1000001",
                                        "--call-graph|dwarf,", "--call-graph|lbr", "--call-graph|dwarf,70000",
                                        "--profile-event|"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (parse(&o, wrong[i]))
            fail_msg("%s is accepted", wrong[i]);
}

static void test_hidden(void **state) {
    struct options o;
    (void)state;
    assert_true(parse(&o, "--test|buffer_kib=64|--test|clock=mono|--test=task_bound_pct=0.2|--test|function_bound_pct="
                          "3|--test|task_events=cycles=1:2,a=3:4"));
    assert_int_equal(o.collect.test.buffer_kib, 64);
    assert_true(o.collect.test.clock_mono && o.collect.test.task_bound_pct == 0.2 &&
                o.collect.test.function_bound_pct == 3);
    assert_string_equal(o.collect.test.task_events, "cycles=1:2,a=3:4");
    assert_false(parse(&o, "--test|buffer_kib=0"));
    assert_false(parse(&o, "--test|clock=local"));
    assert_false(parse(&o, "--test|task_bound_pct"));
    assert_false(parse(&o, "--tes=1x"));
    assert_false(parse(&o, "--tets=1"));
    assert_null(strstr(o.error, "did you mean --test"));
}

static void test_values(void **state) {
    struct options o;
    (void)state;
    assert_true(
        parse(&o, "--batch|--pane|tasks,cpus|-Pdisk|--format|json|-n|3|-d|0.5|-H|-s|-pid|--filter|x y|-p|1,42"));
    assert_int_equal(o.action, ACTION_BATCH);
    assert_string_equal(o.pane_names, "tasks,cpus,disk");
    assert_int_equal(o.format, FORMAT_JSON);
    assert_int_equal(o.iterations, 3);
    assert_int_equal(o.delay_ns, 500000000);
    assert_true(o.collect.threads);
    assert_string_equal(o.sort, "-pid");
    assert_string_equal(o.filter, "x y");
    assert_int_equal(o.collect.n_pids, 2);
    assert_ptr_equal(o.collect.pids, o.pids);
    assert_int_equal(o.pids[1], 42);
    assert_true(parse(&o, "--history|1.5g|--children|--pid=7|--ascii|--user|0|--budget|40"));
    assert_int_equal(o.collect.budget_pct, 40);
    assert_int_equal(o.history_bytes, 3ull << 29);
    assert_true(o.collect.children && o.ascii && o.collect.has_user);
    assert_int_equal(o.collect.user, 0);
    assert_true(parse(&o, "-u|root"));
    assert_int_equal(o.collect.user, 0);
    assert_true(parse(&o, "--list|columns"));
    assert_true(o.action == ACTION_LIST && o.list == LIST_COLUMNS);
    assert_true(parse(&o, "-d|0.1") && o.delay_ns == 100000000);
    assert_true(parse(&o, "-d|60"));
}

static void test_wrong(void **state) {
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"-d|0.05", "0.1 to 60"},
        {"-d|61", "0.1 to 60"},
        {"-d|nan", "0.1 to 60"},
        {"-d|1x", "0.1 to 60"},
        {"-n|0", "integer >= 1"},
        {"-n|-3", "integer >= 1"},
        {"-n|2.5", "integer >= 1"},
        {"-F|xml", "text, csv, json or folded"},
        {"-p|1,x", "process IDs"},
        {"-p|", "process IDs"},
        {"-p|0", "process IDs"},
        {"-p|1,", "process IDs"},
        {"-u|no-such-user-here", "no such user"},
        {"--history|10", "at least 1M"},
        {"--history|-1G", "at least 1M"},
        {"--history|64Q", "at least 1M"},
        {"--budget|0.5", "1 to 100"},
        {"--budget|101", "1 to 100"},
        {"--budget|much", "1 to 100"},
        {"--list|colums", "did you mean columns?"},
        {"--bach", "did you mean --batch?"},
        {"--zzzzzzzz", "unknown option --zzzzzzzz"},
        {"-Z", "unknown option -Z"},
        {"-bZ", "unknown option -Z"},
        {"--delay", "--delay needs SECS"},
        {"-d", "--delay needs SECS"},
        {"--batch=3", "takes no value"},
        {"tasks", "unexpected argument tasks"},
        {"--children", "--pid"},
        {"-P|", "--list panes"},
        {"-s|-", "--list columns"},
        {"-Q\033[31m", "unknown option -Q"},
        {"--x\033[31m", "\\e[31m"},
        {"-r|", "--record needs a file name"},
        {"--replay|", "--replay needs a file name"},
        {"-r|a|-R|b", "cannot be recorded"},
        {"-b|-r|-", "both write to standard output"},
        {"-R|a|-p|1", "--filter chooses rows"},
        {"-R|a|-H", "--filter chooses rows"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct options o;
        if (parse(&o, cases[i].line) || !strstr(o.error, cases[i].says))
            fail_msg("%s: %s", cases[i].line, o.error);
        assert_null(strchr(o.error, '\033'));
        assert_null(strchr(o.error, '\n'));
    }
}

static void test_help(void **state) {
    char *text = NULL, line[64];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    options_help(out);
    fclose(out);
    for (const struct option_row *row = option_rows; row->name; row++) {
        snprintf(line, sizeof line, "--%s ", row->name);
        if (!row->help) {
            assert_null(strstr(text, line));
            continue;
        }
        assert_non_null(strstr(text, line));
        assert_non_null(strstr(text, row->help));
    }
    for (const char *p = text; *p; p = strchr(p, '\n') + 1)
        assert_true(strchr(p, '\n') - p <= 120);
    free(text);
}

static void test_profile_filters(void **state) {
    static const char *const refused[] = {"--profile-cpus=",       "--profile-cpus=x",  "--profile-cpus=0,",
                                          "--profile-cpus=1-0",    "--profile-cpus=0-", "--profile-cpus=-1",
                                          "--profile-cpus=100000", "--profile-cgroup=", "--profile-cgroup=jobs"};
    struct options o;
    (void)state;
    assert_true(parse(&o, "--profile-cpus=0,0-0|--profile-cgroup=/jobs"));
    assert_string_equal(o.collect.profile.cpus, "0,0-0");
    assert_string_equal(o.collect.profile.cgroup, "/jobs");
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_false(parse(&o, refused[i]));
        assert_non_null(strstr(o.error, "--profile-c"));
    }
}

static void test_folded(void **state) {
    static const char *const refused[] = {"-b|-F|folded|-P|disk", "-b|-F|folded|-P|profile,disk", "-b|-F|folded"};
    struct options o;
    (void)state;
    assert_true(parse(&o, "-b|-F|folded|-P|profile"));
    assert_true(names_resolve(&o));
    assert_int_equal(o.format, FORMAT_FOLDED);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_true(parse(&o, refused[i]));
        assert_false(names_resolve(&o));
        assert_non_null(strstr(o.error, "has no call paths: use --pane profile"));
        assert_null(strchr(o.error, '\n'));
    }
}

static void test_nearest(void **state) {
    static const char *const names[] = {"tasks", "triage", "cpus", "memory", "cpu_pct", "health", NULL};
    (void)state;
    assert_string_equal(name_nearest("task", names), "tasks");
    assert_string_equal(name_nearest("traige", names), "triage");
    assert_string_equal(name_nearest("memroy", names), "memory");
    assert_string_equal(name_nearest("mem", names), "memory");
    assert_string_equal(name_nearest("CPUS", names), "cpus");
    assert_null(name_nearest("xylophone", names));
    assert_null(name_nearest("", names));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_profile),
        cmocka_unit_test(test_hidden),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_events),   cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_help),     cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_folded),   cmocka_unit_test(test_profile_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
