// Text over the pane: the help. Scrolls; any other key closes it.
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "tui/app.h"
#include "views/width.h"

void overlay_open(struct overlay *overlay, const char *title, char *take_text) {
    overlay_close(overlay);
    overlay->text = take_text;
    snprintf(overlay->title, sizeof overlay->title, "%s", title);
}

static void lines_free(struct overlay *overlay) {
    for (size_t i = 0; i < overlay->n_lines; i++)
        free(overlay->lines[i]);
    free(overlay->lines);
    overlay->lines = NULL;
    overlay->n_lines = 0;
}

static void line_add(struct overlay *overlay, int indent, const char *text, size_t length) {
    char *line = xmalloc((size_t)indent + length + 1);
    memset(line, ' ', (size_t)indent);
    memcpy(line + indent, text, length);
    line[(size_t)indent + length] = '\0';
    overlay->lines = xrealloc(overlay->lines, (overlay->n_lines + 1) * sizeof *overlay->lines);
    overlay->lines[overlay->n_lines++] = line;
}

// The indent of continuation lines: below the last column of the line, or, if that leaves too little room, slightly
// right of its start.
static int hanging_indent(const char *line, size_t length, int width) {
    size_t begin = 0, last = 0;
    while (begin < length && line[begin] == ' ')
        begin++;
    for (size_t i = begin + 2; i < length; i++)
        if (line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ')
            last = i;
    return last && (int)last < width / 2 ? (int)last : (int)begin + 2 < width / 2 ? (int)begin + 2 : 0;
}

// The bytes of `line` that fit into width columns, cut at a blank if possible.
static size_t fitting(const char *line, size_t length, int width) {
    size_t at = 0, blank = 0;
    for (int used = 0; at < length;) {
        uint32_t ch;
        size_t n = utf8_decode(line + at, length - at, &ch);
        used += n ? char_width(ch) : 1;
        if (used > width)
            return blank ? blank : at ? at : 1;
        if (line[at] == ' ' && at)
            blank = at;
        at += n ? n : 1;
    }
    return length;
}

static void wrap_line(struct overlay *overlay, const char *line, size_t length, int width) {
    int hang = hanging_indent(line, length, width), indent = 0;
    size_t lead = 0;
    while (lead < length && line[lead] == ' ')
        lead++;
    do {
        // No break within leading blanks.
        size_t skip = indent ? 0 : lead;
        size_t n = skip + fitting(line + skip, length - skip, width - indent - (int)skip);
        line_add(overlay, indent, line, n);
        while (n < length && line[n] == ' ')
            n++;
        line += n;
        length -= n;
        indent = hang;
        lead = 0;
    } while (length);
}

static void wrap(struct overlay *overlay, int width) {
    if (width < 12)
        width = 12;
    lines_free(overlay);
    overlay->wrapped_to = width;
    for (const char *line = overlay->text; *line;) {
        size_t length = strcspn(line, "\n");
        wrap_line(overlay, line, length, width);
        line += length + (line[length] == '\n');
    }
}

void overlay_close(struct overlay *overlay) {
    free(overlay->text);
    lines_free(overlay);
    memset(overlay, 0, sizeof *overlay);
}

void overlay_draw(struct overlay *overlay, struct area area) {
    if (overlay->wrapped_to != area.width - 2)
        wrap(overlay, area.width - 2);
    long rows = area.height - 1, last = (long)overlay->n_lines - rows;
    if (overlay->top > last)
        overlay->top = last;
    if (overlay->top < 0)
        overlay->top = 0;
    area_fill(area, 0, 0, area.width, ROLE_HEADER, ' ');
    area_printf(area, 1, 0, ROLE_HEADER, "%s", overlay->title);
    bool roomy = text_width(overlay->title) + 28 <= area.width; // the title takes precedence
    if (last > 0 && roomy)
        area_printf(area, area.width - 26, 0, ROLE_HEADER, " %3ld %%  arrows PgUp PgDn", 100 * overlay->top / last);
    else if (last > 0)
        area_printf(area, area.width - 7, 0, ROLE_HEADER, " %3ld %%", 100 * overlay->top / last);
    for (long y = 0; y < rows && overlay->top + y < (long)overlay->n_lines; y++) {
        const char *line = overlay->lines[overlay->top + y];
        bool heading = *line && *line != ' ';
        area_text(area, 1, (int)y + 1, heading ? ROLE_TITLE : ROLE_TEXT, line);
    }
}

bool overlay_key(struct overlay *overlay, int key, int page) {
    switch (key) {
    case KEY_VIEW_UP:
    case 'k':
        overlay->top--;
        return true;
    case KEY_VIEW_DOWN:
    case 'j':
    case KEY_VIEW_ENTER:
        overlay->top++;
        return true;
    case KEY_TUI_WHEEL_UP:
        overlay->top -= 3;
        return true;
    case KEY_TUI_WHEEL_DOWN:
        overlay->top += 3;
        return true;
    case KEY_VIEW_PAGE_UP:
        overlay->top -= page;
        return true;
    case KEY_VIEW_PAGE_DOWN:
    case ' ':
        overlay->top += page;
        return true;
    case KEY_VIEW_HOME:
        overlay->top = 0;
        return true;
    case KEY_VIEW_END:
        overlay->top = (long)overlay->n_lines;
        return true;
    default:
        return false;
    }
}
