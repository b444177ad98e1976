// Looking for limits: a walk through the control groups, a piece of it in each frame. Each has a small file or four to
// read, so the walk goes on from frame to frame; the few groups that have a limit are read in every one.
#include "collectors/block/limit.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"
#include "model/columns.h"
#include "model/mem.h"

#define PATH_SIZE 4096
#define LIMITS_MAX 64
#define DIRS_PER_FRAME 32
#define WALK_NS 5000000000ull // from the end of one walk to the next
#define AT_LIMIT_PCT 85       // slices of the kernel's clock and of a frame do not fit: less than all is full

enum { READ_IOS, WRITE_IOS, READ_BYTES, WRITE_BYTES, WHATS };

struct limit {
    char *group; // its path, below the root
    uint32_t dev, walk;
    double most[WHATS];   // NAN: none
    double before[WHATS]; // NAN: not known
    double rate[WHATS], waited_us, wait_pct;
    uint64_t read_ns;
};

struct block_limits {
    char root[128]; // of the hierarchy; "": there is none
    bool version1;
    char **dirs; // still to be looked at
    size_t n_dirs, dirs_room;
    uint32_t walk; // number of this walk
    uint64_t walked_ns;
    struct limit rows[LIMITS_MAX];
    uint32_t n;
};

enum {
    L_CGROUP,
    L_DEVICE,
    L_FULL,
    L_READS,
    L_READS_MOST,
    L_WRITES,
    L_WRITES_MOST,
    L_READ_BYTES,
    L_READ_BYTES_MOST,
    L_WRITE_BYTES,
    L_WRITE_BYTES_MOST,
    L_WAIT,
    L_COLUMNS
};
static const uint16_t rate_columns[WHATS] = {L_READS, L_WRITES, L_READ_BYTES, L_WRITE_BYTES};

#define LIMIT_COLUMN(name, title, unit, width, text) NUMBER_COLUMN(name, title, unit, width, .help = (text))
static const struct column columns[L_COLUMNS] = {
    [L_CGROUP] = COLUMN_CGROUP(24, .help = "cgroup with the limit."),
    [L_DEVICE] = COLUMN_DEVICE(.help = HELP_DEVICE),
    [L_FULL] = LIMIT_COLUMN("of_limit_pct", "OF LIMIT", UNIT_PCT, 8, "Use in % of its tightest limit on this device."),
    [L_READS] = COLUMN_READS_PER_S(.help = "Reads of the cgroup per second, from its own counters."),
    [L_READS_MOST] = LIMIT_COLUMN("read_limit_per_s", "R MAX", UNIT_PER_S, 6, "Limit on reads per second."),
    [L_WRITES] = COLUMN_WRITES_PER_S(.help = "Writes of the cgroup per second, from its own counters."),
    [L_WRITES_MOST] = LIMIT_COLUMN("write_limit_per_s", "W MAX", UNIT_PER_S, 6, "Limit on writes per second."),
    [L_READ_BYTES] = COLUMN_READ_BYTES_PER_S(.help = "Bytes read per second."),
    [L_READ_BYTES_MOST] =
        LIMIT_COLUMN("read_limit_bytes_per_s", "RB MAX", UNIT_BYTES_PER_S, 8, "Limit on bytes read per second."),
    [L_WRITE_BYTES] = COLUMN_WRITE_BYTES_PER_S(.help = "Bytes written per second."),
    [L_WRITE_BYTES_MOST] =
        LIMIT_COLUMN("write_limit_bytes_per_s", "WB MAX", UNIT_BYTES_PER_S, 8, "Limit on bytes written per second."),
    [L_WAIT] = LIMIT_COLUMN("io_wait_pct", "WAIT%", UNIT_PCT, 6,
                            "Share of the time some task of the cgroup was stalled on I/O of any device (v2 only)."),
};

const struct table_def block_limits_table = {
    .name = "io_limits",
    .help =
        "cgroups with an I/O limit, and their use of it. On a whole disk bios are traced after the throttling: it is "
        "in no latency, and the I/O has the name (throttled).",
    .columns = columns,
    .n_columns = L_COLUMNS,
    .n_keys = 2,
};

// ---- files of a group ----

static long group_file(const struct block_limits *limits, const char *group, const char *file, char *text,
                       size_t size) {
    char path[PATH_SIZE + 192];
    snprintf(path, sizeof(path), "%s%s/%s", limits->root, group, file);
    return format_file(path, text, size);
}

// The line that begins with the number of the device and the word, and what follows; NULL: none. word may be "".
static const char *line_of(const char *text, uint32_t dev, const char *word) {
    char head[64];
    int length = snprintf(head, sizeof(head), "%u:%u %s", dev >> 20, dev & 0xfffff, word);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, head, (size_t)length))
            return line + length;
    return NULL;
}

// The number behind "name=" in that line; NAN: it is "max", or not there.
static double number_of(const char *line, const char *name) {
    size_t length = strlen(name);
    for (const char *at = line; at && *at && *at != '\n'; at++)
        if (!strncmp(at, name, length) && at[length] == '=' && (at == line || at[-1] == ' '))
            return at[length + 1] >= '0' && at[length + 1] <= '9' ? strtod(at + length + 1, NULL) : NAN;
    return NAN;
}

static const char *const names1[WHATS] = {"read_iops", "write_iops", "read_bps", "write_bps"};
static const char *const names2[WHATS] = {"riops", "wiops", "rbps", "wbps"};
static const char *const counts2[WHATS] = {"rios", "wios", "rbytes", "wbytes"};

// What the group did since it was made.
static void counts_read(const struct block_limits *limits, const struct limit *limit, double *out) {
    char text[16384];
    for (int i = 0; i < WHATS; i++)
        out[i] = NAN;
    if (!limits->version1) {
        const char *line =
            group_file(limits, limit->group, "io.stat", text, sizeof(text)) > 0 ? line_of(text, limit->dev, "") : NULL;
        for (int i = 0; i < WHATS; i++)
            out[i] = number_of(line, counts2[i]);
        return;
    }
    static const char *const files[2] = {"blkio.throttle.io_serviced", "blkio.throttle.io_service_bytes"};
    for (int i = 0; i < WHATS; i++) {
        if (i % 2 == 0 && group_file(limits, limit->group, files[i / 2], text, sizeof(text)) <= 0)
            return;
        const char *at = line_of(text, limit->dev, i % 2 ? "Write " : "Read ");
        out[i] = at ? strtod(at, NULL) : NAN;
    }
}

// Microseconds in which some task waited; NAN: version 1 does not tell.
static double pressure_read(const struct block_limits *limits, const struct limit *limit) {
    char text[512];
    if (limits->version1 || group_file(limits, limit->group, "io.pressure", text, sizeof(text)) <= 0)
        return NAN;
    return strncmp(text, "some ", 5) ? NAN : number_of(text + 5, "total");
}

static void limit_read(struct block_limits *limits, struct limit *limit, uint64_t now_ns) {
    double now[WHATS], seconds = limit->read_ns ? (double)(now_ns - limit->read_ns) / 1e9 : NAN;
    counts_read(limits, limit, now);
    for (int i = 0; i < WHATS; i++) {
        // A group has no counters of a disk before its first I/O there.
        double did = (isnan(now[i]) ? 0 : now[i]) - limit->before[i];
        limit->rate[i] = seconds > 0 && did >= 0 ? did / seconds : NAN;
        limit->before[i] = isnan(now[i]) ? 0 : now[i];
    }
    double waited_us = pressure_read(limits, limit);
    double wait_pct = (waited_us - limit->waited_us) / seconds / 1e4; // NAN where one of them is
    limit->wait_pct = wait_pct > 100 ? 100 : wait_pct;
    limit->waited_us = waited_us;
    limit->read_ns = now_ns;
}

// ---- the walk ----

static struct limit *limit_of(struct block_limits *limits, const char *group, uint32_t dev) {
    for (uint32_t i = 0; i < limits->n; i++)
        if (limits->rows[i].dev == dev && !strcmp(limits->rows[i].group, group))
            return &limits->rows[i];
    if (limits->n == LIMITS_MAX)
        return NULL;
    struct limit *limit = &limits->rows[limits->n++];
    *limit = (struct limit){.group = xstrdup(group), .dev = dev, .waited_us = NAN};
    for (int i = 0; i < WHATS; i++)
        limit->most[i] = limit->before[i] = NAN;
    return limit;
}

static void limit_found(struct block_limits *limits, const char *group, uint32_t dev, int what, double most) {
    struct limit *limit = isnan(most) ? NULL : limit_of(limits, group, dev);
    if (!limit)
        return;
    if (limit->walk != limits->walk)
        for (int i = 0; i < WHATS; i++)
            limit->most[i] = NAN;
    limit->walk = limits->walk;
    limit->most[what] = most;
}

static void lines_read(struct block_limits *limits, const char *group, const char *text, int what) {
    unsigned major, minor;
    int length;
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (sscanf(line, "%u:%u %n", &major, &minor, &length) < 2)
            continue;
        uint32_t dev = major << 20 | minor;
        for (int i = 0; i < WHATS && limits->version1 == false; i++)
            limit_found(limits, group, dev, i, number_of(line + length, names2[i]));
        if (limits->version1)
            limit_found(limits, group, dev, what, strtod(line + length, NULL));
    }
}

static void dir_push(struct block_limits *limits, const char *group, const char *name) {
    char path[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof(path), "%s%s%s", group, name[0] ? "/" : "", name) >= sizeof(path))
        return;
    if (limits->n_dirs == limits->dirs_room) {
        limits->dirs_room = limits->dirs_room ? limits->dirs_room * 2 : 64;
        limits->dirs = xrealloc(limits->dirs, limits->dirs_room * sizeof(*limits->dirs));
    }
    limits->dirs[limits->n_dirs++] = xstrdup(path);
}

static void dir_look(struct block_limits *limits, const char *group) {
    char text[4096], file[64], path[PATH_SIZE + 192];
    if (!limits->version1) {
        if (group_file(limits, group, "io.max", text, sizeof(text)) > 0)
            lines_read(limits, group, text, 0);
    } else {
        for (int i = 0; i < WHATS; i++) {
            snprintf(file, sizeof(file), "blkio.throttle.%s_device", names1[i]);
            if (group_file(limits, group, file, text, sizeof(text)) > 0)
                lines_read(limits, group, text, i);
        }
    }
    snprintf(path, sizeof(path), "%s%s", limits->root, group);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            dir_push(limits, group, entry->d_name);
    if (dir)
        closedir(dir);
}

static void walk_on(struct block_limits *limits, uint64_t now_ns) {
    if (!limits->n_dirs) {
        if (!limits->root[0] || (limits->walked_ns && now_ns < limits->walked_ns + WALK_NS))
            return;
        limits->walk++;
        dir_push(limits, "", "");
    }
    for (int i = 0; i < DIRS_PER_FRAME && limits->n_dirs; i++) {
        char *group = limits->dirs[--limits->n_dirs];
        dir_look(limits, group);
        free(group);
    }
    if (limits->n_dirs)
        return;
    limits->walked_ns = now_ns;
    for (uint32_t i = limits->n; i-- > 0;) // gone, with the group or without
        if (limits->rows[i].walk != limits->walk) {
            free(limits->rows[i].group);
            limits->rows[i] = limits->rows[--limits->n];
        }
}

// ---- the outside ----

struct block_limits *block_limits_new(const char *cgroups) {
    static const struct {
        const char *below, *file;
    } places[] = {
        {"/blkio", "blkio.throttle.read_bps_device"}, {"", "cgroup.controllers"}, {"/unified", "cgroup.controllers"}};
    struct block_limits *limits = xcalloc(1, sizeof(*limits));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !limits->root[0]; i++) {
        char text[4096];
        snprintf(limits->root, sizeof(limits->root), "%s%s", cgroups, places[i].below);
        long length = group_file(limits, "", places[i].file, text, sizeof(text));
        limits->version1 = i == 0;
        if (length < 0 || (i > 0 && !strstr(text, "io")))
            limits->root[0] = 0;
    }
    return limits;
}

void block_limits_free(struct block_limits *limits) {
    if (!limits)
        return;
    for (uint32_t i = 0; i < limits->n; i++)
        free(limits->rows[i].group);
    while (limits->n_dirs)
        free(limits->dirs[--limits->n_dirs]);
    free(limits->dirs);
    free(limits);
}

void block_limits_read(struct block_limits *limits, uint64_t now_ns) {
    walk_on(limits, now_ns);
    for (uint32_t i = 0; i < limits->n; i++)
        limit_read(limits, &limits->rows[i], now_ns);
}

bool block_limits_hold(const struct block_limits *limits, uint32_t dev, enum block_op op, const char **group) {
    const struct limit *only = NULL, *active = NULL;
    uint32_t n = 0, n_active = 0;
    int ios = op == BLOCK_READ ? READ_IOS : WRITE_IOS, bytes = op == BLOCK_READ ? READ_BYTES : WRITE_BYTES;
    for (uint32_t i = 0; i < limits->n; i++) {
        const struct limit *limit = &limits->rows[i];
        if (limit->dev != dev || (isnan(limit->most[ios]) && isnan(limit->most[bytes])))
            continue;
        n++;
        only = limit;
        if (limit->rate[ios] > 0) {
            n_active++;
            active = limit;
        }
    }
    const struct limit *its = n == 1 ? only : n_active == 1 ? active : NULL;
    *group = !its ? NULL : its->group[0] ? its->group : "/";
    return n > 0;
}

static double fullness(const struct limit *limit) {
    double full = NAN;
    for (int i = 0; i < WHATS; i++)
        full = fmax(full, 100 * limit->rate[i] / limit->most[i]); // NAN gives way
    return full;
}

void block_limits_fill(struct block_limits *limits, struct block_names *names, uint64_t now_ns, struct section *out) {
    struct table_builder *builder = table_builder_new(&block_limits_table);
    bool noted = false;
    for (uint32_t i = 0; i < limits->n; i++) {
        const struct limit *limit = &limits->rows[i];
        const struct text *device = block_names_get(names, limit->dev, now_ns);
        uint32_t row = table_builder_add(builder);
        table_builder_set_text(builder, row, L_CGROUP, text_from(limit->group[0] ? limit->group : "/"));
        table_builder_set_text(builder, row, L_DEVICE, text_ref(device));
        table_builder_set_num(builder, row, L_FULL, fullness(limit));
        for (int what = 0; what < WHATS; what++) {
            table_builder_set_num(builder, row, rate_columns[what], limit->rate[what]);
            table_builder_set_num(builder, row, rate_columns[what] + 1, limit->most[what]);
        }
        table_builder_set_num(builder, row, L_WAIT, limit->wait_pct);
        if (noted || !(fullness(limit) >= AT_LIMIT_PCT))
            continue;
        char text[PATH_SIZE + 256];
        snprintf(text, sizeof(text),
                 "cgroup %s is throttled on %s: on a whole disk bios are traced after it, so total_us and io_total "
                 "exclude it",
                 limit->group[0] ? limit->group : "/", text_bytes(device));
        section_note(out, SEVERITY_INFO, "total_us", text, "none: the table io_limits shows the limit");
        noted = true;
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}
