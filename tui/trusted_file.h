// Reads files of the user's configuration. ktop often runs as root, so it takes only what root or the effective user
// has written, and follows no path that another user controls: a file or directory must belong to one of the two and
// must be writable by its owner only. FIFOs, devices and symbolic links are refused.
#ifndef TUI_TRUSTED_FILE_H
#define TUI_TRUSTED_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define TRUSTED_FILE_BYTES (64u * 1024) // a larger file is refused

// The descriptor of a directory; -1 with the reason in *why, which is NULL if there is none that this user can reach.
int trusted_dir(const char *path, const char **why);
// The bytes of a file in it, to be freed; NULL with the reason in *why, which is NULL if there is no such file.
char *trusted_read(int dir, const char *name, size_t *length, const char **why);
// "$XDG_CONFIG_HOME/ktop/NAME" or "$HOME/.config/ktop/NAME". False: neither variable has an absolute path.
bool trusted_user_path(const char *name, char *out, size_t size);

// Of one line: without blanks at both ends, in place.
char *line_trim(char *line);
bool line_is_printable(const char *line);

#endif
