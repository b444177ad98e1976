// File systems on disks that became read-only while ktop ran, or that the kernel made read-only after errors. Works on
// the text of mountinfo only: must never access a file system.
//
// A mount that is read-only by itself (a bind mount of a container) says nothing: the flag of the file system counts.
// Since Linux 6.14 ext4 keeps that flag after errors, and shows the option emergency_ro instead.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/filesystems/filesystems.h"
#include "model/columns.h"
#include "model/mem.h"
#include "model/table.h"

#define KNOWN_MAX 256

enum { MOUNT, TYPE, DEVICE, ERRORS, SINCE, COLUMNS };

static const struct column columns[COLUMNS] = {
    [MOUNT] = TEXT_COLUMN("mount", "MOUNT", 24, .help = "Mount point (the shortest path)."),
    [TYPE] = TEXT_COLUMN("type", "TYPE", 8, .help = "Type of file system."),
    [DEVICE] = TEXT_COLUMN("device", "DEVICE", 8, .help = "Block device that it is on."),
    [ERRORS] = {.name = "after_errors",
                .title = "ERRORS",
                .help = "1: the kernel made it read-only after errors; 0: a remount, or unknown.",
                .unit = UNIT_COUNT,
                .width = 6},
    [SINCE] = NUMBER_COLUMN("since_s", "SINCE", UNIT_S, 7,
                            .help = "How long it has been read-only; none: since before ktop started."),
};

const struct table_def read_only_table = {
    .name = "read_only_mounts",
    .help = "File systems that became read-only.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct known { // a file system
    unsigned major, minor;
    char *path;
    const struct text *type, *device; // set once it is a row
    bool listed, flag, emergency;     // in the last text: the file system is read-only, or shows emergency_ro
    uint32_t mounts, mounts_before;   // that are read-only by themselves, in the last text and the one before
    bool read_only, errors;
    bool was_writable;
    uint64_t since_ns; // 0: before it was first listed
};

struct read_only {
    struct table_builder *builder;
    struct known known[KNOWN_MAX]; // more are not followed
    size_t n;
};

static bool has_option(const char *options, const char *option) {
    size_t length = strlen(option);
    for (const char *at = options; *at; at += strspn(at, ",")) {
        size_t n = strcspn(at, ",");
        if (n == length && !memcmp(at, option, n))
            return true;
        at += n;
    }
    return false;
}

static struct known *known_find(struct read_only *state, const struct filesystem_mount *mount) {
    for (size_t i = 0; i < state->n; i++)
        if (state->known[i].major == mount->major && state->known[i].minor == mount->minor)
            return &state->known[i];
    if (state->n == KNOWN_MAX)
        return NULL;
    state->known[state->n] = (struct known){.major = mount->major, .minor = mount->minor};
    return &state->known[state->n++];
}

static void known_drop(struct known *known) {
    free(known->path);
    text_unref(known->type);
    text_unref(known->device);
}

static void mount_take(struct known *known, const struct filesystem_mount *mount) {
    if (!known->listed || strlen(mount->path) < strlen(known->path)) {
        free(known->path);
        known->path = xstrdup(mount->path);
    }
    known->listed = true;
    known->flag |= mount->super_read_only;
    known->emergency |= has_option(mount->options, "emergency_ro");
    known->mounts += mount->mount_read_only;
    if ((known->flag || known->emergency) && !known->type) {
        known->type = text_from(mount->type);
        known->device = filesystem_device(mount);
    }
}

// A remount sets the flag of a mount and that of the file system; an error only that of the file system.
static void known_judge(struct known *known, uint64_t now_ns) {
    bool was = known->read_only;
    known->read_only = known->flag || known->emergency;
    if (!known->read_only) {
        known->was_writable = true;
        known->errors = false;
        known->since_ns = 0;
    } else if (known->emergency) {
        known->errors = true;
    }
    if (known->read_only && !was && known->was_writable) {
        known->since_ns = now_ns;
        known->errors |= known->mounts <= known->mounts_before;
    }
}

void read_only_update(struct read_only *state, char *text, uint64_t now_ns) {
    for (size_t i = 0; i < state->n; i++) {
        struct known *known = &state->known[i];
        known->mounts_before = known->mounts;
        known->listed = known->flag = known->emergency = false;
        known->mounts = 0;
    }
    for (char *line; (line = strsep(&text, "\n"));) {
        struct filesystem_mount mount;
        if (!filesystem_mount_parse(line, &mount) || strncmp(mount.source, "/dev/", 5) != 0)
            continue;
        struct known *known = known_find(state, &mount);
        if (known)
            mount_take(known, &mount);
    }
    size_t n = 0;
    for (size_t i = 0; i < state->n; i++) {
        known_judge(&state->known[i], now_ns);
        if (state->known[i].listed)
            state->known[n++] = state->known[i];
        else
            known_drop(&state->known[i]);
    }
    state->n = n;
}

struct table *read_only_rows(struct read_only *state, uint64_t now_ns) {
    table_builder_clear(state->builder);
    for (size_t i = 0; i < state->n; i++) {
        const struct known *known = &state->known[i];
        if (!known->read_only || !(known->since_ns || known->errors))
            continue;
        uint32_t slot = table_builder_add(state->builder);
        table_builder_set_text(state->builder, slot, MOUNT, text_from(known->path));
        table_builder_set_text(state->builder, slot, TYPE, text_ref(known->type));
        table_builder_set_text(state->builder, slot, DEVICE, text_ref(known->device));
        table_builder_set_num(state->builder, slot, ERRORS, known->errors);
        table_builder_set_num(state->builder, slot, SINCE,
                              known->since_ns ? (double)(now_ns - known->since_ns) / 1e9 : NAN);
    }
    return table_builder_seal(state->builder);
}

struct read_only *read_only_new(void) {
    struct read_only *state = xcalloc(1, sizeof(*state));
    state->builder = table_builder_new(&read_only_table);
    return state;
}

void read_only_free(struct read_only *state) {
    if (!state)
        return;
    for (size_t i = 0; i < state->n; i++)
        known_drop(&state->known[i]);
    table_builder_free(state->builder);
    free(state);
}
