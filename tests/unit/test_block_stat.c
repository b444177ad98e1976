// Sums of completed I/Os, and the rows, histograms and events of a frame.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/block/table.h"
#include "tests/unit/forge_files.h"

static char dir[64]; // a forged /sys/block and /proc

static int set_up(void **state) {
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/ktop-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    forge_file(dir, "block/vda/dev", "254:0\n");
    forge_file(dir, "block/vda/mq/0/x", "");
    forge_file(dir, "block/cciss!c0d0/dev", "104:16\n");
    forge_file(dir, "block/cciss!c0d0/mq/0/x", "");
    forge_file(dir, "block/zram0/dev", "253:0\n"); // bio-based: no mq
    forge_file(dir, "block/vda/size", "6400\n");
    forge_file(dir, "block/vda/vda1/dev", "254:1\n");
    forge_file(dir, "proc/100/status", "Name:\tfio\nTgid:\t90\nPid:\t100\nPPid:\t80\nUid:\t1000\t1000\n");
    forge_file(dir, "proc/90/status", "Name:\tfio-main\nTgid:\t90\nPid:\t90\nPPid:\t80\nUid:\t1000\t1000\n");
    forge_file(dir, "proc/80/status", "Name:\tsh\nTgid:\t80\nPid:\t80\nPPid:\t1\nUid:\t0\t0\n");
    forge_file(dir, "proc/100/cgroup", "9:cpu:/\n7:net,blkio:/slow\n0::/unified\n");
    forge_file(dir, "proc/90/cgroup", "0::/unified\n");
    forge_file(dir, "proc/101/status", "Name:\tfio\nTgid:\t90\nPid:\t101\n");
    return 0;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command);
}

static struct block_io make(int32_t tid, const char *comm, uint32_t dev, uint8_t op, uint64_t begin, uint64_t latency) {
    struct block_io io = {.arrival_ns = begin - 500,
                          .issue_ns = begin,
                          .end_ns = begin + latency,
                          .sector = 8,
                          .dev = dev,
                          .bytes = 4096,
                          .tid = tid,
                          .op = op};
    snprintf(io.rwbs, sizeof(io.rwbs), "%sS", block_op_names[op]);
    snprintf(io.comm, sizeof(io.comm), "%s", comm);
    io.key = io.bio_key = block_key_of(io.rwbs, op);
    return io;
}

static const struct collect_options *options; // of the next fill

static struct section *fill(struct block_stat *stat, struct block_names *names) {
    static char sys[128], proc[128];
    snprintf(sys, sizeof(sys), "%s/block", dir);
    snprintf(proc, sizeof(proc), "%s/proc", dir);
    struct block_tasks *submitters = block_tasks_new(proc, sys, options);
    const struct block_fill fill = {.stat = stat,
                                    .names = names,
                                    .begin_ns = 1000000000,
                                    .end_ns = 3000000000,
                                    .wall_offset_ns = 1700000000000000000,
                                    .submitters = submitters};
    struct section *section = section_new("block", fill.begin_ns, fill.end_ns);
    struct block_match *match = block_match_new(64, NULL, NULL);
    block_fill_disks(names, stat, match, fill.end_ns);
    block_fill_section(&fill, section);
    block_match_free(match);
    block_tasks_free(submitters);
    return section;
}

static struct block_names *names_new(void) {
    char sys[128];
    snprintf(sys, sizeof(sys), "%s/block", dir);
    return block_names_new(sys);
}

static void names_of_devices(void **state) {
    (void)state;
    struct block_names *names = names_new();
    uint32_t dev, n = 0;
    assert_string_equal(text_bytes(block_names_get(names, 254u << 20, 1)), "vda");
    assert_string_equal(text_bytes(block_names_get(names, 104u << 20 | 16, 1)), "cciss/c0d0");
    assert_string_equal(text_bytes(block_names_get(names, 253u << 20, 1)), "zram0");
    assert_string_equal(text_bytes(block_names_get(names, 9u << 20 | 127, 1)), "9:127");
    while (block_names_disk(names, n, &dev)) {
        assert_true(dev == 254u << 20 || dev == (104u << 20 | 16));
        n++;
    }
    assert_int_equal(n, 2);
    forge_file(dir, "block/md127/dev", "9:127\n"); // appears later: found by the next look-up
    block_names_refresh(names, 1000);
    assert_string_equal(text_bytes(block_names_get(names, 9u << 20 | 127, 1)), "9:127");
    block_names_refresh(names, 60000000000ull);
    assert_string_equal(text_bytes(block_names_get(names, 9u << 20 | 127, 1)), "md127");
    block_names_free(names);
}

static const union cell *row_of(const struct table *table, size_t want) {
    size_t cursor = 0;
    const union cell *row = NULL;
    for (size_t i = 0; i <= want; i++)
        row = table_next(table, &cursor);
    return row;
}

static void a_frame(void **state) {
    (void)state;
    struct block_stat *stat = block_stat_new();
    struct block_names *names = names_new();
    const uint32_t vda = 254u << 20;
    struct block_io io = make(100, "fio", vda, BLOCK_READ, 2000000000, 10000);
    block_stat_io(stat, &io);
    io = make(101, "fio", vda, BLOCK_READ, 2000100000, 30000); // another thread of the same process
    block_stat_io(stat, &io);
    io = make(7, "kworker/0:1H", vda, BLOCK_FLUSH, 2000200000, 5000);
    io.sector = BLOCK_NO_SECTOR;
    io.arrival_ns = 0;
    io.bytes = 0;
    io.error = -EIO;
    block_stat_io(stat, &io);
    struct section *section = fill(stat, names);

    const struct table *table = section_find_table(section, "by_process");
    assert_int_equal(table_rows(table), 2);
    const union cell *row = row_of(table, 1);
    assert_true(row[BLOCK_P_PID].num == 90);
    assert_string_equal(text_bytes(row[BLOCK_P_COMM].text), "fio");
    assert_string_equal(text_bytes(row[BLOCK_P_DEVICE].text), "vda");
    assert_string_equal(text_bytes(row[BLOCK_P_OP].text), "R");
    assert_true(row[BLOCK_P_IOS].num == 1.0); // 2 in 2 s
    assert_true(row[BLOCK_P_BYTES].num == 4096);
    assert_true(row[BLOCK_P_LATENCY].num == 20);

    table = section_find_table(section, "block_devices");
    assert_int_equal(table_rows(table), 2); // all request-based disks; not zram
    row = row_of(table, 0);
    assert_string_equal(text_bytes(row[BLOCK_D_DEVICE].text), "vda");
    assert_true(row[BLOCK_D_QUEUE].num == 0.5);
    assert_true(row[BLOCK_D_SERVICE].num == 15); // (10 + 30 + 5) / 3
    assert_true(row[BLOCK_D_ERRORS].num == 0.5);
    assert_true(fabs(row[BLOCK_D_READ_P50].num / 10 - 1) < 0.016);
    assert_true(isnan(row[BLOCK_D_WRITE_P50].num));
    row = row_of(table, 1);
    assert_true(row[BLOCK_D_ERRORS].num == 0);
    assert_true(isnan(row[BLOCK_D_SERVICE].num));

    const union cell *keys;
    const struct hist_set *set = section_find_hists(section, "io_latency");
    assert_int_equal(hist_set_count(set), 2);
    const struct hist *hist = hist_set_at(set, 0, &keys);
    assert_string_equal(text_bytes(keys[1].text), "RS");
    assert_true(hist->count == 2 && hist->min == 10000 && hist->max == 30000);
    assert_int_equal(hist_set_count(section_find_hists(section, "io_queue")), 1);
    assert_int_equal(hist_set_count(section_find_hists(section, "io_size")), 2);

    uint64_t left_out;
    table = section_find_stream(section, "io_events", &left_out);
    assert_int_equal(left_out, 0);
    assert_int_equal(table_rows(table), 3);
    row = row_of(table, 0);
    assert_true(fabs(row[BLOCK_E_TIME].num - 1700000002.0) < 1e-6);
    assert_true(row[BLOCK_E_PID].num == 90);
    assert_string_equal(text_bytes(row[BLOCK_E_OP].text), "RS");
    assert_true(row[BLOCK_E_SECTOR].num == 8 && row[BLOCK_E_QUEUE].num == 0.5 && row[BLOCK_E_LATENCY].num == 10);
    assert_null(row[BLOCK_E_ERROR].text);
    row = row_of(table, 2);
    assert_true(isnan(row[BLOCK_E_SECTOR].num) && isnan(row[BLOCK_E_QUEUE].num));
    assert_true(row[BLOCK_E_PID].num == 7); // not in /proc: from the event
    assert_string_equal(text_bytes(row[BLOCK_E_ERROR].text), "EIO");
    section_unref(section);

    block_stat_clear(stat);
    section = fill(stat, names);
    assert_int_equal(table_rows(section_find_table(section, "by_process")), 0);
    assert_int_equal(table_rows(section_find_table(section, "block_devices")), 2);
    assert_int_equal(hist_set_count(section_find_hists(section, "io_latency")), 0);
    section_unref(section);
    block_stat_free(stat);
    block_names_free(names);
}

static void the_newest_events_are_kept(void **state) {
    (void)state;
    struct block_stat *stat = block_stat_new();
    struct block_names *names = names_new();
    const uint64_t n = BLOCK_EVENTS_KEPT + 100;
    for (uint64_t i = 0; i < n; i++) {
        struct block_io io = make(100, "fio", 254u << 20, BLOCK_WRITE, 2000000000 + i * 1000, 1000 + i);
        io.sector = i;
        block_stat_io(stat, &io);
    }
    struct section *section = fill(stat, names);
    uint64_t left_out;
    const struct table *table = section_find_stream(section, "io_events", &left_out);
    assert_int_equal(left_out, 100);
    assert_int_equal(table_rows(table), BLOCK_EVENTS_KEPT);
    assert_true(row_of(table, 0)[BLOCK_E_SECTOR].num == 100);
    assert_true(row_of(table, BLOCK_EVENTS_KEPT - 1)[BLOCK_E_SECTOR].num == (double)(n - 1));
    assert_int_equal(hist_set_at(section_find_hists(section, "io_latency"), 0, &(const union cell *){NULL})->count, n);
    section_unref(section);
    block_stat_free(stat);
    block_names_free(names);
}

// A burst of processes fits at once, also after a quiet time; the excess is counted.
static void more_than_fits(void **state) {
    (void)state;
    struct block_stat *stat = block_stat_new();
    char comm[BLOCK_COMM];
    for (int round = 1; round >= 0; round--) {
        const int32_t tasks = round ? 5000 : BLOCK_PROCS_MAX + 500;
        for (int32_t i = 0; i < tasks; i++) {
            snprintf(comm, sizeof(comm), "task%d", i);
            struct block_io io = make(1000 + i, comm, 254u << 20, BLOCK_READ, 2000000000, 1000);
            block_stat_io(stat, &io);
            block_stat_io(stat, &io);
        }
        block_stat_settle(stat);
        assert_int_equal(stat->n_procs, round ? 5000 : BLOCK_PROCS_MAX);
        assert_int_equal(stat->procs_left_out, round ? 0 : 2 * 500);
        assert_int_equal(stat->devices[0].latency[block_key_of("RS", BLOCK_READ)]->count, 2 * tasks);
        uint64_t sizes = stat->others[BLOCK_READ].hists[BLOCK_OF_SIZE].count;
        for (uint32_t i = 0; i < stat->n_slots; i++)
            sizes += stat->slots[i].hists[BLOCK_OF_SIZE].count;
        assert_int_equal(stat->n_slots, BLOCK_SLOTS);
        assert_int_equal(sizes, 2 * (uint64_t)tasks - stat->procs_left_out);
        block_stat_clear(stat);
    }
    block_stat_free(stat);
}

// The reads of one process (or cgroup), and the one write of the other; 0: none.
static void expect_times(struct section *section, const char *what, const char *by, uint64_t reads, uint64_t sum,
                         uint64_t other) {
    char name[64];
    snprintf(name, sizeof(name), "io_%s_by_%s", what, by);
    const struct hist_set *set = section_find_hists(section, name);
    assert_int_equal(hist_set_count(set), 1 + (other != 0));
    for (size_t i = 0; i < hist_set_count(set); i++) {
        const union cell *keys;
        const struct hist *hist = hist_set_at(set, i, &keys);
        bool is_read = !strcmp(text_bytes(keys[hist_set_def(set)->n_keys - 1].text), "R");
        assert_int_equal(hist->count, is_read ? reads : 1);
        assert_int_equal(hist->sum, is_read ? sum : other);
    }
}

// Bios beside requests, a device without requests, an error, a requeue, offsets and sequences.
static void bios_and_errors(void **state) {
    (void)state;
    const uint32_t vda = 254u << 20, zram = 253u << 20;
    struct block_stat *stat = block_stat_new();
    struct block_names *names = names_new();
    section_unref(fill(stat, names)); // reads the size of the disk
    struct block_io io = make(100, "fio", vda, BLOCK_READ, 2000000000, 10000);
    io.bio_ns = 1999000000;
    io.sector = 3200;
    io.sequence = BLOCK_RANDOM;
    block_stat_io(stat, &io);
    io.error = -ENODATA;
    io.sequence = BLOCK_SEQUENTIAL;
    io.sector = 6399;
    block_stat_io(stat, &io);
    io = make(100, "fio", vda, BLOCK_READ, 2000000000, 10000);
    io.bio_ns = 1999000000;
    io.kind = BLOCK_IO_TOTAL_ONLY; // only its total time counts
    block_stat_io(stat, &io);
    io.kind = BLOCK_IO_REQUEUED;
    block_stat_io(stat, &io);
    io = make(42, "iou-wrk-90", zram, BLOCK_WRITE, 2000000000, 7000);
    io.bio_ns = io.issue_ns;
    io.arrival_ns = 0;
    io.kind = BLOCK_IO_BIO;
    block_stat_io(stat, &io);
    struct section *section = fill(stat, names);

    const struct table *table = section_find_table(section, "block_devices");
    const union cell *row = row_of(table, 0);
    if (strcmp(text_bytes(row[BLOCK_D_DEVICE].text), "vda"))
        row = row_of(table, 1);
    assert_true(row[BLOCK_D_REQUEUES].num == 0.5 && row[BLOCK_D_SEQUENTIAL].num == 50);
    assert_true(row[BLOCK_D_TOTAL].num == 1010);
    assert_string_equal(text_bytes(row[BLOCK_D_LAST_ERROR].text), "ENODATA");
    assert_true(row[BLOCK_D_LAST_SECTOR].num == 6399);
    row = row_of(section_find_table(section, "io_errors"), 0);
    assert_string_equal(text_bytes(row[BLOCK_X_ERROR].text), "ENODATA");
    assert_true(row[BLOCK_X_COUNT].num == 1 && row[BLOCK_X_ERRORS].num == 0.5);

    table = section_find_table(section, "by_process");
    assert_int_equal(table_rows(table), 2);
    row = row_of(table, 0);
    assert_string_equal(text_bytes(row[BLOCK_P_COMM].text), "fio-main"); // the ring's creator: the worker exited
    assert_string_equal(text_bytes(row[BLOCK_P_DEVICE].text), "zram0");
    assert_true(row[BLOCK_P_PID].num == 90 && row[BLOCK_P_LATENCY].num == 7 && row[BLOCK_P_TOTAL].num == 7);
    assert_string_equal(text_bytes(row[BLOCK_P_CGROUP].text), "/unified");
    row = row_of(table, 1);
    assert_true(row[BLOCK_P_TOTAL].num == 1010 && row[BLOCK_P_LATENCY].num == 10 && row[BLOCK_P_P99].num == 10);
    assert_true(row[BLOCK_P_TOTAL_RATE].num == 1515); // three of 1010 us in 2 s
    assert_true(fabs(row[BLOCK_P_TOTAL_P99].num / 1010 - 1) < 0.016);
    assert_true(row[BLOCK_P_AVG_BYTES].num == 4096 && row[BLOCK_P_IOS].num == 1);
    assert_string_equal(text_bytes(row[BLOCK_P_CGROUP].text), "/slow");
    table = section_find_table(section, "by_cgroup");
    assert_int_equal(table_rows(table), 2);
    assert_true(row_of(table, 0)[BLOCK_C_TOTAL_RATE].num == 1515 && row_of(table, 1)[BLOCK_C_TOTAL_RATE].num == 3.5);

    const union cell *keys;
    const struct hist_set *set = section_find_hists(section, "io_total");
    assert_int_equal(hist_set_count(set), 2);
    assert_int_equal(hist_set_count(section_find_hists(section, "io_latency")), 1); // zram has no requests
    set = section_find_hists(section, "io_offset");
    const struct hist *hist = hist_set_at(set, 0, &keys);
    assert_true(hist->count == 2 && hist->min == 32 && hist->max == 63);
    set = section_find_hists(section, "io_latency_by_process");
    assert_int_equal(hist_set_count(set), 2);
    static const char *const by[] = {"process", "cgroup"};
    for (int i = 0; i < 2; i++) {
        expect_times(section, "latency", by[i], 2, 20000, 7000);
        expect_times(section, "queue", by[i], 2, 1000, 0); // zram has no requests
        expect_times(section, "total", by[i], 3, 3030000, 7000);
    }
    uint64_t left_out;
    table = section_find_stream(section, "io_events", &left_out);
    assert_int_equal(table_rows(table), 3);
    assert_string_equal(text_bytes(row_of(table, 0)[BLOCK_E_CGROUP].text), "/slow");
    assert_string_equal(text_bytes(row_of(table, 2)[BLOCK_E_CGROUP].text), "/unified");
    section_unref(section);
    block_stat_free(stat);
    block_names_free(names);
}

static size_t wanted_rows(struct block_stat *stat, struct block_names *names, const struct collect_options *some) {
    uint64_t left_out;
    options = some;
    struct section *section = fill(stat, names);
    options = NULL;
    size_t rows = table_rows(section_find_table(section, "by_process"));
    assert_int_equal(table_rows(section_find_stream(section, "io_events", &left_out)), rows);
    assert_int_equal(hist_set_count(section_find_hists(section, "io_latency_by_process")), rows);
    const union cell *row = row_of(section_find_table(section, "block_devices"), 0);
    assert_true(row[BLOCK_D_SERVICE].num == 10); // of all processes
    section_unref(section);
    for (uint32_t i = 0; i < stat->n_procs; i++)
        stat->procs[i].task = UINT32_MAX;
    return rows;
}

static void filtered_processes(void **state) {
    (void)state;
    struct block_stat *stat = block_stat_new();
    struct block_names *names = names_new();
    struct block_io io = make(100, "fio", 254u << 20, BLOCK_READ, 2000000000, 10000);
    block_stat_io(stat, &io);
    io = make(80, "sh", 254u << 20, BLOCK_WRITE, 2000000000, 10000);
    block_stat_io(stat, &io);
    static const pid_t fio[] = {90}, sh[] = {80}, init[] = {1};
    assert_int_equal(wanted_rows(stat, names, NULL), 2);
    assert_int_equal(wanted_rows(stat, names, &(struct collect_options){.pids = fio, .n_pids = 1}), 1);
    assert_int_equal(wanted_rows(stat, names, &(struct collect_options){.pids = sh, .n_pids = 1}), 1);
    assert_int_equal(wanted_rows(stat, names, &(struct collect_options){.pids = sh, .n_pids = 1, .children = true}), 2);
    assert_int_equal(wanted_rows(stat, names, &(struct collect_options){.pids = init, .n_pids = 1}), 0);
    assert_int_equal(wanted_rows(stat, names, &(struct collect_options){.has_user = true, .user = 1000}), 1);
    block_stat_free(stat);
    block_names_free(names);
}

// A hundred processes: 64 histograms and (others), complete.
static void largest_processes_and_others(void **state) {
    static const char *const names_of_sets[] = {"io_latency_by_process", "io_queue_by_process", "io_total_by_process"};
    (void)state;
    struct block_stat *stat = block_stat_new();
    struct block_names *names = names_new();
    for (int32_t i = 0; i < 400; i++)
        for (int32_t n = 0; n <= i % 100; n++) {
            struct block_io io = make(1000 + i, "task", 254u << 20, BLOCK_READ, 2000000000, 1000);
            io.bio_ns = io.arrival_ns;
            block_stat_io(stat, &io);
        }
    struct section *section = fill(stat, names);
    for (int s = 0; s < 3; s++) {
        const struct hist_set *set = section_find_hists(section, names_of_sets[s]);
        uint64_t all = 0, others = 0;
        for (size_t i = 0; i < hist_set_count(set); i++) {
            const union cell *keys;
            const struct hist *hist = hist_set_at(set, i, &keys);
            bool of_others = !strcmp(text_bytes(keys[1].text), "(others)");
            all += hist->count;
            others += of_others ? hist->count : 0;
            assert_true(of_others || hist->count > 10); // the largest with a slot
        }
        assert_int_equal(hist_set_count(set), 65);
        assert_int_equal(all, 4 * 5050);
        assert_true(others > 0 && stat->n_slots == BLOCK_SLOTS);
    }
    section_unref(section);
    block_stat_free(stat);
    block_names_free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_of_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bios_and_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filtered_processes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(largest_processes_and_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_newest_events_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_fits, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
