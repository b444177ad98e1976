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

static void check_one(struct scan *scan, const struct filesystem_columns *at, const union cell *row) {
    const struct text *mount = scan_text(row, at->mount), *device = scan_text(row, at->device);
    double size = scan_num(row, at->size), available = scan_num(row, at->available);
    double inodes = scan_num(row, at->inodes), left = scan_num(row, at->free);
    enum severity severity;
    char what[160], who[96] = "", name[64];
    if (!mount || !(size >= SMALL_KIB))
        return;
    if (is_short(available, size, LITTLE_KIB, NONE_KIB, &severity))
        snprintf(what, sizeof(what), "%s of %s left (%.1f %%)", scan_show(scan, UNIT_KIB, available),
                 scan_show(scan, UNIT_KIB, size), 100 * available / size);
    else if (is_short(left, inodes, INFINITY, 1, &severity))
        snprintf(what, sizeof(what), "%.0f of %.0f inodes left, whatever room there is: too many files", left, inodes);
    else
        return;
    struct culprit culprit = {.pid = NAN, .device = device};
    struct top top = {.value = NAN};
    if (device)
        top = scan_writer(scan, device);
    if (!isnan(top.value)) {
        culprit = top.who;
        culprit.device = device;
        snprintf(who, sizeof(who), "; %s makes most of the writes on %s", scan_name(scan, &culprit, name, sizeof(name)),
                 text_bytes(device));
    }
    scan_report(scan, severity, scan_tail(text_bytes(mount), 47), &culprit, "the file system on %s is %sfull: %s%s%s",
                scan_tail(text_bytes(mount), 80), severity == SEVERITY_CRITICAL ? "" : "nearly ", what,
                severity == SEVERITY_CRITICAL ? ", writing to it fails" : "", who);
}

void check_filesystem_full(struct scan *scan) {
    const struct table *table = scan_table(scan, "filesystems");
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    struct filesystem_columns at = {
        table_column(def, "mount"),         table_column(def, "device"), table_column(def, "size_kib"),
        table_column(def, "available_kib"), table_column(def, "inodes"), table_column(def, "inodes_free"),
    };
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));)
        check_one(scan, &at, row);
}
