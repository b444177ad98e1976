// The decisions of the collector "sockets": which receiver does not read, and which thread waits for a name server.
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/sockets/namespaces.h"
#include "collectors/sockets/parts.h"
#include "tests/unit/screens.h"
#include "tests/unit/system_root.h"

static void unread(void **state) {
    (void)state;
    struct unread_socket unread = {0};
    struct diag_socket socket = {.inode = 5, .has_info = true, .received = 70000, .queue = 65000, .window = 0};
    sockets_unread_update(&unread, &socket, 10 * SECOND);
    assert_true(isnan(unread.read_per_s)); // what came before is unknown
    assert_int_equal(unread.read_ns, 10 * SECOND);
    sockets_unread_update(&unread, &socket, 12 * SECOND);
    assert_true(unread.read_per_s == 0);
    assert_int_equal(unread.read_ns, 10 * SECOND);
    assert_int_equal(unread.closed_ns, 12 * SECOND);
    socket.received = 72000; // 2,000 were read, as many came
    socket.window = 4096;
    sockets_unread_update(&unread, &socket, 14 * SECOND);
    assert_true(unread.read_per_s == 1000);
    assert_int_equal(unread.read_ns, 14 * SECOND);
    assert_int_equal(unread.closed_ns, 12 * SECOND); // open again
    // A kernel that does not report the window: a full queue counts.
    socket.window = UINT32_MAX;
    sockets_unread_update(&unread, &socket, 16 * SECOND);
    assert_int_equal(unread.closed_ns, 16 * SECOND);
    socket.queue = 100;
    sockets_unread_update(&unread, &socket, 18 * SECOND);
    assert_int_equal(unread.closed_ns, 16 * SECOND);
}

static bool waits(int64_t nr, uint64_t first, uint64_t second, uint64_t third) {
    const struct proc_syscall call = {.nr = nr, .args = {first, second, third}};
    return sockets_lookup_waits(&call, first == 4 ? "socket:[77]" : "/dev/null", 77);
}

static void lookup(void **state) {
    (void)state;
#ifdef SYS_poll
    assert_true(waits(SYS_poll, 0x7ffc0000, 1, 5000));
    assert_false(waits(SYS_poll, 0x7ffc0000, 1, (uint64_t)-1)); // for ever: not a resolver
    assert_false(waits(SYS_poll, 0x7ffc0000, 40, 5000));        // a server with many clients
#endif
    assert_true(waits(SYS_ppoll, 0x7ffc0000, 2, 0x7ffc1000));
    assert_false(waits(SYS_ppoll, 0x7ffc0000, 2, 0));
    assert_true(waits(SYS_recvfrom, 4, 0x7ffc0000, 512));
    assert_false(waits(SYS_recvfrom, 5, 0x7ffc0000, 512));
    assert_false(waits(SYS_epoll_pwait, 4, 0x7ffc0000, 512)); // an event loop: cannot be seen
    assert_false(waits(-1, 4, 0, 0));
    struct proc_syscall call = {.nr = SYS_recvfrom, .args = {4}, .is_32 = true};
    assert_false(sockets_lookup_waits(&call, "socket:[77]", 77));
}

static void counters(void **state) {
    (void)state;
    struct sockets_counters before = {.at_ns = 0};
    struct proc_buffer buffer = {NULL, 0, 0};
    struct sockets_rates rates;
    sockets_counters_read(&before, &buffer, 5 * SECOND, &rates); // no file
    assert_true(isnan(rates.established) && isnan(rates.sockets) && isnan(rates.udp_drops));
    before.at_ns = 0;
    for (unsigned i = 1; i <= 2; i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "Tcp: CurrEstab OutSegs RetransSegs EstabResets OutRsts\nTcp: 7 %u %u %u %u\n"
                 "Udp: InDatagrams RcvbufErrors\nUdp: %u %u\nIp: InDelivers OutRequests\nIp: %u %u\n",
                 1000 * i, 10 * i, 20 * i, 30 * i, 100 * i, 40 * i, 200 * i, 300 * i);
        root_write("/proc/thread-self/net/snmp", text);
        snprintf(text, sizeof(text), "TcpExt: ListenOverflows ListenDrops TCPToZeroWindowAdv\nTcpExt: %u %u %u\n",
                 50 * i, 60 * i, 70 * i);
        root_write("/proc/thread-self/net/netstat", text);
        snprintf(text, sizeof(text), "Udp6InDatagrams %u\nUdp6RcvbufErrors %u\nIp6InDelivers %u\nIp6OutRequests 0\n",
                 4 * i, 8 * i, 20 * i);
        root_write("/proc/thread-self/net/snmp6", text);
        root_write("/proc/thread-self/net/sockstat",
                   "sockets: used 9\nTCP: inuse 3 orphan 0 tw 4 alloc 5 mem 2\nUDP: inuse 1 mem 9\n");
        sockets_counters_read(&before, &buffer, 10 * SECOND + i * 2 * SECOND, &rates);
        assert_true(rates.established == 7 && rates.sockets == 7);
        assert_true(rates.socket_kib == 2.0 * (double)sysconf(_SC_PAGESIZE) / 1024);
        assert_true(i == 2 || isnan(rates.retransmits)); // no rate in the first sample
    }
    assert_true(rates.segments_out == 500 && rates.retransmits == 5 && rates.resets_in == 10 && rates.resets_out == 15);
    assert_true(rates.listen_overflows == 25 && rates.listen_drops == 30 && rates.zero_windows == 35);
    assert_true(rates.datagrams_in == 52 && rates.udp_drops == 24 && rates.packets == 260);
    proc_buffer_free(&buffer);
}

static void namespaces(void **state) {
    (void)state;
    struct namespaces all;
    namespaces_open(&all);
    if (all.own_fd < 0)
        return; // a kernel without them
    char rows[512];
    snprintf(rows, sizeof(rows),
             "9|9|%llu|-\n30|30|4026532177|-\n20|20|4026532177|-\n5|5|4026532177|1769860801\n40|40|-|-\n41|41|7|-",
             (unsigned long long)all.own);
    struct table *tasks = forge_real("tasks", "pid|tid|netns|ended_s", rows);
    namespaces_find(&all, tasks);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.found[0].inode, 4026532177u);
    assert_int_equal(all.found[0].pid, 20);
    assert_string_equal(text_bytes(all.found[0].number), "4026532177");
    assert_int_equal(all.found[1].inode, 7);
    assert_false(all.more);
    // A process that is in another namespace by now: the thread stays where it is.
    assert_int_equal(namespaces_enter(&all, 4026532177u, getpid()), -ESRCH);
    assert_int_equal(namespaces_enter(&all, all.own, getpid()), -ESRCH);
    assert_int_equal(namespaces_enter(&all, 7, 0x7ffffffe), -ENOENT);
    namespaces_find(&all, NULL);
    assert_int_equal(all.n, 0);
    table_free(tasks);
    namespaces_close(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(unread), cmocka_unit_test(lookup),
                                       cmocka_unit_test_setup_teardown(counters, root_make, root_drop),
                                       cmocka_unit_test(namespaces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
