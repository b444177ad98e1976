// Interrupts: only what ticks has a row, names of several architectures, CPUs and devices that change, big machines.
#include "tests/unit/system_root.h"

#include <time.h>

static const union cell *row_of(const struct fixture *fixture, const char *table, const char *key, double cpu) {
    const struct table *found = section_find_table(fixture->section, table);
    const struct table_def *def = table_def(found);
    int at = table_column(def, "cpu");
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(found, &cursor));)
        if (!strcmp(text_bytes(row[0].text), key) && (row[at].num == cpu || (isnan(cpu) && isnan(row[at].num))))
            return row;
    return NULL;
}

static double rate_of(const struct fixture *fixture, const char *table, const char *key, double cpu) {
    const union cell *row = row_of(fixture, table, key, cpu);
    return row ? row[table_column(table_def(section_find_table(fixture->section, table)), "per_s")].num : -1;
}

static void write_x86(const char *head, unsigned tty, unsigned loc, const char *user) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "%s\n  4:          %u          0  IO-APIC   4-edge      %s\n"
        " 28:          0          7 PCI-MSIX-0000:00:01.0   0-edge      virtio0-config, other user\n"
        " 29:          %u          7 IR-PCI-MSI 524288-edge    \nLOC:      23739      %u   Local timer interrupts\n"
        "ERR:          %u\n",
        head, tty, user, tty, loc, tty);
    root_write("/proc/interrupts", text);
    snprintf(text, sizeof text,
             "                    CPU0       CPU2\n          HI:          0          0\n      NET_RX:          5       "
             "   %u\n",
             loc);
    root_write("/proc/softirqs", text);
}

static void only_what_ticks(void **state) {
    (void)state;
    const char *head = "           CPU0       CPU2       ";
    struct fixture fixture = fixture_new(&system_irq_part);
    write_x86(head, 10, 4294967290u, "ttyS0");
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interrupts"), 0);
    write_x86(head, 30, 14, "ttyS0"); // LOC wraps at 32 bits
    root_clock += 2 * SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interrupts"), 4);
    assert_near(rate_of(&fixture, "interrupts", "4", 0), 10);
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "4", 0)[1].text), "ttyS0");
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "29", 0)[1].text), "IR-PCI-MSI 524288-edge");
    assert_near(rate_of(&fixture, "interrupts", "LOC", 2), 10);
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "LOC", 2)[1].text), "Local timer interrupts");
    assert_near(rate_of(&fixture, "interrupts", "ERR", NAN), 10);
    assert_int_equal(fixture_rows(&fixture, "softirqs"), 1);
    assert_near(rate_of(&fixture, "softirqs", "NET_RX", 2), 10);
    for (int i = 0; i < 10; i++) { // quiet ones stay for a while, at 0
        root_clock += SECOND;
        fixture_sample(&fixture);
        assert_near(rate_of(&fixture, "interrupts", "4", 0), 0);
    }
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interrupts"), 0);
    write_x86(head, 40, 24, "ttyS0");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(rate_of(&fixture, "interrupts", "4", 0), 10);
    fixture_free(&fixture);
}

static void cpus_and_devices_change(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_irq_part);
    write_x86("           CPU0       CPU2", 10, 10, "ttyS0");
    fixture_sample(&fixture);
    write_x86("           CPU0       CPU2", 20, 20, "ttyS0");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(rate_of(&fixture, "interrupts", "LOC", 2), 10);
    write_x86("           CPU0       CPU1", 900, 9000, "ttyS0"); // the columns mean other CPUs now
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "interrupts"), 0);
    write_x86("           CPU0       CPU1", 901, 9001, "nvme0q1"); // another device has the interrupt
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(rate_of(&fixture, "interrupts", "4", 0), -1);
    assert_near(rate_of(&fixture, "interrupts", "LOC", 1), 1);
    write_x86("           CPU0       CPU1", 905, 9005, "nvme0q1");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(rate_of(&fixture, "interrupts", "4", 0), 4);
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "4", 0)[1].text), "nvme0q1");
    root_delete("/proc/interrupts");
    fixture_free(&fixture);
}

static void arm_and_old_names(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_irq_part);
    for (unsigned i = 1; i <= 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "           CPU0\n 11: %u     GICv3  27 Level     arch_timer\n 12: %u  GICv3 28 Edge\n  0: %u  "
                 "IO-APIC-edge  timer\n"
                 "IPI0: %u       Rescheduling interrupts\nNMI: %u\n",
                 i, i, i, i, i);
        root_write("/proc/interrupts", text);
        fixture_sample(&fixture);
        root_clock += SECOND;
    }
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "11", 0)[1].text), "arch_timer");
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "12", 0)[1].text), "GICv3 28 Edge");
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "0", 0)[1].text), "timer");
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "IPI0", 0)[1].text), "Rescheduling interrupts");
    assert_string_equal(text_bytes(row_of(&fixture, "interrupts", "NMI", 0)[1].text), "NMI");
    fixture_free(&fixture);
}

static void hostile_files(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "\n",
                                        "CPU",
                                        "CPUCPUCPU\n1: 2\n",
                                        "CPU0 CPU99999999\n 1: 5 6 x\n",
                                        "CPU0 CPU1\n1: 5\n2\n: 3\n3: x\n1: 6 7  y\n1:",
                                        "CPU0 CPU1\n1: 5 6 7 8 9\n",
                                        "CPU0 CPU1\n1: 9999999999999999999999 1\n",
                                        "CPU0 CPU1\n1: 1 1\nx"};
    struct fixture fixture = fixture_new(&system_irq_part);
    for (size_t i = 0; i < 3 * sizeof texts / sizeof *texts; i++) {
        root_write("/proc/interrupts", texts[i % (sizeof texts / sizeof *texts)]);
        root_write("/proc/softirqs", texts[i * 7 % (sizeof texts / sizeof *texts)]);
        fixture_sample(&fixture);
        root_clock += SECOND;
    }
    fixture_free(&fixture);
}

// 256 CPUs and 2000 interrupts, nearly all of them quiet: 5 MB of text.
static void big_machines(void **state) {
    (void)state;
    size_t capacity = 2001 * (256 * 11 + 64), at = 0;
    char *text = malloc(capacity);
    struct fixture fixture = fixture_new(&system_irq_part);
    double spent_ms = 0;
    for (unsigned round = 0; round < 2; round++) {
        at = 0;
        for (unsigned cpu = 0; cpu < 256; cpu++)
            at += (size_t)sprintf(text + at, "      CPU%-3u", cpu);
        at += (size_t)sprintf(text + at, "\n");
        for (unsigned irq = 0; irq < 2000; irq++) {
            at += (size_t)sprintf(text + at, "%4u:", irq);
            for (unsigned cpu = 0; cpu < 256; cpu++)
                at += (size_t)sprintf(text + at, " %10u", irq % 256 == cpu ? 1000 + round * (irq % 10 == 0) : 0);
            at += (size_t)sprintf(text + at, "  PCI-MSI %u-edge      nvme0q%u\n", irq, irq);
        }
        root_write_bytes("/proc/interrupts", text, at);
        struct timespec begin, end;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        fixture_sample(&fixture);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        spent_ms = (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
        root_clock += 20 * SECOND; // past what a dear reading makes it wait
    }
    print_message("%zu bytes of /proc/interrupts: %.1f ms\n", at, spent_ms);
    assert_int_equal(fixture_rows(&fixture, "interrupts"), 200);
    assert_near(rate_of(&fixture, "interrupts", "510", 510 % 256), 1.0 / 20);
    fixture_free(&fixture);
    free(text);
}

static void waits(void **state) {
    (void)state;
    assert_int_equal(system_irq_wait_ns(4000000), 0);
    assert_int_equal(system_irq_wait_ns(20000000), 2 * SECOND);
    assert_int_equal(system_irq_wait_ns(300000000), 10 * SECOND); // not 30, which the note said once
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_ticks, root_make, root_drop),
        cmocka_unit_test_setup_teardown(cpus_and_devices_change, root_make, root_drop),
        cmocka_unit_test_setup_teardown(arm_and_old_names, root_make, root_drop),
        cmocka_unit_test_setup_teardown(hostile_files, root_make, root_drop),
        cmocka_unit_test_setup_teardown(big_machines, root_make, root_drop),
        cmocka_unit_test(waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
