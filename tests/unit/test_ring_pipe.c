// The files of a tracefs instance that are read in every frame, forged.
#include "collectors/kernel/tracefs/ring_pipe.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void put(const char *file, const char *text) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", root, file);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void move(const char *from, const char *to) {
    char old[160], new[160];
    snprintf(old, sizeof(old), "%s/%s", root, from);
    snprintf(new, sizeof(new), "%s/%s", root, to);
    assert_int_equal(rename(old, new), 0);
}

static void forge(void) {
    put("trace_clock", "");
    put("buffer_subbuf_size_kb", "4");
    put("buffer_size_kb", "64");
    put("events/header_page", "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                              "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                              "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n");
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
        char file[64];
        snprintf(file, sizeof(file), "per_cpu/cpu%ld/trace_pipe_raw", cpu);
        put(file, "bytes of a page, and of the next one");
        snprintf(file, sizeof(file), "per_cpu/cpu%ld/buffer_size_kb", cpu);
        put(file, "64");
    }
}

// Opening one waits for other tracers that change their setup.
static void statistics_are_opened_once(void **state) {
    (void)state;
    const struct ring_pipe_config config = {
        .instance = root, .clock = "mono", .buffer_kib = 64, .max_kib = 64, .subbuf_kib = 4};
    struct ring_pipe *pipe;
    struct ring_pipe_stats stats;
    const char *step;
    char bytes[16];
    mkdir(root, 0755);
    forge();
    put("per_cpu/cpu0/stats", "entries: 0\noverrun: 3\ncommit overrun: 1\nbytes: 0\ndropped events: 4\n");
    assert_int_equal(ring_pipe_open(&config, &pipe, &step), 0);
    const struct ring_source source = ring_pipe_source(pipe);
    if (source.n_cpus > 64) {
        ring_pipe_free(pipe);
        skip(); // there each frame opens them
    }
    move("per_cpu/cpu0/stats", "elsewhere");
    ring_pipe_refresh(pipe);
    ring_pipe_stats(pipe, &stats);
    assert_int_equal(stats.overrun, 0); // nothing came from there
    assert_true(source.read(source.ctx, 0, bytes, sizeof(bytes)) > 0);
    ring_pipe_refresh(pipe);
    ring_pipe_stats(pipe, &stats);
    assert_int_equal(stats.overrun, 3);
    assert_int_equal(stats.dropped, 5);
    put("elsewhere", "entries: 0\noverrun: 30\ncommit overrun: 1\nbytes: 0\ndropped events: 40\n");
    assert_true(source.read(source.ctx, 0, bytes, sizeof(bytes)) > 0);
    ring_pipe_refresh(pipe);
    ring_pipe_stats(pipe, &stats);
    assert_int_equal(stats.overrun, 30);
    assert_int_equal(stats.dropped, 41);
    assert_non_null(strstr(ring_pipe_stats_text(pipe, 0), "dropped events: 40"));
    ring_pipe_free(pipe);
}

// A number below the highest that no CPU can have.
static void a_gap_in_the_numbers(void **state) {
    (void)state;
    const struct ring_pipe_config config = {
        .instance = root, .clock = "mono", .buffer_kib = 64, .max_kib = 64, .subbuf_kib = 4};
    struct ring_pipe *pipe;
    const char *step;
    if (sysconf(_SC_NPROCESSORS_CONF) < 2)
        skip();
    forge();
    move("per_cpu/cpu1/buffer_size_kb", "elsewhere");
    assert_int_equal(ring_pipe_open(&config, &pipe, &step), 0);
    ring_pipe_free(pipe);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(statistics_are_opened_once),
                                       cmocka_unit_test(a_gap_in_the_numbers)};
    snprintf(root, sizeof(root), "/tmp/ktop-ring-pipe-%d", (int)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command) ? 1 : failed;
}
