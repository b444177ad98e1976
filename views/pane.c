// The pane: draws the parts of a view where the layout puts them, with titles, staleness and notes, and passes keys on:
// to the part with the focus, then to the others, then to itself. Independent of views and kinds of parts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/pane_parts.h"

#define PARTS_SHOWN 4    // at a time
#define ROWS_PER_PART 14 // a taller screen shows height / ROWS_PER_PART parts
#define BAR_FROM 5       // rows of the parts from which the part bar is shown

static bool takes_keys(const struct part *part) {
    return !part->hidden && part->kind->key;
}

// Whether the focused part was opened for one row and has the whole pane.
static bool is_opened(const struct pane *pane) {
    return pane->view->n_parts && pane->view->parts[pane->focus].kind->open;
}

bool pane_in_sight(const struct pane *pane, size_t i) {
    const struct part *part = &pane->view->parts[i];

    if (is_opened(pane))
        return (size_t)pane->focus == i;
    return !part->hidden && !part->kind->open && (!part->toggle || pane->layout->toggled & (1u << i));
}

bool pane_in_files(const struct pane *pane, size_t i) {
    return !pane->view->parts[i].on_request || pane->layout->toggled & (1u << i);
}

// A part without keys gets the focus only to bring it onto the screen.
static bool takes_focus(const struct pane *pane, size_t i) {
    const struct part *part = &pane->view->parts[i];
    bool named = part->title && !part->hidden && !(pane->layout->drawn & 1u << i);

    return pane_in_sight(pane, i) && (takes_keys(part) || named);
}

struct pane *pane_new(const struct view *view) {
    struct pane *pane = xcalloc(1, sizeof(*pane));

    pane->view = view;
    pane->parts = xcalloc(view->n_parts + 1, sizeof(*pane->parts));
    pane->layout = xcalloc(1, sizeof(*pane->layout));
    pane->layout->drawn = UINT32_MAX;
    pane->focus = -1;
    for (size_t i = 0; i < view->n_parts; i++) {
        const struct part *part = &view->parts[i];
        pane->parts[i] = xcalloc(1, part->kind->state_size + 1);
        if (part->kind->init)
            part->kind->init(pane->parts[i], part);
        if (pane->focus < 0 && takes_keys(part) && !part->kind->open && !part->toggle)
            pane->focus = (int)i;
    }
    if (pane->focus < 0)
        pane->focus = 0;
    pane->layout->automatic = pane->focus;
    return pane;
}

void pane_free(struct pane *pane) {
    if (!pane)
        return;
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        const struct part *part = &pane->view->parts[i];
        if (part->kind->done)
            part->kind->done(pane->parts[i], part);
        free(pane->parts[i]);
    }
    free(pane->parts);
    free(pane->layout);
    free(pane);
}

struct part_context part_context(struct pane *pane, const struct look *look, size_t i) {
    return (struct part_context){
        .look = look,
        .pane = pane,
        .part = &pane->view->parts[i],
        .state = pane->parts[i],
        .area = pane->layout->bodies[i],
        .focused = (size_t)pane->focus == i,
    };
}

void part_title(const struct part_context *ctx, char *out, size_t size) {
    snprintf(out, size, "%s", ctx->part->title ? ctx->part->title : ctx->part->name);
    if (ctx->part->kind->title)
        ctx->part->kind->title(ctx, out, size);
}

// ---- drawing ----

// Right-aligned on a line whose left `used` cells are taken. Returns the columns left before the text.
static int draw_right(struct area area, int end, int used, enum role role, const char *text) {
    int width = text_width(text);

    if (end - width - 2 < used)
        return end;
    area_text(area, end - width - 1, 0, role, text);
    area_char(area, end - width - 2, 0, ROLE_DIM, ' ');
    area_char(area, end - 1, 0, ROLE_DIM, ' ');
    return end - width - 2;
}

// Staleness, losses and a missing source, at the right end of the title.
static int draw_condition(struct part_context *ctx, struct area line, int end, int used) {
    struct source sources[SOURCES_MAX];
    size_t n = part_sections(ctx->part, ctx->look->frame, sources);
    uint64_t stale_ns = 0, lost = 0;
    // The first table of a join decides; the notes explain what else is missing.
    enum section_state state = n ? section_state(sources[0].section) : SECTION_OK;
    bool starting = state == SECTION_STARTING, unavailable = state == SECTION_UNAVAILABLE;
    char text[64];

    for (size_t i = 0; i < n; i++) {
        if (sources[i].stale_ns > stale_ns)
            stale_ns = sources[i].stale_ns;
        else if (!sources[i].stale_ns)
            lost += section_lost(sources[i].section);
    }
    if (stale_ns) {
        snprintf(text, sizeof(text), "stale %.1f s", (double)stale_ns / 1e9);
        end = draw_right(line, end, used, ROLE_STALE, text);
    }
    if (lost) {
        snprintf(text, sizeof(text), "%llu events lost", (unsigned long long)lost);
        end = draw_right(line, end, used, ROLE_WARNING, text);
    }
    if (unavailable || starting)
        end = draw_right(line, end, used, ROLE_STALE,
                         unavailable       ? "not available"
                         : ctx->look->live ? "starting"
                                           : "not recorded then");
    return end;
}

static void draw_title(struct part_context *ctx, struct area line, bool mark) {
    int end = line.width - 1, x = 0;
    char text[2 * FILTER_SIZE] = "";

    area_fill(line, 0, 0, line.width, ROLE_DIM, 0x2500);
    x += area_text(line, 1, 0, ROLE_TITLE, mark ? " \u25b8 " : " ") + 1;
    part_title(ctx, text, sizeof(text));
    x += area_text(line, x, 0, ROLE_TITLE, text);
    text[0] = '\0';
    x += area_text(line, x, 0, ROLE_TITLE, " ");
    end = draw_condition(ctx, line, end, x);
    ctx->room = end - x - 2;
    if (ctx->part->kind->status)
        ctx->part->kind->status(ctx, text, sizeof(text));
    bool fits = end - text_width(text) - 2 >= x;
    if (text[0])
        draw_right(line, end, x, ROLE_DIM, fits || !ctx->brief[0] ? text : ctx->brief);
}

static void draw_part(struct pane *pane, const struct look *look, size_t i, struct area area, bool mark) {
    const struct part *part = &pane->view->parts[i];
    int title = part->title ? 1 : 0;
    struct area body = area_sub(area, 0, title, area.width, area.height - title);

    pane->layout->bodies[i] = body;
    if (area.height <= 0 || area.width <= 0)
        return;
    struct part_context ctx = part_context(pane, look, i);
    // The body first: the status in the title depends on what it shows.
    if (body.height > 0 && part->kind->draw)
        part->kind->draw(&ctx);
    if (title)
        draw_title(&ctx, area_sub(area, 0, 0, area.width, 1), mark && ctx.focused);
    else
        draw_condition(&ctx, area_sub(area, 0, 0, area.width, 1), area.width, 0);
}

// Until a key is used the focus is on the first part with something to show. Also when the part with the focus leaves
// the screen: its keys would act invisibly.
static void focus_settle(struct pane *pane, const int *wants) {
    struct pane_layout *layout = pane->layout;

    layout->settled = wants[pane->focus] > 0 && (layout->settled || pane->focus != layout->automatic);
    for (size_t i = 0; !layout->settled && i < pane->view->n_parts; i++) {
        if (wants[i] <= 0 || !takes_keys(&pane->view->parts[i]))
            continue;
        pane->focus = layout->automatic = (int)i;
        return;
    }
}

// The body rows that each part wants (0: nothing to show), and the minimum below which a longer one is unreadable.
static void measure(struct pane *pane, const struct look *look, struct area area, int *bodies, int *leasts) {
    int readable = area.height < 15 ? 0 : area.height < 24 ? area.height / 4 : 6;

    for (size_t i = 0; i < pane->view->n_parts; i++)
        bodies[i] = pane_in_sight(pane, i) ? pane->view->parts[i].min_height : 0;
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        const struct part *part = &pane->view->parts[i];
        struct part_context ctx = part_context(pane, look, i);
        if (pane_in_sight(pane, i) && part->kind->height)
            bodies[i] = part->kind->height(&ctx, layout_width(pane->view, i, area.width, bodies));
        leasts[i] = bodies[i] > 0 && part->kind->least ? part->kind->least(&ctx) : 0;
        leasts[i] = leasts[i] > readable ? leasts[i] : readable;
    }
}

// Keeps the part with the focus, those that a key has shown, and the first others, unless they are in `unfit`. An
// untitled line does not count.
static void parts_limit(struct pane *pane, int height, uint32_t unfit, int *bodies) {
    struct pane_layout *layout = pane->layout;
    int others = height / ROWS_PER_PART > PARTS_SHOWN ? height / ROWS_PER_PART : PARTS_SHOWN;

    layout->listed = layout->drawn = 0;
    for (size_t i = 0; i < pane->view->n_parts; i++)
        others -=
            bodies[i] > 0 && pane->view->parts[i].title && ((size_t)pane->focus == i || layout->toggled & 1u << i);
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        bool titled = pane->view->parts[i].title, focused = (size_t)pane->focus == i;
        bool counted = titled && !(layout->toggled & 1u << i);
        if (bodies[i] <= 0 || pane->view->parts[i].hidden)
            continue;
        layout->listed |= titled ? 1u << i : 0;
        if (!focused && (layout->enlarged || unfit & 1u << i || (counted && others-- <= 0)))
            bodies[i] = 0;
        else
            layout->drawn |= 1u << i;
    }
}

// Places the parts. The part bar takes the last line if a listed part is not on the screen.
static void place(struct pane *pane, struct area area, const int *bodies, const int *leasts, struct area *areas) {
    struct pane_layout *layout = pane->layout;
    uint32_t chosen = layout->drawn;

    for (int bar = (layout->listed & ~chosen) != 0; bar < 2; bar++) {
        int rows = area.height - (bar && area.height >= BAR_FROM ? 1 : 0);
        memset(areas, 0, PARTS_MAX * sizeof(*areas));
        layout_parts(pane->view, area_sub(area, 0, 0, area.width, rows), bodies, leasts, (size_t)pane->focus, areas);
        layout->drawn = chosen;
        for (size_t i = 0; i < pane->view->n_parts; i++)
            if (!areas[i].height)
                layout->drawn &= ~(1u << i);
        layout->bar = area_sub(area, 0, rows, area.width, area.height - rows);
        if (!(layout->listed & ~layout->drawn))
            return;
    }
}

// Chooses and places the parts to show: one without room is replaced by the next that has room.
static void arrange(struct pane *pane, struct area area, const int *wants, const int *leasts, struct area *areas) {
    struct pane_layout *layout = pane->layout;
    uint32_t unfit = 0, chosen;

    do {
        int bodies[PARTS_MAX];
        memcpy(bodies, wants, sizeof(bodies));
        parts_limit(pane, area.height, unfit, bodies);
        chosen = layout->drawn & ~(1u << pane->focus);
        place(pane, area, bodies, leasts, areas);
        unfit |= chosen & ~layout->drawn;
    } while (chosen & ~layout->drawn);
}

void pane_draw(struct pane *pane, const struct look *look, struct area area) {
    const struct view *view = pane->view;
    struct pane_layout *layout = pane->layout;
    struct area areas[PARTS_MAX] = {0};
    int wants[PARTS_MAX] = {0}, leasts[PARTS_MAX] = {0}, takers = 0;
    struct pane_notes notes;

    memset(layout->bodies, 0, sizeof(layout->bodies));
    layout->bar = (struct area){0};
    layout->listed = 0;
    layout->drawn = UINT32_MAX;
    if (!look->frame) {
        area_text(area, 1, 0, ROLE_DIM, "waiting for the first frame");
        return;
    }
    if (!is_opened(pane) && pane_unrecorded(pane, look)) {
        area_text(area, 1, 0, ROLE_STALE, pane_unrecorded_text);
        return;
    }
    measure(pane, look, area, wants, leasts);
    focus_settle(pane, wants);
    if (!is_opened(pane))
        arrange(pane, area, wants, leasts, areas); // for the notes, which explain what is on the screen
    pane_notes(pane, look, NOTES_OF_DRAWN, &notes);
    int note_rows = notes_height(&notes, area.height);
    struct area parts = area_sub(area, 0, 0, area.width, area.height - note_rows);
    if (is_opened(pane))
        areas[pane->focus] = parts;
    else
        arrange(pane, parts, wants, leasts, areas);
    for (size_t i = 0; i < view->n_parts; i++)
        takers += takes_focus(pane, i) && layout->drawn & 1u << i;
    for (size_t i = 0; i < view->n_parts; i++)
        draw_part(pane, look, i, areas[i], takers > 1);
    part_bar_draw(pane, layout->bar);
    notes_draw(&notes, area_sub(area, 0, area.height - note_rows, area.width, note_rows));
}

// ---- keys ----

const struct part *view_part(const struct view *view, const char *name) {
    for (size_t i = 0; name && i < view->n_parts; i++)
        if (!strcmp(view->parts[i].name, name))
            return &view->parts[i];
    return NULL;
}

long view_key_step(int key, long page) {
    long whole = page > 1 ? page - 1 : 1;

    return key == KEY_VIEW_UP          ? -1
           : key == KEY_VIEW_DOWN      ? 1
           : key == KEY_VIEW_PAGE_UP   ? -whole
           : key == KEY_VIEW_PAGE_DOWN ? whole
                                       : 0;
}

// Moves to a part of the same pane, with its own filter and frame. Esc returns to the state before.
static void pane_go(struct pane *pane, const struct look *look, const struct part_context *ctx,
                    struct pane_answer *answer) {
    struct pane_layout *layout = pane->layout;

    // A list that replaces another one returns to where that came from. At the maximum depth Esc skips a step.
    bool replaced = layout->n_back && pane->filter_part == ctx->go_part;
    if (!replaced && layout->n_back < BACK_MAX) {
        struct pane_back *back = &layout->back[layout->n_back++];
        *back =
            (struct pane_back){.focus = pane->focus, .enlarged = layout->enlarged, .filter_part = pane->filter_part};
        back->frame = look->live || !look->frame ? 0 : look->frame->number;
        back->moved = ctx->go_frame;
        memcpy(back->filter, pane->filter, sizeof(back->filter));
    }
    snprintf(pane->filter, sizeof(pane->filter), "%s", ctx->go_filter);
    pane->focus = (int)(ctx->go_part - pane->view->parts);
    pane->filter_part = ctx->go_part;
    answer->go_frame = ctx->go_frame;
}

static bool pane_go_back(struct pane *pane, struct pane_answer *answer) {
    struct pane_layout *layout = pane->layout;

    if (layout->enlarged && !(layout->n_back && layout->back[layout->n_back - 1].enlarged)) {
        layout->enlarged = false;
        return true;
    }
    if (!layout->n_back)
        return false;
    const struct pane_back *back = &layout->back[--layout->n_back];
    pane->focus = back->focus;
    layout->enlarged = back->enlarged;
    snprintf(pane->filter, sizeof(pane->filter), "%s", back->filter);
    pane->filter_part = back->filter_part;
    answer->go_frame = back->moved ? back->frame : 0;
    answer->go_live = back->moved && !back->frame;
    return true;
}

static bool part_key(struct pane *pane, const struct look *look, size_t i, int key, int x, int y,
                     struct pane_answer *answer) {
    struct part_context ctx = part_context(pane, look, i);

    // Keys of a part without room would act invisibly; an empty part takes its keys, since one may show it.
    if (!takes_keys(ctx.part) || !pane_in_sight(pane, i) ||
        ((size_t)pane->focus != i && pane->layout->listed & ~pane->layout->drawn & 1u << i))
        return false;
    ctx.key = key;
    ctx.mouse_x = x - ctx.area.x;
    ctx.mouse_y = y - ctx.area.y;
    bool used = ctx.part->kind->key(&ctx);
    if (!used)
        return false;
    pane->layout->settled = !ctx.focus_drop;
    pane->layout->automatic = ctx.focus_drop ? pane->focus : -1;
    if (ctx.focus_take)
        pane->focus = (int)i;
    answer->jump_pane = ctx.jump_pane;
    snprintf(answer->jump_filter, sizeof(answer->jump_filter), "%s", ctx.jump_filter);
    snprintf(answer->message, sizeof(answer->message), "%s", ctx.message);
    answer->frequency_hz = ctx.frequency_hz;
    answer->wakers = ctx.wakers;
    answer->go_time = ctx.go_time;
    memcpy(answer->toggles, ctx.toggles, sizeof(answer->toggles));
    memcpy(answer->removes, ctx.removes, sizeof(answer->removes));
    memcpy(answer->removed_as, ctx.removed_as, sizeof(answer->removed_as));
    memcpy(answer->counts, ctx.counts, sizeof(answer->counts));
    size_t asks = ctx.go_part ? (size_t)(ctx.go_part - pane->view->parts) : i;
    struct part_context asking = part_context(pane, look, asks);
    if (asking.part->kind->ask)
        answer->ask = asking.part->kind->ask(&asking);
    if (ctx.go_part)
        pane_go(pane, look, &ctx, answer);
    else
        answer->go_frame = ctx.go_frame;
    return true;
}

// A click on a name in the part bar moves the focus; on the focused part it works as the key =.
static bool click_bar(struct pane *pane, int i) {
    pane->layout->enlarged ^= pane->focus == i;
    pane->focus = i;
    pane->layout->settled = true;
    return true;
}

static bool click(struct pane *pane, const struct look *look, int x, int y, struct pane_answer *answer) {
    int tab = part_bar_at(pane, x, y);

    if (tab >= 0)
        return click_bar(pane, tab);
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        struct area area = pane->layout->bodies[i];
        int title = pane->view->parts[i].title ? 1 : 0;
        if (area.height + title <= 0 || !area.grid || x < area.x || x >= area.x + area.width || y < area.y - title ||
            y >= area.y + area.height)
            continue;
        bool moved = takes_focus(pane, i) && (size_t)pane->focus != i;
        if (moved)
            pane->focus = (int)i;
        return (y >= area.y && part_key(pane, look, i, KEY_VIEW_CLICK, x, y, answer)) || moved;
    }
    return false;
}

// Moves to the next part with something to show, on the screen or not.
static bool focus_move(struct pane *pane, const struct look *look, int direction) {
    int n = (int)pane->view->n_parts;

    for (int step = 1; step < n; step++) {
        int i = (pane->focus + direction * step + n * step) % n;
        const struct part *part = &pane->view->parts[i];
        struct part_context ctx = part_context(pane, look, (size_t)i);
        if (!takes_focus(pane, (size_t)i) || (look->frame && part->kind->height && !part->kind->height(&ctx, 80)))
            continue;
        pane->focus = i;
        pane->layout->settled = true;
        return true;
    }
    return false;
}

// Shows or hides the parts of that key. A shown part gets the focus; a hidden one gives it back.
static bool toggle(struct pane *pane, int key, struct pane_answer *answer) {
    const struct view *view = pane->view;
    bool used = false;

    for (size_t i = 0; i < view->n_parts && !is_opened(pane); i++) {
        const struct part *part = &view->parts[i];
        if (!part->toggle || part->toggle != key)
            continue;
        pane->layout->toggled ^= 1u << i;
        used = true;
        bool shown = pane->layout->toggled & (1u << i);
        if (shown && takes_keys(part))
            pane->focus = (int)i;
        else if (pane->focus == (int)i)
            for (pane->focus = 0; pane->focus < (int)view->n_parts - 1; pane->focus++)
                if (takes_keys(&view->parts[pane->focus]) && pane_in_sight(pane, (size_t)pane->focus))
                    break;
        snprintf(answer->message, sizeof(answer->message), "%.80s: %s", part->title ? part->title : part->name,
                 shown ? "shown" : "hidden");
    }
    return used;
}

void pane_show(struct pane *pane, const char *part) {
    const struct part *found = view_part(pane->view, part);

    if (found && found->toggle)
        pane->layout->toggled |= 1u << (found - pane->view->parts);
}

bool pane_key(struct pane *pane, const struct look *look, int key, int mouse_x, int mouse_y,
              struct pane_answer *answer) {
    memset(answer, 0, sizeof(*answer));
    if (key == KEY_VIEW_CLICK)
        return click(pane, look, mouse_x, mouse_y, answer);
    if (part_key(pane, look, (size_t)pane->focus, key, mouse_x, mouse_y, answer))
        return true;
    if (toggle(pane, key, answer))
        return true;
    if (key == 'o' || key == 'O')
        return focus_move(pane, look, key == 'o' ? 1 : -1);
    if (key == '=' && !is_opened(pane)) {
        pane->layout->enlarged = !pane->layout->enlarged;
        pane->layout->settled = true;
        return true;
    }
    if ((key == 'n' || key == 'N') && pane->search[0]) {
        if (!pane_search(pane, look, key == 'n' ? 1 : -1)) {
            char shown[sizeof(answer->message) - sizeof("not found: ")];
            escape_fit(pane->search, 60, shown, sizeof(shown));
            snprintf(answer->message, sizeof(answer->message), "not found: %s", shown);
        }
        return true;
    }
    if (key == KEY_VIEW_BACK && pane_go_back(pane, answer))
        return true;
    if (key == KEY_VIEW_BACK && pane->filter[0]) {
        pane_set_filter(pane, "");
        snprintf(answer->message, sizeof(answer->message), "filter off");
        return true;
    }
    for (size_t i = 0; i < pane->view->n_parts; i++)
        if (i != (size_t)pane->focus && part_key(pane, look, i, key, mouse_x, mouse_y, answer))
            return true;
    return false;
}

bool pane_search(struct pane *pane, const struct look *look, int direction) {
    size_t n = pane->view->n_parts;

    for (size_t step = 0; pane->search[0] && step < n; step++) {
        size_t i = ((size_t)pane->focus + step) % n;
        struct part_context ctx = part_context(pane, look, i);
        if (!pane_in_sight(pane, i) || !ctx.part->kind->search || !ctx.part->kind->search(&ctx, direction))
            continue;
        pane->focus = (int)i;
        pane->layout->settled = true;
        return true;
    }
    return false;
}

const char *pane_filter(const struct pane *pane, const struct part *part) {
    if (!pane->filter_part || pane->filter_part == part)
        return pane->filter;
    for (size_t i = pane->layout->n_back; i-- > 0;)
        if (!pane->layout->back[i].filter_part || pane->layout->back[i].filter_part == part)
            return pane->layout->back[i].filter;
    return "";
}

void pane_set_filter(struct pane *pane, const char *filter) {
    if (is_opened(pane) && pane->layout->n_back) { // Esc belongs to the part behind
        pane->focus = pane->layout->back[pane->layout->n_back - 1].focus;
        pane->layout->n_back = 0;
    }
    pane->filter_part = NULL;
    snprintf(pane->filter, sizeof(pane->filter), "%s", filter ? filter : "");
}

size_t pane_needs(const struct pane *pane, bool files, const char **names, size_t n, size_t max) {
    for (const char *const *need = pane->view->needs; need && *need && n < max; need++)
        names[n++] = *need;
    for (size_t i = 0; i < pane->view->n_parts; i++)
        if (files ? pane_in_files(pane, i) : pane_in_sight(pane, i))
            for (const char *const *need = pane->view->parts[i].needs; need && *need && n < max; need++)
                names[n++] = *need;
    return n;
}

bool pane_sort(struct pane *pane, const struct look *look, const char *column) {
    size_t n = pane->view->n_parts;
    bool ascending = column[0] == '-';

    for (size_t step = 0; step < n; step++) {
        struct part_context ctx = part_context(pane, look, ((size_t)pane->focus + step) % n);
        if (ctx.part->kind->sort && ctx.part->kind->sort(&ctx, column + ascending, ascending))
            return true;
    }
    return false;
}
