// The doctor: tries each capability on this kernel and machine as this user, and reports cause and fix of each failure.
#ifndef COLLECTORS_DOCTOR_H
#define COLLECTORS_DOCTOR_H

#include "collectors/collector.h"

// Calls report->add once per capability: the general ones, then each collector's. Leaves nothing in the kernel.
void doctor_run(struct check_report *report);

#endif
