// The findings part: what is wrong and who does it, in sentences; Enter goes where to look next. When nothing is wrong
// it says so, and what was looked at. For screens only: files get the table "findings".
#ifndef VIEWS_PART_FINDINGS_H
#define VIEWS_PART_FINDINGS_H

#include "views/view.h"

// What must have been measured before "nothing wrong" may be said of it.
struct findings_look {
    const char *what; // "disk latency"
    const char *name; // the series, table or histogram set that shows that it was measured
};

struct findings_spec {
    const char *table;                 // "findings"
    const struct findings_look *looks; // ends with what NULL
};

extern const struct part_kind part_findings;

#endif
