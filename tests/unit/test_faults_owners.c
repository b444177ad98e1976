// Fault counts by process and mapping on a forged /proc: the mapping of the address and of the instruction, PID reuse,
// exec, unmapped memory, and the filters.
#include "collectors/faults/owners.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/ktop-faults-XXXXXX";
static struct collect_options options;
static char reported[4096];

static void put_file(pid_t pid, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%d", root, pid);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/%d/%s", root, pid, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_process(pid_t pid, pid_t parent, const char *comm, int start, const char *maps) {
    char stat[256];
    snprintf(stat, sizeof(stat),
             "%d (%s) R %d 1 1 0 -1 0 1 0 2 0 3 4 0 0 20 0 1 0 %d 1000 10 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0\n", pid, comm,
             parent, start);
    put_file(pid, "stat", stat);
    snprintf(stat, sizeof(stat), "Name:\t%s\nTgid:\t%d\nPPid:\t%d\nUid:\t%d\n", comm, pid, parent, (int)getuid());
    put_file(pid, "status", stat);
    put_file(pid, "maps", maps);
}

static void remove_process(pid_t pid) {
    char path[128];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%d/%s", root, pid, i == 0 ? "stat" : i == 1 ? "maps" : i == 2 ? "status" : "");
        remove(path);
    }
}

#define MAPS                                                                                                           \
    "1000-5000 r-xp 0 0:0 1 /bin/a\n"                                                                                  \
    "5000-9000 rw-p 0 0:0 0 [heap]\n"                                                                                  \
    "a000-b000 r--p 0 0:0 2 /data\n"

static void report_row(void *context, const struct faults_row *row) {
    (void)context;
    snprintf(reported + strlen(reported), sizeof(reported) - strlen(reported),
             "%d %s %s %s minor=%lu major=%lu kernel=%lu seen=%lu %s of %lu in %s\n", row->pid,
             row->comm ? text_bytes(row->comm) : "-", row->mapping ? text_bytes(row->mapping) : "-",
             row->kind ? row->kind : "-", (unsigned long)row->minor, (unsigned long)row->major,
             (unsigned long)row->kernel, (unsigned long)row->samples, row->squares > 0 ? "sampled" : "exact",
             (unsigned long)row->whole, row->code ? text_bytes(row->code) : "-");
}

static const char *take(struct faults_owners *owners) {
    reported[0] = '\0';
    faults_owners_settle(owners);
    faults_owners_take(owners, report_row, NULL);
    return reported;
}

static void add(struct faults_owners *owners, pid_t pid, uint64_t address, uint64_t ip, uint64_t n) {
    faults_owners_add(owners, &(struct fault){.address = address, .ip = ip, .pid = pid, .tid = pid, .weight = n});
}

static struct faults_owners *begin(void) {
    options = (struct collect_options){0};
    struct faults_owners *owners = faults_owners_new(root, &options);
    assert_non_null(owners);
    return owners;
}

static void test_mappings(void **state) {
    (void)state;
    struct faults_owners *owners = begin();
    put_process(10, 1, "a", 100, MAPS);
    add(owners, 10, 0x5000, 0x1000, 1);
    add(owners, 10, 0x6000, 0x1000, 1);
    add(owners, 10, 0x6000, 0xa000, 1);
    add(owners, 10, 0xa000, 0x2000, 13);
    faults_owners_add(
        owners, &(struct fault){.address = 0xa800, .pid = 10, .tid = 11, .weight = 2, .major = true, .kernel = true});
    add(owners, 10, 0x20000, 0x1000, 1);
    add(owners, 99, 0x5000, 0x1000, 1); // exited before /proc was read
    assert_string_equal(take(owners), "10 a [heap] heap minor=3 major=0 kernel=0 seen=3 exact of 19 in /bin/a\n"
                                      "10 a /data file minor=13 major=2 kernel=2 seen=2 sampled of 19 in /bin/a\n"
                                      "10 a [unmapped] gone minor=1 major=0 kernel=0 seen=1 exact of 19 in /bin/a\n"
                                      "99 - - - minor=1 major=0 kernel=0 seen=1 exact of 1 in -\n");
    assert_string_equal(take(owners), ""); // reported once
    faults_owners_free(owners);
}

static void test_pid_reuse_and_exec(void **state) {
    (void)state;
    struct faults_owners *owners = begin();
    put_process(10, 1, "a", 100, MAPS);
    add(owners, 10, 0x5000, 0x1000, 1);
    faults_owners_settle(owners);
    // PID reuse within a frame: the first process's faults are not attributed to the second.
    put_process(10, 1, "b", 200, "5000-9000 r-xp 0 0:0 1 /bin/b\n");
    add(owners, 10, 0x5000, 0x5000, 1);
    assert_string_equal(take(owners), "10 b /bin/b file minor=1 major=0 kernel=0 seen=1 exact of 1 in /bin/b\n");
    // exec: the start time does not change.
    add(owners, 10, 0x5000, 0x5000, 1);
    faults_owners_settle(owners);
    put_process(10, 1, "c", 200, "5000-9000 r-xp 0 0:0 1 /bin/c\n");
    faults_owners_exec(owners, 10, "c", 1);
    add(owners, 10, 0x5000, 0x5000, 1);
    assert_string_equal(take(owners), "10 c /bin/b file minor=1 major=0 kernel=0 seen=1 exact of 2 in /bin/b\n"
                                      "10 c /bin/c file minor=1 major=0 kernel=0 seen=1 exact of 2 in /bin/c\n");
    // Exit: the mappings read before stay valid.
    add(owners, 10, 0x5000, 0x5000, 1);
    faults_owners_settle(owners);
    remove_process(10);
    add(owners, 10, 0x6000, 0x5000, 1);
    assert_string_equal(take(owners), "10 c /bin/c file minor=2 major=0 kernel=0 seen=2 exact of 2 in /bin/c\n");
    faults_owners_free(owners);
}

static void test_wanted(void **state) {
    (void)state;
    struct faults_owners *owners = begin();
    pid_t listed[] = {20};
    put_process(20, 1, "top", 1, MAPS);
    put_process(21, 20, "child", 1, MAPS);
    put_process(22, 21, "grandchild", 1, MAPS);
    put_process(30, 1, "other", 1, MAPS);
    options.pids = listed;
    options.n_pids = 1;
    for (int children = 0; children < 2; children++) {
        options.children = children;
        for (pid_t pid = 20; pid <= 30; pid++)
            add(owners, pid, 0x5000, 0x1000, (uint64_t)(40 - pid));
        add(owners, getpid(), 0x5000, 0x1000, 1);
        add(owners, 0, 0x5000, 0x1000, 1); // no PID in this PID namespace
        take(owners);
        assert_non_null(strstr(reported, "20 top [heap]"));
        assert_int_equal(strstr(reported, "grandchild") != NULL, children);
        assert_int_equal(strstr(reported, "21 child") != NULL, children);
        assert_null(strstr(reported, "other"));
        assert_null(strstr(reported, "[unmapped]"));
    }
    faults_owners_free(owners);
}

// More processes and samples than one settle refreshes: every fault is in a row unless its process is not shown.
static void test_many(void **state) {
    (void)state;
    struct faults_owners *owners = begin();
    uint64_t all = 0;
    put_process(10, 1, "a", 100, MAPS);
    for (int i = 0; i < 30000; i++)
        add(owners, 10, 0x5000 + (uint64_t)(i % 16384), 0x1000, 1);
    for (pid_t pid = 1000; pid < 9000; pid++)
        add(owners, pid, 0x5000, 0x1000, 1);
    take(owners);
    assert_non_null(
        strstr(reported, "10 a [heap] heap minor=30000 major=0 kernel=0 seen=30000 exact of 30000 in /bin/a\n"));
    for (const char *at = reported; *at; at++)
        all += *at == '\n';
    assert_int_equal(all, 32);
    remove_process(10);
    faults_owners_free(owners);
}

static int make_root(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    for (pid_t pid = 10; pid <= 30; pid++)
        remove_process(pid);
    return rmdir(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mappings), cmocka_unit_test(test_pid_reuse_and_exec),
                                       cmocka_unit_test(test_wanted), cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
