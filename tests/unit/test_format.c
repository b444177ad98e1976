// Resolving fields from format files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/format.h"

// A print format that libtraceevent cannot parse must not hide the fields.
static const char text[] = "name: block_rq_x\n"
                           "ID: 1234\n"
                           "format:\n"
                           "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                           "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
                           "\n"
                           "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
                           "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
                           "\tfield:short level;\toffset:24;\tsize:2;\tsigned:1;\n"
                           "\tfield:char rwbs[8];\toffset:26;\tsize:8;\tsigned:0;\n"
                           "\tfield:__data_loc char[] cmd;\toffset:36;\tsize:4;\tsigned:0;\n"
                           "\n"
                           "print fmt: \"%d\", some_function_of_the_kernel(REC->dev, {\n";

static void fields_are_found(void **state) {
    (void)state;
    struct format_field fields[] = {{.name = "common_pid"}, {.name = "sector"}, {.name = "level"},
                                    {.name = "cmd"},        {.name = "rwbs"},   {.name = "ioprio", .optional = true}};
    uint16_t id;
    assert_int_equal(format_parse(text, sizeof(text) - 1, "block", fields, 6, &id, NULL), 0);
    assert_int_equal(id, 1234);
    assert_true(fields[0].offset == 4 && fields[0].size == 4 && fields[0].is_signed);
    assert_true(fields[1].offset == 16 && fields[1].size == 8 && !fields[1].is_signed);
    assert_true(fields[3].offset == 36 && fields[3].size == 4 && fields[3].is_dynamic);
    assert_true(fields[4].offset == 26 && fields[4].size == 8);
    assert_int_equal(fields[5].size, 0);
    assert_int_equal(format_end(fields, 6), 40);
    uint8_t record[40] = {0};
    memcpy(record + 4, &(int32_t){-7}, 4);
    memcpy(record + 16, &(uint64_t){UINT64_MAX}, 8);
    memcpy(record + 24, &(int16_t){-2}, 2);
    assert_int_equal((int64_t)format_u64(record, &fields[0]), -7);
    assert_true(format_u64(record, &fields[1]) == UINT64_MAX);
    assert_int_equal((int64_t)format_u64(record, &fields[2]), -2);
    assert_int_equal(format_u64(record, &fields[5]), 0);
}

static void what_is_missing_is_said(void **state) {
    (void)state;
    struct format_field fields[] = {{.name = "dev"}, {.name = "nr_sector"}};
    const char *missing = NULL;
    uint16_t id;
    assert_int_equal(format_parse(text, sizeof(text) - 1, "block", fields, 2, &id, &missing), -ENOENT);
    assert_string_equal(missing, "nr_sector");
    assert_int_equal(format_parse("nonsense\n", 9, "block", fields, 2, &id, &missing), -EINVAL);
    assert_int_equal(format_parse("", 0, "block", fields, 2, &id, &missing), -EINVAL);
    assert_int_equal(format_read("/nowhere", "block", "block_rq_x", fields, 2, &id, &missing), -ENOENT);
}

static void page_headers(void **state) {
    (void)state;
    static const char wide[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                               "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                               "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                               "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    static const char narrow[] = "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
                                 "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
    assert_int_equal(format_page_header(wide, sizeof(wide) - 1), 16);
    assert_int_equal(format_page_header(narrow, sizeof(narrow) - 1), 12);
    assert_int_equal(format_page_header("field: char", 11), 0);
    assert_int_equal(format_page_header("", 0), 0);
}

static void files_are_read_whole_or_not(void **state) {
    (void)state;
    char path[] = "/tmp/ktop-test-XXXXXX", out[8];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "1234567", 7), 7);
    assert_int_equal(format_file(path, out, sizeof(out)), -EFBIG);
    assert_int_equal(ftruncate(fd, 6), 0);
    assert_int_equal(format_file(path, out, sizeof(out)), 6);
    assert_string_equal(out, "123456");
    close(fd);
    unlink(path);
    assert_int_equal(format_file(path, out, sizeof(out)), -ENOENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(page_headers),
        cmocka_unit_test(files_are_read_whole_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
