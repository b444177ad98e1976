// Findings: rules that report what is wrong and which task or device causes it, over a frame and the ones before it. A
// rule reads series and tables by the contract's names, so it works on live, recorded and forged frames.
#ifndef MODEL_FINDINGS_H
#define MODEL_FINDINGS_H

#include "model/frame.h"

struct findings; // since when each finding holds

extern const struct table_def findings_table; // severity, resource, kind, culprit_pid, culprit_comm, culprit_device,
                                              // evidence, pane, since_s: most severe first, then oldest first

struct findings *findings_new(void);
void findings_free(struct findings *findings);
// The section "findings" for this frame, owned by the caller (one reference). previous may be NULL.
struct section *findings_section(struct findings *findings, const struct frame *frame, const struct frame *previous);

#endif
