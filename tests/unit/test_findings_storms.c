// The findings about high rates of interrupts, timers, failing calls, signals and context switches.
#include "tests/unit/forge_rules.h"

static const char *step(const char *storms, const char *interrupts) {
    rules_begin();
    if (storms)
        rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    if (interrupts)
        rules_table("interrupts", "irq|name|cpu|per_s", interrupts);
    return rules_step();
}

static void tlb(void **state) {
    (void)state;
    static const char of_one[] = "tlb_shootdowns|7|app|-|-|21000|24000\ntlb_shootdowns|8|other|-|-|3000|24000";
    static const char of_many[] = "tlb_shootdowns|7|app|-|-|9000|24000\ntlb_shootdowns|8|other|-|-|8000|24000";
    assert_string_equal(step(of_one, "TLB|x|0|20000\nTLB|x|1|4000"), ""); // from the second frame on
    assert_string_equal(
        step(of_one, "TLB|x|0|20000\nTLB|x|1|4000"),
        "warning tlb_shootdowns 7 app: app (pid 7) causes 88 % of them: 24.0k TLB shootdowns per second "
        "(munmap, mprotect or madvise while its threads run on other CPUs)\n");
    for (int i = 0; i < 4; i++)
        step(NULL, NULL);
    step(of_one, "TLB|x|0|5000\nTLB|x|1|1000");
    assert_int_equal(strncmp(step(of_one, "TLB|x|0|5000\nTLB|x|1|1000"), "info tlb_shootdowns 7 app", 25), 0);
    for (int i = 0; i < 4; i++)
        step(NULL, NULL);
    step(of_many, "TLB|x|0|20000\nTLB|x|1|4000");
    assert_string_equal(step(of_many, "TLB|x|0|20000\nTLB|x|1|4000"),
                        "info tlb_shootdowns nan -: 24.0k TLB shootdowns per second, of several processes\n");
    assert_string_equal(step(NULL, "TLB|x|0|20000\nTLB|x|1|4000"), // not counted by process yet
                        "info tlb_shootdowns nan -: 24.0k TLB shootdowns per second\n");
}

static void few_interrupts(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_string_equal(step("tlb_shootdowns|7|app|-|-|4000|4000\nfunction_calls|7|app|-|-|4000|4000\n"
                                 "timers|7|app|-|-|9000|9000",
                                 "TLB|x|0|4900\nCAL|x|0|2400\nCAL|x|1|2400\nLOC|x|0|9900\nLOC|x|1|9900"),
                            "");
}

static void function_calls_and_timers(void **state) {
    (void)state;
    static const char storms[] = "function_calls|7|app|-|-|30000|31000\ntimers|9|ticker|-|-|60000|61000";
    step(storms, "CAL|x|0|15000\nCAL|x|1|15000\nLOC|x|0|60000\nLOC|x|1|1000");
    assert_string_equal(step(storms, "CAL|x|0|15000\nCAL|x|1|15000\nLOC|x|0|60000\nLOC|x|1|1000"),
                        "warning ipi_storm 7 app: app (pid 7) causes 97 % of them: 30.0k function call interrupts per "
                        "second (membarrier and the like)\n"
                        "warning timer_storm 9 ticker: ticker (pid 9) starts 60.0k timers per second: 60.0k timer "
                        "interrupts per second on one CPU\n");
    // A server and its clients wake each other.
    for (int i = 0; i < 4; i++)
        step(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("context_switches_per_s", 15500);
        rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
        rules_table("interrupts", "irq|name|cpu|per_s", "CAL|x|0|15000\nCAL|x|1|15000");
        if (i)
            assert_string_equal(rules_step(),
                                "info ipi_storm 7 app: app (pid 7) causes 97 % of them: 30.0k function call interrupts "
                                "per second (wakeups of tasks on other CPUs)\n");
        else
            rules_step();
    }
}

static void calls(void **state) {
    (void)state;
    static const char fails[] = "calls|7|find|openat|ENOENT|29000|900000\ncalls|8|app|read|-|900000|930000";
    static const char spins[] = "calls|8|app|read|-|900000|930000\ncalls|7|poller|accept4|EMFILE|31000|930000";
    for (int i = 0; i < 3; i++)
        assert_string_equal(step(fails, NULL), "");
    step(spins, NULL);
    assert_string_equal(step(spins, NULL),
                        "warning failing_calls 7 poller: poller (pid 7) calls accept4 in a loop, and "
                        "it fails with EMFILE: 31.0k times per second\n");
}

static void signals(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_string_equal(step("signals|7|go|SIGURG|-|4900|6000", NULL), "");
    step("signals|7|app|SIGUSR1|-|6000|6000", NULL);
    assert_string_equal(step("signals|7|app|SIGUSR1|-|6000|6000", NULL),
                        "info signal_storm 7 app: app (pid 7) sends 6000 SIGUSR1 per second\n");
    // The calls that the signals end do not fail.
    assert_string_equal(step("signals|7|app|SIGUSR1|-|60000|60000\ncalls|8|of|pause|EINTR|60000|90000", NULL),
                        "warning signal_storm 7 app: app (pid 7) sends 60.0k SIGUSR1 per second\n");
}

static const char *locks(const char *storms) {
    rules_begin();
    rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s|waiting", storms);
    return rules_step();
}

// How long they wait counts, not how often.
static void kernel_lock(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_string_equal(locks("kernel_locks|7|app|rwsem, to write|-|90000|90000|0.45"), "");
    locks("kernel_locks|7|app|rwsem, to write|-|210|250|0.5");
    assert_string_equal(locks("kernel_locks|7|app|rwsem, to write|-|210|250|0.5"),
                        "info kernel_lock 7 app: app (pid 7): on average 0.5 threads wait for a lock of the kernel "
                        "(rwsem, to write), 210 times per second\n");
    assert_int_equal(strncmp(locks("kernel_locks|7|app|mutex|-|300|300|2.5"), "warning kernel_lock", 19), 0);
}

static const char *syncs(double some, double full) {
    rules_begin();
    rules_series("io_some_pct", some);
    rules_series("io_full_pct", full);
    rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", "syncs|7|db|fdatasync|-|900|1000");
    return rules_step();
}

static void sync_storm(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_string_equal(syncs(20, 0), ""); // a disk that is fast enough
    syncs(60, 10);
    assert_string_equal(syncs(60, 10),
                        "info sync_storm 7 db: db (pid 7) calls fdatasync 900 times per second, 90 % of all: each "
                        "flushes the disk and the journal, and the fsync of others waits for it; tasks stalled on I/O "
                        "60 % of the time (PSI some)\n");
    const char *found = syncs(60, 55);
    assert_non_null(strstr(found, "warning sync_storm 7 db"));
}

static const char *softirqs_of(const char *cpus, const char *storms) {
    rules_begin();
    rules_table("cpus", "cpu|irq_pct|softirq_pct", cpus);
    rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    return rules_step();
}

static const char *softirqs(const char *storms) {
    return softirqs_of("0|1|2\n1|4|80", storms);
}

// The sender is named if it is of this machine.
static void interrupt_load(void **state) {
    (void)state;
    softirqs("packets|7|app|-|-|300|400");
    assert_string_equal(softirqs("packets|7|app|-|-|300|400"),
                        "warning interrupt_load nan -: CPU 1 spends 84 % of its time in interrupts\n");
    assert_string_equal(softirqs("packets|7|app|-|-|300000|400000"),
                        "warning interrupt_load 7 app: CPU 1 spends 84 % of its time in interrupts: app (pid 7) sends "
                        "300k packets per second\n");
    for (int i = 0; i < 4; i++)
        softirqs_of("0|1|2\n1|4|25", "packets|7|app|-|-|300000|400000");
    assert_string_equal(softirqs_of("0|1|2\n1|4|25", "packets|7|app|-|-|300000|400000"), "");
    softirqs_of("0|1|2\n1|4|30", "packets|7|app|-|-|300000|400000");
    assert_int_equal(
        strncmp(softirqs_of("0|1|2\n1|4|30", "packets|7|app|-|-|300000|400000"), "info interrupt_load 7", 21), 0);
}

static const char *switches(const char *tasks) {
    rules_begin();
    rules_table("tasks", "pid|tid|comm|state|context_switches_per_s", tasks);
    return rules_step();
}

static void switch_storm(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_string_equal(switches("7|7|a|S|39000\n8|8|b|S|39000"), "");
    switches("6|6|c|S|50\n7|7|a|S|41000\n8|8|b|S|40000");
    assert_string_equal(
        switches("6|6|c|S|50\n7|7|a|S|41000\n8|8|b|S|40000"),
        "info switch_storm 7 a: a (pid 7) makes 41.0k context switches per second, and b (pid 8) 40.0k\n");
    assert_string_equal(switches("8|8|b|S|50\n7|7|a|S|-\n9|9|c|S|90000"),
                        "info switch_storm 9 c: c (pid 9) makes 90.0k context switches per second\n");
}

static const char *resets(const char *tcp, const char *storms) {
    rules_begin();
    rules_table("tcp", "resets_in_per_s|resets_out_per_s", tcp);
    rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    return rules_step();
}

// The process that resets its sockets, else the one whose connections are reset, if it has half of them.
static void tcp_resets(void **state) {
    (void)state;
    static const char both[] = "connects|5|client|-|-|300|300\nresets|6|server|-|-|290|290";
    static const char connects[] = "connects|5|client|-|-|300|300\nresets|6|server|-|-|90|90";
    static const char rest[] =
        "TCP resets: 300/s sent, 290/s received; `perf trace -e tcp:tcp_send_reset` shows addresses "
        "and ports, `ss -tlnp` the listeners\n";
    char want[512];
    resets("290|300", both);
    snprintf(want, sizeof(want), "warning tcp_resets 6 server: server (pid 6) resets 290 connections per second; %s",
             rest);
    assert_string_equal(resets("290|300", both), want);
    snprintf(want, sizeof(want), "warning tcp_resets 5 client: client (pid 5) begins 300 connections per second; %s",
             rest);
    assert_string_equal(resets("290|300", connects), want);
    snprintf(want, sizeof(want), "warning tcp_resets nan -: %s", rest);
    assert_string_equal(resets("290|300", "connects|5|client|-|-|140|300\nresets|6|server|-|-|90|90"), want);
    rules_end(NULL);
    rules_start(NULL);
    // In a container: its processes count, and those of others do not.
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_table("tasks", "pid|tid|comm|state|netns", "5|5|client|S|77\n6|6|server|S|78\n9|9|other|S|1");
        rules_table("network_namespaces", "netns|pid|comm|resets_in_per_s|resets_out_per_s",
                    "77|5|client|190|0\n78|6|server|0|0");
        rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s",
                    "resets|6|server|-|-|290|290\nconnects|9|other|-|-|900|1100\nconnects|5|client|-|-|200|1100");
        const char *found = rules_step();
        if (i)
            assert_string_equal(
                found, "warning tcp_resets 5 client: client (pid 5) begins 200 connections per second; TCP "
                       "resets: 0/s sent, 190/s received, in the network namespace of client (pid 5); `perf "
                       "trace -e tcp:tcp_receive_reset` shows addresses and ports, `ss -tlnp` the listeners\n");
    }
}

static const char *reader(const char *row, double pressure) {
    rules_begin();
    rules_series("cpu_some_pct", pressure);
    rules_table("proc_readers", "pid|comm|cpu_pct|proc_pct|child", row);
    return rules_step();
}

static void proc_reader(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_string_equal(reader("7|agent|20|90|-", 5), "");
        assert_string_equal(reader("8|build|90|10|-", 5), ""); // it has such a file at times
    }
    for (int i = 0; i < 3; i++) // ps
        assert_string_equal(reader("9|agent|60|80|-", 5), "");
    assert_string_equal(reader("9|agent|60|80|-", 5),
                        "info proc_reader 9 agent: agent (pid 9) uses 60 % of one CPU to read files of other processes "
                        "in /proc (open for 80 % of the time)\n");
    assert_int_equal(strncmp(reader("9|agent|60|80|-", 30), "warning proc_reader", 19), 0);
    for (int i = 0; i < 8; i++)
        assert_null(strstr(reader("8|sh|60|20|make", 5), "make"));
    for (int i = 0; i < 3; i++)
        assert_null(strstr(reader("8|sh|60|30|ps", 5), "ps"));
    assert_non_null(strstr(reader("8|sh|60|30|ps", 5), "info proc_reader 8 sh: sh (pid 8) starts ps again and again, "
                                                       "which uses 60 % of one CPU to read files of other processes "
                                                       "in /proc (open for 30 % of the time)\n"));
}

static const char *forks(const char *ended, const char *storms) {
    rules_begin();
    rules_series("forks_per_s", 900);
    rules_table("tasks", "pid|tid|ppid|comm|state|cpu_pct|ended_s", ended);
    rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    return rules_step();
}

// Threads that end are no tasks: their creator is counted.
static void fork_storm(void **state) {
    (void)state;
    static const char one[] = "7|7|1|app|R|50|-";
    for (int i = 0; i < 2; i++)
        forks(one, "forks|7|app|-|-|800|900\nforks|8|sh|-|-|100|900");
    assert_string_equal(forks(one, "forks|7|app|-|-|800|900\nforks|8|sh|-|-|100|900"),
                        "warning fork_storm 7 app: app (pid 7) creates 89 % of them: 900 processes and threads created "
                        "per second\n");
    assert_string_equal(forks(one, "forks|7|app|-|-|400|900\nforks|8|sh|-|-|100|900"),
                        "warning fork_storm nan -: 900 processes and threads created per second\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RULES_TEST(tlb),        RULES_TEST(few_interrupts), RULES_TEST(function_calls_and_timers),
        RULES_TEST(calls),      RULES_TEST(signals),        RULES_TEST(switch_storm),
        RULES_TEST(tcp_resets), RULES_TEST(kernel_lock),    RULES_TEST(fork_storm),
        RULES_TEST(sync_storm), RULES_TEST(interrupt_load), RULES_TEST(proc_reader)};
    return rules_run(tests);
}
