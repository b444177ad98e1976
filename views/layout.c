// Where the parts of a pane stand: one below the other, or side by side on a wide screen. Pure arithmetic: draws
// nothing.
//
// A band is a part of column 0 with the parts of column 1 that follow it stacked at its right. Bands share the height:
// each gets what it needs at least, then those without a weight what they want, then the others by weight. What has no
// room even so is left out, the last first, but never the one that has the keys; one that can do with less gets less
// before that.
#include "views/pane_parts.h"

static int outer_min(const struct part *part, int least) {
    least = least > part->min_height ? least : part->min_height;
    return (part->title ? 1 : 0) + (least > 0 ? least : 1);
}

static bool is_wide(const struct view *view, int width) {
    return view->wide_from > 0 && width >= view->wide_from && view->columns;
}

// The first part after the band that starts at i.
static size_t band_end(const struct view *view, size_t i, int width) {
    size_t end = i + 1;

    while (is_wide(view, width) && end < view->n_parts && view->columns[end] == 1)
        end++;
    return end;
}

static bool has_right(const struct view *view, size_t i, size_t end) {
    for (size_t k = i + 1; k < end; k++)
        if (!view->parts[k].hidden)
            return true;
    return false;
}

static int left_width(int width) {
    return (width - 1) / 2;
}

int layout_width(const struct view *view, size_t i, int width) {
    if (!is_wide(view, width))
        return width;
    if (i > 0 && view->columns[i] == 1)
        return width - left_width(width) - 1;
    return has_right(view, i, band_end(view, i, width)) ? left_width(width) : width;
}

static struct need part_need(const struct part *part, int want, int least) {
    struct need need = {0};

    if (part->hidden || want <= 0)
        return need;
    need.min = outer_min(part, least);
    need.want = (part->title ? 1 : 0) + want;
    if (need.want < need.min)
        need.min = need.want;
    need.weight = part->weight;
    need.tight = part->tight_height ? (part->title ? 1 : 0) + part->tight_height : 0;
    if (need.min < need.tight)
        need.tight = need.min;
    return need;
}

// Takes so many rows from those of the first n that can do with less, the last first. False: they cannot.
static bool tighten(const struct need *needs, size_t n, int rows, int *heights) {
    int spare = 0;

    for (size_t i = 0; i < n; i++)
        spare += needs[i].tight ? heights[i] - needs[i].tight : 0;
    if (spare < rows)
        return false;
    while (n-- > 0) {
        int less = needs[n].tight ? heights[n] - needs[n].tight : 0;
        less = less < rows ? less : rows;
        heights[n] -= less;
        rows -= less;
    }
    return true;
}

void layout_share(const struct need *needs, size_t n, int height, size_t keep, int *heights) {
    int left = height;
    size_t last = n;

    for (size_t i = 0; i < n; i++) {
        heights[i] = needs[i].min;
        left -= heights[i];
    }
    while (left < 0 && last-- > 0) {
        // What has the keys behind it shall have the room.
        if (needs[last].tight && (keep <= last || keep >= n) && tighten(needs, last + 1, -left, heights)) {
            left = 0;
            break;
        }
        if (last == keep)
            continue;
        left += heights[last];
        heights[last] = 0;
    }
    if (left < 0 && keep < n) {
        heights[keep] += left;
        if (heights[keep] < 0)
            heights[keep] = 0;
        left = 0;
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
static void place_right(const struct view *view, size_t first, size_t end, struct area area, const int *wants,
                        const int *leasts, size_t focus, struct area *out) {
    struct need needs[PARTS_MAX] = {0};
    int heights[PARTS_MAX], y = 0;
    size_t n = end - first;

    for (size_t i = 0; i < n; i++)
        needs[i] = part_need(&view->parts[first + i], wants[first + i], leasts[first + i]);
    layout_share(needs, n, area.height, focus >= first && focus < end ? focus - first : n, heights);
    for (size_t i = 0; i < n; i++) {
        out[first + i] = area_sub(area, 0, y, area.width, heights[i]);
        y += heights[i];
    }
}

static struct need band_need(const struct view *view, size_t i, size_t end, const int *wants, const int *leasts) {
    struct need need = part_need(&view->parts[i], wants[i], leasts[i]), right = {0};
    int tight = need.tight ? need.tight : need.min;
    bool can = need.tight > 0;

    for (size_t k = i + 1; k < end; k++) {
        struct need one = part_need(&view->parts[k], wants[k], leasts[k]);
        right.min += one.min;
        right.tight += one.tight ? one.tight : one.min;
        can |= one.tight > 0;
        right.want += one.want;
        right.weight = one.weight > right.weight ? one.weight : right.weight;
    }
    if (right.min > need.min)
        need.min = right.min;
    need.tight = !can ? 0 : tight > right.tight ? tight : right.tight;
    if (right.want > need.want)
        need.want = right.want;
    if (right.weight > need.weight)
        need.weight = right.weight;
    return need;
}

void layout_parts(const struct view *view, struct area area, const int *wants, const int *leasts, size_t focus,
                  struct area *out) {
    struct need needs[PARTS_MAX] = {0};
    int heights[PARTS_MAX], y = 0;
    size_t starts[PARTS_MAX + 1], n = 0, keep = 0;

    for (size_t i = 0; i < view->n_parts; i = starts[n]) {
        size_t end = band_end(view, i, area.width);
        starts[n] = i;
        needs[n] = band_need(view, i, end, wants, leasts);
        if (focus >= i && focus < end)
            keep = n;
        starts[++n] = end;
    }
    layout_share(needs, n, area.height, keep, heights);
    for (size_t b = 0; b < n; b++) {
        size_t i = starts[b], end = starts[b + 1];
        struct area band = area_sub(area, 0, y, area.width, heights[b]);
        int width = layout_width(view, i, area.width);
        struct need own = part_need(&view->parts[i], wants[i], leasts[i]);
        out[i] = area_sub(band, 0, 0, width, own.min ? band.height : 0);
        if (end > i + 1)
            place_right(view, i + 1, end, area_sub(band, width + 1, 0, band.width - width - 1, band.height), wants,
                        leasts, focus, out);
        y += heights[b];
    }
}
