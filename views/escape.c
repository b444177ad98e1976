// Escapes the bytes of names (see the header), and the UTF-8 primitives shared with the grid. Independent of the
// locale: the rules are the same on every machine.
#include "views/escape.h"

#include <stdio.h>
#include <string.h>

#include "views/width.h"

size_t utf8_decode(const char *bytes, size_t length, uint32_t *ch) {
    const unsigned char *b = (const unsigned char *)bytes;
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n;
    uint32_t value;

    if (!length)
        return 0;
    if (b[0] < 0x80) {
        *ch = b[0];
        return 1;
    }
    if (b[0] >= 0xc2 && b[0] < 0xe0) {
        n = 2;
        value = b[0] & 0x1f;
    } else if (b[0] >= 0xe0 && b[0] < 0xf0) {
        n = 3;
        value = b[0] & 0x0f;
    } else if (b[0] >= 0xf0 && b[0] < 0xf5) {
        n = 4;
        value = b[0] & 0x07;
    } else {
        return 0;
    }
    if (n > length)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (b[i] & 0x3f);
    }
    if (value < smallest[n] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return 0;
    *ch = value;
    return n;
}

size_t utf8_encode(uint32_t ch, char out[4]) {
    if (ch < 0x80) {
        out[0] = (char)ch;
        return 1;
    }
    if (ch < 0x800) {
        out[0] = (char)(0xc0 | ch >> 6);
        out[1] = (char)(0x80 | (ch & 0x3f));
        return 2;
    }
    if (ch < 0x10000) {
        out[0] = (char)(0xe0 | ch >> 12);
        out[1] = (char)(0x80 | (ch >> 6 & 0x3f));
        out[2] = (char)(0x80 | (ch & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | ch >> 18);
    out[1] = (char)(0x80 | (ch >> 12 & 0x3f));
    out[2] = (char)(0x80 | (ch >> 6 & 0x3f));
    out[3] = (char)(0x80 | (ch & 0x3f));
    return 4;
}

int char_is_control(uint32_t ch) {
    return ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || ch == 0x2028 || ch == 0x2029 || (ch >= 0x202a && ch <= 0x202e) ||
           (ch >= 0x2066 && ch <= 0x2069);
}

// The escape for a control character: at most 6 bytes.
static size_t escape_control(uint32_t ch, char out[8]) {
    switch (ch) {
    case '\n':
        memcpy(out, "\\n", 2);
        return 2;
    case '\t':
        memcpy(out, "\\t", 2);
        return 2;
    case 0x1b:
        memcpy(out, "\\e", 2);
        return 2;
    default:
        return (size_t)snprintf(out, 8, ch < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)ch);
    }
}

size_t escape_text(const char *bytes, size_t length, char *out, size_t size) {
    size_t used = 0;

    if (!size)
        return 0;
    for (size_t i = 0; i < length;) {
        uint32_t ch;
        char piece[8];
        size_t n = utf8_decode(bytes + i, length - i, &ch), piece_length;

        if (!n) {
            piece_length = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", (unsigned)(unsigned char)bytes[i]);
            n = 1;
        } else if (char_is_control(ch)) {
            piece_length = escape_control(ch, piece);
        } else {
            memcpy(piece, bytes + i, n);
            piece_length = n;
        }
        if (used + piece_length > size - 1)
            break;
        memcpy(out + used, piece, piece_length);
        used += piece_length;
        i += n;
    }
    out[used] = '\0';
    return used;
}

void escape_fit(const char *text, int width, char *out, size_t size) {
    static const char more[] = "\u2026";
    char all[1024];
    size_t length = escape_text(text, strlen(text), all, sizeof(all)), at = 0, keep = 0;
    int cells = 0;

    while (at < length) {
        uint32_t ch = 0;
        size_t n = utf8_decode(all + at, length - at, &ch);
        cells += char_width(ch);
        if (!n || cells > width || at + n + sizeof(more) > size)
            break;
        at += n;
        keep = cells < width ? at : keep; // room for the ellipsis
    }
    memcpy(out, all, at < length ? keep : length);
    snprintf(out + (at < length ? keep : length), sizeof(more), "%s", at < length ? more : "");
}
