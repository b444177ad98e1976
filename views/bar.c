// Draws bars in a row of cells from shares alone; their meaning is the caller's.
#include "views/bar.h"

#include <math.h>

// Left eighths ▏▎▍▌▋▊▉█ and lower eighths ▁▂▃▄▅▆▇█.
static uint32_t left_block(int eighths) {
    return 0x2590 - (uint32_t)eighths;
}
static uint32_t lower_block(int eighths) {
    return 0x2580 + (uint32_t)eighths;
}

static double clamp_share(double share) {
    return isnan(share) || share < 0 ? 0 : share > 1 ? 1 : share;
}

void bar_draw(struct area area, int x, int y, int width, double share, enum role role) {
    share = clamp_share(share);
    if (width < 1)
        return;
    area_fill(area, x, y, width, role, ' ');
    if (share == 0)
        return;
    if (area.grid->ascii) {
        int cells = (int)lround(share * width);
        area_fill(area, x, y, cells, role, '#');
        if (!cells)
            area_char(area, x, y, role, '.');
        return;
    }
    int eighths = (int)lround(share * width * 8);
    if (!eighths)
        eighths = 1;
    area_fill(area, x, y, eighths / 8, role, left_block(8));
    if (eighths % 8)
        area_char(area, x + eighths / 8, y, role, left_block(eighths % 8));
}

void bar_stack(struct area area, int x, int y, int width, const struct bar_segment *segments, int n) {
    double sum = 0;
    int done = 0; // cells drawn
    if (width < 1)
        return;
    area_fill(area, x, y, width, ROLE_DIM, ' ');
    for (int i = 0; i < n; i++) {
        double share = clamp_share(segments[i].share);
        sum = clamp_share(sum + share);
        int end = (int)lround(sum * width);
        if (share > 0 && end == done && end < width &&
            sum * width > done) { // less than half a cell: at least its first eighth
            int eighths = (int)lround((sum * width - done) * 8);
            area_char(area, x + done, y, segments[i].role,
                      area.grid->ascii ? '.' : left_block(eighths < 1 ? 1 : eighths));
            continue; // a bigger segment behind it takes the cell
        }
        area_fill(area, x + done, y, end - done, segments[i].role,
                  area.grid->ascii     ? (uint32_t)segments[i].ascii
                  : segments[i].shaded ? 0x2592
                                       : left_block(8));
        done = end;
    }
}

void spark_draw(struct area area, int x, int y, double share, enum role role) {
    static const char ramp[] = "_.-=*#";
    if (isnan(share))
        return;
    share = clamp_share(share);
    if (area.grid->ascii) {
        int level = share == 0 ? 0 : 1 + (int)(share * 4.999);
        area_char(area, x, y, level ? role : ROLE_DIM, (uint32_t)ramp[level]);
        return;
    }
    int eighths = share == 0 ? 0 : 1 + (int)(share * 7.999);
    area_char(area, x, y, eighths ? role : ROLE_DIM, eighths ? lower_block(eighths) : lower_block(1));
}
