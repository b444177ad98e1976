// The terminal: the only file that includes ncurses. It copies a grid of cells to the screen (only the changed cells go
// to ncurses), and turns input bytes into key codes. Independent of panes.
#include "tui/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "model/mem.h"
#include "tui/palette.h"
#include "tui/restore.h"
#include "tui/terminfo.h"
#include "tui/utf8.h"
#include "views/escape.h"
#include "views/width.h"

#define PAIRS_MAX 256
#define SIDE_MAX 1024 // maximum width and height: a terminal that reports more would exhaust memory

static struct {
    SCREEN *terminal;
    FILE *out;   // ncurses writes here: the terminal, or `drawn` during a drawing
    int drawn;   // a memory file that collects a drawing; -1: none
    char *bytes; // the drawing, room for n_bytes
    size_t n_bytes;
    WINDOW *keys; // a pad: reading keys from it does not refresh the screen
    bool ascii, taken, direct, synchronised, cursor;
    enum palette_depth depth;
    int width, height;
    struct grid_cell *shown; // what the terminal shows; all zero: unknown
    struct paint pairs[PAIRS_MAX];
    int n_pairs, pairs_limit;
    struct termios settings; // the original ones, to be restored
    char note[128];
} screen;

// UTF-8 as the environment says, not setlocale: the locale's data may be missing (static builds on bare machines).
static bool wants_utf8(void) {
    static const char *const names[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};
    if (setlocale(LC_CTYPE, "") && !strcasecmp(nl_langinfo(CODESET), "UTF-8"))
        return true;
    const char *said = getenv("LC_ALL");
    said = said && *said ? said : getenv("LC_CTYPE");
    said = said && *said ? said : getenv("LANG");
    if (!said || (!strcasestr(said, "utf-8") && !strcasestr(said, "utf8")))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (setlocale(LC_CTYPE, names[i]))
            return true;
    return utf8_force();
}

static bool find_terminal(char *type, size_t size, char *why, size_t why_size) {
    const char *name = getenv("TERM"), *found = NULL;
    char shown[41]; // may contain any bytes
    int status = 0;
    if (!name || !*name) {
        snprintf(why, why_size,
                 "TERM is not set: export TERM=xterm-256color, "
                 "or use --batch");
        return false;
    }
    escape_text(name, strlen(name), shown, sizeof shown);
    snprintf(type, size, "%s", name);
    if (setupterm(type, STDOUT_FILENO, &status) == ERR) {
        const char *data = terminfo_fallback(name, &found);
        if (!data) {
            snprintf(why, why_size,
                     "unknown terminal type %s: export TERM=xterm-256color (or similar), "
                     "or use --batch",
                     shown);
            return false;
        }
        setenv("TERMINFO", data, 1);
        if (strcmp(found, name))
            snprintf(screen.note, sizeof screen.note, "unknown terminal type %s: taken for %s", shown, found);
        snprintf(type, size, "%s", found);
        if (setupterm(type, STDOUT_FILENO, &status) == ERR) {
            snprintf(why, why_size, "no terminfo entry for terminal type %s: install ncurses-term, or use --batch",
                     shown);
            return false;
        }
    }
    if (!cursor_address || !clear_screen) {
        snprintf(why, why_size, "terminal type %s cannot position the cursor: use --batch, or export TERM=xterm",
                 shown);
        return false;
    }
    return true;
}

// Appends a capability without its padding ($<5>), so that a signal handler can simply write it.
static size_t append_capability(char *out, size_t used, size_t size, const char *capability) {
    for (const char *p = capability; p && p != (char *)-1 && *p && used + 1 < size; p++) {
        if (p[0] == '$' && p[1] == '<' && strchr(p, '>'))
            p = strchr(p, '>');
        else
            out[used++] = *p;
    }
    return used;
}

static void arm_restore(void) {
    char bytes[400];
    size_t n = 0;
    if (key_mouse)
        n = append_capability(bytes, n, sizeof bytes, "\033[?1006l\033[?1000l");
    n = append_capability(bytes, n, sizeof bytes, exit_attribute_mode);
    n = append_capability(bytes, n, sizeof bytes, orig_pair);
    n = append_capability(bytes, n, sizeof bytes, keypad_local);
    n = append_capability(bytes, n, sizeof bytes, cursor_normal);
    n = append_capability(bytes, n, sizeof bytes, tiparm(cursor_address, screen.height - 1, 0));
    n = append_capability(bytes, n, sizeof bytes, exit_ca_mode);
    if (!exit_ca_mode)
        n = append_capability(bytes, n, sizeof bytes, "\r\n");
    restore_arm(STDOUT_FILENO, &screen.settings, bytes, n);
}

// The size that the terminal reports, up to SIDE_MAX. False: it reports none.
static bool terminal_size(int *height, int *width) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
        return false;
    *height = size.ws_row < SIDE_MAX ? size.ws_row : SIDE_MAX;
    *width = size.ws_col < SIDE_MAX ? size.ws_col : SIDE_MAX;
    return true;
}

static SCREEN *open_terminal(const char *type) {
    int height, width;
    // Use the terminal's own size: exported LINES and COLUMNS are wrong after a resize.
    unsetenv("LINES");
    unsetenv("COLUMNS");
    if (terminal_size(&height, &width)) { // ncurses would use the size without a limit
        char text[16];
        snprintf(text, sizeof text, "%d", height);
        setenv("LINES", text, 1);
        snprintf(text, sizeof text, "%d", width);
        setenv("COLUMNS", text, 1);
    }
    SCREEN *terminal = screen.out ? newterm(type, screen.out, stdin) : NULL;
    unsetenv("LINES");
    unsetenv("COLUMNS");
    return terminal;
}

static void take_size(void) {
    int height, width;
    if (terminal_size(&height, &width) && (height != LINES || width != COLS))
        resizeterm(height, width);
    screen.width = COLS < SIDE_MAX ? COLS : SIDE_MAX;
    screen.height = LINES;
    free(screen.shown);
    screen.shown = xcalloc((size_t)screen.width * (size_t)screen.height + 1, sizeof *screen.shown);
}

static void out_close(void) {
    if (screen.out)
        fclose(screen.out);
    if (screen.drawn >= 0)
        close(screen.drawn);
    free(screen.bytes);
}

bool screen_open(bool want_ascii, char *why, size_t size) {
    char type[64];
    memset(&screen, 0, sizeof screen);
    if (!isatty(STDIN_FILENO) || tcgetattr(STDOUT_FILENO, &screen.settings)) {
        snprintf(why, size, "standard input is not a terminal: use --batch");
        return false;
    }
    screen.ascii = !wants_utf8() || want_ascii;
    if (!find_terminal(type, sizeof type, why, size))
        return false;
    set_escdelay(25);
    del_curterm(cur_term); // only examined; newterm reads its own copy
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    screen.out = fd < 0 ? NULL : fdopen(fd, "w");
    screen.drawn = memfd_create("ktop-drawing", MFD_CLOEXEC);
    screen.terminal = open_terminal(type);
    if (!screen.terminal) {
        out_close();
        snprintf(why, size, "cannot initialize the terminal (type %s): use --batch, or export TERM=xterm", type);
        return false;
    }
    set_term(screen.terminal);
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    intrflush(NULL, FALSE);
    idlok(stdscr, TRUE); // lets the terminal move rows: one more row at the top costs one row
    typeahead(-1);       // no poll during a drawing, and no partial drawing: waiting keys are read right after it
    screen.keys = newpad(1, 1);
    keypad(screen.keys, TRUE);
    wtimeout(screen.keys, 0);
    mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    mouseinterval(0);
    screen.depth = PALETTE_MONO;
    if (has_colors() && start_color() == OK) {
        use_default_colors();
        screen.depth = palette_depth(COLORS, getenv("NO_COLOR"));
        screen.direct = COLORS > 256 && tigetflag("RGB") != 0;
    }
    screen.pairs_limit = COLOR_PAIRS - 1 < PAIRS_MAX ? COLOR_PAIRS - 1 : PAIRS_MAX;
    const char *synchronised = tigetstr("Sync");
    screen.synchronised = synchronised && synchronised != (char *)-1;
    take_size();
    arm_restore();
    screen.taken = true;
    return true;
}

void screen_close(void) {
    if (!screen.terminal)
        return;
    if (screen.taken) {
        restore_disarm();
        endwin();
    }
    delwin(screen.keys);
    delscreen(screen.terminal);
    out_close();
    free(screen.shown);
    memset(&screen, 0, sizeof screen);
}

void screen_suspend(void) {
    def_prog_mode();
    endwin();
    restore_disarm();
    screen.taken = false;
}

void screen_resume(void) {
    tcgetattr(STDOUT_FILENO, &screen.settings);
    reset_prog_mode();
    arm_restore();
    screen.taken = true;
    take_size();
    screen_redraw();
}

void screen_again(void) {
    reset_prog_mode(); // the settings restored at the end remain those from the start
    screen_redraw();
}

void screen_redraw(void) {
    memset(screen.shown, 0, (size_t)screen.width * (size_t)screen.height * sizeof *screen.shown);
    clearok(curscr, TRUE);
}

void screen_resized(void) {
    take_size();
    arm_restore();
    screen_redraw();
}

void screen_size(int *width, int *height) {
    *width = screen.width;
    *height = screen.height;
}

bool screen_ascii(void) {
    return screen.ascii;
}

const char *screen_note(void) {
    return screen.note;
}

int screen_fd(void) {
    return STDIN_FILENO;
}

// ---- keys ----

static int map_key(int key) {
    static const struct {
        int from, to;
    } map[] = {
        {KEY_UP, KEY_VIEW_UP},        {KEY_DOWN, KEY_VIEW_DOWN},     {KEY_LEFT, KEY_VIEW_LEFT},
        {KEY_RIGHT, KEY_VIEW_RIGHT},  {KEY_PPAGE, KEY_VIEW_PAGE_UP}, {KEY_NPAGE, KEY_VIEW_PAGE_DOWN},
        {KEY_HOME, KEY_VIEW_HOME},    {KEY_END, KEY_VIEW_END},       {KEY_ENTER, KEY_VIEW_ENTER},
        {'\r', KEY_VIEW_ENTER},       {'\n', KEY_VIEW_ENTER},        {KEY_BACKSPACE, KEY_TUI_BACKSPACE},
        {127, KEY_TUI_BACKSPACE},     {8, KEY_TUI_BACKSPACE},        {27, KEY_TUI_ESCAPE},
        {KEY_DC, KEY_TUI_DELETE},     {KEY_F(1), KEY_TUI_F1},        {KEY_F(4), KEY_TUI_F4},
        {KEY_BTAB, KEY_TUI_BACKTAB},  {KEY_FIND, KEY_VIEW_HOME},     {KEY_SELECT, KEY_VIEW_END},
        {KEY_A1, KEY_VIEW_HOME},      {KEY_C1, KEY_VIEW_END},        {KEY_A3, KEY_VIEW_PAGE_UP},
        {KEY_C3, KEY_VIEW_PAGE_DOWN},
    };
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (map[i].from == key)
            return map[i].to;
    return key >= 0 && key < 128 ? key : 0;
}

static int map_mouse(struct screen_key *out) {
    MEVENT event;
    if (getmouse(&event) == ERR)
        return 0;
    out->x = event.x;
    out->y = event.y;
    if (event.bstate & BUTTON4_PRESSED)
        return KEY_TUI_WHEEL_UP;
    if (event.bstate & BUTTON5_PRESSED)
        return KEY_TUI_WHEEL_DOWN;
    return event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED) ? KEY_VIEW_CLICK : 0;
}

// The rest of the character with that first byte; 0 if it is invalid.
static int read_utf8(int first) {
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
    int ch = first & (0x3f >> more);
    if (!more)
        return 0;
    for (int i = 0; i < more; i++) {
        int next = wgetch(screen.keys);
        if (next < 0x80 || next > 0xbf)
            return 0;
        ch = ch << 6 | (next & 0x3f);
    }
    return ch;
}

// The key of a sequence that the terminfo entry lacks: a terminal sends arrows as CSI or SS3 depending on its mode, and
// some clients use one form only. `first` is its only parameter. 0: no such key.
static int sequence_key(int final, int first) {
    static const struct {
        int final, first, key;
    } map[] = {
        {'A', 0, KEY_VIEW_UP},   {'B', 0, KEY_VIEW_DOWN},  {'C', 0, KEY_VIEW_RIGHT},   {'D', 0, KEY_VIEW_LEFT},
        {'H', 0, KEY_VIEW_HOME}, {'F', 0, KEY_VIEW_END},   {'Z', 0, KEY_TUI_BACKTAB},  {'P', 0, KEY_TUI_F1},
        {'S', 0, KEY_TUI_F4},    {'~', 1, KEY_VIEW_HOME},  {'~', 7, KEY_VIEW_HOME},    {'~', 4, KEY_VIEW_END},
        {'~', 8, KEY_VIEW_END},  {'~', 3, KEY_TUI_DELETE}, {'~', 5, KEY_VIEW_PAGE_UP}, {'~', 6, KEY_VIEW_PAGE_DOWN},
        {'~', 11, KEY_TUI_F1},   {'~', 14, KEY_TUI_F4},
    };
    for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
        if (map[i].final == final && map[i].first == first)
            return map[i].key;
    return 0;
}

// Reads the rest of an escape sequence, as far as it has arrived; its bytes are no keys. -1: the Escape key alone; 0: a
// sequence without a key here (Control with an arrow key, another mouse format). ECMA-48 5.4, and 5.3 with the function
// keys' SS3.
static int read_sequence(void) {
    int kind = wgetch(screen.keys), first = 0;
    int next = kind == '[' || kind == 'O' ? wgetch(screen.keys) : ERR;
    bool plain = true;
    if (next == ERR) {
        if (kind != ERR)
            ungetch(kind);
        return -1;
    }
    if (kind == '[' && next == '[') { // the Linux console's F1 to F5
        next = wgetch(screen.keys);
        plain = false;
    }
    for (; next >= 0x20 && next < 0x40; next = wgetch(screen.keys)) {
        plain &= next >= '0' && next <= '9' && first < 100;
        first = plain ? 10 * first + next - '0' : 0;
    }
    return plain && next != ERR ? sequence_key(next, first) : 0;
}

int screen_read(struct screen_key *out) {
    for (;;) {
        *out = (struct screen_key){0};
        errno = 0;
        int key = wgetch(screen.keys);
        if (key == ERR) {
            int waiting = 0;
            bool gone = ioctl(STDIN_FILENO, FIONREAD, &waiting) < 0 || errno == EIO;
            return gone ? -1 : 0;
        }
        int sequence = key == 27 ? read_sequence() : -1;
        if (sequence >= 0)
            out->key = sequence;
        else if (key == KEY_MOUSE)
            out->key = map_mouse(out);
        else if (key >= 0x80 && key < 0x100)
            out->key = read_utf8(key);
        else
            out->key = map_key(key);
        if (out->key)
            return 1;
    }
}

// ---- showing ----

static short pair_of(struct paint paint) {
    if ((paint.fg < 0 && paint.bg < 0) || screen.depth == PALETTE_MONO)
        return 0;
    for (int i = 0; i < screen.n_pairs; i++)
        if (screen.pairs[i].fg == paint.fg && screen.pairs[i].bg == paint.bg)
            return (short)(i + 1);
    if (screen.n_pairs >= screen.pairs_limit)
        return 0;
    int fg = paint.fg, bg = paint.bg;
    if (screen.direct) {
        fg = fg < 0 ? -1 : (int)palette_rgb(fg);
        bg = bg < 0 ? -1 : (int)palette_rgb(bg);
    }
    init_extended_pair(screen.n_pairs + 1, fg, bg);
    screen.pairs[screen.n_pairs] = paint;
    return (short)++screen.n_pairs;
}

static bool is_block(uint32_t ch) {
    return ch == ' ' || (ch >= 0x2580 && ch <= 0x259f);
}

static void make_cell(const struct grid_cell *cell, cchar_t *out) {
    uint32_t ch = cell->ch ? cell->ch : ' ';
    struct paint paint = palette_role(screen.depth, cell->role);
    if (cell->role == ROLE_HEAT) {
        bool block = is_block(ch) || ch < 128;
        paint = palette_heat(screen.depth, palette_heat_step(screen.depth, cell->heat));
        uint32_t glyph = block ? palette_heat_glyph(screen.depth, cell->heat, screen.ascii) : 0;
        if (glyph)
            ch = glyph;
        else if (ch == ' ' && cell->heat) {
            paint.bg = paint.fg;
            paint.fg = -1;
        } else if (ch == ' ')
            paint = (struct paint){-1, -1, 0};
    }
    attr_t attributes = (paint.attributes & PAINT_BOLD || cell->bold ? A_BOLD : 0) |
                        (!(paint.attributes & PAINT_REVERSE) != !cell->reverse ? A_REVERSE : 0) |
                        (paint.attributes & PAINT_UNDERLINE ? A_UNDERLINE : 0);
    if (screen.ascii && ch > 126)
        ch = '?';
    int pair = pair_of(paint);
    wchar_t text[2] = {(wchar_t)ch, 0};
    if (setcchar(out, text, attributes, (short)pair, NULL) == ERR)
        setcchar(out, L"?", attributes, (short)pair, NULL);
}

static bool same_cell(const struct grid_cell *a, const struct grid_cell *b) {
    return a->ch == b->ch && a->role == b->role && a->heat == b->heat && a->bold == b->bold && a->reverse == b->reverse;
}

// Cells x..end of the row. Wide characters one by one, so that a terminal that disagrees about a width cannot shift the
// rest of the row.
static void put_run(const struct grid_cell *row, int y, int x, int end) {
    cchar_t cells[SIDE_MAX];
    int n = 0, at = x;
    for (; x < end; x++) {
        bool wide = x + 1 < end && !row[x + 1].ch && row[x].ch > 0x7f;
        if (wide && n) {
            mvadd_wchnstr(y, at, cells, n);
            n = 0;
        }
        if (!n)
            at = x;
        make_cell(&row[x], &cells[n++]);
        if (wide) {
            mvadd_wchnstr(y, at, cells, 1);
            n = 0;
            x++;
        }
    }
    if (n)
        mvadd_wchnstr(y, at, cells, n);
}

static void put_row(const struct grid_cell *row, struct grid_cell *shown, int y, int width) {
    for (int x = 0; x < width;) {
        if (same_cell(&row[x], &shown[x])) {
            x++;
            continue;
        }
        int end = x + 1;
        while (end < width && !same_cell(&row[end], &shown[end]))
            end++;
        // A wide character is written whole.
        if (x > 0 && !row[x].ch)
            x--;
        while (end < width && !row[end].ch)
            end++;
        put_run(row, y, x, end);
        x = end;
    }
    memcpy(shown, row, (size_t)width * sizeof *row);
}

static void out_write(const char *bytes, size_t length) {
    for (ssize_t n; length; bytes += n, length -= (size_t)n) {
        n = write(STDOUT_FILENO, bytes, length);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0) // the terminal is gone: SIGHUP ends ktop
            return;
    }
}

// ncurses 6.4 writes each run of cells separately: 85 writes for a frame, each of which wakes the terminal. They are
// collected in a memory file and go to the terminal in one write.
static void draw_at_once(void) {
    static const char begin[] = "\033[?2026h", end[] = "\033[?2026l";
    size_t mark = screen.synchronised ? sizeof begin - 1 : 0;
    int fd = fileno(screen.out);
    if (screen.drawn < 0 || dup3(screen.drawn, fd, O_CLOEXEC) < 0) {
        doupdate();
        return;
    }
    doupdate();
    dup3(STDOUT_FILENO, fd, O_CLOEXEC);
    off_t drawn = lseek(screen.drawn, 0, SEEK_CUR);
    if (drawn <= 0)
        return;
    size_t length = (size_t)drawn + 2 * mark;
    if (length > screen.n_bytes)
        screen.bytes = xrealloc(screen.bytes, screen.n_bytes = length);
    memcpy(screen.bytes, begin, mark);
    if (pread(screen.drawn, screen.bytes + mark, (size_t)drawn, 0) != drawn)
        return;
    memcpy(screen.bytes + mark + drawn, end, mark);
    lseek(screen.drawn, 0, SEEK_SET);
    out_write(screen.bytes, length);
}

void screen_show(const struct grid *grid, int cursor_x, int cursor_y) {
    int height = grid->height < screen.height ? grid->height : screen.height;
    int width = grid->width < screen.width ? grid->width : screen.width;
    for (int y = 0; y < height; y++)
        put_row(grid->cells + (size_t)y * (size_t)grid->width, screen.shown + (size_t)y * (size_t)screen.width, y,
                width);
    if (screen.cursor != (cursor_x >= 0)) {
        screen.cursor = cursor_x >= 0;
        curs_set(screen.cursor);
    }
    leaveok(stdscr, cursor_x < 0);
    if (cursor_x >= 0)
        move(cursor_y, cursor_x);
    wnoutrefresh(stdscr);
    draw_at_once();
}
