// Finds limits by walking the cgroup directories, a part of the walk per frame: each has one to four small files to
// read. The few cgroups with a limit are read in every frame.
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
#define AT_LIMIT_PCT 85       // the kernel's throttle slices and a frame do not align: less than 100 % is full use

enum { READ_IOS, WRITE_IOS, READ_BYTES, WRITE_BYTES, LIMIT_KINDS };

struct limit {
    char *cgroup; // path below the root
    uint32_t dev, walk;
    double max[LIMIT_KINDS];    // NAN: no limit
    double before[LIMIT_KINDS]; // NAN: unknown
    double rate[LIMIT_KINDS], stalled_us, wait_pct;
    uint64_t read_ns;
};

struct block_limits {
    char root[128]; // of the hierarchy; "": none
    bool v1;
    char **dirs; // still to be read
    size_t n_dirs, dirs_room;
    uint32_t walk; // ID of the current walk
    uint64_t walked_ns;
    struct limit rows[LIMITS_MAX];
    uint32_t n;
};

enum {
    L_CGROUP,
    L_DEVICE,
    L_FULL,
    L_READS,
    L_READS_MAX,
    L_WRITES,
    L_WRITES_MAX,
    L_READ_BYTES,
    L_READ_BYTES_MAX,
    L_WRITE_BYTES,
    L_WRITE_BYTES_MAX,
    L_WAIT,
    L_COLUMNS
};
static const uint16_t rate_columns[LIMIT_KINDS] = {L_READS, L_WRITES, L_READ_BYTES, L_WRITE_BYTES};

#define LIMIT_COLUMN(name, title, unit, width, text) NUMBER_COLUMN(name, title, unit, width, .help = (text))
static const struct column columns[L_COLUMNS] = {
    [L_CGROUP] = COLUMN_CGROUP(24, .help = "cgroup with the limit."),
    [L_DEVICE] = COLUMN_DEVICE(.help = HELP_DEVICE),
    [L_FULL] = LIMIT_COLUMN("of_limit_pct", "OF LIMIT", UNIT_PCT, 8, "Use in % of its tightest limit on this device."),
    [L_READS] = COLUMN_READS_PER_S(.help = "Reads of the cgroup per second, from its own counters."),
    [L_READS_MAX] = LIMIT_COLUMN("read_limit_per_s", "R MAX", UNIT_PER_S, 6, "Limit on reads per second."),
    [L_WRITES] = COLUMN_WRITES_PER_S(.help = "Writes of the cgroup per second, from its own counters."),
    [L_WRITES_MAX] = LIMIT_COLUMN("write_limit_per_s", "W MAX", UNIT_PER_S, 6, "Limit on writes per second."),
    [L_READ_BYTES] = COLUMN_READ_BYTES_PER_S(.help = "Bytes read per second."),
    [L_READ_BYTES_MAX] =
        LIMIT_COLUMN("read_limit_bytes_per_s", "RB MAX", UNIT_BYTES_PER_S, 8, "Limit on bytes read per second."),
    [L_WRITE_BYTES] = COLUMN_WRITE_BYTES_PER_S(.help = "Bytes written per second."),
    [L_WRITE_BYTES_MAX] =
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

// ---- files of a cgroup ----

static long cgroup_file(const struct block_limits *limits, const char *cgroup, const char *file, char *text,
                        size_t size) {
    char path[PATH_SIZE + 192];
    snprintf(path, sizeof(path), "%s%s/%s", limits->root, cgroup, file);
    return format_file(path, text, size);
}

// The rest of the line "MAJOR:MINOR WORD"; NULL: no such line. word may be "".
static const char *line_find(const char *text, uint32_t dev, const char *word) {
    char head[64];
    int length = snprintf(head, sizeof(head), "%u:%u %s", dev >> 20, dev & 0xfffff, word);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, head, (size_t)length))
            return line + length;
    return NULL;
}

// The number in "name=NUMBER"; NAN: "max", or missing.
static double number_find(const char *line, const char *name) {
    size_t length = strlen(name);
    for (const char *at = line; at && *at && *at != '\n'; at++)
        if (!strncmp(at, name, length) && at[length] == '=' && (at == line || at[-1] == ' '))
            return at[length + 1] >= '0' && at[length + 1] <= '9' ? strtod(at + length + 1, NULL) : NAN;
    return NAN;
}

static const char *const names1[LIMIT_KINDS] = {"read_iops", "write_iops", "read_bps", "write_bps"};
static const char *const names2[LIMIT_KINDS] = {"riops", "wiops", "rbps", "wbps"};
static const char *const counts2[LIMIT_KINDS] = {"rios", "wios", "rbytes", "wbytes"};

// Counters since the cgroup was created.
static void counts_read(const struct block_limits *limits, const struct limit *limit, double *out) {
    char text[16384];
    for (int i = 0; i < LIMIT_KINDS; i++)
        out[i] = NAN;
    if (!limits->v1) {
        bool read = cgroup_file(limits, limit->cgroup, "io.stat", text, sizeof(text)) > 0;
        const char *line = read ? line_find(text, limit->dev, "") : NULL;
        for (int i = 0; i < LIMIT_KINDS; i++)
            out[i] = number_find(line, counts2[i]);
        return;
    }
    static const char *const files[2] = {"blkio.throttle.io_serviced", "blkio.throttle.io_service_bytes"};
    for (int i = 0; i < LIMIT_KINDS; i++) {
        if (i % 2 == 0 && cgroup_file(limits, limit->cgroup, files[i / 2], text, sizeof(text)) <= 0)
            return;
        const char *at = line_find(text, limit->dev, i % 2 ? "Write " : "Read ");
        out[i] = at ? strtod(at, NULL) : NAN;
    }
}

// PSI some total in microseconds; NAN: not available in cgroup v1.
static double pressure_read(const struct block_limits *limits, const struct limit *limit) {
    char text[512];
    if (limits->v1 || cgroup_file(limits, limit->cgroup, "io.pressure", text, sizeof(text)) <= 0)
        return NAN;
    return strncmp(text, "some ", 5) ? NAN : number_find(text + 5, "total");
}

static void limit_read(struct block_limits *limits, struct limit *limit, uint64_t now_ns) {
    double now[LIMIT_KINDS], seconds = limit->read_ns ? (double)(now_ns - limit->read_ns) / 1e9 : NAN;
    counts_read(limits, limit, now);
    for (int i = 0; i < LIMIT_KINDS; i++) {
        // No counters exist before the cgroup's first I/O on the disk.
        double did = (isnan(now[i]) ? 0 : now[i]) - limit->before[i];
        limit->rate[i] = seconds > 0 && did >= 0 ? did / seconds : NAN;
        limit->before[i] = isnan(now[i]) ? 0 : now[i];
    }
    double stalled_us = pressure_read(limits, limit);
    double wait_pct = (stalled_us - limit->stalled_us) / seconds / 1e4; // NAN if either is NAN
    limit->wait_pct = wait_pct > 100 ? 100 : wait_pct;
    limit->stalled_us = stalled_us;
    limit->read_ns = now_ns;
}

// ---- the walk ----

static struct limit *limit_get(struct block_limits *limits, const char *cgroup, uint32_t dev) {
    for (uint32_t i = 0; i < limits->n; i++)
        if (limits->rows[i].dev == dev && !strcmp(limits->rows[i].cgroup, cgroup))
            return &limits->rows[i];
    if (limits->n == LIMITS_MAX)
        return NULL;
    struct limit *limit = &limits->rows[limits->n++];
    *limit = (struct limit){.cgroup = xstrdup(cgroup), .dev = dev, .stalled_us = NAN};
    for (int i = 0; i < LIMIT_KINDS; i++)
        limit->max[i] = limit->before[i] = NAN;
    return limit;
}

static void limit_found(struct block_limits *limits, const char *cgroup, uint32_t dev, int kind, double max) {
    struct limit *limit = isnan(max) ? NULL : limit_get(limits, cgroup, dev);
    if (!limit)
        return;
    if (limit->walk != limits->walk)
        for (int i = 0; i < LIMIT_KINDS; i++)
            limit->max[i] = NAN;
    limit->walk = limits->walk;
    limit->max[kind] = max;
}

static void lines_read(struct block_limits *limits, const char *cgroup, const char *text, int kind) {
    unsigned major, minor;
    int length;
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (sscanf(line, "%u:%u %n", &major, &minor, &length) < 2)
            continue;
        uint32_t dev = major << 20 | minor;
        for (int i = 0; i < LIMIT_KINDS && limits->v1 == false; i++)
            limit_found(limits, cgroup, dev, i, number_find(line + length, names2[i]));
        if (limits->v1)
            limit_found(limits, cgroup, dev, kind, strtod(line + length, NULL));
    }
}

static void dir_push(struct block_limits *limits, const char *cgroup, const char *name) {
    char path[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof(path), "%s%s%s", cgroup, name[0] ? "/" : "", name) >= sizeof(path))
        return;
    if (limits->n_dirs == limits->dirs_room) {
        limits->dirs_room = limits->dirs_room ? limits->dirs_room * 2 : 64;
        limits->dirs = xrealloc(limits->dirs, limits->dirs_room * sizeof(*limits->dirs));
    }
    limits->dirs[limits->n_dirs++] = xstrdup(path);
}

static void dir_read(struct block_limits *limits, const char *cgroup) {
    char text[4096], file[64], path[PATH_SIZE + 192];
    if (!limits->v1) {
        if (cgroup_file(limits, cgroup, "io.max", text, sizeof(text)) > 0)
            lines_read(limits, cgroup, text, 0);
    } else {
        for (int i = 0; i < LIMIT_KINDS; i++) {
            snprintf(file, sizeof(file), "blkio.throttle.%s_device", names1[i]);
            if (cgroup_file(limits, cgroup, file, text, sizeof(text)) > 0)
                lines_read(limits, cgroup, text, i);
        }
    }
    snprintf(path, sizeof(path), "%s%s", limits->root, cgroup);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            dir_push(limits, cgroup, entry->d_name);
    if (dir)
        closedir(dir);
}

static void walk_step(struct block_limits *limits, uint64_t now_ns) {
    if (!limits->n_dirs) {
        if (!limits->root[0] || (limits->walked_ns && now_ns < limits->walked_ns + WALK_NS))
            return;
        limits->walk++;
        dir_push(limits, "", "");
    }
    for (int i = 0; i < DIRS_PER_FRAME && limits->n_dirs; i++) {
        char *cgroup = limits->dirs[--limits->n_dirs];
        dir_read(limits, cgroup);
        free(cgroup);
    }
    if (limits->n_dirs)
        return;
    limits->walked_ns = now_ns;
    for (uint32_t i = limits->n; i-- > 0;) // limit removed, or cgroup removed
        if (limits->rows[i].walk != limits->walk) {
            free(limits->rows[i].cgroup);
            limits->rows[i] = limits->rows[--limits->n];
        }
}

// ---- interface ----

struct block_limits *block_limits_new(const char *cgroups) {
    static const struct {
        const char *below, *file;
    } places[] = {
        {"/blkio", "blkio.throttle.read_bps_device"}, {"", "cgroup.controllers"}, {"/unified", "cgroup.controllers"}};
    struct block_limits *limits = xcalloc(1, sizeof(*limits));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !limits->root[0]; i++) {
        char text[4096];
        snprintf(limits->root, sizeof(limits->root), "%s%s", cgroups, places[i].below);
        long length = cgroup_file(limits, "", places[i].file, text, sizeof(text));
        limits->v1 = i == 0;
        if (length < 0 || (i > 0 && !strstr(text, "io")))
            limits->root[0] = 0;
    }
    return limits;
}

void block_limits_free(struct block_limits *limits) {
    if (!limits)
        return;
    for (uint32_t i = 0; i < limits->n; i++)
        free(limits->rows[i].cgroup);
    while (limits->n_dirs)
        free(limits->dirs[--limits->n_dirs]);
    free(limits->dirs);
    free(limits);
}

void block_limits_read(struct block_limits *limits, uint64_t now_ns) {
    walk_step(limits, now_ns);
    for (uint32_t i = 0; i < limits->n; i++)
        limit_read(limits, &limits->rows[i], now_ns);
}

bool block_limits_apply(const struct block_limits *limits, uint32_t dev, enum block_op op, const char **cgroup) {
    const struct limit *only = NULL, *active = NULL;
    uint32_t n = 0, n_active = 0;
    int ios = op == BLOCK_READ ? READ_IOS : WRITE_IOS, bytes = op == BLOCK_READ ? READ_BYTES : WRITE_BYTES;
    for (uint32_t i = 0; i < limits->n; i++) {
        const struct limit *limit = &limits->rows[i];
        if (limit->dev != dev || (isnan(limit->max[ios]) && isnan(limit->max[bytes])))
            continue;
        n++;
        only = limit;
        if (limit->rate[ios] > 0) {
            n_active++;
            active = limit;
        }
    }
    const struct limit *its = n == 1 ? only : n_active == 1 ? active : NULL;
    *cgroup = !its ? NULL : its->cgroup[0] ? its->cgroup : "/";
    return n > 0;
}

static double fullness(const struct limit *limit) {
    double full = NAN;
    for (int i = 0; i < LIMIT_KINDS; i++)
        full = fmax(full, 100 * limit->rate[i] / limit->max[i]); // fmax ignores NAN
    return full;
}

void block_limits_fill(struct block_limits *limits, struct block_names *names, uint64_t now_ns, struct section *out) {
    struct table_builder *builder = table_builder_new(&block_limits_table);
    bool noted = false;
    for (uint32_t i = 0; i < limits->n; i++) {
        const struct limit *limit = &limits->rows[i];
        const struct text *device = block_names_get(names, limit->dev, now_ns);
        uint32_t row = table_builder_add(builder);
        table_builder_set_text(builder, row, L_CGROUP, text_from(limit->cgroup[0] ? limit->cgroup : "/"));
        table_builder_set_text(builder, row, L_DEVICE, text_ref(device));
        table_builder_set_num(builder, row, L_FULL, fullness(limit));
        for (int kind = 0; kind < LIMIT_KINDS; kind++) {
            table_builder_set_num(builder, row, rate_columns[kind], limit->rate[kind]);
            table_builder_set_num(builder, row, rate_columns[kind] + 1, limit->max[kind]);
        }
        table_builder_set_num(builder, row, L_WAIT, limit->wait_pct);
        if (noted || !(fullness(limit) >= AT_LIMIT_PCT))
            continue;
        char text[PATH_SIZE + 256];
        snprintf(text, sizeof(text),
                 "cgroup %s is throttled on %s: on a whole disk bios are traced after it, so total_us and io_total "
                 "exclude it",
                 limit->cgroup[0] ? limit->cgroup : "/", text_bytes(device));
        section_note(out, SEVERITY_INFO, "total_us", text, "none: the table io_limits shows the limit");
        noted = true;
    }
    section_table(out, table_builder_seal(builder));
    table_builder_free(builder);
}
