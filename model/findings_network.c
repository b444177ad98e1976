// Rules about the network: retransmits, resets, listen drops, errors and drops of interfaces.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// The counters of a network namespace: of ktop's own from the tables "tcp" and "udp", of others from a row of
// "network_namespaces".
struct net {
    const struct text *netns;      // NULL: ktop's own
    char key[16], where[96];       // "" for ktop's own
    double again, sent, again_pct; // TCP segments per second
    double drops, resets_in, resets_out, datagrams_in, datagrams_dropped;
};

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

static struct net own_net(struct rule_ctx *ctx) {
    double again = ctx_series(ctx, IN(series, tcp_retransmits_per_s));
    return (struct net){
        .netns = NULL,
        .again = isnan(again) ? tcp_value(ctx, IN(tcp, retransmits_per_s)) : again,
        .sent = tcp_value(ctx, IN(tcp, segments_out_per_s)),
        .again_pct = tcp_value(ctx, IN(tcp, retransmit_pct)),
        // An overflow is a drop as well.
        .drops = fmax(tcp_value(ctx, IN(tcp, listen_drops_per_s)), tcp_value(ctx, IN(tcp, listen_overflows_per_s))),
        .resets_in = tcp_value(ctx, IN(tcp, resets_in_per_s)),
        .resets_out = tcp_value(ctx, IN(tcp, resets_out_per_s)),
        .datagrams_in = row_value(ctx, IN(tables, udp), IN(udp, datagrams_in_per_s)),
        .datagrams_dropped = row_value(ctx, IN(tables, udp), IN(udp, receive_buffer_errors_per_s))};
}

static struct net other_net(const struct table_def *def, const union cell *row) {
    struct net net = {.netns = text_at(row, COL(def, network_namespaces, netns)),
                      .again = num_at(row, COL(def, network_namespaces, retransmits_per_s)),
                      .sent = num_at(row, COL(def, network_namespaces, segments_out_per_s)),
                      .again_pct = NAN,
                      .drops = fmax(num_at(row, COL(def, network_namespaces, listen_drops_per_s)),
                                    num_at(row, COL(def, network_namespaces, listen_overflows_per_s))),
                      .resets_in = num_at(row, COL(def, network_namespaces, resets_in_per_s)),
                      .resets_out = num_at(row, COL(def, network_namespaces, resets_out_per_s)),
                      .datagrams_in = num_at(row, COL(def, network_namespaces, udp_in_per_s)),
                      .datagrams_dropped = num_at(row, COL(def, network_namespaces, receive_buffer_errors_per_s))};
    const struct culprit process = {num_at(row, COL(def, network_namespaces, pid)),
                                    text_at(row, COL(def, network_namespaces, comm)), NULL};
    char name[64];
    snprintf(net.key, sizeof(net.key), "%s", net.netns ? text_bytes(net.netns) : "?");
    snprintf(net.where, sizeof(net.where), ", in the network namespace of %s",
             culprit_name(&process, name, sizeof(name)));
    return net;
}

static void each_net(struct rule_ctx *ctx, void (*check)(struct rule_ctx *ctx, const struct net *net)) {
    const struct table *table = ctx_table(ctx, IN(tables, network_namespaces));
    struct net net = own_net(ctx);
    size_t cursor = 0;
    check(ctx, &net);
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        net = other_net(table_def(table), row);
        check(ctx, &net);
    }
}

// The connection that sends most segments again.
static struct culprit resender(const struct rule_ctx *ctx, const struct net *net, char *out, size_t size) {
    const struct table *table = ctx_table(ctx, IN(tables, resending));
    const struct table_def *def = table ? table_def(table) : NULL;
    const union cell *top = NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        if (is_same_netns(text_at(row, COL(def, resending, netns)), net->netns) &&
            (!top ||
             num_at(row, COL(def, resending, retransmits_per_s)) > num_at(top, COL(def, resending, retransmits_per_s))))
            top = row;
    out[0] = '\0';
    if (!top)
        return NO_CULPRIT;
    struct culprit culprit = {num_at(top, COL(def, resending, pid)), text_at(top, COL(def, resending, comm)), NULL};
    const struct text *local = text_at(top, COL(def, resending, local)),
                      *remote = text_at(top, COL(def, resending, remote));
    char name[64];
    snprintf(out, size, "; most of them by %s from %s to %s, %.0f/s",
             culprit.comm ? culprit_name(&culprit, name, sizeof(name)) : "a process", local ? text_bytes(local) : "?",
             remote ? text_bytes(remote) : "?", num_at(top, COL(def, resending, retransmits_per_s)));
    return culprit;
}

static void retransmits_check(struct rule_ctx *ctx, const struct net *net) {
    double pct = net->again_pct;
    if (isnan(pct) && net->sent + net->again > 0)
        pct = 100 * net->again / (net->sent + net->again);
    enum severity severity;
    // At least 10/s, or one lost segment on a quiet machine would be a high share. From 1 % on throughput collapses on
    // long paths; from 10 % on every connection stalls.
    if (!(net->again >= LIMIT(tcp_retransmits, segments_per_s)) ||
        !is_above(pct, LIMIT(tcp_retransmits, sent_pct), LIMIT(tcp_retransmits, critical_sent_pct), &severity))
        return;
    char by[224];
    struct culprit culprit = resender(ctx, net, by, sizeof(by));
    ctx_report(ctx, severity, net->key, &culprit, "%s TCP segments/s retransmitted, %.1f %% of those sent%s%s",
               ctx_format(ctx, UNIT_PER_S, net->again), fmin(pct, 100), net->where, by);
}

static void check_tcp_retransmits(struct rule_ctx *ctx) {
    each_net(ctx, retransmits_check);
}

const struct rule rule_tcp_retransmits = {
    .kind = "tcp_retransmits",
    .resource = "network",
    .pane = "network",
    .level = {.kind = LEVEL_ONLY, .what = "the share", .of = IN(tables, tcp), .names = {IN(tcp, retransmit_pct)}},
    .check = check_tcp_retransmits};

// The socket of that protocol with the fullest accept queue, or the most drops; NULL: not found.
static const union cell *socket_of(const struct rule_ctx *ctx, const char *protocol, const struct net *net,
                                   const struct table_def **def) {
    const struct table *table = ctx_table(ctx, IN(tables, socket_queues));
    const union cell *top = NULL;
    double most = 0;
    size_t cursor = 0;
    *def = table ? table_def(table) : NULL;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *is = text_at(row, COL(*def, socket_queues, protocol));
        double queue = num_at(row, COL(*def, socket_queues, queue)),
               limit = num_at(row, COL(*def, socket_queues, queue_limit));
        double value = !isnan(limit) ? queue / fmax(limit, 1) : num_at(row, COL(*def, socket_queues, drops_per_s));
        if (is && !strcmp(text_bytes(is), protocol) && value > most &&
            is_same_netns(text_at(row, COL(*def, socket_queues, netns)), net->netns)) {
            most = value;
            top = row;
        }
    }
    return top;
}

static struct culprit socket_owner(const struct table_def *def, const union cell *row) {
    return (struct culprit){num_at(row, COL(def, socket_queues, pid)), text_at(row, COL(def, socket_queues, comm)),
                            NULL};
}

static void listen_drops_check(struct rule_ctx *ctx, const struct net *net) {
    enum severity severity;
    // Each is a client that retries after a second or more: even 1/s means that accept() does not keep up.
    if (!is_above(net->drops, LIMIT(listen_drops, drops_per_s), LIMIT(listen_drops, critical_drops_per_s), &severity))
        return;
    const struct table_def *def;
    const union cell *row = socket_of(ctx, "tcp", net, &def);
    struct culprit culprit = row ? socket_owner(def, row) : NO_CULPRIT;
    const struct text *local = row ? text_at(row, COL(def, socket_queues, local)) : NULL;
    char name[64];
    if (local)
        ctx_report(ctx, severity, net->key, &culprit,
                   "%s does not accept() in time on %s (accept queue %.0f, limit %.0f): %s TCP connections/s dropped%s",
                   culprit_name(&culprit, name, sizeof(name)), text_bytes(local),
                   num_at(row, COL(def, socket_queues, queue)), num_at(row, COL(def, socket_queues, queue_limit)),
                   ctx_format(ctx, UNIT_PER_S, net->drops), net->where);
    else
        ctx_report(
            ctx, severity, net->key, &NO_CULPRIT,
            "%s TCP connections/s dropped: a listener does not accept() in time (ss -ltn shows the full queue)%s",
            ctx_format(ctx, UNIT_PER_S, net->drops), net->where);
}

static void check_listen_drops(struct rule_ctx *ctx) {
    each_net(ctx, listen_drops_check);
}

const struct rule rule_listen_drops = {
    .kind = "listen_drops",
    .resource = "network",
    .pane = "network",
    .level = {.kind = LEVEL_ONLY,
              .what = "the rate",
              .of = IN(tables, tcp),
              .names = {IN(tcp, listen_drops_per_s), IN(tcp, listen_overflows_per_s)}},
    .check = check_listen_drops};

// After many peers have closed at once, a program needs a moment.
static void check_close_wait(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, close_wait));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        struct culprit culprit = {num_at(row, COL(def, close_wait, pid)), text_at(row, COL(def, close_wait, comm)),
                                  NULL};
        double sockets = num_at(row, COL(def, close_wait, sockets));
        const struct text *remote = text_at(row, COL(def, close_wait, remote));
        char key[32], name[64];
        snprintf(key, sizeof(key), "%.0f", culprit.pid);
        if (!(sockets >= LIMIT(close_wait, sockets)) || ctx_duration_s(ctx, key) < LIMIT(close_wait, lasts_s))
            continue;
        ctx_report(ctx, sockets >= LIMIT(close_wait, warning_sockets) ? SEVERITY_WARNING : SEVERITY_INFO, key, &culprit,
                   "%s has %.0f sockets in CLOSE-WAIT (one to %s): the peers have closed, it has not",
                   culprit_name(&culprit, name, sizeof(name)), sockets, remote ? text_bytes(remote) : "?");
    }
}

const struct rule rule_close_wait = {
    .kind = "close_wait", .resource = "network", .pane = "network", .check = check_close_wait};

static void check_local_ports(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, local_ports));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        struct culprit culprit = {num_at(row, COL(def, local_ports, pid)), text_at(row, COL(def, local_ports, comm)),
                                  NULL};
        double ports = num_at(row, COL(def, local_ports, ports)), range = num_at(row, COL(def, local_ports, range));
        const struct text *remote = text_at(row, COL(def, local_ports, remote));
        struct storm_row source;
        char name[64], key[80];
        if (!remote || !(100 * ports / range >= LIMIT(local_ports, used_pct)))
            continue;
        // A port in TIME-WAIT has no process any more.
        if (!culprit.comm && ctx_storm_of_net(ctx, "connects", text_at(row, COL(def, local_ports, netns)), &source))
            culprit = source.culprit;
        socket_key(key, sizeof(key), text_bytes(remote), text_at(row, COL(def, local_ports, netns)));
        ctx_report(
            ctx, SEVERITY_WARNING, key, &culprit,
            "%s: %.0f of %.0f local ports are used for connections to %s, TIME-WAIT included: connect fails with "
            "EADDRNOTAVAIL (ip_local_port_range)",
            culprit.comm ? culprit_name(&culprit, name, sizeof(name)) : "a client", ports, range, text_bytes(remote));
    }
}

const struct rule rule_local_ports = {
    .kind = "local_ports", .resource = "network", .pane = "network", .check = check_local_ports};

static void resets_check(struct rule_ctx *ctx, const struct net *net) {
    double in = net->resets_in, out = net->resets_out;
    // A connection between two processes of the machine counts twice in `in`.
    double half = fmax(out, in / 2) / 2;
    struct storm_row source = {.culprit = NO_CULPRIT};
    char name[64], of[160] = "";
    // Scanners and impatient clients cause a few all the time; 100/s mean that a service refuses or is cut off.
    if (!(fmax(in, out) >= LIMIT(tcp_resets, resets_per_s)))
        return;
    // A process that closes sockets so, or else one whose connections are refused or cut off.
    if (ctx_storm_of_net(ctx, "resets", net->netns, &source) && source.per_s >= half)
        snprintf(of, sizeof(of), "%s resets %s connections per second; ",
                 culprit_name(&source.culprit, name, sizeof(name)), ctx_format(ctx, UNIT_PER_S, source.per_s));
    else if (ctx_storm_of_net(ctx, "connects", net->netns, &source) && source.per_s >= half)
        snprintf(of, sizeof(of), "%s begins %s connections per second; ",
                 culprit_name(&source.culprit, name, sizeof(name)), ctx_format(ctx, UNIT_PER_S, source.per_s));
    ctx_report(ctx, SEVERITY_WARNING, net->key, *of ? &source.culprit : &NO_CULPRIT,
               "%sTCP resets: %s/s sent, %s/s received%s; `perf trace -e tcp:tcp_%s_reset` shows addresses and ports, "
               "`ss -tlnp` the listeners",
               of, ctx_format(ctx, UNIT_PER_S, out), ctx_format(ctx, UNIT_PER_S, in), net->where,
               out >= in ? "send" : "receive");
}

static void check_tcp_resets(struct rule_ctx *ctx) {
    each_net(ctx, resets_check);
}

const struct rule rule_tcp_resets = {.kind = "tcp_resets",
                                     .resource = "network",
                                     .pane = "network",
                                     .level = {.kind = LEVEL_ONLY,
                                               .what = "the rate",
                                               .of = IN(tables, tcp),
                                               .names = {IN(tcp, resets_in_per_s), IN(tcp, resets_out_per_s)}},
                                     .check = check_tcp_resets};

static void udp_drops_check(struct rule_ctx *ctx, const struct net *net) {
    double drops = net->datagrams_dropped, pct = 100 * drops / (drops + fmax(0, net->datagrams_in));
    enum severity severity;
    // UDP may lose a few. From 10/s and 1 % on, DNS look-ups are repeated and logs have gaps.
    if (!(drops >= LIMIT(udp_drops, drops_per_s)) ||
        !is_above(pct, LIMIT(udp_drops, dropped_pct), LIMIT(udp_drops, critical_dropped_pct), &severity))
        return;
    const struct table_def *def;
    const union cell *row = socket_of(ctx, "udp", net, &def);
    struct culprit culprit = row ? socket_owner(def, row) : NO_CULPRIT;
    const struct text *local = row ? text_at(row, COL(def, socket_queues, local)) : NULL;
    char name[64];
    if (local)
        ctx_report(
            ctx, severity, net->key, &culprit,
            "%s does not read its UDP socket %s in time: it drops %s datagrams/s; all sockets drop %s/s, %.0f %% "
            "of those received%s",
            culprit_name(&culprit, name, sizeof(name)), text_bytes(local),
            ctx_format(ctx, UNIT_PER_S, num_at(row, COL(def, socket_queues, drops_per_s))),
            ctx_format(ctx, UNIT_PER_S, drops), pct, net->where);
    else
        ctx_report(ctx, severity, net->key, &NO_CULPRIT,
                   "%s UDP datagrams/s dropped, %.0f %% of those received: a program does not read in time (ss -uanp "
                   "shows its Recv-Q)%s",
                   ctx_format(ctx, UNIT_PER_S, drops), pct, net->where);
}

static void check_udp_drops(struct rule_ctx *ctx) {
    each_net(ctx, udp_drops_check);
}

const struct rule rule_udp_drops = {.kind = "udp_drops",
                                    .resource = "network",
                                    .pane = "network",
                                    .level = {.kind = LEVEL_ONLY,
                                              .what = "the rate",
                                              .of = IN(tables, udp),
                                              .names = {IN(udp, receive_buffer_errors_per_s)}},
                                    .check = check_udp_drops};

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
        if (is_above(fmax(rx, tx), LIMIT(interface_errors, errors_per_s),
                     LIMIT(interface_errors, critical_errors_per_s), &severity))
            ctx_report(ctx, severity, text_bytes(culprit.device), &culprit,
                       "%s has %s receive and %s transmit errors/s", text_bytes(culprit.device),
                       ctx_format(ctx, UNIT_PER_S, rx), ctx_format(ctx, UNIT_PER_S, tx));
    }
}

const struct rule rule_interface_errors = {
    .kind = "interface_errors",
    .resource = "network",
    .pane = "network",
    .level = {.kind = LEVEL_ROW,
              .what = "the rate",
              .of = IN(tables, interfaces),
              .names = {IN(interfaces, rx_errors_per_s), IN(interfaces, tx_errors_per_s)}},
    .check = check_interface_errors};

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
        if (drops >= LIMIT(interface_drops, drops_per_s) &&
            is_above(pct, LIMIT(interface_drops, dropped_pct), LIMIT(interface_drops, critical_dropped_pct), &severity))
            ctx_report(ctx, severity, text_bytes(culprit.device), &culprit,
                       "%s drops %s received and %s sent packets/s, %.1f %% of its traffic", text_bytes(culprit.device),
                       ctx_format(ctx, UNIT_PER_S, rx), ctx_format(ctx, UNIT_PER_S, tx), pct);
    }
}

const struct rule rule_interface_drops = {
    .kind = "interface_drops",
    .resource = "network",
    .pane = "network",
    .level = {.kind = LEVEL_ROW,
              .what = "the rate",
              .of = IN(tables, interfaces),
              .names = {IN(interfaces, rx_drops_per_s), IN(interfaces, tx_drops_per_s)}},
    .check = check_interface_drops};

#define LINKS_MAX 32

struct links {
    struct {
        char name[32];
        double base, last; // changes at since_ns, and now
        uint64_t since_ns, change_ns, seen_ns;
    } links[LINKS_MAX];
};

static void link_check(struct rule_ctx *ctx, struct links *links, const struct text *name, double changes) {
    uint64_t now = ctx->frame->end_ns;
    size_t i = 0;
    while (i < LINKS_MAX && strcmp(links->links[i].name, text_bytes(name)) != 0)
        i++;
    if (i == LINKS_MAX) { // new, in the place of the one that was not seen for the longest time
        i = 0;
        for (size_t k = 1; k < LINKS_MAX; k++)
            if (links->links[k].seen_ns < links->links[i].seen_ns)
                i = k;
        memset(&links->links[i], 0, sizeof(links->links[i]));
        snprintf(links->links[i].name, sizeof(links->links[i].name), "%s", text_bytes(name));
        links->links[i].base = links->links[i].last = changes;
        links->links[i].since_ns = now;
    }
    if (changes != links->links[i].last)
        links->links[i].change_ns = now;
    else if (now - links->links[i].change_ns > (uint64_t)(LIMIT(link_flaps, quiet_s) * 1e9))
        links->links[i].base = changes;
    if (links->links[i].base == links->links[i].last) // the first change, or none
        links->links[i].since_ns = now;
    links->links[i].last = changes;
    links->links[i].seen_ns = now;
    double seconds = (double)(now - links->links[i].since_ns) / 1e9, flaps = changes - links->links[i].base,
           window = LIMIT(link_flaps, window_s);
    // Slow ones count per minute.
    double in_time = seconds > window ? flaps * window / seconds : flaps;
    struct culprit culprit = {NAN, NULL, name};
    if (in_time >= LIMIT(link_flaps, changes))
        ctx_report(ctx, in_time >= LIMIT(link_flaps, warning_changes) ? SEVERITY_WARNING : SEVERITY_INFO,
                   text_bytes(name), &culprit, "the link of %s went up or down %.0f times in %.0f s (carrier_changes)",
                   text_bytes(name), flaps, fmax(1, seconds));
}

static void check_link_flaps(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, interfaces));
    const struct table_def *def = table ? table_def(table) : NULL;
    struct links *links = ctx_state(ctx, sizeof(*links));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        double changes = num_at(row, COL(def, interfaces, carrier_changes));
        const struct text *name = text_at(row, COL(def, interfaces, interface));
        if (name && !isnan(changes))
            link_check(ctx, links, name, changes);
    }
}

const struct rule rule_link_flaps = {
    .kind = "link_flaps", .resource = "network", .pane = "network", .check = check_link_flaps};
