// The part bar: the last line of a pane that cannot show all of its parts. It names every part with something to show,
// marks those on the screen, and takes clicks.
#include <stdio.h>
#include <string.h>

#include "views/escape.h"
#include "views/pane_parts.h"

#define NAME_MIN 6 // names are not shortened below this

// The cells that the names of these parts take, at most `longest` each.
static int names_width(const struct pane *pane, uint32_t named, int longest) {
    int width = 0;

    for (size_t i = 0; i < pane->view->n_parts; i++) {
        int name = named & 1u << i ? text_width(pane->view->parts[i].title) : -1;
        width += name < 0 ? 0 : 3 + (name < longest ? name : longest);
    }
    return width;
}

// The keys, if there is room.
static void draw_keys(const struct pane *pane, struct area line, int x) {
    const char *enlarge = pane->layout->enlarged ? "back" : "enlarge";
    int width = (int)(strlen("o next  = ") + strlen(enlarge)) + 1;

    if (x + width > line.width)
        return;
    struct area keys = area_sub(line, line.width - width, 0, width, 1);
    area_text(keys, 0, 0, ROLE_KEY, "o");
    area_text(keys, 2, 0, ROLE_DIM, "next");
    area_text(keys, 8, 0, ROLE_KEY, "=");
    area_text(keys, 10, 0, ROLE_DIM, enlarge);
}

void part_bar_draw(struct pane *pane, struct area line) {
    struct pane_layout *layout = pane->layout;
    uint32_t named = layout->listed;
    int longest = line.width, x = 0;
    char name[256];

    memset(layout->tabs, 0, sizeof(layout->tabs));
    if (line.height <= 0)
        return;
    if (names_width(pane, named, longest) > line.width) { // the titles of the others are on the screen
        named &= ~layout->drawn;
        x = area_text(line, 0, 0, ROLE_DIM, "more:");
    }
    while (longest > NAME_MIN && x + names_width(pane, named, longest) > line.width)
        longest--;
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        bool drawn = layout->drawn & 1u << i, focused = (size_t)pane->focus == i;
        if (!(named & 1u << i))
            continue;
        enum role role = focused ? ROLE_KEY : drawn ? ROLE_TITLE : ROLE_DIM;
        escape_fit(pane->view->parts[i].title, longest, name, sizeof(name));
        layout->tabs[i].from = x;
        area_text(line, x, 0, role, focused ? "\u25b8" : drawn ? "\u2022" : " ");
        x += 1 + area_text(line, x + 1, 0, role, name);
        layout->tabs[i].to = x;
        x += 2;
    }
    draw_keys(pane, line, x);
}

int part_bar_at(const struct pane *pane, int x, int y) {
    const struct pane_layout *layout = pane->layout;

    if (layout->bar.height <= 0 || y != layout->bar.y)
        return -1;
    for (size_t i = 0; i < pane->view->n_parts; i++)
        if (x - layout->bar.x >= layout->tabs[i].from && x - layout->bar.x < layout->tabs[i].to)
            return (int)i;
    return -1;
}
