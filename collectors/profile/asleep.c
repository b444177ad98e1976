// Reading /proc for threads that sleep (see the header).
#include "collectors/profile/asleep.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/thread_walk.h"

#define STACK_TEXT_MAX 8192

// Sleeping, uninterruptible, or an idle kernel thread.
bool asleep_is(pid_t pid, pid_t tid) {
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    if (proc_read_line(path, line, sizeof line))
        return false;
    const char *end = strrchr(line, ')'); // the name may contain anything
    return end && end[1] == ' ' && end[2] && strchr("SDI", end[2]);
}

size_t asleep_each(size_t max, void (*fn)(void *context, pid_t pid, pid_t tid), void *context) {
    struct thread_walk *walk = thread_walk_new("/proc");
    size_t n = 0;
    int32_t pid, tid;
    while (walk && n < max && (tid = thread_walk_next(walk, &pid))) {
        n++;
        if (asleep_is(pid, tid))
            fn(context, pid, tid);
    }
    if (walk)
        thread_walk_free(walk);
    return n;
}

static void part_copy(char *out, size_t size, const char *text, size_t n) {
    n = n < size - 1 ? n : size - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

size_t asleep_stack_parse(const char *text, struct asleep_frame *frames, size_t max) {
    size_t n = 0;
    for (const char *line = text; *line && n < max;) {
        const char *end = line + strcspn(line, "\n");
        const char *name = memchr(line, ']', (size_t)(end - line));
        if (name && name + 2 < end && name[1] == ' ') {
            name += 2;
            size_t length = strcspn(name, "+ \n");
            const char *module = memchr(name, '[', (size_t)(end - name));
            struct asleep_frame *frame = &frames[n++];
            part_copy(frame->symbol, sizeof frame->symbol, name, length);
            part_copy(frame->module, sizeof frame->module, module ? module + 1 : "",
                      module ? strcspn(module + 1, "]\n") : 0);
        }
        line = *end ? end + 1 : end;
    }
    return n;
}

size_t asleep_stack(pid_t pid, pid_t tid, struct asleep_frame *frames, size_t max) {
    char path[64], text[STACK_TEXT_MAX];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stack", (int)pid, (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return asleep_stack_parse(text, frames, max);
}
