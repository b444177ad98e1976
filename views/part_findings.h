// The findings part: sentences on what is wrong and which task or device causes it; Enter opens the pane to look at
// next. Without findings it lists what was checked. For screens only: files get the table "findings".
#ifndef VIEWS_PART_FINDINGS_H
#define VIEWS_PART_FINDINGS_H

#include "views/view.h"

// What must be measured before "nothing wrong" covers it.
struct findings_look {
    const char *what; // in the verdict: "disk latency"
    const char *name; // the series, table or histogram set whose presence shows that it was measured
};

struct findings_spec {
    const char *table;                 // "findings"
    const struct findings_look *looks; // ends with what NULL
};

extern const struct part_kind part_findings;

#endif
