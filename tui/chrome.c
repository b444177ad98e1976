// The lines around the pane: the header line, the pane bar, and the line for prompt, messages and the main keys. Draws
// on the grid only. A narrow terminal leaves the less important items out.
#include <math.h>
#include <string.h>

#include "tui/app.h"
#include "views/escape.h"
#include "views/write.h"

#define SEPARATOR "  "

struct area chrome_body(const struct app *app) {
    struct area all = grid_area(app->grid);
    return area_sub(all, 0, APP_HEADER_ROWS, all.width, all.height - APP_HEADER_ROWS - 1);
}

static double own_cpu(const struct frame *frame) {
    const struct table *table = frame_table(frame, "process");
    size_t cursor = 0;
    const union cell *row = table ? table_next(table, &cursor) : NULL;
    int column = table ? table_column(table_def(table), "cpu_pct") : -1;
    return row && column >= 0 ? row[column].num : NAN;
}

// Puts an item at *x if it fits before `limit`; items come in order of importance.
static void piece(struct area area, int *x, int limit, enum role role, const char *text) {
    int width = text_width(text);
    if (*x + width > limit)
        return;
    area_text(area, *x, 0, role, text);
    *x += width + (int)strlen(SEPARATOR);
}

static int draw_state(struct area area, const struct app *app) {
    char text[64];
    enum role role = ROLE_HEADER;
    double age = rewind_age_s(&app->rewind);
    if (rewind_live(&app->rewind)) {
        snprintf(text, sizeof text, app->source && app->source->replay ? app->ended ? " end " : " plays " : " live ");
    } else {
        role = ROLE_MATCH;
        snprintf(text, sizeof text, age > 0 ? " rewound -%.*f s " : " frozen ", age < 10 ? 1 : 0, age);
    }
    int x = area.width - text_width(text);
    area_text(area, x > 0 ? x : 0, 0, role, text);
    return x;
}

static void draw_record(struct area area, int *x, int limit, const struct app *app) {
    char text[64];
    if (!app->source || !app->source->recorder)
        return;
    struct recorder_state state = recorder_state(app->source->recorder);
    snprintf(text, sizeof text, " REC %llu ", (unsigned long long)state.frames);
    piece(area, x, limit, ROLE_MATCH, text);
    if (!state.left_out)
        return;
    snprintf(text, sizeof text, " %llu frames left out ", (unsigned long long)state.left_out);
    piece(area, x, limit, ROLE_WARNING, text);
}

static void day_write(time_t when, char *out) {
    struct tm local;
    if (!localtime_r(&when, &local) || !strftime(out, 32, "%Y-%m-%d %H:%M:%S", &local))
        strcpy(out, "?");
}

static void draw_header(struct area area, const struct app *app, const struct frame *frame) {
    char text[128], host[100];
    int x = 1;
    area_fill(area, 0, 0, area.width, ROLE_HEADER, ' ');
    int limit = draw_state(area, app) - 1;
    escape_fit(app->host, 40, host, sizeof host);
    snprintf(text, sizeof text, "ktop %s", host);
    if (app->source && app->source->replay)
        piece(area, &x, limit, ROLE_MATCH, " REPLAY ");
    piece(area, &x, limit, ROLE_HEADER, text);
    draw_record(area, &x, limit, app);
    if (!frame) {
        piece(area, &x, limit, ROLE_HEADER, "starting");
        return;
    }
    if (app->source && app->source->replay)
        day_write(frame->wall.tv_sec, text);
    else
        clock_write(frame->wall.tv_sec, text);
    piece(area, &x, limit, ROLE_HEADER, text);
    uint64_t lost = frame_lost(frame);
    if (lost) {
        snprintf(text, sizeof text, " %llu events lost ", (unsigned long long)lost);
        piece(area, &x, limit, ROLE_CRITICAL, text);
    }
    double load[] = {frame_series(frame, "load_1", NULL), frame_series(frame, "load_5", NULL),
                     frame_series(frame, "load_15", NULL)};
    if (!isnan(load[0])) {
        snprintf(text, sizeof text, "load %.2f %.2f %.2f", load[0], load[1], load[2]);
        piece(area, &x, limit, ROLE_HEADER, text);
    }
    if (frame->number)
        snprintf(text, sizeof text, "every %.*f s", frame_interval_s(frame) < 10 ? 1 : 0, frame_interval_s(frame));
    else
        snprintf(text, sizeof text, "first numbers, no rates yet");
    piece(area, &x, limit, ROLE_HEADER, text);
    double cpu = own_cpu(frame);
    if (!isnan(cpu)) {
        snprintf(text, sizeof text, "ktop %.1f %% CPU", cpu);
        piece(area, &x, limit, ROLE_HEADER, text);
    }
    if (!lost)
        piece(area, &x, limit, ROLE_HEADER, "0 lost");
}

#define TAB_LETTERS_MAX 32 // whole names
#define TAB_LETTERS_MIN 3

static int tab_longest(const struct app *app) {
    int longest = 0;
    for (size_t i = 0; i < app->n_panes; i++) {
        int length = (int)strlen(app->panes[i]->view->name);
        longest = length > longest ? length : longest;
    }
    return longest;
}

// Columns of all names with their keys.
static int tabs_width(const struct app *app) {
    int width = 0;
    for (size_t i = 0; i < app->n_panes; i++)
        width += (int)strlen(app->panes[i]->view->name) + 3 + app->panes[i]->pinned;
    return width;
}

// How many letters of each name fit beside the current pane's whole name, whichever that is; 0: only the keys.
static int tab_letters(const struct app *app, int width) {
    int longest = tab_longest(app);
    if (tabs_width(app) <= width || app->n_panes < 2)
        return TAB_LETTERS_MAX;
    int letters = (width - longest - 3 * (int)app->n_panes) / ((int)app->n_panes - 1);
    return letters < TAB_LETTERS_MIN ? 0 : letters < longest ? letters : longest;
}

static void draw_tabs(struct area area, struct app *app) {
    int x = 0, letters = tab_letters(app, area.width);
    int spare = area.width - (int)app->n_panes; // of a blank behind each
    bool spaced = letters == TAB_LETTERS_MAX ? tabs_width(app) <= spare
                                             : !letters && tab_longest(app) + 3 * (int)app->n_panes <= spare;
    area_fill(area, 0, 0, area.width, ROLE_TEXT, ' ');
    for (size_t i = 0; i < app->n_panes; i++) {
        const struct pane *pane = app->panes[i];
        bool shown = i == app->current;
        int from = x;
        x += area_printf(area, x, 0, shown ? ROLE_SELECTED : ROLE_KEY, " %c", pane->view->key);
        if (letters || shown)
            x += area_printf(area, x, 0, shown ? ROLE_SELECTED : ROLE_TEXT, " %.*s", shown ? TAB_LETTERS_MAX : letters,
                             pane->view->name);
        if (pane->pinned)
            x += area_text(area, x, 0, shown ? ROLE_SELECTED : ROLE_WARNING, "*");
        if (spaced)
            x += area_text(area, x, 0, shown ? ROLE_SELECTED : ROLE_TEXT, " ");
        app->tabs[i].from = from;
        app->tabs[i].to = x;
    }
}

int chrome_tab_at(const struct app *app, int x, int y) {
    for (size_t i = 0; y == 1 && i < app->n_panes; i++)
        if (x >= app->tabs[i].from && x < app->tabs[i].to)
            return (int)i;
    return -1;
}

static void draw_hints(struct area area, const struct app *app) {
    static const struct {
        const char *key, *text;
    } hints[] = {{"h", "help"},   {"q", "quit"},  {"/", "search"},  {"\\", "filter"}, {"Space", "freeze"},
                 {"[ ]", "back"}, {"<>", "sort"}, {"f", "columns"}, {"d", "delay"},   {"w", "write"}};
    const struct pane *pane = app->panes[app->current];
    char text[300];
    int x = 0, end = area.width;
    if (pane->filter[0]) {
        char filter[260];
        escape_fit(pane->filter, end / 2 > 40 ? end / 2 : 40, filter, sizeof filter);
        snprintf(text, sizeof text, " filter: %s ", filter);
        x += area_text(area_sub(area, 0, 0, end, 1), x, 0, ROLE_MATCH, text) + 1;
    }
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        int width = (int)strlen(hints[i].key) + (int)strlen(hints[i].text) + 1;
        if (x + width > end)
            break;
        x += area_text(area, x, 0, ROLE_KEY, hints[i].key);
        x += 1 + area_text(area, x + 1, 0, ROLE_DIM, hints[i].text) + 2;
    }
}

void chrome_draw(struct app *app, const struct look *look, int *cursor_x, int *cursor_y) {
    struct area all = grid_area(app->grid);
    struct area bottom = area_sub(all, 0, all.height - 1, all.width, 1);
    *cursor_x = *cursor_y = -1;
    grid_clear(app->grid);
    if (all.width < 20 || all.height < 5) {
        area_text(all, 0, 0, ROLE_WARNING, "too small");
        return;
    }
    draw_header(area_sub(all, 0, 0, all.width, 1), app, look->frame);
    draw_tabs(area_sub(all, 0, 1, all.width, 1), app);
    if (app->overlay.text)
        overlay_draw(&app->overlay, chrome_body(app));
    else
        pane_draw(app->panes[app->current], look, chrome_body(app));
    if (app->question) {
        *cursor_x = prompt_draw(&app->prompt, bottom);
        *cursor_y = all.height - 1;
        bool says = app->message_until_ns; // what is wrong with the input
        struct area body = chrome_body(app);
        complete_draw(&app->complete, area_sub(body, 0, 0, body.width, body.height - says));
        if (says) {
            struct area above = area_sub(all, 0, all.height - 2, all.width, 1);
            area_fill(above, 0, 0, above.width, ROLE_TEXT, ' ');
            area_text(above, 0, 0, ROLE_WARNING, app->message);
        }
    } else if (app->message_until_ns) {
        area_text(bottom, 0, 0, app->message_bad ? ROLE_WARNING : ROLE_INFO, app->message);
    } else {
        draw_hints(bottom, app);
    }
}
