// Searches at most FILES_MAX descriptors, and once in KEEP_NS for the same key.
#include "collectors/kernel/proc/holder.h"

#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/clock.h"

#define FILES_MAX 65536
#define FILES_EACH 1024 // of one process
#define KEEP_NS 10000000000ull
#define KEPT 16

struct search {
    const char *proc, *path; // of the open file
    // By its fdinfo, 1: the descriptor matches; 0: it does not; -1: the kernel does not report it.
    int (*matches)(const struct search *search, const char *info);
    uint32_t connection;     // of FUSE
    const char *mount_point; // NULL: descriptors without an answer do not count
    int32_t taker;           // of the lock
    unsigned files;          // read
    int32_t exact;           // whose descriptor matches
    int32_t any, by_name;
    unsigned n_any, n_by_name; // processes whose descriptors have no answer
};

// Whether an argument is the mount point, with or without a trailing slash.
static bool names_mount(const struct search *search, int32_t pid) {
    char path[192], text[4096];
    size_t length = strlen(search->mount_point);
    snprintf(path, sizeof(path), "%s/%d/cmdline", search->proc, pid);
    long n = format_file(path, text, sizeof(text));
    for (const char *at = text; n > 0 && at < text + n; at += strlen(at) + 1)
        if (!strncmp(at, search->mount_point, length) && (!at[length] || !strcmp(at + length, "/")))
            return true;
    return false;
}

static int matches_connection(const struct search *search, const char *info) {
    const char *at = strstr(info, "fuse_connection:");
    return at ? strtoul(at + strlen("fuse_connection:"), NULL, 10) == search->connection : -1;
}

static int matches_lock(const struct search *search, const char *info) {
    int32_t pid;
    for (const char *at = info; (at = strstr(at, "lock:")); at++)
        if (sscanf(at, "lock: %*s %*s %*s %*s %d", &pid) == 1 && pid == search->taker)
            return 1;
    return 0;
}

static void look_at_process(struct search *search, int32_t pid) {
    char path[192], link[256], info[2048];
    snprintf(path, sizeof(path), "%s/%d/fd", search->proc, pid);
    DIR *folder = opendir(path);
    bool silent = false;
    int32_t fd;
    for (unsigned i = 0; folder && i < FILES_EACH && !search->exact && (fd = proc_next_id(folder)) >= 0; i++) {
        search->files++;
        snprintf(path, sizeof(path), "%s/%d/fd/%d", search->proc, pid, fd);
        ssize_t n = readlink(path, link, sizeof(link) - 1);
        link[n > 0 ? n : 0] = 0;
        if (strcmp(link, search->path) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%d/fdinfo/%d", search->proc, pid, fd);
        int match = search->matches(search, format_file(path, info, sizeof(info)) > 0 ? info : "");
        if (match > 0)
            search->exact = pid;
        silent |= match < 0;
    }
    if (folder)
        closedir(folder);
    if (!silent || !search->mount_point)
        return;
    search->any = pid;
    search->n_any++;
    if (names_mount(search, pid)) {
        search->by_name = pid;
        search->n_by_name++;
    }
}

static int32_t find(struct search *search) {
    DIR *processes = opendir(search->proc);
    int32_t pid;
    while (processes && search->files < FILES_MAX && !search->exact && (pid = proc_next_id(processes)) >= 0)
        look_at_process(search, pid);
    if (processes)
        closedir(processes);
    if (search->exact)
        return search->exact;
    bool all = search->files < FILES_MAX; // else there may be more
    return search->n_by_name == 1 ? search->by_name : all && search->n_any == 1 ? search->any : 0;
}

// The cached result for the key, else a new search.
static int32_t find_once(struct search *search, const char *key) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        char key[384];
        int32_t pid;
        uint64_t at_ns;
    } kept[KEPT];
    uint64_t now = now_ns();
    size_t oldest = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < KEPT; i++) {
        if (kept[i].at_ns && now < kept[i].at_ns + KEEP_NS && !strcmp(kept[i].key, key)) {
            int32_t pid = kept[i].pid;
            pthread_mutex_unlock(&lock);
            return pid;
        }
        if (kept[i].at_ns < kept[oldest].at_ns)
            oldest = i;
    }
    pthread_mutex_unlock(&lock); // the search can take long
    int32_t pid = find(search);
    pthread_mutex_lock(&lock);
    snprintf(kept[oldest].key, sizeof(kept[oldest].key), "%s", key);
    kept[oldest].pid = pid;
    kept[oldest].at_ns = now;
    pthread_mutex_unlock(&lock);
    return pid;
}

int32_t sched_fuse_server(const char *proc, uint32_t connection, const char *mount_point) {
    char key[384];
    struct search search = {.proc = proc,
                            .path = "/dev/fuse",
                            .matches = matches_connection,
                            .connection = connection,
                            .mount_point = mount_point};
    snprintf(key, sizeof(key), "%s fuse %u", proc, connection);
    return find_once(&search, key);
}

int32_t sched_lock_keeper(const char *proc, const char *path, int32_t taker) {
    char key[384];
    struct search search = {.proc = proc, .path = path, .matches = matches_lock, .taker = taker};
    snprintf(key, sizeof(key), "%s lock %d %s", proc, taker, path);
    return find_once(&search, key);
}
