// The terminal. screen.c is the only file that includes ncurses; all others draw on a grid and get key codes. One
// thread only.
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "views/view.h"

// Keys beyond those of views; KEY_VIEW_BACK has two here.
enum {
    KEY_TUI_ESCAPE = 0x110100,
    KEY_TUI_BACKSPACE,
    KEY_TUI_DELETE,
    KEY_TUI_F1,
    KEY_TUI_F4,
    KEY_TUI_BACKTAB,
    KEY_TUI_WHEEL_UP,
    KEY_TUI_WHEEL_DOWN,
};
#define KEY_CTRL(letter) ((letter)&0x1f)

struct screen_key {
    int key;  // a Unicode code point, KEY_VIEW_* or KEY_TUI_*
    int x, y; // of a click or the wheel
};

// Takes over the terminal: alternate screen, unbuffered keys, mouse. False: why has the reason and the fix.
bool screen_open(bool want_ascii, char *why, size_t size);
// Restores everything; the next open starts anew. Safe to call again.
void screen_close(void);
void screen_suspend(void); // releases the terminal (Ctrl-Z)
void screen_resume(void);  // and takes it again; the next show draws everything
void screen_again(void);   // another program had the terminal without a suspend: restores settings, draws everything
void screen_redraw(void);  // the content of the terminal is unknown: the next show draws everything
void screen_resized(void); // adopts the terminal's new size

void screen_size(int *width, int *height);
bool screen_ascii(void);
const char *screen_note(void); // a note about the terminal for the user, or ""
int screen_fd(void);           // readable when a key is waiting
// 1: a key; 0: none now; -1: the terminal is gone.
int screen_read(struct screen_key *out);
// Shows the grid (of the size of screen_size); only changed cells are written. The cursor is hidden unless x >= 0.
void screen_show(const struct grid *grid, int cursor_x, int cursor_y);

#endif
