// The files that change thresholds of rules: /etc/ktop/thresholds, then thresholds in $XDG_CONFIG_HOME/ktop or
// $HOME/.config/ktop, whose values go before.
//
//   # a comment
//   cpu_saturated.busy_pct = 95 %
//   disk_latency.read_ms = 50
#ifndef TUI_THRESHOLDS_H
#define TUI_THRESHOLDS_H

#include <stddef.h>

// A file with an error changes nothing: a problem (thresholds_problem) names its first faulty line, the cause, and the
// nearest name. Before the first frame.
void thresholds_parse(const char *path, const char *bytes, size_t length);
// Reads the file "thresholds" of the directory as tui/trusted_file.h says; without one nothing happens.
void thresholds_read(const char *directory);
void thresholds_load(void);

#endif
