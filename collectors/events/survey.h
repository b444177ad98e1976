// Which tracepoints of a system are hot: all of its events are counted for one interval, before any is chosen. It has
// an instance of its own, whose event path only counts. One thread owns it.
#ifndef COLLECTORS_EVENTS_SURVEY_H
#define COLLECTORS_EVENTS_SURVEY_H

#include "collectors/collector.h"
#include "collectors/events/choice.h"

struct survey;

// 0, or -errno with one sentence. -ENOENT: no such system.
int survey_open(struct collector_run *run, const struct tracepoints *list, const char *system, char *sentence,
                size_t size, struct survey **out);
void survey_close(struct survey *survey); // NULL is allowed
// Counts up to now. Writes the events per second of each tracepoint of the system to rates[its index in the list].
// False: the time was too short, go on.
bool survey_read(struct survey *survey, double *rates);
void survey_drain(struct survey *survey);

#endif
