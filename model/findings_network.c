// Rules about the network: retransmits, resets, listen drops, errors and drops of interfaces.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

// A value of the one row of the table tcp, or udp.
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
    // Ten a second at least, or one lost segment on a quiet machine would be a high share. From 1 % on the throughput
    // of a long path collapses; from 10 % on every connection stalls.
    if (!(again >= 10) || !is_above(pct, 1, 10, &severity))
        return;
    ctx_report(ctx, severity, "", &NO_CULPRIT, "%s TCP segments/s are sent again, %.1f %% of what is sent",
               ctx_format(ctx, UNIT_PER_S, again), fmin(pct, 100));
}

const struct rule rule_tcp_retransmits = {
    .kind = "tcp_retransmits", .resource = "network", .pane = "network", .check = check_tcp_retransmits};

static void check_listen_drops(struct rule_ctx *ctx) {
    double drops = tcp_value(ctx, IN(tcp, listen_drops_per_s)),
           overflows = tcp_value(ctx, IN(tcp, listen_overflows_per_s));
    double rate = fmax(drops, overflows); // an overflow is a drop as well
    enum severity severity;
    // Each is a client that waits a second or more for its next try: even one a second is a server that does not keep
    // up with accept().
    if (is_above(rate, 1, 100, &severity))
        ctx_report(ctx, severity, "", &NO_CULPRIT,
                   "%s new TCP connections/s are dropped because a listening program does not accept them in time "
                   "(ss -ltn shows whose queue is full)",
                   ctx_format(ctx, UNIT_PER_S, rate));
}

const struct rule rule_listen_drops = {
    .kind = "listen_drops", .resource = "network", .pane = "network", .check = check_listen_drops};

static void check_tcp_resets(struct rule_ctx *ctx) {
    double in = tcp_value(ctx, IN(tcp, resets_in_per_s)), out = tcp_value(ctx, IN(tcp, resets_out_per_s));
    double rate = fmax(in, out);
    // Scanners and impatient clients make a few all the time; a hundred a second are a service that refuses or is cut
    // off.
    if (rate >= 100)
        ctx_report(ctx, SEVERITY_WARNING, "", &NO_CULPRIT,
                   "TCP connections are reset: %s/s by this machine, %s/s by others. No source here says whose: "
                   "`perf trace -e tcp:tcp_%s_reset` shows the addresses and ports of each, `ss -tlnp` who listens "
                   "there",
                   ctx_format(ctx, UNIT_PER_S, out), ctx_format(ctx, UNIT_PER_S, in), out >= in ? "send" : "receive");
}

const struct rule rule_tcp_resets = {
    .kind = "tcp_resets", .resource = "network", .pane = "network", .check = check_tcp_resets};

static void check_udp_drops(struct rule_ctx *ctx) {
    double drops = row_value(ctx, IN(tables, udp), IN(udp, receive_buffer_errors_per_s));
    double in = row_value(ctx, IN(tables, udp), IN(udp, datagrams_in_per_s)), pct = 100 * drops / (drops + fmax(0, in));
    enum severity severity;
    // UDP may lose a few; from ten a second and a hundredth on, names are looked up twice and logs have holes.
    if (drops >= 10 && is_above(pct, 1, 10, &severity))
        ctx_report(ctx, severity, "", &NO_CULPRIT,
                   "%s UDP datagrams/s are dropped because a program does not read them in time, %.0f %% of those "
                   "that arrive (ss -uanp shows whose Recv-Q is full)",
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
        // A healthy link has none for days: one a second is a cable, a duplex mismatch or a driver.
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
        // Frames of protocols that nobody here speaks are counted as drops too, a few a second on any LAN: it takes ten
        // a second and a share of the traffic that TCP feels.
        if (drops >= 10 && is_above(pct, 0.5, 10, &severity))
            ctx_report(ctx, severity, text_bytes(culprit.device), &culprit,
                       "%s drops %s received and %s sent packets/s, %.1f %% of its traffic", text_bytes(culprit.device),
                       ctx_format(ctx, UNIT_PER_S, rx), ctx_format(ctx, UNIT_PER_S, tx), pct);
    }
}

const struct rule rule_interface_drops = {
    .kind = "interface_drops", .resource = "network", .pane = "network", .check = check_interface_drops};
