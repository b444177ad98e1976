// Rules about the network: retransmits, resets, listen drops, errors and drops of interfaces.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

// A value of the one row of the table tcp, or udp.
static double row_value(const struct scan *scan, const char *of, const char *name) {
    const struct table *table = scan_table(scan, of);
    size_t cursor = 0;
    const union cell *row = table ? table_next(table, &cursor) : NULL;
    return row ? scan_num(row, table_column(table_def(table), name)) : NAN;
}

static double tcp_value(const struct scan *scan, const char *name) {
    return row_value(scan, "tcp", name);
}

void check_retransmits(struct scan *scan) {
    double again = scan_series(scan, "tcp_retransmits_per_s"), sent = tcp_value(scan, "segments_out_per_s");
    if (isnan(again))
        again = tcp_value(scan, "retransmits_per_s");
    double pct = tcp_value(scan, "retransmit_pct");
    if (isnan(pct) && sent > 0)
        pct = 100 * again / sent;
    enum severity severity;
    // Ten a second at least, or one lost segment on a quiet machine would be a high share. From 1 % on the throughput
    // of a long path collapses; from 10 % on every connection stalls.
    if (!(again >= 10) || !scan_level(pct, 1, 10, &severity))
        return;
    scan_report(scan, severity, "", &NOBODY, "%s TCP segments/s are sent again, %.1f %% of what is sent",
                scan_show(scan, UNIT_PER_S, again), fmin(pct, 100));
}

void check_listen_drops(struct scan *scan) {
    double drops = tcp_value(scan, "listen_drops_per_s"), overflows = tcp_value(scan, "listen_overflows_per_s");
    double rate = fmax(drops, overflows); // an overflow is a drop as well
    enum severity severity;
    // Each is a client that waits a second or more for its next try: even one a second is a server that does not keep
    // up with accept().
    if (scan_level(rate, 1, 100, &severity))
        scan_report(scan, severity, "", &NOBODY,
                    "%s new TCP connections/s are dropped because a listening program does not accept them in time "
                    "(ss -ltn shows whose queue is full)",
                    scan_show(scan, UNIT_PER_S, rate));
}

void check_resets(struct scan *scan) {
    double in = tcp_value(scan, "resets_in_per_s"), out = tcp_value(scan, "resets_out_per_s");
    double rate = fmax(in, out);
    // Scanners and impatient clients make a few all the time; a hundred a second are a service that refuses or is cut
    // off.
    if (rate >= 100)
        scan_report(scan, SEVERITY_WARNING, "", &NOBODY,
                    "TCP connections are reset: %s/s by this machine, %s/s by others. No source here says whose: "
                    "`perf trace -e tcp:tcp_%s_reset` shows the addresses and ports of each, `ss -tlnp` who listens "
                    "there",
                    scan_show(scan, UNIT_PER_S, out), scan_show(scan, UNIT_PER_S, in), out >= in ? "send" : "receive");
}

void check_udp_drops(struct scan *scan) {
    double drops = row_value(scan, "udp", "receive_buffer_errors_per_s");
    double in = row_value(scan, "udp", "datagrams_in_per_s"), pct = 100 * drops / (drops + fmax(0, in));
    enum severity severity;
    // UDP may lose a few; from ten a second and a hundredth on, names are looked up twice and logs have holes.
    if (drops >= 10 && scan_level(pct, 1, 10, &severity))
        scan_report(scan, severity, "", &NOBODY,
                    "%s UDP datagrams/s are dropped because a program does not read them in time, %.0f %% of those "
                    "that arrive (ss -uanp shows whose Recv-Q is full)",
                    scan_show(scan, UNIT_PER_S, drops), pct);
}

struct interface_columns {
    int name, rx, tx, rx_packets, tx_packets;
};

static struct interface_columns interface_columns(const struct table_def *def, const char *rx, const char *tx) {
    return (struct interface_columns){table_column(def, "interface"), table_column(def, rx), table_column(def, tx),
                                      table_column(def, "rx_packets_per_s"), table_column(def, "tx_packets_per_s")};
}

void check_interface_errors(struct scan *scan) {
    const struct table *table = scan_table(scan, "interfaces");
    if (!table)
        return;
    struct interface_columns at = interface_columns(table_def(table), "rx_errors_per_s", "tx_errors_per_s");
    size_t cursor = 0;
    for (const union cell *row; at.name >= 0 && (row = table_next(table, &cursor));) {
        double rx = scan_num(row, at.rx), tx = scan_num(row, at.tx);
        struct culprit culprit = {NAN, NULL, scan_text(row, at.name)};
        enum severity severity;
        // A healthy link has none for days: one a second is a cable, a duplex mismatch or a driver.
        if (scan_level(fmax(rx, tx), 1, 100, &severity))
            scan_report(scan, severity, text_bytes(culprit.device), &culprit,
                        "%s has %s receive and %s transmit errors/s", text_bytes(culprit.device),
                        scan_show(scan, UNIT_PER_S, rx), scan_show(scan, UNIT_PER_S, tx));
    }
}

void check_interface_drops(struct scan *scan) {
    const struct table *table = scan_table(scan, "interfaces");
    if (!table)
        return;
    struct interface_columns at = interface_columns(table_def(table), "rx_drops_per_s", "tx_drops_per_s");
    size_t cursor = 0;
    for (const union cell *row; at.name >= 0 && (row = table_next(table, &cursor));) {
        double rx = scan_num(row, at.rx), tx = scan_num(row, at.tx);
        double drops = fmax(0, rx) + fmax(0, tx);
        double packets = fmax(0, scan_num(row, at.rx_packets)) + fmax(0, scan_num(row, at.tx_packets)) + drops;
        double pct = packets > 0 ? 100 * drops / packets : NAN;
        struct culprit culprit = {NAN, NULL, scan_text(row, at.name)};
        enum severity severity;
        // Frames of protocols that nobody here speaks are counted as drops too, a few a second on any LAN: it takes ten
        // a second and a share of the traffic that TCP feels.
        if (drops >= 10 && scan_level(pct, 0.5, 10, &severity))
            scan_report(scan, severity, text_bytes(culprit.device), &culprit,
                        "%s drops %s received and %s sent packets/s, %.1f %% of its traffic",
                        text_bytes(culprit.device), scan_show(scan, UNIT_PER_S, rx), scan_show(scan, UNIT_PER_S, tx),
                        pct);
    }
}
