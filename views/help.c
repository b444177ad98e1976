// The help of a pane, generated from the tables that drive it: its question, its keys, its parts with the meaning of
// every column, and what is missing here and why. Contains no text about a particular pane.
#include <string.h>

#include "views/escape.h"
#include "views/pane_parts.h"

// A key that works in no part of the view of that kind is omitted.
static bool key_taken(const struct view *view, const struct part_key *keys, int key) {
    for (size_t i = 0; i < view->n_parts; i++) {
        const struct part *part = &view->parts[i];
        if (part->kind->keys == keys && !part->hidden && (!part->kind->takes || part->kind->takes(part, key)))
            return true;
    }
    return false;
}

// Kinds of parts may share keys: each line appears once.
static bool line_shown(const struct view *view, const struct part_key *keys, const struct part_key *line) {
    for (size_t i = 0; i < view->n_parts && view->parts[i].kind->keys != keys; i++) {
        const struct part *part = &view->parts[i];
        for (const struct part_key *key = part->hidden ? NULL : part->kind->keys; key && key->key; key++)
            if (!strcmp(key->name, line->name) && !strcmp(key->help, line->help))
                return true;
    }
    return false;
}

static void write_keys(const struct view *view, const struct part_key *keys, FILE *out) {
    for (const struct part_key *key = keys; key && key->key; key++)
        if (!view || (key_taken(view, keys, key->key) && !line_shown(view, keys, key)))
            fprintf(out, "  %-12s %s\n", key->name, key->help);
}

static void write_notes(const struct pane *pane, const struct look *look, FILE *out) {
    struct pane_notes notes;
    char line[1024];

    pane_notes(pane, look, NOTES_OF_PANE, &notes);
    if (!notes.n)
        return;
    fputs("\nNow:\n", out);
    for (size_t i = 0; i < notes.n; i++) {
        const struct note *note = &notes.notes[i];
        escape_text(note->text, strlen(note->text), line, sizeof(line));
        fprintf(out, "  %s: %s\n", severity_name(note->severity), line);
        if (!note->fix || !*note->fix)
            continue;
        escape_text(note->fix, strlen(note->fix), line, sizeof(line));
        fprintf(out, "    fix: %s\n", line);
    }
}

// What the key w writes beyond the screen and the pane.
static void write_files(const struct pane *pane, FILE *out) {
    const struct part_file *files[PANE_FILES_MAX];
    size_t n = pane_files(pane, files);

    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%s (%s)%s", i ? ", " : "  w            writes also ", files[i]->suffix, files[i]->what,
                i + 1 == n ? "\n" : "");
}

static bool keys_listed(const struct view *view, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (view->parts[k].kind->keys == view->parts[i].kind->keys)
            return true;
    return false;
}

void pane_help(struct pane *pane, const struct look *look, FILE *out) {
    static const struct part_key own[] = {
        {'o', "o O", "next, previous part (\u25b8 marks the part that gets the keys)"},
        {'n', "n N", "next, previous match of the search"},
        {0},
    };
    const struct view *view = pane->view;

    fprintf(out, "%s: %s\n", view->title, view->question);
    for (size_t i = 0; i < view->n_parts; i++) {
        struct part_context ctx = part_context(pane, look, i);
        if (view->parts[i].kind->explain && look->frame)
            view->parts[i].kind->explain(&ctx, out);
    }
    for (const struct view_term *term = view->terms; term && term->name; term++)
        fprintf(out, "%s  %-12s %s\n", term == view->terms ? "\nTerms:\n" : "", term->name, term->help);
    fputs("\nKeys of this pane:\n", out);
    write_keys(NULL, own, out);
    for (size_t i = 0; i < view->n_parts; i++)
        if (view->parts[i].toggle)
            fprintf(out, "  %-12c %s\n", view->parts[i].toggle, view->parts[i].toggle_help);
    for (size_t i = 0; i < view->n_parts; i++)
        if (!view->parts[i].hidden && !keys_listed(view, i))
            write_keys(view, view->parts[i].kind->keys, out);
    write_files(pane, out);
    write_notes(pane, look, out);
    for (size_t i = 0; i < view->n_parts; i++) {
        const struct part *part = &view->parts[i];
        if (!part->kind->describe || !look->frame)
            continue;
        fprintf(out, "\n%s%s\n", part->title ? part->title : part->name, part->hidden ? " (in files only)" : "");
        part->kind->describe(part, look->frame, out);
    }
}
