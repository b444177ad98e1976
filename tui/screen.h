// The terminal. Behind it is the only file that includes ncurses; everybody else draws on a grid and gets key codes.
// One thread only.
#ifndef TUI_SCREEN_H
#define TUI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "views/view.h"

// Keys beyond the ones of views; what views call BACK comes as one of two.
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

// Takes the terminal over: alternate screen, keys unbuffered, mouse. False: why says what is the matter and what to do.
bool screen_open(bool want_ascii, char *why, size_t size);
// Puts everything back; the next open starts anew. Safe to call again.
void screen_close(void);
void screen_suspend(void); // give the terminal back for a while (Ctrl-Z)
void screen_resume(void);  // and take it again; the next show draws everything
void screen_again(void);   // somebody else had the terminal for a while, unasked: settings and drawing anew
void screen_redraw(void);  // forget what the terminal shows: the next show draws everything
void screen_resized(void); // the terminal's size changed: take it over

void screen_size(int *width, int *height);
bool screen_ascii(void);
const char *screen_note(void); // something about the terminal that the user should know, or ""
int screen_fd(void);           // readable when keys are there
// 1: a key; 0: none now; -1: the terminal is gone.
int screen_read(struct screen_key *out);
// Shows the grid (of the size of screen_size); only what changed goes out. The cursor is hidden unless x >= 0.
void screen_show(const struct grid *grid, int cursor_x, int cursor_y);

#endif
