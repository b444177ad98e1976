// The finding about a process that sends more log lines than the log daemon can read.
#include "tests/unit/forge_rules.h"

#define COLUMNS "pid|comm|cpu_pct|socket|lines_per_s|sender_pid|sender_comm|sender_lines_per_s|waits_pct"

static const char *step(const char *rows) {
    rules_begin();
    if (rows)
        rules_table("log_senders", COLUMNS, rows);
    return rules_step();
}

static void log_flood(void **state) {
    (void)state;
    static const char flood[] = "9|syslogd|55|/dev/log|41000|7|app|40000|5";
    assert_string_equal(step(flood), ""); // from the second frame on
    assert_string_equal(step(flood), "info log_flood 7 app: app (pid 7) sends 40.0k log lines per second through "
                                     "/dev/log to syslogd (pid 9), which uses 55 % of one CPU to read them; the "
                                     "sender waits 5 % of the time (the socket's queue is full)\n");
    assert_string_equal(step("9|syslogd|97|/dev/log|41000|7|app|40000|-"),
                        "warning log_flood 7 app: app (pid 7) sends 40.0k log lines per second through /dev/log to "
                        "syslogd (pid 9), which uses 97 % of one CPU to read them\n");
    for (int i = 0; i < 4; i++)
        step(NULL);
    // The daemon waits for its disk.
    step("9|syslogd|16|/dev/log|2000|7|app|2000|40");
    assert_int_equal(strncmp(step("9|syslogd|16|/dev/log|2000|7|app|2000|40"), "warning log_flood 7 app", 23), 0);
}

static void healthy_log(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_string_equal(step("9|syslogd|60|/dev/log|900|7|app|900|0"), "");   // busy with something else
        assert_string_equal(step("9|syslogd|25|/dev/log|9000|7|app|9000|5"), ""); // fast enough
        assert_string_equal(step("9|syslogd|95|/dev/log|-|-|-|-|-"), "");         // not counted yet
    }
}

// None of them is the culprit.
static void many_senders(void **state) {
    (void)state;
    static const char many[] = "9|journald|97|/run/systemd/journal/stdout|41000|7|app|12000|0";
    step(many);
    assert_string_equal(step(many), "warning log_flood 9 journald: journald (pid 9) uses 97 % of one CPU to read 41.0k "
                                    "log lines per second from /run/systemd/journal/stdout; app (pid 7) sends most, "
                                    "12.0k per second\n");
    static const char kernel[] = "9|journald|50|/dev/kmsg|41000|-|-|-|-";
    for (int i = 0; i < 4; i++)
        step(NULL);
    step(kernel);
    assert_string_equal(step(kernel), "info log_flood 9 journald: journald (pid 9) uses 50 % of one CPU to read 41.0k "
                                      "log lines per second from /dev/kmsg\n");
}

// CPUs that are busy with the sender or with the daemon, but not with another process.
static void busy_by_log(void **state) {
    (void)state;
    static const struct {
        const char *tasks, *cause;
    } cases[] = {{"7|7|app|R|97\n9|9|syslogd|R|90", "log_flood"},
                 {"7|7|app|R|90\n9|9|syslogd|R|97", "log_flood"},
                 {"5|5|cc|R|99\n9|9|syslogd|R|40", ""}};
    for (size_t i = 0; i < 3; i++) {
        for (int frame = 0; frame < 3; frame++) {
            rules_begin();
            rules_series("cpu_idle_pct", 2);
            rules_series("cpus_online", 2);
            rules_series("cpu_some_pct", 50);
            rules_table("tasks", "pid|tid|comm|state|cpu_pct", cases[i].tasks);
            rules_table("log_senders", COLUMNS, "9|syslogd|60|/dev/log|41000|7|app|40000|5");
            rules_step();
        }
        size_t k = 0;
        while (k < rules_of.n_kinds && strcmp(rules_of.kinds[k], "cpu_saturated") != 0)
            k++;
        assert_true(k < rules_of.n_kinds);
        assert_string_equal(rules_of.causes[k], cases[i].cause);
        assert_true(k == 0 || i < 2); // the cause stands ahead
        for (int frame = 0; frame < 5; frame++)
            step(NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {RULES_TEST(log_flood), RULES_TEST(healthy_log), RULES_TEST(many_senders),
                                       RULES_TEST(busy_by_log)};
    return rules_run(tests);
}
