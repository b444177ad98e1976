// The finding about tasks that wait for their CPUs while others are idle.
#include "tests/unit/forge_rules.h"

static const char *step(const char *pinned, const char *cpus, double pressure) {
    rules_begin();
    rules_series("cpu_some_pct", pressure);
    rules_table("pinned", "pid|comm|allowed_cpus|pinned_threads|cpu_pct|run_queue_us", pinned);
    rules_table("cpus", "cpu|idle_pct|iowait_pct", cpus);
    return rules_step();
}

static const char workers[] =
    "7|worker|0|1|24|700000\n8|worker|0|1|26|750000\n9|worker|0|1|50|100000\n5|other|1|1|40|0";

static void pinned(void **state) {
    (void)state;
    assert_string_equal(step(workers, "0|0|0\n1|60|0", 80), ""); // from the second frame on
    assert_string_equal(step(workers, "0|0|0\n1|60|0", 80),
                        "warning pinned_tasks 9 worker: 3 busy tasks may run only on CPU 0 (affinity or cpuset), most "
                        "of all worker (pid 9) with 50 %: it is 100 % busy, tasks wait 80 % of the time, and 1 other "
                        "CPU is idle\n");
}

static void healthy(void **state) {
    (void)state;
    static const struct {
        const char *pinned, *cpus;
        double pressure;
    } cases[] = {
        {workers, "0|0|0\n1|20|0", 80},                                     // no other CPU is idle enough
        {workers, "0|0|0\n1|10|10", 80},                                    // the same
        {workers, "0|15|0\n1|60|0", 80},                                    // their CPU is not full
        {"7|poller|0|1|100|0", "0|0|0\n1|60|0", 5},                         // alone on its CPU
        {"7|a|0|1|50|1000\n8|b|0|1|50|1000", "0|0|0\n1|60|0", 5},           // they do not wait
        {"7|a|0|1|5|900000\n8|b|0|1|5|900000", "0|0|0\n1|60|0", 80},        // another task fills the CPU
        {"7|a|0-1|2|100|900000\n8|b|0-1|1|90|900000", "0|0|0\n1|60|0", 80}, // their mask has an idle CPU
        {"7|a|0|1|99|0\n8|b|1|1|99|0", "0|0|0\n1|0|0\n2|90|0", 10},         // one worker for each of some CPUs
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int frame = 0; frame < 3; frame++)
            assert_string_equal(step(cases[i].pinned, cases[i].cpus, cases[i].pressure), "");
}

// Threads of one process; the table of processes does not show that they wait.
static void threads(void **state) {
    (void)state;
    static const char engine[] = "7|engine|0,2-3|4|299|0";
    for (int i = 0; i < 3; i++)
        assert_string_equal(step(engine, "0|0|0\n1|90|0\n2|1|0\n3|0|4", 35), "");
    step(engine, "0|0|0\n1|90|0\n2|1|0\n3|0|4", 45);
    assert_string_equal(step(engine, "0|0|0\n1|90|0\n2|1|0\n3|0|4", 45),
                        "warning pinned_tasks 7 engine: 4 busy tasks may run only on CPU 0,2-3 (affinity or cpuset), "
                        "most of all engine (pid 7) with 299 %: it is 96 % busy, tasks wait 45 % of the time, and 1 "
                        "other CPU is idle\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {RULES_TEST(pinned), RULES_TEST(healthy), RULES_TEST(threads)};
    return rules_run(tests);
}
