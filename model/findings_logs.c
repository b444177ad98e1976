// The rule about processes that send log lines faster than the log daemon can read and write them.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

static void daemon_report(struct rule_ctx *ctx, const struct table_def *def, const union cell *row) {
    struct culprit daemon = {num_at(row, COL(def, log_senders, pid)), text_at(row, COL(def, log_senders, comm)), NULL},
                   sender = {num_at(row, COL(def, log_senders, sender_pid)),
                             text_at(row, COL(def, log_senders, sender_comm)), NULL};
    const struct text *socket = text_at(row, COL(def, log_senders, socket));
    const char *path = socket ? text_bytes(socket) : "a socket";
    double cpu = num_at(row, COL(def, log_senders, cpu_pct)), lines = num_at(row, COL(def, log_senders, lines_per_s)),
           sent = num_at(row, COL(def, log_senders, sender_lines_per_s)),
           waits = num_at(row, COL(def, log_senders, waits_pct));
    char key[16], name[64], other[64], most[128] = "", wait[96] = "";
    bool full = waits >= LIMIT(log_flood, waits_pct);
    if (!(lines >= LIMIT(log_flood, lines_per_s)) || !(cpu >= LIMIT(log_flood, cpu_pct) || full))
        return;
    snprintf(key, sizeof(key), "%.0f", daemon.pid);
    enum severity severity = full || cpu >= LIMIT(log_flood, warning_cpu_pct) ? SEVERITY_WARNING : SEVERITY_INFO;
    culprit_name(&daemon, name, sizeof(name));
    culprit_name(&sender, other, sizeof(other));
    if (waits >= 1)
        snprintf(wait, sizeof(wait), "; the sender waits %.0f %% of the time (the socket's queue is full)", waits);
    if (!(sent >= lines / 2)) {
        if (sent > 0)
            snprintf(most, sizeof(most), "; %s sends most, %s per second", other, ctx_format(ctx, UNIT_PER_S, sent));
        ctx_report(ctx, severity, key, &daemon,
                   "%s uses %.0f %% of one CPU to read %s log lines per second from %s%s%s", name, cpu,
                   ctx_format(ctx, UNIT_PER_S, lines), path, most, wait);
        return;
    }
    ctx_report(ctx, severity, key, &sender,
               "%s sends %s log lines per second through %s to %s, which uses %.0f %% of one CPU to read them%s", other,
               ctx_format(ctx, UNIT_PER_S, sent), path, name, cpu, wait);
    ctx_explains(ctx, key, daemon.pid);
}

static void check_log_flood(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, log_senders));
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        daemon_report(ctx, table_def(table), row);
}

const struct rule rule_log_flood = {
    .kind = "log_flood", .resource = "process", .pane = "syscalls", .check = check_log_flood};
