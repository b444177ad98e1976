// UTF-8 without a locale: a static program on a machine without locale data still draws on a UTF-8 terminal.
#ifndef TUI_UTF8_H
#define TUI_UTF8_H

#include <stdbool.h>

// From now on wcrtomb and wcwidth use UTF-8 whatever the locale. False if the program was not linked for it (a dynamic
// ktop: its ncurses calls the C library directly).
bool utf8_force(void);

#endif
