#include "collectors/kernel/proc/thread_status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"

bool thread_status_read(const char *proc, int32_t tid, struct thread_status *out) {
    char path[192], text[4096];
    snprintf(path, sizeof(path), "%s/%d/status", proc, tid);
    long length = format_file(path, text, sizeof(text));
    if (length <= 0 && length != -EFBIG)
        return false;
    *out = (struct thread_status){.pid = tid, .user = (uid_t)-1};
    sscanf(text, "Name:\t%31[^\n]", out->name);
    const char *at = strstr(text, "\nTgid:");
    if (at && atoi(at + 6) > 0)
        out->pid = atoi(at + 6);
    at = strstr(text, "\nPPid:");
    if (at)
        out->parent = atoi(at + 6);
    at = strstr(text, "\nUid:");
    if (at)
        out->user = (uid_t)strtoul(at + 5, NULL, 10);
    return true;
}

bool thread_cgroup(const char *proc, int32_t tid, const char *controller, char *out, size_t size) {
    char path[192], text[8192], wanted[64];
    const char *best = NULL;
    out[0] = '\0';
    snprintf(path, sizeof(path), "%s/%d/cgroup", proc, tid);
    snprintf(wanted, sizeof(wanted), ",%s,", controller);
    long length = format_file(path, text, sizeof(text));
    if (length <= 0 && length != -EFBIG)
        return false;
    for (char *line = text, *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        const char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second)
            continue;
        char controllers[128];
        snprintf(controllers, sizeof(controllers), ",%.*s,", (int)(second - first - 1 < 100 ? second - first - 1 : 100),
                 first + 1);
        if (strstr(controllers, wanted) || (!best && second == first + 1))
            best = second + 1;
    }
    snprintf(out, size, "%s", best ? best : "");
    return best != NULL;
}
