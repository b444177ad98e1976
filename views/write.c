// One frame of one pane as text, CSV or JSON. The parts write their own data; what belongs to the whole frame (time,
// losses, series and notes) is written here. Nothing here is specific to a terminal.
#include "views/write.h"

#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "views/escape.h"
#include "views/pane_parts.h"

#define JSON_FLAGS (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

static uint64_t lost_events(const struct source *sources, size_t n) {
    uint64_t lost = 0;

    for (size_t i = 0; i < n; i++)
        if (!sources[i].repeated) // else counted in the previous frame
            lost += section_lost(sources[i].section);
    return lost;
}

// ---- text ----

static void escaped(const char *text, FILE *out) {
    char line[1024];

    escape_text(text, strlen(text), line, sizeof(line));
    fputs(line, out);
}

static void write_notes_text(const struct pane_notes *notes, FILE *out) {
    for (size_t i = 0; i < notes->n; i++) {
        const struct note *note = &notes->notes[i];
        fprintf(out, "%s: ", severity_name(note->severity));
        escaped(note->text, out);
        if (note->fix && *note->fix) {
            fputs(" - ", out);
            escaped(note->fix, out);
        }
        fputc('\n', out);
    }
}

static void write_part_text(struct pane *pane, const struct look *look, size_t i, FILE *out) {
    struct part_context ctx = part_context(pane, look, i);
    struct source sources[SOURCES_MAX];
    size_t n = part_sections(ctx.part, look->frame, sources);
    uint64_t stale_ns = 0;
    char title[128];

    if (!ctx.part->kind->write_text || ctx.part->hidden || !pane_in_files(pane, i) ||
        (ctx.part->kind->open && !ctx.focused))
        return;
    // An optional part without rows takes no room on the screen either.
    if (ctx.part->kind->height && !ctx.part->kind->height(&ctx, 80))
        return;
    for (size_t k = 0; k < n; k++)
        stale_ns = sources[k].stale_ns > stale_ns ? sources[k].stale_ns : stale_ns;
    part_title(&ctx, title, sizeof(title));
    if (ctx.part->title)
        fputs(title, out);
    if (stale_ns)
        fprintf(out, " (stale %.1f s)", (double)stale_ns / 1e9);
    if (ctx.part->title || stale_ns)
        fputc('\n', out);
    ctx.part->kind->write_text(&ctx, out);
}

static void write_text(struct pane *pane, const struct look *look, const struct write_info *info, FILE *out) {
    struct source sources[SOURCES_MAX];
    size_t n = pane_sections(pane, look->frame, true, sources);
    uint64_t lost = lost_events(sources, n);
    struct pane_notes notes;
    char time[32];

    time_write(&look->frame->wall, time);
    fprintf(out, "== %s  %s  %.3f s", time, pane->view->name, frame_interval_s(look->frame));
    if (info->host && *info->host) {
        fputs("  ", out);
        escaped(info->host, out);
    }
    if (lost)
        fprintf(out, "  %llu events lost", (unsigned long long)lost);
    fputs(" ==\n", out);
    for (size_t i = 0; i < pane->view->n_parts; i++)
        write_part_text(pane, look, i, out);
    pane_notes(pane, look, NOTES_OF_PANE, &notes);
    write_notes_text(&notes, out);
    fputc('\n', out);
}

// ---- CSV ----

static void write_series_csv(const struct part_context *ctx, const struct source *sources, size_t n, FILE *out) {
    const struct series_def *def;
    bool any = false;

    for (size_t i = 0; i < n; i++)
        any |= section_n_series(sources[i].section) > 0;
    if (!any)
        return;
    if (csv_wants_header(ctx)) {
        csv_begin_header(out);
        fputs(",name,value", out);
        csv_end(out);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < section_n_series(sources[i].section); k++) {
            double value = section_series_at(sources[i].section, k, &def);
            csv_begin(ctx, "series", out);
            csv_string(def->name, out);
            csv_number(def->unit, value, out);
            csv_end(out);
        }
    }
}

static void write_notes_csv(const struct part_context *ctx, const struct pane_notes *notes, FILE *out) {
    if (csv_wants_header(ctx)) {
        csv_begin_header(out);
        fputs(",severity,text,fix", out);
        csv_end(out);
    }
    for (size_t i = 0; i < notes->n; i++) {
        csv_begin(ctx, "notes", out);
        csv_string(severity_name(notes->notes[i].severity), out);
        csv_string(notes->notes[i].text, out);
        csv_string(notes->notes[i].fix, out);
        csv_end(out);
    }
}

static void write_csv(struct pane *pane, const struct look *look, FILE *out) {
    struct source sources[SOURCES_MAX];
    size_t n = pane_sections(pane, look->frame, true, sources);
    struct pane_notes notes;

    pane_notes(pane, look, NOTES_OF_ALL, &notes);
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        struct part_context ctx = part_context(pane, look, i);
        if (ctx.part->kind->write_csv && pane_in_files(pane, i))
            ctx.part->kind->write_csv(&ctx, out);
    }
    struct part_context ctx = {.look = look, .pane = pane};
    write_series_csv(&ctx, sources, n, out);
    write_notes_csv(&ctx, &notes, out);
    pane->csv_headed = true;
}

// ---- JSON ----

static struct json_object *json_notes(const struct pane_notes *notes) {
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < notes->n; i++) {
        struct json_object *note = json_object_new_object();
        json_object_object_add(note, "severity", json_string(severity_name(notes->notes[i].severity)));
        json_object_object_add(note, "text", json_string(notes->notes[i].text));
        json_object_object_add(note, "fix", json_string(notes->notes[i].fix ? notes->notes[i].fix : ""));
        json_object_array_add(array, note);
    }
    return array;
}

// The interval of each source; null for data that the previous frame had too.
static struct json_object *json_intervals(const struct source *sources, size_t n) {
    struct json_object *intervals = json_object_new_object();

    for (size_t i = 0; i < n; i++) {
        uint64_t ns = sources[i].repeated ? 0 : section_ns(sources[i].section);
        json_object_object_add(intervals, section_collector(sources[i].section),
                               json_number(UNIT_NONE, ns ? (double)ns / 1e9 : NAN));
    }
    return intervals;
}

static void add_series(struct json_object *series, const struct source *sources, size_t n) {
    const struct series_def *def;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < section_n_series(sources[i].section); k++) {
            double value = section_series_at(sources[i].section, k, &def);
            json_object_object_add(series, def->name, json_number(def->unit, value));
        }
    }
}

static struct json_object *pane_object(struct pane *pane, const struct look *look, const struct write_info *info) {
    static const char *const groups[] = {"series", "tables", "histograms", "trees", "events"};
    struct json_object *object = json_object_new_object();
    struct source sources[SOURCES_MAX];
    size_t n = pane_sections(pane, look->frame, true, sources);
    struct pane_notes notes;
    char time[32];

    time_write(&look->frame->wall, time);
    json_object_object_add(object, "ktop", json_string(info->version));
    json_object_object_add(object, "schema", json_object_new_int(1));
    json_object_object_add(object, "host", json_string(info->host));
    json_object_object_add(object, "kernel", json_string(info->kernel));
    json_object_object_add(object, "time", json_string(time));
    json_object_object_add(object, "interval_s", json_number(UNIT_NONE, frame_interval_s(look->frame)));
    json_object_object_add(object, "pane", json_string(pane->view->name));
    json_object_object_add(object, "lost_events", json_object_new_int64((int64_t)lost_events(sources, n)));
    json_object_object_add(object, "intervals_s", json_intervals(sources, n));
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        json_group(object, groups[i]);
    add_series(json_group(object, "series"), sources, n);
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        struct part_context ctx = part_context(pane, look, i);
        if (ctx.part->kind->write_json && pane_in_files(pane, i))
            ctx.part->kind->write_json(&ctx, object);
    }
    pane_notes(pane, look, NOTES_OF_ALL, &notes);
    json_object_object_add(object, "notes", json_notes(&notes));
    return object;
}

static void put_json(struct json_object *value, FILE *out) {
    struct json_stream *stream = json_object_is_type(value, json_type_array) ? json_object_get_userdata(value) : NULL;

    if (stream)
        stream->write(stream, out);
    else
        fputs(json_object_to_json_string_ext(value, JSON_FLAGS), out);
}

// Names of groups and members are ktop's own or a table's: plain ASCII, nothing to quote.
static void put_group(struct json_object *group, FILE *out) {
    bool first = true;

    fputc('{', out);
    json_object_object_foreach(group, name, value) {
        fprintf(out, "%s\"%s\":", first ? "" : ",", name);
        put_json(value, out);
        first = false;
    }
    fputc('}', out);
}

static void write_json(struct pane *pane, const struct look *look, const struct write_info *info, FILE *out) {
    struct json_object *object = pane_object(pane, look, info);
    bool first = true;

    fputc('{', out);
    json_object_object_foreach(object, name, value) {
        fprintf(out, "%s\"%s\":", first ? "" : ",", name);
        if (json_object_is_type(value, json_type_object))
            put_group(value, out);
        else
            put_json(value, out);
        first = false;
    }
    fputs("}\n", out);
    json_object_put(object);
}

// ---- folded call paths ----

bool view_writes(const struct view *view, enum format format) {
    bool paths = format != FORMAT_FOLDED;

    for (size_t i = 0; i < view->n_parts; i++)
        paths |= view->parts[i].kind->write_folded != NULL;
    return paths;
}

// Of the first part that has some: parts of one pane may show the same tree.
static void write_folded(struct pane *pane, const struct look *look, FILE *out) {
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        struct part_context ctx = part_context(pane, look, i);
        if (!ctx.part->kind->write_folded)
            continue;
        ctx.part->kind->write_folded(&ctx, out);
        return;
    }
}

int pane_write(struct pane *pane, const struct look *look, enum format format, const struct write_info *info,
               FILE *out) {
    if (!look->frame)
        return -EINVAL;
    errno = 0;
    clearerr(out);
    if (format == FORMAT_TEXT)
        write_text(pane, look, info, out);
    else if (format == FORMAT_CSV)
        write_csv(pane, look, out);
    else if (format == FORMAT_FOLDED)
        write_folded(pane, look, out);
    else
        write_json(pane, look, info, out);
    if (fflush(out) || ferror(out))
        return errno ? -errno : -EIO;
    return 0;
}
