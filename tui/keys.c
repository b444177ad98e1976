// The keys that work everywhere: one table drives their action and their help. A pane may take a key first, unless the
// row forbids it.
#include <stdlib.h>
#include <string.h>

#include "tui/app.h"
#include "views/escape.h"

struct app_key {
    int key;
    const char *name; // as the help shows it; NULL: an alias of the row above
    const char *help;
    void (*does)(struct app *app, const struct screen_key *key);
    bool always; // no pane may take it
};

static void say_position(struct app *app) {
    if (rewind_live(&app->rewind))
        app_say(app, false, "live");
    else if (rewind_age_s(&app->rewind) > 0)
        app_say(app, false, "%.1f s before the newest frame; g: live", rewind_age_s(&app->rewind));
    else
        app_say(app, false, "frozen; Space or g: live");
}

static void key_quit(struct app *app, const struct screen_key *key) {
    (void)key;
    app->quit = true;
}

static const char filters_help[] =
    "\nFilters\n"
    "  fio             rows that contain this text\n"
    "  pid=12 op=R     terms, all must match: column, operator (= != > >= < <= ~), value; ~ means contains\n"
    "  latency_us>=5ms values with units as shown: ms, K, 14:13:20; latency_us=1ms..5ms: a range; cgroup=-: unknown\n"
    "  comm=\"a b=c\"    quoted text is literal; write \\\" for a quote, \\\\ for a backslash\n";

static void key_help(struct app *app, const struct screen_key *key) {
    (void)key;
    struct pane *pane = app->panes[app->current];
    char *text = NULL, title[64];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    pane_help(pane, rewind_look(&app->rewind), out);
    rewind_unlook(&app->rewind);
    fputs("\nKeys everywhere\n", out);
    keys_help(out);
    fputs(filters_help, out);
    fclose(out);
    snprintf(title, sizeof title, "help: %s", pane->view->name);
    overlay_open(&app->overlay, title, text);
}

// ---- search and filter: applied while they are typed ----

static void search_tried(struct app *app, const char *text) {
    struct pane *pane = app->panes[app->current];
    snprintf(pane->search, sizeof pane->search, "%s", text);
}

static void search_next(struct app *app, int direction) {
    struct pane *pane = app->panes[app->current];
    if (!pane->search[0])
        app_say(app, true, "no search text: press / and type one");
    else if (!pane_search(pane, rewind_look(&app->rewind), direction)) {
        char shown[200];
        escape_fit(pane->search, 60, shown, sizeof shown);
        app_say(app, true, "not found: %s", shown);
    }
    rewind_unlook(&app->rewind);
}

static void search_done(struct app *app, const char *text) {
    search_tried(app, text);
    if (*text)
        search_next(app, 1);
}

static void key_search(struct app *app, const struct screen_key *key) {
    static const struct question question = {"search: ", search_tried, search_done};
    (void)key;
    app->question = &question;
    snprintf(app->before, sizeof app->before, "%s", app->panes[app->current]->search);
    prompt_start(&app->prompt, question.label, "");
}

static void key_next(struct app *app, const struct screen_key *key) {
    search_next(app, key->key == 'n' ? 1 : -1);
}

static void filter_tried(struct app *app, const char *text) {
    pane_set_filter(app->panes[app->current], text);
}

static const struct question filter_question;

// A filter with an error stays in the prompt, to be corrected.
static void filter_done(struct app *app, const char *text) {
    char line[sizeof app->message];
    const struct frame *frame = rewind_look(&app->rewind)->frame;
    enum filter_doubt doubt = frame ? filter_check(text, frame, line, sizeof line) : FILTER_MEANT;
    rewind_unlook(&app->rewind);
    filter_tried(app, text);
    if (doubt == FILTER_WRONG)
        app->question = &filter_question;
    if (doubt != FILTER_MEANT)
        app_say(app, true, "%s", line);
}

static const struct question filter_question = {"filter: ", filter_tried, filter_done};

static void key_filter(struct app *app, const struct screen_key *key) {
    (void)key;
    app->question = &filter_question;
    snprintf(app->before, sizeof app->before, "%s", app->panes[app->current]->filter);
    prompt_start(&app->prompt, filter_question.label, app->before);
}

// ---- time ----

static void key_freeze(struct app *app, const struct screen_key *key) {
    (void)key;
    if (rewind_live(&app->rewind))
        rewind_freeze(&app->rewind);
    else
        rewind_to_live(&app->rewind);
    say_position(app);
}

static void key_step(struct app *app, const struct screen_key *key) {
    long frames = key->key == '[' ? -1 : key->key == ']' ? 1 : key->key == '{' ? -10 : 10;
    bool newest = rewind_age_s(&app->rewind) <= 0;
    if (newest && frames > 0)
        rewind_freeze(&app->rewind);
    if (newest && frames > 0 && app->source->ops->advance(app->source, (uint64_t)frames, (struct timespec){0}))
        app_say(app, false, "skipped %ld frame%s; Space plays", frames, frames == 1 ? "" : "s");
    else if (!rewind_step(&app->rewind, frames))
        app_say(app, true,
                frames < 0 ? "this is the oldest frame in the history (--history SIZE enlarges it)"
                           : "this is the newest frame");
    else
        say_position(app);
}

// Whether that time of day is after the newest frame of a recording; then *wall is that time.
static bool is_later(const struct app *app, const char *text, struct timespec *wall) {
    const struct frame *newest = app->rewind.newest;
    if (!app->source->replay || !newest || *text == '-')
        return false;
    // A past time of day means yesterday's; in a recording the coming one may be nearer.
    if (newest->wall.tv_sec - wall->tv_sec < 12 * 3600)
        return false;
    wall->tv_sec += 24 * 3600;
    return true;
}

static void time_done(struct app *app, const char *text) {
    struct timespec now, wall;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct frame *newest = app->rewind.newest;
    if (app->source->replay && newest)
        now = newest->wall;
    if (!*text)
        return;
    if (!rewind_parse_time(text, now, &wall))
        app_say(app, true, "invalid time: use 12:30, 12:30:05, -90 (seconds ago) or -5m");
    else if (is_later(app, text, &wall) && app->source->ops->advance(app->source, 0, wall)) {
        rewind_to_live(&app->rewind);
        rewind_freeze(&app->rewind);
        app_say(app, false, "skipped to that time; Space plays");
    } else if (!rewind_to_time(&app->rewind, wall))
        app_say(app, true, "the history is empty");
    else
        say_position(app);
}

static void key_time(struct app *app, const struct screen_key *key) {
    static const struct question question = {"go to time (12:30:05, -90, -5m): ", NULL, time_done};
    (void)key;
    app->question = &question;
    prompt_start(&app->prompt, question.label, "");
}

static void key_live(struct app *app, const struct screen_key *key) {
    (void)key;
    rewind_to_live(&app->rewind);
    say_position(app);
}

// ---- the session ----

static void delay_done(struct app *app, const char *text) {
    char *end;
    double seconds = strtod(text, &end);
    if (!*text)
        return;
    if (end == text || *end ||
        !(seconds * 1e9 >= (double)LIVE_DELAY_MIN_NS - 0.5 && seconds * 1e9 <= (double)LIVE_DELAY_MAX_NS)) {
        app_say(app, true, "expected 0.1 to 60 seconds");
        return;
    }
    app->source->ops->set_delay(app->source, (uint64_t)(seconds * 1e9 + 0.5));
    app_say(app, false, "a frame every %g s", seconds);
}

static void key_delay(struct app *app, const struct screen_key *key) {
    static const struct question question = {"seconds between frames: ", NULL, delay_done};
    char now[32];
    (void)key;
    app->question = &question;
    snprintf(now, sizeof now, "%g", (double)app->source->ops->delay(app->source) / 1e9);
    prompt_start(&app->prompt, question.label, now);
}

static void key_write(struct app *app, const struct screen_key *key) {
    (void)key;
    save_prompt(app);
}

static void key_record(struct app *app, const struct screen_key *key) {
    (void)key;
    record_toggle(app);
}

static void key_threads(struct app *app, const struct screen_key *key) {
    (void)key;
    if (!app->source->runner) {
        app_say(app, true, "a recording has either processes or threads: to get threads, record with --threads");
        return;
    }
    app->threads = !app->threads;
    runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_THREADS, .on = app->threads});
}

static void key_pin(struct app *app, const struct screen_key *key) {
    (void)key;
    struct pane *pane = app->panes[app->current];
    pane->pinned = !pane->pinned;
    app_want(app);
    app_say(app, false,
            pane->pinned ? "pinned: its collectors keep running while another pane is shown" : "not pinned");
}

static void key_tab(struct app *app, const struct screen_key *key) {
    size_t step = key->key == '\t' ? 1 : app->n_panes - 1;
    app_show_pane(app, (app->current + step) % app->n_panes, false);
}

static void key_back(struct app *app, const struct screen_key *key) {
    (void)key;
    if (app->n_back)
        app_show_pane(app, app->back[--app->n_back], false);
}

static void key_redraw(struct app *app, const struct screen_key *key) {
    (void)app, (void)key;
    screen_redraw();
}

static void key_choose(struct app *app, const struct screen_key *key) {
    (void)key;
    choices_prompt(app);
}

static const struct app_key app_keys[] = {
    {'q', "q", "quit", key_quit, true},
    {'h', "h ? F1", "this help", key_help, false},
    {'?', NULL, NULL, key_help, false},
    {KEY_TUI_F1, NULL, NULL, key_help, true},
    {'\t', "Tab Shift-Tab", "next, previous pane (or press its key, or click its name)", key_tab, true},
    {KEY_TUI_BACKTAB, NULL, NULL, key_tab, true},
    {'/', "/", "search for a text in the pane", key_search, false},
    {'n', "n N", "next, previous match", key_next, false},
    {'N', NULL, NULL, key_next, false},
    {'\\', "\\ F4", "filter rows by a text, or by terms: pid=12, op=R latency_us>=10ms", key_filter, false},
    {KEY_TUI_F4, NULL, NULL, key_filter, true},
    {KEY_TUI_ESCAPE, "Esc Backspace", "back: clear the selection or the filter, return to the previous part or pane",
     key_back, false},
    {KEY_TUI_BACKSPACE, NULL, NULL, key_back, false},
    {' ', "Space", "freeze the screen; back to live", key_freeze, false},
    {'[', "[ ]", "one frame back, forward (all panes)", key_step, true},
    {']', NULL, NULL, key_step, true},
    {'{', "{ }", "ten frames back, forward", key_step, true},
    {'}', NULL, NULL, key_step, true},
    {'b', "b", "go to a time", key_time, false},
    {'g', "g", "back to live", key_live, false},
    {'d', "d", "seconds between frames", key_delay, false},
    {'w', "w", "write the screen (.txt), the pane (.csv, .json), its picture or profile (.svg, ...) to a file",
     key_write, false},
    {'E', "E",
     "record sched:sched_switch if prev_state == 2, group EVENT by FIELD, latency EVENT[FIELD] EVENT[FIELD]; in the "
     "pane probes a probe, group PROBE by ARG, latency PROBE PROBE; in the pane functions a pattern of functions; Tab "
     "completes names",
     key_choose, false},
    {'r', "r", "record the frames to a file, and end the recording", key_record, false},
    {'H', "H", "threads instead of processes, and back", key_threads, false},
    {'p', "p", "pin the pane: its collectors keep running", key_pin, false},
    {KEY_CTRL('l'), "Ctrl-L", "redraw the screen", key_redraw, true},
};
#define N_APP_KEYS (sizeof app_keys / sizeof app_keys[0])

void keys_help(FILE *out) {
    for (size_t i = 0; i < N_APP_KEYS; i++)
        if (app_keys[i].name)
            fprintf(out, "  %-15s %s\n", app_keys[i].name, app_keys[i].help);
}

static const struct app_key *app_key_find(int key) {
    for (size_t i = 0; i < N_APP_KEYS; i++)
        if (app_keys[i].key == key)
            return &app_keys[i];
    return NULL;
}

static void set_frequency(struct app *app, uint32_t hz) {
    if (app->source->runner)
        runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_FREQUENCY, .hz = hz});
    else
        app_say(app, true, "a recording has one frequency: to get another, record with --frequency");
}

static void toggle_wakers(struct app *app) {
    if (!app->source->runner) {
        app_say(app, true, "a recording has wakers or not: to get them, record with --wakers");
        return;
    }
    app->wakers = !app->wakers;
    runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_WAKERS, .on = app->wakers});
}

// A recording has the answers to what was asked when it was made.
static void ask_code(struct app *app, const struct code_ask *ask) {
    if (app->source->runner)
        runner_request(app->source->runner, NULL, &(struct request){.kind = REQUEST_CODE, .code = *ask});
}

static void go_to_time(struct app *app, struct timespec wall) {
    if (rewind_to_time(&app->rewind, wall) && rewind_shows(&app->rewind, wall))
        say_position(app);
    else
        app_say(app, true, "the history does not reach back to that time: this is the nearest frame");
}

static bool to_pane(struct app *app, int key, int x, int y) {
    struct pane_answer answer = {0};
    int code = key == KEY_TUI_ESCAPE || key == KEY_TUI_BACKSPACE ? KEY_VIEW_BACK : key;
    bool used = pane_key(app->panes[app->current], rewind_look(&app->rewind), code, x, y, &answer);
    if (used && answer.message[0])
        app_say(app, false, "%s", answer.message);
    if (used && answer.frequency_hz)
        set_frequency(app, answer.frequency_hz);
    if (used && answer.wakers)
        toggle_wakers(app);
    if (used && answer.counts[0])
        choices_count(app, answer.counts);
    if (used && answer.toggles[0])
        choices_toggle(app, answer.toggles);
    if (used && answer.removes[0])
        choices_remove(app, answer.removes, answer.removed_as);
    if (used && answer.ask)
        ask_code(app, answer.ask);
    if (used)
        app_want(app); // a part shown now may need more collectors
    uint64_t go_frame = used ? answer.go_frame : 0;
    for (size_t i = 0; used && answer.jump_pane && i < app->n_panes; i++)
        if (!strcmp(app->panes[i]->view->name, answer.jump_pane)) {
            pane_set_filter(app->panes[i], answer.jump_filter);
            app_show_pane(app, i, true);
        }
    rewind_unlook(&app->rewind);
    if (go_frame && !rewind_to_frame(&app->rewind, go_frame))
        app_say(app, true, "that frame is no longer in the history");
    if (used && answer.go_live)
        rewind_to_live(&app->rewind);
    if (used && answer.go_time.tv_sec)
        go_to_time(app, answer.go_time);
    return used;
}

static void to_prompt(struct app *app, int key) {
    const struct question *question = app->question;
    if (complete_key(&app->complete, &app->prompt, key))
        return;
    enum prompt_answer answer = prompt_key(&app->prompt, key);
    if (answer == PROMPT_GOES_ON) {
        complete_typed(&app->complete, &app->prompt);
        if (question->tried)
            question->tried(app, app->prompt.text);
        return;
    }
    app->question = NULL;
    complete_stop(&app->complete);
    if (answer == PROMPT_DONE)
        question->done(app, app->prompt.text);
    else if (question->tried)
        question->tried(app, app->before);
}

static void mouse(struct app *app, const struct screen_key *key) {
    int tab = chrome_tab_at(app, key->x, key->y);
    if (key->key == KEY_VIEW_CLICK && tab >= 0) {
        app_show_pane(app, (size_t)tab, false);
        return;
    }
    if (key->key == KEY_VIEW_CLICK) {
        to_pane(app, KEY_VIEW_CLICK, key->x, key->y);
        return;
    }
    for (int i = 0; i < 3; i++)
        to_pane(app, key->key == KEY_TUI_WHEEL_UP ? KEY_VIEW_UP : KEY_VIEW_DOWN, key->x, key->y);
}

void keys_handle(struct app *app, const struct screen_key *key) {
    const struct app_key *row = app_key_find(key->key);
    app->message_until_ns = 0;
    app->dirty = true;
    if (app->question) {
        to_prompt(app, key->key);
        return;
    }
    if (app->overlay.text) {
        if (overlay_key(&app->overlay, key->key, chrome_body(app).height - 2))
            return;
        overlay_close(&app->overlay);
        bool closes = !row || !row->always || key->key == 'q' || key->key == KEY_TUI_F1;
        if (closes && key->key < 0x110000 && key->key != 'q' && !row) {
            // a pane's key is passed on to that pane
        } else if (closes)
            return;
    }
    if (key->key == KEY_VIEW_CLICK || key->key == KEY_TUI_WHEEL_UP || key->key == KEY_TUI_WHEEL_DOWN) {
        mouse(app, key);
        return;
    }
    if (!(row && row->always) && to_pane(app, key->key, -1, -1))
        return;
    if (row) {
        row->does(app, key);
        return;
    }
    for (size_t i = 0; i < app->n_panes; i++)
        if (app->panes[i]->view->key == key->key)
            app_show_pane(app, i, false);
}
