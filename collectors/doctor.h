// The doctor: what this kernel, machine and user allow, each tried for real, with the reason and the fix for what is
// missing.
#ifndef COLLECTORS_DOCTOR_H
#define COLLECTORS_DOCTOR_H

#include "collectors/collector.h"

// Calls report->add once per capability: the general ones, then every collector's own. Leaves nothing behind.
void doctor_run(struct check_report *report);

#endif
