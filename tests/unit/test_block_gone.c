// Removed disks and reused dev_t: what is kept and what is reported. Paths of multipath disks.
#include "tests/unit/forge.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/block/table.h"
#include "model/mem.h"
#include "tests/unit/forge_files.h"

#define SECOND_NS 1000000000ull
#define SDA (8u << 20)
#define SDB (8u << 20 | 16)

static char root[64];
static struct block_stat *stats;
static struct block_match *match;
static struct block_names *names;

static void all_new(const char *dir, block_done_fn done, void *ctx) {
    stats = block_stat_new();
    match = block_match_new(64, done, ctx);
    names = block_names_new(dir);
}

static void all_free(void) {
    block_stat_free(stats);
    block_names_free(names);
    block_match_free(match);
}

static void fill(uint64_t now_ns) {
    block_fill_disks(names, stats, match, now_ns);
}

static void disk(const char *name, const char *number) {
    char path[128];
    snprintf(path, sizeof(path), "%s/mq/0", name); // request-based
    forge_file(root, path, "");
    snprintf(path, sizeof(path), "%s/dev", name);
    forge_file(root, path, number);
}

static void two_disks(void) {
    all_new(root, NULL, NULL);
    disk("sda", "8:0\n");
    disk("sdb", "8:16\n");
    fill(SECOND_NS);
}

static void pull_out(const char *name) {
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s/%s", root, name);
    assert_int_equal(system(command), 0);
}

static void write_of(uint32_t dev, int error) {
    struct block_io io = {.dev = dev,
                          .tid = 7,
                          .comm = "dd",
                          .op = BLOCK_WRITE,
                          .key = BLOCK_WRITE,
                          .bio_key = BLOCK_WRITE,
                          .kind = BLOCK_IO_REQUEST,
                          .bytes = 4096,
                          .sector = 8,
                          .issue_ns = 1000,
                          .bio_ns = 1000,
                          .end_ns = 5000,
                          .error = (int16_t)error};
    block_stat_io(stats, &io);
}

static const struct block_device *device_of(uint32_t dev) {
    return &stats->devices[block_stat_device(stats, dev)];
}

static void reused_dev_t(void **state) {
    (void)state;
    two_disks();
    write_of(SDA, -ENODATA);
    write_of(SDB, -EIO);
    fill(32 * SECOND_NS);
    assert_int_equal(device_of(SDA)->last_error, -ENODATA);
    assert_int_equal(stats->n_errors, 2);
    pull_out("sda");
    fill(64 * SECOND_NS);
    assert_int_equal(stats->n_errors, 2); // why it was pulled out
    disk("sda", "8:0\n");
    fill(96 * SECOND_NS);
    assert_int_equal(device_of(SDA)->last_error, 0);
    assert_int_equal(device_of(SDB)->last_error, -EIO);
    assert_int_equal(stats->n_errors, 1);
    assert_int_equal(stats->errors[0].dev, SDB);
    write_of(SDA, -ETIMEDOUT);
    fill(128 * SECOND_NS);
    assert_int_equal(device_of(SDA)->last_error, -ETIMEDOUT); // its own errors stay
    assert_int_equal(stats->n_errors, 2);
    all_free();
    pull_out("sda");
    pull_out("sdb");
}

static bool has_histograms(const struct block_device *device) {
    return device->latency[BLOCK_WRITE] || device->total[BLOCK_WRITE] || device->size[BLOCK_WRITE];
}

// With ever new dev_t, each removed disk would keep 125 KB.
static void memory_of_removed_disks(void **state) {
    (void)state;
    two_disks();
    pull_out("sda");
    fill(32 * SECOND_NS);
    write_of(SDA, 0);
    write_of(SDB, 0);
    fill(94 * SECOND_NS);
    assert_true(has_histograms(device_of(SDA))); // of this interval
    block_stat_clear(stats);
    fill(126 * SECOND_NS);
    assert_false(has_histograms(device_of(SDA)));
    assert_true(has_histograms(device_of(SDB)));
    write_of(SDA, 0); // completes after the removal
    block_stat_settle(stats);
    assert_int_equal(device_of(SDA)->latency[BLOCK_WRITE]->count, 1);
    all_free();
}

static void keep_last(void *ctx, const struct block_io *io) {
    *(struct block_io *)ctx = *io;
}

// A passthrough command uses a path that no bio used before: it is reported for the head.
static void paths_in_diskstats(void **state) {
    (void)state;
    char path[128];
    forge_file(root, "sys/block/nvme1n2/dev", "259:5\n"); // no mq directory: multipath
    forge_file(root, "proc/diskstats",
               "   8       0 sda 1 0 8 1\n   0       0 nvme1c1n2 1 0 8 1\n 259       4 nvme1c0n2 1 0 8 1\n"
               " 259       6 nvme1c0n3 1 0 8 1\n 259       5 nvme1n2 1 0 8 1\n");
    snprintf(path, sizeof(path), "%s/sys/block", root);
    struct block_io last = {0};
    all_new(path, keep_last, &last);
    for (uint64_t i = 0; i < 3; i++) { // read again, the same path
        fill(SECOND_NS + i * 40 * SECOND_NS);
        for (uint32_t of = 4; of <= 6; of += 2) {
            struct block_event event = {
                .kind = BLOCK_ISSUE, .ts = 10 + i * 40, .dev = 259u << 20 | of, .bytes = 4096, .rwbs = "N\0\0\0\0\0\0"};
            event.rwbs_size = 8;
            block_match_event(match, &event);
            event.kind = BLOCK_COMPLETE;
            event.ts += 10;
            event.sector = BLOCK_NO_SECTOR;
            event.sectors = 8;
            block_match_event(match, &event);
            assert_int_equal(last.end_ns, event.ts);
            assert_int_equal(last.dev, 259u << 20 | (of == 4 ? 5 : 6)); // the other one has no head
        }
    }
    all_free();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reused_dev_t),
        cmocka_unit_test(memory_of_removed_disks),
        cmocka_unit_test(paths_in_diskstats),
    };
    snprintf(root, sizeof(root), "/tmp/ktop-gone-%d", (int)getpid());
    mkdir(root, 0755);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command) ? 1 : failed;
}
