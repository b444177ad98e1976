// The pane events on literal screens: counts, the events, and the list of tracepoints to choose from.
#include "tests/unit/forge_frames.h"

#include "collectors/events/group.h"
#include "collectors/events/lives.h"
#include "collectors/events/table.h"

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("events", number);
    const double series[EVENTS_SERIES] = {[EVENTS_PER_S] = 1204, [EVENTS_LOST] = 0, [EVENTS_RECORDED] = 100};
    forge_series(section, events_series, series, EVENTS_SERIES);
    section_table(section, forge_table(&events_counts_table, "sched:sched_process_exec|-|4|4|120\n"
                                                             "sched:sched_switch|prev_state == 2|1200|1200|36000"));
    section_table(section, forge_table(&events_programs_table, ""));
    section_table(section, forge_table(&events_tracepoints_table, "sched:sched_process_exec|yes|4.5\n"
                                                                  "sched:sched_switch|yes|1200\n"
                                                                  "signal:signal_generate|-|-"));
    section_table(section, forge_table(&events_groups_table, ""));
    section_table(section, forge_table(&events_latencies_table, ""));
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

// The same, while exec is recorded: a shell whose child ended.
static const struct frame *make_programs(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("events", number);
    section_table(section, forge_table(&events_counts_table, "sched:sched_process_exec|-|2|2|2"));
    section_table(section, forge_table(&events_tracepoints_table, "sched:sched_process_exec|yes|-"));
    section_table(section, forge_table(&events_programs_table,
                                       "410|1790000000.1|400|bash|sh|running|-|-|-|1|/root|sh script\n"
                                       "411|1790000000.3|410|sh|grep|1|2500|1800|2048|1|/root|grep -q x 'a b'\n"
                                       "412|1790000000.4|1|-|worker|SIGKILL|1500000|900000|65536|2|-|-"));
    section_stream(section,
                   forge_table(&events_stream_table,
                               "1790000000.1|0|sh|410|410|call:openat|path=/etc/none flags=O_RDONLY result=ENOENT|-|"
                               "/etc/none|O_RDONLY|ENOENT|-|-|-|-|-|400\n"
                               "1790000000.2|1|sh|410|410|sched:sched_process_exec|filename=/bin/sh|sh script"),
                   0);
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
                                "           TIME COMMAND         EVENT                    DETAILS\n"
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
                 "           TIME COMMAND         EVENT                        PID  CPU     TID DETAILS\n"
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
               "             TIME COMMAND         EVENT                        PID  CPU     TID DETAILS\n"
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
                 "           TIME COMMAND         EVENT                    DETAILS\n"
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

static const char screen_programs[] =
    " not available\n"
    "─ Tracepoints "
    "──────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
    "EVENT                            ▼PER/s    COUNT     TOTAL FILTER\n"
    "sched:sched_process_exec            2.0        2         2 -\n"
    "─ ▸ Programs "
    "───────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
    "          ▼TIME     PID COMMAND         STATUS   LIFETIME PARENT          PPID      CPU ARGUMENTS\n"
    "14:13:20.400000     412 worker          SIGKILL      1.5s -                  1    900ms -\n"
    "14:13:20.300000     411 grep            1           2.5ms sh               410    1.8ms grep -q x 'a b'\n"
    "14:13:20.100000     410 sh              running         - bash             400        - sh script\n"
    "─ System calls "
    "─────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
    "           TIME COMMAND             PID RESULT   FLAGS                PATH\n"
    "14:13:20.100000 sh                  410 ENOENT   O_RDONLY             /etc/none\n"
    "─ Events "
    "───────────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
    "           TIME COMMAND         EVENT                        PID  CPU     TID DETAILS\n"
    "14:13:20.200000 sh              sched:sched_process_exec     410    1     410 sh script\n"
    "\n";
static const char screen_program[] =
    "─ Program ────────────────────────────────────────────────────────── Esc: back ─\n"
    " PID         410\n"
    " TIME        14:13:20.100000\n"
    " PPID        400             COMMAND     sh\n"
    " STATUS      running         EXECS       1\n"
    " ARGUMENTS   sh script\n"
    " DIRECTORY   /root\n"
    " PARENT      bash\n";

// One row per process life; u goes from a child to its parent.
static void programs(void **state) {
    (void)state;
    struct look look;
    const struct frame *frame = make_programs(0);
    forge_look(&look, &frame, 1);
    struct pane *pane = pane_new(&view_events);
    struct pane_answer answer = {0};
    assert_true(pane_key(pane, &look, 'o', -1, -1, &answer));
    for (int i = 0; i < 2; i++)
        assert_true(pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer));
    forge_expect(pane, &look, 120, 16, false, screen_programs);
    assert_true(pane_key(pane, &look, 'u', -1, -1, &answer)); // from grep to its shell
    assert_true(pane_key(pane, &look, KEY_VIEW_ENTER, -1, -1, &answer));
    forge_expect(pane, &look, 80, 8, false, screen_program);
    assert_true(pane_key(pane, &look, KEY_VIEW_BACK, -1, -1, &answer));
    assert_null(answer.jump_pane);
    assert_true(pane_key(pane, &look, 'u', -1, -1, &answer)); // the shell's parent has no row
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=400");
    answer = (struct pane_answer){0};
    assert_true(pane_key(pane, &look, 'o', -1, -1, &answer)); // the same from a system call
    assert_true(pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer));
    assert_true(pane_key(pane, &look, 'u', -1, -1, &answer));
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=400");
    pane_free(pane);
    frame_unref(frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(screens), cmocka_unit_test(chooses),
                                       cmocka_unit_test(programs)};
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
