// Ready-made sets of tracepoints: the built-in ones, and those of preset files (preset_file.h).
#ifndef TUI_PRESETS_H
#define TUI_PRESETS_H

#include <stddef.h>
#include <stdio.h>

#include "tui/preset_file.h"

struct preset {
    const char *name, *help;
    const char *events; // specifications, one a line
};
extern const struct preset presets[]; // ends with name NULL

// Appends the specifications of the named presets ("exec,kill") to *text (may be NULL; the caller frees it), a line
// each. A preset of a file goes before the built-in one of its name. 0, or -ENOENT with one sentence.
int presets_add(const struct preset_files *files, const char *names, char **text, char *error, size_t size);

void presets_list(const struct preset_files *files, FILE *out); // a line each: name, help

#endif
