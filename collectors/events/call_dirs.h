// Where relative paths of system calls begin: the working directory, or the directory of a descriptor. Both are read
// from /proc within some 100 us of the call, and may have changed by then. So changes are followed: chdir(2) and
// successful opens arrive as records as well, in order. What was read too late is unknown, never wrong. Fixed memory;
// one thread owns it.
#ifndef COLLECTORS_EVENTS_CALL_DIRS_H
#define COLLECTORS_EVENTS_CALL_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_dirs;
struct call_dirs *call_dirs_new(const char *proc); // NULL: it has other IDs than the calls; nothing is read
void call_dirs_free(struct call_dirs *dirs);
void call_dirs_begin(struct call_dirs *dirs); // of an interval

// The directory at the end of the thread's call: an absolute path in out. fd: AT_FDCWD, or a descriptor. *read_ns: for
// call_dirs_was_late, once later records were seen; 0: it is certain. False: unknown.
bool call_dirs_find(struct call_dirs *dirs, uint32_t tid, uint32_t pid, int fd, char *out, size_t size,
                    uint64_t *read_ns);
bool call_dirs_was_late(const struct call_dirs *dirs, uint64_t read_ns);

// ---- changes, in the order of the calls; ns: CLOCK_MONOTONIC ----
// A new descriptor, or with AT_FDCWD another working directory. path: its absolute path; NULL: unknown.
void call_dirs_opened(struct call_dirs *dirs, uint32_t pid, int fd, uint64_t ns, const char *path);
// The same from a descriptor.
void call_dirs_duplicated(struct call_dirs *dirs, uint32_t pid, int from, int fd, uint64_t ns);

#endif
