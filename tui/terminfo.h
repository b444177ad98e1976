// Descriptions of the usual terminals inside the program, for machines without a terminfo database (a static ktop that
// was copied onto a bare box).
#ifndef TUI_TERMINFO_H
#define TUI_TERMINFO_H

#include <stddef.h>

// The description of that terminal as a TERMINFO value ("b64:..."), or NULL. An unknown name gets the most similar
// terminal; *found is its name. NULL also if none is similar.
const char *terminfo_fallback(const char *name, const char **found);

#endif
