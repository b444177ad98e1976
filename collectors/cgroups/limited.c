// Sharing the list (see the header): the lock is held only to exchange a pointer and to count a reference.
#include "collectors/cgroups/limited.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/groups.h"
#include "model/mem.h"

struct cgroups_limited {
    size_t references, count, left_out; // references: under the lock
    struct cgroup_limited groups[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cgroups_limited *newest;

struct cgroups_limited *cgroups_limited_new(size_t most, size_t left_out) {
    struct cgroups_limited *list = xcalloc(1, sizeof(*list) + most * sizeof(list->groups[0]));
    list->references = 1;
    list->left_out = left_out;
    return list;
}

void cgroups_limited_add(struct cgroups_limited *list, const struct cgroup *group) {
    list->groups[list->count++] = (struct cgroup_limited){xstrdup(group->path), group->limits.cpu_pct, group->stops};
}

// Whether that was the last one; the lock is held.
static bool drop(struct cgroups_limited *list) {
    return list && !--list->references;
}

static void list_free(struct cgroups_limited *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->groups[i].path);
    free(list);
}

void cgroups_limited_share(struct cgroups_limited *list) {
    pthread_mutex_lock(&lock);
    struct cgroups_limited *old = newest;
    newest = list;
    bool last = drop(old);
    pthread_mutex_unlock(&lock);
    if (last)
        list_free(old);
}

const struct cgroups_limited *cgroups_limited_get(void) {
    pthread_mutex_lock(&lock);
    struct cgroups_limited *list = newest;
    if (list)
        list->references++;
    pthread_mutex_unlock(&lock);
    return list;
}

void cgroups_limited_unref(const struct cgroups_limited *list) {
    pthread_mutex_lock(&lock);
    bool last = drop((struct cgroups_limited *)list);
    pthread_mutex_unlock(&lock);
    if (last)
        list_free((struct cgroups_limited *)list);
}

size_t cgroups_limited_count(const struct cgroups_limited *list) {
    return list ? list->count : 0;
}

const struct cgroup_limited *cgroups_limited_at(const struct cgroups_limited *list, size_t i) {
    return &list->groups[i];
}

size_t cgroups_limited_left_out(const struct cgroups_limited *list) {
    return list ? list->left_out : 0;
}

const struct cgroup_limited *cgroups_limited_stopped(const struct cgroups_limited *list, const char *path) {
    const struct cgroup_limited *best = NULL;
    for (size_t i = 0; i < cgroups_limited_count(list); i++) {
        const struct cgroup_limited *group = &list->groups[i];
        if (group->stops.throttled && group_is_below(path, group->path) &&
            (!best || strlen(group->path) > strlen(best->path)))
            best = group;
    }
    return best;
}
