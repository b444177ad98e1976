// TCP and UDP: rates out of the two lines of names and numbers, both IP versions, what old kernels lack.
#include "tests/unit/system_root.h"

static void write_all(int active, int out, int retrans, int drops, int in4, int in6) {
    char text[1024];
    snprintf(text, sizeof text,
             "Ip: Forwarding\nIp: 2\nTcp: RtoAlgorithm MaxConn ActiveOpens PassiveOpens EstabResets CurrEstab InSegs "
             "OutSegs RetransSegs OutRsts\n"
             "Tcp: 1 -1 %d 5 0 42 100 %d %d 3\nUdp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors "
             "SndbufErrors\nUdp: %d 0 0 0 0 0\n"
             "UdpLite: InDatagrams\nUdpLite: 99999\n",
             active, out, retrans, in4);
    root_write("/proc/net/snmp", text);
    snprintf(text, sizeof text,
             "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts TCPOFOQueue\nTcpExt: 0 0 %d 2 3\nIpExt: "
             "InOctets\nIpExt: 5\n",
             drops);
    root_write("/proc/net/netstat", text);
    snprintf(text, sizeof text,
             "Ip6InReceives                   \t0\nUdp6InDatagrams                 \t%d\nUdpLite6InDatagrams \t7777\n",
             in6);
    root_write("/proc/net/snmp6", text);
}

static void rates(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_tcp_part);
    root_write("/proc/net/sockstat",
               "sockets: used 17\nTCP: inuse 1 orphan 2 tw 3 alloc 1 mem 4\nUDP: inuse 0 mem 0\n");
    write_all(10, 1000, 5, 7, 1, 1);
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "tcp"), 1);
    assert_near(fixture_num(&fixture, "tcp", NULL, "established"), 42);
    assert_near(fixture_num(&fixture, "tcp", NULL, "orphans"), 2);
    assert_near(fixture_num(&fixture, "tcp", NULL, "time_wait"), 3);
    assert_near(fixture_num(&fixture, "tcp", NULL, "socket_kib"), 4 * (double)sysconf(_SC_PAGESIZE) / 1024);
    assert_nan(fixture_num(&fixture, "tcp", NULL, "retransmits_per_s"));
    assert_nan(fixture_num(&fixture, "tcp", NULL, "retransmit_pct"));
    write_all(30, 1090, 15, 9, 5, 7);
    root_clock += 2 * SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "tcp", NULL, "active_opens_per_s"), 10);
    assert_near(fixture_num(&fixture, "tcp", NULL, "retransmits_per_s"), 5);
    assert_near(fixture_num(&fixture, "tcp", NULL, "retransmit_pct"), 10);
    assert_near(fixture_num(&fixture, "tcp", NULL, "listen_drops_per_s"), 1);
    assert_near(fixture_num(&fixture, "tcp", NULL, "timeouts_per_s"), 0);
    assert_nan(fixture_num(&fixture, "tcp", NULL, "zero_windows_per_s")); // this kernel does not count them
    assert_nan(fixture_num(&fixture, "tcp", NULL, "attempt_fails_per_s"));
    assert_near(fixture.series[SYS_TCP_RETRANSMITS], 5);
    assert_near(fixture_num(&fixture, "udp", NULL, "datagrams_in_per_s"), 5);
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "tcp", NULL, "retransmit_pct"), 0); // nothing sent, nothing lost
    write_all(1, 1, 1, 1, 1, 1);                                          // another network namespace, a reset
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_nan(fixture_num(&fixture, "tcp", NULL, "retransmits_per_s"));
    assert_nan(fixture.series[SYS_TCP_RETRANSMITS]);
    fixture_free(&fixture);
}

static void nothing_there(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_tcp_part);
    for (int i = 0; i < 2; i++) {
        fixture_sample(&fixture);
        root_clock += SECOND;
        assert_int_equal(fixture_rows(&fixture, "tcp"), 1);
        assert_nan(fixture_num(&fixture, "tcp", NULL, "established"));
        assert_int_equal(section_notes(fixture.section), 1);
    }
    root_write("/proc/net/sockstat", "TCP: inuse 1 orphan");
    root_write("/proc/net/snmp", "Tcp: CurrEstab\nTcp:");
    fixture_sample(&fixture);
    assert_nan(fixture_num(&fixture, "tcp", NULL, "established"));
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rates, root_make, root_drop),
        cmocka_unit_test_setup_teardown(nothing_there, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
