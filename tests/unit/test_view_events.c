// The pane events on literal screens: counts, the events, and the list of tracepoints to choose from.
#include "tests/unit/forge_frames.h"

#include "collectors/events/table.h"

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("events", number);
    const double series[EVENTS_SERIES] = {[EVENTS_PER_S] = 1204, [EVENTS_LOST] = 0, [EVENTS_RECORDED] = 100};
    forge_series(section, events_series, series, EVENTS_SERIES);
    section_table(section, forge_table(&events_counts_table, "sched:sched_process_exec|-|4|4|120\n"
                                                             "sched:sched_switch|prev_state == 2|1200|1200|36000"));
    section_table(section, forge_table(&events_tracepoints_table, "sched:sched_process_exec|yes|4.5\n"
                                                                  "sched:sched_switch|yes|1200\n"
                                                                  "signal:signal_generate|-|-"));
    section_stream(
        section,
        forge_table(&events_stream_table,
                    "1790000000.1|0|sh|410|410|sched:sched_process_exec|filename=/bin/true pid=410 "
                    "old_pid=410|/bin/true 'two words'\n"
                    "1790000000.2|1|fio|300|301|sched:sched_switch|prev_comm=fio prev_pid=301 prev_prio=120 "
                    "prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120|-\n"
                    "1790000000.3|1|-|411|411|sched:sched_process_exec|filename=/usr/bin/ls pid=411 old_pid=411|-"),
        7);
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_events;

static const char screen_80[] = "events/s      1204  lost             0  recorded %     100\n"
                                "─ ▸ Tracepoints ────────────────────────────────────────────────────────────────\n"
                                "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
                                "sched:sched_switch                 1200     1200     36.0k prev_state == 2\n"
                                "sched:sched_process_exec            4.0        4       120 -\n"
                                "─ Events ──────────────────────────────────────────────────── 7 older not kept ─\n"
                                "           TIME COMMAND         EVENT                    ARGUMENTS\n"
                                "14:13:20.300000 -               sched:sched_process_exec filename=/usr/bin/ls p…\n"
                                "14:13:20.200000 fio             sched:sched_switch       prev_comm=fio prev_pid…\n"
                                "14:13:20.100000 sh              sched:sched_process_exec /bin/true 'two words'\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n"
                                "\n";

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_events, &look);
    forge_expect(pane, &look, 80, 21, false, screen_80);
    forge_expect(pane, &look, 200, 21, false,
                 "events/s      1204  lost             0  recorded %     100\n"
                 "─ ▸ Tracepoints "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "───────────────────────────────────────────────────────────────────────────────────\n"
                 "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
                 "sched:sched_switch                 1200     1200     36.0k prev_state == 2\n"
                 "sched:sched_process_exec            4.0        4       120 -\n"
                 "─ Events "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "─────────────────────────────────────────────────────────────────────── 7 older not kept ─\n"
                 "           TIME COMMAND         EVENT                        PID  CPU     TID ARGUMENTS\n"
                 "14:13:20.300000 -               sched:sched_process_exec     411    1     411 filename=/usr/bin/ls "
                 "pid=411 old_pid=411\n"
                 "14:13:20.200000 fio             sched:sched_switch           300    1     301 prev_comm=fio "
                 "prev_pid=301 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120\n"
                 "14:13:20.100000 sh              sched:sched_process_exec     410    0     410 /bin/true 'two words'\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_text(pane, &look, FORMAT_TEXT,
               "== 2026-09-21T14:13:50.000Z  events  1.000 s  h ==\n"
               "  events/s 1204, lost 0, recorded % 100\n"
               "Tracepoints\n"
               "  EVENT                             PER/s    COUNT     TOTAL FILTER\n"
               "  sched:sched_switch                 1200     1200     36.0k prev_state == 2\n"
               "  sched:sched_process_exec            4.0        4       120 -\n"
               "Events\n"
               "             TIME COMMAND         EVENT                        PID  CPU     TID ARGUMENTS\n"
               "  14:13:20.300000 -               sched:sched_process_exec     411    1     411 filename=/usr/bin/ls "
               "pid=411 old_pid=411\n"
               "  14:13:20.200000 fio             sched:sched_switch           300    1     301 prev_comm=fio "
               "prev_pid=301 prev_prio=120 prev_state=D ==> next_comm=swapper/1 next_pid=0 next_prio=120\n"
               "  14:13:20.100000 sh              sched:sched_process_exec     410    0     410 /bin/true 'two words'\n"
               "\n");
    pane_free(pane);
}

static void chooses(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_events, &look);
    struct pane_answer answer = {0};
    forge_expect(pane, &look, 80, 21, false, screen_80);
    assert_true(pane_key(pane, &look, 't', -1, -1, &answer));
    forge_expect(pane, &look, 80, 21, false,
                 "events/s      1204  lost             0  recorded %     100\n"
                 "─ Tracepoints ──────────────────────────────────────────────────────────────────\n"
                 "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
                 "sched:sched_switch                 1200     1200     36.0k prev_state == 2\n"
                 "sched:sched_process_exec            4.0        4       120 -\n"
                 "─ ▸ Choose: Enter adds or removes, R counts its system ─────────────────────────\n"
                 "EVENT                                            CHOSEN   ▼PER/s\n"
                 "sched:sched_switch                               yes        1200\n"
                 "sched:sched_process_exec                         yes         4.5\n"
                 "signal:signal_generate                           -             -\n"
                 "─ Events ──────────────────────────────────────────────────── 7 older not kept ─\n"
                 "           TIME COMMAND         EVENT                    ARGUMENTS\n"
                 "14:13:20.300000 -               sched:sched_process_exec filename=/usr/bin/ls p…\n"
                 "14:13:20.200000 fio             sched:sched_switch       prev_comm=fio prev_pid…\n"
                 "14:13:20.100000 sh              sched:sched_process_exec /bin/true 'two words'\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    for (int i = 0; i < 3; i++)
        pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer);
    assert_true(pane_key(pane, &look, KEY_VIEW_ENTER, -1, -1, &answer));
    assert_string_equal(answer.toggles, "signal:signal_generate");
    assert_string_equal(answer.counts, "");
    assert_true(pane_key(pane, &look, 'R', -1, -1, &answer));
    assert_string_equal(answer.counts, "signal");
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(screens), cmocka_unit_test(chooses)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
