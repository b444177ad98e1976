// One row per TCP connection, from forged records of Linux 6.18's formats: how it ended, who began it, retransmissions.
#include "collectors/events/flows.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/forge_files.h"
#include "tests/unit/model_test.h"

#define COMMON                                                                                                         \
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                             \
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                             \
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                     \
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                                                       \
    "\tfield:const void * skaddr;\toffset:8;\tsize:8;\tsigned:0;\n"
#define ADDRESSES                                                                                                      \
    "\tfield:__u16 sport;\toffset:24;\tsize:2;\tsigned:0;\n\tfield:__u16 dport;\toffset:26;\tsize:2;\tsigned:0;\n"     \
    "\tfield:__u16 family;\toffset:28;\tsize:2;\tsigned:0;\n"                                                          \
    "\tfield:__u8 saddr[4];\toffset:32;\tsize:4;\tsigned:0;\n\tfield:__u8 daddr[4];\toffset:36;\tsize:4;\tsigned:0;\n" \
    "\tfield:__u8 saddr_v6[16];\toffset:40;\tsize:16;\tsigned:0;\n"                                                    \
    "\tfield:__u8 daddr_v6[16];\toffset:56;\tsize:16;\tsigned:0;\n"
#define END "\nprint fmt: \"\"\n"
static const char state_format[] =
    "name: inet_sock_set_state\nID: 1\nformat:\n" COMMON "\tfield:int oldstate;\toffset:16;\tsize:4;\tsigned:1;\n"
    "\tfield:int newstate;\toffset:20;\tsize:4;\tsigned:1;\n" ADDRESSES
    "\tfield:__u16 protocol;\toffset:30;\tsize:2;\tsigned:0;\n" END;
static const char reset_format[] = "name: tcp_receive_reset\nID: 2\nformat:\n" COMMON ADDRESSES END;
static const char retransmit_format[] = "name: tcp_retransmit_skb\nID: 3\nformat:\n" COMMON
                                        "\tfield:int state;\toffset:16;\tsize:4;\tsigned:1;\n" ADDRESSES END;

enum { STATES, RESETS, RETRANSMITS };
enum { ESTABLISHED = 1, SYN_SENT, SYN_RECV, FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSE, CLOSE_WAIT, LAST_ACK, LISTEN };
#define SOFTIRQ 0x10

struct bench {
    struct flows *flows;
    uint64_t ts;
};

static void begin(struct bench *bench, unsigned events) {
    static const char *const names[][3] = {{"sock", "inet_sock_set_state", state_format},
                                           {"tcp", "tcp_receive_reset", reset_format},
                                           {"tcp", "tcp_retransmit_skb", retransmit_format}};
    char root[] = "/tmp/ktop-flows-XXXXXX", path[256];
    struct choice choice = {.n = 3};
    struct stream_event stream[3] = {{.present = false}};
    assert_non_null(mkdtemp(root));
    for (int i = 0; i < 3; i++) {
        snprintf(choice.events[i].system, sizeof(choice.events[i].system), "%s", names[i][0]);
        snprintf(choice.events[i].name, sizeof(choice.events[i].name), "%s", names[i][1]);
        stream[i].present = events >> i & 1;
        snprintf(path, sizeof(path), "events/%s/%s/format", names[i][0], names[i][1]);
        forge_file(root, path, names[i][2]);
    }
    *bench = (struct bench){.flows = flows_open(&choice, stream, root), .ts = 1000000};
    snprintf(path, sizeof(path), "rm -r %s", root);
    assert_int_equal(system(path), 0);
}

struct forged {
    uint64_t socket;
    int old, new, flags, tid, family, protocol;
    uint16_t sport, dport;
    const char *from, *to;
};

static void put(struct bench *bench, int event, struct forged f) {
    uint8_t record[72] = {0};
    uint16_t family = f.family ? (uint16_t)f.family : AF_INET;
    uint16_t protocol = f.protocol ? (uint16_t)f.protocol : IPPROTO_TCP;
    record[2] = (uint8_t)f.flags;
    memcpy(record + 4, &f.tid, 4);
    memcpy(record + 8, &f.socket, 8);
    memcpy(record + 16, &f.old, 4);
    if (event == STATES)
        memcpy(record + 20, &f.new, 4), memcpy(record + 30, &protocol, 2);
    memcpy(record + 24, &f.sport, 2);
    memcpy(record + 26, &f.dport, 2);
    memcpy(record + 28, &family, 2);
    inet_pton(family, f.from ? f.from : "10.0.0.1", record + (family == AF_INET ? 32 : 40));
    inet_pton(family, f.to ? f.to : "10.0.0.2", record + (family == AF_INET ? 36 : 56));
    flows_event(bench->flows, (size_t)event, record, sizeof(record), bench->ts += 1000, f.tid);
}

// "local:port remote:port direction state end retransmits/all", a row a line.
static const char *rows(struct bench *bench) {
    static char text[4096];
    struct event_names *names = event_names_new(NULL);
    struct section *section = section_new("events", 0, 1);
    flows_sample(bench->flows, names, NULL, 0, section);
    const struct table *table = section_find_table(section, "connections");
    const struct table_def *def = table_def(table);
    size_t at = 0, n = 0;
    const union cell *row;
    *text = '\0';
#define T(name) text_bytes(row[table_column(def, name)].text)
#define N(name) row[table_column(def, name)].num
    while ((row = table_next(table, &at)))
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s:%.0f %s:%.0f %s %s %s %.0f/%.0f\n", T("local"),
                              N("local_port"), T("remote"), N("remote_port"), T("direction"), T("state"), T("end"),
                              N("retransmits"), N("retransmits_total"));
    section_unref(section);
    event_names_free(names);
    return text;
}

#define STATE(bench, socket_, old_, new_, ...)                                                                         \
    put(bench, STATES,                                                                                                 \
        (struct forged){.socket = (socket_), .old = (old_), .new = (new_), .sport = 40000, .dport = 80, __VA_ARGS__})

static void lives(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench, 7);
    put(&bench, STATES, (struct forged){.socket = 64, .old = CLOSE, .new = SYN_SENT, .dport = 80, .tid = 7});
    STATE(&bench, 64, SYN_SENT, ESTABLISHED, .flags = SOFTIRQ);
    assert_string_equal(rows(&bench), ""); // it goes on
    STATE(&bench, 64, ESTABLISHED, FIN_WAIT1);
    STATE(&bench, 64, FIN_WAIT1, FIN_WAIT2, .flags = SOFTIRQ);
    STATE(&bench, 64, FIN_WAIT2, CLOSE, .flags = SOFTIRQ);
    assert_string_equal(rows(&bench), "10.0.0.1:40000 10.0.0.2:80 out FIN_WAIT2 closed 0/0\n");
    assert_string_equal(rows(&bench), "");

    STATE(&bench, 128, LISTEN, SYN_RECV, .flags = SOFTIRQ, .family = AF_INET6, .from = "::1", .to = "2001:db8::2");
    STATE(&bench, 128, SYN_RECV, ESTABLISHED, .flags = SOFTIRQ, .family = AF_INET6, .from = "::1", .to = "2001:db8::2");
    STATE(&bench, 128, ESTABLISHED, CLOSE_WAIT, .flags = SOFTIRQ, .family = AF_INET6, .from = "::1",
          .to = "2001:db8::2");
    STATE(&bench, 128, CLOSE_WAIT, LAST_ACK, .tid = 9, .family = AF_INET6, .from = "::1", .to = "2001:db8::2");
    STATE(&bench, 128, LAST_ACK, CLOSE, .flags = SOFTIRQ, .family = AF_INET6, .from = "::1", .to = "2001:db8::2");
    assert_string_equal(rows(&bench), "::1:40000 2001:db8::2:80 in LAST_ACK closed by peer 0/0\n");
    flows_close(bench.flows);
}

static void other_ends(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench, 7);
    STATE(&bench, 64, CLOSE, SYN_SENT);
    put(&bench, RESETS, (struct forged){.socket = 64, .sport = 40000, .dport = 80});
    STATE(&bench, 64, SYN_SENT, CLOSE, .flags = SOFTIRQ);
    STATE(&bench, 64, CLOSE, SYN_SENT);
    for (int i = 0; i < 6; i++)
        put(&bench, RETRANSMITS, (struct forged){.socket = 64, .old = SYN_SENT, .sport = 40000, .dport = 80});
    STATE(&bench, 64, SYN_SENT, CLOSE, .flags = SOFTIRQ);
    STATE(&bench, 64, CLOSE, SYN_SENT);
    STATE(&bench, 64, SYN_SENT, ESTABLISHED, .flags = SOFTIRQ);
    put(&bench, RESETS, (struct forged){.socket = 64, .sport = 40000, .dport = 80});
    STATE(&bench, 64, ESTABLISHED, CLOSE, .flags = SOFTIRQ);
    STATE(&bench, 192, ESTABLISHED, CLOSE, .tid = 3); // it began earlier
    STATE(&bench, 256, CLOSE, SYN_SENT);
    STATE(&bench, 256, SYN_SENT, CLOSE, .flags = SOFTIRQ);
    // No connections: a listening socket, another protocol.
    STATE(&bench, 320, CLOSE, LISTEN);
    STATE(&bench, 320, LISTEN, CLOSE);
    STATE(&bench, 384, CLOSE, SYN_SENT, .protocol = 262);
    STATE(&bench, 384, SYN_SENT, CLOSE, .protocol = 262);
    assert_string_equal(rows(&bench), "10.0.0.1:40000 10.0.0.2:80 out SYN_SENT refused 0/0\n"
                                      "10.0.0.1:40000 10.0.0.2:80 out SYN_SENT timed out 6/6\n"
                                      "10.0.0.1:40000 10.0.0.2:80 out ESTABLISHED reset by peer 0/0\n"
                                      "10.0.0.1:40000 10.0.0.2:80  ESTABLISHED aborted 0/0\n"
                                      "10.0.0.1:40000 10.0.0.2:80 out SYN_SENT failed 0/0\n");
    flows_close(bench.flows);
}

// Without the states, as of the preset tcpretrans alone: the counts of a connection go on from interval to interval.
static void retransmits(void **state) {
    (void)state;
    struct bench bench;
    begin(&bench, 4);
    const struct forged one = {.socket = 64, .old = ESTABLISHED, .sport = 5, .dport = 6};
    const struct forged other = {.socket = 64, .old = ESTABLISHED, .sport = 7, .dport = 6}; // in the same memory
    put(&bench, RETRANSMITS, one);
    put(&bench, RETRANSMITS, one);
    assert_string_equal(rows(&bench), "10.0.0.1:5 10.0.0.2:6  ESTABLISHED  2/2\n");
    assert_string_equal(rows(&bench), "");
    put(&bench, RETRANSMITS, one);
    assert_string_equal(rows(&bench), "10.0.0.1:5 10.0.0.2:6  ESTABLISHED  1/3\n");
    put(&bench, RETRANSMITS, other);
    assert_string_equal(rows(&bench), "10.0.0.1:7 10.0.0.2:6  ESTABLISHED  1/1\n");
    flows_close(bench.flows);
    begin(&bench, 0);
    assert_null(bench.flows);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lives), cmocka_unit_test(other_ends),
                                       cmocka_unit_test(retransmits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
