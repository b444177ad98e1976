// Rules about single sockets: receivers that do not read, name servers that do not answer.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// ---- zero window ----

// A receiver that is busy for a moment reads later. What counts else is how long the unread data lasts at the rate at
// which it is read: a queue that is read soon is a buffer at work.
static void unread_report(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    struct culprit reader = {num_at(row, COL(def, unread_sockets, pid)), text_at(row, COL(def, unread_sockets, comm)),
                             NULL},
                   sender = {num_at(row, COL(def, unread_sockets, sender_pid)),
                             text_at(row, COL(def, unread_sockets, sender_comm)), NULL};
    const struct text *local = text_at(row, COL(def, unread_sockets, local)),
                      *remote = text_at(row, COL(def, unread_sockets, remote));
    double queue = num_at(row, COL(def, unread_sockets, queue)),
           rate = num_at(row, COL(def, unread_sockets, read_per_s)),
           stalled = num_at(row, COL(def, unread_sockets, stalled_s)),
           unsent = num_at(row, COL(def, unread_sockets, sender_queue));
    char key[80], name[64], other[64], waits[160] = "";
    if (!local || !remote)
        return;
    socket_key(key, sizeof(key), text_bytes(local), text_at(row, COL(def, unread_sockets, netns)));
    if (!isnan(unsent))
        snprintf(waits, sizeof(waits), "; %s waits to send %s", culprit_name(&sender, other, sizeof(other)),
                 ctx_format(ctx, UNIT_BYTES, unsent));
    double lasts_s = ctx_duration_s(ctx, key);
    if (isnan(queue)) { // the reader is not of this machine
        if (stalled >= LIMIT(zero_window, stalled_s))
            ctx_report(ctx, SEVERITY_WARNING, key, &sender,
                       "the peer %s does not read (zero window for %.0f s): %s waits to send %s", text_bytes(local),
                       stalled, culprit_name(&sender, name, sizeof(name)), ctx_format(ctx, UNIT_BYTES, unsent));
        return;
    }
    bool stopped = stalled >= LIMIT(zero_window, stalled_s);
    double drain_s = queue / rate; // infinite for a rate of 0
    if (!stopped && (!(drain_s >= LIMIT(zero_window, info_drain_s)) || lasts_s < LIMIT(zero_window, slow_s)))
        return;
    if (stopped)
        ctx_report(ctx, SEVERITY_WARNING, key, &reader,
                   "%s does not read its TCP socket %s for %.0f s: %s unread from %s, its window is closed (zero "
                   "window)%s",
                   culprit_name(&reader, name, sizeof(name)), text_bytes(local), stalled,
                   ctx_format(ctx, UNIT_BYTES, queue), text_bytes(remote), waits);
    else
        ctx_report(
            ctx, drain_s >= LIMIT(zero_window, drain_s) ? SEVERITY_WARNING : SEVERITY_INFO, key, &reader,
            "%s reads its TCP socket %s slowly, %s per second: %s unread from %s, its window is closed (zero window)%s",
            culprit_name(&reader, name, sizeof(name)), text_bytes(local), ctx_format(ctx, UNIT_BYTES_PER_S, rate),
            ctx_format(ctx, UNIT_BYTES, queue), text_bytes(remote), waits);
}

static void check_zero_window(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, unread_sockets));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        unread_report(ctx, table_def(table), row);
}

const struct rule rule_zero_window = {
    .kind = "zero_window", .resource = "network", .pane = "network", .check = check_zero_window};

// ---- name servers ----

// A name server that asks others answers within a second or two.
static void lookup_report(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    struct culprit culprit = {num_at(row, COL(def, lookup_waits, pid)), text_at(row, COL(def, lookup_waits, comm)),
                              NULL},
                   local = {num_at(row, COL(def, lookup_waits, server_pid)),
                            text_at(row, COL(def, lookup_waits, server_comm)), NULL};
    const struct text *server = text_at(row, COL(def, lookup_waits, server));
    double lookups = num_at(row, COL(def, lookup_waits, lookups)),
           longest = num_at(row, COL(def, lookup_waits, longest_s)),
           unread = num_at(row, COL(def, lookup_waits, server_queue));
    char key[96], name[64], other[64], where[160] = "";
    if (!server || !(longest >= LIMIT(dns_no_answer, waits_s)))
        return;
    snprintf(key, sizeof(key), "%.0f %s", culprit.pid, text_bytes(server));
    if (!culprit.comm && local.comm) {
        ctx_report(ctx, SEVERITY_WARNING, key, &local,
                   "the name server %s does not read its socket %s for %.0f s: %s of queries wait (Recv-Q)",
                   culprit_name(&local, other, sizeof(other)), text_bytes(server), longest,
                   ctx_format(ctx, UNIT_BYTES, unread));
        return;
    }
    if (local.comm)
        snprintf(where, sizeof(where), ", %s%s", culprit_name(&local, other, sizeof(other)),
                 unread > 0 ? " (it does not read its socket)" : "");
    ctx_report(ctx, SEVERITY_WARNING, key, &culprit,
               "the name server %s%s does not answer: %s waits for %.0f look-up%s, %.1f s so far", text_bytes(server),
               where, culprit_name(&culprit, name, sizeof(name)), lookups, lookups > 1 ? "s" : "", longest);
}

static void check_dns_no_answer(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, lookup_waits));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        lookup_report(ctx, table_def(table), row);
}

const struct rule rule_dns_no_answer = {
    .kind = "dns_no_answer", .resource = "network", .pane = "network", .check = check_dns_no_answer};
