// Which tracepoints are recorded: specifications, their errors, the kernel's words about filters.
#include "collectors/events/choice.h"
#include "collectors/kernel/tracefs/event_filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/model_test.h"

static const char available[] =
    "sched:sched_switch\nsched:sched_wakeup\nsched:sched_process_exec\nsignal:signal_generate\n"
    "syscalls:sys_enter_openat\n";

static int resolve(struct choice *choice, const char *text, struct choice_error *error) {
    struct tracepoints list;
    tracepoints_parse(&list, available, strlen(available));
    assert_int_equal(list.n, 5);
    int result = choice_resolve(choice, text, &list, error);
    tracepoints_free(&list);
    return result;
}

static void names_and_filters(void **state) {
    (void)state;
    struct choice choice;
    struct choice_error error;
    assert_int_equal(resolve(&choice, " sched:sched_switch if prev_state == 2 \n\nsignal:signal_generate", &error), 0);
    assert_int_equal(choice.n, 2);
    assert_string_equal(choice.events[0].system, "sched");
    assert_string_equal(choice.events[0].name, "sched_switch");
    assert_string_equal(choice.events[0].filter, "prev_state == 2 ");
    assert_false(choice.events[0].by_glob);
    assert_null(choice.events[1].filter);
    choice_free(&choice);
    assert_int_equal(resolve(&choice, "", &error), 0);
    assert_int_equal(choice.n, 0);
}

static void globs(void **state) {
    (void)state;
    struct choice choice;
    struct choice_error error;
    assert_int_equal(resolve(&choice, "sched:*\nsched:sched_wakeup if pid == 1", &error), 0);
    assert_int_equal(choice.n, 3);
    assert_true(choice.events[0].by_glob);
    assert_string_equal(choice.events[1].filter, "pid == 1"); // the later one holds, once
    assert_false(choice.events[1].by_glob);
    choice_free(&choice);
}

static void errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int code, place;
        const char *sentence;
    } cases[] = {
        {"sched:sched_swich", -ENOENT, 0,
         "sched:sched_swich: this kernel has no such tracepoint; did you mean sched:sched_switch?"},
        {"sched:sched_switch\nxyz:abcdefghij", -ENOENT, 19,
         "xyz:abcdefghij: this kernel has no such tracepoint: `ktop --list tracepoints` lists them"},
        {"sched_switch", -EINVAL, 0,
         "sched_switch: expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER, for example sched:sched_switch"},
        {"sched:", -EINVAL, 0,
         "sched:: expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER, for example sched:sched_switch"},
        {"sched:sched_switch prev_pid == 1", -EINVAL, 0,
         "sched:sched_switch prev_pid == 1: expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER, for example "
         "sched:sched_switch"},
        {"sched:sched_switch if ", -EINVAL, 18, "the filter after \"if\" is missing"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct choice choice;
        struct choice_error error;
        assert_int_equal(resolve(&choice, cases[i].text, &error), cases[i].code);
        assert_string_equal(error.sentence, cases[i].sentence);
        assert_int_equal(error.place, cases[i].place);
        assert_int_equal(choice.n, 0);
    }
}

static void too_many(void **state) {
    (void)state;
    char text[64 * (CHOICE_MAX + 1)], *at = text;
    struct tracepoints list;
    struct choice choice;
    struct choice_error error;
    for (int i = 0; i <= CHOICE_MAX; i++)
        at += sprintf(at, "a:e%d\n", i);
    tracepoints_parse(&list, text, strlen(text));
    assert_int_equal(choice_resolve(&choice, "a:*", &list, &error), -E2BIG);
    assert_string_equal(error.sentence, "a:*: more than 32 tracepoints: choose fewer");
    tracepoints_free(&list);
}

// The text of the filter file of Linux 6.18 after a refused filter.
static void kernel_words(void **state) {
    (void)state;
    char sentence[64];
    int32_t place;
    assert_true(event_filter_error("prev_stat == 2\n          ^\nparse_error: Field not found\n", sentence,
                                   sizeof(sentence), &place));
    assert_string_equal(sentence, "Field not found");
    assert_int_equal(place, 10);
    assert_false(event_filter_error("none\n", sentence, sizeof(sentence), &place));
    assert_int_equal(place, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_filters), cmocka_unit_test(globs),        cmocka_unit_test(errors),
        cmocka_unit_test(too_many),          cmocka_unit_test(kernel_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
