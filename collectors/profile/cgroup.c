// Reading /proc/PID/cgroup (see the header): "4:memory:/a/b", "0::/a/b".
#include "collectors/profile/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"

#define TEXT_MAX 16384 // some hierarchies with paths of 1 KiB

static bool is_in(const char *proc, pid_t pid, const char *cgroup, bool *known) {
    char path[160], text[TEXT_MAX];
    size_t length = strlen(cgroup);
    while (length && cgroup[length - 1] == '/') // "/": all
        length--;
    snprintf(path, sizeof path, "%s/%d/cgroup", proc, (int)pid);
    long n = format_file(path, text, sizeof text);
    *known = n > 0 || n == -EFBIG;
    for (char *line = text, *end; *known && *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        const char *at = strchr(line, ':');
        at = at && at < end ? strchr(at + 1, ':') : NULL;
        if (at && at < end && !strncmp(at + 1, cgroup, length) && strchr("/\n", at[1 + length])) // or at its end
            return true;
    }
    return false;
}

bool cgroup_has(const char *proc, pid_t pid, pid_t parent, const char *cgroup) {
    bool known = false;
    if (pid <= 0)
        return false;
    return is_in(proc, pid, cgroup, &known) || (!known && parent > 0 && is_in(proc, parent, cgroup, &known));
}
