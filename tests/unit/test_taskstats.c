// taskstats messages of several kernels, forged: fields are found by the structure's version and size, cut messages
// are refused, and an aggregate's padding does not matter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <string.h>

#include "collectors/kernel/proc/taskstats.h"

#define SIZE_MAX_STATS 416

static void put16(uint8_t *at, uint16_t v) {
    memcpy(at, &v, 2);
}
static void put32(uint8_t *at, uint32_t v) {
    memcpy(at, &v, 4);
}
static void put64(uint8_t *at, uint64_t v) {
    memcpy(at, &v, 8);
}

static void forge_stats(uint8_t *s, uint16_t version) {
    memset(s, 0, SIZE_MAX_STATS);
    put16(s, version);
    put32(s + 4, 256);
    s[8] = 0x21; // forked, group
    s[9] = (uint8_t)-7;
    put64(s + 16, 11);
    put64(s + 24, 22000);
    put64(s + 72, 33000000);
    strcpy((char *)s + 80, "a)\n\x1b");
    put32(s + 120, 1000);
    put32(s + 128, 501);
    put32(s + 132, 1);
    put32(s + 136, 1700000000);
    put64(s + 144, 5000);
    put64(s + 152, 4000);
    put64(s + 160, 2000);
    put64(s + 168, 71);
    put64(s + 176, 72);
    put64(s + 200, 777); // hiwater_rss
    put64(s + 248, 4096);
    put64(s + 256, 8192);
    put64(s + 272, 3);
    put64(s + 280, 4);
    put64(s + 344, 5000000000ull);
    put32(s + 368, 500);
}

static void versions(void **state) {
    (void)state;
    uint8_t s[SIZE_MAX_STATS];
    struct task_account a;
    forge_stats(s, 13);
    assert_int_equal(taskstats_parse(s, 416, &a), 0);
    assert_int_equal(a.exit_code, 256);
    assert_int_equal(a.nice, -7);
    assert_int_equal(a.runs, 11);
    assert_int_equal(a.run_delay_ns, 22000);
    assert_int_equal(a.cpu_ns, 33000000);
    assert_string_equal(a.comm, "a)\n\x1b");
    assert_int_equal(a.uid, 1000);
    assert_int_equal(a.ppid, 1);
    assert_int_equal(a.elapsed_us, 5000);
    assert_int_equal(a.utime_us, 4000);
    assert_int_equal(a.stime_us, 2000);
    assert_int_equal(a.minflt, 71);
    assert_int_equal(a.majflt, 72);
    assert_int_equal(a.rss_max_kib, 777);
    assert_int_equal(a.read_bytes, 4096);
    assert_int_equal(a.write_bytes, 8192);
    assert_int_equal(a.switches, 7);
    assert_int_equal(a.begin_s, 5000000000ull);
    assert_true(a.has_tgid && a.last && a.forked);
    assert_int_equal(a.tgid, 500);
    // 5.10: version 10 ends with the 64-bit time; its flag bit 0x20 has no meaning.
    forge_stats(s, 10);
    assert_int_equal(taskstats_parse(s, 352, &a), 0);
    assert_int_equal(a.begin_s, 5000000000ull);
    assert_false(a.has_tgid || a.last);
    // 4.x: version 9 has only the short time. A newer one than any known may be larger.
    forge_stats(s, 9);
    assert_int_equal(taskstats_parse(s, 344, &a), 0);
    assert_int_equal(a.begin_s, 1700000000);
    forge_stats(s, 99);
    assert_int_equal(taskstats_parse(s, 416, &a), 0);
    assert_true(a.has_tgid);
    // Too old, or cut: refused.
    forge_stats(s, 3);
    assert_int_not_equal(taskstats_parse(s, 416, &a), 0);
    forge_stats(s, 13);
    assert_int_not_equal(taskstats_parse(s, 280, &a), 0);
    assert_int_not_equal(taskstats_parse(s, 0, &a), 0);
    // A name without an end.
    memset(s + 80, 'x', 32);
    assert_int_equal(taskstats_parse(s, 416, &a), 0);
    assert_int_equal(strlen(a.comm), 32);
}

static size_t put_attr(uint8_t *at, uint16_t type, const void *data, size_t len) {
    struct nlattr attr = {(uint16_t)(NLA_HDRLEN + len), type};
    memset(at, 0, NLA_ALIGN(attr.nla_len));
    memcpy(at, &attr, sizeof(attr));
    if (len)
        memcpy(at + NLA_HDRLEN, data, len);
    return NLA_ALIGN(attr.nla_len);
}

static size_t put_aggregate(uint8_t *at, uint16_t type, uint32_t id, bool padding) {
    uint8_t inside[512], stats[SIZE_MAX_STATS];
    size_t len = put_attr(inside, type == TASKSTATS_TYPE_AGGR_PID ? TASKSTATS_TYPE_PID : TASKSTATS_TYPE_TGID, &id, 4);
    if (padding)
        len += put_attr(inside + len, TASKSTATS_TYPE_NULL, NULL, 0);
    forge_stats(stats, 13);
    len += put_attr(inside + len, TASKSTATS_TYPE_STATS, stats, sizeof(stats));
    return put_attr(at, type, inside, len);
}

struct seen {
    int n;
    struct task_account accounts[4];
};

static void keep(void *context, const struct task_account *account) {
    struct seen *seen = context;
    assert_true(seen->n < 4);
    seen->accounts[seen->n++] = *account;
}

static void messages(void **state) {
    (void)state;
    _Alignas(8) uint8_t bytes[2048];
    struct seen seen = {0};
    size_t len = put_aggregate(bytes, TASKSTATS_TYPE_AGGR_PID, 501, true);
    len += put_aggregate(bytes + len, TASKSTATS_TYPE_AGGR_TGID, 500, false);
    assert_int_equal(taskstats_message(bytes, len, keep, &seen), 2);
    assert_int_equal(seen.accounts[0].pid, 501);
    assert_true(seen.accounts[0].has_all && !seen.accounts[0].group);
    assert_int_equal(seen.accounts[0].tgid, 500);
    assert_int_equal(seen.accounts[1].tgid, 500);
    assert_true(seen.accounts[1].group && !seen.accounts[1].has_all);
    // Truncated anywhere: only complete messages, and no read past the end.
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = test_malloc(cut + 1);
        memcpy(copy, bytes, cut);
        struct seen part = {0};
        assert_true(taskstats_message(copy, cut, keep, &part) <= 1);
        test_free(copy);
    }
    put16(bytes, 2); // an attribute shorter than its own header
    assert_int_equal(taskstats_message(bytes, len, keep, &seen), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),
        cmocka_unit_test(messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
