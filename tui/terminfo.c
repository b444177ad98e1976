// Descriptions of the usual terminals inside the program; build/terminfo_data.h is made by infocmp at build time.
#include "tui/terminfo.h"

#include <string.h>

#include "terminfo_data.h"

static const char *description(const char *name) {
    for (size_t i = 0; i < sizeof terminfo_data / sizeof terminfo_data[0]; i++)
        if (terminfo_data[i].name && !strcmp(terminfo_data[i].name, name))
            return terminfo_data[i].description;
    return NULL;
}

const char *terminfo_fallback(const char *name, const char **found) {
    // Newer terminals that some databases lack; all accept xterm's sequences.
    static const struct {
        const char *prefix, *is;
    } kinds[] = {
        {"xterm", "xterm-256color"},
        {"tmux", "tmux-256color"},
        {"screen", "screen"},
        {"linux", "linux"},
        {"vt", "vt100"},
        {"alacritty", "xterm-256color"},
        {"kitty", "xterm-256color"},
        {"foot", "xterm-256color"},
        {"ghostty", "xterm-256color"},
        {"wezterm", "xterm-256color"},
        {"rxvt", "xterm-256color"},
        {"st-", "xterm-256color"},
        {"contour", "xterm-256color"},
        {"konsole", "xterm-256color"},
        {"gnome", "xterm-256color"},
        {"vte", "xterm-256color"},
        {"putty", "xterm-256color"},
    };
    const char *data = description(name);
    *found = name;
    for (size_t i = 0; !data && i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strncmp(name, kinds[i].prefix, strlen(kinds[i].prefix))) {
            *found = kinds[i].is;
            data = description(kinds[i].is);
        }
    return data;
}
