// Enter in the pane disk, with frames as the collector makes them: every row, range and cell leads to its I/Os, all of
// them and no others.
#include "tests/unit/screens.h"

#include <sys/stat.h>

#include "collectors/block/table.h"
#include "tests/unit/forge_files.h"
#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/hist/select.h"

extern const struct view view_disk;

static char dir[64]; // a /sys/block and a /proc of our own
static const struct frame *frames[1];
static struct look look;

static void files(void) {
    char path[64], text[256];
    snprintf(dir, sizeof(dir), "/tmp/ktop-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    forge_file(dir, "block/vda/dev", "254:0\n");
    forge_file(dir, "block/vda/mq/0/x", "");
    forge_file(dir, "block/vda/size", "6401\n");
    forge_file(dir, "block/vdb/dev", "254:16\n");
    forge_file(dir, "block/vdb/mq/0/x", "");
    forge_file(dir, "block/vdb/size", "1000003\n");
    for (int i = 0; i < 5; i++) { // the last one is gone: its group is not known
        snprintf(path, sizeof(path), "proc/%d/status", 100 + i);
        snprintf(text, sizeof(text), "Name:\tt\nTgid:\t%d\nPid:\t%d\n", 100 + i / 2 * 2, 100 + i);
        forge_file(dir, path, text);
        snprintf(path, sizeof(path), "proc/%d/cgroup", 100 + i);
        // As of a container; and one group within another one.
        snprintf(text, sizeof(text), "0::/kubepods.slice/kubepods-pod0123456789abcdef.slice%s\n",
                 i > 1 ? "/cri-0123456789abcdef0123456789abcdef.scope" : "");
        forge_file(dir, path, text);
    }
}

static void load(struct block_stat *stat) {
    static const char *const words[] = {"R", "RA", "WS", "W", "DS"};
    static const char *const names[] = {"fio", "my sqld", "jbd2/vda1-8"};
    srand(11);
    for (int i = 0; i < 1500; i++) {
        uint64_t begin = 2000000000 + (uint64_t)i * 1000;
        const char *word = words[rand() % 5];
        bool second = rand() % 3 == 0;
        struct block_io io = {.issue_ns = begin,
                              .end_ns = begin + 20000 + (uint64_t)(rand() % 1000) * (uint64_t)(rand() % 30000),
                              .dev = (254u << 20) + (second ? 16 : 0),
                              .tid = 100 + rand() % 6,
                              .bytes = 512u << rand() % 9,
                              .sector = (uint64_t)rand() % (second ? 1000003 : 6401)};
        io.bio_ns = io.arrival_ns = begin - (uint64_t)(rand() % 900000);
        io.op = (uint8_t)block_op_of(word);
        io.key = io.bio_key = block_key_of(word, io.op);
        snprintf(io.rwbs, sizeof(io.rwbs), "%s", word);
        snprintf(io.comm, sizeof(io.comm), "%s", names[rand() % 3]);
        block_stat_io(stat, &io);
    }
}

static int setup(void **state) {
    char sys[128], proc[128];
    (void)state;
    files();
    snprintf(sys, sizeof(sys), "%s/block", dir);
    snprintf(proc, sizeof(proc), "%s/proc", dir);
    struct block_stat *stat = block_stat_new();
    struct block_names *names = block_names_new(sys);
    struct block_tasks *submitters = block_tasks_new(proc, sys, NULL);
    struct block_match *match = block_match_new(64, NULL, NULL);
    const struct block_waiting waiting = {.since_ns = 2000000000,
                                          .dev = 254u << 20,
                                          .op = BLOCK_READ,
                                          .pid = 100,
                                          .tid = 101,
                                          .comm = "fio",
                                          .wanted = true,
                                          .sector = 4711};
    const struct block_fill fill = {.stat = stat,
                                    .names = names,
                                    .begin_ns = 1000000000,
                                    .end_ns = 3000000000,
                                    .wall_offset_ns = 1700000000000000000,
                                    .submitters = submitters,
                                    .waiting = &waiting,
                                    .n_waiting = 1};
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("block", 1);
    block_fill_disks(names, stat, match, fill.end_ns);
    load(stat);
    block_fill_section(&fill, section);
    section_table(section,
                  forge_table(&block_limits_table, "/kubepods.slice/kubepods-pod0123456789abcdef.slice|vda|99"));
    frame_add_section(frame, section, 0);
    frames[0] = frame;
    forge_look(&look, frames, 1);
    block_match_free(match);
    block_tasks_free(submitters);
    block_names_free(names);
    block_stat_free(stat);
    return 0;
}

static int teardown(void **state) {
    char command[128];
    (void)state;
    frame_unref(frames[0]);
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command);
}

static void focus(struct pane *pane, const char *name, const struct part_kind *kind) {
    for (pane->focus = 0;
         strcmp(view_disk.parts[pane->focus].name, name) != 0 || (kind && view_disk.parts[pane->focus].kind != kind);)
        pane->focus++;
}

static void draw(struct pane *pane) {
    struct grid *grid = grid_new(200, 70, true);
    pane_draw(pane, &look, grid_area(grid));
    grid_free(grid);
}

// How many I/Os the list shows now.
static size_t listed(const struct pane *pane) {
    const struct table *table = frame_stream(frames[0], "io_events", NULL);
    struct filter filter;
    const union cell *row;
    size_t at = 0, n = 0;
    assert_string_equal(view_disk.parts[pane->focus].name, "events");
    filter_parse(pane->filter, frames[0], &filter);
    while ((row = table_next(table, &at)))
        n += filter_passes(&filter, table_def(table)->columns, table_def(table)->n_columns, row);
    return n;
}

// The sum of a column of I/Os per second, in the two seconds of the frame.
static void expect_rows(struct pane *pane, const char *name) {
    const struct table *table = frame_table(frames[0], name);
    size_t at = 0, all = 0, rows = 0;
    double ios = 0;
    for (const union cell *row; (row = table_next(table, &at)); rows++)
        ios += row[table_column(table_def(table), "ios_per_s")].num * 2;
    for (size_t i = 0; i < rows; i++) {
        focus(pane, name, NULL);
        forge_key(pane, &look, KEY_VIEW_HOME, true);
        for (size_t down = 0; down <= i; down++)
            forge_key(pane, &look, KEY_VIEW_DOWN, true);
        struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
        assert_null(answer.jump_pane);
        assert_string_equal(answer.message, "Esc: back");
        assert_int_equal(answer.go_frame, 1);
        assert_true(listed(pane) > 0);
        all += listed(pane);
        assert_true(forge_key(pane, &look, KEY_VIEW_BACK, true).go_live);
        assert_string_equal(view_disk.parts[pane->focus].name, name);
    }
    assert_true(rows > 5);
    assert_int_equal(all, lround(ios)); // each I/O is in one row's list
}

static void rows(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view_disk);
    draw(pane);
    expect_rows(pane, "by_process");
    expect_rows(pane, "by_cgroup");
    pane_free(pane);
}

// From the list to one I/O, from there to its task; and back step by step.
static void to_the_task(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view_disk);
    draw(pane);
    focus(pane, "by_process", NULL);
    forge_key(pane, &look, KEY_VIEW_ENTER, true);
    char filter[sizeof(pane->filter)];
    snprintf(filter, sizeof(filter), "%s", pane->filter);
    assert_non_null(strstr(filter, "pid=10"));
    draw(pane);
    forge_key(pane, &look, KEY_VIEW_ENTER, true);
    draw(pane);
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "tasks");
    assert_memory_equal(answer.jump_filter, filter, strlen("pid=100"));
    assert_int_equal(strlen(answer.jump_filter), strlen("pid=100"));
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_string_equal(pane->filter, filter);
    assert_string_equal(view_disk.parts[pane->focus].name, "events");
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_string_equal(pane->filter, "");
    assert_string_equal(view_disk.parts[pane->focus].name, "by_process");
    pane_free(pane);
}

// The group of a limit and the groups in it; of one that has not ended, the others of its process.
static void limits_and_waiting(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view_disk);
    draw(pane);
    focus(pane, "io_limits", NULL);
    forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(pane->filter, "device=vda cgroup~/kubepods.slice/kubepods-pod0123456789abcdef.slice");
    assert_true(listed(pane) > 0);
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    focus(pane, "io_in_flight", NULL);
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.message, "still in flight: showing the latest completed I/Os like it; Esc: back");
    assert_string_equal(pane->filter, "device=vda pid=100 op=R");
    assert_true(listed(pane) > 0);
    pane_free(pane);
}

// The cursor goes over all ranges: how many I/Os their lists have together.
static size_t over_the_ranges(struct pane *pane, int part) {
    char seen[80][FILTER_SIZE];
    size_t all = 0, n = 0;
    pane->focus = part;
    forge_key(pane, &look, KEY_VIEW_UP, true);
    for (int i = 0; i < 80; i++)
        forge_key(pane, &look, view_disk.parts[part].kind == &part_heat ? KEY_VIEW_DOWN : KEY_VIEW_UP, true);
    for (int i = 0; i < 80; i++) {
        pane->focus = part;
        draw(pane);
        struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
        if (answer.go_frame) {
            size_t known = 0;
            assert_string_equal(answer.message, "Esc: back");
            while (known < n && strcmp(seen[known], pane->filter) != 0)
                known++;
            if (known == n) { // else the cursor stands at the end
                snprintf(seen[n++], FILTER_SIZE, "%s", pane->filter);
                assert_true(listed(pane) > 0);
                all += listed(pane);
            }
            forge_key(pane, &look, KEY_VIEW_BACK, true);
        }
        pane->focus = part;
        forge_key(pane, &look, view_disk.parts[part].kind == &part_heat ? KEY_VIEW_UP : KEY_VIEW_DOWN, true);
    }
    while (forge_key(pane, &look, KEY_VIEW_BACK, true).message[0]) // no cursor
        ;
    return all;
}

// What the set counts of what is chosen of its first key.
static uint64_t counted(const struct pane *pane, int part, const char *name) {
    const struct hist_set *set = frame_hists(frames[0], name);
    const struct hist_select *select = pane->parts[part];
    const struct column *column = &hist_set_def(set)->keys[0];
    const char *want = hist_select_chosen(select, column->name);
    uint64_t count = 0;
    for (size_t i = 0; i < hist_set_count(set); i++) {
        const union cell *keys;
        char text[FILTER_SIZE];
        const struct hist *hist = hist_set_at(set, i, &keys);
        hist_select_key_text(column, keys[0], text, sizeof(text));
        count += !want || !strcmp(text, want) ? hist->count : 0;
    }
    return count;
}

// Each range of each set, of all and of one of what the set is kept by, has as many I/Os as the set counts.
static void every_range(void **state) {
    static const struct part_kind *const kinds[] = {&part_heat, &part_hist};
    unsigned sets = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct pane *pane = pane_new(&view_disk);
        focus(pane, "io_latency", kinds[k]);
        int part = pane->focus;
        const struct hist_select *select = pane->parts[part];
        const struct hist_spec *spec = view_disk.parts[part].spec;
        do {
            const char *name = hist_select_set(select, spec);
            draw(pane);
            for (int chosen = 0; chosen < 3; chosen++) {
                uint64_t want = counted(pane, part, name);
                assert_true(want > 20 && want <= 1500);
                size_t found = over_the_ranges(pane, part);
                if (found != want)
                    fail_msg("%s: %zu of %llu", name, found, (unsigned long long)want);
                pane->focus = part;
                forge_key(pane, &look, 'v', true);
            }
            forge_key(pane, &look, 'V', true);
            forge_key(pane, &look, 'V', true);
            forge_key(pane, &look, 'V', true);
            sets++;
            forge_key(pane, &look, 'm', true);
        } while (hist_select_set(select, spec) != spec->sets[0]);
        pane_free(pane);
    }
    assert_int_equal(sets, 2 * 12);
}

static void add_hist(struct hist_set *set, const union cell *keys, uint64_t count) {
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    while (count--)
        hist_acc_add(acc, 50000);
    hist_set_add(set, keys, hist_seal(acc));
    free(acc);
}

static char *title_of(struct pane *pane, const struct look *at) {
    struct grid *grid = grid_new(80, 30, true);
    pane_draw(pane, at, grid_area(grid));
    char *screen = forge_screen(grid), *begin = strstr(screen, "- > Latency heat map");
    assert_non_null(begin);
    char *title = strndup(begin, strcspn(begin, "\n"));
    free(screen);
    grid_free(grid);
    return title;
}

// Two containers whose paths begin alike are two, and the title says which; number 0 has two names, one
// of number 12 is a part of the other.
static void long_names(void **state) {
#define POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0123456789abcdef.slice/"
    (void)state;
    struct frame *frame = forge_frame(2);
    struct section *section = forge_section("block", 2);
    struct hist_set *set = hist_set_new(&block_cgroup_hists[BLOCK_OF_TOTAL]);
    add_hist(set, (union cell[]){{.text = text_from(POD "cri-aaaa.scope")}, {.text = text_from("R")}}, 5);
    add_hist(set, (union cell[]){{.text = text_from(POD "cri-bbbb.scope")}, {.text = text_from("R")}}, 7);
    section_hists(section, set);
    set = hist_set_new(&block_process_hists[BLOCK_OF_TOTAL]);
    add_hist(set, (union cell[]){{.num = 0}, {.text = text_from("(writeback)")}, {.text = text_from("W")}}, 1);
    add_hist(set, (union cell[]){{.num = 12}, {.text = text_from("fio-log")}, {.text = text_from("W")}}, 1);
    add_hist(set, (union cell[]){{.num = 12}, {.text = text_from("fio")}, {.text = text_from("W")}}, 1);
    add_hist(set, (union cell[]){{.num = 0}, {.text = text_from("(throttled)")}, {.text = text_from("W")}}, 1);
    section_hists(section, set);
    frame_add_section(frame, section, 0);
    const struct frame *list[] = {frame};
    struct look other;
    forge_look(&other, list, 1);
    struct pane *pane = pane_new(&view_disk);
    focus(pane, "io_latency", &part_heat);
    forge_key(pane, &other, 'm', true);
    assert_string_equal(forge_key(pane, &other, 'v', true).message, "pid 0 (writeback), (throttled), op all");
    assert_string_equal(forge_key(pane, &other, 'v', true).message, "pid 12 fio-log, fio, op all");
    forge_key(pane, &other, 'm', true);
    static const char *const ends[] = {"aaaa", "bbbb"};
    for (int i = 0; i < 2; i++) {
        char want[100];
        forge_key(pane, &other, 'v', true);
        char *title = title_of(pane, &other);
        snprintf(want, sizeof(want), "- > Latency heat map  Total time by cgroup, .456789abcdef.slice/cri-%s.scope -",
                 ends[i]);
        assert_string_equal(title, want);
        free(title);
    }
    pane_free(pane);
    frame_unref(frame);
}

// A path with no room beside the other terms is said to be left out; (others) are not one group.
static void what_has_no_room(void **state) {
    (void)state;
    char path[300] = "/", rows[400];
    memset(path + 1, 'x', 250);
    path[251] = '\0';
    struct frame *frame = forge_frame(2);
    struct section *section = forge_section("block", 2);
    snprintf(rows, sizeof(rows), "%s|vda|R|5", path);
    section_table(section, forge_table(&block_cgroup_table, rows));
    section_stream(section, forge_table(&block_events_table, "1790000000.1|1790000000.2|fio|7|R|vda|8|512|1|2|-|3|/x"),
                   0);
    struct hist_set *set = hist_set_new(&block_cgroup_hists[BLOCK_OF_TOTAL]);
    const union cell keys[] = {{.text = text_from("(others)")}, {.text = text_from("R")}};
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    hist_acc_add(acc, 3000);
    hist_set_add(set, keys, hist_seal(acc));
    free(acc);
    section_hists(section, set);
    frame_add_section(frame, section, 0);
    const struct frame *list[] = {frame};
    struct look other;
    forge_look(&other, list, 1);
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(200, 70, true);
    pane_draw(pane, &other, grid_area(grid));
    focus(pane, "by_cgroup", NULL);
    assert_string_equal(forge_key(pane, &other, KEY_VIEW_ENTER, true).message,
                        "part of the filter does not apply here; Esc: back");
    assert_string_equal(pane->filter, "device=vda op=R");
    forge_key(pane, &other, KEY_VIEW_BACK, true);
    focus(pane, "io_latency", &part_heat);
    for (int i = 0; i < 20 && !hist_select_chosen(pane->parts[pane->focus], "cgroup"); i++) {
        forge_key(pane, &other, 'm', true);
        forge_key(pane, &other, 'v', true);
    }
    pane_draw(pane, &other, grid_area(grid));
    forge_key(pane, &other, KEY_VIEW_END, true);
    struct pane_answer answer = {0};
    for (int i = 0; i < 80 && !answer.go_frame; i++) {
        forge_key(pane, &other, i < 40 ? KEY_VIEW_UP : KEY_VIEW_DOWN, true);
        answer = forge_key(pane, &other, KEY_VIEW_ENTER, true);
    }
    assert_string_equal(answer.message, "all of them: (others) cannot be listed separately; Esc: back");
    assert_null(strstr(pane->filter, "cgroup"));
    grid_free(grid);
    pane_free(pane);
    frame_unref(frame);
}

// A program calls itself as if it were a term, or has blanks and quotes in its name: the list has the I/Os of its row
// and no others, though threads of one process have all these names.
static void names_like_terms(void **state) {
    static const char *const names[] = {"x op=W", "pid=1 comm~y", "blank ",      " device=vdb", "a = b", "\"a\" b\\",
                                        "-",      ">5ms",         "Web Content", "comm=Web"};
    const int n = sizeof(names) / sizeof(names[0]);
    char rows[512] = "", list[1024] = "";
    (void)state;
    for (int i = 0; i < n; i++) {
        snprintf(rows + strlen(rows), sizeof(rows) - strlen(rows), "20|%s|vda|R|5\n", names[i]);
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "1790000000.1|1790000000.2|%s|20|R|vda|8|512\n",
                 names[i]);
    }
    struct frame *frame = forge_frame(2);
    struct section *section = forge_section("block", 2);
    section_table(section, forge_table(&block_process_table, rows));
    section_stream(section, forge_table(&block_events_table, list), 0);
    frame_add_section(frame, section, 0);
    const struct frame *frames_of[] = {frame};
    struct look other;
    forge_look(&other, frames_of, 1);
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(120, 40, true);
    for (int i = 0; i < n; i++) {
        pane_draw(pane, &other, grid_area(grid));
        focus(pane, "by_process", NULL);
        forge_key(pane, &other, KEY_VIEW_DOWN, true);
        assert_string_equal(forge_key(pane, &other, KEY_VIEW_ENTER, true).message, "Esc: back");
        pane_draw(pane, &other, grid_area(grid));
        char *screen = forge_screen(grid), *title = strstr(screen, "- > Recent I/Os");
        assert_non_null(title);
        assert_non_null(strstr(strtok(title, "\n"), " 1 of 10, filter"));
        assert_non_null(strstr(pane->filter, "comm="));
        free(screen);
        forge_key(pane, &other, KEY_VIEW_BACK, true);
    }
    grid_free(grid);
    pane_free(pane);
    frame_unref(frame);
}

// What was waited for has just ended: Enter does not open a row of another table.
static void row_that_went(void **state) {
    (void)state;
    struct frame *frame = forge_frame(2);
    struct section *section = forge_section("block", 2);
    section_table(section, forge_table(&block_devices_table, "vda|1|2"));
    section_table(section, forge_table(&block_waiting_table, ""));
    frame_add_section(frame, section, 0);
    const struct frame *list[] = {frame};
    struct look other;
    forge_look(&other, list, 1);
    struct pane *pane = pane_new(&view_disk);
    focus(pane, "io_in_flight", NULL);
    struct pane_answer answer = forge_key(pane, &other, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.message, "no rows; Space: freeze");
    assert_string_equal(view_disk.parts[pane->focus].name, "io_in_flight");
    pane_free(pane);
    frame_unref(frame);
}

// At 80 columns how long, what, where and submitters; on wider screens the rest, the group at last.
static void the_list(void **state) {
    (void)state;
    struct frame *frame = forge_frame(2);
    struct section *section = forge_section("block", 2);
    section_stream(
        section,
        forge_table(&block_events_table,
                    "1790000000.1|1790000000.1025|mysqld|4242|WS|vda|8123456|16384|900|2500|-|3400|/db|48.2|slow\n"
                    "1790000000.2|1790000000.3|jbd2/vda1-8|311|FF|nvme0n1|-|0|-|100000|EIO|-|-|-|-"),
        3);
    frame_add_section(frame, section, 0);
    const struct frame *list[] = {frame};
    struct look other;
    forge_look(&other, list, 1);
    struct pane *pane = pane_new(&view_disk);
    focus(pane, "events", NULL);
    forge_key(pane, &other, KEY_VIEW_HOME, true);
    forge_expect(pane, &other, 80, 5, true,
                 "- Recent I/Os ------------------------------------ newest 1 + 1 slow/rare of 5 -\n"
                 "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND\n"
                 "14:13:20.200000       -       -   100ms FF        0 nvme0n1    jbd2/vda1-8\n"
                 "14:13:20.100000   3.4ms   900us   2.5ms WS    16.0K vda        mysqld\n"
                 " Devices   By process   Heat map   Histogram  >Recent I/Os    o next  = enlarge\n");
    forge_expect(pane, &other, 120, 5, true,
                 "- Recent I/Os ---------------------------------------------------------------------------- newest 1 "
                 "+ 1 slow/rare of 5 -\n"
                 "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND             PID ERROR         "
                 "       END\n"
                 "14:13:20.200000       -       -   100ms FF        0 nvme0n1    jbd2/vda1-8         311 EIO      "
                 "14:13:20.300000\n"
                 "14:13:20.100000   3.4ms   900us   2.5ms WS    16.0K vda        mysqld             4242 -        "
                 "14:13:20.102500\n"
                 " Devices   By process   Heat map   Histogram  >Recent I/Os                                           "
                 " o next  = enlarge\n");
    forge_expect(
        pane, &other, 200, 5, true,
        "- Recent I/Os "
        "--------------------------------------------------------------------------------------------------------------"
        "---------------------------------------------- newest 1 + 1 slow/rare of 5 -\n"
        "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND             PID ERROR                "
        "END       SECTOR   AT% KEPT   CGROUP\n"
        "14:13:20.200000       -       -   100ms FF        0 nvme0n1    jbd2/vda1-8         311 EIO      "
        "14:13:20.300000            -     - -      -\n"
        "14:13:20.100000   3.4ms   900us   2.5ms WS    16.0K vda        mysqld             4242 -        "
        "14:13:20.102500      8123456  48.2 slow   /db\n"
        " Devices   By process   Heat map   Histogram  >Recent I/Os                                                    "
        "                                                                        o next  = enlarge\n");
    pane_free(pane);
    frame_unref(frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),          cmocka_unit_test(the_list),         cmocka_unit_test(long_names),
        cmocka_unit_test(row_that_went), cmocka_unit_test(to_the_task),      cmocka_unit_test(limits_and_waiting),
        cmocka_unit_test(every_range),   cmocka_unit_test(what_has_no_room), cmocka_unit_test(names_like_terms),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
