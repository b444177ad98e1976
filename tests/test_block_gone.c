// Disks that go, and others that come with their numbers: what is kept of them, and what is told.
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_disk_with_its_number),
        cmocka_unit_test(memory_of_gone_disks),
    };
    snprintf(root, sizeof(root), "/tmp/ktop-gone-%d", (int)getpid());
    mkdir(root, 0755);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command) ? 1 : failed;
}
