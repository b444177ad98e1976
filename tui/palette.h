// The colours: the look of each role with 256, 16, 8 and no colours. A colour never carries a meaning alone, and blue,
// yellow and red are distinct for the colour-blind. Independent of the terminal.
#ifndef TUI_PALETTE_H
#define TUI_PALETTE_H

#include "views/grid.h"

enum palette_depth { PALETTE_MONO, PALETTE_8, PALETTE_16, PALETTE_256 };

enum { PAINT_BOLD = 1, PAINT_REVERSE = 2, PAINT_UNDERLINE = 4 };

// Indices of the terminal's colours (xterm's numbering of 256); -1: the terminal's default.
struct paint {
    int16_t fg, bg;
    uint8_t attributes;
};

enum palette_depth palette_depth(int colors, const char *no_color); // colors: as reported by the terminal
struct paint palette_role(enum palette_depth depth, enum role role);
// The heat of a cell as a colour: background of a blank, or foreground of a block.
int palette_heat_steps(enum palette_depth depth);
int palette_heat_step(enum palette_depth depth, uint8_t heat); // 0..steps-1, never falls as heat rises
struct paint palette_heat(enum palette_depth depth, int step);
// The glyph for the heat where there are no colours for it; 0: the cell's own.
uint32_t palette_heat_glyph(enum palette_depth depth, uint8_t heat, bool ascii);
uint32_t palette_rgb(int index); // 0xrrggbb of one of the 256: for direct-colour terminals

#endif
