// The colours. One row per role; one ramp per depth. A colour must never be the only carrier of a meaning.
#include "tui/palette.h"

#include <stddef.h>

// Indexed by enum role. Colours 16..255 are the same on every terminal; users redefine the first 16.
static const struct {
    struct paint at256, at16, at8, mono;
} roles[] = {
    [ROLE_TEXT] = {{-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [ROLE_DIM] = {{245, -1, 0}, {8, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
    [ROLE_TITLE] = {{-1, -1, PAINT_BOLD}, {-1, -1, PAINT_BOLD}, {-1, -1, PAINT_BOLD}, {-1, -1, PAINT_BOLD}},
    [ROLE_HEADER] = {{254, 238, 0}, {-1, -1, PAINT_REVERSE}, {-1, -1, PAINT_REVERSE}, {-1, -1, PAINT_REVERSE}},
    [ROLE_HEADER_SORTED] = {{16, 39, PAINT_BOLD},
                            {0, 12, 0},
                            {0, 6, 0},
                            {-1, -1, PAINT_REVERSE | PAINT_BOLD | PAINT_UNDERLINE}},
    [ROLE_SELECTED] = {{16, 250, 0}, {-1, -1, PAINT_REVERSE}, {-1, -1, PAINT_REVERSE}, {-1, -1, PAINT_REVERSE}},
    [ROLE_KEY] = {{214, -1, PAINT_BOLD}, {11, -1, 0}, {3, -1, PAINT_BOLD}, {-1, -1, PAINT_BOLD}},
    [ROLE_GOOD] = {{39, -1, 0}, {12, -1, 0}, {6, -1, 0}, {-1, -1, 0}},
    [ROLE_INFO] = {{75, -1, 0}, {12, -1, 0}, {6, -1, 0}, {-1, -1, 0}},
    [ROLE_WARNING] = {{214, -1, PAINT_BOLD}, {11, -1, 0}, {3, -1, PAINT_BOLD}, {-1, -1, PAINT_BOLD}},
    [ROLE_CRITICAL] = {{231, 160, PAINT_BOLD},
                       {15, 1, PAINT_BOLD},
                       {7, 1, PAINT_BOLD},
                       {-1, -1, PAINT_REVERSE | PAINT_BOLD}},
    [ROLE_STALE] = {{178, -1, PAINT_UNDERLINE},
                    {3, -1, PAINT_UNDERLINE},
                    {3, -1, PAINT_UNDERLINE},
                    {-1, -1, PAINT_UNDERLINE}},
    [ROLE_USER] = {{39, -1, 0}, {12, -1, 0}, {6, -1, 0}, {-1, -1, 0}},
    [ROLE_NICE] = {{111, -1, 0}, {14, -1, 0}, {6, -1, PAINT_BOLD}, {-1, -1, 0}},
    [ROLE_SYSTEM] = {{203, -1, 0}, {9, -1, 0}, {1, -1, 0}, {-1, -1, PAINT_BOLD}},
    [ROLE_IRQ] = {{220, -1, 0}, {11, -1, 0}, {3, -1, 0}, {-1, -1, PAINT_UNDERLINE}},
    [ROLE_STEAL] = {{177, -1, 0}, {13, -1, 0}, {5, -1, 0}, {-1, -1, PAINT_REVERSE}},
    [ROLE_IOWAIT] = {{250, -1, 0}, {7, -1, 0}, {7, -1, 0}, {-1, -1, 0}},
    [ROLE_READ] = {{39, -1, 0}, {12, -1, 0}, {6, -1, 0}, {-1, -1, 0}},
    [ROLE_WRITE] = {{214, -1, 0}, {11, -1, 0}, {3, -1, PAINT_BOLD}, {-1, -1, PAINT_BOLD}},
    [ROLE_GRAPH] = {{75, -1, 0}, {12, -1, 0}, {6, -1, 0}, {-1, -1, 0}},
    [ROLE_CURSOR] = {{16, 231, PAINT_BOLD}, {-1, -1, PAINT_REVERSE}, {-1, -1, PAINT_REVERSE}, {-1, -1, PAINT_REVERSE}},
    [ROLE_MATCH] = {{16, 220, 0}, {0, 11, 0}, {0, 3, 0}, {-1, -1, PAINT_UNDERLINE | PAINT_BOLD}},
    [ROLE_FLAME_PROCESS] = {{16, 250, 0}, {0, 7, 0}, {0, 7, 0}, {-1, -1, PAINT_BOLD}},
    [ROLE_FLAME_USER] = {{16, 117, 0}, {0, 14, 0}, {0, 6, 0}, {-1, -1, PAINT_REVERSE}},
    [ROLE_FLAME_LIBRARY] = {{16, 153, 0}, {0, 6, 0}, {7, 4, 0}, {-1, -1, PAINT_REVERSE | PAINT_UNDERLINE}},
    [ROLE_FLAME_KERNEL] = {{16, 210, 0}, {0, 9, 0}, {7, 1, 0}, {-1, -1, PAINT_REVERSE | PAINT_BOLD}},
    [ROLE_FLAME_JIT] = {{16, 150, 0}, {0, 10, 0}, {0, 2, 0}, {-1, -1, PAINT_UNDERLINE}},
    [ROLE_FLAME_MORE] = {{16, 210, 0}, {0, 9, 0}, {7, 1, 0}, {-1, -1, PAINT_REVERSE | PAINT_BOLD}},
    [ROLE_FLAME_LESS] = {{16, 111, 0}, {15, 4, 0}, {7, 4, 0}, {-1, -1, PAINT_UNDERLINE}},
    [ROLE_FLAME_OFF_CPU] = {{231, 25, 0}, {15, 4, 0}, {3, 4, 0}, {-1, -1, PAINT_UNDERLINE | PAINT_BOLD}},
    [ROLE_HEAT] = {{-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}, {-1, -1, 0}},
};

// From black over violet, red and orange to pale yellow: each step is lighter than the one before, so that lightness
// alone gives the order.
static const uint8_t heat256[] = {
    16,  18,  53,  54,  89,  90,  91,  125, 126, 161, 131, 196, 167,
    202, 203, 172, 208, 178, 214, 220, 221, 227, 228, 229, 230,
};
static const uint8_t heat16[] = {0, 4, 5, 1, 9, 3, 11, 15};
static const uint8_t heat8[] = {0, 5, 1, 3, 7};
static const uint32_t density[] = {' ', 0x2591, 0x2592, 0x2593, 0x2588};
static const char density_ascii[] = " .:-=+*%#@";

enum palette_depth palette_depth(int colors, const char *no_color) {
    if (colors < 8 || (no_color && *no_color))
        return PALETTE_MONO;
    return colors >= 256 ? PALETTE_256 : colors >= 16 ? PALETTE_16 : PALETTE_8;
}

struct paint palette_role(enum palette_depth depth, enum role role) {
    if ((size_t)role >= sizeof roles / sizeof roles[0])
        role = ROLE_TEXT;
    switch (depth) {
    case PALETTE_256:
        return roles[role].at256;
    case PALETTE_16:
        return roles[role].at16;
    case PALETTE_8:
        return roles[role].at8;
    default:
        return roles[role].mono;
    }
}

int palette_heat_steps(enum palette_depth depth) {
    switch (depth) {
    case PALETTE_256:
        return sizeof heat256;
    case PALETTE_16:
        return sizeof heat16;
    case PALETTE_8:
        return sizeof heat8;
    default:
        return 1;
    }
}

int palette_heat_step(enum palette_depth depth, uint8_t heat) {
    int steps = palette_heat_steps(depth);
    if (!heat || steps == 1)
        return 0;
    // only 0 has step 0: any count above 0 must be visible
    return 1 + (heat - 1) * (steps - 1) / 255;
}

struct paint palette_heat(enum palette_depth depth, int step) {
    const uint8_t *ramp = depth == PALETTE_256 ? heat256 : depth == PALETTE_16 ? heat16 : heat8;
    if (depth == PALETTE_MONO || step < 0 || step >= palette_heat_steps(depth))
        return (struct paint){-1, -1, 0};
    return (struct paint){ramp[step], -1, 0};
}

uint32_t palette_heat_glyph(enum palette_depth depth, uint8_t heat, bool ascii) {
    if (depth == PALETTE_256)
        return 0;
    if (!heat)
        return ' ';
    if (ascii)
        return (unsigned char)density_ascii[1 + (heat - 1) * 9 / 255];
    return density[1 + (heat - 1) * 4 / 255];
}

uint32_t palette_rgb(int index) {
    static const uint32_t first[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x5c5cff, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
                                       0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x8c8cff, 0xff00ff, 0x00ffff, 0xffffff};
    static const uint8_t level[6] = {0, 95, 135, 175, 215, 255};
    if (index < 16)
        return first[index < 0 ? 7 : index];
    if (index >= 232)
        return (uint32_t)(8 + 10 * (index - 232)) * 0x010101;
    index -= 16;
    return (uint32_t)level[index / 36] << 16 | (uint32_t)level[index / 6 % 6] << 8 | level[index % 6];
}
