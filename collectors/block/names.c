// Reads /sys/block: names, device numbers, partitions, and whether disks are request-based.
#include "collectors/block/names.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

#define REFRESH_NS 30000000000ull
#define PATHS_MAX 128

struct name {
    uint32_t dev;
    bool disk, found; // disk: has request events; found: in the current scan
    bool head;        // NVMe multipath head: its paths are hidden, and its requests are traced with their numbers
    uint64_t sectors;
    uint64_t gone_ns;          // when it left /sys/block; 0: present
    uint64_t previous_gone_ns; // the same for the previous disk with this dev_t; 0: none
    const struct text *text;
};

struct block_names {
    char dir[128];
    struct name *names;
    uint32_t n, capacity;
    struct block_part *parts;
    uint32_t n_parts, parts_capacity;
    struct block_part paths[PATHS_MAX];
    uint32_t n_paths;
    uint64_t read_ns;
    char seen[32]; // uevent_seqnum at the last scan
};

struct block_names *block_names_new(const char *sys_block) {
    struct block_names *names = xcalloc(1, sizeof(*names));
    snprintf(names->dir, sizeof(names->dir), "%s", sys_block);
    return names;
}

void block_names_free(struct block_names *names) {
    if (!names)
        return;
    for (uint32_t i = 0; i < names->n; i++)
        text_unref(names->names[i].text);
    free(names->names);
    free(names->parts);
    free(names);
}

static struct name *name_find(struct block_names *names, uint32_t dev) {
    for (uint32_t i = 0; i < names->n; i++)
        if (names->names[i].dev == dev)
            return &names->names[i];
    return NULL;
}

static struct name *name_add(struct block_names *names, uint32_t dev) {
    if (names->n == names->capacity) {
        names->capacity = names->capacity ? names->capacity * 2 : 16;
        names->names = xrealloc(names->names, names->capacity * sizeof(*names->names));
    }
    struct name *name = &names->names[names->n++];
    *name = (struct name){.dev = dev};
    return name;
}

static bool read_dev(const char *path, uint32_t *dev) {
    char text[64];
    unsigned major, minor;
    if (format_file(path, text, sizeof(text)) <= 0 || sscanf(text, "%u:%u", &major, &minor) != 2)
        return false;
    *dev = major << 20 | (minor & 0xfffff);
    return true;
}

// Partitions are the subdirectories whose names start with the disk's name.
static void read_parts(struct block_names *names, const char *entry, uint32_t disk) {
    char path[512];
    size_t length = strlen(entry);
    snprintf(path, sizeof(path), "%s/%s", names->dir, entry);
    DIR *dir = opendir(path);
    for (struct dirent *part; dir && (part = readdir(dir));) {
        uint32_t dev;
        if (strncmp(part->d_name, entry, length) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s/%.200s/dev", names->dir, entry, part->d_name);
        if (!read_dev(path, &dev))
            continue;
        if (names->n_parts == names->parts_capacity) {
            names->parts_capacity = names->parts_capacity ? names->parts_capacity * 2 : 16;
            names->parts = xrealloc(names->parts, names->parts_capacity * sizeof(*names->parts));
        }
        names->parts[names->n_parts++] = (struct block_part){.dev = dev, .disk = disk};
    }
    if (dir)
        closedir(dir);
}

static void read_one(struct block_names *names, const char *entry) {
    char path[512], text[64];
    uint32_t dev;
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s/dev", names->dir, entry);
    if (!read_dev(path, &dev))
        return;
    struct name *name = name_find(names, dev);
    if (!name)
        name = name_add(names, dev);
    snprintf(path, sizeof(path), "%s/%s/mq", names->dir, entry);
    name->head = stat(path, &st) != 0 && !strncmp(entry, "nvme", 4);
    name->disk = stat(path, &st) == 0 || name->head;
    name->found = true;
    if (name->gone_ns)
        name->previous_gone_ns = name->gone_ns;
    name->gone_ns = 0;
    snprintf(path, sizeof(path), "%s/%s/size", names->dir, entry);
    name->sectors = format_file(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 10) : 0;
    read_parts(names, entry, dev);
    snprintf(path, sizeof(path), "%s", entry);
    for (char *at = path; (at = strchr(at, '!'));) // sysfs writes "cciss/c0d0" with a !
        *at = '/';
    if (name->text && !strcmp(text_bytes(name->text), path))
        return;
    text_unref(name->text);
    name->text = text_from(path);
}

static const struct name *head_named(const struct block_names *names, const char *text) {
    for (uint32_t i = 0; i < names->n; i++)
        if (names->names[i].head && names->names[i].found && !strcmp(text_bytes(names->names[i].text), text))
            return &names->names[i];
    return NULL;
}

// nvme1c0n2 is the path through controller 0 to the disk nvme1n2. Its sysfs directory has no dev file.
static void read_paths(struct block_names *names) {
    char path[160], line[512], text[32];
    bool any = false;
    for (uint32_t i = 0; i < names->n && !any; i++)
        any = names->names[i].head && names->names[i].found;
    snprintf(path, sizeof(path), "%s/../../proc/diskstats", names->dir);
    FILE *stats = any ? fopen(path, "re") : NULL;
    while (stats && names->n_paths < PATHS_MAX && fgets(line, sizeof(line), stats)) {
        unsigned major, minor, disk, controller, space;
        if (sscanf(line, "%u %u nvme%uc%un%u ", &major, &minor, &disk, &controller, &space) != 5 || !major)
            continue;
        snprintf(text, sizeof(text), "nvme%un%u", disk, space);
        const struct name *head = head_named(names, text);
        if (head)
            names->paths[names->n_paths++] =
                (struct block_part){.dev = major << 20 | (minor & 0xfffff), .disk = head->dev};
    }
    if (stats)
        fclose(stats);
}

static void names_read(struct block_names *names, uint64_t now_ns) {
    names->read_ns = now_ns;
    names->n_parts = names->n_paths = 0;
    for (uint32_t i = 0; i < names->n; i++)
        names->names[i].found = false;
    DIR *dir = opendir(names->dir);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            read_one(names, entry->d_name);
    closedir(dir);
    read_paths(names);
    for (uint32_t i = 0; i < names->n; i++)
        if (!names->names[i].found && !names->names[i].gone_ns)
            names->names[i].gone_ns = now_ns;
}

bool block_names_refresh(struct block_names *names, uint64_t now_ns) {
    char path[160], seen[sizeof(names->seen)] = "";
    snprintf(path, sizeof(path), "%s/../kernel/uevent_seqnum", names->dir);
    if (format_file(path, seen, sizeof(seen)) <= 0)
        seen[0] = 0;
    if (names->read_ns && now_ns - names->read_ns <= REFRESH_NS && !strcmp(seen, names->seen))
        return false;
    memcpy(names->seen, seen, sizeof(seen));
    names_read(names, now_ns);
    return true;
}

const struct text *block_names_get(struct block_names *names, uint32_t dev, uint64_t now_ns) {
    struct name *name = name_find(names, dev);
    if (!name) {
        names_read(names, now_ns);
        name = name_find(names, dev);
    }
    if (!name) {
        name = name_add(names, dev);
        name->gone_ns = now_ns;
        name->text = text_printf("%u:%u", dev >> 20, dev & 0xfffff);
    }
    return name->text;
}

bool block_names_disk(const struct block_names *names, uint32_t i, uint32_t *dev) {
    for (uint32_t at = 0; at < names->n; at++)
        if (names->names[at].disk && !names->names[at].gone_ns && i-- == 0) {
            *dev = names->names[at].dev;
            return true;
        }
    return false;
}

size_t block_names_heads(const struct block_names *names, uint32_t *heads, size_t n) {
    size_t found = 0;
    for (uint32_t at = 0; at < names->n && found < n; at++)
        if (names->names[at].head && !names->names[at].gone_ns)
            heads[found++] = names->names[at].dev;
    return found;
}

static const struct name *name_of(const struct block_names *names, uint32_t dev) {
    return name_find((struct block_names *)names, dev);
}

uint64_t block_names_sectors(const struct block_names *names, uint32_t dev) {
    const struct name *name = name_of(names, dev);
    return name ? name->sectors : 0;
}

uint64_t block_names_gone(const struct block_names *names, uint32_t dev) {
    const struct name *name = name_of(names, dev);
    return name ? name->gone_ns : 0;
}

uint64_t block_names_previous_gone(const struct block_names *names, uint32_t dev) {
    const struct name *name = name_of(names, dev);
    return name ? name->previous_gone_ns : 0;
}

size_t block_names_parts(const struct block_names *names, const struct block_part **parts) {
    *parts = names->parts;
    return names->n_parts;
}

size_t block_names_paths(const struct block_names *names, const struct block_part **paths) {
    *paths = names->paths;
    return names->n_paths;
}
