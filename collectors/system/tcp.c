// TCP and UDP of the network namespace that ktop is in: /proc/net/snmp, netstat, snmp6 and sockstat, one row each. The
// kernel counts TCP over IPv4 and IPv6 together, UDP apart: the row of UDP is the sum. Kernel document:
// Documentation/networking/snmp_counter.rst.
#include "collectors/system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/columns.h"
#include "model/mem.h"

enum {
    TS_ACTIVE,
    TS_PASSIVE,
    TS_FAILS,
    TS_RESETS,
    TS_ESTABLISHED,
    TS_IN,
    TS_OUT,
    TS_RETRANS,
    TS_ERRORS,
    TS_OUT_RESETS,
    TS_FIELDS
};
static const char *const tcp_names[TS_FIELDS] = {
    "ActiveOpens", "PassiveOpens", "AttemptFails", "EstabResets", "CurrEstab",
    "InSegs",      "OutSegs",      "RetransSegs",  "InErrs",      "OutRsts",
};
enum {
    TE_COOKIES,
    TE_PRUNED,
    TE_OVERFLOWS,
    TE_DROPS,
    TE_LOST,
    TE_FAST,
    TE_TIMEOUTS,
    TE_BACKLOG,
    TE_OFO,
    TE_ZERO_WINDOW,
    TE_SYN,
    TE_FIELDS
};
static const char *const ext_names[TE_FIELDS] = {
    "SyncookiesSent", "PruneCalled",    "ListenOverflows", "ListenDrops",        "TCPLostRetransmit", "TCPFastRetrans",
    "TCPTimeouts",    "TCPBacklogDrop", "TCPOFOQueue",     "TCPToZeroWindowAdv", "TCPSynRetrans",
};
enum { U_IN, U_NO_PORT, U_ERRORS, U_OUT, U_RCVBUF, U_SNDBUF, U_FIELDS };
static const char *const udp_names[U_FIELDS] = {"InDatagrams",  "NoPorts",      "InErrors",
                                                "OutDatagrams", "RcvbufErrors", "SndbufErrors"};
static const char *const udp6_names[U_FIELDS] = {"Udp6InDatagrams",  "Udp6NoPorts",      "Udp6InErrors",
                                                 "Udp6OutDatagrams", "Udp6RcvbufErrors", "Udp6SndbufErrors"};

enum {
    T_RETRANS,
    T_RETRANS_PCT,
    T_RESETS_IN,
    T_RESETS_OUT,
    T_DROPS,
    T_OVERFLOWS,
    T_ACTIVE,
    T_PASSIVE,
    T_FAILS,
    T_ESTABLISHED,
    T_TIMEOUTS,
    T_FAST,
    T_SYN,
    T_LOST,
    T_OFO,
    T_IN,
    T_OUT,
    T_ERRORS,
    T_BACKLOG,
    T_PRUNED,
    T_ZERO_WINDOW,
    T_COOKIES,
    T_TIME_WAIT,
    T_ORPHANS,
    T_SOCKET_KIB,
    T_COLUMNS
};
#define PER_S(name_, title_, help_) NUMBER_COLUMN(name_, title_, UNIT_PER_S, 8, .help = help_ ".")
#define COUNT(name_, title_, help_) NUMBER_COLUMN(name_, title_, UNIT_COUNT, 8, .help = help_ ".")

static const struct column tcp_columns[T_COLUMNS] = {
    [T_RETRANS] = PER_S("retransmits_per_s", "RETR/s", "Segments retransmitted per second (RetransSegs)"),
    [T_RETRANS_PCT] = NUMBER_COLUMN("retransmit_pct", "RETR%", UNIT_PCT, 6,
                                    .help = "Share of segments sent that are retransmits (RetransSegs, OutSegs)."),
    [T_RESETS_IN] = PER_S("resets_in_per_s", "RSTIN/s", "Established connections reset per second (EstabResets)"),
    [T_RESETS_OUT] = PER_S("resets_out_per_s", "RSTOUT/s", "Resets sent per second (OutRsts)"),
    [T_DROPS] = PER_S("listen_drops_per_s", "LDROP/s",
                      "Connection attempts dropped per second by listening sockets, for any reason (ListenDrops)"),
    [T_OVERFLOWS] = PER_S("listen_overflows_per_s", "LOVER/s",
                          "Connection attempts per second that found the accept queue full (ListenOverflows)"),
    [T_ACTIVE] = PER_S("active_opens_per_s", "ACTIVE/s", "Outgoing connections opened per second (ActiveOpens)"),
    [T_PASSIVE] = PER_S("passive_opens_per_s", "PASSIV/s", "Connections accepted per second (PassiveOpens)"),
    [T_FAILS] =
        PER_S("attempt_fails_per_s", "FAILS/s", "Failed connection attempts per second, in and out (AttemptFails)"),
    [T_ESTABLISHED] = COUNT("established", "ESTAB", "Established connections (CurrEstab)"),
    [T_TIMEOUTS] = COLUMN_TIMEOUTS_PER_S(.help = "Retransmission timeouts per second (TCPTimeouts)."),
    [T_FAST] = PER_S("fast_retransmits_per_s", "FASTR/s", "Fast retransmits per second (TCPFastRetrans)"),
    [T_SYN] = PER_S("syn_retransmits_per_s", "SYNR/s",
                    "SYN and SYN-ACK retransmits per second: the peer does not answer (TCPSynRetrans)"),
    [T_LOST] = PER_S("lost_retransmits_per_s", "LOSTR/s", "Lost retransmits per second (TCPLostRetransmit)"),
    [T_OFO] = PER_S("out_of_order_per_s", "OOO/s", "Segments per second that arrived out of order (TCPOFOQueue)"),
    [T_IN] = PER_S("segments_in_per_s", "SEGIN/s", "Segments received per second (InSegs)"),
    [T_OUT] = PER_S("segments_out_per_s", "SEGOUT/s", "Segments sent per second, retransmits left out (OutSegs)"),
    [T_ERRORS] = COLUMN_IN_ERRORS_PER_S(.help = "Bad segments received per second (InErrs)."),
    [T_BACKLOG] = PER_S("backlog_drops_per_s", "BKLOG/s",
                        "Segments dropped per second because the socket's backlog was full (TCPBacklogDrop)"),
    [T_PRUNED] = PER_S("prunes_per_s", "PRUNE/s", "Receive queues pruned per second for lack of memory (PruneCalled)"),
    [T_ZERO_WINDOW] = PER_S("zero_windows_per_s", "ZWIN/s",
                            "Zero windows sent per second: a local program reads too slowly (TCPToZeroWindowAdv)"),
    [T_COOKIES] = PER_S("syn_cookies_per_s", "COOKIE/s",
                        "SYN cookies sent per second: the queue of half-open connections is full (SyncookiesSent)"),
    [T_TIME_WAIT] = COUNT("time_wait", "TIMEWT", "Sockets in TIME-WAIT now (/proc/net/sockstat)"),
    [T_ORPHANS] = COUNT("orphans", "ORPHAN", "Orphaned sockets: no process holds them (/proc/net/sockstat)"),
    [T_SOCKET_KIB] = NUMBER_COLUMN("socket_kib", "SOCKMEM", UNIT_KIB, 8,
                                   .help = "Memory of TCP socket buffers (/proc/net/sockstat)."),
};
static const struct {
    uint8_t column, ext, field;
} tcp_rates[] = {
    {T_RETRANS, 0, TS_RETRANS},
    {T_RESETS_IN, 0, TS_RESETS},
    {T_RESETS_OUT, 0, TS_OUT_RESETS},
    {T_DROPS, 1, TE_DROPS},
    {T_OVERFLOWS, 1, TE_OVERFLOWS},
    {T_ACTIVE, 0, TS_ACTIVE},
    {T_PASSIVE, 0, TS_PASSIVE},
    {T_FAILS, 0, TS_FAILS},
    {T_TIMEOUTS, 1, TE_TIMEOUTS},
    {T_FAST, 1, TE_FAST},
    {T_SYN, 1, TE_SYN},
    {T_LOST, 1, TE_LOST},
    {T_OFO, 1, TE_OFO},
    {T_IN, 0, TS_IN},
    {T_OUT, 0, TS_OUT},
    {T_ERRORS, 0, TS_ERRORS},
    {T_BACKLOG, 1, TE_BACKLOG},
    {T_PRUNED, 1, TE_PRUNED},
    {T_ZERO_WINDOW, 1, TE_ZERO_WINDOW},
    {T_COOKIES, 1, TE_COOKIES},
};

const struct table_def system_tcp_table = {
    .name = "tcp",
    .help = "TCP of ktop's network namespace, IPv4 and IPv6 together, from /proc/net/snmp and netstat: one row",
    .columns = tcp_columns,
    .n_columns = T_COLUMNS,
    .n_keys = 0,
};

static const struct column udp_columns[U_FIELDS] = {
    [U_IN] = PER_S("datagrams_in_per_s", "IN/s", "Datagrams delivered to programs per second (InDatagrams)"),
    [U_OUT] = PER_S("datagrams_out_per_s", "OUT/s", "Datagrams sent per second (OutDatagrams)"),
    [U_NO_PORT] = PER_S("no_port_per_s", "NOPORT/s", "Datagrams per second for a port without a listener (NoPorts)"),
    [U_ERRORS] = COLUMN_IN_ERRORS_PER_S(
            .help = "Datagrams per second that could not be delivered, a full buffer included (InErrors)."),
    [U_RCVBUF] = PER_S("receive_buffer_errors_per_s", "RCVBUF/s",
                       "Datagrams dropped per second because the receiving socket was full (RcvbufErrors)"),
    [U_SNDBUF] = PER_S("send_buffer_errors_per_s", "SNDBUF/s",
                       "Datagrams dropped per second because the sending socket was full (SndbufErrors)"),
};

const struct table_def system_udp_table = {
    .name = "udp",
    .help = "UDP of ktop's network namespace, IPv4 and IPv6 together, from /proc/net/snmp and snmp6: one row",
    .columns = udp_columns,
    .n_columns = U_FIELDS,
    .n_keys = 0,
};

struct tcp {
    struct proc_file snmp, netstat, snmp6, sockstat;
    struct table_builder *tcp, *udp;
    uint32_t tcp_row, udp_row;
    uint64_t snmp_ns, netstat_ns, snmp6_ns;
    uint64_t counters[TS_FIELDS], ext[TE_FIELDS], udp4[U_FIELDS], udp6[U_FIELDS];
    double row[T_COLUMNS], rates6[U_FIELDS];
};

static void *tcp_create(void) {
    struct tcp *tcp = xcalloc(1, sizeof *tcp);
    tcp->snmp = PROC_FILE("/proc/net/snmp");
    tcp->netstat = PROC_FILE("/proc/net/netstat");
    tcp->snmp6 = PROC_FILE("/proc/net/snmp6");
    tcp->sockstat = PROC_FILE("/proc/net/sockstat");
    tcp->tcp = table_builder_new(&system_tcp_table);
    tcp->tcp_row = table_builder_add(tcp->tcp);
    tcp->udp = table_builder_new(&system_udp_table);
    tcp->udp_row = table_builder_add(tcp->udp);
    memset(tcp->counters, 0xff, sizeof tcp->counters); // PROC_MISSING
    memset(tcp->ext, 0xff, sizeof tcp->ext);
    memset(tcp->udp4, 0xff, sizeof tcp->udp4);
    memset(tcp->udp6, 0xff, sizeof tcp->udp6);
    for (size_t i = 0; i < U_FIELDS; i++)
        tcp->rates6[i] = NAN;
    return tcp;
}

static void tcp_destroy(void *state) {
    struct tcp *tcp = state;
    proc_file_close(&tcp->snmp);
    proc_file_close(&tcp->netstat);
    proc_file_close(&tcp->snmp6);
    proc_file_close(&tcp->sockstat);
    table_builder_free(tcp->tcp);
    table_builder_free(tcp->udp);
    free(tcp);
}

static void rates_take(uint64_t *before, const uint64_t *now, size_t n, double seconds, double *rates) {
    for (size_t i = 0; i < n; i++) {
        rates[i] = counter_rate(before[i], now[i], seconds);
        before[i] = now[i];
    }
}

static void sockstat_take(const struct proc_buffer *buffer, double *row) {
    static const char *const names[] = {"orphan", "tw", "mem"};
    uint64_t values[3];
    proc_line_pairs(buffer, "TCP", names, 3, values);
    row[T_ORPHANS] = counter_value(values[0]);
    row[T_TIME_WAIT] = counter_value(values[1]);
    row[T_SOCKET_KIB] = counter_value(values[2]) * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static void tcp_fill(struct tcp *tcp, const double *rates, const double *ext, uint64_t established) {
    double *row = tcp->row;
    for (size_t i = 0; i < sizeof tcp_rates / sizeof *tcp_rates; i++)
        row[tcp_rates[i].column] = tcp_rates[i].ext ? ext[tcp_rates[i].field] : rates[tcp_rates[i].field];
    row[T_ESTABLISHED] = counter_value(established);
    // Of everything that went out; nothing sent is nothing lost.
    double sent = rates[TS_OUT] + rates[TS_RETRANS];
    row[T_RETRANS_PCT] = sent > 0 ? rates[TS_RETRANS] / sent * 100 : sent;
    for (uint16_t i = 0; i < T_COLUMNS; i++)
        table_builder_set_num(tcp->tcp, tcp->tcp_row, i, row[i]);
}

static void tcp_sample_all(struct tcp *tcp, struct system_sample *sample) {
    uint64_t udp6[U_FIELDS];
    tcp->row[T_ORPHANS] = tcp->row[T_TIME_WAIT] = tcp->row[T_SOCKET_KIB] = NAN;
    if (proc_file_read(&tcp->sockstat, sample->buffer) == 0)
        sockstat_take(sample->buffer, tcp->row);
    proc_file_read(&tcp->snmp6, sample->buffer);
    double seconds = system_elapsed(&tcp->snmp6_ns, sample->now());
    proc_pairs(sample->buffer, udp6_names, U_FIELDS, udp6);
    rates_take(tcp->udp6, udp6, U_FIELDS, seconds, tcp->rates6);
}

static void tcp_sample(void *state, struct system_sample *sample) {
    struct tcp *tcp = state;
    uint64_t counters[TS_FIELDS], now[TE_FIELDS], udp4[U_FIELDS];
    double rates[TS_FIELDS], ext[TE_FIELDS], rates4[U_FIELDS];
    int error = proc_file_read(&tcp->snmp, sample->buffer);
    double seconds = system_elapsed(&tcp->snmp_ns, sample->now());
    proc_headed_pairs(sample->buffer, "Tcp", tcp_names, TS_FIELDS, counters);
    proc_headed_pairs(sample->buffer, "Udp", udp_names, U_FIELDS, udp4);
    rates_take(tcp->counters, counters, TS_FIELDS, seconds, rates);
    rates_take(tcp->udp4, udp4, U_FIELDS, seconds, rates4);
    if (error < 0)
        section_note(sample->out, SEVERITY_WARNING, "retransmits_per_s",
                     "no TCP counters: /proc/net/snmp is not readable", "mount /proc; CONFIG_INET");
    proc_file_read(&tcp->netstat, sample->buffer);
    seconds = system_elapsed(&tcp->netstat_ns, sample->now());
    proc_headed_pairs(sample->buffer, "TcpExt", ext_names, TE_FIELDS, now);
    rates_take(tcp->ext, now, TE_FIELDS, seconds, ext);
    if (sample->all)
        tcp_sample_all(tcp, sample);
    tcp_fill(tcp, rates, ext, counters[TS_ESTABLISHED]);
    sample->series[SYS_TCP_RETRANSMITS] = tcp->row[T_RETRANS];
    for (uint16_t i = 0; i < U_FIELDS; i++)
        table_builder_set_num(tcp->udp, tcp->udp_row, i,
                              isnan(tcp->rates6[i]) ? rates4[i] : rates4[i] + tcp->rates6[i]);
    section_table(sample->out, table_builder_seal(tcp->tcp));
    section_table(sample->out, table_builder_seal(tcp->udp));
}

const struct system_part system_tcp_part = {
    .name = "tcp",
    .create = tcp_create,
    .sample = tcp_sample,
    .destroy = tcp_destroy,
};
