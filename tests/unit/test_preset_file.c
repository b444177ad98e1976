// Preset files: what they define, and what is refused.
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/model_test.h"
#include "tui/preset_file.h"
#include "tui/trusted_file.h"

static void parse(struct preset_files *files, const char *text) {
    preset_files_parse(files, "/p", text, strlen(text));
}

static void defines_presets(void **state) {
    (void)state;
    struct preset_files files = {0};
    parse(&files, "# comment\n\n[nfs-open]\r\nhelp = Files opened over NFS\nevent=nfs4:nfs4_open_file if error != 0\n"
                  "event = nfs4:nfs4_close\n[b]\n  event =\tsched:*  ");
    assert_int_equal(files.n_problems, 0);
    assert_int_equal(files.n, 2);
    const struct preset_entry *entry = preset_files_find(&files, "nfs-open");
    assert_non_null(entry);
    assert_string_equal(entry->help, "Files opened over NFS");
    assert_int_equal(entry->n_events, 2);
    assert_string_equal(entry->events[0], "nfs4:nfs4_open_file if error != 0");
    assert_string_equal(entry->events[1], "nfs4:nfs4_close");
    assert_string_equal(preset_files_find(&files, "b")->events[0], "sched:*");
    parse(&files, "[b]\nevent = irq:*\n");
    assert_int_equal(files.n, 2);
    assert_string_equal(preset_files_find(&files, "b")->events[0], "irq:*");
    assert_null(preset_files_find(&files, "c"));
    preset_files_free(&files);
}

static void one_line_per_error(void **state) {
    (void)state;
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"event = a:b", "/p:1: expected [NAME] before the first key: the file is ignored"},
        {"[a]\nevnt = a:b", "/p:2: unknown key \"evnt\"; did you mean event?: the file is ignored"},
        {"[a]\nzzzzzz = a:b", "/p:2: unknown key \"zzzzzz\"; keys are event and help: the file is ignored"},
        {"[a]\nevent = a", "/p:2: expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER: the file is ignored"},
        {"[a]\nevent = a:b if ", "/p:2: expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER: the file is ignored"},
        {"[a]\nevent = a:b x > 1", "/p:2: expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER: the file is ignored"},
        {"[a]\nevent =", "/p:2: the value is missing: the file is ignored"},
        {"[a]\nevent a:b", "/p:2: expected KEY = VALUE: the file is ignored"},
        {"[a", "/p:1: expected [NAME]: the file is ignored"},
        {"[a b]", "/p:1: expected a preset name of at most 31 letters, digits, '-' or '_': the file is ignored"},
        {"[]", "/p:1: expected a preset name of at most 31 letters, digits, '-' or '_': the file is ignored"},
        {"[a]\nevent = a:b\n[a]", "/p:3: the file defines this preset twice: the file is ignored"},
        {"[a]\nhelp = \x1b[2J", "/p:2: the line has control characters: the file is ignored"},
        {"[good]\nevent = a:b\n[a]\nhelp = x", "/p: preset \"a\" has no events: the file is ignored"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct preset_files files = {0};
        parse(&files, cases[i].text);
        assert_int_equal(files.n, 0);
        assert_int_equal(files.n_problems, 1);
        assert_string_equal(files.problems[0], cases[i].problem);
        preset_files_free(&files);
    }
    struct preset_files files = {0};
    preset_files_parse(&files, "/p", "[a]\0", 4);
    assert_string_equal(files.problems[0], "/p:1: the file has NUL bytes: the file is ignored");
    preset_files_free(&files);
}

static void bounds(void **state) {
    (void)state;
    struct preset_files files = {0};
    char text[4096] = "[a]\n", *at = text + 4;
    for (int i = 0; i <= PRESET_EVENTS_MAX; i++)
        at += sprintf(at, "event = s:e%d\n", i);
    parse(&files, text);
    assert_string_equal(files.problems[0], "/p:34: a preset has at most 32 events: the file is ignored");
    preset_files_free(&files);
    for (int i = 0; i <= PRESETS_MAX; i++) {
        sprintf(text, "[n%d]\nevent = s:e\n", i);
        parse(&files, text);
    }
    assert_int_equal(files.n, PRESETS_MAX);
    assert_string_equal(files.problems[0], "/p: more than 256 presets: [n256] and later ones are ignored");
    preset_files_free(&files);
}

static void write_file(const char *directory, const char *name, const char *text, mode_t mode) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    assert_int_equal(chmod(path, mode), 0);
}

static bool has_problem(const struct preset_files *files, const char *name, const char *why) {
    for (size_t i = 0; i < files->n_problems; i++)
        if (strstr(files->problems[i], name) && strstr(files->problems[i], why))
            return true;
    return false;
}

static void reads_only_trusted_files(void **state) {
    (void)state;
    char directory[] = "/tmp/ktop-presets-XXXXXX", path[300];
    static const char good[] = "[NAME]\nevent = a:b\n";
    struct preset_files files = {0};
    assert_non_null(mkdtemp(directory));
    write_file(directory, "2.preset", "[two]\nevent = a:second\n[both]\nevent = a:second\n", 0644);
    write_file(directory, "1.preset", "[one]\nevent = a:first\n[both]\nevent = a:first\n", 0600);
    write_file(directory, "ignored.txt", "[", 0600);
    write_file(directory, "shared.preset", good, 0666);
    snprintf(path, sizeof path, "%s/link.preset", directory);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    snprintf(path, sizeof path, "%s/fifo.preset", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/big.preset", directory);
    write_file(directory, "big.preset", "", 0600);
    assert_int_equal(truncate(path, TRUSTED_FILE_BYTES + 1), 0);
    if (geteuid() == 0) {
        snprintf(path, sizeof path, "%s/other.preset", directory);
        write_file(directory, "other.preset", good, 0600);
        assert_int_equal(chown(path, 65534, 65534), 0);
    }
    preset_files_read(&files, directory);
    assert_int_equal(files.n, 3);
    assert_string_equal(preset_files_find(&files, "both")->events[0], "a:second"); // the later file
    assert_true(has_problem(&files, "shared.preset", "other users may write to it"));
    assert_true(has_problem(&files, "link.preset", "it is a symbolic link"));
    assert_true(has_problem(&files, "fifo.preset", "it is not a regular file"));
    assert_true(has_problem(&files, "big.preset", "it is larger than 64 KiB"));
    assert_int_equal(files.n_problems, geteuid() == 0 ? 5 : 4);
    if (geteuid() == 0)
        assert_true(has_problem(&files, "other.preset", "another user owns it"));
    preset_files_free(&files);

    assert_int_equal(chmod(directory, 0777), 0);
    preset_files_read(&files, directory);
    assert_int_equal(files.n, 0);
    assert_true(has_problem(&files, directory, "other users may write to it: its presets are ignored"));
    preset_files_free(&files);
    preset_files_read(&files, "/nonexistent/ktop");
    assert_int_equal(files.n_problems, 0);

    static const char *const names[] = {"1.preset",    "2.preset",    "ignored.txt", "shared.preset",
                                        "link.preset", "fifo.preset", "big.preset",  "other.preset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(directory), 0);
}

static void loads_the_users_directory(void **state) {
    (void)state;
    char home[] = "/tmp/ktop-home-XXXXXX", path[300];
    const char *saved = getenv("XDG_CONFIG_HOME");
    char *before = saved ? strdup(saved) : NULL;
    struct preset_files files = {0};
    assert_non_null(mkdtemp(home));
    setenv("XDG_CONFIG_HOME", home, 1);
    snprintf(path, sizeof path, "%s/ktop", home);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/ktop/presets.d", home);
    assert_int_equal(mkdir(path, 0755), 0);
    write_file(path, "a.preset", "[mine]\nevent = a:b\n", 0600);
    preset_files_load(&files);
    assert_non_null(preset_files_find(&files, "mine"));
    preset_files_free(&files);
    snprintf(path, sizeof path, "%s/ktop/presets.d/a.preset", home);
    unlink(path);
    snprintf(path, sizeof path, "%s/ktop/presets.d", home);
    rmdir(path);
    snprintf(path, sizeof path, "%s/ktop", home);
    rmdir(path);
    assert_int_equal(rmdir(home), 0);
    if (before)
        setenv("XDG_CONFIG_HOME", before, 1);
    else
        unsetenv("XDG_CONFIG_HOME");
    free(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defines_presets),
        cmocka_unit_test(one_line_per_error),
        cmocka_unit_test(bounds),
        cmocka_unit_test(reads_only_trusted_files),
        cmocka_unit_test(loads_the_users_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
