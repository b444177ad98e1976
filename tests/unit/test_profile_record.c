// Records of a sampling event, forged: each field, and what is cut, too long or without an end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/forge_profile.h"

static struct forged forged;
static const struct profile_format plain = {0}, stacked = {.user_stack = true, .n_user_regs = 3};

static bool decode(const struct perf_event_header *header, struct profile_record *out) {
    return profile_record_decode(&plain, header, out);
}

static void sample(void **state) {
    (void)state;
    struct profile_record r;
    uint64_t ips[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000, (uint64_t)PERF_CONTEXT_USER, 0x401000};
    const struct perf_event_header *header = forged_sample(&forged, PERF_RECORD_MISC_KERNEL, ips, 4);
    assert_true(decode(header, &r));
    assert_int_equal(r.type, RECORD_SAMPLE);
    assert_int_equal(r.pid, 42);
    assert_int_equal(r.tid, 43);
    assert_int_equal(r.time, 777);
    assert_int_equal(profile_record_time(header), 777);
    assert_int_equal(r.sample.cpu, 5);
    assert_int_equal(r.sample.period, 10101010);
    assert_true(r.sample.kernel);
    assert_int_equal(r.sample.n_ips, 4);
    assert_memory_equal(r.sample.ips, ips, sizeof ips);
    assert_null(r.sample.stack);
    forged_sample(&forged, PERF_RECORD_MISC_USER, ips, 0);
    assert_true(decode(forged_end(&forged), &r));
    assert_false(r.sample.kernel);
    assert_int_equal(r.sample.n_ips, 0);
}

// The number of frames says more than the record holds, up to what overflows when multiplied by eight.
static void sample_lies(void **state) {
    (void)state;
    struct profile_record r;
    uint64_t ips[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000};
    static const uint64_t lies[] = {3, 1000, UINT64_MAX, UINT64_MAX / 8 + 1, (uint64_t)1 << 61};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        forged_sample(&forged, PERF_RECORD_MISC_USER, ips, 2);
        memcpy(forged.bytes + 48, &lies[i], 8);
        assert_false(decode(forged_end(&forged), &r));
    }
    for (uint16_t size = 8; size < 72; size += 8) { // cut anywhere
        forged_sample(&forged, PERF_RECORD_MISC_USER, ips, 2);
        forged.n = size;
        assert_false(decode(forged_end(&forged), &r));
    }
}

static void put_stack(uint64_t abi, uint64_t size, uint64_t valid) {
    uint64_t ips[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000};
    forged_sample(&forged, PERF_RECORD_MISC_USER, ips, 2);
    forged_u64(&forged, abi);
    for (uint64_t i = 0; abi && i < 3; i++)
        forged_u64(&forged, 100 + i);
    forged_u64(&forged, size);
    for (uint64_t i = 0; i < size && forged.n + 8 < sizeof forged.bytes; i += 8)
        forged_u64(&forged, i);
    if (size)
        forged_u64(&forged, valid);
}

static void user_stack(void **state) {
    (void)state;
    struct profile_record r;
    put_stack(2, 64, 40);
    assert_true(profile_record_decode(&stacked, forged_end(&forged), &r));
    assert_int_equal(r.sample.regs[2], 102);
    assert_int_equal(r.sample.stack_size, 40);
    assert_int_equal(r.sample.stack[8], 8);
    put_stack(0, 0, 0); // a kernel thread
    assert_true(profile_record_decode(&stacked, forged_end(&forged), &r));
    assert_null(r.sample.regs);
    assert_null(r.sample.stack);
    put_stack(2, 64, 65); // more valid bytes than were copied
    assert_false(profile_record_decode(&stacked, forged_end(&forged), &r));
    put_stack(2, 64, 40);
    uint64_t huge = UINT64_MAX - 7;
    memcpy(forged.bytes + 56 + 16 + 8 + 24, &huge, 8);
    assert_false(profile_record_decode(&stacked, forged_end(&forged), &r));
    put_stack(2, 64, 40);
    forged.n -= 8;
    assert_false(profile_record_decode(&stacked, forged_end(&forged), &r));
}

static void link_register(void **state) {
    (void)state;
    const struct profile_format linked = {.n_user_regs = 1};
    struct profile_record r;
    uint64_t ips[] = {(uint64_t)PERF_CONTEXT_USER, 0x401000};
    forged_sample(&forged, PERF_RECORD_MISC_USER, ips, 2);
    forged_u64(&forged, 2);
    forged_u64(&forged, 0x401234);
    assert_true(profile_record_decode(&linked, forged_end(&forged), &r));
    assert_int_equal(r.sample.n_regs, 1);
    assert_int_equal(r.sample.regs[0], 0x401234);
    assert_null(r.sample.stack);
    forged_sample(&forged, PERF_RECORD_MISC_USER, ips, 2);
    forged_u64(&forged, 1); // 32-bit code
    forged_u64(&forged, 0x401234);
    assert_true(profile_record_decode(&linked, forged_end(&forged), &r));
    assert_int_equal(r.sample.n_regs, 0);
    forged_sample(&forged, PERF_RECORD_MISC_USER, ips, 2);
    forged_u64(&forged, 2);
    assert_false(profile_record_decode(&linked, forged_end(&forged), &r));
}

static void put_mmap2(uint16_t misc, uint64_t length, const char *path) {
    static const uint8_t identity[24] = {20, 0, 0, 0, 0xaa, 0xbb};
    forged_begin(&forged, PERF_RECORD_MMAP2, misc);
    forged_u32(&forged, 42);
    forged_u32(&forged, 43);
    forged_u64(&forged, 0x7f0000001000);
    forged_u64(&forged, length);
    forged_u64(&forged, 0x3000);
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        forged_put(&forged, identity, sizeof identity);
    } else {
        forged_u32(&forged, 8);
        forged_u32(&forged, 1);
        forged_u64(&forged, 1234);
        forged_u64(&forged, 0);
    }
    forged_u64(&forged, 0);
    forged_text(&forged, path);
}

static void mmaps(void **state) {
    (void)state;
    struct profile_record r;
    put_mmap2(PERF_RECORD_MISC_USER, 0x2000, "/lib/libfoo.so");
    assert_true(decode(forged_trailed(&forged, 99), &r));
    assert_int_equal(r.type, RECORD_MMAP);
    assert_int_equal(r.time, 99);
    assert_int_equal(r.pid, 42);
    assert_int_equal(r.mmap.end, 0x7f0000003000);
    assert_int_equal(r.mmap.offset, 0x3000);
    assert_int_equal(r.mmap.device, (uint64_t)8 << 32 | 1);
    assert_int_equal(r.mmap.inode, 1234);
    assert_int_equal(r.mmap.build_id_size, 0);
    assert_string_equal(r.mmap.path, "/lib/libfoo.so");
    put_mmap2(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, 0x2000, "/lib/libfoo.so");
    assert_true(decode(forged_trailed(&forged, 99), &r));
    assert_int_equal(r.mmap.build_id_size, 20);
    assert_int_equal(r.mmap.build_id[1], 0xbb);
    assert_int_equal(r.mmap.inode, 0);
    put_mmap2(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, 0x2000, "x");
    forged.bytes[8 + 32] = 21; // a build ID longer than the field
    assert_true(decode(forged_trailed(&forged, 99), &r));
    assert_int_equal(r.mmap.build_id_size, 0);
    put_mmap2(PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA, 0x2000, "/data");
    assert_true(decode(forged_trailed(&forged, 99), &r));
    assert_int_equal(r.type, RECORD_OTHER);
    put_mmap2(0, 0, "empty");
    assert_false(decode(forged_trailed(&forged, 99), &r));
    put_mmap2(0, UINT64_MAX, "beyond the end of memory");
    assert_false(decode(forged_trailed(&forged, 99), &r));
    put_mmap2(0, 0x1000, "1234567");
    forged.bytes[forged.n - 1] = '8'; // no end; the trailer is no part of it
    assert_false(decode(forged_trailed(&forged, 99), &r));
}

static void tasks(void **state) {
    (void)state;
    struct profile_record r;
    forged_begin(&forged, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    forged_u32(&forged, 7);
    forged_u32(&forged, 8);
    forged_text(&forged, "nginx");
    assert_true(decode(forged_trailed(&forged, 11), &r));
    assert_int_equal(r.type, RECORD_EXEC);
    assert_string_equal(r.comm, "nginx");
    assert_int_equal(r.tid, 8);
    static const uint32_t types[] = {PERF_RECORD_FORK, PERF_RECORD_EXIT};
    for (int i = 0; i < 2; i++) {
        forged_begin(&forged, types[i], 0);
        forged_u32(&forged, 20);
        forged_u32(&forged, 7);
        forged_u32(&forged, 21);
        forged_u32(&forged, 8);
        forged_u64(&forged, 55);
        assert_true(decode(forged_trailed(&forged, 56), &r));
        assert_int_equal(r.type, i ? RECORD_EXIT : RECORD_FORK);
        assert_int_equal(r.pid, 20);
        assert_int_equal(r.parent, 7);
        assert_int_equal(r.tid, 21);
        assert_int_equal(r.time, 56);
    }
}

static void others(void **state) {
    (void)state;
    struct profile_record r;
    forged_begin(&forged, PERF_RECORD_LOST, 0);
    forged_u64(&forged, 1);
    forged_u64(&forged, 17);
    assert_true(decode(forged_trailed(&forged, 5), &r));
    assert_int_equal(r.type, RECORD_LOST);
    assert_int_equal(r.lost, 17);
    forged_begin(&forged, 13, 0); // PERF_RECORD_LOST_SAMPLES
    forged_u64(&forged, 18);
    assert_true(decode(forged_trailed(&forged, 5), &r));
    assert_int_equal(r.lost, 18);
    forged_begin(&forged, 17, 0); // PERF_RECORD_KSYMBOL
    forged_u64(&forged, 0xffffffffc0000000);
    forged_u32(&forged, 512);
    forged_u32(&forged, 1u << 16 | 1); // unregistered, BPF
    forged_text(&forged, "bpf_prog_1");
    assert_true(decode(forged_trailed(&forged, 5), &r));
    assert_int_equal(r.type, RECORD_KSYMBOL);
    assert_int_equal(r.ksymbol.size, 512);
    assert_true(r.ksymbol.gone);
    assert_string_equal(r.ksymbol.name, "bpf_prog_1");
    forged_begin(&forged, 99, 0);
    assert_true(decode(forged_trailed(&forged, 5), &r));
    assert_int_equal(r.type, RECORD_OTHER);
    forged_begin(&forged, 99, 0);
    assert_false(decode(forged_end(&forged), &r));
    assert_int_equal(profile_record_time(forged_end(&forged)), 0);
}

// Whatever the bytes are, nothing outside the record is read: the address sanitizer sees it.
static void rubbish(void **state) {
    (void)state;
    srand(4711);
    for (int round = 0; round < 20000; round++) {
        size_t size = 8 + (size_t)(rand() % 64) * 8;
        uint8_t *bytes = malloc(size);
        struct profile_record r;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(rand() % 4 ? rand() % 4 : rand());
        struct perf_event_header header = {
            .type = (uint32_t)(rand() % 20), .misc = (uint16_t)rand(), .size = (uint16_t)size};
        memcpy(bytes, &header, sizeof header);
        if (profile_record_decode(round % 2 ? &stacked : &plain, (const void *)bytes, &r) && r.type == RECORD_SAMPLE) {
            const uint8_t *end = bytes + size;
            assert_true(r.sample.n_ips * 8 <= size && (const uint8_t *)(r.sample.ips + r.sample.n_ips) <= end);
            assert_true(!r.sample.stack || r.sample.stack + r.sample.stack_size <= end);
        }
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sample),        cmocka_unit_test(sample_lies), cmocka_unit_test(user_stack),
        cmocka_unit_test(link_register), cmocka_unit_test(mmaps),       cmocka_unit_test(tasks),
        cmocka_unit_test(others),        cmocka_unit_test(rubbish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
