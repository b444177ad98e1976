// UTF-8 without a locale: a static program on a machine without locale data still draws on a UTF-8 terminal.
#ifndef TUI_UTF8_H
#define TUI_UTF8_H

#include <stdbool.h>

// From now on wcrtomb and wcwidth know UTF-8 whatever the locale. False where the program was not linked for it (a
// dynamic one: its ncurses asks the C library itself).
bool utf8_force(void);

#endif
