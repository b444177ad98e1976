// Finding functions of programs; see the header.
#include "collectors/functions/find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collectors/functions/kernel.h"
#include "collectors/functions/match.h"
#include "collectors/kernel/symbols/open.h"
#include "model/mem.h"
#include "model/nearest.h"

#define NEAR_FILES 512

static int64_t place_of(const struct function_spec *spec) {
    return (int64_t)(spec->place + (spec->object[0] ? 0 : spec->glob_at));
}

// ---- mappings ----

struct mapping {
    uint64_t start, end, device, inode;
    char *path;
};

// A line of /proc/PID/maps, of an executable mapping of a file.
static bool mapping_parse(char *line, struct mapping *out) {
    unsigned long long start, end, inode;
    unsigned major, minor;
    char rights[8];
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%llx %7s %*x %x:%x %llu %n", &start, &end, rights, &major, &minor, &inode, &at) < 6 || !at ||
        line[at] != '/' || rights[2] != 'x')
        return false;
    *out = (struct mapping){start, end, makedev(major, minor), inode, line + at};
    char *deleted = strstr(out->path, " (deleted)");
    if (deleted && !deleted[10])
        *deleted = '\0';
    return true;
}

static int mapping_open(const struct mapping *mapping, pid_t pid, struct stat *stat) {
    char path[96];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)mapping->start,
             (unsigned long long)mapping->end);
    int fd = open_regular(path, false, stat);
    if (fd >= 0)
        return fd;
    int root = open_root(pid);
    fd = root < 0 ? root : open_below(root, mapping->path, false, stat);
    if (root >= 0)
        close(root);
    if (fd >= 0 && stat->st_ino != mapping->inode) { // another file took its path
        close(fd);
        return -ENOENT;
    }
    return fd;
}

// ---- objects and their users ----

// The specifications that name the file, as bits.
static uint32_t specs_of(const struct function_choice *choice, char *const *real, const char *path) {
    uint32_t bits = 0;
    for (size_t i = 0; i < choice->specs.n; i++)
        if (choice->specs.all[i].object[0] &&
            (function_spec_is_in(&choice->specs.all[i], path) || (real && real[i] && !strcmp(real[i], path))))
            bits |= 1u << i;
    return bits;
}

static struct function_object *object_add(struct function_choice *choice, const char *path, int fd, uint64_t device,
                                          uint64_t inode, uint32_t specs) {
    if (choice->n_objects == FUNCTION_OBJECTS_MAX) {
        close(fd);
        return NULL;
    }
    struct function_object *object = &choice->objects[choice->n_objects++];
    *object =
        (struct function_object){.device = device, .inode = inode, .path = xstrdup(path), .fd = fd, .specs = specs};
    return object;
}

static struct function_object *object_find(struct function_choice *choice, const struct mapping *mapping) {
    for (size_t i = 0; i < choice->n_objects; i++)
        if (!choice->objects[i].kernel && choice->objects[i].inode == mapping->inode &&
            choice->objects[i].device == mapping->device)
            return &choice->objects[i];
    return NULL;
}

static bool user_add(struct function_choice *choice, pid_t pid, uint8_t object) {
    size_t at = choice->n_users;
    for (size_t i = 0; i < choice->n_users; i++) {
        if (choice->users[i].object != object)
            continue;
        if (choice->users[i].pid == pid)
            return false;
        if (!choice->users[i].pid)
            at = i;
    }
    if (at == FUNCTION_PROCESSES_MAX) {
        choice->left_out++;
        return false;
    }
    choice->n_users += at == choice->n_users;
    choice->users[at] = (struct function_user){.pid = pid, .object = object, .fresh = true};
    return true;
}

struct walk {
    struct function_choice *choice;
    char *const *real; // paths of the specifications without links; NULL: objects are not added
    char **near;       // names of other files, for a misspelt one; NULL: not wanted
    size_t n_near;
    int error;            // of the last file that could not be opened
    mapped_file_fn *each; // NULL: files are compared with the choice
    void *context;
};

static void mapping_look(struct walk *walk, const struct mapping *mapping, pid_t pid, size_t *added) {
    struct function_object *object = object_find(walk->choice, mapping);
    struct stat stat;
    if (!object && walk->real) {
        uint32_t specs = specs_of(walk->choice, walk->real, mapping->path);
        if (!specs) {
            if (walk->near && walk->n_near < NEAR_FILES)
                walk->near[walk->n_near++] = xstrdup(strrchr(mapping->path, '/') + 1);
            return;
        }
        int fd = mapping_open(mapping, pid, &stat);
        if (fd < 0)
            walk->error = fd;
        else
            object = object_add(walk->choice, mapping->path, fd, mapping->device, mapping->inode, specs);
    }
    if (object)
        *added += user_add(walk->choice, pid, (uint8_t)(object - walk->choice->objects));
}

// 0 or -errno: its mappings cannot be read.
static int process_look(struct walk *walk, pid_t pid, size_t *added) {
    char path[64], *line = NULL;
    size_t space = 0;
    struct mapping mapping;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *in = fopen(path, "re");
    if (!in)
        return -errno;
    while (getline(&line, &space, in) > 0)
        if (!mapping_parse(line, &mapping))
            continue;
        else if (walk->each)
            walk->each(walk->context, mapping.path);
        else
            mapping_look(walk, &mapping, pid, added);
    free(line);
    fclose(in);
    return 0;
}

void function_choice_add(struct function_choice *choice, pid_t pid) {
    struct walk walk = {.choice = choice};
    size_t added = 0;
    process_look(&walk, pid, &added);
}

// A file that no process maps yet: processes that start later are found.
static int path_look(struct function_choice *choice, const char *path, uint32_t specs) {
    struct stat stat;
    for (size_t i = 0; i < choice->n_objects; i++)
        if (choice->objects[i].specs & specs)
            return 0;
    int fd = open_regular(path, false, &stat);
    if (fd < 0)
        return fd;
    object_add(choice, path, fd, stat.st_dev, stat.st_ino, specs);
    return 0;
}

static void every_process(struct walk *walk) {
    size_t added = 0;
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid())
            process_look(walk, atoi(entry->d_name), &added);
    if (proc)
        closedir(proc);
}

void mapped_files_each(const pid_t *pids, size_t n_pids, mapped_file_fn *fn, void *context) {
    struct walk walk = {.each = fn, .context = context};
    size_t added = 0;
    for (size_t i = 0; i < n_pids; i++)
        process_look(&walk, pids[i], &added);
    if (!n_pids)
        every_process(&walk);
}

static int object_missing(const struct function_spec *spec, const struct walk *walk, bool every,
                          struct choice_error *error) {
    walk->near[walk->n_near] = NULL;
    const char *base = strrchr(spec->object, '/'), *of = every ? "no process maps" : "the process does not map";
    const char *nearest = name_nearest(base ? base + 1 : spec->object, (const char *const *)walk->near);
    char begin[80];
    size_t length = (size_t)snprintf(begin, sizeof(begin), "%.60s.", base ? base + 1 : spec->object);
    for (size_t i = 0; i < walk->n_near && !nearest; i++) // "libc" for libc.so.6
        if (!strncmp(walk->near[i], begin, length))
            nearest = walk->near[i];
    if (walk->error)
        return choice_refuse(error, walk->error, place_of(spec), "%.100s cannot be opened: %s", spec->object,
                             strerror(-walk->error));
    if (every && strchr(spec->object, '/') && access(spec->object, F_OK))
        return choice_refuse(error, -errno, place_of(spec), "%.120s: %s", spec->object, strerror(errno));
    return choice_refuse(error, -ENOENT, place_of(spec), "%s a file %s %.80s%s%.60s%s", of,
                         strchr(spec->object, '/') ? "with the path" : "named", spec->object,
                         nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

int function_objects_find(struct function_choice *choice, const pid_t *pids, size_t n_pids,
                          struct choice_error *error) {
    char *real[FUNCTION_SPECS_MAX] = {NULL}, **near = xcalloc(NEAR_FILES + 1, sizeof(*near));
    struct walk walk = {.choice = choice, .real = real, .near = near};
    int result = 0, gone = 0;
    size_t added = 0;
    for (size_t i = 0; i < choice->specs.n; i++)
        if (strchr(choice->specs.all[i].object, '/'))
            real[i] = realpath(choice->specs.all[i].object, NULL);
    for (size_t i = 0; i < n_pids; i++) {
        int code = process_look(&walk, pids[i], &added);
        gone = code ? code : gone;
    }
    if (!n_pids)
        every_process(&walk);
    for (size_t i = 0; i < choice->specs.n && !result; i++) {
        const struct function_spec *spec = &choice->specs.all[i];
        bool found = !spec->object[0];
        if (!n_pids && real[i])
            path_look(choice, real[i], 1u << i);
        for (size_t k = 0; k < choice->n_objects; k++)
            found |= choice->objects[k].specs >> i & 1;
        if (!found && gone && !added)
            result = choice_refuse(error, gone, place_of(spec), "the mappings of PID %d cannot be read: %s",
                                   (int)pids[0], strerror(-gone));
        else if (!found)
            result = object_missing(spec, &walk, !n_pids, error);
    }
    for (size_t i = 0; i < walk.n_near; i++)
        free(near[i]);
    for (size_t i = 0; i < FUNCTION_SPECS_MAX; i++)
        free(real[i]);
    free(near);
    return result;
}

// ---- functions ----

static int functions_look(struct function_choice *choice, struct choice_error *error) {
    struct function_matches *matches = function_matches_new(choice);
    int result = 0;
    for (size_t i = 0; i < choice->n_objects && !result; i++) {
        struct function_object *object = &choice->objects[i];
        pid_t pid = 0;
        for (size_t k = 0; k < choice->n_users && !pid; k++)
            if (choice->users[k].object == i)
                pid = choice->users[k].pid;
        const struct function_spec *spec = &choice->specs.all[__builtin_ctz(object->specs)];
        int code = function_matches_add(matches, choice, (uint8_t)i, pid);
        if (code)
            result = choice_refuse(error, code, place_of(spec), "%.120s: %s", object->path,
                                   code == -ENOEXEC ? "not an ELF file" : strerror(-code));
    }
    if (!result)
        result = function_matches_take(matches, choice, error);
    function_matches_free(matches);
    return result;
}

static int roles_check(const struct function_choice *choice, struct choice_error *error) {
    for (size_t i = 0; i < choice->n_functions; i++) {
        const struct function *function = &choice->functions[i];
        if (function->roles & FUNCTION_START && function->roles & FUNCTION_STOP)
            return choice_refuse(error, -EINVAL, place_of(&choice->specs.all[function->spec]),
                                 "%.100s is both a start and a stop function: remove one of them", function->name);
    }
    return 0;
}

int function_choice_find(struct function_choice *choice, const pid_t *pids, size_t n_pids, struct choice_error *error) {
    int result = function_objects_find(choice, pids, n_pids, error);
    if (!result && choice->n_objects)
        result = functions_look(choice, error);
    if (!result)
        result = kernel_functions_find(choice, error);
    return result ? result : roles_check(choice, error);
}

void function_join(struct function *function, uint8_t spec, uint8_t roles) {
    if (!(function->roles & FUNCTION_COUNTED) && roles & FUNCTION_COUNTED)
        function->spec = spec;
    function->roles |= roles;
}

void function_choice_free(struct function_choice *choice) {
    for (size_t i = 0; i < choice->n_objects; i++) {
        if (choice->objects[i].fd >= 0)
            close(choice->objects[i].fd);
        free(choice->objects[i].path);
    }
    free(choice->functions);
    *choice = (struct function_choice){.n_objects = 0};
}
