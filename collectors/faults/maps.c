// Parses /proc/PID/maps into ranges with names. A process may have 60,000 mappings: adjacent equal names are stored
// once, and lookup is a binary search.
#include "collectors/faults/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

#define LINE_MAX_BYTES 8192 // a path has at most 4,096 bytes, four times that with every byte escaped: then truncated

void fault_maps_free(struct fault_maps *maps) {
    free(maps->maps);
    free(maps->names);
    free(maps->tail);
    *maps = (struct fault_maps){0};
}

void fault_maps_clear(struct fault_maps *maps) {
    maps->count = maps->names_length = maps->tail_length = 0;
}

static void grow(char **bytes, size_t *room, size_t wanted) {
    if (wanted <= *room)
        return;
    *room = wanted * 2 > 4096 ? wanted * 2 : 4096;
    *bytes = xrealloc(*bytes, *room);
}

static bool hex(const char **at, const char *end, char stop, uint64_t *out) {
    const char *c = *at;
    uint64_t value = 0;
    for (; c < end && *c != stop; c++) {
        unsigned digit = *c >= '0' && *c <= '9' ? (unsigned)(*c - '0') : (unsigned)(*c - 'a') + 10;
        if (digit > 15)
            return false;
        value = value << 4 | digit;
    }
    if (c == *at || c == end)
        return false;
    *at = c + 1;
    *out = value;
    return true;
}

static void skip_word(const char **at, const char *end) {
    while (*at < end && **at != ' ')
        ++*at;
    while (*at < end && **at == ' ')
        ++*at;
}

static void name_set(struct fault_maps *maps, struct fault_map *map, const char *name, size_t length) {
    const struct fault_map *before = maps->count ? &maps->maps[maps->count - 1] : NULL;
    map->length = (uint32_t)length;
    if (before && before->length == length && !memcmp(maps->names + before->name, name, length)) {
        map->name = before->name;
        return;
    }
    grow(&maps->names, &maps->names_room, maps->names_length + length);
    map->name = (uint32_t)maps->names_length;
    memcpy(maps->names + maps->names_length, name, length);
    maps->names_length += length;
}

// "7f00-7f10 rw-p 00000000 fe:01 1234    /path"
static void line_parse(struct fault_maps *maps, const char *at, const char *end) {
    struct fault_map map = {0};
    if (!hex(&at, end, '-', &map.begin) || !hex(&at, end, ' ', &map.end) || map.end <= map.begin || end - at < 4)
        return;
    if (maps->count && map.begin < maps->maps[maps->count - 1].end) // the mappings changed during the read
        return;
    map.shared = at[3] == 's';
    for (int word = 0; word < 4; word++) // permissions, offset, device, inode
        skip_word(&at, end);
    if (!maps->names)
        grow(&maps->names, &maps->names_room, 1);
    name_set(maps, &map, at, (size_t)(end - at));
    if (maps->count == maps->room) {
        maps->room = maps->room ? maps->room * 2 : 64;
        maps->maps = xrealloc(maps->maps, maps->room * sizeof(*maps->maps));
    }
    maps->maps[maps->count++] = map;
}

void fault_maps_parse(struct fault_maps *maps, const char *bytes, size_t size) {
    const char *end = bytes + size;
    if (!size && maps->tail_length)
        line_parse(maps, maps->tail, maps->tail + maps->tail_length);
    if (!size)
        maps->tail_length = 0;
    while (bytes < end) {
        const char *eol = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t length = (size_t)((eol ? eol : end) - bytes);
        if (eol && !maps->tail_length) {
            line_parse(maps, bytes, eol);
        } else if (maps->tail_length + length <= LINE_MAX_BYTES) {
            grow(&maps->tail, &maps->tail_room, maps->tail_length + length);
            memcpy(maps->tail + maps->tail_length, bytes, length);
            maps->tail_length += length;
        }
        if (!eol)
            return;
        if (maps->tail_length)
            line_parse(maps, maps->tail, maps->tail + maps->tail_length);
        maps->tail_length = 0;
        bytes = eol + 1;
    }
}

int fault_maps_read(struct fault_maps *maps, int fd, size_t most) {
    char bytes[32768];
    size_t all = 0;
    ssize_t got;
    fault_maps_clear(maps);
    while (all < most && (got = read(fd, bytes, sizeof(bytes))) != 0) {
        if (got < 0)
            return -errno;
        fault_maps_parse(maps, bytes, (size_t)got);
        all += (size_t)got;
    }
    fault_maps_parse(maps, NULL, 0);
    return 0;
}

const struct fault_map *fault_maps_find(const struct fault_maps *maps, uint64_t address) {
    size_t low = 0, high = maps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (maps->maps[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < maps->count && maps->maps[low].begin <= address ? &maps->maps[low] : NULL;
}

const char *fault_map_name(const struct fault_maps *maps, const struct fault_map *map, size_t *length) {
    *length = map->length ? map->length : strlen("[anon]");
    return map->length ? maps->names + map->name : "[anon]";
}

static bool begins(const char *name, size_t length, const char *with) {
    size_t n = strlen(with);
    return length >= n && !memcmp(name, with, n);
}

const char *fault_map_kind(const struct fault_maps *maps, const struct fault_map *map) {
    const char *name = maps->names + map->name;
    size_t length = map->length;
    static const char *const kinds[][2] = {
        {"[heap]", "heap"},        {"[stack", "stack"},     {"[vdso]", "kernel"},  {"[vvar", "kernel"},
        {"[vsyscall]", "kernel"},  {"[uprobes]", "kernel"}, {"/memfd:", "shared"}, {"/SYSV", "shared"},
        {"/dev/shm/", "shared"},   {"/dev/zero", "shared"}, {"/dev/", "device"},   {"anon_inode:", "device"},
        {"[anon_shmem", "shared"},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (begins(name, length, kinds[i][0]))
            return kinds[i][1];
    if (length && name[0] != '[')
        return "file";
    return map->shared ? "shared" : "anon";
}
