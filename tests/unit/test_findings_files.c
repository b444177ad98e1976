// The finding about file systems that are full.
#include "tests/unit/forge.h"

#include <math.h>

#include "model/findings.h"

static const struct column files_columns[] = {{.name = "mount", .type = COLUMN_TEXT},
                                              {.name = "device", .type = COLUMN_TEXT},
                                              {.name = "size_kib"},
                                              {.name = "available_kib"},
                                              {.name = "inodes"},
                                              {.name = "inodes_free"}};
static const struct table_def files_def = {
    .name = "filesystems", .help = "", .columns = files_columns, .n_columns = 6, .n_keys = 1};
static const struct column io_columns[] = {{.name = "pid"},
                                           {.name = "comm", .type = COLUMN_TEXT},
                                           {.name = "device", .type = COLUMN_TEXT},
                                           {.name = "op", .type = COLUMN_TEXT},
                                           {.name = "ios_per_s"},
                                           {.name = "bytes_per_s"}};
static const struct table_def io_def = {
    .name = "by_process", .help = "", .columns = io_columns, .n_columns = 6, .n_keys = 4};
static const struct column task_columns[] = {{.name = "pid"},
                                             {.name = "comm", .type = COLUMN_TEXT},
                                             {.name = "write_bytes_per_s"},
                                             {.name = "ended_s"},
                                             {.name = "ppid"}};
static const struct table_def tasks_def = {
    .name = "tasks", .help = "", .columns = task_columns, .n_columns = 5, .n_keys = 1};

// The findings in the second of two equal frames: "severity resource pid: evidence" a line.
static const char *told_with(const char *const *files, bool accounted) {
    static char out[2048];
    static const char *const ios[] = {"pid=11|comm=reader|device=vda|op=R|ios_per_s=9|bytes_per_s=9000",
                                      "pid=12|comm=logger|device=vda|op=W|ios_per_s=1|bytes_per_s=1000",
                                      "pid=13|comm=other|device=vdb|op=W|ios_per_s=9|bytes_per_s=9000", NULL};
    static const char *const tasks[] = {"pid=13|comm=other|write_bytes_per_s=9000", NULL};
    struct findings *findings = findings_new();
    out[0] = '\0';
    for (uint64_t number = 1; number <= 2; number++) {
        struct section *section = forge_section("filesystems", number);
        section_table(section, forge_table(&files_def, files));
        section_table(section, forge_table(&tasks_def, tasks));
        if (accounted)
            section_table(section, forge_table(&io_def, ios));
        struct frame *frame = forge_frame(number);
        frame_add_section(frame, section, 0);
        struct section *result = findings_section(findings, frame, NULL);
        const struct table *table = section_find_table(result, "findings");
        size_t cursor = 0, used = 0;
        for (const union cell *row; number == 2 && (row = table_next(table, &cursor));)
            used += (size_t)snprintf(out + used, sizeof(out) - used, "%s %s %.0f: %s\n",
                                     text_bytes(row[table_column(&findings_table, "severity")].text),
                                     text_bytes(row[table_column(&findings_table, "resource")].text),
                                     row[table_column(&findings_table, "culprit_pid")].num,
                                     text_bytes(row[table_column(&findings_table, "evidence")].text));
        section_unref(result);
        frame_unref(frame);
    }
    findings_free(findings);
    return out;
}

static const char *reported(const char *const *files) {
    return told_with(files, true);
}

static void no_room(void **state) {
    (void)state;
    assert_string_equal(
        reported((const char *const[]){"mount=/var|device=vda|size_kib=20971520|available_kib=0", NULL}),
        "critical filesystem 12: the file system on /var is full: 0 of 20.0G left (0.0 %), writes "
        "fail; logger (pid 12) writes most on vda\n");
    assert_string_equal(reported((const char *const[]){"mount=/tmp|size_kib=1048576|available_kib=12288", NULL}),
                        "warning filesystem nan: the file system on /tmp is nearly full: 12.0M of 1.0G left (1.2 %)\n");
}

static void no_files(void **state) {
    (void)state;
    assert_string_equal(
        reported((const char *const[]){"mount=/a|size_kib=1048576|available_kib=1000000|inodes=65536|inodes_free=0",
                                       "mount=/b|size_kib=1048576|available_kib=1000000|inodes=65536|inodes_free=900",
                                       NULL}),
        "critical filesystem nan: the file system on /a is full: 0 of 65536 inodes left: too many "
        "files, no file can be created\nwarning filesystem nan: the file system on /b is nearly full: 900 of "
        "65536 inodes left: too many files\n");
}

// The culprit and its finding in the last of some frames, with what is left and the tasks that write (NULL: none) in
// each.
static const char *filled_with(const double *left, const char *const *const *wrote, int frames) {
    static const char *const none[] = {NULL};
    static char out[512];
    struct findings *findings = findings_new();
    out[0] = '\0';
    for (int i = 0; i < frames; i++) {
        char row[128];
        struct section *section = forge_section("filesystems", (uint64_t)i + 1);
        struct frame *frame = forge_frame((uint64_t)i + 1);
        snprintf(row, sizeof(row), "mount=/m|device=loop0|size_kib=409600|available_kib=%.0f", left[i]);
        section_table(section, forge_table(&files_def, (const char *const[]){row, NULL}));
        section_table(section, forge_table(&tasks_def, wrote[i] ? wrote[i] : none));
        frame_add_section(frame, section, 0);
        struct section *result = findings_section(findings, frame, NULL);
        size_t cursor = 0;
        const union cell *found = table_next(section_find_table(result, "findings"), &cursor);
        if (i == frames - 1 && found)
            snprintf(out, sizeof(out), "%.0f: %s", found[table_column(&findings_table, "culprit_pid")].num,
                     text_bytes(found[table_column(&findings_table, "evidence")].text));
        section_unref(result);
        frame_unref(frame);
    }
    findings_free(findings);
    return out;
}

// Besides another one that writes all the time.
static const char *filled(const double *left, const char *const *wrote, int frames) {
    const char *rows[8][3] = {{NULL}};
    const char *const *all[8];
    for (int i = 0; i < frames; i++) {
        rows[i][0] = "pid=9|comm=log|write_bytes_per_s=20000000";
        rows[i][1] = wrote[i];
        all[i] = rows[i];
    }
    return filled_with(left, all, frames);
}

// In the third of six frames.
static const char *filled_by(const double *left, const char *const *rows) {
    return filled_with(left, (const char *const *const[]){NULL, NULL, rows, NULL, NULL, NULL}, 6);
}

// It wrote what was taken, and has ended. What it wrote may be reported a frame later.
static void writer_that_ended(void **state) {
    (void)state;
    static const char dd[] = "pid=77|comm=dd|write_bytes_per_s=380000000", cat[] = "pid=78|comm=cat";
    static const char named[] = "77: the file system on /m is full: 0 of 400M left (0.0 %), writes fail; dd (pid 77) "
                                "wrote 362M just before";
    static const double left[] = {400000, 400000, 0, 0, 0, 0};
    static const char kernel[] = "pid=5|ppid=2|comm=kworker/u8:0|write_bytes_per_s=400000000";
    assert_string_equal(filled(left, (const char *const[]){cat, cat, dd, cat, cat, cat}, 6), named);
    assert_string_equal(filled_by(left, (const char *const[]){kernel, dd, NULL}), named);
    assert_string_equal(filled(left, (const char *const[]){cat, cat, cat, dd, cat, cat}, 6), named);
    // Its parent has taken over what it wrote.
    static const char *const both[] = {"pid=70|comm=bash|write_bytes_per_s=380100000",
                                       "pid=77|comm=dd|write_bytes_per_s=380000000|ended_s=5"};
    assert_string_equal(filled_by(left, (const char *const[]){both[0], both[1], NULL}), named);
    assert_string_equal(filled_by(left, (const char *const[]){both[1], both[0], NULL}), named);
    // Too late, too early, or too little.
    static const char none[] = "nan: the file system on /m is full: 0 of 400M left (0.0 %), writes fail";
    assert_string_equal(filled(left, (const char *const[]){cat, cat, cat, cat, dd, cat}, 6), none);
    assert_string_equal(filled(left, (const char *const[]){cat, dd, cat, cat, cat, cat}, 6), none);
    assert_string_equal(filled(left, (const char *const[]){cat, cat, cat, cat, cat, cat}, 6), none);
    // Another one has filled it since.
    static const double twice[] = {400000, 400000, 100000, 400000, 0, 0};
    assert_string_equal(filled(twice, (const char *const[]){cat, cat, dd, cat, cat, cat}, 6), none);
}

// A task that writes to other disks is no culprit.
static void no_culprit(void **state) {
    (void)state;
    assert_string_equal(
        told_with((const char *const[]){"mount=/var|device=vda|size_kib=20971520|available_kib=0", NULL}, false),
        "critical filesystem nan: the file system on /var is full: 0 of 20.0G left (0.0 %), writes fail\n");
}

// A small share of a large one is still room: nothing fails yet.
static void share(void **state) {
    (void)state;
    assert_string_equal(
        reported((const char *const[]){
            "mount=/a|size_kib=4294967296|available_kib=1992294",
            "mount=/b|size_kib=4294967296|available_kib=4e9|inodes=65000000|inodes_free=60000", NULL}),
        "warning filesystem nan: the file system on /a is nearly full: 1.9G of 4.0T left (0.0 %)\nwarning filesystem "
        "nan: the file system on /b is nearly full: 60000 of 65000000 inodes left: too many files\n");
}

// Much is left of a large one, a small one is full by nature, and what was not measured is not full.
static void room(void **state) {
    (void)state;
    assert_string_equal(reported((const char *const[]){"mount=/big|size_kib=1e9|available_kib=9e6",
                                                       "mount=/half|size_kib=1e6|available_kib=30000",
                                                       "mount=/one|size_kib=4|available_kib=0", "mount=/x|size_kib=1e9",
                                                       "mount=/y", "size_kib=1e9|available_kib=0", NULL}),
                        "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_room),           cmocka_unit_test(no_files), cmocka_unit_test(no_culprit),
        cmocka_unit_test(writer_that_ended), cmocka_unit_test(share),    cmocka_unit_test(room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
