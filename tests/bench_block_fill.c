// CPU time per frame to build rows and histograms from the block collector's sums.
//
//     bench_block_fill [TASKS [ROUNDS]]     2,000 tasks, each in its own process, twenty per cgroup
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collectors/block/table.h"
#include "model/mem.h"

static char dir[] = "/tmp/ktop-bench-XXXXXX"; // a forged /proc

static void proc_file(int task, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%d", dir, task);
    mkdir(path, 0777);
    snprintf(path, sizeof(path), "%s/%d/%s", dir, task, name);
    FILE *out = fopen(path, "w");
    if (!out)
        exit(1);
    fputs(text, out);
    fclose(out);
}

static void load(struct block_stat *stat, int tasks) {
    for (int i = 0; i < tasks * 30; i++) {
        uint64_t begin = 2000000000 + (uint64_t)i * 1000;
        struct block_io io = {.arrival_ns = begin - (uint64_t)(rand() % 4000),
                              .bio_ns = begin - 5000,
                              .issue_ns = begin,
                              .end_ns = begin + 50000 + (uint64_t)(rand() % 400000),
                              .sector = 8,
                              .dev = 254u << 20,
                              .bytes = 4096,
                              .tid = 1000 + i % tasks};
        io.op = i % 3 ? BLOCK_READ : BLOCK_WRITE;
        snprintf(io.rwbs, sizeof(io.rwbs), "%s", io.op == BLOCK_READ ? "R" : "W");
        snprintf(io.comm, sizeof(io.comm), "task");
        io.key = io.bio_key = block_key_of(io.rwbs, io.op);
        block_stat_io(stat, &io);
    }
}

static double cpu_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
    int tasks = argc > 1 ? atoi(argv[1]) : 2000, rounds = argc > 2 ? atoi(argv[2]) : 50;
    char text[128], command[64];
    double spent = 0;
    size_t bytes = 0;

    if (!mkdtemp(dir))
        return 1;
    for (int i = 0; i < tasks; i++) {
        snprintf(text, sizeof(text), "Name:\ttask\nTgid:\t%d\nPid:\t%d\n", 1000 + i, 1000 + i);
        proc_file(1000 + i, "status", text);
        snprintf(text, sizeof(text), "0::/group%d\n", i / 20);
        proc_file(1000 + i, "cgroup", text);
    }
    struct block_stat *stat = block_stat_new();
    struct block_names *names = block_names_new(dir);
    struct block_tasks *submitters = block_tasks_new(dir, dir, NULL);
    const struct block_fill fill = {
        .stat = stat, .names = names, .begin_ns = 1000000000, .end_ns = 3000000000, .submitters = submitters};
    for (int round = 0; round < rounds; round++) {
        load(stat, tasks);
        block_stat_settle(stat);
        block_tasks_resolve(submitters, stat, fill.end_ns); // reads files: not measured
        size_t before = mem_used();
        struct section *section = section_new("block", fill.begin_ns, fill.end_ns);
        double begin = cpu_us();
        block_fill_section(&fill, section);
        spent += cpu_us() - begin;
        bytes = mem_used() - before;
        section_unref(section);
        block_stat_clear(stat);
    }
    printf("%d tasks: %.0f us per frame, %zu KiB per frame\n", tasks, spent / rounds, bytes / 1024);
    block_tasks_free(submitters);
    block_names_free(names);
    block_stat_free(stat);
    snprintf(command, sizeof(command), "rm -r %s", dir);
    return system(command);
}
