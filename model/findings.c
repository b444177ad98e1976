// Findings over time: a hysteresis over the reports of the rules in each frame, so that findings do not flicker. Runs
// in the thread that builds frames; must never fail on a frame that lacks sources or values.
#include "model/findings.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/columns.h"
#include "model/findings_about.h"
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
    double serves;          // PID of a process that works for the culprit; 0: none
    const struct text *evidence;
    struct level level;
    bool level_known; // level.before was looked up
};

// A condition of ctx_duration_s().
struct lasting {
    const struct rule *rule; // NULL: unused
    char key[48];
    bool holds;
    uint64_t since_ns;
};

#define STATES_MAX 16

struct findings {
    struct findings_profile *profile;
    struct findings_keep *keep;
    struct history *history; // NULL: none
    struct {
        const struct rule *rule; // NULL: unused
        void *memory;
    } states[STATES_MAX]; // of ctx_state()
    struct held held[HELD_MAX];
    struct lasting lasting[HELD_MAX];
};

enum {
    SEVERITY,
    RESOURCE,
    KIND,
    PID,
    COMM,
    DEVICE,
    EVIDENCE,
    PANE,
    SINCE,
    CAUSE,
    LEVEL_NAME,
    LEVEL,
    LEVEL_BEFORE,
    N_COLUMNS
};

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
    [CAUSE] =
        TEXT_COLUMN("cause", "CAUSE", 16, .help = "Kind of the finding above that explains this one; -: none does."),
    [LEVEL_NAME] =
        TEXT_COLUMN("level_name", "LEVEL OF", 24,
                    .help = "The rule's input: a series, the column of a table, or a histogram (of which p99 "
                            "counts; p90 with less than 100 values, the least with less than 10)."),
    [LEVEL] = NUMBER_COLUMN("level", "LEVEL", UNIT_NONE, 8, .help = "Its value, in the unit of its name."),
    [LEVEL_BEFORE] = NUMBER_COLUMN("level_before", "BEFORE", UNIT_NONE, 8,
                                   .help = "The same two minutes before the finding began (median of a minute); -: the "
                                           "history does not reach back, or the finding held then as well."),
};

const struct table_def findings_table = {
    .name = "findings",
    .help = "What is wrong and which task or device causes it: the most severe first, and below each what it causes.",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 3,
};

struct findings *findings_new(void) {
    struct findings *findings = xcalloc(1, sizeof(*findings));
    findings->profile = findings_profile_new();
    findings->keep = findings_keep_new();
    return findings;
}

static void held_drop(struct held *held) {
    text_unref(held->culprit.comm);
    text_unref(held->culprit.device);
    text_unref(held->evidence);
    *held = (struct held){0};
}

void findings_set_history(struct findings *findings, struct history *history) {
    findings->history = history;
}

void findings_free(struct findings *findings) {
    if (!findings)
        return;
    for (size_t i = 0; i < HELD_MAX; i++)
        held_drop(&findings->held[i]);
    for (size_t i = 0; i < STATES_MAX; i++)
        free(findings->states[i].memory);
    findings_profile_free(findings->profile);
    free(findings->keep);
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
    held->serves = 0;
    held->last_ns = ctx->frame->end_ns;
    const struct culprit old = held->culprit;
    held->culprit = (struct culprit){culprit->pid, text_ref(culprit->comm), text_ref(culprit->device)};
    text_unref(old.comm);
    text_unref(old.device);
    text_unref(held->evidence);
    held->evidence = text_from(evidence);
    level_now(&held->level, &ctx->rule->level, ctx->frame, held->key);
}

void ctx_explains(struct rule_ctx *ctx, const char *key, double pid) {
    struct held *held = held_find(ctx->findings, ctx->rule, key);
    if (held && held->holds)
        held->serves = pid;
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

void *ctx_state(struct rule_ctx *ctx, size_t size) {
    size_t i = 0;
    while (ctx->findings->states[i].rule && ctx->findings->states[i].rule != ctx->rule)
        i++; // the table of rules has fewer with a state than STATES_MAX
    if (!ctx->findings->states[i].rule) {
        ctx->findings->states[i].rule = ctx->rule;
        ctx->findings->states[i].memory = xcalloc(1, size);
    }
    return ctx->findings->states[i].memory;
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

// Once per finding: its level before it began.
static void held_look_back(struct held *held, const struct history *history) {
    if (held->level_known)
        return;
    held->level_known = true;
    level_before(&held->level, held->rule, history, held->since_ns, held->key, held->culprit.device);
}

static size_t rule_rank(const struct rule *rule) {
    size_t rank = 0;
    while (rules[rank] != rule)
        rank++;
    return rank;
}

// A finding that is shown, and its place.
struct shown {
    const struct held *held;
    struct shown *cause; // NULL: none of those shown
    enum severity worst; // of it and what it causes
    bool added;
};

static int compare_shown(const void *a, const void *b) {
    const struct shown *p = *(const struct shown *const *)a, *q = *(const struct shown *const *)b;
    const struct held *x = p->held, *y = q->held;
    enum finding_class class_x = finding_about(x->rule->kind)->class, class_y = finding_about(y->rule->kind)->class;
    if (p->worst != q->worst)
        return p->worst > q->worst ? -1 : 1;
    if (class_x != class_y)
        return class_x < class_y ? -1 : 1;
    if (x->since_ns != y->since_ns)
        return x->since_ns < y->since_ns ? -1 : 1;
    if (x->rule != y->rule)
        return rule_rank(x->rule) < rule_rank(y->rule) ? -1 : 1;
    return strcmp(x->key, y->key);
}

static bool texts_equal(const struct text *a, const struct text *b) {
    return a && b && !text_compare(a, b);
}

// Another disk is no cause, and for some kinds another process.
static bool explains(const struct held *cause, const struct held *held) {
    const struct culprit *a = &cause->culprit, *b = &held->culprit;
    if (!finding_causes(cause->rule->kind, held->rule->kind))
        return false;
    if (a->device && b->device && !texts_equal(a->device, b->device))
        return false;
    // What nothing is to blame for, and hurts little, is no explanation of what hurts.
    if (cause->severity == SEVERITY_INFO && held->severity > SEVERITY_INFO && isnan(a->pid) && !a->device &&
        !isnan(b->pid))
        return false;
    return !finding_is_of_culprit(held->rule->kind) || isnan(a->pid) || isnan(b->pid) || a->pid == b->pid ||
           cause->serves == b->pid || (held->rule->by_name && texts_equal(a->comm, b->comm));
}

// Of several causes the one on the same device, else the one that is checked first. The table of causes has no cycles.
static void causes_find(struct shown *shown, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct held *held = shown[i].held, *best = NULL;
        for (size_t k = 0; k < n; k++) {
            const struct held *cause = shown[k].held;
            if (k == i || !explains(cause, held))
                continue;
            bool same = texts_equal(cause->culprit.device, held->culprit.device);
            bool best_same = best && texts_equal(best->culprit.device, held->culprit.device);
            if (best && (same != best_same ? best_same : rule_rank(best->rule) <= rule_rank(cause->rule)))
                continue;
            best = cause;
            shown[i].cause = &shown[k];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (struct shown *at = &shown[i]; at; at = at->cause)
            at->worst = shown[i].held->severity > at->worst ? shown[i].held->severity : at->worst;
}

static void add_row(const struct findings *findings, struct table_builder *rows, const struct shown *shown,
                    const struct frame *frame) {
    const struct held *held = shown->held;
    uint32_t row = table_builder_add(rows);
    char hot[448], before[128], name[64];
    const struct profiled of = {held->rule, &held->culprit, true};
    bool profiled =
        held->rule->profiled && findings_profile_words(findings->profile, &of, frame->end_ns, hot, sizeof(hot));
    table_builder_set_text(rows, row, SEVERITY, text_from(severity_name(held->severity)));
    table_builder_set_text(rows, row, RESOURCE, text_from(held->rule->resource));
    table_builder_set_text(rows, row, KIND, text_from(held->rule->kind));
    table_builder_set_num(rows, row, PID, held->culprit.pid);
    table_builder_set_text(rows, row, COMM, text_ref(held->culprit.comm));
    table_builder_set_text(rows, row, DEVICE, text_ref(held->culprit.device));
    level_words(&held->level, &held->rule->level, before, sizeof(before));
    table_builder_set_text(
        rows, row, EVIDENCE,
        text_printf("%s%s%s%s", text_bytes(held->evidence), before, profiled ? "; " : "", profiled ? hot : ""));
    table_builder_set_text(rows, row, PANE, text_from(profiled ? held->rule->profiled : held->rule->pane));
    table_builder_set_num(rows, row, SINCE, (double)(frame->end_ns - held->since_ns) / 1e9);
    table_builder_set_text(rows, row, CAUSE, shown->cause ? text_from(shown->cause->held->rule->kind) : NULL);
    if (!level_name(&held->level, &held->rule->level, name, sizeof(name)))
        return;
    table_builder_set_text(rows, row, LEVEL_NAME, text_from(name));
    table_builder_set_num(rows, row, LEVEL, held->level.now);
    table_builder_set_num(rows, row, LEVEL_BEFORE, held->level.before);
}

// Those with that cause, each followed by what it causes.
static void add_rows(const struct findings *findings, struct table_builder *rows, struct shown *const *order, size_t n,
                     const struct shown *cause, const struct frame *frame) {
    for (size_t i = 0; i < n; i++) {
        if (order[i]->cause != cause || order[i]->added)
            continue;
        order[i]->added = true;
        add_row(findings, rows, order[i], frame);
        add_rows(findings, rows, order, n, order[i], frame);
    }
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
    for (size_t i = 0; i < thresholds_problems(); i++)
        section_note(section, SEVERITY_WARNING, NULL, thresholds_problem_at(i), NULL);
    struct table_builder *rows = table_builder_new(&findings_table);
    // A provisional frame has no rates: nothing can be concluded, and the state stays as it is.
    if (frame->number && frame->end_ns > frame->begin_ns) {
        struct shown shown[HELD_MAX], *order[HELD_MAX];
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
            if (!held->rule || !held->shown)
                continue;
            held_look_back(held, findings->history);
            findings_keep_note(findings->keep, held->since_ns, frame->end_ns);
            shown[n++] = (struct shown){.held = held, .worst = held->severity};
        }
        findings_keep_step(findings->keep, findings->history, frame->end_ns);
        profile_step(findings, frame);
        causes_find(shown, n);
        for (size_t i = 0; i < n; i++)
            order[i] = &shown[i];
        qsort(order, n, sizeof(order[0]), compare_shown);
        add_rows(findings, rows, order, n, NULL, frame);
    }
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);
    return section;
}
