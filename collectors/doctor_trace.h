// The doctor's checks of tracefs: mounted, instances, the function tracer, kprobes, uprobes.
#ifndef COLLECTORS_DOCTOR_TRACE_H
#define COLLECTORS_DOCTOR_TRACE_H

#include "collectors/collector.h"

void doctor_trace(struct check_report *report);

#endif
