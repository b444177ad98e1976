// The sections behind a pane and their state: which collector's data a part shows, how old it is, and the notes with
// their fixes. A missing source must always be reported here, never shown as zeros.
#include <stdio.h>
#include <string.h>

#include "views/escape.h"
#include "views/pane_parts.h"

static bool section_has(const struct section *section, const char *name) {
    const struct series_def *def;
    uint64_t left_out;

    if (section_find_table(section, name) || section_find_hists(section, name) || section_find_tree(section, name) ||
        section_find_stream(section, name, &left_out))
        return true;
    for (size_t i = 0; i < section_n_series(section); i++) {
        section_series_at(section, i, &def);
        if (!strcmp(def->name, name))
            return true;
    }
    return false;
}

static size_t source_add(struct source *out, size_t n, const struct frame *frame, size_t at) {
    for (size_t i = 0; i < n; i++)
        if (out[i].section == frame->sections[at])
            return n;
    if (n < SOURCES_MAX)
        out[n++] = (struct source){frame->sections[at], frame->stale_ns[at], frame->repeated[at]};
    return n;
}

static size_t sections_of(const struct part *part, const struct frame *frame, struct source *out, size_t n) {
    const char *names[SOURCES_MAX] = {part->name};
    size_t n_names = part->kind->sources ? part->kind->sources(part, names, SOURCES_MAX) : 1;

    for (size_t k = 0; k < n_names; k++) {
        for (size_t i = 0; names[k] && i < frame->n_sections; i++) {
            if (!section_has(frame->sections[i], names[k]))
                continue;
            n = source_add(out, n, frame, i);
            break;
        }
    }
    return n;
}

size_t part_sections(const struct part *part, const struct frame *frame, struct source out[SOURCES_MAX]) {
    return frame ? sections_of(part, frame, out, 0) : 0;
}

size_t pane_sections(const struct pane *pane, const struct frame *frame, bool all, struct source out[SOURCES_MAX]) {
    const struct view *view = pane->view;
    size_t n = 0;

    if (!frame)
        return 0;
    for (size_t i = 0; view->needs && view->needs[i]; i++) {
        for (size_t k = 0; k < frame->n_sections; k++)
            if (!strcmp(section_collector(frame->sections[k]), view->needs[i]))
                n = source_add(out, n, frame, k);
    }
    for (size_t i = 0; i < view->n_parts; i++)
        if (all ? pane_in_files(pane, i) : !view->parts[i].needs || pane_in_sight(pane, i))
            n = sections_of(&view->parts[i], frame, out, n);
    return n;
}

const char pane_unrecorded_text[] = "not recorded then: this collector runs only while shown (p pins the pane)";

// A collector that starts delivers before the live frame is old; in an older frame it was not running.
static bool was_off(const struct section *section, const struct look *look) {
    return section_state(section) == SECTION_STARTING && !look->live;
}

const char *part_unmeasured(const struct part *part, const struct look *look) {
    struct source sources[SOURCES_MAX];

    // The first table of a join decides whether there is data.
    if (!look || !part_sections(part, look->frame, sources))
        return NULL;
    enum section_state state = section_state(sources[0].section);
    if (state == SECTION_UNAVAILABLE)
        return "not measured";
    if (state != SECTION_STARTING)
        return NULL;
    return was_off(sources[0].section, look) ? pane_unrecorded_text : "not measured yet";
}

bool pane_unrecorded(const struct pane *pane, const struct look *look) {
    struct source sources[SOURCES_MAX];
    size_t n = look->live ? 0 : pane_sections(pane, look->frame, false, sources), off = 0;

    while (off < n && was_off(sources[off].section, look))
        off++;
    return n && off == n;
}

static void note_add(struct pane_notes *out, const struct note *note) {
    size_t at = out->n;

    if (out->n == NOTES_MAX)
        return;
    for (size_t i = 0; i < out->n; i++)
        if (!strcmp(out->notes[i].text, note->text))
            return;
    while (at > 0 && out->notes[at - 1].severity < note->severity) {
        out->notes[at] = out->notes[at - 1];
        at--;
    }
    out->notes[at] = *note;
    out->n++;
}

static bool source_has(const struct frame *frame, const char *source, const char *column) {
    const struct table *table = frame_table(frame, source);

    return !strcmp(source, column) || (table && table_column(table_def(table), column) >= 0);
}

// Whether the part shows the column of this section's note. Other sections may have a column of that name.
static bool part_shows(const struct part *part, const void *state, const struct frame *frame,
                       const struct section *section, const char *column) {
    const char *names[SOURCES_MAX] = {part->name};
    size_t n = part->kind->sources ? part->kind->sources(part, names, SOURCES_MAX) : 1;
    bool by_kind = part->kind->shows && part->kind->shows(part, state, column);

    if (by_kind && !part->kind->no_series && section_has(section, column))
        return true;
    for (size_t i = 0; i < n; i++)
        if (names[i] && (!part->kind->shows || by_kind) && section_has(section, names[i]) &&
            source_has(frame, names[i], column))
            return true;
    return false;
}

static bool pane_shows(const struct pane *pane, enum notes_of of, const struct frame *frame,
                       const struct section *section, const char *column) {
    bool drawn = of == NOTES_OF_DRAWN;

    for (size_t i = 0; i < pane->view->n_parts; i++)
        if ((!drawn || (pane_in_sight(pane, i) && pane->layout->drawn & 1u << i)) &&
            part_shows(&pane->view->parts[i], drawn ? pane->parts[i] : NULL, frame, section, column))
            return true;
    return false;
}

void pane_notes(const struct pane *pane, const struct look *look, enum notes_of of, struct pane_notes *out) {
    const struct frame *frame = look->frame;
    struct source sources[SOURCES_MAX];
    size_t n = pane_sections(pane, frame, of == NOTES_OF_ALL, sources);

    out->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct section *section = sources[i].section;
        for (size_t k = 0; k < section_notes(section); k++) {
            const struct note *note = section_note_at(section, k);
            if (of == NOTES_OF_ALL || !note->column || pane_shows(pane, of, frame, section, note->column))
                note_add(out, note);
        }
        if (sources[i].stale_ns && section_begin(section) == section_end(section)) {
            snprintf(out->extra[i], sizeof(out->extra[i]), "%s is still in its first scan: the data is incomplete",
                     section_collector(section));
            note_add(out, &(struct note){.severity = SEVERITY_WARNING, .text = out->extra[i]});
        } else if (sources[i].stale_ns) {
            snprintf(out->extra[i], sizeof(out->extra[i]), "%s is stale: its data is %.1f s old",
                     section_collector(section), (double)sources[i].stale_ns / 1e9);
            note_add(out, &(struct note){.severity = SEVERITY_WARNING, .text = out->extra[i]});
        } else if (section_state(section) == SECTION_STARTING && frame->number > 0 && look->live &&
                   !section_notes(section)) {
            snprintf(out->extra[i], sizeof(out->extra[i]), "%s has delivered no data yet", section_collector(section));
            note_add(out, &(struct note){.severity = SEVERITY_WARNING, .text = out->extra[i]});
        } else if (section_state(section) == SECTION_UNAVAILABLE && !section_notes(section)) {
            snprintf(out->extra[i], sizeof(out->extra[i]), "%s is not available", section_collector(section));
            note_add(out, &(struct note){.severity = SEVERITY_WARNING, .text = out->extra[i]});
        }
    }
}

// An info note takes one line; a more severe one takes two if it has a fix.
static int note_lines(const struct note *note) {
    return note->fix && *note->fix && note->severity > SEVERITY_INFO ? 2 : 1;
}

int notes_height(const struct pane_notes *notes, int height) {
    int most = height >= 40 ? 8 : height >= 20 ? height / 5 : height >= 14 ? 2 : 1, lines = 0, infos = 0;

    if (height < 3)
        return 0;
    for (size_t i = 0; i < notes->n; i++) {
        // Info notes must not take the room of warnings.
        bool is_info = notes->notes[i].severity == SEVERITY_INFO;
        if (!is_info || infos < (height >= 40 ? 3 : height >= 14 ? 1 : 0))
            lines += note_lines(&notes->notes[i]);
        infos += is_info;
    }
    return lines < most ? lines : most;
}

static enum role severity_role(enum severity severity) {
    return severity == SEVERITY_CRITICAL ? ROLE_CRITICAL : severity == SEVERITY_WARNING ? ROLE_WARNING : ROLE_INFO;
}

static int draw_line(struct area area, int x, int y, enum role role, const char *text) {
    char line[1024];

    escape_text(text, strlen(text), line, sizeof(line));
    int used = area_text(area, x, y, role, line);
    if (x + text_width(line) > area.width && area.width > 0)
        area_char(area, area.width - 1, y, ROLE_DIM, 0x2026);
    return used;
}

void notes_draw(const struct pane_notes *notes, struct area area) {
    int y = 0;

    for (size_t i = 0; i < notes->n && y < area.height; i++) {
        const struct note *note = &notes->notes[i];
        size_t after = notes->n - i - 1;
        if (y == area.height - 1 && after) {
            char more[48];
            int width = snprintf(more, sizeof(more), " +%zu note%s: h", after, after > 1 ? "s" : "");
            struct area line = area_sub(area, 0, y, area.width - width, 1);
            draw_line(line, draw_line(line, 0, 0, severity_role(note->severity), "! "), 0,
                      severity_role(note->severity), note->text);
            area_text(area, area.width - width, y, ROLE_DIM, more);
            return;
        }
        int x = draw_line(area, 0, y, severity_role(note->severity), "! ");
        x += draw_line(area, x, y, severity_role(note->severity), note->text);
        bool has_fix = note->fix && *note->fix;
        if (has_fix && x + text_width(note->fix) + 3 <= area.width) {
            draw_line(area, x, y, ROLE_DIM, " - ");
            draw_line(area, x + 3, y, ROLE_TEXT, note->fix);
        } else if (has_fix && note_lines(note) == 2 && y + 1 < area.height - (after ? 1 : 0)) {
            y++;
            x = draw_line(area, 0, y, ROLE_DIM, "  fix: ");
            draw_line(area, x, y, ROLE_TEXT, note->fix);
        }
        y++;
    }
}
