// The findings about processes that wait for one another.
#include "tests/unit/forge_rules.h"

#include <math.h>

static const char *lock(const char *waits, double switches) {
    char rows[128];
    snprintf(rows, sizeof(rows), "11|11|app|%.0f", switches);
    rules_begin();
    rules_table("tasks", "pid|tid|comm|context_switches_per_s", rows);
    rules_table("lock_waits", "pid|comm|waiters|threads|owner_known|holder_tid|holder_comm|holder_in", waits);
    return rules_step();
}

static void lock_contention(void **state) {
    (void)state;
    lock("11|app|6.5|8|1|13|worker|hrtimer_nanosleep", 0);
    assert_string_equal(
        lock("11|app|6.5|8|1|13|worker|hrtimer_nanosleep", 0),
        "warning lock_contention 11 app: app (pid 11): 6.5 of 8 threads wait for one lock (futex); thread "
        "worker (tid 13) held it last, asleep in hrtimer_nanosleep; 0 context switches/s\n");
    rules_end(NULL);
    rules_start(NULL);
    // Without a known owner, threads that do not switch are idle. One waiter is ordinary. The process is gone.
    for (int i = 0; i < 4; i++) {
        assert_string_equal(lock("11|app|6.5|8|0|-|-|-", 3), "");
        assert_string_equal(lock("11|app|1.2|8|1|13|worker|-", 900), "");
        assert_string_equal(lock("12|gone|6.5|8|1|13|worker|-", 900), "");
    }
    lock("11|app|4|8|0|-|-|-", 900);
    assert_string_equal(lock("11|app|4|8|0|-|-|-", 900),
                        "warning lock_contention 11 app: app (pid 11): 4.0 of 8 threads wait for one lock (futex); 900 "
                        "context switches/s\n");
}

static const char *turns(double pct, double switches) {
    char tasks[64], rows[64];
    snprintf(tasks, sizeof(tasks), "11|11|app|%.0f", switches);
    snprintf(rows, sizeof(rows), "11|app|7|9|0|%.0f", pct);
    rules_begin();
    rules_table("tasks", "pid|tid|comm|context_switches_per_s", tasks);
    rules_table("lock_waits", "pid|comm|waiters|threads|owner_known|turns_pct", rows);
    return rules_step();
}

static void semaphores(void **state) {
    (void)state;
    turns(92, 2000);
    assert_string_equal(turns(92, 2000),
                        "warning lock_contention 11 app: app (pid 11): 7.0 of 9 threads wait for one lock (futex), a "
                        "semaphore or an interpreter lock (GIL), and run in turns; 2000 context switches/s\n");
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(turns(40, 2000), "");
        assert_string_equal(turns(92, 10), "");
    }
}

static void deadlock(void **state) {
    (void)state;
    const char *text = "";
    for (int i = 0; i < 2; i++) {
        rules_begin();
        rules_table("lock_waits", "pid|comm|waiters|threads|owner_known|cycle", "11|app|0|3|0|2\n12|other|0|3|0|0");
        text = rules_step();
    }
    assert_string_equal(
        text, "warning deadlock 11 app: app (pid 11): 2 of 3 threads are in a deadlock: each waits for a lock "
              "that another one holds\n");
}

static void file_lock(void **state) {
    (void)state;
    const char *text = "";
    for (int i = 0; i < 4; i++) {
        rules_begin();
        rules_table("file_locks", "inode|pid|comm|waiters|waiter_pid|waiter_comm",
                    "fe:00:7|11|a|3|12|b\nfe:00:8|13|c|1|14|d");
        text = rules_step();
    }
    assert_string_equal(text,
                        "warning file_lock 11 a: a (pid 11) holds a file lock (inode fe:00:7) for which b (pid 12) and "
                        "2 more wait, for 4 s\n");
}

static const char *server(const char *rows) {
    rules_begin();
    rules_table("server_waits", "pid|comm|server_state|mount|type|waiters|longest_s|waiter_pid|waiter_comm|file", rows);
    return rules_step();
}

static void dead_server(void **state) {
    (void)state;
    server("77|sshfs|T|/mnt|fuse.sshfs|3|4.2|88|cat|/mnt/a");
    assert_string_equal(server("77|sshfs|T|/mnt|fuse.sshfs|3|4.2|88|cat|/mnt/a"),
                        "warning dead_server 77 sshfs: sshfs (pid 77), the server of /mnt (fuse.sshfs), is stopped "
                        "(state T) and does not answer: cat (pid 88) and 2 more tasks are waiting for /mnt/a, 4 s so "
                        "far\n");
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 3; i++)
        assert_string_equal(server("77|sshfs|S|/mnt|fuse.sshfs|3|2|88|cat|/mnt/a"), ""); // slow
    server("-|box:/export|-|/home|nfs4|1|40|88|ls|-");
    assert_string_equal(
        server("-|box:/export|-|/home|nfs4|1|40|88|ls|-"),
        "critical dead_server nan box:/export: box:/export, the server of /home (nfs4), does not answer: "
        "ls (pid 88) is waiting, 40 s so far\n");
}

static const char *stopped(const char *rows) {
    const char *text = "";
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 6; i++) {
        rules_begin();
        rules_table("stopped", "pid|comm|job|tracer_pid|tracer_comm|waiter_pid|waiter_comm|waits_at|waiters", rows);
        text = rules_step();
        if (i < 2)
            assert_string_equal(text, "");
    }
    return text;
}

static void stopped_process(void **state) {
    (void)state;
    assert_string_equal(stopped("5|db|0|-|-|6|web|a pipe|2"),
                        "warning stopped_process 5 db: db (pid 5) is stopped (SIGSTOP) for 6 s: web (pid 6) and 1 more "
                        "wait for a pipe of it\n");
    assert_string_equal(stopped("5|db|0|-|-|6|sh|its exit|1"),
                        "warning stopped_process 5 db: db (pid 5) is stopped (SIGSTOP) for 6 s: sh (pid 6) waits for "
                        "its exit\n");
    assert_string_equal(stopped("5|vi|1|-|-|-|-|-|0"),
                        "info stopped_process 5 vi: vi (pid 5) is stopped (a job of a shell) for 6 s\n");
    assert_string_equal(stopped("5|db|0|-|-|-|-|-|0"),
                        "warning stopped_process 5 db: db (pid 5) is stopped (SIGSTOP) for "
                        "6 s: kill -CONT resumes it\n");
    assert_string_equal(stopped("5|db|0|9|strace|-|-|-|0"),
                        "warning traced_process 9 strace: strace (pid 9) traces db (pid 5) "
                        "(ptrace) for 6 s: it stops at every system call\n");
}

static const char *dirty(const char *rows, double full) {
    const char *text = "";
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 3; i++) {
        rules_begin();
        rules_series("io_full_pct", full);
        rules_table("dirty_waits", "pid|comm|held_pct|write_bytes_per_s|limit_kib|dirty_kib", rows);
        text = rules_step();
    }
    return text;
}

static void dirty_throttled(void **state) {
    (void)state;
    assert_string_equal(
        dirty("5|small|40|1000|20480|20000\n6|big|90|9000000|20480|20000", 10),
        "warning dirty_throttled 6 big: big (pid 6) writes faster than its disk and is held back 90 % of "
        "the time: 19.5M dirty, limit 20.0M (vm.dirty_ratio, dirty_bytes); 1 other process is held back "
        "as well\n");
    // A single one is ordinary, unless all tasks stall.
    assert_true(!strncmp(dirty("6|big|90|9000000|20480|20000", 10), "info dirty_throttled 6 ", 23));
    assert_true(!strncmp(dirty("6|big|90|9000000|20480|20000", 50), "warning dirty_throttled 6 ", 26));
    assert_string_equal(dirty("6|big|15|9000000|20480|20000", 10), "");
}

static const char *network(double overflows, double udp, const char *queues, const char *waiting) {
    const char *text = "";
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 4; i++) {
        char tcp[32], rows[64];
        snprintf(tcp, sizeof(tcp), "%.0f|0", overflows);
        snprintf(rows, sizeof(rows), "%.0f|1000", udp);
        rules_begin();
        rules_table("tcp", "listen_overflows_per_s|listen_drops_per_s", tcp);
        rules_table("udp", "receive_buffer_errors_per_s|datagrams_in_per_s", rows);
        rules_table("socket_queues", "protocol|local|pid|comm|queue|queue_limit|drops_per_s", queues);
        rules_table("close_wait", "pid|comm|sockets|remote", waiting);
        text = rules_step();
    }
    return text;
}

static void socket_owners(void **state) {
    (void)state;
    static const char queues[] = "tcp|0.0.0.0:80|5|web|129|128|-\ntcp|0.0.0.0:81|6|api|3|1|-\n"
                                 "udp|0.0.0.0:514|7|logd|200000|-|900\nudp|0.0.0.0:53|8|dns|0|-|1";
    assert_string_equal(network(37, 0, queues, "5|web|40|1.2.3.4:5"),
                        "warning listen_drops 6 api: api (pid 6) does not accept() in time on 0.0.0.0:81 (accept queue "
                        "3, limit 1): 37 TCP connections/s dropped\n");
    assert_string_equal(network(0, 1000, queues, "5|web|40|1.2.3.4:5"),
                        "critical udp_drops 7 logd: logd (pid 7) does not read its UDP socket 0.0.0.0:514 in time: it "
                        "drops 900 datagrams/s; all sockets drop 1000/s, 50 % of those received\n");
    assert_string_equal(network(0, 0, queues, "5|web|800|1.2.3.4:5"),
                        "warning close_wait 5 web: web (pid 5) has 800 sockets in CLOSE-WAIT (one to 1.2.3.4:5): the "
                        "peers have closed, it has not\n");
    assert_string_equal(network(0, 0, queues, "5|web|100|1.2.3.4:5"), "");
}

// The same addresses in the network namespaces of two containers.
static void containers(void **state) {
    (void)state;
    static const char counters[] = "4026532177|50|nginx|37|0|0|0|0|2000|0|1000\n4026532200|60|idle|0|0|0|0|0|0|0|0";
    static const char queues[] = "tcp|0.0.0.0:80|5|web|129|128|-|-\ntcp|0.0.0.0:80|6|api|3|2|-|4026532177\n"
                                 "tcp|0.0.0.0:80|7|other|900|1|-|4026532200";
    const char *text = "";
    for (int i = 0; i < 4; i++) {
        rules_begin();
        rules_table("tcp", "listen_overflows_per_s|listen_drops_per_s|retransmits_per_s|segments_out_per_s", "0|0|0|9");
        rules_table("network_namespaces",
                    "netns|pid|comm|listen_overflows_per_s|listen_drops_per_s|resets_in_per_s|resets_out_per_s|"
                    "udp_in_per_s|receive_buffer_errors_per_s|retransmits_per_s|segments_out_per_s",
                    counters);
        rules_table("socket_queues", "protocol|local|pid|comm|queue|queue_limit|drops_per_s|netns", queues);
        rules_table("local_ports", "remote|ports|range|pid|comm|netns",
                    "10.0.0.1:80|250|256|8|one|4026532177\n10.0.0.1:80|256|256|9|two|4026532200");
        text = rules_step();
    }
    assert_string_equal(
        text,
        "critical udp_drops nan -: 2000 UDP datagrams/s dropped, 100 % of those received: a program does not read in "
        "time (ss -uanp shows its Recv-Q), in the network namespace of nginx (pid 50)\n"
        "warning listen_drops 6 api: api (pid 6) does not accept() in time on 0.0.0.0:80 (accept queue 3, limit 2): 37 "
        "TCP connections/s dropped, in the network namespace of nginx (pid 50)\n"
        "warning local_ports 8 one: one (pid 8): 250 of 256 local ports are used for connections to 10.0.0.1:80, "
        "TIME-WAIT included: connect fails with EADDRNOTAVAIL (ip_local_port_range)\n"
        "warning local_ports 9 two: two (pid 9): 256 of 256 local ports are used for connections to 10.0.0.1:80, "
        "TIME-WAIT included: connect fails with EADDRNOTAVAIL (ip_local_port_range)\n");
}

// Three frames of a machine whose tasks all wait for a disk.
static const char *on_disk(const char *device, const char *processes) {
    const char *text = "";
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 3; i++) {
        rules_begin();
        rules_series("io_some_pct", 60);
        rules_series("io_full_pct", 58);
        rules_table("devices", "device|util_pct|reads_per_s|writes_per_s|in_flight", device);
        rules_table("by_process", "pid|comm|device|op|ios_per_s|bytes_per_s|total_us_per_s", processes);
        text = rules_step();
    }
    return text;
}

static const char *pressed(const char *processes) {
    return on_disk("vda|60|-|-|-", processes);
}

// A program that reads a cold cache waits for itself only.
static void io_pressure(void **state) {
    (void)state;
    assert_string_equal(pressed("5|tar|vda|R|600|-|580000\n6|log|vda|W|5|-|20000"),
                        "info io_pressure 5 tar: tar (pid 5) waits longest for I/O, on vda: tasks stalled on I/O 60 % "
                        "of the time (PSI some), all tasks 58 % (PSI full), but no disk is busy\n");
    assert_string_equal(pressed("5|tar|vda|R|600|-|300000\n6|log|vda|W|500|-|280000"),
                        "warning io_pressure 5 tar: tar (pid 5) waits longest for I/O, on vda: tasks stalled on I/O 60 "
                        "% of the time (PSI some), all tasks 58 % (PSI full), but no disk is busy\n");
}

// A busy disk with slow writes.
static const char *written(const char *processes) {
    return on_disk("vda|99|0|200|9", processes);
}

// A load, unless another program waits as well.
static void waits_alone(void **state) {
    (void)state;
    assert_string_equal(
        written("5|dd|vda|W|200|200000000|9000000\n6|log|vda|W|5|20000|49000"),
        "info disk_saturated 5 dd: dd (pid 5) does most of the I/O: vda is 99 % busy with 0 reads/s and "
        "200 writes/s, 9 in flight; tasks stalled on I/O 60 % of the time (PSI some)\n");
    assert_string_equal(written("5|dd|vda|W|200|200000000|9000000\n6|log|vda|W|5|20000|51000"),
                        "warning disk_saturated 5 dd: dd (pid 5) does most of the I/O: vda is 99 % busy with 0 reads/s "
                        "and 200 writes/s, 9 in flight; tasks stalled on I/O 60 % of the time (PSI some)\n");
}

static const char *ports(const char *rows, const char *storms) {
    rules_begin();
    if (storms)
        rules_table("storms", "what|pid|comm|detail|error|per_s|all_per_s", storms);
    rules_table("local_ports", "remote|ports|range|pid|comm", rows);
    return rules_step();
}

static void local_ports(void **state) {
    (void)state;
    static const char storms[] = "connects|6|looper|-|-|300|310\ncalls|6|looper|connect|EADDRNOTAVAIL|31000|40000";
    ports("10.0.0.2:80|62|64|5|client", storms);
    assert_string_equal(
        ports("10.0.0.2:80|62|64|5|client", storms),
        "warning local_ports 5 client: client (pid 5): 62 of 64 local ports are used for connections to "
        "10.0.0.2:80, TIME-WAIT included: connect fails with EADDRNOTAVAIL (ip_local_port_range)\n"
        "warning failing_calls 6 looper: looper (pid 6) calls connect in a loop, and it fails with EADDRNOTAVAIL: "
        "31.0k times per second\n");
    // All in TIME-WAIT: no process has them any more.
    assert_string_equal(
        ports("10.0.0.2:80|62|64|-|-", storms),
        "warning local_ports 6 looper: looper (pid 6): 62 of 64 local ports are used for connections to "
        "10.0.0.2:80, TIME-WAIT included: connect fails with EADDRNOTAVAIL (ip_local_port_range)\n"
        "warning failing_calls 6 looper: looper (pid 6) calls connect in a loop, and it fails with EADDRNOTAVAIL: "
        "31.0k times per second\n");
    // Several processes begin connections.
    const char *several = ports("10.0.0.2:80|62|64|-|-", "connects|6|looper|-|-|300|900\nconnects|7|a|-|-|290|900\n"
                                                         "connects|8|b|-|-|280|900");
    assert_non_null(strstr(several, "warning local_ports nan -: a client: 62 of 64 local ports"));
    rules_end(NULL);
    rules_start(NULL);
    for (int i = 0; i < 3; i++)
        assert_string_equal(ports("10.0.0.2:80|56|64|5|client", NULL), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RULES_TEST(lock_contention), RULES_TEST(semaphores),    RULES_TEST(deadlock),
        RULES_TEST(file_lock),       RULES_TEST(dead_server),   RULES_TEST(stopped_process),
        RULES_TEST(dirty_throttled), RULES_TEST(socket_owners), RULES_TEST(containers),
        RULES_TEST(io_pressure),     RULES_TEST(waits_alone),   RULES_TEST(local_ports),
    };
    return rules_run(tests);
}
