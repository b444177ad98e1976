// The symbol service against real processes: this one, and copies of it that are replaced and deleted.
#include "tests/unit/model_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/symbols/symbols.h"

__attribute__((noinline)) int test_symbols_marked_function(int n);
int test_symbols_marked_function(int n) {
    return n * 3 + 1;
}

static char directory[] = "/tmp/ktop-test-symbols-XXXXXX";

struct mapping {
    struct object_key key;
    char path[PATH_MAX];
    uint64_t file_offset;
};

// The mapping of a process that holds an address, or its first executable mapping of a path that begins with `prefix`.
static bool find_mapping(pid_t pid, uint64_t address, const char *prefix, struct mapping *out) {
    char name[64], line[PATH_MAX + 128];
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(name, "re");
    bool found = false;
    assert_non_null(maps);
    while (!found && fgets(line, sizeof(line), maps)) {
        unsigned long start, end, offset, inode;
        unsigned major, minor;
        char permissions[8];
        int at = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &start, &end, permissions, &offset, &major, &minor, &inode,
                   &at) < 7)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out->path, sizeof(out->path), "%s", line + at);
        found = prefix ? permissions[2] == 'x' && !strncmp(out->path, prefix, strlen(prefix))
                       : address >= start && address < end;
        out->file_offset = offset;
        out->key = (struct object_key){
            .pid = pid, .start = start, .end = end, .device = makedev(major, minor), .inode = inode, .path = out->path};
    }
    fclose(maps);
    return found;
}

static void wait_idle(struct symbols *symbols) {
    struct symbols_note note;
    for (int i = 0; i < 3000 && !symbols_idle(symbols); i++)
        usleep(10000);
    assert_true(symbols_idle(symbols));
    while (getenv("VERBOSE") && symbols_note(symbols, &note))
        printf("%s\n", note.text);
}

static uint32_t id_of(struct symbols *symbols, const void *address) {
    struct mapping mapping;
    assert_true(find_mapping(getpid(), (uint64_t)address, NULL, &mapping));
    return symbols_user(symbols, symbols_object(symbols, &mapping.key),
                        (uint64_t)address - mapping.key.start + mapping.file_offset);
}

static void assert_name(struct name_table *names, uint32_t id, const char *symbol, enum name_kind kind) {
    const struct text *text = name_table_text(names, id);
    assert_text(text, symbol);
    assert_int_equal(name_kind(text), kind);
}

static void own_process(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    const char *code = (const char *)test_symbols_marked_function;
    uint32_t first = id_of(symbols, code), second = id_of(symbols, code + 1);
    uint32_t libc = id_of(symbols, dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    wait_idle(symbols);
    assert_name(names, first, "test_symbols_marked_function", NAME_USER);
    assert_name(names, second, "test_symbols_marked_function", NAME_USER);
    assert_name(names, libc, "gnu_get_libc_version", NAME_LIBRARY);
    assert_non_null(strstr(name_object(name_table_text(names, libc)), "/libc"));
    assert_non_null(strstr(name_object(name_table_text(names, first)), "test_symbols"));
    // Once its file was read, all addresses of a function have one ID.
    assert_int_equal(id_of(symbols, code + 2), id_of(symbols, code));
    assert_int_equal(id_of(symbols, code + 1), id_of(symbols, code));
    assert_true(symbols_bytes(symbols) < SYMBOLS_BYTES_MAX);
    symbols_free(symbols);
    name_table_unref(names);
}

static void vdso_and_kernel(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    struct mapping mapping;
    uint64_t address = 0;
    assert_true(find_mapping(getpid(), 0, "[vdso]", &mapping));
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
    uint32_t id = NAME_NONE;
    if (function)
        id = symbols_user(symbols, symbols_object(symbols, &mapping.key), (uint64_t)function - mapping.key.start);
    FILE *kallsyms = fopen("/proc/kallsyms", "re");
    char line[512], name[256];
    while (kallsyms && fgets(line, sizeof(line), kallsyms))
        if (sscanf(line, "%lx %*c %255s", &address, name) == 2 && !strcmp(name, "schedule"))
            break;
    fclose(kallsyms);
    uint32_t kernel = symbols_kernel(symbols, address ? address + 1 : 0xffffffff81000000ull);
    wait_idle(symbols);
    if (function)
        assert_non_null(strstr(text_bytes(name_table_text(names, id)), "clock_gettime"));
    assert_int_equal(name_kind(name_table_text(names, kernel)), NAME_KERNEL);
    struct symbols_note note = {""};
    if (address) {
        assert_name(names, kernel, "schedule", NAME_KERNEL);
        assert_string_equal(name_object(name_table_text(names, kernel)), "[kernel]");
        uint32_t other = symbols_kernel(symbols, address - 64); // at once, now that the symbols are read
        assert_int_not_equal(text_bytes(name_table_text(names, other))[0], '[');
    } else {
        assert_true(symbols_note(symbols, &note));
        assert_non_null(strstr(note.text, "kptr_restrict"));
    }
    symbols_free(symbols);
    name_table_unref(names);
}

// ---- other processes ----

static void write_text(const char *path, const char *text, const char *mode) {
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void copy_self(const char *name) {
    char command[2 * PATH_MAX];
    snprintf(command, sizeof(command), "cp /proc/%d/exe %s", (int)getpid(), path_of(name));
    assert_int_equal(system(command), 0);
}

// Starts a program, or this one forked if NULL, that sleeps until it is killed.
static pid_t start(const char *path) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ready[1], 1);
        close(ready[0]);
        if (path)
            execl(path, path, "--wait", NULL);
        else if (write(1, "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void stop(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static uint64_t marked_offset(void) {
    struct mapping own;
    uint64_t address = (uint64_t)test_symbols_marked_function;
    assert_true(find_mapping(getpid(), address, NULL, &own));
    return address - own.key.start + own.file_offset;
}

static void deleted(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip(); // /proc/PID/map_files
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    struct mapping mapping;
    copy_self("copy");
    pid_t pid = start(path_of("copy"));
    assert_int_equal(unlink(path_of("copy")), 0);
    assert_true(find_mapping(pid, 0, path_of("copy"), &mapping));
    assert_non_null(strstr(mapping.path, " (deleted)"));
    uint32_t id = symbols_user(symbols, symbols_object(symbols, &mapping.key), marked_offset());
    wait_idle(symbols);
    stop(pid);
    assert_name(names, id, "test_symbols_marked_function", NAME_USER);
    assert_string_equal(name_object(name_table_text(names, id)), path_of("copy"));
    symbols_free(symbols);
    name_table_unref(names);
}

// Without symbols a function is named by its start, so that it is one node.
static void stripped(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    char command[2 * PATH_MAX], expected[64];
    snprintf(command, sizeof(command), "strip -o %s /proc/%d/exe", path_of("stripped"), (int)getpid());
    assert_int_equal(system(command), 0);
    struct object_key key = {.pid = getpid(), .path = path_of("stripped")};
    struct symbols_object *object = symbols_object(symbols, &key);
    uint32_t early = symbols_user(symbols, object, marked_offset() + 2);
    wait_idle(symbols);
    snprintf(expected, sizeof(expected), "[stripped+0x%llx]", (unsigned long long)marked_offset());
    assert_name(names, early, expected, NAME_USER);
    assert_int_equal(symbols_user(symbols, object, marked_offset() + 1), early);
    assert_int_equal(symbols_user(symbols, object, marked_offset()), early);
    unlink(path_of("stripped"));
    symbols_free(symbols);
    name_table_unref(names);
}

static void replaced_and_gone(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    struct symbols_note note;
    struct mapping mapping;
    copy_self("copy");
    pid_t pid = start(path_of("copy"));
    assert_true(find_mapping(pid, 0, path_of("copy"), &mapping));
    mapping.key.start = mapping.key.end = 0; // as without the right to use map_files
    write_text(path_of("new"), "another file", "we");
    char from[256];
    strcpy(from, path_of("new"));
    assert_int_equal(rename(from, path_of("copy")), 0);
    struct symbols_object *object = symbols_object(symbols, &mapping.key);
    uint32_t before = symbols_user(symbols, object, 0x1234);
    wait_idle(symbols);
    assert_name(names, before, "[copy (replaced)+0x1234]", NAME_USER);
    assert_name(names, symbols_user(symbols, object, 0x1235), "[copy (replaced)+0x1235]", NAME_USER);
    assert_true(symbols_note(symbols, &note));
    assert_string_equal(note.text, "copy was replaced on disk: restart what runs the old one");
    assert_false(symbols_note(symbols, &note));
    // A process that ended before its file was read: the next one that maps the file names what waited.
    copy_self("second"); // while the first inode is in use
    stop(pid);
    pid = start(path_of("second"));
    assert_true(find_mapping(pid, 0, path_of("second"), &mapping));
    struct object_key gone = mapping.key;
    gone.pid = 999999999;
    gone.path = "/in/another/root/second";
    object = symbols_object(symbols, &gone);
    uint32_t id = symbols_user(symbols, object, marked_offset());
    wait_idle(symbols);
    assert_non_null(strstr(text_bytes(name_table_text(names, id)), "[second+0x"));
    assert_ptr_equal(symbols_object(symbols, &mapping.key), object);
    wait_idle(symbols);
    assert_name(names, id, "test_symbols_marked_function", NAME_USER);
    stop(pid);
    symbols_free(symbols);
    name_table_unref(names);
    unlink(path_of("copy"));
    unlink(path_of("second"));
}

static void build(const char *function) {
    char command[2 * PATH_MAX];
    snprintf(command, sizeof(command),
             "echo 'int %s(void) { return 1; } int main(void) { return %s(); }' | "
             "gcc -O0 -Wl,--build-id=none -x c -o %s.new - && cat %s.new >%s && rm %s.new",
             function, function, directory, directory, path_of("reused"), directory);
    assert_int_equal(system(command), 0);
}

static uint64_t offset_of_function(const char *function) {
    char command[2 * PATH_MAX], line[64] = "";
    snprintf(command, sizeof(command), "nm %s | awk '$3 == \"%s\" {print $1}'", path_of("reused"), function);
    FILE *output = popen(command, "re");
    assert_non_null(fgets(line, sizeof(line), output));
    pclose(output);
    return strtoull(line, NULL, 16); // a PIE's segments of code begin at their offsets
}

// Without a build ID an inode can become another file's.
static void inode_reused(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    struct stat stat_of;
    build("first");
    assert_int_equal(stat(path_of("reused"), &stat_of), 0);
    pid_t child = start(NULL);
    struct object_key key = {
        .pid = child, .device = stat_of.st_dev, .inode = stat_of.st_ino, .path = path_of("reused")};
    struct symbols_object *object = symbols_object(symbols, &key);
    uint64_t offset = offset_of_function("first");
    uint32_t first = symbols_user(symbols, object, offset);
    wait_idle(symbols);
    assert_name(names, first, "first", NAME_USER);
    build("second");
    key.pid = getpid();
    assert_ptr_equal(symbols_object(symbols, &key), object);
    wait_idle(symbols);
    uint32_t second = symbols_user(symbols, object, offset);
    wait_idle(symbols);
    assert_int_not_equal(first, second);
    assert_name(names, first, "first", NAME_USER);
    assert_name(names, second, "second", NAME_USER);
    stop(child);
    symbols_free(symbols);
    name_table_unref(names);
    unlink(path_of("reused"));
}

static void jit(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    struct symbols_object *object = symbols_jit(symbols, getpid());
    assert_true(symbols_is_jit(object));
    assert_ptr_equal(symbols_object(symbols, &(struct object_key){.pid = getpid(), .path = "//anon"}), object);
    uint32_t early = symbols_user(symbols, object, 0x10010);
    wait_idle(symbols);
    assert_name(names, early, "[jit+0x10010]", NAME_JIT);
    write_text(path, "10000 100 first\n10200 100 kept\n", "we");
    uint32_t other = symbols_user(symbols, object, 0x10020), kept = symbols_user(symbols, object, 0x10210);
    wait_idle(symbols);
    assert_name(names, early, "first", NAME_JIT); // although its code was sampled before it was in the map
    assert_name(names, other, "first", NAME_JIT);
    assert_name(names, kept, "kept", NAME_JIT);
    assert_int_equal(symbols_user(symbols, object, 0x10030), symbols_user(symbols, object, 0x10010));
    // The runtime puts other code there.
    write_text(path, "10000 80 second\n", "ae");
    uint32_t late = NAME_NONE;
    for (int i = 0; i < 500 && (late == NAME_NONE || late == early); i++) {
        usleep(10000);
        late = symbols_user(symbols, object, 0x10010);
    }
    wait_idle(symbols);
    assert_int_not_equal(late, early);
    assert_name(names, early, "first", NAME_JIT); // the old samples keep it
    assert_name(names, late, "second", NAME_JIT);
    assert_int_equal(symbols_user(symbols, object, 0x10210), kept);
    // What is sampled before it is in the map is named without another sample of it.
    uint32_t waiting = symbols_user(symbols, object, 0x20010);
    wait_idle(symbols);
    assert_name(names, waiting, "[jit+0x20010]", NAME_JIT);
    write_text(path, "20000 80 third\n", "ae");
    for (int i = 0; i < 500 && text_bytes(name_table_text(names, waiting))[0] == '['; i++)
        usleep(10000);
    assert_name(names, waiting, "third", NAME_JIT);
    symbols_process_ended(symbols, getpid());
    assert_ptr_not_equal(symbols_jit(symbols, getpid()), object);
    symbols_free(symbols);
    name_table_unref(names);
    unlink(path);
}

static void kernel_symbols_that_come(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    uint64_t address = 0xffffffffff000000ull;
    uint32_t early = symbols_kernel(symbols, address + 4);
    wait_idle(symbols);
    if (!strcmp(text_bytes(name_table_text(names, symbols_kernel(symbols, address + 8))), "[kernel]"))
        skip(); // kptr_restrict
    assert_name(names, early, "[0xffffffffff000004]", NAME_KERNEL);
    symbols_ksymbol(symbols, address, 64, "bpf_prog_1234_test", false);
    uint32_t id = symbols_kernel(symbols, address + 10);
    wait_idle(symbols);
    assert_name(names, id, "bpf_prog_1234_test", NAME_KERNEL);
    assert_name(names, early, "bpf_prog_1234_test", NAME_KERNEL);
    assert_string_equal(name_object(name_table_text(names, id)), "[bpf]");
    symbols_ksymbol(symbols, address, 64, "bpf_prog_1234_test", true);
    symbols_ksymbol(symbols, address, 64, "bpf_prog_5678_next", false);
    wait_idle(symbols);
    uint32_t next = symbols_kernel(symbols, address + 10);
    wait_idle(symbols);
    assert_name(names, id, "bpf_prog_1234_test", NAME_KERNEL);
    assert_name(names, next, "bpf_prog_5678_next", NAME_KERNEL);
    symbols_free(symbols);
    name_table_unref(names);
}

// More symbols than fit: tables go, names stay.
static void bounded(void **state) {
    (void)state;
    enum { CHILDREN = 4, LINES = 300000 };
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    pid_t children[CHILDREN];
    uint32_t ids[CHILDREN];
    char path[64], expected[128];
    for (int c = 0; c < CHILDREN; c++) {
        children[c] = start(NULL);
        snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)children[c]);
        FILE *map = fopen(path, "we");
        for (int i = 0; i < LINES; i++)
            fprintf(map, "%x 10 a_function_with_a_name_that_is_long_enough_to_cost_memory_in_the_table_%d_%06d\n",
                    0x100000 + i * 16, c, i);
        fclose(map);
    }
    for (int round = 0; round < 2; round++)
        for (int c = 0; c < CHILDREN; c++) {
            ids[c] = symbols_user(symbols, symbols_jit(symbols, children[c]), (uint64_t)(0x100000 + (round + 7) * 16));
            wait_idle(symbols);
            snprintf(expected, sizeof(expected),
                     "a_function_with_a_name_that_is_long_enough_to_cost_memory_in_the_table_%d_%06d", c, round + 7);
            assert_name(names, ids[c], expected, NAME_JIT);
            assert_true(symbols_bytes(symbols) <= SYMBOLS_BYTES_MAX);
        }
    for (int c = 0; c < CHILDREN; c++) {
        stop(children[c]);
        snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)children[c]);
        unlink(path);
    }
    symbols_free(symbols);
    name_table_unref(names);
}

// Objects, and addresses without a symbol, are bounded; and nothing waits for the thread.
static void many(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    struct symbols_object *object = NULL, *first = NULL;
    char path[64];
    for (unsigned i = 0; i < 70000; i++) {
        snprintf(path, sizeof(path), "/nowhere/%u", i);
        object = symbols_object(symbols, &(struct object_key){.pid = 999999999, .inode = i + 1, .path = path});
        first = first ? first : object;
    }
    assert_ptr_not_equal(object, first);
    assert_ptr_equal(object, symbols_object(symbols, &(struct object_key){.inode = 1u << 30, .path = "/more"}));
    assert_text(name_table_text(names, symbols_user(symbols, object, 1)), "[other files]");
    assert_int_equal(symbols_user(symbols, object, 1), symbols_user(symbols, object, 2));
    uint32_t last = NAME_NONE;
    for (uint64_t i = 0; i < (1u << 18) + 1000; i++)
        last = symbols_user(symbols, first, i);
    assert_text(name_table_text(names, last), "[0]");
    assert_true(symbols_bytes(symbols) < SYMBOLS_BYTES_MAX);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    symbols_free(symbols);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true((double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9 < 1);
    name_table_unref(names);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "--wait")) {
        if (write(1, "x", 1) == 1)
            pause();
        return 0;
    }
    assert_non_null(mkdtemp(directory));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_process), cmocka_unit_test(vdso_and_kernel),          cmocka_unit_test(deleted),
        cmocka_unit_test(stripped),    cmocka_unit_test(replaced_and_gone),        cmocka_unit_test(inode_reused),
        cmocka_unit_test(jit),         cmocka_unit_test(kernel_symbols_that_come), cmocka_unit_test(bounded),
        cmocka_unit_test(many),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
