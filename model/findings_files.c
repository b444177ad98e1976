// Rules about file systems: no space or no inodes left, the files that take it, and read-only ones.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

// A few percent of a large disk last for weeks; a small one has little space anyway. A tmpfs for a single file, for
// example, is always full. A file system is filling if it is mostly full and will be full soon.

struct filesystem_columns {
    int mount, device, size, available, inodes, free, fill;
};

// For KiB and inodes.
static bool is_short(double left, double of, double little, double none, enum severity *severity) {
    if (!(of > 0) || isnan(left))
        return false;
    double pct = 100 * left / of;
    *severity = left < none ? SEVERITY_CRITICAL : SEVERITY_WARNING;
    return pct < LIMIT(filesystem_full, left_pct) && left < little;
}

// The open file on that file system that grows most, or, with `deleted`, the largest one without a name. NULL: none.
static const union cell *file_of(struct rule_ctx *ctx, const struct text *mount, bool deleted) {
    const struct table *table = ctx_table(ctx, IN(tables, filesystem_files)), *tasks;
    const struct table_def *def = table ? table_def(table) : NULL;
    const union cell *top = NULL;
    double most = 0, most_cpu = 0;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *on = text_at(row, COL(def, filesystem_files, mount));
        double value =
            num_at(row, deleted ? COL(def, filesystem_files, size_kib) : COL(def, filesystem_files, growth_kib_per_s));
        if (!on || text_compare(on, mount) || !(value > 0) || value < most ||
            (deleted && !(num_at(row, COL(def, filesystem_files, deleted)) > 0)))
            continue;
        // Of several processes that have it open, the one that runs writes it.
        tasks = frame_table(ctx->frame, IN(tables, tasks));
        const union cell *task = task_row(tasks, num_at(row, COL(def, filesystem_files, pid)));
        double cpu = task ? num_at(task, COL(table_def(tasks), tasks, cpu_pct)) : 0;
        if (top && value == most && !(cpu > most_cpu))
            continue;
        most = value;
        most_cpu = cpu;
        top = row;
    }
    return top;
}

#define FILLERS_MAX 16
#define FILLED_LEAST_KIB 16384

// The task that wrote most to files in a frame. It may have ended.
struct filler {
    double pid, kib; // pid NAN: none
    char comm[32];
};

// What the rule keeps of earlier frames.
struct fillers {
    struct {
        char mount[48];            // "": unused
        double available, pending; // pending: was taken in the last frame, by a task that is not found yet
        struct filler by;          // what took the last large piece
    } on[FILLERS_MAX];
};

// A process that waits for an ended child takes over what that wrote: then the child is meant.
static struct filler filler_now(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, tasks));
    const struct table_def *def = table ? table_def(table) : NULL;
    struct filler most = {.pid = NAN, .kib = 0};
    double seconds = ctx_table_s(ctx, IN(tables, tasks));
    bool most_ended = false;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        double kib = num_at(row, COL(def, tasks, write_bytes_per_s)) * seconds / 1024;
        const struct text *comm = text_at(row, COL(def, tasks, comm));
        bool ended = !isnan(num_at(row, COL(def, tasks, ended_s)));
        if (!comm ||
            !(kib > most.kib * (ended == most_ended ? 1
                                : ended             ? 0.9
                                                    : 1 / 0.9)) ||
            ctx_is_kernel_thread(ctx, num_at(row, COL(def, tasks, pid))))
            continue;
        most_ended = ended;
        most.pid = num_at(row, COL(def, tasks, pid));
        most.kib = kib;
        snprintf(most.comm, sizeof(most.comm), "%s", text_bytes(comm));
    }
    return most;
}

// Follows the space that is left; NULL: it is unknown which task took much of it. The report of a task that has ended
// may come a frame later.
static const struct filler *filler_of(struct rule_ctx *ctx, struct fillers *fillers, const char *mount,
                                      double available) {
    size_t i = 0;
    while (i < FILLERS_MAX && fillers->on[i].mount[0] && strcmp(fillers->on[i].mount, mount) != 0)
        i++;
    if (i == FILLERS_MAX || isnan(available))
        return NULL;
    if (!fillers->on[i].mount[0]) {
        snprintf(fillers->on[i].mount, sizeof(fillers->on[i].mount), "%s", mount);
        fillers->on[i].available = available;
        fillers->on[i].by.pid = NAN;
    }
    double taken = fillers->on[i].available - available;
    bool again = taken < FILLED_LEAST_KIB && fillers->on[i].pending > 0;
    if (again)
        taken = fillers->on[i].pending;
    fillers->on[i].available = available;
    fillers->on[i].pending = 0;
    if (taken >= FILLED_LEAST_KIB) {
        const struct filler now = filler_now(ctx);
        bool fits = now.kib >= taken / 2 && now.kib <= taken * 2;
        if (fits)
            fillers->on[i].by = now;
        fillers->on[i].pending = fits || again ? 0 : taken;
    } else if (-taken >= FILLED_LEAST_KIB) { // it has room again
        fillers->on[i].by.pid = NAN;
    }
    return isnan(fillers->on[i].by.pid) ? NULL : &fillers->on[i].by;
}

// The process that fills it: by its open file, else by what it writes to the disk.
static struct culprit writer_of(struct rule_ctx *ctx, const struct text *mount, const struct text *device, char *out,
                                size_t size) {
    struct culprit culprit = {.pid = NAN, .device = device};
    const union cell *row = file_of(ctx, mount, false);
    char name[64];
    out[0] = '\0';
    if (row) {
        const struct table_def *def = table_def(frame_table(ctx->frame, IN(tables, filesystem_files)));
        const struct text *file = text_at(row, COL(def, filesystem_files, file));
        culprit.pid = num_at(row, COL(def, filesystem_files, pid));
        culprit.comm = text_at(row, COL(def, filesystem_files, comm));
        snprintf(out, size, "; %s writes %s/s to %s%s (%s)", culprit_name(&culprit, name, sizeof(name)),
                 ctx_format(ctx, UNIT_KIB, num_at(row, COL(def, filesystem_files, growth_kib_per_s))),
                 num_at(row, COL(def, filesystem_files, deleted)) > 0 ? "the deleted file " : "",
                 file ? path_tail(text_bytes(file), 100) : "?",
                 ctx_format(ctx, UNIT_KIB, num_at(row, COL(def, filesystem_files, size_kib))));
        return culprit;
    }
    struct heaviest top = {.value = NAN};
    if (device)
        top = ctx_writer(ctx, device);
    if (isnan(top.value))
        return culprit;
    culprit = top.culprit;
    culprit.device = device;
    snprintf(out, size, "; %s writes most on %s", culprit_name(&culprit, name, sizeof(name)), text_bytes(device));
    return culprit;
}

// Where it is unknown which process filled it: the one whose calls fail most, though perhaps on another file system.
static void refused_take(struct rule_ctx *ctx, struct culprit *culprit, char *out, size_t size) {
    struct storm_row failing;
    char name[64];
    if (!ctx_storm(ctx, "no_space", true, &failing))
        return;
    culprit->pid = failing.culprit.pid;
    culprit->comm = failing.culprit.comm;
    snprintf(out, size, "; %s of %s fails with ENOSPC %s times per second",
             failing.detail ? text_bytes(failing.detail) : "a call", culprit_name(culprit, name, sizeof(name)),
             ctx_format(ctx, UNIT_PER_S, failing.per_s));
}

// The process that created most files, else one whose calls fail because none can be created.
static struct culprit creator_of(struct rule_ctx *ctx, const struct text *mount, const struct text *device, char *out,
                                 size_t size) {
    struct culprit culprit = {.pid = NAN, .device = device};
    const struct table *table = ctx_table(ctx, IN(tables, file_creators));
    const struct table_def *def = table ? table_def(table) : NULL;
    const union cell *top = NULL;
    double most = 0;
    size_t cursor = 0;
    char name[64];
    out[0] = '\0';
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *on = text_at(row, COL(def, file_creators, mount));
        double files = num_at(row, COL(def, file_creators, files));
        if (!on || text_compare(on, mount) || !(files > most))
            continue;
        most = files;
        top = row;
    }
    if (top) {
        const struct text *directory = text_at(top, COL(def, file_creators, directory));
        double all = num_at(top, COL(def, file_creators, all_files));
        const char *in = directory ? path_tail(text_bytes(directory), 80) : "?";
        // Of a shell's loop, each may be made by another process.
        if (most < all * LIMIT(filesystem_full, creator_pct) / 100) {
            snprintf(out, size, "; many processes created %.0f of them just now, the latest in %s", all, in);
            return culprit;
        }
        culprit.pid = num_at(top, COL(def, file_creators, pid));
        culprit.comm = text_at(top, COL(def, file_creators, comm));
        snprintf(out, size, "; %s created %.0f of the %.0f latest ones, in %s",
                 culprit_name(&culprit, name, sizeof(name)), most, all, in);
    } else {
        refused_take(ctx, &culprit, out, size);
    }
    return culprit;
}

// By its open file or by what it writes; else by the size of what it wrote before it closed the file or ended.
static void writer_report(struct rule_ctx *ctx, const union cell *row, const struct filesystem_columns *at,
                          const struct filler *filler, enum severity severity, const char *sentence) {
    const struct text *mount = text_at(row, at->mount), *comm = NULL;
    char cause[256], name[64];
    struct culprit culprit = writer_of(ctx, mount, text_at(row, at->device), cause, sizeof(cause));
    if (isnan(culprit.pid) && filler) {
        culprit.pid = filler->pid;
        culprit.comm = comm = text_from(filler->comm);
        snprintf(cause, sizeof(cause), "; %s wrote %s just before", culprit_name(&culprit, name, sizeof(name)),
                 ctx_format(ctx, UNIT_KIB, filler->kib));
    }
    if (isnan(culprit.pid) && severity == SEVERITY_CRITICAL)
        refused_take(ctx, &culprit, cause, sizeof(cause));
    ctx_report(ctx, severity, path_tail(text_bytes(mount), 47), &culprit, "%s%s", sentence, cause);
    text_unref(comm);
}

// Nearly full, or filled so fast, not only by a short copy, that it will be soon.
static bool fills_up(struct rule_ctx *ctx, const char *key, double used_pct, double lasts_s) {
    if (lasts_s <= LIMIT(filesystem_full, full_soon_s) && ctx_duration_s(ctx, key) >= LIMIT(filesystem_full, fills_s))
        return true;
    return lasts_s <= LIMIT(filesystem_full, full_in_s) && used_pct >= LIMIT(filesystem_full, used_pct);
}

static void check_one(struct rule_ctx *ctx, const struct filesystem_columns *at, const union cell *row,
                      const struct filler *filler) {
    const struct text *mount = text_at(row, at->mount), *device = text_at(row, at->device);
    double size = num_at(row, at->size), available = num_at(row, at->available);
    double inodes = num_at(row, at->inodes), left = num_at(row, at->free);
    enum severity severity;
    char what[160], sentence[400], cause[256];
    double fill = num_at(row, at->fill), lasts_s = fill > 0 ? available / fill : INFINITY;
    const char *path = path_tail(text_bytes(mount), 80);
    if (is_short(available, size, LIMIT(filesystem_full, left_kib), LIMIT(filesystem_full, critical_left_kib),
                 &severity)) {
        snprintf(what, sizeof(what), "%s of %s left (%.1f %%)", ctx_format(ctx, UNIT_KIB, available),
                 ctx_format(ctx, UNIT_KIB, size), 100 * available / size);
        snprintf(sentence, sizeof(sentence), "the file system on %s is %sfull: %s%s", path,
                 severity == SEVERITY_CRITICAL ? "" : "nearly ", what,
                 severity == SEVERITY_CRITICAL ? ", writes fail" : "");
        writer_report(ctx, row, at, filler, severity, sentence);
    } else if (is_short(left, inodes, INFINITY, 1, &severity)) {
        struct culprit culprit = creator_of(ctx, mount, device, cause, sizeof(cause));
        ctx_report(ctx, severity, path_tail(text_bytes(mount), 47), &culprit,
                   "the file system on %s is %sfull: %.0f of %.0f inodes left: too many files%s%s", path,
                   severity == SEVERITY_CRITICAL ? "" : "nearly ", left, inodes,
                   severity == SEVERITY_CRITICAL ? ", no file can be created" : "", cause);
    } else if (fills_up(ctx, path_tail(text_bytes(mount), 47), 100 * (1 - available / size), lasts_s)) {
        snprintf(sentence, sizeof(sentence),
                 "the file system on %s will be full in %.0f s at %s/s: %s of %s left (%.1f %%)", path, lasts_s,
                 ctx_format(ctx, UNIT_KIB, fill), ctx_format(ctx, UNIT_KIB, available), ctx_format(ctx, UNIT_KIB, size),
                 100 * available / size);
        writer_report(ctx, row, at, filler, SEVERITY_WARNING, sentence);
    }
}

static void check_filesystem_full(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, filesystems));
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    struct filesystem_columns at = {
        COL(def, filesystems, mount),          COL(def, filesystems, device), COL(def, filesystems, size_kib),
        COL(def, filesystems, available_kib),  COL(def, filesystems, inodes), COL(def, filesystems, inodes_free),
        COL(def, filesystems, fill_kib_per_s),
    };
    struct fillers *fillers = ctx_state(ctx, sizeof(*fillers));
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        const struct text *mount = text_at(row, at.mount);
        if (mount && num_at(row, at.size) >= LIMIT(filesystem_full, size_kib))
            check_one(ctx, &at, row,
                      filler_of(ctx, fillers, path_tail(text_bytes(mount), 47), num_at(row, at.available)));
    }
}

const struct rule rule_filesystem_full = {.kind = "filesystem_full",
                                          .resource = "filesystem",
                                          .pane = "disk",
                                          .level = {.kind = LEVEL_ROW,
                                                    .what = "space left",
                                                    .of = IN(tables, filesystems),
                                                    .names = {IN(filesystems, available_kib)},
                                                    .falls = true},
                                          .check = check_filesystem_full};

// ---- deleted files ----

// A deleted file takes space that du(1) does not find.
static void check_deleted_file(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, filesystems)),
                       *files = ctx_table(ctx, IN(tables, filesystem_files));
    const struct table_def *def = table ? table_def(table) : NULL, *of = files ? table_def(files) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && files && (row = table_next(table, &cursor));) {
        const struct text *mount = text_at(row, COL(def, filesystems, mount));
        double size = num_at(row, COL(def, filesystems, size_kib)),
               available = num_at(row, COL(def, filesystems, available_kib));
        const union cell *file = mount && size >= LIMIT(deleted_file, size_kib) ? file_of(ctx, mount, true) : NULL;
        double takes = file ? num_at(file, COL(of, filesystem_files, size_kib)) : NAN;
        if (!(takes >= size * LIMIT(deleted_file, share_pct) / 100))
            continue;
        struct culprit culprit = {num_at(file, COL(of, filesystem_files, pid)),
                                  text_at(file, COL(of, filesystem_files, comm)),
                                  text_at(row, COL(def, filesystems, device))};
        const struct text *name = text_at(file, COL(of, filesystem_files, file));
        double used_pct = 100 * (1 - available / size);
        char who[64];
        ctx_report(
            ctx,
            available < LIMIT(deleted_file, critical_left_kib)  ? SEVERITY_CRITICAL
            : used_pct >= LIMIT(deleted_file, warning_used_pct) ? SEVERITY_WARNING
                                                                : SEVERITY_INFO,
            path_tail(text_bytes(mount), 47), &culprit,
            "%s keeps the deleted file %s open: it takes %s of %s on %s, which is %.0f %% full; du does not count it",
            culprit_name(&culprit, who, sizeof(who)), name ? path_tail(text_bytes(name), 100) : "?",
            ctx_format(ctx, UNIT_KIB, takes), ctx_format(ctx, UNIT_KIB, size), path_tail(text_bytes(mount), 80),
            used_pct);
    }
}

const struct rule rule_deleted_file = {.kind = "deleted_file",
                                       .resource = "filesystem",
                                       .pane = "disk",
                                       .level = {.kind = LEVEL_ROW,
                                                 .what = "space left",
                                                 .of = IN(tables, filesystems),
                                                 .names = {IN(filesystems, available_kib)},
                                                 .falls = true},
                                       .check = check_deleted_file};

// ---- memory in tmpfs ----

// Files in tmpfs are memory that belongs to no process.
static void tmpfs_check(struct rule_ctx *ctx, const struct table_def *def, const union cell *row, double total) {
    const struct text *mount = text_at(row, COL(def, filesystems, mount)),
                      *type = text_at(row, COL(def, filesystems, type));
    double fill = num_at(row, COL(def, filesystems, fill_kib_per_s)),
           used = num_at(row, COL(def, filesystems, size_kib)) - num_at(row, COL(def, filesystems, available_kib));
    double memory = ctx_series(ctx, IN(series, mem_available_kib)), lasts_s = fill > 0 ? memory / fill : INFINITY;
    char cause[256];
    if (!mount || !type || strcmp(text_bytes(type), "tmpfs") != 0)
        return;
    const char *path = path_tail(text_bytes(mount), 47);
    if (lasts_s <= LIMIT(tmpfs_memory, lasts_s) && ctx_duration_s(ctx, path) >= LIMIT(tmpfs_memory, fills_s)) {
        struct culprit culprit = writer_of(ctx, mount, NULL, cause, sizeof(cause));
        ctx_report(ctx, SEVERITY_WARNING, path, &culprit,
                   "files on %s (tmpfs) take memory at %s/s, %s so far: memory lasts %.0f s%s", path,
                   ctx_format(ctx, UNIT_KIB, fill), ctx_format(ctx, UNIT_KIB, used), lasts_s, cause);
    } else if (used >= total * LIMIT(tmpfs_memory, share_pct) / 100) {
        ctx_report(ctx, SEVERITY_INFO, path, &NO_CULPRIT,
                   "files on %s (tmpfs) take %s of %s memory, which belongs to no process", path,
                   ctx_format(ctx, UNIT_KIB, used), ctx_format(ctx, UNIT_KIB, total));
    }
}

static void check_tmpfs_memory(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, filesystems));
    double total = ctx_series(ctx, IN(series, mem_total_kib));
    size_t cursor = 0;
    for (const union cell *row; table && total > 0 && (row = table_next(table, &cursor));)
        tmpfs_check(ctx, table_def(table), row, total);
}

const struct rule rule_tmpfs_memory = {.kind = "tmpfs_memory",
                                       .resource = "memory",
                                       .pane = "memory",
                                       .level = {.kind = LEVEL_ROW,
                                                 .what = "space left",
                                                 .of = IN(tables, filesystems),
                                                 .names = {IN(filesystems, available_kib)},
                                                 .falls = true},
                                       .check = check_tmpfs_memory};

// ---- read-only file systems ----

// A remount that nothing reverts was intended.
static void check_read_only_remount(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, read_only_mounts));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *mount = text_at(row, COL(def, read_only_mounts, mount)),
                          *type = text_at(row, COL(def, read_only_mounts, type)),
                          *device = text_at(row, COL(def, read_only_mounts, device));
        double since = num_at(row, COL(def, read_only_mounts, since_s));
        bool errors = num_at(row, COL(def, read_only_mounts, after_errors)) > 0;
        struct culprit culprit = {.pid = NAN, .device = device};
        char age[48] = "";
        if (!mount)
            continue;
        if (!isnan(since))
            snprintf(age, sizeof(age), " for %s", ctx_format(ctx, UNIT_S, since));
        ctx_report(ctx,
                   errors                                      ? SEVERITY_CRITICAL
                   : since >= LIMIT(read_only_remount, info_s) ? SEVERITY_INFO
                                                               : SEVERITY_WARNING,
                   path_tail(text_bytes(mount), 47), &culprit,
                   "the file system on %s (%s on %s) is read-only%s, %s: writes fail with EROFS",
                   path_tail(text_bytes(mount), 80), type ? text_bytes(type) : "?", device ? text_bytes(device) : "?",
                   age, errors ? "after errors" : "after a remount");
    }
}

const struct rule rule_read_only_remount = {
    .kind = "read_only_remount", .resource = "filesystem", .pane = "disk", .check = check_read_only_remount};
