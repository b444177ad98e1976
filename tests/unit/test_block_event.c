// Decoding block events in the formats of several kernels.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/forge_block.h"

#define COMMON                                                                                                         \
    "format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                    \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                             \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                     \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                                                       \
    "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"                                                              \
    "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"                                                       \
    "\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"

// Before 6.12: no ioprio, rwbs of 8 bytes.
static const char old_issue[] =
    "name: block_rq_issue\nID: 1100\n" COMMON "\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;\n"
    "\tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;\n"
    "\tfield:char comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
    "\tfield:__data_loc char[] cmd;\toffset:56;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
static const char old_complete[] =
    "name: block_rq_complete\nID: 1103\n" COMMON "\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n"
    "\tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;\n"
    "\tfield:__data_loc char[] cmd;\toffset:40;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";

static void put(uint8_t *record, size_t at, uint64_t value, size_t size) {
    memcpy(record + at, &value, size);
}

static void an_old_kernel(void **state) {
    (void)state;
    struct block_formats formats = {0};
    struct block_event event;
    uint8_t record[64] = {0};
    assert_int_equal(
        block_format_parse(&formats.kinds[BLOCK_ISSUE], BLOCK_ISSUE, old_issue, sizeof(old_issue) - 1, NULL), 0);
    assert_int_equal(block_format_parse(&formats.kinds[BLOCK_COMPLETE], BLOCK_COMPLETE, old_complete,
                                        sizeof(old_complete) - 1, NULL),
                     0);
    block_formats_index(&formats);
    put(record, 0, 1100, 2);
    put(record, 4, 4711, 4);
    put(record, 8, 8 << 20 | 16, 4);
    put(record, 16, 123456789012, 8);
    put(record, 24, 8, 4);
    put(record, 28, 4096, 4);
    memcpy(record + 32, "FWFSM", 6);
    memcpy(record + 40, "sixteen-letters!", 16);
    assert_true(block_event_decode(&formats, 99, record, 60, &event));
    assert_int_equal(event.kind, BLOCK_ISSUE);
    assert_int_equal(event.ts, 99);
    assert_int_equal(event.tid, 4711);
    assert_int_equal(event.dev, 8 << 20 | 16);
    assert_true(event.sector == 123456789012);
    assert_int_equal(event.sectors, 8);
    assert_int_equal(event.bytes, 4096);
    assert_int_equal(event.error, 0);
    assert_int_equal(block_op_of(event.rwbs), BLOCK_WRITE);
    assert_string_equal(event.rwbs, "FWFSM");
    assert_memory_equal(event.comm, "sixteen-letters!", 16);
    assert_false(block_event_decode(&formats, 99, record, 55, &event)); // too short
    assert_false(block_event_decode(&formats, 99, record, 1, &event));
    put(record, 0, 1101, 2);
    assert_false(block_event_decode(&formats, 99, record, 60, &event)); // another event
    put(record, 0, 1, 2);
    assert_false(block_event_decode(&formats, 99, record, 60, &event));
    put(record, 0, 1103, 2);
    put(record, 28, (uint32_t)-5, 4);
    assert_true(block_event_decode(&formats, 99, record, 44, &event));
    assert_int_equal(event.kind, BLOCK_COMPLETE);
    assert_int_equal(event.error, -5);
    assert_int_equal(event.bytes, 8 * 512);
    assert_null(event.comm);
}

static void this_kernel(void **state) {
    (void)state;
    struct block_formats formats;
    forge_formats(&formats, BLOCK_DATA);
    for (int kind = 0; kind < BLOCK_KINDS; kind++)
        assert_true(formats.kinds[kind].present);
    assert_int_equal(formats.kinds[BLOCK_ISSUE].rwbs.offset, 34);
    assert_int_equal(formats.kinds[BLOCK_ISSUE].rwbs.size, 10);
    assert_int_equal(formats.kinds[BLOCK_COMPLETE].error.offset, 28);
}

static void fast_and_slow_decoder_agree(void **state) {
    (void)state;
    struct block_formats formats, slow;
    forge_formats(&formats, BLOCK_DATA);
    memcpy(&slow, &formats, sizeof(slow));
    int plain = 0;
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        plain += formats.layouts[kind].end != UINT32_MAX;
        slow.layouts[kind].end = UINT32_MAX;
    }
    assert_true(plain >= 5);
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        uint8_t record[256];
        struct block_event a, b;
        memset(&a, 0x55, sizeof(a));
        memset(&b, 0xaa, sizeof(b));
        for (size_t i = 0; i < sizeof(record); i++)
            record[i] = (uint8_t)(kind * 31 + (int)i * 7 + 1);
        put(record, 0, formats.kinds[kind].id, 2);
        assert_true(block_event_decode(&formats, 5, record, sizeof(record), &a));
        assert_true(block_event_decode(&slow, 5, record, sizeof(record), &b));
        assert_int_equal(a.ts, b.ts);
        assert_int_equal(a.kind, kind);
        assert_int_equal(a.sector, b.sector);
        assert_int_equal(a.dev, b.dev);
        assert_int_equal(a.old_dev, b.old_dev);
        assert_int_equal(a.sectors, b.sectors);
        assert_int_equal(a.bytes, b.bytes);
        assert_int_equal(a.tid, b.tid);
        assert_int_equal(a.error, b.error);
        assert_int_equal(a.cgroup, b.cgroup);
        assert_int_equal(a.rwbs_size, b.rwbs_size);
        assert_ptr_equal(a.rwbs, b.rwbs);
        assert_ptr_equal(a.comm, b.comm);
        for (uint32_t size = 2; size < formats.kinds[kind].end; size++)
            assert_false(block_event_decode(&formats, 5, record, size, &a));
    }
}

static void operations(void **state) {
    (void)state;
    assert_int_equal(block_op_of("R"), BLOCK_READ);
    assert_int_equal(block_op_of("RAM"), BLOCK_READ);
    assert_int_equal(block_op_of("WS"), BLOCK_WRITE);
    assert_int_equal(block_op_of("FWFS"), BLOCK_WRITE);
    assert_int_equal(block_op_of("FF"), BLOCK_FLUSH);
    assert_int_equal(block_op_of("F"), BLOCK_FLUSH);
    assert_int_equal(block_op_of("DS"), BLOCK_DISCARD);
    assert_int_equal(block_op_of("DE"), BLOCK_DISCARD);
    assert_int_equal(block_op_of("N"), BLOCK_OTHER);
    assert_int_equal(block_op_of(""), BLOCK_OTHER);
}

static void key_is(const char *rwbs, const char *wanted) {
    char name[8];
    block_key_name(block_key_of(rwbs, (uint8_t)block_op_of(rwbs)), name);
    assert_string_equal(name, wanted);
}

static void keys_of_histograms(void **state) {
    (void)state;
    key_is("R", "R");
    key_is("RA", "RA");
    key_is("RSM", "RSM");
    key_is("FWFSM", "WFSM"); // the preflush is no flag of the write
    key_is("FF", "F");
    key_is("DES", "DS");
    key_is("N", "N");
    key_is("", "N");
}

static void an_event_without_its_fields(void **state) {
    (void)state;
    struct block_format format;
    const char *missing = NULL;
    static const char bad[] = "name: block_rq_issue\nID: 7\nformat:\n"
                              "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                              "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: \"\"\n";
    assert_int_equal(block_format_parse(&format, BLOCK_ISSUE, bad, sizeof(bad) - 1, &missing), -ENOENT);
    assert_string_equal(missing, "sector");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_kernel),
        cmocka_unit_test(this_kernel),
        cmocka_unit_test(fast_and_slow_decoder_agree),
        cmocka_unit_test(operations),
        cmocka_unit_test(keys_of_histograms),
        cmocka_unit_test(an_event_without_its_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
