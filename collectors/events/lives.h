// One row per process life: a process that was seen to call exec, with its parent, arguments and working directory;
// after its exit also with its status, lifetime, CPU time and largest RSS, which taskstats reports. Kept until the
// process ends. One thread owns it. Kernel document: Documentation/accounting/taskstats-struct.rst.
#ifndef COLLECTORS_EVENTS_LIVES_H
#define COLLECTORS_EVENTS_LIVES_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/event_names.h"
#include "collectors/events/exec_args.h"
#include "model/section.h"

#define LIVES_MAX 16384 // at a time
#define LIVES_ROWS 2000 // of one interval: those that ended, then the newest of those that run

struct lives;
// names: borrowed, like the options; they find parents.
struct lives *lives_open(struct event_names *names, const struct collect_options *options);
void lives_close(struct lives *lives);   // NULL is allowed
int lives_fd(const struct lives *lives); // readable when a task exited; -1: taskstats is not available

// A drain is three steps, so that an exit never comes before its exec: lives_exits reads exits, lives_exec gets every
// exec until now, and lives_settle applies the exits.
void lives_exits(struct lives *lives);
void lives_exec(struct lives *lives, const struct exec *exec);
void lives_settle(struct lives *lives);

extern const struct table_def events_programs_table;
// Once per interval, after a drain. wall_ns: of CLOCK_MONOTONIC's zero.
void lives_sample(struct lives *lives, int64_t wall_ns, struct section *out);

// "0", "3", "SIGKILL", "SIGSEGV, core dumped": a new text. code: as wait(2) reports it.
const struct text *life_status_text(uint32_t code);

#endif
