// Block devices: /proc/diskstats, whole devices with any I/O since boot (as in iostat). Fixed properties (model,
// whether it is stacked) are read once, when a device is first seen. Kernel documents:
// Documentation/admin-guide/iostats.rst, Documentation/block/stat.rst.
#include "collectors/system/system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/columns.h"
#include "model/mem.h"

#define DISK_NAME_MAX 64
#define DISK_PATH_SIZE 160
#define SECTOR 512.0

// Fields after the name. Kernels before 4.18 end before the discards, before 5.5 before the flushes.
enum {
    F_READS,
    F_READ_MERGES,
    F_READ_SECTORS,
    F_READ_MS,
    F_WRITES,
    F_WRITE_MERGES,
    F_WRITE_SECTORS,
    F_WRITE_MS,
    F_IN_FLIGHT,
    F_BUSY_MS,
    F_WEIGHTED_MS,
    F_OLD_FIELDS,
    F_DISCARDS = F_OLD_FIELDS,
    F_DISCARD_MERGES,
    F_DISCARD_SECTORS,
    F_DISCARD_MS,
    F_FLUSHES,
    F_FLUSH_MS,
    F_FIELDS
};

enum {
    D_DEVICE,
    D_READS,
    D_WRITES,
    D_READ_BYTES,
    D_WRITE_BYTES,
    D_IN_FLIGHT,
    D_UTIL,
    D_QUEUE_LENGTH,
    D_READ_WAIT,
    D_WRITE_WAIT,
    D_READ_MERGES,
    D_WRITE_MERGES,
    D_DISCARDS,
    D_DISCARD_BYTES,
    D_DISCARD_WAIT,
    D_FLUSHES,
    D_FLUSH_WAIT,
    D_READ_SIZE,
    D_WRITE_SIZE,
    D_SIZE,
    D_MODEL,
    D_COLUMNS
};
#define SINCE_4_18 " (Linux 4.18 and later)."
#define SINCE_5_5 " (Linux 5.5 and later)."

static const struct column disk_columns[D_COLUMNS] = {
    [D_DEVICE] = COLUMN_DEVICE(.help = HELP_DEVICE),
    [D_READS] = COLUMN_READS_PER_S(.help = "Reads completed per second."),
    [D_WRITES] = COLUMN_WRITES_PER_S(.help = "Writes completed per second."),
    [D_READ_BYTES] = COLUMN_READ_BYTES_PER_S(.help = "Bytes read per second."),
    [D_WRITE_BYTES] = COLUMN_WRITE_BYTES_PER_S(.help = "Bytes written per second."),
    [D_IN_FLIGHT] = NUMBER_COLUMN("in_flight", "INFLT", UNIT_COUNT, 5, .help = "Requests in flight now."),
    [D_UTIL] =
        COLUMN_UTIL_PCT(.help = "Time with requests in flight; a device that serves many at once is not full at 100."),
    [D_QUEUE_LENGTH] =
        NUMBER_COLUMN("queue_length", "QLEN", UNIT_RATIO, 6, .help = "Average number of requests in flight."),
    [D_READ_WAIT] = NUMBER_COLUMN("read_wait_us", "RWAIT", UNIT_US, 8,
                                  .help = "Average latency of reads, queue and device (/proc/diskstats, 1 ms ticks)."),
    [D_WRITE_WAIT] =
        NUMBER_COLUMN("write_wait_us", "WWAIT", UNIT_US, 8,
                      .help = "Average latency of writes, queue and device (/proc/diskstats, 1 ms ticks)."),
    [D_READ_MERGES] = NUMBER_COLUMN("read_merges_per_s", "RMRG/s", UNIT_PER_S, 7, .help = "Reads merged per second."),
    [D_WRITE_MERGES] =
        NUMBER_COLUMN("write_merges_per_s", "WMRG/s", UNIT_PER_S, 7, .help = "Writes merged per second."),
    [D_DISCARDS] = COLUMN_DISCARDS_PER_S(.help = "Discards (TRIM) completed per second" SINCE_4_18),
    [D_DISCARD_BYTES] = NUMBER_COLUMN("discard_bytes_per_s", "DBYTES/s", UNIT_BYTES_PER_S, 8,
                                      .help = "Bytes discarded per second" SINCE_4_18),
    [D_DISCARD_WAIT] =
        NUMBER_COLUMN("discard_wait_us", "DWAIT", UNIT_US, 8, .help = "Average latency of discards" SINCE_4_18),
    [D_FLUSHES] = COLUMN_FLUSHES_PER_S(.help = "Cache flushes completed per second" SINCE_5_5),
    [D_FLUSH_WAIT] =
        NUMBER_COLUMN("flush_wait_us", "FWAIT", UNIT_US, 8, .help = "Average latency of cache flushes" SINCE_5_5),
    [D_READ_SIZE] = NUMBER_COLUMN("read_size_bytes", "R SIZE", UNIT_BYTES, 7, .help = "Average read size."),
    [D_WRITE_SIZE] = NUMBER_COLUMN("write_size_bytes", "W SIZE", UNIT_BYTES, 7, .help = "Average write size."),
    [D_SIZE] = NUMBER_COLUMN("size_bytes", "SIZE", UNIT_BYTES, 8, .help = "Size of the device."),
    [D_MODEL] = TEXT_COLUMN("model", "MODEL", 16, .help = "Vendor and model (/sys/block/*/device)."),
};

const struct table_def system_devices_table = {
    .name = "devices",
    .help = "Whole block devices that ever did I/O and are not empty, from /proc/diskstats",
    .columns = disk_columns,
    .n_columns = D_COLUMNS,
    .n_keys = 1,
};

struct disk {
    char name[DISK_NAME_MAX];
    bool seen;   // was in this reading
    bool whole;  // not a partition
    bool summed; // counts for the machine's totals: not stacked on other devices
    bool shown;  // has a row
    bool empty;  // has no size (a loop device with no file): not shown until it does I/O again
    bool moved;  // did something in the last interval
    uint32_t slot;
    uint64_t fields[F_FIELDS];
};

struct disks {
    struct proc_file file;
    struct table_builder *builder;
    struct disk *disks;
    size_t n, capacity, next; // next: guess of the file's next one
    size_t next_look;         // the device whose size is read next
    uint64_t last_ns;
};

static void *disks_create(void) {
    struct disks *disks = xcalloc(1, sizeof *disks);
    disks->file = PROC_FILE("/proc/diskstats");
    disks->builder = table_builder_new(&system_devices_table);
    return disks;
}

static void disks_destroy(void *state) {
    struct disks *disks = state;
    proc_file_close(&disks->file);
    table_builder_free(disks->builder);
    free(disks->disks);
    free(disks);
}

// A device's directory in sysfs: a '/' in its name (cciss/c0d0) is a '!' there.
static void disk_path(char *path, const char *name, const char *attribute) {
    int at = snprintf(path, DISK_PATH_SIZE, "/sys/block/");
    for (; *name && at < DISK_PATH_SIZE - 1; name++)
        path[at++] = *name == '/' ? '!' : *name;
    snprintf(path + at, (size_t)(DISK_PATH_SIZE - at), "%s", attribute);
}

// Loop, ram, dm and md devices repeat the I/O of others; a hidden device is one path of a multipath device.
static bool disk_is_stacked(const char *name) {
    static const char *const stacked[] = {"loop", "ram", "zram", "dm-", "md"};
    for (size_t i = 0; i < sizeof stacked / sizeof *stacked; i++)
        if (strncmp(name, stacked[i], strlen(stacked[i])) == 0)
            return true;
    char path[DISK_PATH_SIZE];
    uint64_t hidden = 0;
    disk_path(path, name, "/hidden");
    return proc_read_number(path, &hidden) && hidden;
}

static struct disk *disk_new(struct disks *disks, const char *name, size_t length) {
    if (disks->n == disks->capacity) {
        disks->capacity = disks->capacity ? disks->capacity * 2 : 32;
        disks->disks = xrealloc(disks->disks, disks->capacity * sizeof *disks->disks);
    }
    struct disk *disk = &disks->disks[disks->n++];
    *disk = (struct disk){0};
    memcpy(disk->name, name, length);
    for (size_t i = 0; i < F_FIELDS; i++)
        disk->fields[i] = PROC_MISSING;
    char path[DISK_PATH_SIZE];
    disk_path(path, disk->name, "");
    disk->whole = proc_exists(path);
    disk->summed = disk->whole && !disk_is_stacked(disk->name);
    return disk;
}

// The file's order is stable: the device is nearly always the one after the last.
static struct disk *disk_find(struct disks *disks, const char *name, size_t length) {
    for (size_t i = 0; i < disks->n; i++) {
        size_t at = (disks->next + i) % disks->n;
        struct disk *disk = &disks->disks[at];
        if (strncmp(disk->name, name, length) == 0 && disk->name[length] == '\0') {
            disks->next = at + 1;
            return disk;
        }
    }
    return disk_new(disks, name, length);
}

static double disk_size(const struct disk *disk) {
    char path[DISK_PATH_SIZE];
    uint64_t sectors;
    disk_path(path, disk->name, "/size");
    return proc_read_number(path, &sectors) ? (double)sectors * SECTOR : NAN;
}

// Loop devices, volumes and cards change their size, even to 0: sizes are read again in turn, one per sample.
static void disk_look(struct disks *disks, struct disk *disk) {
    double size = disk_size(disk);
    disk->empty = size == 0 && !disk->moved;
    if (!disk->shown)
        return;
    table_builder_set_num(disks->builder, disk->slot, D_SIZE, size);
    if (disk->empty) {
        table_builder_remove(disks->builder, disk->slot);
        disk->shown = false;
    }
}

static void disk_show(struct disks *disks, struct disk *disk) {
    char path[DISK_PATH_SIZE], vendor[64], model[64];
    disk->slot = table_builder_add(disks->builder);
    disk->shown = true;
    table_builder_set_text(disks->builder, disk->slot, D_DEVICE, text_from(disk->name));
    table_builder_set_num(disks->builder, disk->slot, D_SIZE, disk_size(disk));
    disk_path(path, disk->name, "/device/model");
    if (proc_read_line(path, model, sizeof model) < 0)
        return;
    disk_path(path, disk->name, "/device/vendor");
    if (proc_read_line(path, vendor, sizeof vendor) < 0 || strncmp(vendor, "0x", 2) == 0)
        vendor[0] = '\0'; // a PCI vendor ID is not a name
    int vendor_length = (int)strcspn(vendor, " "), model_length = (int)strlen(model);
    while (model_length && model[model_length - 1] == ' ')
        model_length--;
    if (model_length)
        table_builder_set_text(
            disks->builder, disk->slot, D_MODEL,
            text_printf("%.*s%s%.*s", vendor_length, vendor, vendor_length ? " " : "", model_length, model));
}

static void disk_forget(struct disks *disks, struct disk *disk) {
    if (disk->shown)
        table_builder_remove(disks->builder, disk->slot);
    size_t i = (size_t)(disk - disks->disks);
    memmove(disk, disk + 1, (disks->n - i - 1) * sizeof *disk);
    disks->n--;
}

static bool disk_did_io(const uint64_t *fields) {
    static const uint8_t ios[] = {F_READS, F_WRITES, F_IN_FLIGHT, F_DISCARDS, F_FLUSHES};
    for (size_t i = 0; i < sizeof ios; i++)
        if (fields[ios[i]] && fields[ios[i]] != PROC_MISSING)
            return true;
    return false;
}

// The sum per completed operation; NAN without completions.
static double disk_each(const uint64_t *before, const uint64_t *now, size_t sum, size_t count) {
    uint64_t all = counter_delta(before[sum], now[sum]), done = counter_delta(before[count], now[count]);
    return all == PROC_MISSING || done == PROC_MISSING || done == 0 ? NAN : (double)all / (double)done;
}

// Their average time, in us.
static double disk_wait(const uint64_t *before, const uint64_t *now, size_t ms, size_t count) {
    return disk_each(before, now, ms, count) * 1e3;
}

static void disk_fill(struct disks *disks, struct disk *disk, const uint64_t *now, double seconds,
                      struct system_sample *sample) {
    const uint64_t *before = disk->fields;
    double row[D_MODEL];
    row[D_READS] = counter_rate(before[F_READS], now[F_READS], seconds);
    row[D_WRITES] = counter_rate(before[F_WRITES], now[F_WRITES], seconds);
    row[D_READ_BYTES] = counter_rate(before[F_READ_SECTORS], now[F_READ_SECTORS], seconds) * SECTOR;
    row[D_WRITE_BYTES] = counter_rate(before[F_WRITE_SECTORS], now[F_WRITE_SECTORS], seconds) * SECTOR;
    // On some kernels it briefly falls below 0, which prints as nearly 2^32.
    row[D_IN_FLIGHT] = now[F_IN_FLIGHT] > INT32_MAX ? 0 : (double)now[F_IN_FLIGHT];
    row[D_UTIL] = fmin(counter_rate(before[F_BUSY_MS], now[F_BUSY_MS], seconds) / 10, 100);
    if (isnan(counter_rate(before[F_BUSY_MS], now[F_BUSY_MS], seconds)))
        row[D_UTIL] = NAN; // fmin would take the 100
    row[D_QUEUE_LENGTH] = counter_rate(before[F_WEIGHTED_MS], now[F_WEIGHTED_MS], seconds) / 1e3;
    row[D_READ_WAIT] = disk_wait(before, now, F_READ_MS, F_READS);
    row[D_WRITE_WAIT] = disk_wait(before, now, F_WRITE_MS, F_WRITES);
    row[D_READ_MERGES] = counter_rate(before[F_READ_MERGES], now[F_READ_MERGES], seconds);
    row[D_WRITE_MERGES] = counter_rate(before[F_WRITE_MERGES], now[F_WRITE_MERGES], seconds);
    row[D_DISCARDS] = counter_rate(before[F_DISCARDS], now[F_DISCARDS], seconds);
    row[D_DISCARD_BYTES] = counter_rate(before[F_DISCARD_SECTORS], now[F_DISCARD_SECTORS], seconds) * SECTOR;
    row[D_DISCARD_WAIT] = disk_wait(before, now, F_DISCARD_MS, F_DISCARDS);
    row[D_FLUSHES] = counter_rate(before[F_FLUSHES], now[F_FLUSHES], seconds);
    row[D_FLUSH_WAIT] = disk_wait(before, now, F_FLUSH_MS, F_FLUSHES);
    row[D_READ_SIZE] = disk_each(before, now, F_READ_SECTORS, F_READS) * SECTOR;
    row[D_WRITE_SIZE] = disk_each(before, now, F_WRITE_SECTORS, F_WRITES) * SECTOR;
    for (uint16_t i = D_READS; i <= D_WRITE_SIZE; i++)
        table_builder_set_num(disks->builder, disk->slot, i, row[i]);
    if (disk->summed && !isnan(row[D_READ_BYTES]) && !isnan(row[D_WRITE_BYTES])) {
        sample->series[SYS_DISK_READ] += row[D_READ_BYTES];
        sample->series[SYS_DISK_WRITE] += row[D_WRITE_BYTES];
    }
}

// "   7       0 loop0 0 0 0 …"
static void line_disk(struct disks *disks, const char *line, double seconds, struct system_sample *sample) {
    uint64_t numbers[2], now[F_FIELDS];
    for (size_t i = 0; i < F_FIELDS; i++)
        now[i] = PROC_MISSING;
    const char *at = line;
    if (proc_numbers(&at, numbers, 2) < 2)
        return;
    const char *name = at + strspn(at, " ");
    size_t length = strcspn(name, " \n");
    at = name + length;
    if (length == 0 || length >= DISK_NAME_MAX || proc_numbers(&at, now, F_FIELDS) < F_OLD_FIELDS)
        return;
    struct disk *disk = disk_find(disks, name, length);
    if (disk->seen) // a file that names it twice: the first counts
        return;
    disk->seen = true;
    if (disk->fields[F_READS] == PROC_MISSING) // first reading
        disk->empty = disk->whole && disk_size(disk) == 0;
    else
        disk->moved = memcmp(disk->fields, now, sizeof now) != 0;
    if (disk->whole && (disk->shown || (disk_did_io(now) && (disk->moved || !disk->empty)))) {
        if (!disk->shown)
            disk_show(disks, disk);
        disk_fill(disks, disk, now, seconds, sample);
    }
    memcpy(disk->fields, now, sizeof now);
}

static void disks_sample(void *state, struct system_sample *sample) {
    struct disks *disks = state;
    int error = proc_file_read(&disks->file, sample->buffer);
    double seconds = system_elapsed(&disks->last_ns, sample->now());
    if (error < 0)
        section_note(sample->out, SEVERITY_WARNING, "reads_per_s", "no block devices: /proc/diskstats is not readable",
                     "mount /proc; CONFIG_BLOCK");
    else if (seconds > 0)
        sample->series[SYS_DISK_READ] = sample->series[SYS_DISK_WRITE] = 0;
    for (size_t i = 0; i < disks->n; i++)
        disks->disks[i].seen = false;
    const char *end = sample->buffer->bytes + sample->buffer->length;
    disks->next = 0;
    for (const char *line = sample->buffer->bytes; line; line = proc_next_line(line, end))
        line_disk(disks, line, seconds, sample);
    for (size_t i = disks->n; i-- > 0;)
        if (!disks->disks[i].seen)
            disk_forget(disks, &disks->disks[i]);
    bool any_whole = false;
    for (size_t i = 0; i < disks->n && !any_whole; i++)
        any_whole = disks->disks[i].whole;
    if (disks->n && !any_whole && !proc_exists("/sys/block")) { // disks and partitions are indistinguishable
        section_note(sample->out, SEVERITY_WARNING, "reads_per_s", "no block devices: /sys is not mounted",
                     "mount -t sysfs sysfs /sys");
        sample->series[SYS_DISK_READ] = sample->series[SYS_DISK_WRITE] = NAN;
    }
    if (disks->n && sample->all)
        disk_look(disks, &disks->disks[disks->next_look++ % disks->n]);
    section_table(sample->out, table_builder_seal(disks->builder));
}

const struct system_part system_disk_part = {
    .name = "disk",
    .create = disks_create,
    .sample = disks_sample,
    .destroy = disks_destroy,
};
