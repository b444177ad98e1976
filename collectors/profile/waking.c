// The event of a wakeup (see the header).
#include "collectors/profile/waking.h"

#include <errno.h>
#include <linux/perf_event.h>

#define STACK_BYTES 1024u // every wakeup in a window copies it

int waking_find(const char *tracefs, struct waking *out) {
    static const char *const events[] = {"sched_waking", "sched_wakeup"}; // sched_waking: Linux 4.3
    int rc = -ENOENT;
    for (size_t i = 0; i < sizeof(events) / sizeof(*events) && rc; i++) {
        *out = (struct waking){.pid = {.name = "pid"}};
        rc = format_read(tracefs, "sched", events[i], &out->pid, 1, &out->id, NULL);
    }
    return rc;
}

void waking_attr(const struct waking *waking, struct perf_event_attr *attr) {
    attr->type = PERF_TYPE_TRACEPOINT;
    attr->config = waking->id;
    attr->sample_period = 1;
    attr->sample_stack_user = attr->sample_stack_user < STACK_BYTES ? attr->sample_stack_user : STACK_BYTES;
}

pid_t waking_thread(const struct waking *waking, const uint8_t *raw, size_t size, bool *interrupt) {
    *interrupt = false;
    if (size <= EVENT_FLAGS_OFFSET || size < format_end(&waking->pid, 1))
        return 0;
    *interrupt = raw[EVENT_FLAGS_OFFSET] & (EVENT_FLAG_HARDIRQ | EVENT_FLAG_SOFTIRQ);
    return (pid_t)format_u64(raw, &waking->pid);
}

size_t waking_path(const struct waking_names *names, const struct stacks_path *waker, bool interrupt, uint32_t *ids) {
    size_t n = 0, least = interrupt ? 1 + waker->n_user : 1;
    ids[n++] = names->woken_by;
    for (size_t i = waker->n; i > least && n <= WAKING_FRAMES_MAX; i--)
        ids[n++] = waker->ids[i - 1];
    ids[n++] = interrupt ? names->interrupt : waker->ids[0];
    return n;
}
