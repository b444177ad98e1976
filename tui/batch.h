// Batch: frames as text, CSV or JSON on standard output, without a terminal.
#ifndef TUI_BATCH_H
#define TUI_BATCH_H

#include "tui/options.h"

int batch_run(const struct options *options); // the exit status

#endif
