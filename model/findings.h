// Findings: the rules that say what is wrong and who does it, over a frame and the ones before it. A rule is one
// row of a table; it looks at series and tables by the contract's names, so it works on live, recorded and forged
// frames alike.
#ifndef MODEL_FINDINGS_H
#define MODEL_FINDINGS_H

#include "model/frame.h"

struct findings; // remembers since when each finding holds

extern const struct table_def findings_table; // severity, resource, kind, culprit_pid, culprit_comm, culprit_device,
                                              // evidence, pane, since_s: most severe first, then the longest standing

struct findings *findings_new(void);
void findings_free(struct findings *findings);
// The section "findings" for this frame, owned by the caller (one reference). previous may be NULL.
struct section *findings_section(struct findings *findings, const struct frame *frame, const struct frame *previous);

#endif
