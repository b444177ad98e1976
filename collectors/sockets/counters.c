// Counters of TCP and UDP in the thread's network namespace.
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "collectors/sockets/parts.h"

#define NET "/proc/thread-self/net/" // /proc/net is that of the process's first thread

enum { OUT, RETRANSMITS, RESETS_IN, RESETS_OUT, ACTIVE_OPENS, TCP_END };
static const char *const tcp_names[] = {"OutSegs", "RetransSegs", "EstabResets", "OutRsts", "ActiveOpens", "CurrEstab"};
enum { DROPS = TCP_END, OVERFLOWS, ZERO_WINDOWS, EXT_END };
static const char *const ext_names[] = {"ListenDrops", "ListenOverflows", "TCPToZeroWindowAdv"};
enum { UDP_IN = EXT_END, UDP_DROPS, UDP_END };
static const char *const udp_names[] = {"InDatagrams", "RcvbufErrors"};
enum { IP_IN = UDP_END, IP_OUT, IP_END };
static const char *const ip_names[] = {"InDelivers", "OutRequests"};
enum { UDP6_IN = IP_END, UDP6_DROPS, IP6_IN, IP6_OUT, ALL };
static const char *const ip6_names[] = {"Udp6InDatagrams", "Udp6RcvbufErrors", "Ip6InDelivers", "Ip6OutRequests"};
_Static_assert(ALL <= SOCKETS_COUNTERS, "room for all counters");

static void file_read(const char *path, struct proc_buffer *buffer) {
    struct proc_file file = PROC_FILE(path);
    proc_file_read(&file, buffer);
    proc_file_close(&file);
}

static void sockstat_take(const struct proc_buffer *buffer, struct sockets_counters *out) {
    static const char *const names[] = {"inuse", "tw", "mem"};
    uint64_t values[3];
    proc_line_pairs(buffer, "TCP", names, 3, values);
    out->sockets = counter_value(values[0]) + counter_value(values[1]);
    out->socket_kib = counter_value(values[2]) * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static double sum(double ip4, double ip6) { // NAN: a kernel without IPv6
    return isnan(ip6) ? ip4 : ip4 + ip6;
}

static bool has_moved(const struct sockets_counters *before, const uint64_t *values) {
    static const uint8_t packets[] = {IP_IN, IP_OUT, IP6_IN, IP6_OUT};
    bool moved = !before->at_ns;
    for (size_t i = 0; i < sizeof(packets); i++)
        moved |= values[packets[i]] != before->values[packets[i]];
    return moved;
}

void sockets_counters_read(struct sockets_counters *before, struct proc_buffer *buffer, uint64_t now_ns,
                           struct sockets_rates *out) {
    uint64_t values[SOCKETS_COUNTERS], tcp[TCP_END + 1];
    double rates[SOCKETS_COUNTERS], seconds = before->at_ns ? (double)(now_ns - before->at_ns) / 1e9 : 0;
    file_read(NET "snmp", buffer);
    proc_headed_pairs(buffer, "Tcp", tcp_names, TCP_END + 1, tcp);
    memcpy(values, tcp, TCP_END * sizeof(*tcp));
    proc_headed_pairs(buffer, "Udp", udp_names, UDP_END - EXT_END, values + UDP_IN);
    proc_headed_pairs(buffer, "Ip", ip_names, IP_END - UDP_END, values + IP_IN);
    file_read(NET "snmp6", buffer);
    proc_pairs(buffer, ip6_names, ALL - IP_END, values + UDP6_IN);
    if (has_moved(before, values)) {
        file_read(NET "netstat", buffer);
        proc_headed_pairs(buffer, "TcpExt", ext_names, EXT_END - TCP_END, values + DROPS);
        file_read(NET "sockstat", buffer);
        sockstat_take(buffer, before);
    } else { // without a packet these stay, and they take longest to read
        memcpy(values + DROPS, before->values + DROPS, (EXT_END - TCP_END) * sizeof(*values));
    }
    for (size_t i = 0; i < ALL; i++)
        rates[i] = before->at_ns ? counter_rate(before->values[i], values[i], seconds) : NAN;
    memcpy(before->values, values, ALL * sizeof(*values));
    before->at_ns = now_ns;
    *out = (struct sockets_rates){.segments_out = rates[OUT],
                                  .retransmits = rates[RETRANSMITS],
                                  .resets_in = rates[RESETS_IN],
                                  .resets_out = rates[RESETS_OUT],
                                  .active_opens = rates[ACTIVE_OPENS],
                                  .listen_drops = rates[DROPS],
                                  .listen_overflows = rates[OVERFLOWS],
                                  .zero_windows = rates[ZERO_WINDOWS],
                                  .datagrams_in = sum(rates[UDP_IN], rates[UDP6_IN]),
                                  .udp_drops = sum(rates[UDP_DROPS], rates[UDP6_DROPS]),
                                  .packets = sum(rates[IP_IN] + rates[IP_OUT], rates[IP6_IN] + rates[IP6_OUT]),
                                  .established = counter_value(tcp[TCP_END]),
                                  .sockets = before->sockets,
                                  .socket_kib = before->socket_kib};
}
