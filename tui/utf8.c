// UTF-8 without a locale. In a static build the linker redirects every call of wcrtomb and wcwidth, those of ncurses
// included, to the functions here (-Wl,--wrap); they behave as the C library does in a UTF-8 locale. Unused in other
// builds.
#include "tui/utf8.h"

#include <wchar.h>

#include "views/width.h"

static bool forced;

#ifdef KTOP_STATIC
size_t __real_wcrtomb(char *out, wchar_t ch, mbstate_t *state);
int __real_wcwidth(wchar_t ch);
size_t __wrap_wcrtomb(char *out, wchar_t ch, mbstate_t *state);
int __wrap_wcwidth(wchar_t ch);

size_t __wrap_wcrtomb(char *out, wchar_t wide, mbstate_t *state) {
    unsigned ch = (unsigned)wide;
    if (!forced || !out || ch < 0x80 || ch > 0x10ffff)
        return __real_wcrtomb(out, wide, state);
    return utf8_encode(ch, out);
}

int __wrap_wcwidth(wchar_t ch) {
    return forced && ch >= 0x80 ? char_width((uint32_t)ch) : __real_wcwidth(ch);
}

bool utf8_force(void) {
    return forced = true;
}
#else
bool utf8_force(void) {
    return forced;
}
#endif
