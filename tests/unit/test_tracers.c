// Other tracers, in a forged tracefs and /sys. BPF programs of the machine are not forged: they come last.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectors/kernel/tracefs/tracers.h"
#include "tests/unit/model_test.h"

static char root[64];

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static size_t find(struct tracer *out) {
    char sys[128];
    snprintf(sys, sizeof(sys), "%s/sys", root);
    size_t n = tracers_find(root, sys, out, TRACERS_MAX);
    while (n && strstr(out[n - 1].text, "BPF program"))
        n--;
    return n;
}

static void all_kinds(void **state) {
    (void)state;
    struct tracer found[TRACERS_MAX];
    char text[256], command[128];
    strcpy(root, "/tmp/ktop-tracers-XXXXXX");
    assert_non_null(mkdtemp(root));
    put("tracing_on", "1\n");
    put("current_tracer", "nop\n");
    put("set_event", "");
    put("kprobe_events", "");
    put("uprobe_events", "p:ktop_7_9_probes/work /bin/x:0x0000000000001149 ktop_sp=$stack\n");
    put("instances/ktop-7-9-probes/tracing_on", "1\n");
    put("instances/ktop-7-9-probes/current_tracer", "function\n");
    assert_int_equal(find(found), 0); // ktop's own

    put("current_tracer", "function_graph\n");
    put("instances/mine/tracing_on", "1\n");
    put("instances/mine/current_tracer", "nop\n");
    put("instances/mine/set_event", "sched:sched_switch\n");
    put("kprobe_events", "p:kprobes/one vfs_read\nr4:perf/two vfs_write\np:ktop_7_9_probes/three vfs_open\n");
    put("uprobe_events", "p:uprobes/four /bin/x:0x1149\np:ktop_7_9_probes/work /bin/x:0x1149\n");
    put("sys/kernel/livepatch/fix_1/enabled", "1\n");
    put("sys/kernel/livepatch/fix_2/enabled", "0\n");
    put("sys/kernel/debug/kprobes/list", "f0  k  vfs_read+0x0  [FTRACE]\nf1  r  vfs_write+0x0\nf2  k  vfs_open+0x0\n"
                                         "f3  k  do_exit+0x0\n");
    assert_int_equal(find(found), 6);
    assert_string_equal(found[0].text, "tracer function_graph in the top-level instance");
    assert_string_equal(found[1].text, "event sched:sched_switch in the instance mine");
    assert_string_equal(found[2].text, "livepatch fix_1");
    assert_string_equal(found[3].text, "2 kprobes of tracefs, for example kprobes/one");
    assert_string_equal(found[4].text, "1 uprobe of tracefs: uprobes/four");
    assert_string_equal(found[5].text, "1 kprobe of perf, BPF or a module");
    tracers_text(found, 2, text, sizeof(text));
    assert_string_equal(text,
                        "other tracers: tracer function_graph in the top-level instance; event sched:sched_switch "
                        "in the instance mine");
    tracers_text(found, 6, text, 100);
    assert_string_equal(text, "other tracers: tracer function_graph in the top-level instance; ...");
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_kinds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
