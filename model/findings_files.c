// Rules about file systems: no room left for data, or for files.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

// Of a large disk a share of a few percent is room for weeks; of a small one little is left by nature.
#define LITTLE_PCT 2
#define LITTLE_KIB (2.0 * 1024 * 1024)
#define SMALL_KIB 16384 // the tmpfs of one file, say: full by nature
#define NONE_KIB 1024

struct filesystem_columns {
    int mount, device, size, available, inodes, free;
};

// Of the room, in whatever it counts.
static bool is_short(double left, double of, double little, double none, enum severity *severity) {
    if (!(of > 0) || isnan(left))
        return false;
    double pct = 100 * left / of;
    *severity = left < none ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    return pct < LITTLE_PCT && left < little;
}

static void check_one(struct rule_ctx *ctx, const struct filesystem_columns *at, const union cell *row) {
    const struct text *mount = text_at(row, at->mount), *device = text_at(row, at->device);
    double size = num_at(row, at->size), available = num_at(row, at->available);
    double inodes = num_at(row, at->inodes), left = num_at(row, at->free);
    enum severity severity;
    char what[160], cause[96] = "", name[64];
    if (!mount || !(size >= SMALL_KIB))
        return;
    if (is_short(available, size, LITTLE_KIB, NONE_KIB, &severity))
        snprintf(what, sizeof(what), "%s of %s left (%.1f %%)", ctx_format(ctx, UNIT_KIB, available),
                 ctx_format(ctx, UNIT_KIB, size), 100 * available / size);
    else if (is_short(left, inodes, INFINITY, 1, &severity))
        snprintf(what, sizeof(what), "%.0f of %.0f inodes left, whatever room there is: too many files", left, inodes);
    else
        return;
    struct culprit culprit = {.pid = NAN, .device = device};
    struct heaviest top = {.value = NAN};
    if (device)
        top = ctx_writer(ctx, device);
    if (!isnan(top.value)) {
        culprit = top.culprit;
        culprit.device = device;
        snprintf(cause, sizeof(cause), "; %s makes most of the writes on %s",
                 culprit_name(&culprit, name, sizeof(name)), text_bytes(device));
    }
    ctx_report(ctx, severity, path_tail(text_bytes(mount), 47), &culprit, "the file system on %s is %sfull: %s%s%s",
               path_tail(text_bytes(mount), 80), severity == SEVERITY_CRITICAL ? "" : "nearly ", what,
               severity == SEVERITY_CRITICAL ? ", writing to it fails" : "", cause);
}

static void check_filesystem_full(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, filesystems));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    struct filesystem_columns at = {
        COL(def, filesystems, mount),         COL(def, filesystems, device), COL(def, filesystems, size_kib),
        COL(def, filesystems, available_kib), COL(def, filesystems, inodes), COL(def, filesystems, inodes_free),
    };
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));)
        check_one(ctx, &at, row);
}

const struct rule rule_filesystem_full = {
    .kind = "filesystem_full", .resource = "filesystem", .pane = "disk", .check = check_filesystem_full};
