// Where the parts of a pane are: one below the other, or side by side on a wide screen. Pure arithmetic: draws nothing.
//
// A band is a part with the parts after it that are marked `right`, stacked at its right. Bands share the height: each
// gets its minimum, then those without a weight get their wanted height, then the others share the rest by weight.
// Without room for all, the first ones that fit are shown, and always the one with the focus.
#include "views/pane_parts.h"

static bool is_wide(const struct view *view, int width) {
    return view->wide_from > 0 && width >= view->wide_from;
}

// The first part after the band that starts at i.
static size_t band_end(const struct view *view, size_t i, int width) {
    size_t end = i + 1;

    while (is_wide(view, width) && end < view->n_parts && view->parts[end].right)
        end++;
    return end;
}

// The widths of the band's two columns: parts without a body leave the whole width to the others.
static void band_widths(const struct view *view, size_t i, int width, const int *bodies, int *left, int *right) {
    bool any = false;

    for (size_t k = i + 1; k < band_end(view, i, width); k++)
        any |= bodies[k] > 0;
    *left = !any ? width : bodies[i] > 0 ? (width - 1) / 2 : 0;
    *right = !any ? 0 : *left ? width - *left - 1 : width;
}

int layout_width(const struct view *view, size_t i, int width, const int *bodies) {
    int left, right;
    size_t first = i;

    while (is_wide(view, width) && first > 0 && view->parts[first].right)
        first--;
    band_widths(view, first, width, bodies, &left, &right);
    return first == i ? left : right;
}

static struct need part_need(const struct part *part, int body, int least) {
    int title = part->title ? 1 : 0, min = least > part->min_height ? least : part->min_height;
    struct need need = {0};

    if (part->hidden || body <= 0)
        return need;
    need.want = title + body;
    need.min = title + (min > 0 ? min : 1);
    need.min = need.want < need.min ? need.want : need.min;
    need.weight = part->weight;
    return need;
}

void layout_share(const struct need *needs, size_t n, int height, size_t keep, int *heights) {
    int left = height;

    for (size_t step = 0; step <= n; step++) { // the one to keep, then all in order
        size_t i = step ? step - 1 : keep;
        if (i >= n || (step && i == keep))
            continue;
        heights[i] = needs[i].min <= left ? needs[i].min : i == keep && left > 0 ? left : 0;
        left -= heights[i];
    }
    for (size_t i = 0; i < n && left > 0; i++) {
        int more = needs[i].want - heights[i];
        if (needs[i].weight || !heights[i] || more <= 0)
            continue;
        more = more < left ? more : left;
        heights[i] += more;
        left -= more;
    }
    while (left > 0) {
        int weights = 0, given = 0;
        for (size_t i = 0; i < n; i++)
            if (heights[i] && heights[i] < needs[i].want)
                weights += needs[i].weight;
        if (!weights)
            break;
        int round = left;
        for (size_t i = 0; i < n && left > 0; i++) {
            int room = needs[i].want - heights[i];
            if (!heights[i] || room <= 0 || !needs[i].weight)
                continue;
            int more = round * needs[i].weight / weights;
            more = more < 1 ? 1 : more;
            more = more < room ? more : room;
            more = more < left ? more : left;
            heights[i] += more;
            left -= more;
            given += more;
        }
        if (!given)
            break;
    }
}

// The parts at the right of a band, stacked.
static void place_right(const struct view *view, size_t first, size_t end, struct area area, const int *bodies,
                        const int *leasts, size_t focus, struct area *out) {
    struct need needs[PARTS_MAX] = {0};
    int heights[PARTS_MAX], y = 0;
    size_t n = end - first;

    for (size_t i = 0; i < n; i++)
        needs[i] = part_need(&view->parts[first + i], bodies[first + i], leasts[first + i]);
    layout_share(needs, n, area.height, focus >= first && focus < end ? focus - first : n, heights);
    for (size_t i = 0; i < n; i++) {
        out[first + i] = area_sub(area, 0, y, area.width, heights[i]);
        y += heights[i];
    }
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

static struct need band_need(const struct view *view, size_t i, size_t end, const int *bodies, const int *leasts) {
    struct need need = part_need(&view->parts[i], bodies[i], leasts[i]), right = {0};

    for (size_t k = i + 1; k < end; k++) {
        struct need one = part_need(&view->parts[k], bodies[k], leasts[k]);
        right.min += one.min;
        right.want += one.want;
        right.weight = larger(right.weight, one.weight);
    }
    return (struct need){.min = larger(need.min, right.min),
                         .want = larger(need.want, right.want),
                         .weight = larger(need.weight, right.weight)};
}

void layout_parts(const struct view *view, struct area area, const int *bodies, const int *leasts, size_t focus,
                  struct area *out) {
    struct need needs[PARTS_MAX] = {0};
    int heights[PARTS_MAX], y = 0;
    size_t starts[PARTS_MAX + 1], n = 0, keep = 0;

    for (size_t i = 0; i < view->n_parts; i = starts[n]) {
        size_t end = band_end(view, i, area.width);
        starts[n] = i;
        needs[n] = band_need(view, i, end, bodies, leasts);
        if (focus >= i && focus < end)
            keep = n;
        starts[++n] = end;
    }
    layout_share(needs, n, area.height, keep, heights);
    for (size_t b = 0; b < n; b++) {
        size_t i = starts[b], end = starts[b + 1];
        struct area band = area_sub(area, 0, y, area.width, heights[b]);
        int left, right;
        band_widths(view, i, area.width, bodies, &left, &right);
        out[i] = area_sub(band, 0, 0, left, bodies[i] > 0 && !view->parts[i].hidden ? band.height : 0);
        if (right)
            place_right(view, i + 1, end, area_sub(band, area.width - right, 0, right, band.height), bodies, leasts,
                        focus, out);
        y += heights[b];
    }
}
