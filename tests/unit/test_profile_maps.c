// Address spaces from forged records and from /proc/PID/maps of a forged /proc: what is mapped where, after what.
#include "collectors/profile/maps.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct space_maps *maps;
static char proc[64], gone[256];

static void on_gone(void *context, pid_t pid) {
    (void)context;
    snprintf(gone + strlen(gone), sizeof gone - strlen(gone), "%d ", (int)pid);
}

static int begin(void **state) {
    (void)state;
    snprintf(proc, sizeof proc, "/tmp/ktop-maps-XXXXXX");
    gone[0] = '\0';
    maps = mkdtemp(proc) ? space_maps_new(proc, on_gone, NULL) : NULL;
    return !maps;
}

static int end(void **state) {
    (void)state;
    char command[128];
    space_maps_free(maps);
    snprintf(command, sizeof command, "rm -r %s", proc);
    return system(command);
}

static void proc_put(int pid, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%d", proc, pid);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%d/maps", proc, pid);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static void record(enum profile_record_type type, pid_t pid, pid_t tid, pid_t parent, const char *comm, uint64_t time) {
    struct profile_record r = {.type = type, .pid = pid, .tid = tid, .time = time};
    if (comm)
        r.comm = comm;
    else
        r.parent = parent;
    space_maps_record(maps, &r);
}

static void map_put(pid_t pid, uint64_t start, uint64_t end_, uint64_t offset, const char *path) {
    struct profile_record r = {.type = RECORD_MMAP,
                               .pid = pid,
                               .tid = pid,
                               .mmap = {.start = start, .end = end_, .offset = offset, .inode = 7, .path = path}};
    space_maps_record(maps, &r);
}

// What is read comes from another thread, which a loaded machine may keep waiting.
static const struct map *find(pid_t pid, uint64_t address) {
    struct space *space = space_maps_get(maps, pid, 1);
    const struct map *map = space_maps_find(maps, space, pid, address);
    for (int ms = 0; !space->read && ms < 20000; ms++) {
        usleep(1000);
        map = space_maps_find(maps, space, pid, address);
    }
    return map;
}

// "path+offset" of an address, "-": none.
static const char *at(pid_t pid, uint64_t address) {
    static char text[4200];
    const struct map *map = find(pid, address);
    if (!map)
        return "-";
    snprintf(text, sizeof text, "%s+%lx", map->file->path, (unsigned long)(address - map->start + map->offset));
    return text;
}

static void from_proc(void **state) {
    (void)state;
    proc_put(10, "400000-401000 r--p 00000000 08:01 55 /bin/prog\n"
                 "401000-403000 r-xp 00001000 08:01 55                  /bin/prog\n"
                 "7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n"
                 "7f1000000000-7f1000001000 r-xp 00002000 fe:0a 1234 /lib/a b\\012c.so (deleted)\n"
                 "7fff00000000-7fff00002000 r-xp 00000000 00:00 0                          [vdso]\n"
                 "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n");
    assert_string_equal(at(10, 0x401234), "/bin/prog+1234");
    assert_string_equal(at(10, 0x400234), "-"); // not executable
    assert_string_equal(at(10, 0x403000), "-");
    assert_string_equal(at(10, 0x7f1000000010), "/lib/a b\\012c.so (deleted)+2010");
    const struct map *map = find(10, 0x7f0000000004);
    assert_true(map && map->file->anonymous);
    map = find(10, 0x7f1000000010);
    assert_int_equal(map->file->device, (uint64_t)0xfe << 32 | 0x0a);
    assert_int_equal(map->file->inode, 1234);
    assert_string_equal(at(10, 0xffffffffff600000), "-");
    assert_string_equal(at(11, 0x401234), "-"); // no such process
}

static void broken_text(void **state) {
    (void)state;
    static char text[20000];
    memset(text, 'x', sizeof text - 1);
    proc_put(10, text);
    assert_string_equal(at(10, 0x401234), "-");
    proc_put(12, "401000-400000 r-xp 0 08:01 55 /a\n-401000 r-xp 0 08:01 5 /b\n401000-402000 r-xp\nzz\n\n"
                 "402000-403000 r-xp 00000000 08:01 x /c\n404000-405000 r-xp 0 0:0 0 /last");
    assert_string_equal(at(12, 0x401000), "-");
    assert_string_equal(at(12, 0x404000), "-"); // without its newline it is cut
    unsigned n = 0;
    for (unsigned i = 0; n < sizeof text - 100; i++) // more than one read
        n += (unsigned)snprintf(text + n, sizeof text - n, "%x000-%x000 r-xp 0 08:01 5 /lib/%u\n", 0x500 + 2 * i,
                                0x501 + 2 * i, i);
    proc_put(13, text);
    assert_string_equal(at(13, 0x500000), "/lib/0+0");
    assert_string_equal(at(13, 0x500000 + 300 * 0x2000), "/lib/300+0");
}

static void exec_and_mmap(void **state) {
    (void)state;
    map_put(20, 0x1000, 0x2000, 0, "/before"); // of a process that is not known: /proc has it when it is needed
    record(RECORD_EXEC, 20, 20, 0, "prog", 5);
    map_put(20, 0x400000, 0x410000, 0x1000, "/bin/prog");
    map_put(20, 0x500000, 0x510000, 0, "/lib/x.so");
    assert_string_equal(at(20, 0x400004), "/bin/prog+1004");
    assert_string_equal(space_maps_get(maps, 20, 1)->comm, "prog");
    uint32_t version = space_maps_get(maps, 20, 1)->version;
    map_put(20, 0x404000, 0x406000, 0, "/over"); // in the middle: what is left on both sides keeps its offset
    assert_true(space_maps_get(maps, 20, 1)->version != version);
    assert_string_equal(at(20, 0x403fff), "/bin/prog+4fff");
    assert_string_equal(at(20, 0x404001), "/over+1");
    assert_string_equal(at(20, 0x406000), "/bin/prog+7000");
    map_put(20, 0x405000, 0x505000, 0, "/wide"); // over several
    assert_string_equal(at(20, 0x404fff), "/over+fff");
    assert_string_equal(at(20, 0x405000), "/wide+0");
    assert_string_equal(at(20, 0x504fff), "/wide+fffff");
    assert_string_equal(at(20, 0x505000), "/lib/x.so+5000");
    map_put(20, 0x300000, 0x600000, 0, "/all");
    size_t n;
    space_maps_count(maps, &n);
    assert_int_equal(n, 1);
    record(RECORD_EXEC, 20, 20, 0, "other", 6);
    assert_string_equal(at(20, 0x400004), "-");
    assert_string_equal(gone, "20 ");
}

static void forks(void **state) {
    (void)state;
    record(RECORD_EXEC, 30, 30, 0, "shell", 1);
    map_put(30, 0x1000, 0x2000, 0, "/bin/sh");
    record(RECORD_FORK, 31, 31, 30, NULL, 2);
    record(RECORD_FORK, 30, 35, 30, NULL, 2); // a thread
    assert_string_equal(at(31, 0x1004), "/bin/sh+4");
    assert_string_equal(space_maps_get(maps, 31, 1)->comm, "shell");
    assert_int_equal(space_maps_get(maps, 31, 1)->version, space_maps_get(maps, 30, 1)->version);
    map_put(31, 0x1800, 0x3000, 0, "/child"); // the child's alone
    assert_string_equal(at(31, 0x1804), "/child+4");
    assert_string_equal(at(30, 0x1804), "/bin/sh+804");
    assert_true(space_maps_get(maps, 31, 1)->version != space_maps_get(maps, 30, 1)->version);
    size_t n;
    assert_int_equal(space_maps_count(maps, &n), 2);
    assert_int_equal(n, 3);
    // A child of a process that was never sampled, and that ended before it was looked at.
    proc_put(40, "1000-2000 r-xp 0 08:01 5 /parent\n");
    record(RECORD_FORK, 41, 41, 40, NULL, 2);
    assert_string_equal(at(41, 0x1004), "/parent+4");
}

static void ends(void **state) {
    (void)state;
    record(RECORD_EXEC, 50, 50, 0, "short", 100);
    map_put(50, 0x1000, 0x2000, 0, "/bin/short");
    record(RECORD_EXIT, 50, 50, 1, NULL, 200);
    assert_string_equal(at(50, 0x1004), "/bin/short+4"); // its last samples may come yet
    space_maps_get(maps, 50, 150);
    space_maps_prune(maps, 180); // it ended in the interval
    assert_string_equal(at(50, 0x1004), "/bin/short+4");
    space_maps_get(maps, 50, 210);
    space_maps_prune(maps, 300);
    size_t n;
    assert_int_equal(space_maps_count(maps, &n), 0);
    assert_int_equal(n, 0);
    assert_string_equal(gone, "50 ");
    record(RECORD_EXEC, 50, 50, 0, "again", 400); // the PID is used again
    record(RECORD_EXIT, 50, 50, 1, NULL, 401);
    record(RECORD_FORK, 50, 50, 1, NULL, 402);
    assert_false(space_maps_get(maps, 50, 403)->ended);
    assert_string_equal(space_maps_get(maps, 50, 403)->comm, "");
}

static void lost(void **state) {
    (void)state;
    proc_put(60, "1000-2000 r-xp 0 08:01 5 /old\n");
    assert_string_equal(at(60, 0x1004), "/old+4");
    proc_put(60, "1000-2000 r-xp 0 08:01 5 /new\n");
    assert_string_equal(at(60, 0x1004), "/old+4");
    space_maps_lost(maps);
    assert_string_equal(at(60, 0x1004), "/new+4");
    record(RECORD_EXEC, 61, 61, 0, "ended", 1);
    map_put(61, 0x1000, 0x2000, 0, "/kept");
    space_maps_lost(maps);
    assert_string_equal(at(61, 0x1004), "/kept+4"); // nothing better can be had
}

static void names(void **state) {
    (void)state;
    record(RECORD_EXEC, 70, 70, 0, "one", 1);
    struct space *space = space_maps_get(maps, 70, 1);
    space->known.is_named = true;
    record(RECORD_COMM, 70, 71, 0, "thread", 2); // another thread of it
    assert_true(space->known.is_named);
    record(RECORD_COMM, 70, 70, 0, "two", 2);
    assert_string_equal(space->comm, "two");
    assert_false(space->known.is_named);
}

static void bounded(void **state) {
    (void)state;
    size_t n;
    for (pid_t pid = 1; pid <= SPACES_MAX + 100; pid++) {
        record(RECORD_EXEC, 100000 + pid, 100000 + pid, 0, "many", 1);
        map_put(100000 + pid, 0x1000, 0x2000, 0, "/many");
    }
    assert_int_equal(space_maps_count(maps, &n), SPACES_MAX);
    assert_int_equal(n, SPACES_MAX);
    assert_string_equal(at(100000 + SPACES_MAX + 100, 0x1004), "/many+4");
    record(RECORD_EXEC, 5, 5, 0, "jit", 1);
    for (uint64_t i = 0; i < MAPS_OF_PROCESS_MAX + 1000; i++)
        map_put(5, i * 0x2000, i * 0x2000 + 0x1000, 0, "//anon");
    space_maps_count(maps, &n);
    assert_true(n <= SPACES_MAX + MAPS_OF_PROCESS_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// A read that hangs keeps up nothing else, and is taken when it answers.
static void hangs(void **state) {
    (void)state;
    char path[128];
    proc_put(60, "");
    snprintf(path, sizeof path, "%s/60/maps", proc);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    proc_put(61, "00400000-00500000 r-xp 00000000 fe:01 9 /bin/other\n");
    struct space *space = space_maps_get(maps, 60, 1);
    double began = seconds();
    for (int i = 0; i < 1000; i++)
        assert_null(space_maps_find(maps, space, 60, 0x400010));
    assert_true(seconds() - began < 2); // 20 ms, but for a machine that does something else
    assert_false(space->read);
    assert_string_equal(at(61, 0x400010), "/bin/other+10");
    int fd = open(path, O_WRONLY);
    assert_true(write(fd, "00400000-00500000 r-xp 00000000 fe:01 9 /bin/late\n", 50) == 50);
    close(fd);
    assert_string_equal(at(60, 0x400010), "/bin/late+10");
    // One that never answers does not keep up the end; nor does one of a process that went.
    for (pid_t pid = 62; pid < 64; pid++) {
        proc_put(pid, "");
        snprintf(path, sizeof path, "%s/%d/maps", proc, (int)pid);
        unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_null(space_maps_find(maps, space_maps_get(maps, pid, 1), pid, 0x400010));
    }
    record(RECORD_EXIT, 62, 62, 1, NULL, 2);
    space_maps_prune(maps, 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(from_proc), TEST(broken_text), TEST(exec_and_mmap), TEST(forks), TEST(ends),
                                       TEST(lost),      TEST(names),       TEST(bounded),       TEST(hangs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
