// Without a terminal: frames as text, CSV or JSON on standard output, or only into a recording.
#ifndef TUI_BATCH_H
#define TUI_BATCH_H

#include "tui/options.h"

int batch_run(const struct options *options); // the exit status

#endif
