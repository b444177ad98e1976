// A wider screen shows what a narrower one does: for the tests of panes with several tables.
#ifndef TESTS_UNIT_FORGE_WIDER_H
#define TESTS_UNIT_FORGE_WIDER_H

#include "tests/unit/screens.h"

// The line below the rule with that title, its marks of the order taken out; NULL: the table is not there. The caller
// frees it.
static inline char *forge_header(const char *screen, const char *title) {
    for (const char *at = screen; (at = strstr(at, title)); at++) {
        if (at == screen || at[-1] != ' ' || at[strlen(title)] != ' ')
            continue;
        const char *begin = strchr(at, '\n') + 1;
        char *header = xcalloc(1, strcspn(begin, "\n") + 1), *to = header;
        for (; *begin && *begin != '\n'; begin++) {
            if (!strncmp(begin, "\u25b2", 3) || !strncmp(begin, "\u25bc", 3))
                begin += 2;
            else
                *to++ = *begin;
        }
        return header;
    }
    return NULL;
}

static inline bool forge_has_word(const char *line, const char *word) {
    size_t length = strlen(word);
    for (const char *at = line; (at = strstr(at, word)); at++)
        if ((at == line || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

// Every column of these tables (by their titles) that a screen shows is on each wider one of the same height.
static inline void forge_wider(struct pane *pane, const struct look *look, const char *const *titles) {
    static const int widths[] = {80, 100, 120, 160, 200, 250}, heights[] = {21, 37, 60};
    char *before, *save;
    unsigned compared = 0;

    for (size_t h = 0; h < sizeof(heights) / sizeof(heights[0]); h++)
        for (size_t t = 0; titles[t]; t++) {
            before = NULL;
            for (size_t i = 0; i < pane->view->n_parts; i++) // the one with the focus is always shown
                if (pane->view->parts[i].title && !strcmp(pane->view->parts[i].title, titles[t]))
                    pane->focus = (int)i;
            for (size_t w = 0; w < sizeof(widths) / sizeof(widths[0]); w++) {
                struct grid *grid = grid_new(widths[w], heights[h], false);
                pane_draw(pane, look, grid_area(grid));
                char *screen = forge_screen(grid), *header = forge_header(screen, titles[t]);
                if (before && !header)
                    fail_msg("%dx%d: no %s", widths[w], heights[h], titles[t]);
                for (char *word = before ? strtok_r(before, " ", &save) : NULL; word; word = strtok_r(NULL, " ", &save))
                    if (compared++, !forge_has_word(header, word))
                        fail_msg("%dx%d, %s: no %s in %s", widths[w], heights[h], titles[t], word, header);
                free(before);
                before = header;
                free(screen);
                grid_free(grid);
            }
            free(before);
        }
    assert_true(compared > 100);
}

#endif
