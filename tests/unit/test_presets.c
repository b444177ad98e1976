// Presets: the built-in ones, those of files, and names that are neither.
#include "tui/presets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/events/choice.h"
#include "tests/unit/model_test.h"

static void built_in(void **state) {
    (void)state;
    char *text = NULL, error[256];
    assert_int_equal(presets_add(NULL, "exec,module", &text, error, sizeof(error)), 0);
    assert_string_equal(text, "sched:sched_process_exec\nmodule:module_load\nmodule:module_free");
    assert_int_equal(presets_add(NULL, "exit", &text, error, sizeof(error)), 0);
    assert_non_null(strstr(text, "module_free\nsched:sched_process_exit"));
    free(text);
}

static void files_go_first(void **state) {
    (void)state;
    struct preset_files files = {0};
    char *text = NULL, error[256];
    static const char bytes[] = "[exec]\nevent = a:b\n[mine]\nhelp = Mine\nevent = c:d if x == 1\nevent = c:e\n";
    preset_files_parse(&files, "/p", bytes, strlen(bytes));
    assert_int_equal(presets_add(&files, "exec,mine", &text, error, sizeof(error)), 0);
    assert_string_equal(text, "a:b\nc:d if x == 1\nc:e");
    free(text);
    char *list = NULL;
    size_t size;
    FILE *out = open_memstream(&list, &size);
    presets_list(&files, out);
    fclose(out);
    assert_non_null(strstr(list, "mine         Mine\n"));
    assert_null(strstr(list, "Programs that are started")); // replaced by the file's
    free(list);
    preset_files_free(&files);
}

static void unknown(void **state) {
    (void)state;
    char *text = NULL, error[256];
    assert_int_equal(presets_add(NULL, "exce", &text, error, sizeof(error)), -ENOENT);
    assert_string_equal(error, "unknown preset; did you mean exec?");
    assert_int_equal(presets_add(NULL, "zzzzzzzzzz", &text, error, sizeof(error)), -ENOENT);
    assert_string_equal(error,
                        "unknown preset: expected exec, open, mount, exit, kill, signal, tcpretrans, tcplife, oom, "
                        "module, marker, biosnoop, or a preset of a file in /etc/ktop/presets.d");
    assert_int_equal(presets_add(NULL, "", &text, error, sizeof(error)), -ENOENT);
    free(text);
}

// Each one resolves where its events exist.
static void well_formed(void **state) {
    (void)state;
    for (const struct preset *preset = presets; preset->name; preset++) {
        struct tracepoints list;
        struct choice choice;
        struct choice_error error;
        char names[512] = "", line[512], *rest = line, *event;
        snprintf(line, sizeof(line), "%s", preset->events);
        while ((event = strsep(&rest, "\n")))
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%.*s\n", (int)strcspn(event, " "), event);
        tracepoints_parse(&list, names, strlen(names));
        assert_int_equal(choice_resolve(&choice, preset->events, &list, &error), 0);
        assert_int_equal(choice.n, list.n);
        choice_free(&choice);
        tracepoints_free(&list);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in),
        cmocka_unit_test(files_go_first),
        cmocka_unit_test(unknown),
        cmocka_unit_test(well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
