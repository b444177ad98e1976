// Forged page fault samples: weights, lost samples, malformed records, and the period by load.
#include "collectors/faults/ring.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RING 512
#define MINOR_ID 7
#define MAJOR_ID 9

static uint8_t ring[RING];
static uint64_t head;
static struct faults_source sources[FAULTS_KINDS];
static char reported[512];

static void put(const void *bytes, size_t len) {
    for (size_t i = 0; i < len; i++)
        ring[head++ % RING] = ((const uint8_t *)bytes)[i];
}

static void put_fault(uint64_t id, uint64_t value, uint32_t pid, uint64_t address, uint16_t misc) {
    struct {
        struct perf_event_header header;
        uint64_t ip;
        uint32_t pid, tid;
        uint64_t address, value, id;
    } r = {{PERF_RECORD_SAMPLE, misc, sizeof(r)}, 0x1000 + value, pid, pid + 1000, address, value, id};
    put(&r, sizeof(r));
}

static void put_comm(bool exec, uint32_t pid, const char *comm) {
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        char comm[16];
    } r = {{PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, sizeof(r)}, pid, pid, ""};
    memcpy(r.comm, comm, strnlen(comm, sizeof(r.comm))); // 16 bytes need no NUL
    put(&r, sizeof(r));
}

static void put_lost(uint64_t n) {
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
    } r = {{PERF_RECORD_LOST, 0, sizeof(r)}, MINOR_ID, n};
    put(&r, sizeof(r));
}

static void report_fault(void *context, const struct fault *fault) {
    (void)context;
    assert_int_equal(fault->tid, fault->pid + 1000);
    snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported), "%d:%lx*%lu%s%s ", fault->pid,
             (unsigned long)fault->address, (unsigned long)fault->weight, fault->major ? "M" : "",
             fault->kernel ? "K" : "");
}

static void report_exec(void *context, pid_t pid, const char *comm, size_t length) {
    (void)context;
    snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported), "exec %d=%.*s ", pid, (int)length, comm);
}

static const struct faults_handler handler = {report_fault, report_exec, NULL};

static uint64_t walk(uint64_t tail) {
    reported[0] = '\0';
    return faults_records(ring, RING, tail, head, sources, &handler);
}

static void begin(uint64_t at) {
    memset(sources, 0, sizeof(sources));
    sources[FAULTS_MINOR].id = MINOR_ID;
    sources[FAULTS_MAJOR].id = MAJOR_ID;
    head = at;
}

static void test_records(void **state) {
    (void)state;
    for (uint64_t at = 0; at < RING; at += 8) { // every wrap position
        begin(at);
        put_fault(MINOR_ID, 1, 5, 0xa000, PERF_RECORD_MISC_USER);
        put_fault(MINOR_ID, 2, 6, 0xb000, PERF_RECORD_MISC_KERNEL);
        put_fault(MAJOR_ID, 3, 5, 0xc000, PERF_RECORD_MISC_USER);
        put_comm(false, 5, "renamed");
        put_comm(true, 5, "0123456789abcdef");
        put_fault(MINOR_ID, 19, 5, 0xd000, PERF_RECORD_MISC_USER); // 17 since the previous sample
        assert_int_equal(walk(at), 0);
        assert_string_equal(reported, "5:a000*1 6:b000*1K 5:c000*3M exec 5=0123456789abcdef 5:d000*17 ");
        assert_int_equal(sources[FAULTS_MINOR].samples, 3);
        assert_int_equal(sources[FAULTS_MINOR].counted, 19);
        assert_int_equal(sources[FAULTS_MAJOR].counted, 3);
    }
}

static void test_lost(void **state) {
    (void)state;
    begin(0);
    put_fault(MINOR_ID, 1, 5, 0xa000, 0);
    put_lost(40);
    put_lost(0);
    put_fault(MINOR_ID, 42, 5, 0xb000, 0); // the weight includes the lost samples
    assert_int_equal(walk(0), 41);
    assert_string_equal(reported, "5:a000*1 5:b000*41 ");
}

static void test_malformed(void **state) {
    (void)state;
    begin(0);
    put_fault(3, 1, 5, 0xa000, 0);        // unknown event ID
    put_fault(MINOR_ID, 5, 5, 0xb000, 0); // then counts that do not rise
    put_fault(MINOR_ID, 5, 5, 0xb000, 0);
    put_fault(MINOR_ID, 4, 5, 0xb000, 0);
    struct perf_event_header shorter = {PERF_RECORD_SAMPLE, 0, sizeof(shorter)}, none = {0};
    put(&shorter, sizeof(shorter));
    put(&none, sizeof(none)); // size 0: the walk must end
    assert_int_equal(walk(0), 1);
    assert_string_equal(reported, "5:b000*5 ");
}

static void test_period(void **state) {
    (void)state;
    assert_int_equal(faults_period(0, 0), 1);
    assert_int_equal(faults_period(FAULTS_BUDGET, 1000000000), 1);
    for (uint64_t per_s = FAULTS_BUDGET + 1; per_s < 100000000; per_s += per_s / 7) {
        uint64_t period = faults_period(per_s, 1000000000);
        assert_true((double)per_s / (double)period <= FAULTS_BUDGET); // never more samples than the budget
        assert_true((double)per_s / (double)period >= FAULTS_BUDGET / 4.0 || per_s < 4 * FAULTS_BUDGET);
        for (uint64_t d = 2; d * d <= period; d++)
            assert_int_not_equal(period % d, 0);
        assert_int_equal(faults_period(per_s / 10, 100000000), faults_period(per_s / 10 * 10, 1000000000));
    }
}

// A machine with per_s faults per second; the period is fitted every 10 ms. Returns the samples.
static uint64_t simulate(struct faults_source *source, uint64_t *now_ns, double per_s, double seconds) {
    uint64_t before = source->samples;
    double owed = 0;
    for (int step = 0; step < (int)(seconds * 100); step++) {
        uint64_t faults = (uint64_t)(owed += per_s / 100);
        owed -= (double)faults;
        source->samples += faults / source->period;
        source->counted += faults;
        *now_ns += 10000000;
        faults_fit(source, *now_ns);
    }
    return source->samples - before;
}

static void test_fit(void **state) {
    (void)state;
    struct faults_source source = {.period = 1};
    uint64_t now_ns = 5000000000ull;
    faults_fit(&source, now_ns);
    // Below the budget every fault is sampled.
    assert_int_equal(simulate(&source, &now_ns, 3000, 10), 30000);
    assert_int_equal(source.period, 1);
    // So is a burst within the budget.
    source.samples += 4000;
    source.counted += 4000;
    now_ns += 10000000;
    assert_false(faults_fit(&source, now_ns));
    simulate(&source, &now_ns, 10, 2);
    assert_int_equal(source.period, 1);
    // A high rate is sampled 1:n: the budget once, then at most the budget per second.
    uint64_t samples = simulate(&source, &now_ns, 500000, 10);
    assert_in_range(samples, 10 * FAULTS_BUDGET / 4, 2 * FAULTS_BUDGET + 10 * FAULTS_BUDGET);
    assert_true(source.period > 50);
    // One second later every fault is sampled again.
    simulate(&source, &now_ns, 1000, 2);
    assert_int_equal(source.period, 1);
    assert_int_equal(simulate(&source, &now_ns, 1000, 1), 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_records), cmocka_unit_test(test_lost),
                                       cmocka_unit_test(test_malformed), cmocka_unit_test(test_period),
                                       cmocka_unit_test(test_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
