// Preset files: named sets of tracepoints that a user or an administrator adds to the built-in ones.
//
//   # a comment
//   [nfs-open]
//   help = Files opened over NFS
//   event = nfs4:nfs4_open_file if error != 0
//   event = nfs4:nfs4_close
//
// A file may define several presets. Names consist of letters, digits, '-' and '_'.
#ifndef COLLECTORS_EVENTS_PRESET_FILE_H
#define COLLECTORS_EVENTS_PRESET_FILE_H

#include <stddef.h>

#define PRESET_NAME_MAX 31
#define PRESET_EVENTS_MAX 32 // per preset
#define PRESETS_MAX 256      // of all files

struct preset_entry {
    char *name, *help; // help: "" when the file has none
    char **events;     // "SYSTEM:EVENT[ if FILTER]"
    size_t n_events;
    char *path; // the file that defines it
};

struct preset_files {
    struct preset_entry *entries;
    size_t n;
    char **problems; // one line each: the file, the line, the cause
    size_t n_problems;
};

// Adds the presets of `bytes`. A file with an error adds none of its presets: the problem names the first faulty line.
void preset_files_parse(struct preset_files *files, const char *path, const char *bytes, size_t length);

// Reads each *.preset of a directory in alphabetic order; a missing directory is not a problem. Skips, with a problem,
// files that another user could have written (tui/trusted_file.h).
void preset_files_read(struct preset_files *files, const char *directory);

// /etc/ktop/presets.d, then presets.d in $XDG_CONFIG_HOME/ktop or $HOME/.config/ktop. A later definition of a name
// replaces an earlier one.
void preset_files_load(struct preset_files *files);

const struct preset_entry *preset_files_find(const struct preset_files *files, const char *name);
void preset_files_free(struct preset_files *files);

#endif
