// The width of a character in terminal cells, and reading one character of UTF-8. Independent of the locale.
#ifndef VIEWS_WIDTH_H
#define VIEWS_WIDTH_H

#include <stddef.h>
#include <stdint.h>

// 0 (combining and format characters), 1 or 2 (East Asian wide, emoji).
int char_width(uint32_t ch);

// Reads one character of valid, shortest-form UTF-8: its length 1..4, or 0 when the bytes there are not one (or length
// is 0).
size_t utf8_decode(const char *bytes, size_t length, uint32_t *ch);
// Writes 1..4 bytes, no NUL. Returns how many.
size_t utf8_encode(uint32_t ch, char out[4]);
// C0, DEL, C1, and the Unicode characters that change line or direction: always escaped.
int char_is_control(uint32_t ch);

#endif
