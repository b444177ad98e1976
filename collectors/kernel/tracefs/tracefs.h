// ktop's own tracefs instances: where tracefs is, making and removing an instance, sweeping what dead ktops left.
// Kernel document: Documentation/trace/ftrace.rst. Instances are named ktop-<pid>-<starttime>-<collector>, where
// starttime is field 22 of /proc/<pid>/stat: an instance whose process is gone, or whose PID lives on with another
// start time, is dead. Inside a PID namespace other than the first one, ".<inode of the namespace>" follows, since a
// PID means nothing outside of its namespace (collectors/kernel/tracefs/sweep.h).
#ifndef COLLECTORS_TRACEFS_H
#define COLLECTORS_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// The tracefs directory, or NULL with a reason and a fix (static strings). When it is not mounted anywhere
// it is mounted detached (fsmount(2), seen by no other process and gone with ktop); kernels before 5.2 get a mount
// namespace of ktop's own instead. Called first by main, before any thread exists (a mount namespace belongs to a
// thread); afterwards any thread may call it and gets the same answer.
const char *tracing_dir(const char **reason, const char **fix);
// The descriptor of the detached mount, which must stay open, or -1.
int tracing_fd(void);
// The cause and the fix when an instance cannot be created or a file of tracefs not be used: one sentence each.
void tracing_explain(int error, char *reason, size_t reason_size, char *fix, size_t fix_size);
// The same for unavailable events.
struct tracing_failure {
    const char *events; // "block events"
    int error;          // in that step, of that file or event (or "")
    const char *step, *detail;
    const char *built_with; // the kernel's settings that a missing event needs
};
void tracing_explain_events(const struct tracing_failure *failure, char *reason, size_t reason_size, char *fix,
                            size_t fix_size);
// Whether a line of /proc/self/mountinfo is a whole mount (not a bind of a part) of that type, and where.
bool mountinfo_match(const char *line, const char *type, char *point, size_t size);
// Decodes a text of it: mountinfo escapes blanks, tabs, newlines and backslashes as \ooo. `out` may be `in`.
void mountinfo_unescape(const char *in, size_t len, char *out, size_t size);

// Makes the instance and writes its directory into path. 0 or -errno. It records nothing until tracing_on is 1: events
// are switched on one after the other, but have to be recorded from one moment on. Else an I/O could be seen to be
// issued and not to end, or a task to be woken and not to leave.
int instance_create(const char *collector, char *path, size_t size);
// Removes it; on EBUSY, disables its events and tracing and retries for at most 1 s. 0 or -errno.
int instance_remove(const char *path);
// The number of instances that are being made, exist, or are being removed. Any thread.
int instances_held(void);
// Writes a string to the file below the directory: 0 or -errno.
int instance_write(const char *path, const char *file, const char *value);
// Records "0,2-5" only: 0 or -errno.
int instance_cpus_set(const char *path, const char *cpus);
// Adds a line to a list below tracefs (dynamic_events, uprobe_events): without that, all probes of all tools would go.
int tracing_append(const char *where, const char *file, const char *line);

// Removes the instances and probes that belong to a ktop that is gone (of_pid 0: any dead one; else that process, which
// is about to be or already gone). Calls report(line) for each. Returns how many were removed, or -errno.
int ktop_sweep(pid_t of_pid, void (*report)(const char *line));

#endif
