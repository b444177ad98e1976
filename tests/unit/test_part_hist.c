// The histogram part on literal screens and in files, from frames made by hand.
#include "tests/unit/screens.h"

#include "tests/unit/forge_io.h"
#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"

static const char *const sets[] = {"io_latency", "io_size", NULL};
static const struct hist_spec spec = {.sets = sets};
static const struct part parts[] = {
    {.kind = &part_hist,
     .name = "io_latency",
     .title = "Latency histogram",
     .spec = &spec,
     .min_height = 4,
     .weight = 1},
};
static const struct view view = {.name = "t", .title = "T", .question = "?", .parts = parts, .n_parts = 1};

// vda: 900 reads of about 120 us, 90 of 1.3 ms, 10 writes of 30 ms; loop0: 5 reads of 7 us.
static const struct frame *usual(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct hist_set *latency = hist_set_new(real_hist("io_latency")), *size = hist_set_new(real_hist("io_size"));
    forge_hist(latency, "vda", "R", (struct forge_run[]){{120000, 900}, {1300000, 90}, {0, 0}});
    forge_hist(latency, "vda", "W", (struct forge_run[]){{30000000, 10}, {0, 0}});
    forge_hist(latency, "loop0", "R", (struct forge_run[]){{7000, 5}, {0, 0}});
    forge_hist(size, "fio", "R", (struct forge_run[]){{4096, 990}, {65536, 10}, {0, 0}});
    struct section *section = forge_section("block", number);
    section_hists(section, latency);
    section_hists(section, size);
    frame_add_section(frame, section, 0);
    return frame;
}

static void screens(void **state) {
    (void)state;
    const struct frame *frame = usual(1);
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, &frame, 1);
    forge_expect(pane, &look, 80, 14, false,

                 "─ Latency histogram ───── Service time (issue to complete), device all, op all ─\n"
                 "count 1005  avg 522us  p50 120us  p90 120us  p95 1.3ms  p99 1.3ms  p99.9 30.0ms\n"
                 "max 30.0ms\n"
                 "   3us - 10us   ▎                                                       5   0.5%\n"
                 "  10us - 30us                                                           0   0.0%\n"
                 "  30us - 100us                                                          0   0.0%\n"
                 " 100us - 300us  ██████████████████████████████████████████████████    900  89.6%\n"
                 " 300us - 1ms                                                            0   0.0%\n"
                 "   1ms - 3ms    █████                                                  90   9.0%\n"
                 "   3ms - 10ms                                                           0   0.0%\n"
                 "  10ms - 30ms                                                           0   0.0%\n"
                 "  30ms - 100ms  ▌                                                      10   1.0%\n"
                 "\n"
                 "\n");
    forge_expect(pane, &look, 30, 10, false,

                 "─ Latency histogram ──────────\n"
                 "count 1005  p50 120us\n"
                 "p99 1.3ms  max 30.0ms\n"
                 "   1us ▏              5   0.5%\n"
                 "  10us                0   0.0%\n"
                 " 100us █████████    900  89.6%\n"
                 "   1ms ▉             90   9.0%\n"
                 "  10ms ▏             10   1.0%\n"
                 "\n"
                 "\n");
    forge_expect(pane, &look, 46, 9, true,

                 "- Latency histogram ----------- Service time -\n"
                 "count 1005  avg 522us  p50 120us  p90 120us\n"
                 "p95 1.3ms  p99 1.3ms  p99.9 30.0ms  max 30.0ms\n"
                 "   1us - 10us   .                     5   0.5%\n"
                 "  10us - 100us                        0   0.0%\n"
                 " 100us - 1ms    ################    900  89.6%\n"
                 "   1ms - 10ms   ##                   90   9.0%\n"
                 "  10ms - 100ms  .                    10   1.0%\n"
                 "\n");
    forge_expect(pane, &look, 80, 3, false,

                 "─ Latency histogram ───── Service time (issue to complete), device all, op all ─\n"
                 "count 1005  avg 522us  p50 120us  p90 120us  p99 1.3ms  p99.9 30.0ms  max 30.0ms\n"
                 "   1us - 100s   ██████████████████████████████████████████████████   1005 100.0%\n");
    forge_expect(pane, &look, 9, 4, false,

                 "─ Latency\n"
                 "count 100\n"
                 "95  99.0%\n"
                 "10   1.0%\n");
    pane_free(pane);
    frame_unref(frame);
}

static void choosing(void **state) {
    (void)state;
    const struct frame *frame = usual(1);
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, &frame, 1);
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device loop0, op all");
    forge_expect(pane, &look, 80, 4, false,

                 "─ Latency histogram ─── Service time (issue to complete), device loop0, op all ─\n"
                 "count 5  avg 7.0us  p50 7.0us  p90 7.0us  p99 7.0us  p99.9 7.0us  max 7.0us\n"
                 "   7us - 8us    ██████████████████████████████████████████████████      5 100.0%\n"
                 "\n");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device vda, op all");
    assert_string_equal(forge_key(pane, &look, 't', true).message, "device vda, op R");
    assert_string_equal(forge_key(pane, &look, 't', true).message, "device vda, op W");
    forge_expect(pane, &look, 80, 4, true,

                 "- Latency histogram ------- Service time (issue to complete), device vda, op W -\n"
                 "count 10  avg 30.0ms  p50 30.0ms  p99 30.0ms  p99.9 30.0ms  max 30.0ms\n"
                 "  28ms - 32ms   ##################################################     10 100.0%\n"
                 "\n");
    assert_string_equal(forge_key(pane, &look, 't', true).message, "device vda, op all");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device all, op all");
    assert_string_equal(forge_key(pane, &look, 'V', true).message, "device vda, op all");
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "I/O size");
    forge_expect(pane, &look, 80, 8, false,

                 "─ Latency histogram ─────────────────────────────── I/O size, comm all, op all ─\n"
                 "count 1000  avg 4.6K  p50 4.0K  p90 4.0K  p99 4.0K  p99.9 64.0K  max 64.0K\n"
                 "    4K - 8K     ██████████████████████████████████████████████████    990  99.0%\n"
                 "    8K - 16K                                                            0   0.0%\n"
                 "   16K - 32K                                                            0   0.0%\n"
                 "   32K - 64K                                                            0   0.0%\n"
                 "   64K - 128K   ▌                                                      10   1.0%\n"
                 "\n");
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "Service time: issue to complete");
    forge_expect(pane, &look, 80, 4, false,

                 "─ Latency histogram ───── Service time (issue to complete), device vda, op all ─\n"
                 "count 1000  avg 525us  p50 120us  p90 120us  p99 1.3ms  p99.9 30.0ms  max 30.0ms\n"
                 " 100us - 10ms   ██████████████████████████████████████████████████    990  99.0%\n"
                 "  10ms - 1s     ▌                                                      10   1.0%\n");
    forge_key(pane, &look, 'z', false);
    pane_free(pane);
    frame_unref(frame);
}

// A detached device and a type without an I/O lead to an empty picture: not offered, but kept when they were chosen.
static void choices_have_data(void **state) {
    (void)state;
    const struct frame *frames[2];
    for (uint64_t number = 1; number <= 2; number++) {
        struct frame *frame = forge_frame(number);
        struct section *section = forge_section("block", number);
        struct hist_set *latency = hist_set_new(real_hist("io_latency"));
        forge_hist(latency, "loop3", "R", (struct forge_run[]){{0, 0}});
        forge_hist(latency, "vda", "D", (struct forge_run[]){{0, 0}});
        forge_hist(latency, "vda", "R", (struct forge_run[]){{7000, 5}, {0, 0}});
        if (number == 1)
            forge_hist(latency, "vdb", "W", (struct forge_run[]){{7000, 5}, {0, 0}});
        section_hists(section, latency);
        frame_add_section(frame, section, 0);
        frames[number - 1] = frame;
    }
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, frames, 2);
    static const struct {
        int key;
        const char *message;
    } presses[] = {
        {'v', "device vda, op all"}, {'t', "device vda, op R"},   {'t', "device vda, op all"},
        {'T', "device vda, op R"},   {'v', "device all, op R"},   {'v', "device vda, op R"},
        {'v', "device all, op R"},   {'t', "device all, op W"},   {'v', "device vdb, op W"},
        {'V', "device all, op W"},   {'t', "device all, op all"}, {'V', "device vdb, op all"},
    };
    for (size_t i = 0; i < sizeof presses / sizeof *presses; i++)
        assert_string_equal(forge_key(pane, &look, presses[i].key, true).message, presses[i].message);
    forge_look(&look, frames + 1, 1); // where the chosen one has nothing: it stays until the next key
    forge_expect(pane, &look, 80, 2, false,
                 "─ Latency histogram ───── Service time (issue to complete), device vdb, op all ─\n"
                 "none in this interval\n");
    assert_string_equal(forge_key(pane, &look, 'V', true).message, "device vda, op all");
    pane_free(pane);
    frame_unref(frames[0]);
    frame_unref(frames[1]);
}

static void whole_window(void **state) {
    (void)state;
    const struct frame *frames[3] = {usual(1), usual(2), forge_frame(3)};
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, frames, 2);
    forge_key(pane, &look, 'a', true);
    forge_expect(pane, &look, 80, 3, false,

                 "─ Latency histogram ────────── Service time, device all, op all, whole history ─\n"
                 "count 2010  avg 522us  p50 120us  p90 120us  p99 1.3ms  p99.9 30.0ms  max 30.0ms\n"
                 "   1us - 100s   ██████████████████████████████████████████████████   2010 100.0%\n");
    forge_look(&look, frames, 3); // the newest has no set at all: those before say what it is
    forge_expect(pane, &look, 80, 3, false,

                 "─ Latency histogram ────────── Service time, device all, op all, whole history ─\n"
                 "count 2010  avg 522us  p50 120us  p90 120us  p99 1.3ms  p99.9 30.0ms  max 30.0ms\n"
                 "\n");
    forge_key(pane, &look, 'a', true);
    forge_expect(pane, &look, 80, 3, false,

                 "─ Latency histogram ───── Service time (issue to complete), device all, op all ─\n"
                 "not measured\n"
                 "\n");
    pane_free(pane);
    for (int i = 0; i < 3; i++)
        frame_unref(frames[i]);
}

static void nothing(void **state) {
    (void)state;
    const struct frame *frame = forge_frame(1);
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, &frame, 1);
    forge_expect(pane, &look, 40, 4, false,

                 "─ Latency histogram ────────────────────\n"
                 "not measured\n"
                 "\n"
                 "\n");
    forge_key(pane, &look, 'v', false);
    forge_expect(pane, &look, 0, 0, false, "");
    forge_look(&look, NULL, 0);
    forge_expect(pane, &look, 40, 2, false,

                 " waiting for the first frame\n"
                 "\n");
    forge_key(pane, &look, 'v', false);
    pane_free(pane);
    frame_unref(frame);
}

static void huge_counts(void **state) {
    (void)state;
    struct frame *frame = forge_frame(1);
    struct hist_set *latency = hist_set_new(real_hist("io_latency"));
    forge_hist(latency, "vda", "R", (struct forge_run[]){{1000, 4294967295u}, {17000000000000ull, 1}, {0, 0}});
    struct section *section = forge_section("block", 1);
    section_hists(section, latency);
    frame_add_section(frame, section, 0);
    const struct frame *frames[] = {frame};
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, frames, 1);
    forge_expect(pane, &look, 60, 10, false,

                 "─ Latency histogram ───── Service time, device all, op all ─\n"
                 "count 4.3G  avg 5.0us  p50 1.0us  p90 1.0us  p95 1.0us\n"
                 "p99 1.0us  p99.9 1.0us  max 17000s\n"
                 "   1us - 100us  ██████████████████████████████   4.3G 100.0%\n"
                 " 100us - 10ms                                       0   0.0%\n"
                 "  10ms - 1s                                         0   0.0%\n"
                 "    1s - 100s                                       0   0.0%\n"
                 "  100s - 10000s                                     0   0.0%\n"
                 "10000s - 1000000▏                                   1   0.0%\n"
                 "\n");
    pane_free(pane);
    frame_unref(frame);
}

static void files(void **state) {
    (void)state;
    const struct frame *frame = usual(1);
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, &frame, 1);
    forge_text(
        pane, &look, FORMAT_JSON,

        "{\"ktop\":\"1\",\"schema\":1,\"host\":\"h\",\"kernel\":\"k\",\"time\":\"2026-09-21T14:13:21.000Z\",\"interval_"
        "s\":1,\"pane\":\"t\",\"lost_events\":0,\"intervals_s\":{\"block\":1},\"series\":{},\"tables\":{},"
        "\"histograms\":{\"io_latency\":[{\"device\":\"vda\",\"op\":\"R\",\"unit\":\"us\",\"count\":990,\"sum\":225000,"
        "\"min\":120,\"max\":1300,\"p50\":120.3195,\"p90\":120.3195,\"p95\":1300,\"p99\":1300,\"p999\":1300,"
        "\"buckets\":[[119.808,120.832,900],[1294.336,1310.72,90]]},{\"device\":\"vda\",\"op\":\"W\",\"unit\":\"us\","
        "\"count\":10,\"sum\":300000,\"min\":30000,\"max\":30000,\"p50\":30000,\"p90\":30000,\"p95\":30000,\"p99\":"
        "30000,\"p999\":30000,\"buckets\":[[29884.416,30146.56,10]]},{\"device\":\"loop0\",\"op\":\"R\",\"unit\":"
        "\"us\",\"count\":5,\"sum\":35,\"min\":7,\"max\":7,\"p50\":7,\"p90\":7,\"p95\":7,\"p99\":7,\"p999\":7,"
        "\"buckets\":[[6.976,7.04,5]]}],\"io_size\":[{\"comm\":\"fio\",\"op\":\"R\",\"unit\":\"bytes\",\"count\":1000,"
        "\"sum\":4710400,\"min\":4096,\"max\":65536,\"p50\":4127.5,\"p90\":4127.5,\"p95\":4127.5,\"p99\":4127.5,"
        "\"p999\":65536,\"buckets\":[[4096,4160,990],[65536,66560,10]]}]},\"trees\":{},\"events\":[],\"notes\":[]}\n");
    forge_text(
        pane, &look, FORMAT_CSV,

        "table,time,device,op,unit,count,sum,min,max,p50,p90,p95,p99,p999\n"
        "io_latency,2026-09-21T14:13:21.000Z,vda,R,us,990,225000,120,1300,120.3195,120.3195,1300,1300,1300\n"
        "io_latency,2026-09-21T14:13:21.000Z,vda,W,us,10,300000,30000,30000,30000,30000,30000,30000,30000\n"
        "io_latency,2026-09-21T14:13:21.000Z,loop0,R,us,5,35,7,7,7,7,7,7,7\n"
        "table,time,device,op,low,high,count\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,vda,R,119.808,120.832,900\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,vda,R,1294.336,1310.72,90\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,vda,W,29884.416,30146.56,10\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,loop0,R,6.976,7.04,5\n"
        "table,time,comm,op,unit,count,sum,min,max,p50,p90,p95,p99,p999\n"
        "io_size,2026-09-21T14:13:21.000Z,fio,R,bytes,1000,4710400,4096,65536,4127.5,4127.5,4127.5,4127.5,65536\n"
        "table,time,comm,op,low,high,count\n"
        "io_size_buckets,2026-09-21T14:13:21.000Z,fio,R,4096,4160,990\n"
        "io_size_buckets,2026-09-21T14:13:21.000Z,fio,R,65536,66560,10\n"
        "table,time,severity,text,fix\n");
    forge_text(
        pane, &look, FORMAT_CSV,

        "io_latency,2026-09-21T14:13:21.000Z,vda,R,us,990,225000,120,1300,120.3195,120.3195,1300,1300,1300\n"
        "io_latency,2026-09-21T14:13:21.000Z,vda,W,us,10,300000,30000,30000,30000,30000,30000,30000,30000\n"
        "io_latency,2026-09-21T14:13:21.000Z,loop0,R,us,5,35,7,7,7,7,7,7,7\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,vda,R,119.808,120.832,900\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,vda,R,1294.336,1310.72,90\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,vda,W,29884.416,30146.56,10\n"
        "io_latency_buckets,2026-09-21T14:13:21.000Z,loop0,R,6.976,7.04,5\n"
        "io_size,2026-09-21T14:13:21.000Z,fio,R,bytes,1000,4710400,4096,65536,4127.5,4127.5,4127.5,4127.5,65536\n"
        "io_size_buckets,2026-09-21T14:13:21.000Z,fio,R,4096,4160,990\n"
        "io_size_buckets,2026-09-21T14:13:21.000Z,fio,R,65536,66560,10\n");
    forge_text(pane, &look, FORMAT_TEXT,

               "== 2026-09-21T14:13:21.000Z  t  1.000 s  h ==\n"
               "Latency histogram\n"
               "  io_latency device vda op R: count 990, avg 227us, p50 120us, p90 120us, p95 1.3ms, p99 1.3ms, p99.9 "
               "1.3ms, max 1.3ms\n"
               "     120us - 150us       900  90.9%\n"
               "     1.2ms - 1.5ms        90   9.1%\n"
               "  io_latency device vda op W: count 10, avg 30.0ms, p50 30.0ms, p90 30.0ms, p95 30.0ms, p99 30.0ms, "
               "p99.9 30.0ms, max 30.0ms\n"
               "      28ms - 32ms         10 100.0%\n"
               "  io_latency device loop0 op R: count 5, avg 7.0us, p50 7.0us, p90 7.0us, p95 7.0us, p99 7.0us, p99.9 "
               "7.0us, max 7.0us\n"
               "       7us - 8us           5 100.0%\n"
               "  io_size comm fio op R: count 1000, avg 4.6K, p50 4.0K, p90 4.0K, p95 4.0K, p99 4.0K, p99.9 64.0K, "
               "max 64.0K\n"
               "        4K - 6K          990  99.0%\n"
               "       64K - 96K          10   1.0%\n"
               "\n");
    pane_free(pane);
    frame_unref(frame);
}

// A set that stands in two frames is counted once, on the screen and in files.
static void repeated(void **state) {
    (void)state;
    const struct frame *frames[2] = {usual(1), usual(2)};
    struct look look;
    struct pane *pane = pane_new(&view);
    ((struct frame *)frames[1])->repeated[0] = true;
    forge_look(&look, frames, 2);
    forge_expect(pane, &look, 80, 4, false,

                 "─ Latency histogram ───── Service time (issue to complete), device all, op all ─\n"
                 "no data for this interval yet: [ shows the previous frame\n"
                 "\n"
                 "\n");
    forge_key(pane, &look, 'a', true);
    forge_expect(pane, &look, 80, 3, false,

                 "─ Latency histogram ────────── Service time, device all, op all, whole history ─\n"
                 "count 1005  avg 522us  p50 120us  p90 120us  p99 1.3ms  p99.9 30.0ms  max 30.0ms\n"
                 "   1us - 100s   ██████████████████████████████████████████████████   1005 100.0%\n");
    forge_text(pane, &look, FORMAT_TEXT, "== 2026-09-21T14:13:22.000Z  t  1.000 s  h ==\nLatency histogram\n\n");
    pane_free(pane);
    frame_unref(frames[0]);
    frame_unref(frames[1]);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens),      cmocka_unit_test(choosing), cmocka_unit_test(choices_have_data),
        cmocka_unit_test(whole_window), cmocka_unit_test(nothing),  cmocka_unit_test(huge_counts),
        cmocka_unit_test(files),        cmocka_unit_test(repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
