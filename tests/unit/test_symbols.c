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
    while (maps && !found && fgets(line, sizeof(line), maps)) {
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
        out->key = (struct object_key){.pid = pid,
                                       .start = start,
                                       .end = end,
                                       .device = makedev(major, minor),
                                       .inode = inode,
                                       .path = out->path};
    }
    if (maps)
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
    assert_int_not_equal(first, second);
    uint32_t libc = id_of(symbols, dlsym(RTLD_DEFAULT, "qsort"));
    wait_idle(symbols);
    assert_name(names, first, "test_symbols_marked_function", NAME_USER);
    assert_name(names, second, "test_symbols_marked_function", NAME_USER);
    assert_name(names, libc, "qsort", NAME_LIBRARY);
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
    } else {
        assert_true(symbols_note(symbols, &note));
        assert_non_null(strstr(note.text, "kptr_restrict"));
    }
    symbols_free(symbols);
    name_table_unref(names);
}

int main(void) {
    assert_non_null(mkdtemp(directory));
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_process), cmocka_unit_test(vdso_and_kernel)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failed;
}
