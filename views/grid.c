// The grid of cells that views draw on. Drawing is clipped to the area, and what does not fit a cell (control bytes,
// invalid UTF-8) becomes '?', so drawing can never harm a terminal. Independent of terminal and locale.
#include "views/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/width.h"

struct grid *grid_new(int width, int height, bool ascii) {
    struct grid *grid = xcalloc(1, sizeof(*grid));

    grid->width = width < 0 ? 0 : width;
    grid->height = height < 0 ? 0 : height;
    grid->ascii = ascii;
    grid->cells = xcalloc((size_t)grid->width * (size_t)grid->height + 1, sizeof(*grid->cells));
    grid_clear(grid);
    return grid;
}

void grid_free(struct grid *grid) {
    if (!grid)
        return;
    free(grid->cells);
    free(grid);
}

void grid_clear(struct grid *grid) {
    size_t n = (size_t)grid->width * (size_t)grid->height;

    for (size_t i = 0; i < n; i++)
        grid->cells[i] = (struct grid_cell){.ch = ' ', .role = ROLE_TEXT};
}

struct area grid_area(struct grid *grid) {
    return (struct area){.grid = grid, .width = grid->width, .height = grid->height};
}

struct area area_sub(struct area area, int x, int y, int width, int height) {
    long left = x < 0 ? 0 : x, top = y < 0 ? 0 : y, right = (long)x + width, bottom = (long)y + height;

    if (right > area.width)
        right = area.width;
    if (bottom > area.height)
        bottom = area.height;
    if (left > right)
        left = right < 0 ? 0 : right;
    if (top > bottom)
        top = bottom < 0 ? 0 : bottom;
    return (struct area){.grid = area.grid,
                         .x = area.x + (int)left,
                         .y = area.y + (int)top,
                         .width = right < left ? 0 : (int)(right - left),
                         .height = bottom < top ? 0 : (int)(bottom - top)};
}

struct grid_cell *area_cell(struct area area, int x, int y) {
    if (x < 0 || y < 0 || x >= area.width || y >= area.height)
        return NULL;
    x += area.x;
    y += area.y;
    if (x < 0 || y < 0 || x >= area.grid->width || y >= area.grid->height)
        return NULL;
    return &area.grid->cells[(size_t)y * (size_t)area.grid->width + (size_t)x];
}

// The ASCII substitute of a character.
static uint32_t ascii_for(uint32_t ch) {
    static const struct {
        uint32_t first, last;
        char ascii;
    } table[] = {
        {0xa0, 0xa0, ' '},     {0xb0, 0xb0, 'o'},     {0xb5, 0xb5, 'u'},     {0xb7, 0xb7, '.'},
        {0xd7, 0xd7, 'x'},     {0x3bc, 0x3bc, 'u'},   {0x2010, 0x2015, '-'}, {0x2018, 0x2019, '\''},
        {0x201c, 0x201d, '"'}, {0x2022, 0x2022, '*'}, {0x2026, 0x2026, '.'}, {0x2190, 0x2190, '<'},
        {0x2191, 0x2191, '^'}, {0x2192, 0x2192, '>'}, {0x2193, 0x2193, 'v'}, {0x2264, 0x2264, '<'},
        {0x2265, 0x2265, '>'}, {0x2500, 0x2501, '-'}, {0x2502, 0x2503, '|'}, {0x2504, 0x2505, '-'},
        {0x2506, 0x2507, '|'}, {0x2508, 0x2509, '-'}, {0x250a, 0x250b, '|'}, {0x250c, 0x254b, '+'},
        {0x254c, 0x254d, '-'}, {0x254e, 0x254f, '|'}, {0x2550, 0x2550, '='}, {0x2551, 0x2551, '|'},
        {0x2552, 0x2570, '+'}, {0x2580, 0x2580, '"'}, {0x2581, 0x2582, '_'}, {0x2583, 0x2584, '-'},
        {0x2585, 0x2586, '='}, {0x2587, 0x258b, '#'}, {0x258c, 0x258d, '|'}, {0x258e, 0x258f, '|'},
        {0x2590, 0x2590, '|'}, {0x2591, 0x2591, '.'}, {0x2592, 0x2592, ':'}, {0x2593, 0x2593, '#'},
        {0x25a0, 0x25a1, '#'}, {0x25b2, 0x25b3, '^'}, {0x25b6, 0x25b8, '>'}, {0x25bc, 0x25be, 'v'},
        {0x25c0, 0x25c4, '<'}, {0x25cf, 0x25cf, '*'}, {0x2713, 0x2714, 'x'}, {0x2800, 0x2800, ' '},
        {0x2801, 0x28ff, ':'},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (ch >= table[i].first && ch <= table[i].last)
            return (uint32_t)table[i].ascii;
    return '?';
}

// Writes one character, both halves if wide; the rest of a wide one that it overwrites is blanked.
static void put(struct area area, int x, int y, enum role role, uint32_t ch, int width, uint8_t heat) {
    for (int i = 0; i < width; i++) {
        struct grid_cell *cell = area_cell(area, x + i, y);

        if (!cell)
            continue;
        size_t column = (size_t)(cell - area.grid->cells) % (size_t)area.grid->width;
        if (cell->ch == 0 && i == 0 && column > 0)
            cell[-1].ch = ' ';
        if (i == width - 1 && column + 1 < (size_t)area.grid->width && cell[1].ch == 0)
            cell[1].ch = ' ';
        *cell = (struct grid_cell){.ch = i ? 0 : ch, .role = (uint8_t)role, .heat = heat};
    }
    // A wide character cut by the edge becomes a blank.
    if (width == 2) {
        struct grid_cell *left = area_cell(area, x, y), *right = area_cell(area, x + 1, y);
        if (left && !right)
            left->ch = ' ';
        if (right && !left)
            right->ch = ' ';
    }
}

static void put_char(struct area area, int x, int y, enum role role, uint32_t ch, uint8_t heat) {
    int width = char_width(ch);

    if (char_is_control(ch) || ch > 0x10ffff || (ch >= 0xd800 && ch < 0xe000)) {
        ch = '?';
        width = 1;
    }
    if (!width) {
        ch = ' ';
        width = 1;
    }
    if (area.grid->ascii && ch >= 0x7f) {
        ch = ascii_for(ch);
        for (int i = 0; i < width; i++)
            put(area, x + i, y, role, ch, 1, heat);
        return;
    }
    put(area, x, y, role, ch, width, heat);
}

void area_char(struct area area, int x, int y, enum role role, uint32_t ch) {
    put_char(area, x, y, role, ch, 0);
}

void area_heat(struct area area, int x, int y, uint8_t heat, uint32_t ch) {
    put_char(area, x, y, ROLE_HEAT, ch, heat);
}

// Reads the next character; an invalid one becomes '?'. 0 at the end.
static size_t next_char(const char *text, size_t left, uint32_t *ch) {
    if (!left)
        return 0;
    size_t n = utf8_decode(text, left, ch);
    if (!n || char_is_control(*ch)) {
        *ch = '?';
        return n ? n : 1;
    }
    return n;
}

int area_text(struct area area, int x, int y, enum role role, const char *utf8) {
    size_t left = strlen(utf8), n;
    uint32_t ch;
    int at = x;

    if (y < 0 || y >= area.height)
        return 0;
    while (at < area.width && (n = next_char(utf8, left, &ch))) {
        int width = char_width(ch);
        if (width) {
            put_char(area, at, y, role, ch, 0);
            at += width;
        }
        utf8 += n;
        left -= n;
    }
    if (at > area.width)
        at = area.width;
    return at > x ? at - x : 0;
}

int area_printf(struct area area, int x, int y, enum role role, const char *format, ...) {
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return area_text(area, x, y, role, text);
}

void area_fill(struct area area, int x, int y, int width, enum role role, uint32_t ch) {
    if (x < 0) {
        width += x;
        x = 0;
    }
    if (width > area.width - x)
        width = area.width - x;
    for (int i = 0; i < width; i++)
        put_char(area, x + i, y, role, ch, 0);
}

void area_role(struct area area, int x, int y, int width, enum role role) {
    for (int i = 0; i < width && x + i < area.width; i++) {
        struct grid_cell *cell = area_cell(area, x + i, y);
        if (cell)
            cell->role = (uint8_t)role;
    }
}

int text_width(const char *utf8) {
    size_t left = strlen(utf8), n;
    uint32_t ch;
    int width = 0;

    while ((n = next_char(utf8, left, &ch))) {
        width += char_width(ch);
        utf8 += n;
        left -= n;
    }
    return width;
}

size_t grid_row_text(const struct grid *grid, int y, char *out, size_t size) {
    size_t used = 0, keep = 0;

    if (!size)
        return 0;
    for (int x = 0; y >= 0 && y < grid->height && x < grid->width; x++) {
        const struct grid_cell *cell = &grid->cells[(size_t)y * (size_t)grid->width + (size_t)x];
        char bytes[4];
        if (!cell->ch)
            continue;
        size_t n = utf8_encode(cell->ch, bytes);
        if (used + n > size - 1)
            break;
        memcpy(out + used, bytes, n);
        used += n;
        if (cell->ch != ' ')
            keep = used;
    }
    out[keep] = '\0';
    return keep;
}
