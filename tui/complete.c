// Completing what is typed at a prompt; see the header.
#include "tui/complete.h"

#include <stdio.h>
#include <string.h>

#include "tui/screen.h"
#include "views/escape.h"

static void ask(struct complete *complete, const struct prompt *prompt) {
    snprintf(complete->asked, sizeof complete->asked, "%.*s", (int)prompt->at, prompt->text);
    if (!complete->lister)
        return;
    complete->waits = true;
    name_lister_ask(complete->lister, ++complete->version, complete->asked);
}

void complete_start(struct complete *complete, const struct name_source *source, const struct collect_options *options,
                    const struct prompt *prompt) {
    complete_stop(complete);
    complete->lister = source ? name_lister_new(source, options) : NULL;
    ask(complete, prompt);
}

void complete_stop(struct complete *complete) {
    name_lister_free(complete->lister);
    name_list_free(&complete->list);
    *complete = (struct complete){.version = complete->version};
}

int complete_fd(const struct complete *complete) {
    return complete->lister ? name_lister_fd(complete->lister) : -1;
}

void complete_typed(struct complete *complete, const struct prompt *prompt) {
    complete->tab = false;
    if (strlen(complete->asked) == prompt->at && !memcmp(complete->asked, prompt->text, prompt->at))
        return;
    complete->picked = 0;
    ask(complete, prompt);
}

// ---- taking a name ----

// Puts it in place of the word before the cursor.
static void put(struct complete *complete, struct prompt *prompt, const char *name) {
    char glob[NAME_BYTES_MAX + 2];
    name_as_glob(name, glob);
    if (prompt_replace(prompt, complete->list.from, glob))
        snprintf(complete->asked, sizeof complete->asked, "%.*s", (int)prompt->at, prompt->text);
}

static void pick(struct complete *complete, struct prompt *prompt, long step) {
    long n = (long)complete->list.matches.n;
    if (!n)
        return;
    complete->picked = complete->picked ? (complete->picked - 1 + step + n) % n + 1 : step > 0 ? 1 : n;
    put(complete, prompt, complete->list.matches.names[complete->picked - 1]);
}

// To the end of what all names have; then from name to name.
static void tab(struct complete *complete, struct prompt *prompt, long step) {
    const struct name_matches *matches = &complete->list.matches;
    const char *longer = matches->matching == 1 ? matches->names[0] : matches->common;
    if (complete->picked || !*longer) {
        pick(complete, prompt, step);
        return;
    }
    put(complete, prompt, longer);
    ask(complete, prompt);
}

// "libssl.so.3:", after which its functions follow.
static bool goes_on(const struct complete *complete) {
    const char *name = complete->picked ? complete->list.matches.names[complete->picked - 1] : "";
    size_t length = strlen(name);
    return length && name[length - 1] == ':';
}

bool complete_key(struct complete *complete, struct prompt *prompt, int key) {
    bool tabs = key == '\t' || key == KEY_TUI_BACKTAB, moves = key == KEY_VIEW_UP || key == KEY_VIEW_DOWN;
    if (key == KEY_VIEW_ENTER && goes_on(complete)) {
        complete->picked = 0;
        ask(complete, prompt);
        return true;
    }
    if (!tabs && !moves)
        return false;
    long step = key == KEY_VIEW_UP || key == KEY_TUI_BACKTAB ? -1 : 1;
    if (complete->waits)
        complete->tab = tabs;
    else if (tabs)
        tab(complete, prompt, step);
    else
        pick(complete, prompt, step);
    return true;
}

void complete_answered(struct complete *complete, struct prompt *prompt) {
    struct name_list list;
    if (!name_lister_take(complete->lister, &list))
        return;
    if (list.version != complete->version) { // of an older text
        name_list_free(&list);
        return;
    }
    name_list_free(&complete->list);
    complete->list = list;
    complete->waits = false;
    complete->picked = 0;
    if (complete->tab)
        tab(complete, prompt, 1);
    complete->tab = false;
}

// ---- drawing ----

static void draw_head(const struct complete *complete, struct area row) {
    const struct name_list *list = &complete->list;
    const struct name_matches *matches = &list->matches;
    char text[300], nearest[60];
    bool wrong = !complete->waits && !matches->matching;
    if (!list->what)
        snprintf(text, sizeof text, "reading names");
    else if (!matches->total && list->reason[0])
        snprintf(text, sizeof text, "%s", list->reason);
    else if (!matches->total)
        snprintf(text, sizeof text, "no %s to choose from", list->what);
    else if (matches->matching)
        snprintf(text, sizeof text, "%zu of %zu %s", matches->matching, matches->total, list->what);
    else
        snprintf(text, sizeof text, "none of %zu %s matches", matches->total, list->what);
    if (list->what && !matches->matching && matches->nearest[0]) {
        escape_fit(matches->nearest, 40, nearest, sizeof nearest);
        snprintf(text + strlen(text), sizeof text - strlen(text), "; did you mean %s?", nearest);
    }
    area_fill(row, 0, 0, row.width, wrong ? ROLE_TEXT : ROLE_HEADER, ' ');
    int x = 1 + area_text(row, 1, 0, wrong ? ROLE_WARNING : ROLE_HEADER, text);
    static const char keys[] = "Tab completes, Up Down select";
    if (matches->matching && x + 1 + (int)sizeof keys <= row.width)
        area_text(row, row.width - (int)sizeof keys, 0, ROLE_HEADER, keys);
}

void complete_draw(const struct complete *complete, struct area area) {
    const struct name_matches *matches = &complete->list.matches;
    char name[512];
    if (!complete->lister || (!complete->list.what && !complete->waits))
        return;
    long rows = (long)matches->n < area.height / 2 ? (long)matches->n : area.height / 2;
    long top = complete->picked <= rows ? 0 : complete->picked - rows;
    struct area box = area_sub(area, 0, area.height - (int)rows - 1, area.width, (int)rows + 1);
    draw_head(complete, area_sub(box, 0, 0, box.width, 1));
    for (long i = 0; i < rows; i++) {
        enum role role = top + i + 1 == complete->picked ? ROLE_SELECTED : ROLE_TEXT;
        area_fill(box, 0, (int)i + 1, box.width, role, ' ');
        escape_fit(matches->names[top + i], box.width < 200 ? box.width - 2 : 198, name, sizeof name);
        area_text(box, 1, (int)i + 1, role, name);
    }
}
