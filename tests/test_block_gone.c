// Disks that go, and others that come with their numbers: what is kept of them, and what is told; paths of disks.
#include "tests/forge.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/block_table.h"
#include "model/mem.h"

#define SECOND_NS 1000000000ull
#define SDA (8u << 20)
#define SDB (8u << 20 | 16)

static char root[64];

static void disk(const char *name, const char *number) {
    char path[128];
    static const char *const below[] = {"", "/mq"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s%s", root, name, below[i]);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof(path), "%s/%s/dev", root, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%s\n", number);
    fclose(out);
}

static void pull_out(const char *name) {
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s/%s", root, name);
    assert_int_equal(system(command), 0);
}

static void write_of(struct block_stat *stat, uint32_t dev, int error) {
    struct block_io io = {.dev = dev,
                          .tid = 7,
                          .comm = "dd",
                          .op = BLOCK_WRITE,
                          .key = BLOCK_WRITE,
                          .bio_key = BLOCK_WRITE,
                          .what = BLOCK_IO_REQUEST,
                          .bytes = 4096,
                          .sector = 8,
                          .issue_ns = 1000,
                          .bio_ns = 1000,
                          .end_ns = 5000,
                          .error = (int16_t)error};
    block_stat_io(stat, &io);
}

static const struct block_device *device_of(struct block_stat *stat, uint32_t dev) {
    return &stat->devices[block_stat_device(stat, dev)];
}

static void another_disk_with_its_number(void **state) {
    (void)state;
    struct block_stat *stat = block_stat_new();
    struct block_match *match = block_match_new(64, NULL, NULL);
    struct block_names *names = block_names_new(root);
    disk("sda", "8:0");
    disk("sdb", "8:16");
    block_fill_disks(names, stat, match, SECOND_NS);
    write_of(stat, SDA, -ENODATA);
    write_of(stat, SDB, -EIO);
    block_fill_disks(names, stat, match, 32 * SECOND_NS);
    assert_int_equal(device_of(stat, SDA)->last_error, -ENODATA);
    assert_int_equal(stat->n_errors, 2);
    pull_out("sda");
    block_fill_disks(names, stat, match, 64 * SECOND_NS);
    assert_int_equal(stat->n_errors, 2); // why it was pulled out
    disk("sda", "8:0");
    block_fill_disks(names, stat, match, 96 * SECOND_NS);
    assert_int_equal(device_of(stat, SDA)->last_error, 0);
    assert_int_equal(device_of(stat, SDB)->last_error, -EIO);
    assert_int_equal(stat->n_errors, 1);
    assert_int_equal(stat->errors[0].dev, SDB);
    write_of(stat, SDA, -ETIMEDOUT);
    block_fill_disks(names, stat, match, 128 * SECOND_NS);
    assert_int_equal(device_of(stat, SDA)->last_error, -ETIMEDOUT); // its own stays
    assert_int_equal(stat->n_errors, 2);
    block_stat_free(stat);
    block_names_free(names);
    block_match_free(match);
    pull_out("sda");
    pull_out("sdb");
}

static bool has_histograms(const struct block_device *device) {
    return device->latency[BLOCK_WRITE] || device->total[BLOCK_WRITE] || device->size[BLOCK_WRITE];
}

// On a machine whose disks come with new numbers all the time each would take 125 KB for ever.
static void memory_of_gone_disks(void **state) {
    (void)state;
    struct block_stat *stat = block_stat_new();
    struct block_match *match = block_match_new(64, NULL, NULL);
    struct block_names *names = block_names_new(root);
    disk("sda", "8:0");
    disk("sdb", "8:16");
    block_fill_disks(names, stat, match, SECOND_NS);
    pull_out("sda");
    block_fill_disks(names, stat, match, 32 * SECOND_NS);
    write_of(stat, SDA, 0);
    write_of(stat, SDB, 0);
    block_fill_disks(names, stat, match, 94 * SECOND_NS);
    assert_true(has_histograms(device_of(stat, SDA))); // of this interval
    block_stat_clear(stat);
    block_fill_disks(names, stat, match, 126 * SECOND_NS);
    assert_false(has_histograms(device_of(stat, SDA)));
    assert_true(has_histograms(device_of(stat, SDB)));
    write_of(stat, SDA, 0); // it is there all the same
    block_stat_settle(stat);
    assert_int_equal(device_of(stat, SDA)->latency[BLOCK_WRITE]->count, 1);
    block_stat_free(stat);
    block_names_free(names);
    block_match_free(match);
}

static void put(const char *file, const char *text) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", root, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void keep_last(void *ctx, const struct block_io *io) {
    *(struct block_io *)ctx = *io;
}

// A command of a program takes a path that no bio took before: it is the disk's all the same.
static void paths_that_a_file_tells(void **state) {
    (void)state;
    static const char *const folders[] = {"proc", "sys", "sys/block", "sys/block/nvme1n2"};
    char path[128];
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
        mkdir(path, 0755);
    }
    put("sys/block/nvme1n2/dev", "259:5\n"); // and no mq: it has paths
    put("proc/diskstats", "   8       0 sda 1 0 8 1\n   0       0 nvme1c1n2 1 0 8 1\n 259       4 nvme1c0n2 1 0 8 1\n"
                          " 259       6 nvme1c0n3 1 0 8 1\n 259       5 nvme1n2 1 0 8 1\n");
    snprintf(path, sizeof(path), "%s/sys/block", root);
    struct block_io last = {0};
    struct block_stat *stat = block_stat_new();
    struct block_match *match = block_match_new(64, keep_last, &last);
    struct block_names *names = block_names_new(path);
    for (uint64_t i = 0; i < 3; i++) { // read again, it is the same path
        block_fill_disks(names, stat, match, SECOND_NS + i * 40 * SECOND_NS);
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
            assert_int_equal(last.dev, 259u << 20 | (of == 4 ? 5 : 6)); // of the other one there is no disk
        }
    }
    block_stat_free(stat);
    block_names_free(names);
    block_match_free(match);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_disk_with_its_number),
        cmocka_unit_test(memory_of_gone_disks),
        cmocka_unit_test(paths_that_a_file_tells),
    };
    snprintf(root, sizeof(root), "/tmp/ktop-gone-%d", (int)getpid());
    mkdir(root, 0755);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command) ? 1 : failed;
}
