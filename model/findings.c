// Findings over time: what the rules say of each frame goes through a hysteresis, so that nothing flickers, and comes
// out as a table. Runs in the thread that cuts frames; must never fail on a frame that lacks sources or values.
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
// A level must hold this many frames before it is told, or one frame that is an average of LONG_FRAME_S or more.
#define FRAMES_TO_APPEAR 2
#define LONG_FRAME_S 5.0
// It is told for so many frames after it last held; an event (at_once) also for so many seconds, or who looks up from
// the keyboard has missed it.
#define FRAMES_TO_STAY 3
#define EVENT_STAY_S 30.0

// One finding that holds, or did a moment ago.
struct held {
    const struct rule *rule; // NULL: unused
    char key[48];
    enum severity severity;
    uint32_t frames, absent, calmer; // held in a row; not held since; held at a lower severity in a row
    bool now, told;                  // holds in this frame; appeared
    uint64_t since_ns, last_ns;
    struct culprit culprit; // with references
    const struct text *evidence;
};

// Something that is no finding as long as it has not lasted.
struct lasting {
    const struct rule *rule; // NULL: unused
    char key[48];
    bool now;
    uint64_t since_ns;
};

struct findings {
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
                             .help = "critical: act now; warning: it hurts or soon will; info: worth knowing."),
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
    return xcalloc(1, sizeof(struct findings));
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
    if (unused) { // else so many hold that one more tells nobody anything
        unused->rule = rule;
        snprintf(unused->key, sizeof(unused->key), "%s", key);
    }
    return unused;
}

void scan_report(struct scan *scan, enum severity severity, const char *key, const struct culprit *culprit,
                 const char *format, ...) {
    struct held *held = held_find(scan->findings, scan->rule, key);
    if (!held || held->now)
        return;
    char evidence[512];
    va_list args;
    va_start(args, format);
    vsnprintf(evidence, sizeof(evidence), format, args);
    va_end(args);
    if (!held->frames && !held->told)
        held->since_ns = scan->frame->begin_ns;
    // Worse is told at once, better only when it stays so.
    held->calmer = held->frames && severity < held->severity ? held->calmer + 1 : 0;
    if (!held->calmer || held->calmer >= FRAMES_TO_STAY)
        held->severity = severity;
    held->frames++;
    held->now = true;
    held->last_ns = scan->frame->end_ns;
    const struct culprit old = held->culprit;
    held->culprit = (struct culprit){culprit->pid, text_ref(culprit->comm), text_ref(culprit->device)};
    text_unref(old.comm);
    text_unref(old.device);
    text_unref(held->evidence);
    held->evidence = text_from(evidence);
}

double scan_lasts(struct scan *scan, const char *key) {
    struct lasting *unused = NULL, *found = NULL;
    for (size_t i = 0; i < HELD_MAX && !found; i++) {
        struct lasting *lasting = &scan->findings->lasting[i];
        if (lasting->rule == scan->rule && !strncmp(lasting->key, key, sizeof(lasting->key) - 1))
            found = lasting;
        if (!lasting->rule && !unused)
            unused = lasting;
    }
    if (!found && unused) { // else so much lasts that one more tells nobody anything
        found = unused;
        found->rule = scan->rule;
        found->since_ns = scan->frame->begin_ns;
        snprintf(found->key, sizeof(found->key), "%s", key);
    }
    if (!found || scan->frame->end_ns < found->since_ns)
        return scan->interval_s;
    found->now = true;
    return (double)(scan->frame->end_ns - found->since_ns) / 1e9;
}

// After the rules: what appears, stays or goes.
static void held_settle(struct held *held, const struct frame *frame) {
    if (held->now) {
        held->absent = 0;
        if (held->frames >= FRAMES_TO_APPEAR || held->rule->at_once || frame_interval_s(frame) >= LONG_FRAME_S)
            held->told = true;
        return;
    }
    held->absent++;
    double age_s = frame->end_ns > held->last_ns ? (double)(frame->end_ns - held->last_ns) / 1e9 : 0;
    if (!held->told || (held->absent > FRAMES_TO_STAY && !(held->rule->at_once && age_s < EVENT_STAY_S)))
        held_drop(held);
}

static int compare_held(const void *a, const void *b) {
    const struct held *x = *(const struct held *const *)a, *y = *(const struct held *const *)b;
    if (x->severity != y->severity)
        return x->severity > y->severity ? -1 : 1;
    if (x->since_ns != y->since_ns)
        return x->since_ns < y->since_ns ? -1 : 1;
    if (x->rule != y->rule)
        return x->rule < y->rule ? -1 : 1;
    return strcmp(x->key, y->key);
}

static void add_row(struct table_builder *rows, const struct held *held, const struct frame *frame) {
    uint32_t row = table_builder_add(rows);
    table_builder_set_text(rows, row, SEVERITY, text_from(severity_name(held->severity)));
    table_builder_set_text(rows, row, RESOURCE, text_from(held->rule->resource));
    table_builder_set_text(rows, row, KIND, text_from(held->rule->kind));
    table_builder_set_num(rows, row, PID, held->culprit.pid);
    table_builder_set_text(rows, row, COMM, text_ref(held->culprit.comm));
    table_builder_set_text(rows, row, DEVICE, text_ref(held->culprit.device));
    table_builder_set_text(rows, row, EVIDENCE, text_ref(held->evidence));
    table_builder_set_text(rows, row, PANE, text_from(held->rule->pane));
    table_builder_set_num(rows, row, SINCE, (double)(frame->end_ns - held->since_ns) / 1e9);
}

static void run_rules(struct findings *findings, const struct frame *frame, const struct frame *previous) {
    struct scan scan = {
        .frame = frame, .previous = previous, .findings = findings, .interval_s = frame_interval_s(frame)};
    scan.cpus = frame_series(frame, "cpus_online", NULL);
    double idle = frame_series(frame, "cpu_idle_pct", NULL), iowait = frame_series(frame, "cpu_iowait_pct", NULL);
    scan.busy_cpus = scan.cpus * fmax(0, 100 - idle - (isnan(iowait) ? 0 : iowait)) / 100;
    if (isnan(idle)) // fmax takes the number of the two
        scan.busy_cpus = NAN;
    for (size_t i = 0; i < n_rules; i++) {
        scan.rule = &rules[i];
        rules[i].check(&scan);
    }
}

struct section *findings_section(struct findings *findings, const struct frame *frame, const struct frame *previous) {
    struct section *section = section_new("findings", frame->begin_ns, frame->end_ns);
    section_set_state(section, SECTION_OK);
    struct table_builder *rows = table_builder_new(&findings_table);
    // A provisional frame has no rates: nothing can be said of it, and what is remembered stays as it is.
    if (frame->number && frame->end_ns > frame->begin_ns) {
        const struct held *told[HELD_MAX];
        size_t n = 0;
        for (size_t i = 0; i < HELD_MAX; i++)
            findings->held[i].now = findings->lasting[i].now = false;
        run_rules(findings, frame, previous);
        for (size_t i = 0; i < HELD_MAX; i++)
            if (!findings->lasting[i].now)
                findings->lasting[i].rule = NULL;
        for (size_t i = 0; i < HELD_MAX; i++) {
            struct held *held = &findings->held[i];
            if (held->rule)
                held_settle(held, frame);
            if (held->rule && held->told)
                told[n++] = held;
        }
        qsort(told, n, sizeof(told[0]), compare_held);
        for (size_t i = 0; i < n; i++)
            add_row(rows, told[i], frame);
    }
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);
    return section;
}
