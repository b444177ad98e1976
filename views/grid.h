// A grid of character cells that views draw on. Independent of the terminal: tui/ copies it to the screen, tests
// compare its text.
#ifndef VIEWS_GRID_H
#define VIEWS_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a cell means; tui/palette.c maps it to colours for 256, 16, 8 and no colours, safe for the colour-blind.
enum role {
    ROLE_TEXT,
    ROLE_DIM,
    ROLE_TITLE,
    ROLE_HEADER,
    ROLE_HEADER_SORTED,
    ROLE_SELECTED,
    ROLE_KEY,
    ROLE_GOOD,
    ROLE_INFO,
    ROLE_WARNING,
    ROLE_CRITICAL,
    ROLE_STALE,
    ROLE_USER,
    ROLE_NICE,
    ROLE_SYSTEM,
    ROLE_IRQ,
    ROLE_STEAL,
    ROLE_IOWAIT, // of meters
    ROLE_READ,
    ROLE_WRITE,
    ROLE_GRAPH,
    ROLE_CURSOR,
    ROLE_MATCH,
    ROLE_FLAME_PROCESS, // of flame graphs: what is no code, or did not change
    ROLE_FLAME_USER,
    ROLE_FLAME_LIBRARY,
    ROLE_FLAME_KERNEL,
    ROLE_FLAME_JIT,
    ROLE_FLAME_MORE,
    ROLE_FLAME_LESS,
    ROLE_FLAME_OFF_CPU,
    ROLE_HEAT, // cell.heat 0..255: how hot
};

struct grid_cell {
    uint32_t ch;  // Unicode code point; 0: the right half of a wide one
    uint8_t role; // enum role
    uint8_t heat;
    bool bold, reverse;
};

struct grid {
    int width, height;
    bool ascii;              // draw with ASCII only (no UTF-8 terminal, or --ascii)
    struct grid_cell *cells; // height * width, row by row
};

// A rectangle of a grid; drawing outside of it is clipped, never an error. Any size down to 0x0 is legal.
struct area {
    struct grid *grid;
    int x, y, width, height;
};

struct grid *grid_new(int width, int height, bool ascii);
void grid_free(struct grid *grid);
void grid_clear(struct grid *grid);
struct area grid_area(struct grid *grid);
struct area area_sub(struct area area, int x, int y, int width, int height); // clipped to the parent

// Writes UTF-8 text (escaped, see escape.h; raw control bytes become '?' as a last defence). Returns the columns used.
int area_text(struct area area, int x, int y, enum role role, const char *utf8);
int area_printf(struct area area, int x, int y, enum role role, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void area_char(struct area area, int x, int y, enum role role, uint32_t ch);
void area_heat(struct area area, int x, int y, uint8_t heat, uint32_t ch); // ROLE_HEAT
void area_fill(struct area area, int x, int y, int width, enum role role, uint32_t ch);
// The cell, for changing its content; NULL outside of the area or the grid.
struct grid_cell *area_cell(struct area area, int x, int y);
void area_role(struct area area, int x, int y, int width, enum role role); // recolours existing cells
int text_width(const char *utf8); // columns, without a locale: combining 0, East Asian wide 2
size_t grid_row_text(const struct grid *grid, int y, char *out,
                     size_t size); // as UTF-8, trailing blanks cut: for tests and the key w

#endif
