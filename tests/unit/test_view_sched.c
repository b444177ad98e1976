// The pane sched on literal screens: who waits for a CPU, and why somebody is stuck.
#include "tests/unit/forge_frames.h"

#include "collectors/collector.h"
#include "collectors/sched/table.h"

extern const struct collector collector_cpu_limits;

static const struct frame *make(uint64_t number) {
    bool stuck = number > 21;
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("sched", number);
    const double series[SCHED_S_ALL] = {
        [SCHED_S_SWITCHES] = 41200, [SCHED_S_VOLUNTARY] = 40000, [SCHED_S_INVOLUNTARY] = 1200,
        [SCHED_S_WAKEUPS] = 39000,  [SCHED_S_MIGRATIONS] = 310,  [SCHED_S_RUNNABLE] = 5.2,
        [SCHED_S_QUEUE_AVG] = 800,  [SCHED_S_QUEUE_P99] = 12000, [SCHED_S_QUEUE_MAX] = 48000,
        [SCHED_S_BLOCKED] = 1,      [SCHED_S_SAMPLED] = 100,     [SCHED_S_LOST] = 0};
    forge_series(section, sched_series, series, SCHED_S_ALL);
    section_table(
        section, forge_table(&sched_tasks_table,
                             "101|101|postgres|waiting|900|800|100|820|12|800|48000|210000|300000|700000|200000|290000|"
                             "0|210000|futex_wait_queue|futex|pgbench (200)|1|120|1200\n"
                             "200|200|pgbench|S|1800|1790|10|1790|0|12|310|9000|100000|890000|880000|0|0|9000|"
                             "do_epoll_wait|epoll_wait|postgres (101)|0|120|400\n"
                             "300|300|cp|D|40|40|0|40|0|5|9|100|1000|990000|0|989000|0|100|request_wait_answer|read|"
                             "(softirq)|0|120|3200000"));
    section_table(section,
                  forge_table(&sched_cpus_table, "0|2.6|7|99.1|20000|19000|1000|19500|150|700|9000|31000|101|postgres\n"
                                                 "1|0.4|3|35|21200|21000|200|19500|160|20|300|48000|0|idle"));
    section_table(
        section,
        forge_table(&sched_stuck_table,
                    stuck ? "300|300|cp|D|uninterruptible|3200000|request_wait_answer|read|slowfuse (250) to reply: "
                            "/mnt/slow/disk (fuse from slow)|request_wait_answer < "
                            "__fuse_simple_request < fuse_do_readfolio < filemap_read < vfs_read < "
                            "ksys_read < do_syscall_64|/user.slice/session-3.scope|1"
                          : ""));
    section_table(section, forge_table(collector_cpu_limits.tables[0], stuck ? "/batch|20|90|700000|9|10|-|-" : ""));
    struct hist_set *queue = hist_set_new(&sched_queue_hist), *off = hist_set_new(&sched_off_hist);
    forge_hist_of(queue, NULL, 0, (struct forge_run[]){{20000, 500}, {900000, 80}, {12000000, 20}, {0, 0}});
    forge_hist_of(queue, NULL, 1, (struct forge_run[]){{8000, 900}, {48000000, 1}, {0, 0}});
    forge_hist_of(off, "sleep", 0, (struct forge_run[]){{1000000, 900}, {0, 0}});
    forge_hist_of(off, "disk", 0, (struct forge_run[]){{200000, 40}, {0, 0}});
    section_hists(section, queue);
    section_hists(section, off);
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_sched;

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_sched, &look);
    forge_expect(pane, &look, 80, 21, false,
                 "wait p99    12.0ms  in D             1  wakeups/s    39.0k\n"
                 "wait max    48.0ms  switches/s   41.2k  migrations/s   310\n"
                 "runnable      5.20  preempted/s   1200  recorded %     100\n"
                 "─ ▸ Stuck tasks ────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND          ▼SINCE WAITS FOR\n"
                 "    300 cp                >3.2s slowfuse (250) to reply: /mnt/slow/disk (fuse f…\n"
                 "─ Threads ──────────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         S       ▼RQ MAX OFFCPU/s   CSW/s BLOCKED IN\n"
                 "    101 postgres        waiting  48.0ms    700ms     900 futex_wait_queue\n"
                 "    200 pgbench         S         310us    890ms    1800 do_epoll_wait\n"
                 "    300 cp              D         9.0us    990ms      40 request_wait_answer\n"
                 "─ Latency histogram ─────────────────────────────── Run-queue latency, cpu all ─\n"
                 "count 1501  avg 251us  p50 8.0us  p90 20us  p95 897us  p99 12.0ms  p99.9 12.0ms\n"
                 "max 48.0ms\n"
                 "   1us - 10us   ██████████████████████████████████████████████████    900  60.0%\n"
                 "  10us - 100us  ███████████████████████████▊                          500  33.3%\n"
                 " 100us - 1ms    ████▌                                                  80   5.3%\n"
                 "   1ms - 10ms                                                           0   0.0%\n"
                 "  10ms - 100ms  █▏                                                     21   1.4%\n"
                 "\n"
                 "▸Stuck tasks  •Threads   Heat map  •Histogram   Run queues   CPU limits\n");
    forge_expect(
        pane, &look, 120, 37, false,
        "wait p99    12.0ms  runnable      5.20  switches/s   41.2k  wakeups/s    39.0k  recorded %     100\n"
        "wait max    48.0ms  in D             1  preempted/s   1200  migrations/s   310\n"
        "─ ▸ Stuck tasks "
        "────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND          ▼SINCE KIND            WAITS FOR\n"
        "    300 cp                >3.2s uninterruptible slowfuse (250) to reply: /mnt/slow/disk (fuse from slow)\n"
        "─ Threads "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "\n"
        "    PID COMMAND         S       ▼RQ MAX OFFCPU/s   CSW/s BLOCKED IN           WAKER               RQ AVG  "
        "DISK/s PREEMPT\n"
        "    101 postgres        waiting  48.0ms    700ms     900 futex_wait_queue     pgbench (200)        800us   "
        "290ms   210ms\n"
        "    200 pgbench         S         310us    890ms    1800 do_epoll_wait        postgres (101)        12us     "
        "0us   9.0ms\n"
        "    300 cp              D         9.0us    990ms      40 request_wait_answer  (softirq)            5.0us   "
        "989ms   100us\n"
        "─ Latency heat map ─────────── Run-queue latency, cpu all ─ ─ Latency histogram ─────────── Run-queue "
        "latency, cpu all ─\n"
        "  30ms│                      ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ count 1501  avg 251us  p50 8.0us  p90 20us  p95 "
        "897us\n"
        "      │                                                     p99 12.0ms  p99.9 12.0ms  max 48.0ms\n"
        "  15ms│                                                        5us - 10us   ██████████████████████████████    "
        "900  60.0%\n"
        "      │                      ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒   10us - 20us                                     "
        "  0   0.0%\n"
        "   7ms│                                                       20us - 50us   ████████████████▋                 "
        "500  33.3%\n"
        "      │                                                       50us - 100us                                    "
        "  0   0.0%\n"
        "   3ms│                                                      100us - 200us                                    "
        "  0   0.0%\n"
        "      │                                                      200us - 500us                                    "
        "  0   0.0%\n"
        " 1.5ms│                                                      500us - 1ms    ██▋                               "
        " 80   5.3%\n"
        "      │                                                        1ms - 2ms                                      "
        "  0   0.0%\n"
        " 700us│                      ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓    2ms - 5ms                                      "
        "  0   0.0%\n"
        "      │                                                        5ms - 10ms                                     "
        "  0   0.0%\n"
        " 300us│                                                       10ms - 20ms   ▋                                 "
        " 20   1.3%\n"
        "      │                                                       20ms - 50ms   ▏                                 "
        "  1   0.1%\n"
        " 150us│\n"
        "      │\n"
        "  70us│\n"
        "      │\n"
        "  30us│\n"
        "      │                      ██████████████████████████████\n"
        "  15us│\n"
        "      │\n"
        "   7us│                      ██████████████████████████████\n"
        "                                   -20s      -10s       now\n"
        "░1 ▒6 ▓31 █168              p50 8.0us p99 12.0ms max 48.0ms\n"
        "▸Stuck tasks  •Threads  •Heat map  •Histogram   Run queues   CPU limits                               o next  "
        "= enlarge\n");
    forge_expect(pane, &look, 40, 8, true,
                 "wait p99    12.0ms  wait max    48.0ms\n"
                 "- > Stuck tasks ------------------------\n"
                 "    PID COMMAND         WAITS FOR\n"
                 "    300 cp              slowfuse (250) .\n"
                 "- Run queues ---------------- 1-1 of 2 -\n"
                 "^CPU   RUNQ  RQ p99  RQ MAX  BUSY%\n"
                 "   0   2.60   9.0ms  31.0ms   99.1\n"
                 "more: Threa.   Heat .   Histo.   CPU l.\n");
    pane_free(pane);
}

// Enter on a stuck task: what it waits for and its kernel stack; Esc: back.
static void why(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_sched, &look);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(pane->filter, "");
    forge_expect(pane, &look, 80, 12, false,
                 "─ Wait reason ────────────────────────────────────── Up Down scroll, Esc: back ─\n"
                 " PID         300             TID         300\n"
                 " COMMAND     cp              S           D\n"
                 " KIND        uninterruptible\n"
                 " SINCE       >3.2s\n"
                 " BLOCKED IN  request_wait_answer\n"
                 " SYSCALL     read\n"
                 " WAITS FOR   slowfuse (250) to reply: /mnt/slow/disk (fuse from slow)\n"
                 " CGROUP      /user.slice/session-3.scope\n"
                 " STACK       request_wait_answer\n"
                 "             __fuse_simple_request\n"
                 "             fuse_do_readfolio\n");
    forge_expect(pane, &look, 60, 5, true,
                 "- Wait reason ------------------ Up Down scroll, Esc: back -\n"
                 " PID         300             TID         300\n"
                 " COMMAND     cp              S           D\n"
                 " KIND        uninterruptible\n"
                 " SINCE       >3.2s\n");
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_expect(pane, &look, 60, 5, true,
                 "- Wait reason ------------------ Up Down scroll, Esc: back -\n"
                 " COMMAND     cp              S           D\n"
                 " KIND        uninterruptible\n"
                 " SINCE       >3.2s\n"
                 " BLOCKED IN  request_wait_answer\n");
    forge_look(&look, frames, 5); // before it was stuck
    forge_expect(pane, &look, 80, 4, false,
                 "─ Wait reason ────────────────────────────────────────────────────── Esc: back ─\n"
                 " PID 300  TID 300  cp\n"
                 " not in this list at this time\n"
                 "\n");
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_string_equal(pane->filter, "");
    forge_expect(pane, &look, 80, 12, false,
                 "wait p99    12.0ms  in D             1  wakeups/s    39.0k\n"
                 "wait max    48.0ms  switches/s   41.2k  migrations/s   310\n"
                 "runnable      5.20  preempted/s   1200  recorded %     100\n"
                 "─ ▸ Threads ────────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         S       ▼RQ MAX OFFCPU/s   CSW/s BLOCKED IN\n"
                 "    101 postgres        waiting  48.0ms    700ms     900 futex_wait_queue\n"
                 "    200 pgbench         S         310us    890ms    1800 do_epoll_wait\n"
                 "    300 cp              D         9.0us    990ms      40 request_wait_answer\n"
                 "─ Run queues ──────────────────────────────────────────────────────── 1-1 of 2 ─\n"
                 "▲CPU   RUNQ  RQ p99  RQ MAX  BUSY%   CSW/s COMMAND          MAXQ  RQ AVG INVOL/s\n"
                 "   0   2.60   9.0ms  31.0ms   99.1   20.0k postgres            7   700us    1000\n"
                 "▸Threads   Heat map   Histogram  •Run queues                  o next  = enlarge\n");
    pane_free(pane);
}

// Three threads of one process, a lock of a file, one of which only the function is known; what began before ktop
// looked. At 80 columns they can be told apart, and the holder is there.
static const struct frame *many(void) {
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("sched", 1);
    section_table(section,
                  forge_table(&sched_stuck_table,
                              "700|701|worker|S|lock|2000000|futex_do_wait|futex|mxholder (700) holds the mutex at "
                              "0x55f1f1de9060|-|/eyes|1\n"
                              "700|702|worker|S|lock|1900000|futex_do_wait|futex|mxholder (700) holds the mutex at "
                              "0x55f1f1de9060|-|/eyes|0\n"
                              "700|703|worker|S|lock|1800000|futex_do_wait|futex|mxholder (700) holds the mutex at "
                              "0x55f1f1de9060|-|/eyes|0\n"
                              "9930|9930|flocker|S|lock|1000000|locks_lock_inode_wait|flock|flocker (9929) holds the "
                              "lock of /tmp/eyes.lock (ext4 from /dev/vda)|-|/eyes|0\n"
                              "40|40|burn|waiting|throttled|-|-|-|limit 20 % of cgroup /eyes: throttled in 90 % "
                              "of periods|-|/eyes|-\n"
                              "50|50|sync|D|uninterruptible|900000|wb_wait_for_completion|sync|-|-|/eyes|0"));
    section_table(section, forge_table(&sched_tasks_table, "1|1|a|S\n2|2|b|S\n3|3|c|S\n4|4|d|S\n5|5|e|S"));
    struct hist_set *queue = hist_set_new(&sched_queue_hist);
    forge_hist_of(queue, NULL, 0, (struct forge_run[]){{20000, 500}, {0, 0}});
    section_hists(section, queue);
    frame_add_section(frame, section, 0);
    return frame;
}

static void who_holds_it(void **state) {
    (void)state;
    struct look look;
    const struct frame *frame = many();
    struct pane *pane = pane_new(&view_sched);
    forge_look(&look, &frame, 1);
    forge_expect(pane, &look, 80, 10, false,
                 " not available\n"
                 "─ ▸ Stuck tasks ───────────────────────────────────────────────────── 1-4 of 6 ─\n"
                 "    PID     TID COMMAND          ▼SINCE WAITS FOR\n"
                 "    700     701 worker            >2.0s mxholder (700) holds the mutex at 0x55f…\n"
                 "    700     702 worker             1.9s mxholder (700) holds the mutex at 0x55f…\n"
                 "    700     703 worker             1.8s mxholder (700) holds the mutex at 0x55f…\n"
                 "   9930    9930 flocker            1.0s flocker (9929) holds the lock of /tmp/e…\n"
                 "─ Run queues ───────────────────────────────────────────────────────────────────\n"
                 " not available\n"
                 "▸Stuck tasks   Threads   Heat map   Histogram  •Run queues    o next  = enlarge\n");
    forge_expect(
        pane, &look, 120, 10, false,
        " not available\n"
        "─ ▸ Stuck tasks ───────────────────────────────────────────────────────────────────────────────────────────── "
        "1-4 of 6 ─\n"
        "    PID     TID COMMAND          ▼SINCE KIND            WAITS FOR\n"
        "    700     701 worker            >2.0s lock            mxholder (700) holds the mutex at 0x55f1f1de9060\n"
        "    700     702 worker             1.9s lock            mxholder (700) holds the mutex at 0x55f1f1de9060\n"
        "    700     703 worker             1.8s lock            mxholder (700) holds the mutex at 0x55f1f1de9060\n"
        "   9930    9930 flocker            1.0s lock            flocker (9929) holds the lock of /tmp/eyes.lock (ext4 "
        "from /dev…\n"
        "─ Run queues "
        "───────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        " not available\n"
        "▸Stuck tasks   Threads   Heat map   Histogram  •Run queues                                            o next  "
        "= enlarge\n");
    forge_expect(pane, &look, 80, 21, false,
                 " not available\n"
                 "─ ▸ Stuck tasks ────────────────────────────────────────────────────────────────\n"
                 "    PID     TID COMMAND          ▼SINCE WAITS FOR\n"
                 "    700     701 worker            >2.0s mxholder (700) holds the mutex at 0x55f…\n"
                 "    700     702 worker             1.9s mxholder (700) holds the mutex at 0x55f…\n"
                 "    700     703 worker             1.8s mxholder (700) holds the mutex at 0x55f…\n"
                 "   9930    9930 flocker            1.0s flocker (9929) holds the lock of /tmp/e…\n"
                 "     50      50 sync              900ms wb_wait_for_completion\n"
                 "     40      40 burn                  - limit 20 % of cgroup /eyes: throttled i…\n"
                 "─ Threads ──────────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         S       ▼RQ MAX OFFCPU/s   CSW/s BLOCKED IN\n"
                 "      1 a               S             -        -       - -\n"
                 "      2 b               S             -        -       - -\n"
                 "      3 c               S             -        -       - -\n"
                 "      4 d               S             -        -       - -\n"
                 "      5 e               S             -        -       - -\n"
                 "─ Run queues ───────────────────────────────────────────────────────────────────\n"
                 " not available\n"
                 "\n"
                 "\n"
                 "▸Stuck tasks  •Threads   Heat map   Histogram  •Run queues    o next  = enlarge\n");
    forge_expect(
        pane, &look, 160, 10, false,
        " not available\n"
        "─ ▸ Stuck tasks "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────── 1-4 of 6 ─\n"
        "    PID     TID COMMAND          ▼SINCE KIND            BLOCKED IN           SYSCALL      S       WAITS FOR\n"
        "    700     701 worker            >2.0s lock            futex_do_wait        futex        S       mxholder "
        "(700) holds the mutex at 0x55f1f1de9060\n"
        "    700     702 worker             1.9s lock            futex_do_wait        futex        S       mxholder "
        "(700) holds the mutex at 0x55f1f1de9060\n"
        "    700     703 worker             1.8s lock            futex_do_wait        futex        S       mxholder "
        "(700) holds the mutex at 0x55f1f1de9060\n"
        "   9930    9930 flocker            1.0s lock            locks_lock_inode_wa… flock        S       flocker "
        "(9929) holds the lock of /tmp/eyes.lock (ext4 from /d…\n"
        "─ Run queues "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────────\n"
        " not available\n"
        "▸Stuck tasks   Threads   Heat map   Histogram  •Run queues                                                    "
        "                                o next  = enlarge\n");
    pane_free(pane);
    frame_unref(frame);
}

// A filter for a thread narrows the waits as well: to those that are kept by thread.
static void filtered(void **state) {
    (void)state;
    struct frame *frame = (struct frame *)make(1);
    struct section *section = forge_section("threads", 1);
    struct hist_set *set = hist_set_new(&sched_queue_process_hist);
    for (int i = 0; i < 2; i++) {
        union cell keys[3] = {{.num = 101 + i * 99}, {.num = 101 + i * 99}, {.text = text_from(i ? "pgbench" : "db")}};
        hist_set_add(set, keys, forge_runs((struct forge_run[]){{20000, 3 + (uint32_t)i}, {0, 0}}));
    }
    section_hists(section, set);
    frame_add_section(frame, section, 0);
    const struct frame *one = frame;
    struct look look;
    struct pane *pane = pane_new(&view_sched);
    struct grid *grid = grid_new(100, 40, true);
    forge_look(&look, &one, 1);
    static const char *const expected[][3] = {
        {"", "- Run-queue latency, cpu all -", "count 1501 "},
        {"pid=200", "- Run-queue latency by thread, pid 200 (filter), tid all, comm all -", "count 4 "},
        {"pgben", "- Run-queue latency by thread, pid all, tid all, comm all, with \"pgben\" -", "count 4 "},
        {"cpu=1", "- Run-queue latency, cpu 1 (filter) -", "count 901 "},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        pane_set_filter(pane, expected[i][0]);
        pane_draw(pane, &look, grid_area(grid));
        char *screen = forge_screen(grid);
        assert_non_null(strstr(screen, expected[i][1]));
        assert_non_null(strstr(screen, expected[i][2]));
        free(screen);
        grid_clear(grid);
    }
    grid_free(grid);
    pane_free(pane);
    frame_unref(frame);
}

static void wider(void **state) {
    (void)state;
    static const char *const titles[] = {"Stuck tasks", "Threads", "Run queues", "CPU limits", NULL};
    struct look look;
    struct pane *pane = forge_pane(&view_sched, &look);
    forge_wider(pane, &look, titles);
    pane_free(pane);
}

// Short waits are alike as long as nobody asks; whoever chose the order by them, gets it.
static void order(void **state) {
    (void)state;
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("sched", 1);
    section_table(section, forge_table(&sched_tasks_table, "1|1|a|S|0|0|0|0|0|-|20\n2|2|b|S|0|0|0|0|0|-|900\n"
                                                           "3|3|c|S|0|0|0|0|0|-|-\n4|4|d|S|0|0|0|0|0|-|190"));
    frame_add_section(frame, section, 0);
    const struct frame *one = frame;
    struct look look;
    struct pane *pane = pane_new(&view_sched);
    forge_look(&look, &one, 1);
    static const char by_itself[] = " not available\n"
                                    "─ Threads ─────────────────────────────────────────────────────────── 1-3 of 4 ─\n"
                                    "    PID COMMAND         S       ▼RQ MAX OFFCPU/s   CSW/s BLOCKED IN\n"
                                    "      2 b               S         900us        -       0 -\n"
                                    "      1 a               S          20us        -       0 -\n"
                                    "      3 c               S             -        -       0 -\n"
                                    "▸Threads   Heat map   Histogram   Run queues                  o next  = enlarge\n";
    static const char asked[] = " not available\n"
                                "─ Threads ─────────────────────────────────────────────────────────── 1-3 of 4 ─\n"
                                "    PID COMMAND         S       ▼RQ MAX OFFCPU/s   CSW/s BLOCKED IN\n"
                                "      2 b               S         900us        -       0 -\n"
                                "      4 d               S         190us        -       0 -\n"
                                "      1 a               S          20us        -       0 -\n"
                                "▸Threads   Heat map   Histogram   Run queues                  o next  = enlarge\n";
    forge_expect(pane, &look, 80, 7, false, by_itself);
    assert_true(pane_sort(pane, &look, "run_queue_us_max"));
    forge_expect(pane, &look, 80, 7, false, asked);
    pane_free(pane);
    frame_unref(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens), cmocka_unit_test(why),      cmocka_unit_test(who_holds_it),
        cmocka_unit_test(wider),   cmocka_unit_test(filtered), cmocka_unit_test(order),
    };
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
