// The global state of the function graph tracer, in a forged tracefs: refused while it is in use, restored to its
// defaults, and by the sweep for a ktop that is gone.
#include "collectors/kernel/tracefs/graph_state.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/sweep.h"
#include "tests/unit/forge_files.h"
#include "tests/unit/model_test.h"

#define NOBODY 2147483646 // above every pid_max

static char root[48];

static const char *const defaults[][2] = {
    {"set_graph_function", "#### all functions enabled ####\n"},
    {"set_graph_notrace", "#### no functions disabled ####\n"},
    {"max_graph_depth", "0\n"},
    {"current_tracer", "nop\n"},
    {"set_ftrace_pid", "no pid\n"},
    {"set_ftrace_notrace_pid", "no pid\n"},
    {"set_ftrace_filter", "#### all functions enabled ####\n"},
    {"set_ftrace_notrace", "#### no functions disabled ####\n"},
    {"set_event", ""},
    {"tracing_on", "1\n"},
    {"tracing_cpumask", "ffff,ffffffff\n"},
    {"per_cpu/cpu0/stats", "entries: 0\noverrun: 0\n"},
    {"buffer_size_kb", "7 (expanded: 1408)\n"},
    {"trace", ""},
    {"dynamic_events", ""},
    {"instances/other/current_tracer", "nop\n"},
};
#define FILES (sizeof(defaults) / sizeof(defaults[0]))

static int begin(void **state) {
    (void)state;
    strcpy(root, "/tmp/test_graph_state_XXXXXX");
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < FILES; i++)
        forge_file(root, defaults[i][0], defaults[i][1]);
    return 0;
}

static int end(void **state) {
    (void)state;
    char command[96];
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

// The first line of a file.
static const char *line_of(const char *file) {
    static char text[256];
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, file);
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    if (!fgets(text, sizeof(text), in))
        text[0] = '\0';
    fclose(in);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

static char reason[256], fix[256];
static int unused(bool top, const char *own) {
    reason[0] = fix[0] = '\0';
    return graph_state_unused(root, top, own, reason, sizeof(reason), fix, sizeof(fix));
}

static void in_use(void **state) {
    (void)state;
    static const struct {
        const char *file, *text;
        bool top; // matters only there
    } cases[] = {
        {"set_graph_function", "vfs_read\nvfs_write\n", false},
        {"set_graph_notrace", "vfs_read\n", false},
        {"max_graph_depth", "3\n", false},
        {"current_tracer", "function_graph\n", false},
        {"current_tracer", "function\n", true},
        {"set_ftrace_pid", "12\n", true},
        {"set_ftrace_notrace_pid", "12\n", true},
        {"set_ftrace_filter", "vfs_read\n", true},
        {"set_ftrace_filter", "#### all functions enabled ####\nvfs_read:traceon:unlimited\n", true},
        {"set_ftrace_notrace", "vfs_read\n", true},
        {"set_event", "sched:sched_switch\n", true},
        {"tracing_on", "0\n", true},
        {"tracing_cpumask", "0000,00000000\n", true},
        {"per_cpu/cpu0/stats", "entries: 12\noverrun: 0\n", true},
    };
    assert_int_equal(unused(false, NULL), 0);
    assert_int_equal(unused(true, NULL), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        forge_file(root, cases[i].file, cases[i].text);
        assert_int_equal(unused(false, NULL), cases[i].top ? 0 : -EBUSY);
        assert_int_equal(unused(true, NULL), -EBUSY);
        assert_true(reason[0] && fix[0]);
        for (size_t k = 0; k < FILES; k++)
            if (!strcmp(defaults[k][0], cases[i].file))
                forge_file(root, cases[i].file, defaults[k][1]);
        assert_int_equal(unused(true, NULL), 0);
    }
    forge_file(root, "instances/other/current_tracer", "function_graph\n");
    assert_int_equal(unused(false, NULL), -EBUSY);
    assert_non_null(strstr(reason, "instance other"));
    assert_int_equal(unused(false, "other"), 0);
    forge_file(root, "instances/other/current_tracer", "nop\n");
    forge_file(root, "instances/ktop-77-88-graph/current_tracer", "nop\n"); // of a ktop that is being swept
    assert_int_equal(unused(false, NULL), -EBUSY);
    assert_int_equal(unused(false, "ktop-77-88-graph"), 0);
}

static void marks(void **state) {
    (void)state;
    static const char *const yes[] = {"ktop-1-2-graph", "ktop-1-2-graph.4026531836", "ktop-1-2-graph-top_1408",
                                      "ktop-1-2-graph-top_7.12"};
    static const char *const no[] = {"graph",           "ktop-1-graph",    "ktop-1-2-graphs",
                                     "ktop-1-2-events", "other-1-2-graph", "ktop-1-2-graph-2"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
        assert_true(graph_state_is_mark(yes[i]));
    for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
        assert_false(graph_state_is_mark(no[i]));
    assert_int_equal(graph_state_top_kib(root), 1408);
    forge_file(root, "buffer_size_kb", "64\n");
    assert_int_equal(graph_state_top_kib(root), 64);
    forge_file(root, "buffer_size_kb", "X\n");
    assert_int_equal(graph_state_top_kib(root), 0);
}

static void set_and_restored(void **state) {
    (void)state;
    char refused[64];
    const struct graph_filters filters = {.functions = "vfs_read,vfs_write", .notrace = "kfree  kmalloc", .depth = 9};
    assert_int_equal(graph_state_set(root, &filters, refused, sizeof(refused)), 0);
    assert_string_equal(line_of("set_graph_function"), "vfs_read");
    assert_string_equal(line_of("set_graph_notrace"), "kfree");
    assert_string_equal(line_of("max_graph_depth"), "9");
    assert_int_equal(unused(false, NULL), -EBUSY);
    forge_file(root, "set_ftrace_pid", "12\n"); // not ktop's
    assert_int_equal(graph_state_restore(root, "ktop-1-2-graph"), 0);
    assert_string_equal(line_of("set_graph_function"), "");
    assert_string_equal(line_of("set_graph_notrace"), "");
    assert_string_equal(line_of("max_graph_depth"), "0");
    assert_string_equal(line_of("set_ftrace_pid"), "12");
    assert_string_equal(line_of("current_tracer"), "nop");
    forge_file(root, "current_tracer", "function_graph\n");
    forge_file(root, "tracing_on", "0\n");
    forge_file(root, "tracing_cpumask", "0\n");
    forge_file(root, "set_ftrace_filter", "vfs_read\n"); // never ktop's
    forge_file(root, "buffer_size_kb", "4096\n");
    assert_int_equal(graph_state_restore(root, "ktop-1-2-graph-top_1408"), 0);
    assert_memory_equal(line_of("current_tracer"), "nop", 3); // the rest is of the file that is none of the kernel's
    assert_string_equal(line_of("set_ftrace_pid"), "");
    assert_string_equal(line_of("set_ftrace_filter"), "vfs_read");
    assert_string_equal(line_of("tracing_on"), "1");
    assert_string_not_equal(line_of("tracing_cpumask"), "0");
    assert_string_equal(line_of("buffer_size_kb"), "1408");
    assert_int_equal(graph_state_restore("/nowhere", "ktop-1-2-graph"), 0);
}

// Functions that switch recording on and off: in the top-level buffer they are removed one by one.
static void commands(void **state) {
    (void)state;
    char refused[64];
    forge_file(root, "set_ftrace_filter", "");
    assert_int_equal(graph_command_set(root, "", "traceon", refused, sizeof(refused)), 0);
    assert_string_equal(line_of("set_ftrace_filter"), "");
    assert_int_equal(graph_command_set(root, "vfs_read", "traceon", refused, sizeof(refused)), 0);
    assert_string_equal(line_of("set_ftrace_filter"), "vfs_read:traceon");
    assert_int_equal(graph_command_set("/nowhere", "vfs_read,vfs_write", "traceoff", refused, sizeof(refused)),
                     -ENOENT);
    assert_string_equal(refused, "vfs_read");
    forge_file(root, "set_ftrace_filter", "vfs_read:traceon:unlimited\n");
    assert_int_equal(graph_state_restore(root, "ktop-1-2-graph"), 0); // an instance takes its own along
    assert_string_equal(line_of("set_ftrace_filter"), "vfs_read:traceon:unlimited");
    assert_int_equal(graph_state_restore(root, "ktop-1-2-graph-top_1408"), 0);
    assert_string_equal(line_of("set_ftrace_filter"), "!vfs_read:traceon"); // what the kernel gets
    forge_file(root, "set_ftrace_filter", "#### all functions enabled ####\n");
}

static void swept(void **state) {
    (void)state;
    char path[192], name[64];
    int left = 0;
    snprintf(name, sizeof(name), "ktop-%d-1-graph", NOBODY);
    snprintf(path, sizeof(path), "%s/instances/%s", root, name);
    assert_int_equal(mkdir(path, 0755), 0);
    forge_file(root, "set_graph_function", "vfs_read\n");
    forge_file(root, "max_graph_depth", "7\n");
    const struct ktop_id other = {.pid = NOBODY, .start = 2, .pid_ns = ktop_id_self()->pid_ns};
    assert_int_equal(sweep_pass(root, &other, NULL, &left), 0);
    assert_string_equal(line_of("set_graph_function"), "vfs_read");
    // While a file cannot be written the mark stays.
    const struct ktop_id dead = {.pid = NOBODY, .start = 1, .pid_ns = ktop_id_self()->pid_ns};
    char busy[128];
    snprintf(busy, sizeof(busy), "%s/max_graph_depth", root);
    unlink(busy);
    assert_int_equal(mkdir(busy, 0755), 0);
    assert_int_equal(sweep_pass(root, &dead, NULL, &left), 0);
    assert_int_equal(left, 1);
    assert_int_equal(access(path, F_OK), 0);
    rmdir(busy);
    forge_file(root, "max_graph_depth", "7\n");
    assert_int_equal(sweep_pass(root, &dead, NULL, &left), 1);
    assert_int_equal(left, 0);
    assert_string_equal(line_of("set_graph_function"), "");
    assert_string_equal(line_of("max_graph_depth"), "0");
    assert_int_equal(access(path, F_OK), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_use, begin, end),
        cmocka_unit_test_setup_teardown(marks, begin, end),
        cmocka_unit_test_setup_teardown(set_and_restored, begin, end),
        cmocka_unit_test_setup_teardown(commands, begin, end),
        cmocka_unit_test_setup_teardown(swept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
