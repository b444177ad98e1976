// Findings: rules that report what is wrong and which task or device causes it, over a frame and the ones before it. A
// rule reads series and tables by the contract's names, so it works on live, recorded and forged frames.
#ifndef MODEL_FINDINGS_H
#define MODEL_FINDINGS_H

#include "model/history.h"

struct findings; // since when each finding holds

extern const struct table_def findings_table; // severity, resource, kind, culprit_pid, culprit_comm, culprit_device,
                                              // evidence, pane, since_s, cause, level_name, level, level_before: most
                                              // severe first, then what it causes

struct findings *findings_new(void);
void findings_free(struct findings *findings);
// Where levels of before are looked up; must outlive the findings. Without it they are unknown.
void findings_set_history(struct findings *findings, struct history *history);
// The section "findings" for this frame, owned by the caller (one reference). previous may be NULL.
struct section *findings_section(struct findings *findings, const struct frame *frame, const struct frame *previous);

// ---- the functions of culprits ----
//
// A finding about CPU time names the functions in which its culprit spends most of it. The samples come from the
// collector "profile", which must run for about two seconds: once per culprit and incident, and not more often than
// every 10 s.

// No sampling for findings: the profile samples something else than CPU time, or the user does not want it.
void findings_no_profile(struct findings *findings);
// The time (CLOCK_MONOTONIC) until which that collector has to run, as of the last frame; 0: not for a finding.
#define FINDINGS_COLLECTOR "profile"
uint64_t findings_lease(const struct findings *findings);
// The last sampling in words: for which finding, and its cost. False: there was none.
bool findings_lease_words(const struct findings *findings, uint64_t now_ns, char *out, size_t size);

#endif
