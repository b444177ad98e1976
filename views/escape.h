// Makes the bytes of names printable: valid UTF-8 without control characters. Invalid bytes become \xNN, control
// characters \n \t \e or \xNN, the Unicode ones that change direction or line (U+0080-9F, U+2028-2029, U+202A-202E,
// U+2066-2069) \u.... Used by all text output; JSON and CSV quoting come on top of it.
#ifndef VIEWS_ESCAPE_H
#define VIEWS_ESCAPE_H

#include <stddef.h>

// Returns the length; writes at most size - 1 bytes and never part of a character or escape.
size_t escape_text(const char *bytes, size_t length, char *out, size_t size);
// The same, limited to `width` cells: longer text ends in "…". `size` is 4 or more.
void escape_fit(const char *text, int width, char *out, size_t size);

#endif
