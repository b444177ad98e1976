// Rules about memory that belongs to no process: huge pages that are reserved and unused, caches of the kernel, page
// tables, and free memory in pieces that are too small.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

static double memory_value(const struct rule_ctx *ctx, const char *name) {
    const struct table *table = ctx_table(ctx, IN(tables, memory));
    size_t cursor = 0;
    const union cell *row = table ? table_next(table, &cursor) : NULL;
    return row ? num_at(row, table_column(table_def(table), name)) : NAN;
}

// ---- huge pages ----

static void check_huge_pages_unused(struct rule_ctx *ctx) {
    double all = memory_value(ctx, IN(memory, huge_pages_total)),
           unused = memory_value(ctx, IN(memory, huge_pages_free)),
           promised = memory_value(ctx, IN(memory, huge_pages_reserved)),
           size = memory_value(ctx, IN(memory, huge_page_kib)), total = ctx_series(ctx, IN(series, mem_total_kib)),
           available = ctx_series(ctx, IN(series, mem_available_kib));
    double kib = (unused - (isnan(promised) ? 0 : promised)) * size;
    if (!(kib >= total * LIMIT(huge_pages_unused, unused_pct) / 100))
        return;
    bool hurts = kib >= total * LIMIT(huge_pages_unused, warning_unused_pct) / 100 &&
                 available < total * LIMIT(huge_pages_unused, warning_available_pct) / 100;
    ctx_report(
        ctx, hurts ? SEVERITY_WARNING : SEVERITY_INFO, "", &NO_CULPRIT,
        "%s of %s are reserved as huge pages and not used (%.0f of %.0f pages, vm.nr_hugepages): only programs that "
        "ask for huge pages can use that memory; %s available",
        ctx_format(ctx, UNIT_KIB, kib), ctx_format(ctx, UNIT_KIB, total), unused, all,
        ctx_format(ctx, UNIT_KIB, available));
}

const struct rule rule_huge_pages_unused = {
    .kind = "huge_pages_unused", .resource = "memory", .pane = "memory", .check = check_huge_pages_unused};

// ---- what grows ----

#define PAUSE_S 3    // without growth: it has ended
#define STEP_KIB 512 // per frame: less is no growth
#define GROWN_KIB 65536

struct growth {
    double since_kib, last_kib;
    uint64_t since_ns, rise_ns; // 0: none yet
};

// How long it has been growing, and by how much. True: from now on.
static bool growth_take(struct growth *growth, double kib, uint64_t now, double *seconds, double *grown) {
    bool rises = growth->since_ns && kib > growth->last_kib + STEP_KIB, begins = false;
    if (rises) {
        growth->rise_ns = now;
    } else if (!growth->since_ns || kib < growth->last_kib - STEP_KIB ||
               now - growth->rise_ns > PAUSE_S * 1000000000ull) {
        *growth = (struct growth){kib, kib, now, now};
        begins = true;
    }
    growth->last_kib = kib;
    *seconds = (double)(now - growth->since_ns) / 1e9;
    *grown = kib - growth->since_kib;
    return begins;
}

// ---- slab ----

#define PATH_CALLS 5000 // per second, of the process that fills the cache of names

struct slab_growth {
    struct growth all;
    double since_unreclaimable_kib;
};

static bool is_path_call(const char *call) {
    static const char *const calls[] = {"stat",     "lstat",     "newfstatat", "statx", "open",    "openat",
                                        "access",   "faccessat", "faccessat2", "mkdir", "mkdirat", "unlink",
                                        "unlinkat", "rename",    "renameat2",  "creat"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (!strcmp(call, calls[i]))
            return true;
    return false;
}

// The process with most calls that look up paths; its words in out, "" if there is none.
static struct culprit path_caller(const struct rule_ctx *ctx, char *out, size_t size) {
    const struct table *table = ctx_table(ctx, IN(tables, storms));
    const struct table_def *def = table ? table_def(table) : NULL;
    const union cell *top = NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *detail = text_at(row, COL(def, storms, detail));
        double per_s = num_at(row, COL(def, storms, per_s));
        if (!strcmp(text_bytes(text_at(row, COL(def, storms, what))), "calls") && detail &&
            is_path_call(text_bytes(detail)) && per_s >= PATH_CALLS &&
            !(top && per_s <= num_at(top, COL(def, storms, per_s))))
            top = row;
    }
    out[0] = '\0';
    if (!top)
        return NO_CULPRIT;
    struct culprit culprit = {num_at(top, COL(def, storms, pid)), text_at(top, COL(def, storms, comm)), NULL};
    const struct text *error = text_at(top, COL(def, storms, error));
    char name[64];
    snprintf(out, size, ": %s calls %s %.0f times per second%s%s", culprit_name(&culprit, name, sizeof(name)),
             text_bytes(text_at(top, COL(def, storms, detail))), num_at(top, COL(def, storms, per_s)),
             error ? ", which fails with " : "", error ? text_bytes(error) : "");
    return culprit;
}

// Where nothing grows, only a large part that the kernel cannot reclaim.
static void slab_size_report(struct rule_ctx *ctx, double unreclaimable, double total) {
    if (unreclaimable >= total * LIMIT(slab_growth, unreclaimable_pct) / 100)
        ctx_report(ctx, SEVERITY_INFO, "", &NO_CULPRIT,
                   "the kernel uses %s of %s for its own objects (unreclaimable slab): slabtop shows which",
                   ctx_format(ctx, UNIT_KIB, unreclaimable), ctx_format(ctx, UNIT_KIB, total));
}

static void check_slab_growth(struct rule_ctx *ctx) {
    struct slab_growth *growth = ctx_state(ctx, sizeof(*growth));
    double kib = memory_value(ctx, IN(memory, slab_kib)), fixed = memory_value(ctx, IN(memory, slab_unreclaimable_kib)),
           total = ctx_series(ctx, IN(series, mem_total_kib)),
           available = ctx_series(ctx, IN(series, mem_available_kib));
    double seconds, grown, rate;
    if (isnan(kib))
        return;
    if (growth_take(&growth->all, kib, ctx->frame->end_ns, &seconds, &grown))
        growth->since_unreclaimable_kib = fixed;
    rate = grown / seconds;
    if (!(seconds >= LIMIT(slab_growth, lasts_s)) || grown < GROWN_KIB || rate < LIMIT(slab_growth, growth_kib_per_s)) {
        slab_size_report(ctx, fixed, total);
        return;
    }
    char caller[192];
    struct culprit culprit = path_caller(ctx, caller, sizeof(caller));
    // A cache gives way when memory is short, other objects do not.
    bool hurts =
        fixed - growth->since_unreclaimable_kib > grown / 2 && available / rate < LIMIT(slab_growth, warning_s);
    ctx_report(ctx, hurts ? SEVERITY_WARNING : SEVERITY_INFO, "", &culprit,
               "caches of the kernel (slab: names, inodes and other objects) grow by %s per second to %s, memory of no "
               "process%s",
               ctx_format(ctx, UNIT_KIB, rate), ctx_format(ctx, UNIT_KIB, kib), caller);
}

const struct rule rule_slab_growth = {
    .kind = "slab_growth",
    .resource = "memory",
    .pane = "memory",
    .level = {.kind = LEVEL_ONLY, .what = "slab", .of = IN(tables, memory), .names = {IN(memory, slab_kib)}},
    .check = check_slab_growth};

// ---- page tables ----

// The process with most of them, if it has half; its words in out, else "".
static struct culprit page_tables_owner(struct rule_ctx *ctx, double all, char *out, size_t size) {
    const struct table *table = ctx_table(ctx, IN(tables, page_tables));
    const struct table_def *def = table ? table_def(table) : NULL;
    const union cell *top = NULL;
    size_t cursor = 0;
    char name[64];
    for (const union cell *row; table && (row = table_next(table, &cursor));)
        if (!top ||
            num_at(row, COL(def, page_tables, page_tables_kib)) > num_at(top, COL(def, page_tables, page_tables_kib)))
            top = row;
    out[0] = '\0';
    double kib = top ? num_at(top, COL(def, page_tables, page_tables_kib)) : NAN;
    if (!(kib >= all / 2))
        return NO_CULPRIT;
    struct culprit culprit = {num_at(top, COL(def, page_tables, pid)), text_at(top, COL(def, page_tables, comm)), NULL};
    snprintf(out, size, "; %s has %s of them, RSS %s", culprit_name(&culprit, name, sizeof(name)),
             ctx_format(ctx, UNIT_KIB, kib), ctx_format(ctx, UNIT_KIB, num_at(top, COL(def, page_tables, rss_kib))));
    return culprit;
}

static void check_page_tables(struct rule_ctx *ctx) {
    struct growth *growth = ctx_state(ctx, sizeof(*growth));
    double kib = memory_value(ctx, IN(memory, page_tables_kib)), total = ctx_series(ctx, IN(series, mem_total_kib)),
           available = ctx_series(ctx, IN(series, mem_available_kib)), seconds, grown;
    char owner[160], grows[48] = "";
    if (isnan(kib))
        return;
    growth_take(growth, kib, ctx->frame->end_ns, &seconds, &grown);
    double rate = grown / seconds;
    bool growing =
        seconds >= LIMIT(page_tables, lasts_s) && grown >= GROWN_KIB && rate >= LIMIT(page_tables, growth_kib_per_s);
    if (!growing && !(kib >= total * LIMIT(page_tables, share_pct) / 100))
        return;
    if (growing)
        snprintf(grows, sizeof(grows), ", and grow by %s per second", ctx_format(ctx, UNIT_KIB, rate));
    bool hurts = kib >= total * LIMIT(page_tables, warning_share_pct) / 100 ||
                 (growing && available / rate < LIMIT(page_tables, warning_s));
    struct culprit culprit = page_tables_owner(ctx, kib, owner, sizeof(owner));
    ctx_report(ctx, hurts ? SEVERITY_WARNING : SEVERITY_INFO, "", &culprit,
               "page tables take %s of %s%s, memory of no process%s", ctx_format(ctx, UNIT_KIB, kib),
               ctx_format(ctx, UNIT_KIB, total), grows, owner);
}

const struct rule rule_page_tables = {.kind = "page_tables",
                                      .resource = "memory",
                                      .pane = "memory",
                                      .level = {.kind = LEVEL_ONLY,
                                                .what = "page tables",
                                                .of = IN(tables, memory),
                                                .names = {IN(memory, page_tables_kib)}},
                                      .check = check_page_tables};

// ---- compaction ----

// The counter has all stalls; the table `storms` has the share of the process. A few stalls are the price of huge
// pages; they hurt if tasks stall on memory for a part of the time.
static void check_compaction(struct rule_ctx *ctx) {
    double per_s = memory_value(ctx, IN(memory, compaction_stalls_per_s)),
           stalled = ctx_series(ctx, IN(series, memory_some_pct));
    struct storm_row source;
    char name[64], words[96] = "";
    if (!(per_s >= LIMIT(compaction, stalls_per_s)))
        return;
    enum severity severity = stalled >= LIMIT(compaction, stalled_pct) ? SEVERITY_WARNING : SEVERITY_INFO;
    if (!isnan(stalled))
        snprintf(words, sizeof(words), "; tasks stalled on memory %.0f %% of the time (PSI some)", stalled);
    if (!ctx_storm(ctx, "compactions", false, &source) || source.per_s < source.all_per_s / 2) {
        ctx_report(ctx, severity, "", &NO_CULPRIT,
                   "direct compaction: tasks stall %s times per second for contiguous memory (compact_stall)%s",
                   ctx_format(ctx, UNIT_PER_S, per_s), words);
        return;
    }
    ctx_report(ctx, severity, "", &source.culprit,
               "direct compaction: %s stalls %s times per second for contiguous memory (compact_stall, %s)%s",
               culprit_name(&source.culprit, name, sizeof(name)),
               ctx_format(ctx, UNIT_PER_S, per_s * source.per_s / source.all_per_s),
               source.detail ? text_bytes(source.detail) : "?", words);
}

const struct rule rule_compaction = {.kind = "compaction",
                                     .resource = "memory",
                                     .pane = "memory",
                                     .level = {.kind = LEVEL_ONLY,
                                               .what = "stalls",
                                               .of = IN(tables, memory),
                                               .names = {IN(memory, compaction_stalls_per_s)}},
                                     .check = check_compaction};
