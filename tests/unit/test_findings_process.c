// The findings about a process that grows, that takes page faults for nothing, and that crashes again and again.
#include "tests/unit/forge_rules.h"

#include <math.h>

#define GROWER "11|11|1|leak|S|40|%.0f|1000|-|10|0|/a|-|-"
#define TASK_COLUMNS                                                                                                   \
    "pid|tid|ppid|comm|state|cpu_pct|rss_kib|started_s|ended_s|system_pct|minor_faults_per_s|cgroup|exit_code|threads"

// A frame in which the process has that RSS, and the machine so much available memory.
static const char *grows(double rss_mib, double available_mib, const char *limits) {
    char rows[256];
    snprintf(rows, sizeof(rows), GROWER "\n12|12|1|idle|S|0|900000|1000|-|0|0|/|-|-", rss_mib * 1024);
    rules_begin();
    rules_series("mem_available_kib", available_mib * 1024);
    rules_series("mem_total_kib", 16384 * 1024.0);
    rules_table("tasks", TASK_COLUMNS, rows);
    if (limits)
        rules_table("memory_limits", "cgroup|limit_kib|used_kib", limits);
    return rules_step();
}

static void steady_growth(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_string_equal(grows(100 + i * 200, 8000 - i * 200, NULL), "");
    assert_string_equal(grows(900, 7200, NULL), "");
    assert_string_equal(grows(1100, 7000, NULL),
                        "warning growing_process 11 leak: leak (pid 11) grows by 200M/s, 1000M in 5 s: memory lasts 35 "
                        "s at this rate (6.8G of 16.0G available)\n");
    // It stops: the finding goes.
    for (int i = 0; i < 7; i++)
        grows(1100, 7000, NULL);
    assert_string_equal(grows(1100, 7000, NULL), "");
}

// Memory lasts for minutes.
static void slow_growth(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_string_equal(grows(100 + i * 20, 8000 - i * 20, NULL), "");
    for (int i = 4; i < 7; i++)
        assert_string_equal(grows(100 + i * 20, 8000 - i * 20, NULL), "");
    assert_string_equal(grows(240, 7860, NULL),
                        "info growing_process 11 leak: leak (pid 11) grows by 20.0M/s, 140M in 7 s: memory lasts 7 min "
                        "at this rate (7.7G of 16.0G available)\n");
}

static void no_alarm(void **state) {
    (void)state;
    // A burst at the start, then a pause.
    grows(50, 8000, NULL);
    for (int i = 1; i <= 3; i++)
        assert_string_equal(grows(50 + 500 * i, 8000 - 500 * i, NULL), "");
    for (int i = 0; i < 6; i++)
        assert_string_equal(grows(1550, 6500, NULL), "");
    // A slow one on a large machine.
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 20; i++)
        assert_string_equal(grows(100 + i * 2, 8000 - i * 2, NULL), "");
    // Pages of a mapped file, which are reclaimable.
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 20; i++)
        assert_string_equal(grows(100 + i * 200, 8000 - i, NULL), "");
}

static void towards_a_limit(void **state) {
    (void)state;
    const char *text = "";
    for (int i = 0; i < 7; i++) {
        char limits[64];
        snprintf(limits, sizeof(limits), "/a|1048576|%d", 102400 + i * 20480);
        text = grows(100 + i * 20, 8000 - i * 20, limits);
    }
    assert_string_equal(text, "warning growing_process 11 leak: leak (pid 11) grows by 20.0M/s, 120M in 6 s: memory "
                              "lasts 40 s at this rate (804M of 1.0G available below the limit of cgroup /a)\n");
}

static const char *faults(double rate, double rss_mib, double system) {
    char rows[256];
    snprintf(rows, sizeof(rows), "11|11|1|storm|R|90|%.0f|1000|-|%.0f|%.0f|/|-|1", rss_mib * 1024, system, rate);
    rules_begin();
    rules_table("tasks", TASK_COLUMNS, rows);
    return rules_step();
}

static void minor_faults(void **state) {
    (void)state;
    faults(200000, 40, 70);
    faults(200000, 40, 70);
    assert_string_equal(faults(200000, 40, 70),
                        "warning minor_faults 11 storm: storm (pid 11) takes 200k minor page faults/s without growing "
                        "(RSS 40.0M), 70 % of one CPU in the kernel: it maps and frees the same memory again and "
                        "again\n");
    rules_end(NULL);
    rules_start(NULL);
    // First touches of memory that stays.
    for (int i = 0; i < 5; i++)
        assert_string_equal(faults(100000, 40 + i * 390, 70), "");
    faults(30000, 40, 70);
    assert_int_equal(strncmp(faults(30000, 40, 70), "info minor_faults 11", 20), 0);
    for (int i = 0; i < 5; i++)
        faults(19000, 40, 70);
    assert_string_equal(faults(19000, 40, 70), "");
}

// exit_code -1: none ended.
static const char *crashes(int exit_code, int parent) {
    char rows[256] = "11|11|1|super|S|0|900|1000|-|0|0|/|-|1";
    if (exit_code >= 0)
        snprintf(rows + strlen(rows), 128, "\n77|77|%d|app|X|0|0|1000|1001|0|0|/|%d|1", parent, exit_code);
    rules_begin();
    rules_table("tasks", TASK_COLUMNS, rows);
    return rules_step();
}

static void crash_loop(void **state) {
    (void)state;
    assert_string_equal(crashes(139, 11), ""); // with a core dump
    assert_string_equal(crashes(11, 11), "");
    assert_string_equal(crashes(11, 11),
                        "warning crash_loop 11 super: app crashed 3 times in the last minute (SIGSEGV, last PID 77); "
                        "super (pid 11) starts it again\n");
    // A start that fails does not change the signal of the crashes.
    assert_non_null(strstr(crashes(256, 11), "app crashed 3 times in the last minute (SIGSEGV, last PID 77)"));
    for (int i = 0; i < 56; i++)
        assert_true(strstr(crashes(-1, 0), "crash_loop"));
    for (int i = 0; i < 35; i++)
        crashes(-1, 0);
    assert_string_equal(crashes(-1, 0), "");
    // Killed or terminated, or failed at times: no crash. Children of several parents: no loop.
    for (int i = 0; i < 5; i++) {
        assert_string_equal(crashes(9, 11), "");
        assert_string_equal(crashes(15, 11), "");
        assert_string_equal(crashes(i == 2 ? 0 : 256, 11), "");
        if (i < 4)
            assert_string_equal(crashes(6, 100 + i), "");
    }
    for (int i = 0; i < 5; i++)
        assert_string_equal(crashes(256, 11), "");
    assert_string_equal(crashes(512, 11), "info crash_loop 11 super: app failed 8 times in a row in the last minute "
                                          "(exit status 2, last PID 77); super (pid 11) starts it again\n");
}

static const char *disk(const char *filesystem, const char *files) {
    rules_begin();
    rules_table("tasks", "pid|tid|comm|cpu_pct", "5|5|logger|20\n6|6|tail|1");
    rules_table("filesystems", "mount|device|size_kib|available_kib|fill_kib_per_s", filesystem);
    rules_table("filesystem_files", "pid|comm|file|mount|size_kib|growth_kib_per_s|deleted", files);
    return rules_step();
}

static void filling(void **state) {
    (void)state;
    static const char files[] = "6|tail|/mnt/log|/mnt|600000|5000|0\n5|logger|/mnt/log|/mnt|600000|5000|0\n"
                                "7|other|/x/y|/x|900000|90000|0";
    disk("/mnt|loop0|1048576|204800|5120", files);
    assert_string_equal(
        disk("/mnt|loop0|1048576|204800|5120", files),
        "warning filesystem_full 5 logger: the file system on /mnt will be full in 40 s at 5.0M/s: 200M "
        "of 1.0G left (19.5 %); logger (pid 5) writes 4.9M/s to /mnt/log (586M)\n");
    assert_string_equal(disk("/mnt|loop0|1048576|0|0", files),
                        "critical filesystem_full 5 logger: the file system on /mnt is full: 0 of 1.0G left (0.0 %), "
                        "writes fail; logger (pid 5) writes 4.9M/s to /mnt/log (586M)\n");
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(disk("/mnt|loop0|1048576|524288|5120", files), "");     // half empty
        assert_string_equal(disk("/mnt|loop0|104857600|20971520|5120", files), ""); // an hour
    }
    // Half empty, but not for long: a copy of two seconds is no incident.
    for (int i = 0; i < 2; i++)
        assert_string_equal(disk("/mnt|loop0|1048576|524288|32768", files), "");
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 4; i++)
        disk("/mnt|loop0|1048576|524288|32768", files);
    assert_true(strstr(disk("/mnt|loop0|1048576|524288|32768", files), "will be full in 16 s at 32.0M/s"));
}

static const char *inodes(const char *creators, const char *storms) {
    rules_begin();
    rules_table("filesystems", "mount|device|size_kib|available_kib|inodes|inodes_free", "/m|loop0|65536|60000|1000|0");
    rules_table("file_creators", "pid|mount|comm|directory|files|all_files", creators);
    rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    return rules_step();
}

static void creators(void **state) {
    (void)state;
    static const char fails[] = "calls|8|ls|read|-|900|1400\nno_space|7|sessions|openat|ENOSPC|900|1400";
    static const struct {
        const char *creators, *storms, *text;
    } cases[] = {
        {"9|/x|other|/x|990|990\n4|/m|less|/m|100|700\n5|/m|app|/m/spool|600|700", fails,
         "critical filesystem_full 5 app: the file system on /m is full: 0 of 1000 inodes left: too many files, no "
         "file "
         "can be created; app (pid 5) created 600 of the 700 latest ones, in /m/spool\n"},
        {"4|/m|-|/m/a|1|900\n5|/m|-|/m/b|2|900", fails,
         "critical filesystem_full nan -: the file system on /m is full: 0 of 1000 inodes left: too many files, no "
         "file "
         "can "
         "be created; many processes created 900 of them just now, the latest in /m/b\n"},
        {"", fails,
         "critical filesystem_full 7 sessions: the file system on /m is full: 0 of 1000 inodes left: too many files, "
         "no "
         "file can be created; openat of sessions (pid 7) fails with ENOSPC 900 times per second\n"},
        {"", "calls|7|sessions|openat|ENOENT|900|1400",
         "critical filesystem_full nan -: the file system on /m is full: 0 of 1000 inodes left: too many files, no "
         "file "
         "can "
         "be created\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rules_end(NULL);
        rules_start(NULL);
        inodes(cases[i].creators, cases[i].storms);
        assert_string_equal(inodes(cases[i].creators, cases[i].storms), cases[i].text);
    }
}

static void deleted_file(void **state) {
    (void)state;
    static const char files[] = "5|logger|/mnt/log|/mnt|600000|0|1\n6|tail|/mnt/b|/mnt|800000|0|0";
    disk("/mnt|loop0|1048576|52428|0", files);
    assert_string_equal(disk("/mnt|loop0|1048576|52428|0", files),
                        "warning deleted_file 5 logger: logger (pid 5) keeps the deleted file /mnt/log open: it takes "
                        "586M of 1.0G on /mnt, which is 95 % full; du does not count it\n");
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 4; i++)
        assert_string_equal(disk("/mnt|loop0|1048576|52428|0", "5|logger|/mnt/log|/mnt|60000|0|1"), "");
}

static void tmpfs_memory(void **state) {
    (void)state;
    const char *text = "";
    for (int i = 0; i < 5; i++) {
        rules_begin();
        rules_series("mem_available_kib", 8388608);
        rules_series("mem_total_kib", 16777216);
        rules_table("filesystems", "mount|type|size_kib|available_kib|fill_kib_per_s",
                    "/dev/shm|tmpfs|8388608|7340032|102400");
        rules_table("filesystem_files", "pid|comm|file|mount|size_kib|growth_kib_per_s|deleted",
                    "5|dd|/dev/shm/blob|/dev/shm|1048576|102400|0");
        text = rules_step();
    }
    assert_string_equal(text,
                        "warning tmpfs_memory 5 dd: files on /dev/shm (tmpfs) take memory at 100M/s, 1.0G so far: "
                        "memory lasts 82 s; dd (pid 5) writes 100M/s to /dev/shm/blob (1.0G)\n");
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 5; i++) {
        rules_begin();
        rules_series("mem_available_kib", 8388608);
        rules_series("mem_total_kib", 16777216);
        rules_table("filesystems", "mount|type|size_kib|available_kib|fill_kib_per_s",
                    i < 3 ? "/tmp|tmpfs|8388608|7340032|0\n/a|ext4|83886080|73400320|1024000"
                          : "/tmp|tmpfs|8388608|3340032|0");
        text = rules_step();
        if (i < 3)
            assert_string_equal(text, "");
    }
    assert_string_equal(text,
                        "info tmpfs_memory nan -: files on /tmp (tmpfs) take 4.8G of 16.0G memory, which belongs to "
                        "no process\n");
}

// The wall clock of the last frame is that much ahead.
static const char *clock_at(double ahead_s) {
    struct frame *frame = forge_frame(++rules_of.number);
    frame->wall.tv_sec += (time_t)ahead_s;
    struct section *result = findings_section(rules_of.findings, frame, rules_of.previous);
    size_t cursor = 0;
    const union cell *row = table_next(section_find_table(result, "findings"), &cursor);
    static char out[256];
    snprintf(out, sizeof(out), "%s", row ? text_bytes(RULES_CELL(row, "evidence").text) : "");
    section_unref(result);
    if (rules_of.previous)
        frame_unref(rules_of.previous);
    rules_of.previous = frame;
    return out;
}

static void clock_step(void **state) {
    (void)state;
    assert_string_equal(clock_at(0), "");
    assert_string_equal(clock_at(0), "");
    assert_string_equal(clock_at(-3600),
                        "the clock was set back by 3600.0 s: timers, logs and certificates may be wrong");
    assert_string_equal(clock_at(-3590),
                        "the clock was set forward by 10.0 s, or the machine was suspended: timers, logs "
                        "and certificates may be wrong");
}

static const char *read_only(const char *rows) {
    rules_begin();
    rules_table("read_only_mounts", "mount|type|device|after_errors|since_s", rows);
    rules_step();
    rules_begin();
    rules_table("read_only_mounts", "mount|type|device|after_errors|since_s", rows);
    return rules_step();
}

static void read_only_remount(void **state) {
    (void)state;
    assert_string_equal(read_only("/data|ext4|vdb|1|12"),
                        "critical read_only_remount nan -: the file system on /data (ext4 on vdb) is read-only for "
                        "12s, after errors: writes fail with EROFS\n");
    rules_end(NULL);
    rules_start(NULL);
    assert_string_equal(read_only("/old|btrfs|-|1|-"),
                        "critical read_only_remount nan -: the file system on /old (btrfs on ?) is read-only, after "
                        "errors: writes fail with EROFS\n");
    rules_end(NULL);
    rules_start(NULL);
    assert_string_equal(read_only("/a|ext4|vdb|0|12\n/b|xfs|vdc|0|400"),
                        "warning read_only_remount nan -: the file system on /a (ext4 on vdb) is read-only for 12s, "
                        "after a remount: writes fail with EROFS\n"
                        "info read_only_remount nan -: the file system on /b (xfs on vdc) is read-only for 6m40s, "
                        "after a remount: writes fail with EROFS\n");
}

// Of two CPUs, one and a half are busy; tasks wait for them half of the time.
static const char *crowded(const char *rows) {
    const char *text = "";
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("cpus_online", 2);
        rules_series("cpu_idle_pct", 25);
        rules_series("cpu_some_pct", 50);
        rules_table("tasks", "pid|tid|comm|state|cpu_pct|system_pct|priority|cpu|run_queue_us|threads", rows);
        text = rules_step();
    }
    return text;
}

static void own_threads(void **state) {
    (void)state;
    assert_string_equal(crowded("7|7|pool|R|90|0|20|0|2000000|17\n8|8|other|R|20|0|20|1|200000|1"),
                        "info cpu_pressure 7 pool: pool (pid 7) uses 90 % of one CPU: tasks stalled on CPU 50 % of the "
                        "time with only 1.5 of 2 CPUs busy (its own threads wait for each other)\n");
    const char *others[] = {"7|7|pool|R|90|0|20|0|2000000|17\n8|8|other|R|20|0|20|1|230000|1",
                            "7|7|single|R|90|0|20|0|2000000|1"};
    for (size_t i = 0; i < 2; i++)
        assert_non_null(strstr(crowded(others[i]), "warning cpu_pressure 7"));
}

static const char *starved, *busy_rows, *stolen; // rows of starved_threads, busy_threads and cpus

// The findings in the second of two equal frames of a machine with four CPUs.
static const char *realtime(const char *rows, double idle_pct, double some_pct) {
    const char *text = "";
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_series("cpus_online", 4);
        rules_series("cpu_idle_pct", idle_pct);
        rules_series("cpu_some_pct", some_pct);
        rules_table("tasks", "pid|tid|comm|state|cpu_pct|system_pct|priority|cpu|run_queue_us", rows);
        if (stolen)
            rules_table("cpus", "cpu|steal_pct", stolen);
        if (starved)
            rules_table("starved_threads", "tid|pid|comm|cpu|waited_pct", starved);
        if (busy_rows)
            rules_table("busy_threads", "tid|pid|comm|cpu|priority|cpu_pct", busy_rows);
        text = rules_step();
    }
    return text;
}

static void realtime_hog(void **state) {
    (void)state;
    assert_string_equal(
        realtime("11|11|spin|R|95|0|-51|2|0\n12|12|other|R|40|0|20|1|900000\n13|13|victim|R|5|0|20|2|940000", 60, 30),
        "warning realtime_hog 11 spin: spin (pid 11) uses 95 % of one CPU on CPU 2, at real-time "
        "priority 50 (SCHED_FIFO or SCHED_RR): victim (pid 13) waited 94 % of the time for that CPU\n"
        "warning runaway_task 11 spin: spin (pid 11) uses 95 % of one CPU, at real-time priority 50 "
        "(SCHED_FIFO or SCHED_RR)\n");
    assert_string_equal(rules_of.causes[1], "realtime_hog");
    // The hypervisor takes a part of the task's CPU, or of another one.
    static const char less[] = "11|11|spin|R|66|0|-51|2|0\n13|13|victim|R|5|0|20|2|940000";
    stolen = "1|30\n2|29";
    assert_int_equal(strncmp(realtime(less, 60, 30), "warning realtime_hog 11 spin: spin (pid 11) uses 66 %", 53), 0);
    stolen = "1|29\n2|5";
    assert_string_equal(realtime(less, 60, 30), "");
    stolen = NULL;
    // A thread that is not the first of its process waits for that CPU; another one for another CPU.
    starved = "71|70|worker|2|88\n72|70|worker|1|99";
    assert_string_equal(realtime("11|11|spin|R|95|0|-51|2|0\n70|70|server|S|0|0|20|0|0", 60, 10),
                        "warning realtime_hog 11 spin: spin (pid 11) uses 95 % of one CPU on CPU 2, at real-time "
                        "priority 50 (SCHED_FIFO or SCHED_RR): worker (pid 70), thread 71, waited 88 % of the time for "
                        "that CPU\n"
                        "warning runaway_task 11 spin: spin (pid 11) uses 95 % of one CPU, at real-time priority 50 "
                        "(SCHED_FIFO or SCHED_RR)\n");
    starved = "71|70|worker|1|88\n72|70|worker|2|19";
    assert_null(strstr(realtime("11|11|spin|R|95|0|-51|2|0", 60, 10), "realtime_hog"));
    starved = NULL;
    // A thread that is not the first of its process has that priority.
    busy_rows = "15|11|burn|3|20|99\n16|11|burn|2|-21|95\n17|12|burn|1|-21|98";
    assert_non_null(strstr(realtime("11|11|spin|R|100|0|20|1|0\n13|13|victim|R|5|0|20|2|940000", 60, 30),
                           "warning realtime_hog 11 spin: spin (pid 11), thread 16, uses 95 % of one CPU on CPU 2, at "
                           "real-time priority 20 (SCHED_FIFO or SCHED_RR): victim (pid 13) waited 94 %"));
    busy_rows = "15|11|burn|2|-21|60";
    assert_null(strstr(realtime("11|11|spin|R|100|0|20|1|0\n13|13|victim|R|5|0|20|2|940000", 60, 30), "realtime_hog"));
    busy_rows = NULL;
    // The CPU of the task that waits is unknown.
    realtime("11|11|spin|R|95|0|-51|2|0\n13|13|victim|R|5|0|20|-|940000", 60, 95);
    assert_string_equal(rules_of.kinds[0], "realtime_hog");
    assert_string_equal(rules_of.kinds[1], "cpu_pressure");
    assert_string_equal(rules_of.causes[1], "realtime_hog");
    // Alone on its CPU, a normal task, another real-time task that waits, and one with a deadline.
    static const char *const others[] = {"11|11|spin|R|95|0|-51|2|0\n13|13|victim|R|5|0|20|1|940000",
                                         "11|11|spin|R|95|0|20|2|0\n13|13|victim|R|5|0|20|2|940000",
                                         "11|11|spin|R|95|0|-51|2|0\n13|13|victim|R|5|0|-2|2|940000",
                                         "11|11|spin|R|95|0|-101|2|0\n13|13|victim|R|5|0|20|2|940000"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_null(strstr(realtime(others[i], 60, 30), "realtime_hog"));
}

// One thread of several is the limit.
static void busy_thread(void **state) {
    (void)state;
    busy_rows = "15|11|gc|3|20|98\n16|11|io|2|20|55\n17|12|other|1|20|99";
    assert_string_equal(
        realtime("11|11|app|R|100|0|20|1|0", 60, 5),
        "info runaway_task 11 app: app (pid 11) uses 100 % of one CPU, 98 % in its thread gc (tid 15)\n");
    busy_rows = "15|11|gc|3|20|60";
    assert_string_equal(realtime("11|11|app|R|100|0|20|1|0", 60, 5),
                        "info runaway_task 11 app: app (pid 11) uses 100 % of one CPU\n");
    busy_rows = NULL;
}

static void tracing_left_on(void **state) {
    (void)state;
    const char *text = "";
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_table("tracing_left", "instance|traces", "top|tracer function\nold|event sched:sched_switch");
        text = rules_step();
    }
    assert_string_equal(text, "info tracing_left_on nan -: tracing is on in tracefs (instance old: event "
                              "sched:sched_switch), but no process has its files open\ninfo tracing_left_on nan -: "
                              "tracing is on in tracefs (instance top: tracer function), but no process has its files "
                              "open\n");
}

static const char *limits(const char *rows) {
    const char *text = "";
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 3; i++) {
        rules_begin();
        rules_table("limits", "limit|of|pid|comm|used|most|refused_per_s", rows);
        text = rules_step();
    }
    return text;
}

static void fd_limit(void **state) {
    (void)state;
    assert_string_equal(
        limits("RLIMIT_NOFILE|-|5|srv|64|64|-"),
        "critical fd_limit 5 srv: srv (pid 5) has 64 of 64 file descriptors open (RLIMIT_NOFILE): open, "
        "accept and socket fail with EMFILE\n");
    assert_string_equal(limits("RLIMIT_NOFILE|-|5|srv|950|1024|-"),
                        "warning fd_limit 5 srv: srv (pid 5) has 950 of 1024 file descriptors open (RLIMIT_NOFILE)\n");
    assert_string_equal(limits("RLIMIT_NOFILE|-|5|srv|850|1024|-"), "");
    assert_string_equal(limits("fs.file-max|-|5|srv|9500|10000|-"),
                        "warning fd_limit 5 srv: 9500 of 10000 open files of the machine are used (fs.file-max); srv "
                        "(pid 5) has most\n");
}

static void pids_limit(void **state) {
    (void)state;
    assert_string_equal(limits("pids.max|/app|5|forker|50|50|300"),
                        "critical pids_limit 5 forker: cgroup /app has 50 of 50 tasks (pids.max), 300 forks/s fail; "
                        "forker (pid 5) has most of them\n");
    assert_string_equal(limits("pids.max|/app|-|-|50|50|0"),
                        "warning pids_limit nan -: cgroup /app has 50 of 50 tasks (pids.max)\n");
    assert_string_equal(limits("pids.max|/app|5|forker|44|50|300"), "");
    assert_string_equal(limits("RLIMIT_NPROC|www|5|forker|60|60|-"),
                        "warning pids_limit 5 forker: user www has 60 of 60 tasks (RLIMIT_NPROC, ulimit -u); forker "
                        "(pid 5) has most of them\n");
    assert_string_equal(
        limits("kernel.pid_max|-|5|forker|31000|32768|-"),
        "warning pids_limit 5 forker: 31000 of 32768 tasks of the machine exist (kernel.pid_max); forker "
        "(pid 5) has most of them\n");
}

static const char *logs(const char *rows) {
    rules_begin();
    rules_table("kernel_errors", "level|text|count", rows);
    return rules_step();
}

static void kernel_error(void **state) {
    (void)state;
    assert_string_equal(
        logs("err|EXT4-fs error (device vda1): ext4_find_entry|1\nerr|Out of memory: Killed process 5|1"),
        "warning kernel_error nan -: the kernel logs (err): EXT4-fs error (device vda1): "
        "ext4_find_entry\n");
    rules_end(NULL);
    rules_start(NULL);
    assert_string_equal(
        logs("err|INFO: task dd:812 blocked for more than 120 seconds.|2"),
        "warning kernel_error 812 dd: the kernel logs (err): INFO: task dd:812 blocked for more than 120 "
        "seconds. (2 times)\n");
    assert_true(strstr(logs("crit|x|1"), "critical kernel_error nan -: the kernel logs (crit): x"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RULES_TEST(steady_growth), RULES_TEST(no_alarm),     RULES_TEST(towards_a_limit), RULES_TEST(slow_growth),
        RULES_TEST(minor_faults),  RULES_TEST(own_threads),  RULES_TEST(crash_loop),      RULES_TEST(filling),
        RULES_TEST(creators),      RULES_TEST(deleted_file), RULES_TEST(kernel_error),    RULES_TEST(tmpfs_memory),
        RULES_TEST(clock_step),    RULES_TEST(fd_limit),     RULES_TEST(pids_limit),      RULES_TEST(read_only_remount),
        RULES_TEST(realtime_hog),  RULES_TEST(busy_thread),  RULES_TEST(tracing_left_on),
    };
    return rules_run(tests);
}
