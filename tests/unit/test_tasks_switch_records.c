// Forged perf rings of switch records: every record at every wrap position, lost and malformed ones.
#include "collectors/tasks/switch_records.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RING 256

static _Alignas(8) uint8_t ring[RING];
static uint64_t head;

static void put(const void *bytes, size_t len) {
    for (size_t i = 0; i < len; i++)
        ring[head++ % RING] = ((const uint8_t *)bytes)[i];
}

static void put_switch(bool out, uint32_t task, uint32_t other) {
    struct {
        struct perf_event_header header;
        uint32_t other[2], id[2];
    } r = {{PERF_RECORD_SWITCH_CPU_WIDE, out ? PERF_RECORD_MISC_SWITCH_OUT : 0, sizeof(r)},
           {other, other ? other + 1000 : 0},
           {task, task ? task + 1000 : 0}};
    put(&r, sizeof(r));
}

static void put_comm(bool exec, uint32_t task) {
    struct {
        struct perf_event_header header;
        uint32_t task[2];
        char comm[16];
        uint32_t id[2];
    } r = {{PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, sizeof(r)}, {task, task + 1000}, "x", {1, 1}};
    put(&r, sizeof(r));
}

static char said[256];

static void say(void *context, pid_t pid, pid_t tid, bool exec) {
    (void)context;
    char text[32];
    assert_int_equal(tid, pid + 1000);
    snprintf(text, sizeof(text), "%s%d ", exec ? "exec " : "", pid);
    strcat(said, text);
}

static struct switch_records_read seen;

static uint64_t walk(uint64_t tail) {
    seen = (struct switch_records_read){0};
    said[0] = '\0';
    switch_records_parse(ring, RING, tail, head, say, NULL, &seen);
    return seen.lost;
}

static void who_left_and_who_came(void **state) {
    (void)state;
    for (uint64_t start = 0; start < RING; start += 8) {
        head = start;
        put_switch(true, 5, 6);
        put_switch(false, 6, 5); // the switch-in of the same switch
        put_switch(true, 6, 0);  // to the idle task
        put_switch(true, 0, 7);  // and from it
        put_comm(false, 7);
        put_comm(true, 8);
        assert_int_equal(walk(start), 0);
        assert_string_equal(said, "6 5 6 7 exec 8 ");
        assert_int_equal(seen.switches, 3);
    }
}

static void the_cpu_with_most_is_told(void **state) {
    (void)state;
    seen = (struct switch_records_read){0};
    for (int cpu = 0; cpu < 3; cpu++) {
        head = 0;
        for (int i = 0; i < (cpu == 1 ? 4 : 2); i++) {
            put_switch(true, 5, 6);
            put_switch(false, 6, 5);
        }
        said[0] = '\0';
        switch_records_parse(ring, RING, 0, head, say, NULL, &seen);
    }
    assert_int_equal(seen.switches, 8);
    assert_int_equal(seen.most, 4);
    assert_int_equal(seen.lost, 0);
}

static void lost_records_are_told(void **state) {
    (void)state;
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
        uint32_t sample[2];
    } r = {{PERF_RECORD_LOST, 0, sizeof(r)}, 1, 42, {0, 0}};
    head = 240;
    put_switch(true, 5, 6);
    put(&r, sizeof(r));
    assert_int_equal(walk(240), 42);
    assert_string_equal(said, "6 5 ");
}

static void rubbish_ends_the_walk(void **state) {
    (void)state;
    struct perf_event_header header = {PERF_RECORD_SWITCH_CPU_WIDE, 0, 0};
    static const uint16_t sizes[] = {0, 4, 8, 15, 200, 65535};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        head = 0;
        header.size = sizes[i];
        put(&header, sizeof(header));
        put("12345678", 8);
        assert_true(walk(0) > 0);
        assert_string_equal(said, "");
    }
    head = 4; // less than a header
    assert_true(walk(0) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_left_and_who_came),
        cmocka_unit_test(the_cpu_with_most_is_told),
        cmocka_unit_test(lost_records_are_told),
        cmocka_unit_test(rubbish_ends_the_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
