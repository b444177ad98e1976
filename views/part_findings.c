// Draws findings as wrapped sentences, the most severe first; with too little room the last ones are cut to a line.
// Severity is a mark and a colour. Decides nothing itself: the rules are in model/findings*.c.
#include "views/part_findings.h"

#include <math.h>
#include <string.h>

#include "model/findings_about.h"
#include "model/findings_thresholds.h"
#include "views/escape.h"
#include "views/jump.h"
#include "views/width.h"

#define FINDINGS_MAX 32
#define LINES_MAX 6
#define MARK_WIDTH 3
#define RESOURCE_WIDTH 11
#define INDENT 2

struct finding {
    char severity[12], resource[16], culprit[96], pane[24];
    char text[1152]; // culprit, evidence and since when
    bool caused;     // by a finding above
    int lines;
};

struct findings_state {
    int selected;
    int top; // the first one drawn
    int n;   // of the last draw
    struct {
        int y, lines;
    } at[FINDINGS_MAX];                    // of the last draw; lines 0: not on the screen
    struct finding findings[FINDINGS_MAX]; // scratch
};

static void cell_string(const struct table *table, const union cell *row, const char *name, char *out, size_t size) {
    int column = table_column(table_def(table), name);
    char text[896];
    out[0] = '\0';
    if (column < 0 || cell_is_null(&table_def(table)->columns[column], row[column]))
        return;
    size_t n = column_format(&table_def(table)->columns[column], row[column], text, sizeof text);
    escape_text(text, n, out, size);
}

// fio (4242) on vda
static void finding_culprit(struct finding *finding, const char *comm, const char *pid, const char *device) {
    size_t size = sizeof finding->culprit;
    int n = snprintf(finding->culprit, size, "%s", comm);
    if (pid[0] && n >= 0 && (size_t)n < size)
        n += snprintf(finding->culprit + n, size - (size_t)n, comm[0] ? " (%s)" : "process %s", pid);
    if (device[0] && n >= 0 && (size_t)n < size)
        snprintf(finding->culprit + n, size - (size_t)n, "%s%s", n ? " on " : "", device);
}

static void finding_read(const struct table *table, const union cell *row, struct finding *out) {
    char comm[64], pid[24], device[64], evidence[896], since[24];
    int column = table_column(table_def(table), "since_s"), cause = table_column(table_def(table), "cause");

    out->caused = cause >= 0 && row[cause].text;
    cell_string(table, row, "severity", out->severity, sizeof out->severity);
    cell_string(table, row, "resource", out->resource, sizeof out->resource);
    cell_string(table, row, "pane", out->pane, sizeof out->pane);
    cell_string(table, row, "culprit_comm", comm, sizeof comm);
    cell_string(table, row, "culprit_pid", pid, sizeof pid);
    cell_string(table, row, "culprit_device", device, sizeof device);
    cell_string(table, row, "evidence", evidence, sizeof evidence);
    cell_string(table, row, "since_s", since, sizeof since);
    finding_culprit(out, comm, pid, device);
    // The evidence may already name the culprit.
    bool named = !out->culprit[0] || ((!comm[0] || strstr(evidence, comm)) && (!device[0] || strstr(evidence, device)));
    bool clock = since[0] && row[column].num >= 1e9; // a time of day, not a duration
    bool brief = since[0] && row[column].num < 1;    // new in this frame
    snprintf(out->text, sizeof out->text, "%s%s%s%s%s%s", named ? "" : out->culprit, named ? "" : ": ", evidence,
             !since[0] || brief ? ""
             : clock            ? " (since "
                                : " (for ",
             brief ? "" : since, !since[0] || brief ? "" : ")");
}

// The next line of at most `width` columns, broken at a blank if possible. False at the end of the text.
static bool next_line(const char **text, int width, char *out, size_t size) {
    const char *at = *text, *blank = NULL;
    int used = 0;
    while (*at == ' ')
        at++;
    const char *start = at;
    if (!*at || width < 1)
        return false;
    while (*at) {
        uint32_t ch;
        size_t n = utf8_decode(at, strlen(at), &ch);
        int w = n ? char_width(ch) : 1;
        if (*at == ' ')
            blank = at;
        if (used + w > width || (size_t)(at - start) + (n ? n : 1) >= size)
            break;
        used += w;
        at += n ? n : 1;
    }
    const char *end = *at && blank ? blank : at;
    if (end == start) // one character is wider than the line
        return false;
    size_t length = (size_t)(end - start);
    snprintf(out, size, "%.*s", (int)length, start);
    *text = end;
    return true;
}

static int count_lines(const char *text, int width) {
    char line[512];
    int n = 0;
    while (n < LINES_MAX && next_line(&text, width, line, sizeof line))
        n++;
    return n ? n : 1;
}

static int hint_width(int width) {
    return width >= 60 ? 10 : 0;
}
static int indent(const struct finding *finding) {
    return finding->caused ? INDENT : 0;
}
static int sentence_width(const struct finding *finding, int width) {
    return width - MARK_WIDTH - RESOURCE_WIDTH - hint_width(width) - indent(finding);
}

static const struct table *findings_table_of(const struct part_context *ctx) {
    const struct findings_spec *spec = ctx->part->spec;
    return ctx->look->frame ? frame_table(ctx->look->frame, spec->table) : NULL;
}

static int findings_height(struct part_context *ctx, int width) {
    const struct table *table = findings_table_of(ctx);
    const union cell *row;
    int lines = 0;
    if (!table || !table_rows(table))
        return 2;
    for (size_t cursor = 0; (row = table_next(table, &cursor));) {
        struct finding finding;
        finding_read(table, row, &finding);
        lines += count_lines(finding.text, sentence_width(&finding, width));
    }
    return lines;
}

// ---- nothing wrong ----

static bool was_measured(const struct frame *frame, const char *name) {
    uint64_t left_out;
    for (size_t s = 0; s < frame->n_sections; s++) {
        const struct section *section = frame->sections[s];
        enum section_state state = section_state(section);
        if (frame->stale_ns[s] || (state != SECTION_OK && state != SECTION_DEGRADED))
            continue;
        if (section_find_table(section, name) || section_find_hists(section, name) ||
            section_find_stream(section, name, &left_out))
            return true;
        for (size_t i = 0; i < section_n_series(section); i++) {
            const struct series_def *def;
            double value = section_series_at(section, i, &def);
            if (!strcmp(def->name, name))
                return value == value;
        }
    }
    return false;
}

// The verdict without findings, and the checks that it is based on.
static enum role nothing_text(struct part_context *ctx, const char **verdict, char *out, size_t size) {
    const struct findings_spec *spec = ctx->part->spec;
    const struct frame *frame = ctx->look->frame;
    char looked[512] = "", missed[512] = "";

    out[0] = '\0';
    if (!frame || !findings_table_of(ctx) || frame->number == 0) {
        *verdict = "Measuring: findings need one whole interval.";
        return ROLE_DIM;
    }
    for (const struct findings_look *look = spec->looks; look->what; look++) {
        char *list = was_measured(frame, look->name) ? looked : missed;
        size_t used = strlen(list);
        snprintf(list + used, sizeof looked - used, "%s%s", used ? ", " : "", look->what);
    }
    snprintf(out, size, "%s%s%s%s%s%s%s", looked[0] ? "Looked at " : "", looked, looked[0] ? "." : "",
             looked[0] && missed[0] ? " " : "", missed[0] ? "Not checked: " : "", missed, missed[0] ? "." : "");
    *verdict = looked[0] ? "Nothing wrong found." : "Nothing was measured.";
    return looked[0] ? ROLE_GOOD : ROLE_WARNING;
}

static void draw_nothing(struct part_context *ctx) {
    char text[1200], line[512];
    const char *verdict, *rest = text;
    enum role role = nothing_text(ctx, &verdict, text, sizeof text);
    int x = area_text(ctx->area, 0, 0, role, verdict);
    for (int y = 0, at = x + 1; y < ctx->area.height && next_line(&rest, ctx->area.width - at, line, sizeof line);
         y++, at = 0)
        area_text(ctx->area, at, y, ROLE_DIM, line);
}

// ---- drawing ----

static enum role severity_role(const char *severity) {
    return !strcmp(severity, "critical") ? ROLE_CRITICAL : !strcmp(severity, "warning") ? ROLE_WARNING : ROLE_INFO;
}

static void draw_finding(struct area area, const struct finding *finding, int y, int lines, bool selected) {
    enum role role = severity_role(finding->severity);
    int width = sentence_width(finding, area.width), hint = hint_width(area.width);
    int at = MARK_WIDTH + RESOURCE_WIDTH + indent(finding);
    const char *text = finding->text;
    char line[512];

    area_text(area, 0, y, role, role == ROLE_CRITICAL ? "!!" : role == ROLE_WARNING ? "!" : "i");
    area_text(area_sub(area, MARK_WIDTH, 0, RESOURCE_WIDTH - 1, area.height), 0, y, role, finding->resource);
    if (finding->caused)
        area_char(area, MARK_WIDTH + RESOURCE_WIDTH, y, ROLE_DIM, 0x2514);
    for (int i = 0; i < lines && next_line(&text, width, line, sizeof line); i++) {
        area_text(area, at, y + i, i ? ROLE_TEXT : role, line);
        area_role(area, at, y + i, width, ROLE_TEXT);
        if (i == lines - 1 && *text) // cut off: the pane of the finding shows the rest
            area_char(area, at + width - 1, y + i, ROLE_DIM, 0x2026);
    }
    if (hint && finding->pane[0]) {
        char where[32];
        snprintf(where, sizeof where, "\u2192 %s", finding->pane);
        area_text(area, area.width - hint + 1, y, ROLE_KEY, where);
    }
    if (selected)
        for (int i = 0; i < lines; i++)
            area_role(area, MARK_WIDTH, y + i, area.width - MARK_WIDTH, ROLE_SELECTED);
}

static void findings_draw(struct part_context *ctx) {
    struct findings_state *state = ctx->state;
    const struct table *table = findings_table_of(ctx);
    struct finding *findings = state->findings;
    const union cell *row;
    int n = 0, total = 0, height = ctx->area.height;

    state->n = 0;
    memset(state->at, 0, sizeof state->at);
    if (!table || !table_rows(table)) {
        draw_nothing(ctx);
        return;
    }
    for (size_t cursor = 0; n < FINDINGS_MAX && (row = table_next(table, &cursor)); n++) {
        finding_read(table, row, &findings[n]);
        findings[n].lines = count_lines(findings[n].text, sentence_width(&findings[n], ctx->area.width));
        total += findings[n].lines;
    }
    state->n = n;
    if (state->selected >= n)
        state->selected = n - 1;
    if (state->selected < 0)
        state->selected = 0;
    // Too little room: the last findings lose their further lines first, the selected one keeps its own.
    for (int i = n - 1; i >= 0 && total > height; i--)
        while (i != state->selected && findings[i].lines > 1 && total > height) {
            findings[i].lines--;
            total--;
        }
    if (findings[state->selected].lines > height)
        findings[state->selected].lines = height;
    if (total <= height || state->selected < state->top)
        state->top = total <= height ? 0 : state->selected;
    int reach = 0; // all of the selected one must be on the screen
    for (int i = state->top; i <= state->selected; i++)
        reach += findings[i].lines;
    while (reach > height && state->top < state->selected)
        reach -= findings[state->top++].lines;
    int y = 0, i = state->top;
    for (; i < n && y < height; y += findings[i++].lines) {
        int lines = y + findings[i].lines > height ? height - y : findings[i].lines;
        draw_finding(ctx->area, &findings[i], y, lines, ctx->focused && i == state->selected);
        state->at[i].y = y;
        state->at[i].lines = lines;
    }
}

static void findings_status(struct part_context *ctx, char *out, size_t size) {
    struct findings_state *state = ctx->state;
    int shown = 0;
    for (int i = 0; i < state->n; i++)
        shown += state->at[i].lines > 0;
    if (shown < state->n)
        snprintf(out, size, "%d of %d", shown, state->n);
    else if (state->n)
        snprintf(out, size, "%d", state->n);
}

// ---- keys ----

// Whether a table of that pane has the column.
static bool pane_has_column(const char *pane, const struct frame *frame, const char *column) {
    for (const struct view *const *view = views; *view; view++) {
        for (size_t i = 0; !strcmp((*view)->name, pane) && i < (*view)->n_parts; i++) {
            const struct part *part = &(*view)->parts[i];
            const char *names[16] = {part->name};
            size_t n = part->kind->sources ? part->kind->sources(part, names, 16) : 1;
            for (size_t k = 0; k < n; k++) {
                const struct table *table = frame_table(frame, names[k]);
                if (table && table_column(table_def(table), column) >= 0)
                    return true;
            }
        }
    }
    return false;
}

// Filters to exactly the culprit's rows in that pane: pid 1, not pid 10. False if that is a name whose tasks come and
// go rather than one task that may be gone.
static bool culprit_filter(const struct table *table, const union cell *row, const struct frame *frame,
                           const char *pane, char *out, size_t size) {
    static const struct {
        const char *culprit, *column;
    } names[] = {{"culprit_device", "device"},
                 {"culprit_device", "interface"},
                 {"culprit_pid", "pid"},
                 {"culprit_comm", "comm"}};
    bool one = true;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names && !out[0]; i++) {
        int at = table_column(table_def(table), names[i].culprit);
        if (at < 0 || !pane_has_column(pane, frame, names[i].column))
            continue;
        struct column column = table_def(table)->columns[at];
        column.name = names[i].column;
        filter_for(&column, row[at], out, size);
        one = strcmp(column.name, "comm") != 0;
    }
    return one;
}

// Within the first frame of the finding, not at the border to the one before it.
static struct timespec begin_of(const struct table *table, const union cell *row, const struct frame *frame) {
    int column = table_column(table_def(table), "since_s");
    double since_s = column < 0 || isnan(row[column].num) ? 0 : row[column].num;
    int64_t ns = (int64_t)frame->wall.tv_sec * 1000000000 + frame->wall.tv_nsec - (int64_t)(since_s * 1e9) + 1000000;
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

static bool findings_key(struct part_context *ctx) {
    struct findings_state *state = ctx->state;
    const struct table *table = findings_table_of(ctx);
    const union cell *row = NULL;
    int n = table ? (int)table_rows(table) : 0;

    if (!n || (!ctx->focused && ctx->key != KEY_VIEW_CLICK))
        return false;
    if (ctx->key == KEY_VIEW_UP || ctx->key == KEY_VIEW_DOWN) {
        state->selected += ctx->key == KEY_VIEW_UP ? -1 : 1;
        state->selected = state->selected < 0 ? 0 : state->selected >= n ? n - 1 : state->selected;
        return true;
    }
    if (ctx->key == KEY_VIEW_HOME || ctx->key == KEY_VIEW_END) {
        state->selected = ctx->key == KEY_VIEW_HOME ? 0 : n - 1;
        return true;
    }
    if (ctx->key == KEY_VIEW_CLICK) {
        for (int i = 0; i < state->n; i++)
            if (state->at[i].lines && ctx->mouse_y >= state->at[i].y &&
                ctx->mouse_y < state->at[i].y + state->at[i].lines) {
                state->selected = i;
                return true;
            }
        return false;
    }
    int i = 0;
    for (size_t cursor = 0; i <= state->selected && (row = table_next(table, &cursor)); i++)
        ;
    if (ctx->key == 'B' && row)
        ctx->go_time = begin_of(table, row, ctx->look->frame);
    if (ctx->key != KEY_VIEW_ENTER)
        return ctx->key == 'B';
    int pane = table_column(table_def(table), "pane");
    if (!row || pane < 0 || !row[pane].text)
        return true;
    const char *to = text_bytes(row[pane].text);
    char filter[FILTER_SIZE];
    if (culprit_filter(table, row, ctx->look->frame, to, filter, sizeof filter))
        jump_to(ctx, to, filter, NULL);
    else
        snprintf(ctx->jump_filter, sizeof ctx->jump_filter, "%s", filter);
    ctx->jump_pane = to; // also without the culprit: it still shows more
    return true;
}

// The selected finding: its kind, why it matters and what to try.
static void findings_explain(struct part_context *ctx, FILE *out) {
    const struct findings_state *state = ctx->state;
    const struct table *table = findings_table_of(ctx);
    const union cell *row = NULL;
    int i = 0, kind = table ? table_column(table_def(table), "kind") : -1;
    for (size_t cursor = 0; table && i <= state->selected && (row = table_next(table, &cursor)); i++)
        ;
    const struct finding_about *about =
        row && kind >= 0 && row[kind].text ? finding_about(text_bytes(row[kind].text)) : NULL;
    if (!about)
        return;
    struct finding finding;
    char when[400];
    thresholds_expand(about->kind, about->when, when, sizeof when);
    finding_read(table, row, &finding);
    fprintf(out, "\nThe selected finding: %s\n  %s\n", about->kind, finding.text);
    fprintf(out, "  %-12s %s\n  %-12s %s\n  %-12s %s\n", "why", about->why, "try", about->advice, "when", when);
}

static const struct part_key keys[] = {
    {KEY_VIEW_ENTER, "Enter",
     "go to the pane of the finding, filtered to the culprit (h: why it matters, what to try)"},
    {'B', "B", "go to the frame in which the finding began; g: back to live"},
    {0},
};

static void findings_write_text(struct part_context *ctx, FILE *out) {
    const struct table *table = findings_table_of(ctx);
    const union cell *row;
    if (!table || !table_rows(table)) {
        char text[1200];
        const char *verdict;
        nothing_text(ctx, &verdict, text, sizeof text);
        fprintf(out, "  %s%s%s\n", verdict, text[0] ? " " : "", text);
        return;
    }
    for (size_t cursor = 0; (row = table_next(table, &cursor));) {
        struct finding finding;
        finding_read(table, row, &finding);
        fprintf(out, "  %s%s %s: %s%s%s\n", finding.caused ? "  " : "", finding.severity, finding.resource,
                finding.text, finding.pane[0] ? " - see pane " : "", finding.pane);
    }
}

static size_t findings_sources(const struct part *part, const char **names, size_t max) {
    const struct findings_spec *spec = part->spec;
    if (max)
        names[0] = spec->table;
    return max ? 1 : 0;
}

const struct part_kind part_findings = {
    .state_size = sizeof(struct findings_state),
    .height = findings_height,
    .draw = findings_draw,
    .key = findings_key,
    .keys = keys,
    .explain = findings_explain,
    .write_text = findings_write_text,
    .status = findings_status,
    .sources = findings_sources,
};
