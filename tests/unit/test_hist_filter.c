// The filter of a pane narrows its histograms and heat maps, the title says by what, and Enter on a range makes a
// filter that a person can read and that finds exactly what was counted.
#include <json-c/json.h>

#include "tests/unit/forge_disk.h"
#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/hist/select.h"

static void process_hist(struct hist_set *set, double pid, const char *comm, const char *op,
                         const struct forge_run *runs) {
    union cell keys[3] = {{.num = pid}, {.text = text_from(comm)}, {.text = text_from(op)}};
    hist_set_add(set, keys, forge_runs(runs));
}

// vda: fio (4242) reads 5 times in 215 us and once in 199.9 us, with read-ahead 3 times in 2.2 ms; dd (77) writes 4
// times in 30 ms. loop0: dd writes 2 times in 80 us.
static const struct frame *one(uint64_t number, const char *busy) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *block = forge_section("block", number);
    section_table(system, forge_real(DEVICES, busy));
    frame_add_section(frame, system, 0);
    section_table(block, forge_real(BY_PROCESS, "4242|fio|vda|R|9|36864|900|900\n77|dd|vda|W|4|16384|30000|30000\n"
                                                "77|dd|loop0|W|2|8192|80|80"));
    struct hist_set *latency = hist_set_new(real_hist("io_latency")),
                    *process = hist_set_new(real_hist("io_latency_by_process"));
    forge_hist(latency, "vda", "R", (struct forge_run[]){{199900, 1}, {215000, 5}, {0, 0}});
    forge_hist(latency, "vda", "RA", (struct forge_run[]){{2200000, 3}, {0, 0}});
    forge_hist(latency, "vda", "W", (struct forge_run[]){{30000000, 4}, {0, 0}});
    forge_hist(latency, "loop0", "W", (struct forge_run[]){{80000, 2}, {0, 0}});
    process_hist(process, 4242, "fio", "R", (struct forge_run[]){{199900, 1}, {215000, 5}, {2200000, 3}, {0, 0}});
    process_hist(process, 77, "dd", "W", (struct forge_run[]){{80000, 2}, {30000000, 4}, {0, 0}});
    section_hists(block, latency);
    section_hists(block, process);
    section_stream(block,
                   forge_real(IO_EVENTS, "1790000000.1|1790000000.1|fio|R|vda|4096|199.9\n"
                                         "1790000000.2|1790000000.2|fio|R|vda|4096|215\n"
                                         "1790000000.3|1790000000.3|fio|RA|vda|4096|2200\n"
                                         "1790000000.4|1790000000.4|dd|W|vda|4096|30000\n"
                                         "1790000000.5|1790000000.5|dd|W|loop0|4096|80"),
                   0);
    frame_add_section(frame, block, 0);
    return frame;
}

// The kernel reads, fio writes; an idle process that did neither.
static const struct frame *two_columns(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *block = forge_section("block", number);
    struct hist_set *process = hist_set_new(real_hist("io_latency_by_process"));
    process_hist(process, 7, "kworker", "R", (struct forge_run[]){{210000, 1}, {0, 0}});
    process_hist(process, 8, "dd", "R", (struct forge_run[]){{0, 0}});
    process_hist(process, 4242, "fio", "W", (struct forge_run[]){{210000, 2}, {0, 0}});
    section_hists(block, process);
    section_stream(block, forge_real(IO_EVENTS, "1790000000.1|1790000000.1|fio|W|vda|4096|210"), 0);
    frame_add_section(frame, block, 0);
    return frame;
}

static const struct frame *frames[3];

static int setup(void **state) {
    (void)state;
    const char *busy = "loop0|0|2|0|8192|0|1\nvda|9|4|36864|16384|1|90";
    frames[0] = one(1, busy);
    frames[1] = one(2, busy);
    frames[2] = two_columns(3);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    frame_unref(frames[0]);
    frame_unref(frames[1]);
    frame_unref(frames[2]);
    return 0;
}

// The line that begins so, without what leads to the words at its right end; the caller frees it.
static char *line_of(struct pane *pane, const struct look *look, int width, const char *begin) {
    struct grid *grid = grid_new(width, 40, true);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid), *at = strstr(screen, begin);
    assert_non_null(at);
    at += strlen(begin);
    at[strcspn(at, "\n")] = '\0';
    at += strspn(at, " -");
    char *end = at + strlen(at), *out;
    while (end > at && (end[-1] == '-' || end[-1] == ' '))
        *--end = '\0';
    out = xstrdup(at);
    free(screen);
    grid_free(grid);
    return out;
}

static void expect(struct pane *pane, const struct look *look, const char *filter, const char *title,
                   const char *count) {
    pane_set_filter(pane, filter);
    for (int i = 0; i < 2; i++) { // the second time nothing is new
        char *over = line_of(pane, look, 108, "Latency heat map "),
             *how = line_of(pane, look, 108, "Latency histogram ");
        char *stats = line_of(pane, look, 108, "\ncount ");
        assert_string_equal(over, title);
        assert_string_equal(how, title);
        stats[strcspn(stats, " ")] = '\0';
        assert_string_equal(stats, count);
        free(over);
        free(how);
        free(stats);
    }
}

static void narrowing(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, frames, 2);
    expect(pane, &look, "", "Service time (issue to complete), device vda (busiest), op all", "13");
    expect(pane, &look, "op=R", "Service time (issue to complete), device vda (busiest), op R (filter)", "9");
    expect(pane, &look, "op=RA", "Service time (issue to complete), device vda (busiest), op RA (filter)", "3");
    expect(pane, &look, "op!=R", "Service time (issue to complete), device vda (busiest), op!=R (filter)", "4");
    expect(pane, &look, "device=loop0", "Service time (issue to complete), device loop0 (filter), op all", "2");
    expect(pane, &look, "device!=vda", "Service time (issue to complete), device loop0 (busiest), op all", "2");
    expect(pane, &look, "device=vda op=W", "Service time (issue to complete), device vda (filter), op W (filter)", "4");
    // Kept by something else: to the measure that is, and back.
    expect(pane, &look, "pid=77", "Service time by process, pid 77 (filter), op all", "6");
    expect(pane, &look, "comm~IO op=R", "Service time by process, pid all, comm~IO (filter), op R (filter)", "9");
    expect(pane, &look, "op=R", "Service time (issue to complete), device vda (busiest), op R (filter)", "9");
    // By no measure: it is said.
    expect(pane, &look, "latency_us>=1ms", "Service time, device vda (busiest), op all, not filtered by latency_us",
           "13");
    expect(pane, &look, "pid=77 device=vda",
           "Service time (issue to complete), device vda (filter), op all, not filtered by pid", "13");
    char *narrow = line_of(pane, &look, 90, "Latency heat map ");
    assert_string_equal(narrow, "Service time, device vda (filter), op all, not filtered by pid");
    free(narrow);
    pane_set_filter(pane, "device=vda latency_us=20us..30us comm=fio bytes=4K.. ios_per_s>1");
    narrow = line_of(pane, &look, 80, "Latency heat map "); // no room for all of it
    assert_string_equal(narrow, "Service time, vda, filtered in part");
    free(narrow);
    // A text, wherever it stands.
    expect(pane, &look, "FIO", "Service time by process, pid all, op all, with \"FIO\"", "9");
    expect(pane, &look, "loop", "Service time (issue to complete), device loop0 (busiest), op all, with \"loop\"", "2");
    expect(pane, &look, "nothing", "Service time (issue to complete), device vda (busiest), op all, not filtered",
           "13");
    expect(pane, &look, "pid=", "Service time (issue to complete), device vda (busiest), op all", "13");
    // What was chosen by hand gives way to a filter for the same, and stays else.
    pane_set_filter(pane, "");
    assert_string_equal(forge_key(pane, &look, 't', true).message, "device vda (busiest), op R");
    expect(pane, &look, "device=vda", "Service time (issue to complete), device vda (filter), op R", "9");
    expect(pane, &look, "op=W", "Service time (issue to complete), device vda (busiest), op W (filter)", "4");
    // Keys choose from what the filter leaves, and among all measures.
    assert_string_equal(forge_key(pane, &look, 't', true).message, "device vda (busiest), op W (filter)");
    forge_key(pane, &look, 't', true); // all again
    expect(pane, &look, "comm=dd", "Service time by process, pid all, comm dd (filter), op all", "6");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "pid 77 dd, comm dd (filter), op all");
    forge_key(pane, &look, 'v', true);
    forge_key(pane, &look, 'm', true);
    expect(pane, &look, "comm=dd",
           "Service time (issue to complete), device vda (busiest), op all, not filtered by comm", "13");
    pane_free(pane);
}

// A text of which nothing is there yet when it is typed, and the measure that is then chosen by hand.
static void later(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(80, 40, true);
    struct frame *idle = forge_frame(1);
    struct section *system = forge_section("system", 1);
    section_table(system, forge_real(DEVICES, "vda|0|0|0|0|0|0"));
    frame_add_section(idle, system, 0);
    const struct frame *both[] = {idle, frames[1]};
    pane_set_filter(pane, "fio");
    forge_look(&look, both, 1);
    pane_draw(pane, &look, grid_area(grid));
    forge_look(&look, both, 2);
    expect(pane, &look, "fio", "Service time by process, pid all, op all, with \"fio\"", "9");
    forge_key(pane, &look, 'm', true);
    expect(pane, &look, "fio", "Service time (issue to complete), device vda (busiest), op all, not filtered", "13");
    frame_unref(idle);
    grid_free(grid);
    pane_free(pane);
}

// A filter that parts no devices leaves the one that is shown, another one makes its choice anew.
static void busiest(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    const struct frame *next = one(3, "loop0|0|2|0|8192|0|99\nvda|9|4|36864|16384|1|60"); // not clearly busier
    forge_look(&look, frames, 2);
    expect(pane, &look, "", "Service time (issue to complete), device vda (busiest), op all", "13");
    forge_look(&look, &next, 1);
    expect(pane, &look, "", "Service time (issue to complete), device vda (busiest), op all", "13");
    expect(pane, &look, "op=W", "Service time (issue to complete), device vda (busiest), op W (filter)", "4");
    expect(pane, &look, "nothing", "Service time (issue to complete), device vda (busiest), op all, not filtered",
           "13");
    look.live = false;
    expect(pane, &look, "loop", "Service time (issue to complete), device loop0 (busiest), op all, with \"loop\"", "2");
    expect(pane, &look, "vd", "Service time (issue to complete), device vda (busiest), op all, with \"vd\"", "13");
    expect(pane, &look, "", "Service time (issue to complete), device loop0 (busiest), op all", "2");
    frame_unref(next);
    pane_free(pane);
}

static size_t written(struct pane *pane, const struct look *look, const char *filter, const char *set) {
    const struct write_info info = {.version = "1", .host = "h", .kernel = "k"};
    struct json_object *histograms, *list;
    char *text;
    size_t size;
    pane_set_filter(pane, filter);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pane_write(pane, look, FORMAT_JSON, &info, out), 0);
    fclose(out);
    struct json_object *json = json_tokener_parse(text);
    assert_true(json_object_object_get_ex(json, "histograms", &histograms));
    assert_true(json_object_object_get_ex(histograms, set, &list));
    size = json_object_array_length(list);
    json_object_put(json);
    free(text);
    return size;
}

// Files: by the rule of their tables, and what the filter cannot narrow is whole.
static void files(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, frames, 2);
    assert_int_equal(written(pane, &look, "", "io_latency"), 4);
    assert_int_equal(written(pane, &look, "device=vda op=R", "io_latency"), 2);
    assert_int_equal(written(pane, &look, "device=vda op=R", "io_latency_by_process"), 1);
    assert_int_equal(written(pane, &look, "pid=77", "io_latency"), 4);
    assert_int_equal(written(pane, &look, "pid=77", "io_latency_by_process"), 1);
    assert_int_equal(written(pane, &look, "dd", "io_latency_by_process"), 1);
    assert_int_equal(written(pane, &look, "dd", "io_latency"), 4);
    assert_int_equal(written(pane, &look, "loop", "io_latency"), 1);
    assert_int_equal(written(pane, &look, "loop", "io_latency_by_process"), 2);
    pane_free(pane);
}

// After those keys, Enter on the first range of the histogram, or on the one that is so many below it.
static void enter(const char *keys, const char *filter, int down, const char *expected, int height, size_t first,
                  const char *message) {
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(80, height, true);
    forge_look(&look, frames + first, first ? 1 : 2);
    pane_set_filter(pane, filter);
    pane_draw(pane, &look, grid_area(grid));
    for (const char *key = keys; *key; key++)
        forge_key(pane, &look, *key, true);
    forge_key(pane, &look, 'o', true);
    forge_key(pane, &look, 'o', true);
    forge_key(pane, &look, 'o', true);
    pane_draw(pane, &look, grid_area(grid));
    for (int i = 0; i <= down; i++)
        forge_key(pane, &look, KEY_VIEW_DOWN, true);
    assert_string_equal(forge_key(pane, &look, KEY_VIEW_ENTER, true).message, message);
    assert_string_equal(pane->filter, expected);
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_string_equal(pane->filter, filter);
    grid_free(grid);
    pane_free(pane);
}

static void expect_list(const char *filter, int down, const char *expected, int height) {
    enter("", filter, down, expected, height, 0, "Esc: back");
}

static void ranges(void **state) {
    (void)state;
    // 199.9 us is counted from 200 us on, so that the label is not the truth.
    expect_list("op=R", 1, "device=vda op=R latency_us=199us..500us", 17);
    expect_list("op=RA", 0, "device=vda op=RA latency_us=2.2ms..2.5ms", 40);
    expect_list("comm=fio", 1, "comm=fio latency_us=199us..500us", 17);
    expect_list("fio", 1, "comm~fio latency_us=199us..500us", 17);
    expect_list("", 4, "device=vda latency_us=2ms..5ms", 17);
    // A device that these histograms are not kept by is one of the filter, not one that was chosen.
    enter("M", "device=vda", 0, "device=vda latency_us=10us..100us", 17, 0, "Esc: back");
    // In one column of this and in another one of that: no term says both.
    enter("", "w", 0, "latency_us=200us..220us", 17, 2, "the filter text does not apply to this list; Esc: back");
    enter("t", "w", 0, "op=R comm~w latency_us=200us..220us", 17, 2, "Esc: back");
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(narrowing), cmocka_unit_test(later), cmocka_unit_test(busiest),
                                       cmocka_unit_test(files), cmocka_unit_test(ranges)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
