// The colours: what each role of a cell looks like with 256, 16, 8 and no colours. Colours alone never carry a
// meaning, and blue, yellow and red are told apart by the colour-blind. No terminal is known here.
#ifndef TUI_PALETTE_H
#define TUI_PALETTE_H

#include "views/grid.h"

enum palette_depth { PALETTE_MONO, PALETTE_8, PALETTE_16, PALETTE_256 };

enum { PAINT_BOLD = 1, PAINT_REVERSE = 2, PAINT_UNDERLINE = 4 };

// Indices of the terminal's colours (xterm's numbering of 256); -1: the terminal's own.
struct paint {
    int16_t fg, bg;
    uint8_t attributes;
};

enum palette_depth palette_depth(int colors, const char *no_color); // colors: what the terminal says it has
struct paint palette_role(enum palette_depth depth, enum role role);
// The heat of a cell as a colour to be the background of a blank or the foreground of a block.
int palette_heat_steps(enum palette_depth depth);
int palette_heat_step(enum palette_depth depth, uint8_t heat); // 0..steps-1, never falls as heat rises
struct paint palette_heat(enum palette_depth depth, int step);
// The glyph that says the heat where colours cannot; 0: the cell's own will do.
uint32_t palette_heat_glyph(enum palette_depth depth, uint8_t heat, bool ascii);
uint32_t palette_rgb(int index); // 0xrrggbb of one of the 256: for direct-colour terminals

#endif
