// Reading /proc/PID/cgroup (see the header): "4:memory:/a/b", "0::/a/b".
#include "collectors/profile/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 16384 // some hierarchies with paths of 1 KiB

static bool is_in(const char *proc, pid_t pid, const char *cgroup, bool *known) {
    char path[160], text[TEXT_MAX];
    size_t length = strlen(cgroup), n = 0;
    ssize_t got = 0;
    while (length && cgroup[length - 1] == '/') // "/": all
        length--;
    snprintf(path, sizeof path, "%s/%d/cgroup", proc, (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && n < sizeof text - 1 && (got = read(fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    if (fd >= 0)
        close(fd);
    text[n] = '\0';
    *known = n > 0;
    for (char *line = text, *end; *line; line = end) {
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
