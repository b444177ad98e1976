// Findings over time: a hysteresis over the reports of the rules in each frame, so that findings do not flicker. Runs
// in the thread that builds frames; must never fail on a frame that lacks sources or values.
#include "model/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/columns.h"
#include "model/findings_private.h"
#include "model/mem.h"

#define HELD_MAX 64
// A level must hold this many frames before it is shown, or one frame that averages LONG_FRAME_S or more.
#define FRAMES_TO_APPEAR 2
#define LONG_FRAME_S 5.0
// It stays for this many frames after it last held; an event also for EVENT_STAY_S, long enough to be noticed.
#define FRAMES_TO_STAY 3
#define EVENT_STAY_S 30.0

// A finding that holds, or recently did.
struct held {
    const struct rule *rule; // NULL: unused
    char key[48];
    enum severity severity;
    uint32_t frames, absent, calmer; // held in a row; not held since; held at a lower severity in a row
    bool holds, shown;               // in this frame; since FRAMES_TO_APPEAR
    uint64_t since_ns, last_ns;
    struct culprit culprit; // with references
    const struct text *evidence;
};

// A condition of ctx_duration_s().
struct lasting {
    const struct rule *rule; // NULL: unused
    char key[48];
    bool holds;
    uint64_t since_ns;
};

struct findings {
    struct findings_profile *profile;
    struct held held[HELD_MAX];
    struct lasting lasting[HELD_MAX];
};

enum { SEVERITY, RESOURCE, KIND, PID, COMM, DEVICE, EVIDENCE, PANE, SINCE, N_COLUMNS };

static int severity_rank(union cell value) {
    const char *name = text_bytes(value.text);
    return !strcmp(name, "critical") ? 0 : !strcmp(name, "warning") ? 1 : 2;
}

static int compare_severity(union cell a, union cell b) {
    return severity_rank(a) - severity_rank(b);
}

static const struct column columns[N_COLUMNS] = {
    [SEVERITY] = TEXT_COLUMN("severity", "SEVERITY", 8, .compare = compare_severity,
                             .help = "critical: act now; warning: a problem now or soon; info: worth knowing."),
    [RESOURCE] = TEXT_COLUMN("resource", "RESOURCE", 9,
                             .help = "cpu, memory, disk, network, scheduler, filesystem, kernel or process."),
    [KIND] = COLUMN_KIND(21, .help = "Name of the rule."),
    [PID] = ID_COLUMN("culprit_pid", "PID", 7, .help = "PID of the main cause, if known."),
    [COMM] = TEXT_COLUMN("culprit_comm", "CULPRIT", 15, .help = "Name of that process."),
    [DEVICE] = TEXT_COLUMN("culprit_device", "DEVICE", 8, .help = "Disk or network interface, if one is affected."),
    [EVIDENCE] = TEXT_COLUMN("evidence", "EVIDENCE", 0, .help = "Measured values of the last interval."),
    [PANE] = TEXT_COLUMN("pane", "SEE", 7, .help = "Pane with the details."),
    [SINCE] = NUMBER_COLUMN("since_s", "SINCE", UNIT_S, 7, .help = "How long the finding has held."),
};

const struct table_def findings_table = {
    .name = "findings",
    .help = "What is wrong and which task or device causes it, most severe first, then oldest first.",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 3,
};

struct findings *findings_new(void) {
    struct findings *findings = xcalloc(1, sizeof(*findings));
    findings->profile = findings_profile_new();
    return findings;
}

static void held_drop(struct held *held) {
    text_unref(held->culprit.comm);
    text_unref(held->culprit.device);
    text_unref(held->evidence);
    *held = (struct held){0};
}

void findings_free(struct findings *findings) {
    if (!findings)
        return;
    for (size_t i = 0; i < HELD_MAX; i++)
        held_drop(&findings->held[i]);
    findings_profile_free(findings->profile);
    free(findings);
}

static struct held *held_find(struct findings *findings, const struct rule *rule, const char *key) {
    struct held *unused = NULL;
    for (size_t i = 0; i < HELD_MAX; i++) {
        struct held *held = &findings->held[i];
        if (held->rule == rule && !strncmp(held->key, key, sizeof(held->key) - 1))
            return held;
        if (!held->rule && !unused)
            unused = held;
    }
    if (unused) { // else HELD_MAX findings hold already
        unused->rule = rule;
        snprintf(unused->key, sizeof(unused->key), "%s", key);
    }
    return unused;
}

void ctx_report(struct rule_ctx *ctx, enum severity severity, const char *key, const struct culprit *culprit,
                const char *format, ...) {
    struct held *held = held_find(ctx->findings, ctx->rule, key);
    if (!held || held->holds)
        return;
    char evidence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(evidence, sizeof(evidence), format, args);
    va_end(args);
    if (!held->frames && !held->shown)
        held->since_ns = ctx->frame->begin_ns;
    // A worse severity counts at once, a better one after FRAMES_TO_STAY.
    held->calmer = held->frames && severity < held->severity ? held->calmer + 1 : 0;
    if (!held->calmer || held->calmer >= FRAMES_TO_STAY)
        held->severity = severity;
    held->frames++;
    held->holds = true;
    held->last_ns = ctx->frame->end_ns;
    const struct culprit old = held->culprit;
    held->culprit = (struct culprit){culprit->pid, text_ref(culprit->comm), text_ref(culprit->device)};
    text_unref(old.comm);
    text_unref(old.device);
    text_unref(held->evidence);
    held->evidence = text_from(evidence);
}

double ctx_duration_s(struct rule_ctx *ctx, const char *key) {
    struct lasting *unused = NULL, *found = NULL;
    for (size_t i = 0; i < HELD_MAX && !found; i++) {
        struct lasting *lasting = &ctx->findings->lasting[i];
        if (lasting->rule == ctx->rule && !strncmp(lasting->key, key, sizeof(lasting->key) - 1))
            found = lasting;
        if (!lasting->rule && !unused)
            unused = lasting;
    }
    if (!found && unused) { // else HELD_MAX conditions hold already
        found = unused;
        found->rule = ctx->rule;
        found->since_ns = ctx->frame->begin_ns;
        snprintf(found->key, sizeof(found->key), "%s", key);
    }
    if (!found || ctx->frame->end_ns < found->since_ns)
        return ctx->interval_s;
    found->holds = true;
    return (double)(ctx->frame->end_ns - found->since_ns) / 1e9;
}

// After the rules: decides which findings appear, stay or go.
static void held_update(struct held *held, const struct frame *frame) {
    if (held->holds) {
        held->absent = 0;
        if (held->frames >= FRAMES_TO_APPEAR || held->rule->is_event || frame_interval_s(frame) >= LONG_FRAME_S)
            held->shown = true;
        return;
    }
    held->absent++;
    double age_s = frame->end_ns > held->last_ns ? (double)(frame->end_ns - held->last_ns) / 1e9 : 0;
    if (!held->shown || (held->absent > FRAMES_TO_STAY && !(held->rule->is_event && age_s < EVENT_STAY_S)))
        held_drop(held);
}

static size_t rule_rank(const struct rule *rule) {
    size_t rank = 0;
    while (rules[rank] != rule)
        rank++;
    return rank;
}

static int compare_held(const void *a, const void *b) {
    const struct held *x = *(const struct held *const *)a, *y = *(const struct held *const *)b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->since_ns != y->since_ns)
        return x->since_ns < y->since_ns ? -1 : 1;
    if (x->rule != y->rule)
        return rule_rank(x->rule) < rule_rank(y->rule) ? -1 : 1;
    return strcmp(x->key, y->key);
}

static void add_row(const struct findings *findings, struct table_builder *rows, const struct held *held,
                    const struct frame *frame) {
    uint32_t row = table_builder_add(rows);
    char hot[448];
    const struct profiled of = {held->rule, &held->culprit, true};
    bool profiled =
        held->rule->profiled && findings_profile_words(findings->profile, &of, frame->end_ns, hot, sizeof(hot));
    table_builder_set_text(rows, row, SEVERITY, text_from(severity_name(held->severity)));
    table_builder_set_text(rows, row, RESOURCE, text_from(held->rule->resource));
    table_builder_set_text(rows, row, KIND, text_from(held->rule->kind));
    table_builder_set_num(rows, row, PID, held->culprit.pid);
    table_builder_set_text(rows, row, COMM, text_ref(held->culprit.comm));
    table_builder_set_text(rows, row, DEVICE, text_ref(held->culprit.device));
    table_builder_set_text(rows, row, EVIDENCE,
                           profiled ? text_printf("%s; %s", text_bytes(held->evidence), hot)
                                    : text_ref(held->evidence));
    table_builder_set_text(rows, row, PANE, text_from(profiled ? held->rule->profiled : held->rule->pane));
    table_builder_set_num(rows, row, SINCE, (double)(frame->end_ns - held->since_ns) / 1e9);
}

static void run_rules(struct findings *findings, const struct frame *frame, const struct frame *previous) {
    struct rule_ctx ctx = {
        .frame = frame, .previous = previous, .findings = findings, .interval_s = frame_interval_s(frame)};
    ctx.cpus = frame_series(frame, IN(series, cpus_online), NULL);
    double idle = frame_series(frame, IN(series, cpu_idle_pct), NULL),
           iowait = frame_series(frame, IN(series, cpu_iowait_pct), NULL);
    ctx.busy_cpus = ctx.cpus * fmax(0, 100 - idle - (isnan(iowait) ? 0 : iowait)) / 100;
    if (isnan(idle)) // fmax ignores a NAN
        ctx.busy_cpus = NAN;
    for (size_t i = 0; rules[i]; i++) {
        ctx.rule = rules[i];
        rules[i]->check(&ctx);
    }
}

static void profile_step(struct findings *findings, const struct frame *frame) {
    struct profiled of[HELD_MAX];
    size_t n = 0;
    for (size_t i = 0; i < HELD_MAX; i++) {
        const struct held *held = &findings->held[i];
        if (held->rule && held->rule->profiled && held->holds)
            of[n++] = (struct profiled){held->rule, &held->culprit, held->shown};
    }
    findings_profile_step(findings->profile, frame, of, n);
}

void findings_no_profile(struct findings *findings) {
    findings_profile_off(findings->profile);
}

uint64_t findings_lease(const struct findings *findings) {
    return findings_profile_lease(findings->profile);
}

bool findings_lease_words(const struct findings *findings, uint64_t now_ns, char *out, size_t size) {
    return findings_profile_detail(findings->profile, now_ns, out, size);
}

bool ctx_is_leased(const struct rule_ctx *ctx, const char *collector) {
    return findings_lease(ctx->findings) && !strcmp(collector, FINDINGS_COLLECTOR);
}

struct section *findings_section(struct findings *findings, const struct frame *frame, const struct frame *previous) {
    struct section *section = section_new("findings", frame->begin_ns, frame->end_ns);
    section_set_state(section, SECTION_OK);
    struct table_builder *rows = table_builder_new(&findings_table);
    // A provisional frame has no rates: nothing can be concluded, and the state stays as it is.
    if (frame->number && frame->end_ns > frame->begin_ns) {
        const struct held *shown[HELD_MAX];
        size_t n = 0;
        for (size_t i = 0; i < HELD_MAX; i++)
            findings->held[i].holds = findings->lasting[i].holds = false;
        run_rules(findings, frame, previous);
        for (size_t i = 0; i < HELD_MAX; i++)
            if (!findings->lasting[i].holds)
                findings->lasting[i].rule = NULL;
        for (size_t i = 0; i < HELD_MAX; i++) {
            struct held *held = &findings->held[i];
            if (held->rule)
                held_update(held, frame);
            if (held->rule && held->shown)
                shown[n++] = held;
        }
        profile_step(findings, frame);
        qsort(shown, n, sizeof(shown[0]), compare_held);
        for (size_t i = 0; i < n; i++)
            add_row(findings, rows, shown[i], frame);
    }
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);
    return section;
}
