// Groups and latencies of the pane events on literal screens.
#include "tests/unit/forge_frames.h"
#include "tests/unit/forge_io.h"

#include "collectors/events/group.h"
#include "collectors/events/table.h"

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("events", number);
    const double series[EVENTS_SERIES] = {[EVENTS_PER_S] = 300, [EVENTS_LOST] = 0, [EVENTS_RECORDED] = 100};
    forge_series(section, events_series, series, EVENTS_SERIES);
    section_table(section, forge_table(&events_counts_table, "syscalls:sys_exit_read|-|100|100|200\n"
                                                             "sched:sched_switch|-|200|200|400"));
    section_table(section,
                  forge_table(&events_groups_table, "syscalls:sys_exit_read|cat|0|90|90|ret|368640|4096|-9|8192\n"
                                                    "syscalls:sys_exit_read|others|-|10|10|ret|100|10|10|10"));
    section_table(section,
                  forge_table(&events_latencies_table, "sched:sched_waking -> sched_switch|all|150|150|24.5|900|3|2\n"
                                                       "sched:sched_waking -> sched_switch|301|150|150|24.5|900|-|-"));
    struct hist_set *set = hist_set_new(&events_latency_hist);
    forge_hist(set, "sched:sched_waking -> sched_switch", "301",
               (struct forge_run[]){{8000, 140}, {900000, 10}, {0, 0}});
    section_hists(section, set);
    section_stream(section,
                   forge_table(&events_stream_table,
                               "1790000000.1|0|cat|410|410|syscalls:sys_exit_read|0x1000|-|-|-|-|cat|0|4096|-\n"
                               "1790000000.2|1|sh|411|411|syscalls:sys_exit_read|0x1|-|-|-|-|sh|1|1|-"),
                   0);
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_events;

static const char screen_80[] = "events/s       300  lost             0  recorded %     100\n"
                                "─ ▸ Tracepoints ────────────────────────────────────────────────────────────────\n"
                                "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
                                "sched:sched_switch                  200      200       400 -\n"
                                "syscalls:sys_exit_read              100      100       200 -\n"
                                "─ Groups ───────────────────────────────────────────────────────────────────────\n"
                                "EVENT                    KEY             KEY2       ▼COUNT      SUM      AVG\n"
                                "syscalls:sys_exit_read   cat             0              90     369k     4096\n"
                                "syscalls:sys_exit_read   others          -              10      100       10\n"
                                "─ Latencies ────────────────────────────────────────────────────────────────────\n"
                                "PAIR                                 KEY          ▼COUNT     AVG     MAX    OPEN\n"
                                "sched:sched_waking -> sched_switch   301             150    24us   900us       -\n"
                                "sched:sched_waking -> sched_switch   all             150    24us   900us       3\n"
                                "─ Events ───────────────────────────────────────────────────────────────────────\n"
                                "           TIME COMMAND         EVENT                    DETAILS\n"
                                "14:13:20.200000 sh              syscalls:sys_exit_read   0x1\n"
                                "14:13:20.100000 cat             syscalls:sys_exit_read   0x1000\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n";
static const char screen_200[] =
    "events/s       300  lost             0  recorded %     100\n"
    "─ ▸ Tracepoints "
    "──────────────────────────────────────────────────────────────────────────────────────────────────────────────────"
    "──────────────────────────────────────────────────────────────────────\n"
    "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
    "sched:sched_switch                  200      200       400 -\n"
    "syscalls:sys_exit_read              100      100       200 -\n"
    "─ Groups "
    "──────────────────────────────────────────────────────────────────────────────────────────────────────────────────"
    "─────────────────────────────────────────────────────────────────────────────\n"
    "EVENT                    KEY             KEY2       ▼COUNT      SUM      AVG    PER/s VALUE           MIN      "
    "MAX\n"
    "syscalls:sys_exit_read   cat             0              90     369k     4096       90 ret              -9     "
    "8192\n"
    "syscalls:sys_exit_read   others          -              10      100       10       10 ret              10       "
    "10\n"
    "─ Latencies "
    "──────────────────────────────────────────────────────────────────────────────────────────────────────────────────"
    "──────────────────────────────────────────────────────────────────────────\n"
    "PAIR                                 KEY          ▼COUNT     AVG     MAX    OPEN   UNFIN    PER/s\n"
    "sched:sched_waking -> sched_switch   301             150    24us   900us       -       -      150\n"
    "sched:sched_waking -> sched_switch   all             150    24us   900us       3       2      150\n"
    "─ Events "
    "──────────────────────────────────────────────────────────────────────────────────────────────────────────────────"
    "─────────────────────────────────────────────────────────────────────────────\n"
    "           TIME COMMAND         EVENT                        PID  CPU     TID DETAILS\n"
    "14:13:20.200000 sh              syscalls:sys_exit_read       411    1     411 0x1\n"
    "14:13:20.100000 cat             syscalls:sys_exit_read       410    0     410 0x1000\n"
    "\n"
    "\n"
    "\n"
    "\n";
static const char opened_80[] = "events/s       300  lost             0  recorded %     100\n"
                                "─ Tracepoints ──────────────────────────────────────────────────────────────────\n"
                                "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
                                "sched:sched_switch                  200      200       400 -\n"
                                "syscalls:sys_exit_read              100      100       200 -\n"
                                "─ Groups ───────────────────────────────────────────────────────────────────────\n"
                                "EVENT                    KEY             KEY2       ▼COUNT      SUM      AVG\n"
                                "syscalls:sys_exit_read   cat             0              90     369k     4096\n"
                                "syscalls:sys_exit_read   others          -              10      100       10\n"
                                "─ Latencies ────────────────────────────────────────────────────────────────────\n"
                                "PAIR                                 KEY          ▼COUNT     AVG     MAX    OPEN\n"
                                "sched:sched_waking -> sched_switch   301             150    24us   900us       -\n"
                                "sched:sched_waking -> sched_switch   all             150    24us   900us       3\n"
                                "─ ▸ Events ──────── 1 of 2, filter event=syscalls:sys_exit_read key=cat key2=0 ─\n"
                                "           TIME COMMAND         EVENT                    DETAILS\n"
                                "14:13:20.100000 cat             syscalls:sys_exit_read   0x1000\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n";

static const char hist_80[] = "events/s       300  lost             0  recorded %     100\n"
                              "─ Tracepoints ──────────────────────────────────────────────────────────────────\n"
                              "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
                              "sched:sched_switch                  200      200       400 -\n"
                              "syscalls:sys_exit_read              100      100       200 -\n"
                              "─ Groups ───────────────────────────────────────────────────────────────────────\n"
                              "EVENT                    KEY             KEY2       ▼COUNT      SUM      AVG\n"
                              "syscalls:sys_exit_read   cat             0              90     369k     4096\n"
                              "syscalls:sys_exit_read   others          -              10      100       10\n"
                              "─ Latencies ────────────────────────────────────────────────────────────────────\n"
                              "PAIR                                 KEY          ▼COUNT     AVG     MAX    OPEN\n"
                              "sched:sched_waking -> sched_switch   301             150    24us   900us       -\n"
                              "sched:sched_waking -> sched_switch   all             150    24us   900us       3\n"
                              "─ ▸ Latency histogram ───── Latency (first to second event), pair all, key all ─\n"
                              "count 150  avg 67us  p50 8.0us  p90 8.0us  p99 897us  p99.9 900us  max 900us\n"
                              "   3us - 10us   ██████████████████████████████████████████████████    140  93.3%\n"
                              "  10us - 30us                                                           0   0.0%\n"
                              "  30us - 100us                                                          0   0.0%\n"
                              " 100us - 300us                                                          0   0.0%\n"
                              " 300us - 1ms    ███▋                                                   10   6.7%\n"
                              "•Tracepoints  •Groups  •Latencies  ▸Histogram   Events        o next  = enlarge\n";

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_events, &look);
    struct pane_answer answer = {0};
    forge_expect(pane, &look, 80, 21, false, screen_80);
    forge_expect(pane, &look, 200, 21, false, screen_200);
    pane_key(pane, &look, 'o', -1, -1, &answer); // to the groups
    pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    assert_true(pane_key(pane, &look, KEY_VIEW_ENTER, -1, -1, &answer)); // the events of its key only
    forge_expect(pane, &look, 80, 21, false, opened_80);
    pane_key(pane, &look, KEY_VIEW_BACK, -1, -1, &answer);
    pane_key(pane, &look, 'Y', -1, -1, &answer);
    forge_expect(pane, &look, 80, 21, false, hist_80);
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(screens)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
