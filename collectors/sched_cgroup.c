// Few groups have a limit: the tree is searched for them every few seconds, and only they are read in every frame.
#include "collectors/sched_cgroup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/format.h"
#include "model/mem.h"

#define SEARCH_NS 5000000000ull
#define GROUPS_MAX 256
#define FOLDERS_MAX 2048
#define DEPTH_MAX 16

struct sched_groups {
    char root[256]; // "": no cpu controller is mounted
    bool v2;
    struct sched_group groups[GROUPS_MAX];
    size_t n, folders, left_out;
    uint64_t searched_ns;
};

// The hierarchy of version 1 that has the cpu controller, else version 2's.
static void find_root(struct sched_groups *groups, const char *mounts) {
    static const size_t room = 256 * 1024;
    char *text = xmalloc(room);
    if (format_file(mounts, text, room) > 0)
        for (char *line = text, *end; line && *line; line = end) {
            char point[256], type[32], options[256];
            end = strchr(line, '\n');
            if (end)
                *end++ = 0;
            const char *rest = strstr(line, " - ");
            if (!rest || sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 ||
                sscanf(rest, " - %31s %*s %250s", type, options + 1) != 2)
                continue;
            options[0] = ',';
            strcat(options, ",");
            bool v1 = !strcmp(type, "cgroup") && strstr(options, ",cpu,");
            if (!v1 && (strcmp(type, "cgroup2") != 0 || groups->root[0]))
                continue;
            memcpy(groups->root, point, sizeof(point));
            groups->v2 = !v1;
            if (v1)
                break;
        }
    free(text);
}

struct sched_groups *sched_groups_new(const char *mounts) {
    struct sched_groups *groups = xcalloc(1, sizeof(*groups));
    find_root(groups, mounts);
    return groups;
}

void sched_groups_free(struct sched_groups *groups) {
    if (!groups)
        return;
    for (size_t i = 0; i < groups->n; i++)
        free(groups->groups[i].path);
    free(groups);
}

// ---- one group ----

static bool group_file(const struct sched_groups *groups, const char *path, const char *file, char *out, size_t size) {
    char name[1024];
    if (snprintf(name, sizeof(name), "%s%s/%s", groups->root, path, file) >= (int)sizeof(name))
        return false;
    return format_file(name, out, size) > 0;
}

// In percent of one CPU; 0: none.
static double quota_read(const struct sched_groups *groups, const char *path) {
    char text[64], period_text[64];
    double quota = 0, period = 0;
    if (groups->v2) {
        if (!group_file(groups, path, "cpu.max", text, sizeof(text)) || sscanf(text, "%lf %lf", &quota, &period) != 2)
            return 0;
    } else {
        if (!group_file(groups, path, "cpu.cfs_quota_us", text, sizeof(text)) ||
            !group_file(groups, path, "cpu.cfs_period_us", period_text, sizeof(period_text)))
            return 0;
        quota = atof(text);
        period = atof(period_text);
    }
    return quota > 0 && period > 0 ? 100 * quota / period : 0;
}

static void stat_read(const struct sched_groups *groups, struct sched_group *group) {
    char text[2048];
    uint64_t now[3] = {0};
    if (!group_file(groups, group->path, "cpu.stat", text, sizeof(text))) {
        group->gone = true;
        return;
    }
    static const char *const names[] = {"nr_periods ", "nr_throttled ", "throttled_usec ", "throttled_time "};
    for (int i = 0; i < 4; i++) {
        const char *at = strstr(text, names[i]);
        if (at)
            now[i < 3 ? i : 2] = strtoull(at + strlen(names[i]), NULL, 10) * (i == 2 ? 1000 : 1);
    }
    for (int i = 0; i < 3; i++) {
        group->delta[i] = group->reads && now[i] > group->at[i] ? now[i] - group->at[i] : 0;
        group->at[i] = now[i];
    }
    group->reads++;
    group->fresh = group->reads < 2;
}

// ---- all ----

static void group_add(struct sched_groups *groups, const char *path, double quota) {
    for (size_t i = 0; i < groups->n; i++)
        if (!strcmp(groups->groups[i].path, path)) {
            groups->groups[i].quota_pct = quota;
            groups->groups[i].gone = false;
            return;
        }
    if (groups->n == GROUPS_MAX) {
        groups->left_out++;
        return;
    }
    struct sched_group *group = &groups->groups[groups->n++];
    *group = (struct sched_group){.path = xstrdup(path), .quota_pct = quota, .fresh = true};
}

static void search(struct sched_groups *groups, const char *path, int depth) {
    char name[1024];
    if (groups->folders >= FOLDERS_MAX || depth > DEPTH_MAX ||
        snprintf(name, sizeof(name), "%s%s", groups->root, path) >= (int)sizeof(name)) {
        groups->left_out++;
        return;
    }
    groups->folders++;
    double quota = quota_read(groups, path);
    if (quota > 0)
        group_add(groups, path[0] ? path : "/", quota);
    DIR *folder = opendir(name);
    if (!folder)
        return;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) < (int)sizeof(name))
            search(groups, name, depth + 1);
    closedir(folder);
}

static void forget_gone(struct sched_groups *groups) {
    size_t kept = 0;
    for (size_t i = 0; i < groups->n; i++) {
        if (groups->groups[i].gone)
            free(groups->groups[i].path);
        else
            groups->groups[kept++] = groups->groups[i];
    }
    groups->n = kept;
}

void sched_groups_read(struct sched_groups *groups, uint64_t now) {
    if (!groups->root[0])
        return;
    if (!groups->searched_ns || now - groups->searched_ns >= SEARCH_NS) {
        groups->searched_ns = now;
        groups->folders = groups->left_out = 0;
        for (size_t i = 0; i < groups->n; i++)
            groups->groups[i].gone = true; // unless it is found again, still with a limit
        search(groups, "", 0);
        forget_gone(groups);
    }
    for (size_t i = 0; i < groups->n; i++)
        stat_read(groups, &groups->groups[i]);
    forget_gone(groups);
}

size_t sched_groups_count(const struct sched_groups *groups) {
    return groups->n;
}

const struct sched_group *sched_groups_at(const struct sched_groups *groups, size_t i) {
    return &groups->groups[i];
}

size_t sched_groups_left_out(const struct sched_groups *groups) {
    return groups->left_out;
}

const struct sched_group *sched_groups_throttled(const struct sched_groups *groups, const char *path) {
    const struct sched_group *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < groups->n; i++) {
        const struct sched_group *group = &groups->groups[i];
        size_t length = strlen(group->path);
        bool above = !strncmp(path, group->path, length) && (path[length] == 0 || path[length] == '/');
        if (above && group->delta[1] && length > longest) {
            best = group;
            longest = length;
        }
    }
    return best;
}
