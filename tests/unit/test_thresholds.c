// Thresholds of rules: the data, the files that change them, and that a rule uses what is in force.
#include "tests/unit/forge_rules.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/findings_about.h"
#include "model/findings_private.h"
#include "tui/thresholds.h"
#include "tui/trusted_file.h"

static int reset(void **state) {
    (void)state;
    thresholds_reset();
    return 0;
}

static const char *parsed(const char *text) {
    thresholds_reset();
    thresholds_parse("/p", text, strlen(text));
    return thresholds_problems() ? thresholds_problem_at(0) : "";
}

// Every threshold is of a rule that exists, those of one rule are together, and a sentence names only its own.
static void data(void **state) {
    (void)state;
    for (size_t i = 0; i < N_THRESHOLDS; i++) {
        assert_non_null(finding_about(thresholds[i].rule));
        assert_true(thresholds_in_force[i] == thresholds[i].initial);
        assert_int_equal(threshold_find(thresholds[i].rule, thresholds[i].name), i);
        for (size_t k = i + 1; k < N_THRESHOLDS; k++)
            assert_true(strcmp(thresholds[k].rule, thresholds[i].rule) ||
                        !strcmp(thresholds[k].rule, thresholds[k - 1].rule));
    }
    size_t named = 0;
    for (const struct finding_about *about = finding_abouts; about->kind; about++) {
        char text[400];
        for (const char *at = about->when; (at = strchr(at, '{')); at++) {
            size_t length = strcspn(at, "}");
            snprintf(text, sizeof text, "%.*s", (int)length - 1, at + 1);
            if (threshold_find(about->kind, text) == N_THRESHOLDS)
                fail_msg("%s has no threshold %s", about->kind, text);
            named++;
        }
        thresholds_expand(about->kind, about->when, text, sizeof text);
        assert_null(strpbrk(text, "{}"));
        assert_true(strlen(text) < sizeof text - 1);
    }
    assert_true(named > 80);
}

static void units(void **state) {
    (void)state;
    char text[64];
    static const char *const words[][3] = {
        {"cpu_saturated", "busy_pct", "90 %"},     {"disk_latency", "read_ms", "100 ms"},
        {"io_throttled", "wait_us", "10000 us"},   {"filesystem_full", "left_kib", "2097152 KiB"},
        {"fork_storm", "forks_per_s", "300 /s"},   {"cpu_limit", "throttled_us_per_s", "100000 us/s"},
        {"dead_server", "waits_s", "2.5 s"},       {"lock_contention", "waiters", "1.8"},
        {"disk_timeouts", "requeues_per_io", "2"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t at = threshold_find(words[i][0], words[i][1]);
        assert_true(at < N_THRESHOLDS);
        threshold_words(at, thresholds_in_force[at], text, sizeof text);
        assert_string_equal(text, words[i][2]);
    }
    thresholds_expand("filesystem_full", "{left_pct} and {left_kib}, {full_in_s} {nothing} {", text, sizeof text);
    assert_string_equal(text, "2 % and 2 GiB, 5 min {nothing} {");
    thresholds_expand("minor_faults", "{faults_per_s} per second", text, sizeof text);
    assert_string_equal(text, "20,000 per second");
    thresholds_expand("minor_faults", "{faults_per_s} per second", text, 9);
    assert_string_equal(text, "20,000 p");
}

static void changes(void **state) {
    (void)state;
    assert_string_equal(
        parsed("# mine\n\n  cpu_saturated.pressure_pct = 60 %   # busy\r\n"
               "disk_latency.read_ms=50\n\tdead_server.waits_s\t=\t1.5s\nmajor_faults.faults_per_s = 9 /s"),
        "");
    assert_true(LIMIT(cpu_saturated, pressure_pct) == 60);
    assert_true(LIMIT(disk_latency, read_ms) == 50);
    assert_true(LIMIT(dead_server, waits_s) == 1.5);
    assert_true(LIMIT(major_faults, faults_per_s) == 9);
    assert_true(LIMIT(cpu_saturated, busy_pct) == 90);
    parsed("");
    assert_true(LIMIT(cpu_saturated, pressure_pct) == 20);
}

// What `--list rules` prints can be put into a file.
static void takes_its_own_words(void **state) {
    (void)state;
    char line[200], words[64];
    for (size_t i = 0; i < N_THRESHOLDS; i++) {
        threshold_words(i, 7, words, sizeof words);
        snprintf(line, sizeof line, "%s.%s = %s  # default: 1", thresholds[i].rule, thresholds[i].name, words);
        assert_string_equal(parsed(line), "");
        assert_true(thresholds_in_force[i] == 7);
    }
}

static void one_line_per_error(void **state) {
    (void)state;
#define IGNORED ": the file is ignored"
    static const char *const lines[][2] = {
        {"cpu_saturatd.busy_pct = 1", "/p:1: unknown rule \"cpu_saturatd\"; did you mean cpu_saturated?" IGNORED},
        {"quite_another_thing.x = 1", "/p:1: unknown rule \"quite_another_thing\"; see `ktop --list rules`" IGNORED},
        {"\ncpu_saturated.busy_pc = 1",
         "/p:2: the rule cpu_saturated has no threshold \"busy_pc\"; did you mean busy_pct?" IGNORED},
        {"cpu_saturated.xyzzyplugh = 1",
         "/p:1: the rule cpu_saturated has no threshold \"xyzzyplugh\"; its first is busy_pct" IGNORED},
        {"oom_kill.x = 1", "/p:1: the rule oom_kill has no thresholds" IGNORED},
        {"cpu_saturated.busy_pct = much",
         "/p:1: \"much\" is no value of cpu_saturated.busy_pct: expected a number of %, "
         "for example 90 %" IGNORED},
        {"cpu_saturated.busy_pct = -1",
         "/p:1: \"-1\" is no value of cpu_saturated.busy_pct: expected a number of %, for example 90 %" IGNORED},
        {"dead_server.waits_s = 2 ms",
         "/p:1: \"2 ms\" is no value of dead_server.waits_s: expected a number of s, for example 2.5 s" IGNORED},
        {"zombies.zombies = 0x10",
         "/p:1: \"0x10\" is no value of zombies.zombies: expected a number, for example 10" IGNORED},
        {"zombies.zombies = 1e9",
         "/p:1: \"1e9\" is no value of zombies.zombies: expected a number, for example 10" IGNORED},
        {"zombies.zombies = nan",
         "/p:1: \"nan\" is no value of zombies.zombies: expected a number, for example 10" IGNORED},
        {"zombies.zombies = 1.2.3",
         "/p:1: \"1.2.3\" is no value of zombies.zombies: expected a number, for example 10" IGNORED},
        {"zombies.zombies = .",
         "/p:1: \".\" is no value of zombies.zombies: expected a number, for example 10" IGNORED},
        {"zombies.zombies =", "/p:1: expected RULE.NAME = VALUE" IGNORED},
        {"zombies = 3", "/p:1: expected RULE.NAME = VALUE" IGNORED},
        {"zombies.zombies", "/p:1: expected RULE.NAME = VALUE" IGNORED},
        {"zombies.zombies = 3\x1b[2J", "/p:1: the line has control characters" IGNORED},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[200];
        snprintf(text, sizeof text, "cpu_steal.steal_pct = 77\n%s", lines[i][0]);
        assert_string_equal(parsed(lines[i][0]), lines[i][1]);
        parsed(text); // the good line before it has no effect either
        assert_true(LIMIT(cpu_steal, steal_pct) == 10);
    }
    thresholds_reset();
    thresholds_parse("/p", "zombies.zombies = 3\0", 21);
    assert_string_equal(thresholds_problem_at(0), "/p:1: the file has NUL bytes" IGNORED);
}

static void write_file(const char *path, const char *text, mode_t mode) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    assert_int_equal(chmod(path, mode), 0);
}

static const char *read_from(const char *directory) {
    thresholds_reset();
    thresholds_read(directory);
    return thresholds_problems() ? thresholds_problem_at(0) : "";
}

static void only_trusted_files(void **state) {
    (void)state;
    char directory[] = "/tmp/ktop-thresholds-XXXXXX", path[300];
    static const char good[] = "cpu_steal.steal_pct = 77\n";
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/thresholds", directory);
    assert_string_equal(read_from(directory), ""); // no file is no problem
    assert_string_equal(read_from("/nonexistent/ktop"), "");
    write_file(path, good, 0644);
    assert_string_equal(read_from(directory), "");
    assert_true(LIMIT(cpu_steal, steal_pct) == 77);
    assert_int_equal(chmod(path, 0664), 0);
    assert_non_null(strstr(read_from(directory), "/thresholds: other users may write to it: the file is ignored"));
    assert_true(LIMIT(cpu_steal, steal_pct) == 10);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(directory, 0777), 0);
    assert_non_null(strstr(read_from(directory), "other users may write to it: its thresholds are ignored"));
    assert_int_equal(chmod(directory, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_non_null(strstr(read_from(directory), "/thresholds: another user owns it: the file is ignored"));
        assert_true(LIMIT(cpu_steal, steal_pct) == 10);
        assert_int_equal(chown(directory, 65534, 65534), 0);
        assert_non_null(strstr(read_from(directory), "another user owns it: its thresholds are ignored"));
        assert_int_equal(chown(directory, 0, 0), 0);
    }
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_non_null(strstr(read_from(directory), "it is a symbolic link: the file is ignored"));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_non_null(strstr(read_from(directory), "it is not a regular file: the file is ignored"));
    unlink(path);
    write_file(path, "", 0600);
    assert_int_equal(truncate(path, TRUSTED_FILE_BYTES + 1), 0);
    assert_non_null(strstr(read_from(directory), "it is larger than 64 KiB: the file is ignored"));
    unlink(path);
    assert_int_equal(rmdir(directory), 0);
}

static const char *steal_frames(void) {
    const char *said = "";
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("cpu_steal_pct", 12);
        said = rules_step();
    }
    return said;
}

// A rule uses the value in force; a problem is a note of the findings.
static void rules_use_them(void **state) {
    parsed("cpu_steal.steal_pct = 13");
    rules_start(state);
    assert_string_equal(steal_frames(), "");
    rules_end(state);
    parsed("cpu_steal.critical_steal_pct = 12");
    rules_start(state);
    assert_non_null(strstr(steal_frames(), "critical cpu_steal"));
    rules_end(state);
    parsed("cpu_steal.stel_pct = 12");
    rules_start(state);
    struct frame *frame = forge_frame(1);
    struct section *section = findings_section(rules_of.findings, frame, NULL);
    assert_int_equal(section_notes(section), 1);
    assert_string_equal(section_note_at(section, 0)->text, thresholds_problem_at(0));
    section_unref(section);
    frame_unref(frame);
    rules_end(state);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, reset)
    const struct CMUnitTest tests[] = {
        TEST(data),
        TEST(units),
        TEST(changes),
        TEST(takes_its_own_words),
        TEST(one_line_per_error),
        TEST(only_trusted_files),
        TEST(rules_use_them),
    };
    return rules_run(tests);
}
