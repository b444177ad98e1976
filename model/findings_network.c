// Rules about the network: retransmits, resets, listen drops, errors and drops of interfaces.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

// From the single row of the table.
static double row_value(const struct rule_ctx *ctx, const char *of, const char *name) {
    const struct table *table = ctx_table(ctx, of);
    size_t cursor = 0;
    const union cell *row = table ? table_next(table, &cursor) : NULL;
    return row ? num_at(row, table_column(table_def(table), name)) : NAN;
}

static double tcp_value(const struct rule_ctx *ctx, const char *name) {
    return row_value(ctx, IN(tables, tcp), name);
}

static void check_tcp_retransmits(struct rule_ctx *ctx) {
    double again = ctx_series(ctx, IN(series, tcp_retransmits_per_s)),
           sent = tcp_value(ctx, IN(tcp, segments_out_per_s));
    if (isnan(again))
        again = tcp_value(ctx, IN(tcp, retransmits_per_s));
    double pct = tcp_value(ctx, IN(tcp, retransmit_pct));
    if (isnan(pct) && sent > 0)
        pct = 100 * again / sent;
    enum severity severity;
    // At least 10/s, or one lost segment on a quiet machine would be a high share. From 1 % on throughput collapses on
    // long paths; from 10 % on every connection stalls.
    if (!(again >= 10) || !is_above(pct, 1, 10, &severity))
        return;
    ctx_report(ctx, severity, "", &NO_CULPRIT, "%s TCP segments/s retransmitted, %.1f %% of those sent",
               ctx_format(ctx, UNIT_PER_S, again), fmin(pct, 100));
}

const struct rule rule_tcp_retransmits = {
    .kind = "tcp_retransmits", .resource = "network", .pane = "network", .check = check_tcp_retransmits};

static void check_listen_drops(struct rule_ctx *ctx) {
    double drops = tcp_value(ctx, IN(tcp, listen_drops_per_s)),
           overflows = tcp_value(ctx, IN(tcp, listen_overflows_per_s));
    double rate = fmax(drops, overflows); // an overflow is a drop as well
    enum severity severity;
    // Each is a client that retries after a second or more: even 1/s means that accept() does not keep up.
    if (is_above(rate, 1, 100, &severity))
        ctx_report(ctx, severity, "", &NO_CULPRIT,
                   "%s TCP connections/s dropped: a listener does not accept() in time (ss -ltn shows the full queue)",
                   ctx_format(ctx, UNIT_PER_S, rate));
}

const struct rule rule_listen_drops = {
    .kind = "listen_drops", .resource = "network", .pane = "network", .check = check_listen_drops};

static void check_tcp_resets(struct rule_ctx *ctx) {
    double in = tcp_value(ctx, IN(tcp, resets_in_per_s)), out = tcp_value(ctx, IN(tcp, resets_out_per_s));
    double rate = fmax(in, out);
    // Scanners and impatient clients cause a few all the time; 100/s mean that a service refuses or is cut off.
    if (rate >= 100)
        ctx_report(ctx, SEVERITY_WARNING, "", &NO_CULPRIT,
                   "TCP resets: %s/s sent, %s/s received; `perf trace -e tcp:tcp_%s_reset` shows addresses and ports, "
                   "`ss -tlnp` the listeners",
                   ctx_format(ctx, UNIT_PER_S, out), ctx_format(ctx, UNIT_PER_S, in), out >= in ? "send" : "receive");
}

const struct rule rule_tcp_resets = {
    .kind = "tcp_resets", .resource = "network", .pane = "network", .check = check_tcp_resets};

static void check_udp_drops(struct rule_ctx *ctx) {
    double drops = row_value(ctx, IN(tables, udp), IN(udp, receive_buffer_errors_per_s));
    double in = row_value(ctx, IN(tables, udp), IN(udp, datagrams_in_per_s)), pct = 100 * drops / (drops + fmax(0, in));
    enum severity severity;
    // UDP may lose a few. From 10/s and 1 % on, DNS look-ups are repeated and logs have gaps.
    if (drops >= 10 && is_above(pct, 1, 10, &severity))
        ctx_report(ctx, severity, "", &NO_CULPRIT,
                   "%s UDP datagrams/s dropped, %.0f %% of those received: a program does not read in time (ss -uanp "
                   "shows its Recv-Q)",
                   ctx_format(ctx, UNIT_PER_S, drops), pct);
}

const struct rule rule_udp_drops = {
    .kind = "udp_drops", .resource = "network", .pane = "network", .check = check_udp_drops};

struct interface_columns {
    int name, rx, tx, rx_packets, tx_packets;
};

static struct interface_columns interface_columns(const struct table_def *def, const char *rx, const char *tx) {
    return (struct interface_columns){COL(def, interfaces, interface), table_column(def, rx), table_column(def, tx),
                                      COL(def, interfaces, rx_packets_per_s), COL(def, interfaces, tx_packets_per_s)};
}

static void check_interface_errors(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, interfaces));
    if (!table)
        return;
    struct interface_columns at =
        interface_columns(table_def(table), IN(interfaces, rx_errors_per_s), IN(interfaces, tx_errors_per_s));
    size_t cursor = 0;
    for (const union cell *row; at.name >= 0 && (row = table_next(table, &cursor));) {
        double rx = num_at(row, at.rx), tx = num_at(row, at.tx);
        struct culprit culprit = {NAN, NULL, text_at(row, at.name)};
        enum severity severity;
        // A healthy link has none for days. 1/s: a cable, a duplex mismatch or a driver.
        if (is_above(fmax(rx, tx), 1, 100, &severity))
            ctx_report(ctx, severity, text_bytes(culprit.device), &culprit,
                       "%s has %s receive and %s transmit errors/s", text_bytes(culprit.device),
                       ctx_format(ctx, UNIT_PER_S, rx), ctx_format(ctx, UNIT_PER_S, tx));
    }
}

const struct rule rule_interface_errors = {
    .kind = "interface_errors", .resource = "network", .pane = "network", .check = check_interface_errors};

static void check_interface_drops(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, interfaces));
    if (!table)
        return;
    struct interface_columns at =
        interface_columns(table_def(table), IN(interfaces, rx_drops_per_s), IN(interfaces, tx_drops_per_s));
    size_t cursor = 0;
    for (const union cell *row; at.name >= 0 && (row = table_next(table, &cursor));) {
        double rx = num_at(row, at.rx), tx = num_at(row, at.tx);
        double drops = fmax(0, rx) + fmax(0, tx);
        double packets = fmax(0, num_at(row, at.rx_packets)) + fmax(0, num_at(row, at.tx_packets)) + drops;
        double pct = packets > 0 ? 100 * drops / packets : NAN;
        struct culprit culprit = {NAN, NULL, text_at(row, at.name)};
        enum severity severity;
        // Frames of unknown protocols count as drops too, a few per second on any LAN. 10/s and 0.5 % affect TCP.
        if (drops >= 10 && is_above(pct, 0.5, 10, &severity))
            ctx_report(ctx, severity, text_bytes(culprit.device), &culprit,
                       "%s drops %s received and %s sent packets/s, %.1f %% of its traffic", text_bytes(culprit.device),
                       ctx_format(ctx, UNIT_PER_S, rx), ctx_format(ctx, UNIT_PER_S, tx), pct);
    }
}

const struct rule rule_interface_drops = {
    .kind = "interface_drops", .resource = "network", .pane = "network", .check = check_interface_drops};
