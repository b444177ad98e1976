// Counters of TCP and UDP in the thread's network namespace.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectors/sockets/parts.h"

#define NET "/proc/thread-self/net/" // /proc/net is that of the process's first thread

enum { OUT, RETRANSMITS, RESETS_IN, RESETS_OUT, TCP_END };
static const char *const tcp_names[] = {"OutSegs", "RetransSegs", "EstabResets", "OutRsts", "CurrEstab"};
enum { DROPS = TCP_END, OVERFLOWS, ZERO_WINDOWS, EXT_END };
static const char *const ext_names[] = {"ListenDrops", "ListenOverflows", "TCPToZeroWindowAdv"};
enum { UDP_IN = EXT_END, UDP_DROPS, UDP_END, UDP6_IN = UDP_END, UDP6_DROPS, ALL };
static const char *const udp_names[] = {"InDatagrams", "RcvbufErrors"};
static const char *const udp6_names[] = {"Udp6InDatagrams", "Udp6RcvbufErrors"};
_Static_assert(ALL <= SOCKETS_COUNTERS, "room for all counters");

static void file_read(const char *path, struct proc_buffer *buffer) {
    struct proc_file file = PROC_FILE(path);
    proc_file_read(&file, buffer);
    proc_file_close(&file);
}

// "TCP: inuse 1 orphan 0 tw 1 alloc 1 mem 358"
static void sockstat_take(const char *text, struct sockets_rates *out) {
    unsigned long used, waiting, pages;
    const char *at = strstr(text, "TCP: ");
    if (!at || sscanf(at, "TCP: inuse %lu orphan %*u tw %lu alloc %*u mem %lu", &used, &waiting, &pages) != 3)
        return;
    out->sockets = (double)(used + waiting);
    out->socket_kib = (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

void sockets_counters_read(struct sockets_counters *before, struct proc_buffer *buffer, uint64_t now_ns,
                           struct sockets_rates *out) {
    uint64_t values[SOCKETS_COUNTERS], tcp[TCP_END + 1];
    double rates[SOCKETS_COUNTERS], seconds = before->at_ns ? (double)(now_ns - before->at_ns) / 1e9 : 0;
    *out = (struct sockets_rates){.sockets = NAN, .socket_kib = NAN};
    file_read(NET "snmp", buffer);
    proc_headed_pairs(buffer, "Tcp", tcp_names, TCP_END + 1, tcp);
    memcpy(values, tcp, TCP_END * sizeof(*tcp));
    out->established = tcp[TCP_END] == PROC_MISSING ? NAN : (double)tcp[TCP_END];
    proc_headed_pairs(buffer, "Udp", udp_names, UDP_END - EXT_END, values + UDP_IN);
    file_read(NET "netstat", buffer);
    proc_headed_pairs(buffer, "TcpExt", ext_names, EXT_END - TCP_END, values + DROPS);
    file_read(NET "snmp6", buffer);
    proc_pairs(buffer, udp6_names, ALL - UDP_END, values + UDP6_IN);
    file_read(NET "sockstat", buffer);
    if (buffer->length)
        sockstat_take(buffer->bytes, out);
    for (size_t i = 0; i < ALL; i++)
        rates[i] = before->at_ns ? counter_rate(before->values[i], values[i], seconds) : NAN;
    memcpy(before->values, values, ALL * sizeof(*values));
    before->at_ns = now_ns;
    out->segments_out = rates[OUT];
    out->retransmits = rates[RETRANSMITS];
    out->resets_in = rates[RESETS_IN];
    out->resets_out = rates[RESETS_OUT];
    out->listen_drops = rates[DROPS];
    out->listen_overflows = rates[OVERFLOWS];
    out->zero_windows = rates[ZERO_WINDOWS];
    out->datagrams_in = isnan(rates[UDP6_IN]) ? rates[UDP_IN] : rates[UDP_IN] + rates[UDP6_IN];
    out->udp_drops = isnan(rates[UDP6_DROPS]) ? rates[UDP_DROPS] : rates[UDP_DROPS] + rates[UDP6_DROPS];
}
