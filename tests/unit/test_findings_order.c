// The order of findings: causes above their consequences, on frames of the real tables; and the words of each rule.
#include "tests/unit/forge_rules.h"

#include <ctype.h>

#include "model/findings_about.h"
#include "model/findings_private.h"

// The kinds of rules_step(), each with its cause: "memory_low swapping<memory_low ".
static const char *order(void) {
    static char out[512];
    out[0] = '\0';
    rules_step();
    size_t used = 0;
    for (size_t i = 0; i < rules_of.n_kinds; i++)
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s%s ", rules_of.kinds[i],
                                 rules_of.causes[i][0] ? "<" : "", rules_of.causes[i]);
    return out;
}

static void memory_series(void) {
    rules_begin();
    rules_series("mem_total_kib", 1000000);
    rules_series("mem_available_kib", 80000);
    rules_series("swap_in_per_s", 3000);
    rules_series("swap_out_per_s", 3000);
    rules_series("major_faults_per_s", 800);
}

// Swapping is critical, so the group is; the cause of it stands first although it is a warning only.
static void memory(void **state) {
    (void)state;
    memory_series();
    rules_step();
    memory_series();
    assert_string_equal(order(), "memory_low swapping<memory_low major_faults<memory_low ");
}

static void thrash_frame(void) {
    memory_series();
    rules_series("io_some_pct", 50);
    rules_series("tasks_uninterruptible", 12);
    rules_series("cpus_online", 2);
    rules_table("devices", "device|util_pct|reads_per_s|writes_per_s|read_wait_us|write_wait_us|in_flight",
                "vda|99|100|0|60000|0|12");
}

// Little memory over the disk that is busy with it, over the tasks that wait for the disk.
static void thrash(void **state) {
    (void)state;
    thrash_frame();
    rules_step();
    thrash_frame();
    assert_string_equal(order(), "memory_low swapping<memory_low disk_saturated<swapping blocked_tasks<swapping "
                                 "major_faults<memory_low ");
}

static void disk_frame(void) {
    rules_begin();
    rules_series("cpus_online", 2);
    rules_series("io_some_pct", 50);
    rules_series("io_full_pct", 40);
    rules_series("tasks_uninterruptible", 12);
    rules_table("devices", "device|util_pct|reads_per_s|writes_per_s|read_wait_us|write_wait_us|in_flight",
                "vda|99|100|0|60000|0|12\nvdb|99|100|0|90000|0|12");
}

static void disk(void **state) {
    (void)state;
    disk_frame();
    rules_step();
    disk_frame();
    assert_string_equal(order(), "disk_saturated blocked_tasks<disk_saturated disk_saturated ");
}

static void cpu_frame(void) {
    rules_begin();
    rules_series("cpus_online", 4);
    rules_series("cpu_idle_pct", 70);
    rules_series("cpu_iowait_pct", 0);
    rules_series("cpu_some_pct", 60);
    rules_table("tasks", "pid|tid|comm|cpu_pct", "7|7|busy|100");
    rules_table("cpu_limits", "cgroup|cpu_limit_pct|throttled_pct|throttled_us_per_s|processes|pid",
                "/shop|50|40|400000|1|7");
}

static void quota(void **state) {
    (void)state;
    cpu_frame();
    rules_step();
    cpu_frame();
    assert_string_equal(order(), "cpu_limit cpu_pressure<cpu_limit runaway_task<cpu_limit ");
}

static void other_culprit(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("cpus_online", 4);
        rules_series("cpu_idle_pct", 70);
        rules_series("cpu_iowait_pct", 0);
        rules_table("tasks", "pid|tid|comm|cpu_pct", "8|8|innocent|100");
        rules_table("cpu_limits", "cgroup|cpu_limit_pct|throttled_pct|throttled_us_per_s|processes|pid",
                    "/shop|50|40|400000|1|7");
        if (i)
            assert_string_equal(order(), "cpu_limit runaway_task ");
        else
            rules_step();
    }
}

// An error stands above a load of the same severity that began earlier.
static void classes(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        rules_begin();
        rules_series("forks_per_s", 400);
        if (i > 1)
            rules_table("interfaces", "interface|rx_errors_per_s|tx_errors_per_s", "eth0|5|0");
        if (i == 3)
            assert_string_equal(order(), "interface_errors fork_storm ");
        else
            rules_step();
    }
}

static bool leads_to(const char *from, const char *to, int depth) {
    for (const struct finding_about *about = finding_abouts; about->kind && depth < 64; about++)
        if (finding_causes(from, about->kind) && (!strcmp(about->kind, to) || leads_to(about->kind, to, depth + 1)))
            return true;
    return false;
}

static void words(void **state) {
    (void)state;
    size_t n = 0;
    for (; rules[n]; n++) {
        const struct finding_about *about = &finding_abouts[n];
        assert_non_null(about->kind);
        assert_string_equal(about->kind, rules[n]->kind); // the same order
        assert_true(strlen(about->when) > 20 && strlen(about->why) > 10 && strlen(about->advice) > 10);
        assert_true(isupper(about->why[0]) && about->why[strlen(about->why) - 1] == '.');
        assert_true(about->advice[strlen(about->advice) - 1] == '.' && about->when[strlen(about->when) - 1] != '.');
        assert_false(leads_to(about->kind, about->kind, 0));
        char causes[256];
        snprintf(causes, sizeof(causes), "%s", about->causes ? about->causes : "");
        for (char *rest = causes, *kind; (kind = strtok_r(rest, " ", &rest));)
            if (!finding_about(kind))
                fail_msg("%s causes %s, which is no rule", about->kind, kind);
    }
    assert_null(finding_abouts[n].kind);
}

int main(void) {
    const struct CMUnitTest tests[] = {RULES_TEST(memory),     RULES_TEST(thrash),        RULES_TEST(disk),
                                       RULES_TEST(quota),      RULES_TEST(other_culprit), RULES_TEST(classes),
                                       cmocka_unit_test(words)};
    return rules_run(tests);
}
