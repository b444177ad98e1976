// Rules about limits that are nearly reached: descriptors and tasks.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

struct limit {
    const char *name;
    const struct text *of;
    struct culprit culprit;
    double used, most, refused;
};

static bool limit_next(const struct table *table, size_t *cursor, struct limit *out) {
    const union cell *row = table ? table_next(table, cursor) : NULL;
    if (!row)
        return false;
    const struct table_def *def = table_def(table);
    *out = (struct limit){
        .name = text_bytes(text_at(row, COL(def, limits, limit))),
        .of = text_at(row, COL(def, limits, of)),
        .culprit = {num_at(row, COL(def, limits, pid)), text_at(row, COL(def, limits, comm)), NULL},
        .used = num_at(row, COL(def, limits, used)),
        .most = num_at(row, COL(def, limits, most)),
        .refused = num_at(row, COL(def, limits, refused_per_s)),
    };
    return true;
}

// Whether it is reached or nearly so, for long enough: a rush of connections comes close for a moment.
static bool is_near(struct rule_ctx *ctx, const struct limit *limit, double pct, double critical_pct, double lasts_s,
                    const char *key, enum severity *severity) {
    return is_above(100 * limit->used / limit->most, pct, critical_pct, severity) &&
           ctx_duration_s(ctx, key) >= lasts_s;
}
#define IS_NEAR(rule_, ctx_, limit_, key_, severity_)                                                                  \
    is_near(ctx_, limit_, LIMIT(rule_, used_pct), LIMIT(rule_, critical_used_pct), LIMIT(rule_, lasts_s), key_,        \
            severity_)

static void check_fd_limit(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, limits));
    struct limit limit;
    size_t cursor = 0;
    while (limit_next(table, &cursor, &limit)) {
        char key[48], name[64];
        enum severity severity;
        bool machine = !strcmp(limit.name, "fs.file-max");
        if (!machine && strcmp(limit.name, "RLIMIT_NOFILE") != 0)
            continue;
        snprintf(key, sizeof(key), "%.0f", machine ? 0 : limit.culprit.pid);
        if (!IS_NEAR(fd_limit, ctx, &limit, key, &severity))
            continue;
        culprit_name(&limit.culprit, name, sizeof(name));
        if (machine)
            ctx_report(ctx, severity, key, &limit.culprit,
                       "%.0f of %.0f open files of the machine are used (fs.file-max); %s has most", limit.used,
                       limit.most, name);
        else
            ctx_report(ctx, severity, key, &limit.culprit,
                       "%s has %.0f of %.0f file descriptors open (RLIMIT_NOFILE)%s", name, limit.used, limit.most,
                       severity == SEVERITY_CRITICAL ? ": open, accept and socket fail with EMFILE" : "");
    }
}

const struct rule rule_fd_limit = {.kind = "fd_limit", .resource = "process", .pane = "tasks", .check = check_fd_limit};

static void check_pids_limit(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, limits));
    struct limit limit;
    size_t cursor = 0;
    while (limit_next(table, &cursor, &limit)) {
        char name[64], refused[64] = "", has[96] = "";
        enum severity severity;
        bool group = !strcmp(limit.name, "pids.max"), user = !strcmp(limit.name, "RLIMIT_NPROC");
        const char *key = group || user ? path_tail(text_bytes(limit.of), 47) : limit.name;
        if ((!group && !user && strcmp(limit.name, "kernel.threads-max") != 0 &&
             strcmp(limit.name, "kernel.pid_max") != 0) ||
            !IS_NEAR(pids_limit, ctx, &limit, key, &severity))
            continue;
        // Many programs run for long at the limit that is made for them: it hurts when a fork fails.
        if (user || (group && !(limit.refused > 0)))
            severity = SEVERITY_WARNING;
        if (limit.refused > 0)
            snprintf(refused, sizeof(refused), ", %s forks/s fail", ctx_format(ctx, UNIT_PER_S, limit.refused));
        if (limit.culprit.comm)
            snprintf(has, sizeof(has), "; %s has most of them", culprit_name(&limit.culprit, name, sizeof(name)));
        if (group)
            ctx_report(ctx, severity, key, &limit.culprit, "cgroup %s has %.0f of %.0f tasks (pids.max)%s%s",
                       path_tail(text_bytes(limit.of), 80), limit.used, limit.most, refused, has);
        else if (user)
            ctx_report(ctx, severity, key, &limit.culprit, "user %s has %.0f of %.0f tasks (RLIMIT_NPROC, ulimit -u)%s",
                       text_bytes(limit.of), limit.used, limit.most, has);
        else
            ctx_report(ctx, severity, key, &limit.culprit, "%.0f of %.0f tasks of the machine exist (%s)%s", limit.used,
                       limit.most, limit.name, has);
    }
}

const struct rule rule_pids_limit = {
    .kind = "pids_limit", .resource = "process", .pane = "tasks", .check = check_pids_limit};

static void check_conntrack_full(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, limits));
    struct limit limit;
    size_t cursor = 0;
    while (limit_next(table, &cursor, &limit)) {
        struct storm_row source = {.culprit = NO_CULPRIT};
        enum severity severity;
        char name[64], of[160] = "";
        if (strcmp(limit.name, "nf_conntrack_max") != 0 || !IS_NEAR(conntrack_full, ctx, &limit, "", &severity))
            continue;
        if (ctx_storm_of_net(ctx, "connects", NULL, &source))
            snprintf(of, sizeof(of), "; %s begins %s TCP connections per second",
                     culprit_name(&source.culprit, name, sizeof(name)), ctx_format(ctx, UNIT_PER_S, source.per_s));
        ctx_report(ctx, severity, "", *of ? &source.culprit : &NO_CULPRIT,
                   "%.0f of %.0f connections are tracked (nf_conntrack_max)%s%s", limit.used, limit.most,
                   severity == SEVERITY_CRITICAL ? ": packets of new ones are dropped" : "", of);
    }
}

const struct rule rule_conntrack_full = {
    .kind = "conntrack_full", .resource = "network", .pane = "network", .check = check_conntrack_full};
