// The findings about sockets that are not read, and name servers that do not answer.
#include "tests/unit/forge_rules.h"

static const char *unread_step(const char *rows) {
    rules_begin();
    if (rows)
        rules_table("unread_sockets",
                    "local|remote|pid|comm|queue|read_per_s|stalled_s|sender_pid|sender_comm|sender_queue", rows);
    return rules_step();
}

static void zero_window(void **state) {
    (void)state;
    static const char stalled[] = "10.0.0.1:80|10.0.0.2:999|11|app|65536|0|4|12|client|1048576";
    assert_string_equal(unread_step(stalled), ""); // from the second frame on
    assert_string_equal(unread_step(stalled),
                        "warning zero_window 11 app: app (pid 11) does not read its TCP socket 10.0.0.1:80 for 4 s: "
                        "64.0K unread from 10.0.0.2:999, its window is closed (zero window); client (pid 12) waits to "
                        "send 1.0M\n");
    for (int i = 0; i < 3; i++) // it stays for three frames
        unread_step(NULL);
    assert_string_equal(unread_step(NULL), "");
    // Not for a moment only.
    for (int i = 0; i < 3; i++)
        assert_string_equal(unread_step("10.0.0.1:80|10.0.0.2:999|11|app|65536|0|2.5|12|client|1048576"), "");
}

// Its queue is read within a second: a buffer at work.
static void reader_at_work(void **state) {
    (void)state;
    for (int i = 0; i < 8; i++)
        assert_string_equal(unread_step("10.0.0.1:80|10.0.0.2:999|11|gzip|65536|5e6|0|12|client|1048576"), "");
}

// Slow: from the third second on, and a warning only if the queue lasts 10 s.
static void slow_reader(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_string_equal(unread_step("10.0.0.1:80|10.0.0.2:999|11|app|40960|10240|0.2|-|-|-"), "");
    assert_string_equal(unread_step("10.0.0.1:80|10.0.0.2:999|11|app|40960|10240|0.2|-|-|-"),
                        "info zero_window 11 app: app (pid 11) reads its TCP socket 10.0.0.1:80 slowly, 10.0K per "
                        "second: 40.0K unread from 10.0.0.2:999, its window is closed (zero window)\n");
    assert_int_equal(
        strncmp(unread_step("10.0.0.1:80|10.0.0.2:999|11|app|409600|10240|0.2|-|-|-"), "warning zero_window", 19), 0);
}

static void remote_reader(void **state) {
    (void)state;
    static const char row[] = "10.0.0.9:80|10.0.0.1:999|-|-|-|-|5|12|client|1048576";
    unread_step(row);
    assert_string_equal(unread_step(row), "warning zero_window 12 client: the peer 10.0.0.9:80 does not read (zero "
                                          "window for 5 s): client (pid 12) waits to send 1.0M\n");
}

static const char *lookup_step(const char *rows) {
    rules_begin();
    if (rows)
        rules_table("lookup_waits", "server|pid|comm|lookups|longest_s|server_pid|server_comm|server_queue", rows);
    return rules_step();
}

static void name_server(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_string_equal(lookup_step("10.0.0.9:53|7|app|1|2.4|-|-|-"), ""); // it asks other servers
    lookup_step("10.0.0.9:53|7|app|2|2.6|-|-|-");
    assert_string_equal(lookup_step("10.0.0.9:53|7|app|2|3.6|-|-|-"),
                        "warning dns_no_answer 7 app: the name server 10.0.0.9:53 does not answer: app (pid 7) waits "
                        "for 2 look-ups, 3.6 s so far\n");
    for (int i = 0; i < 4; i++)
        lookup_step(NULL);
    lookup_step("127.0.0.1:53|7|app|1|4|9|named|4096");
    assert_string_equal(lookup_step("127.0.0.1:53|7|app|1|5|9|named|4096"),
                        "warning dns_no_answer 7 app: the name server 127.0.0.1:53, named (pid 9) (it does not read "
                        "its socket) does not answer: app (pid 7) waits for 1 look-up, 5.0 s so far\n");
}

static void silent_server(void **state) {
    (void)state;
    lookup_step("127.0.0.1:53|-|-|-|3|9|named|768");
    assert_string_equal(lookup_step("127.0.0.1:53|-|-|-|4|9|named|768"),
                        "warning dns_no_answer 9 named: the name server named (pid 9) does not read its socket "
                        "127.0.0.1:53 for 4 s: 768B of queries wait (Recv-Q)\n");
}

static const char *resend_step(const char *rows) {
    rules_begin();
    rules_series("tcp_retransmits_per_s", 60);
    rules_table("tcp", "retransmits_per_s|retransmit_pct|segments_out_per_s", "60|4|1500");
    if (rows)
        rules_table("resending", "local|remote|pid|comm|retransmits_per_s", rows);
    return rules_step();
}

static void resender(void **state) {
    (void)state;
    resend_step(NULL);
    assert_string_equal(resend_step(NULL),
                        "warning tcp_retransmits nan -: 60 TCP segments/s retransmitted, 4.0 % of those sent\n");
    assert_string_equal(
        resend_step("10.0.0.1:40|10.0.0.2:80|7|a|10\n10.0.0.1:41|10.0.0.3:80|8|rsync|50"),
        "warning tcp_retransmits 8 rsync: 60 TCP segments/s retransmitted, 4.0 % of those sent; most of "
        "them by rsync (pid 8) from 10.0.0.1:41 to 10.0.0.3:80, 50/s\n");
    assert_non_null(strstr(resend_step("10.0.0.1:41|10.0.0.3:80|-|-|50"), "by a process from 10.0.0.1:41"));
}

static const char *link_step(double changes) {
    char rows[64];
    snprintf(rows, sizeof(rows), "eth0|%.0f\nlo|0\neth1|7", changes);
    rules_begin();
    rules_table("interfaces", "interface|carrier_changes", rows);
    return rules_step();
}

// Twice down; then more often; then it is stable again.
static void link_flaps(void **state) {
    (void)state;
    static const double changes[] = {10, 10, 11, 12, 13};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(link_step(changes[i]), "");
    link_step(14);
    assert_string_equal(link_step(14), "info link_flaps nan -: the link of eth0 went up or down 4 times in 4 s "
                                       "(carrier_changes)\n");
    assert_int_equal(strncmp(link_step(18), "warning link_flaps", 18), 0);
    for (int i = 0; i < 26; i++)
        link_step(18);
    assert_string_equal(link_step(18), "");
    assert_string_equal(link_step(20), ""); // down once, later
    assert_string_equal(link_step(20), "");
}

// Once in ten seconds, but again and again.
static void link_slow_flaps(void **state) {
    (void)state;
    const char *found = "";
    for (int i = 0; i < 100; i++)
        found = link_step(i / 10);
    assert_int_equal(strncmp(found, "info link_flaps", 15), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RULES_TEST(zero_window),   RULES_TEST(reader_at_work), RULES_TEST(slow_reader),
        RULES_TEST(remote_reader), RULES_TEST(name_server),    RULES_TEST(silent_server),
        RULES_TEST(resender),      RULES_TEST(link_flaps),     RULES_TEST(link_slow_flaps)};
    return rules_run(tests);
}
