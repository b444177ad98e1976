// Source lines and inline frames of programs that the compiler makes now, and of damaged debug info.
#include "tests/unit/model_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/symbols/lines.h"
#include "collectors/kernel/symbols/symbols.h"

static char directory[] = "/tmp/ktop-test-lines-XXXXXX";

// Line 4 is inlined into line 6, and that into line 8.
static const char source[] = "volatile int sink;\n"
                             "namespace outer {\n"
                             "static inline __attribute__((always_inline)) void innermost(int n) {\n"
                             "    sink = n * 12345; }\n"
                             "struct middle { static inline __attribute__((always_inline)) void call(int n) {\n"
                             "    innermost(n + 1); } };\n"
                             "__attribute__((noinline)) void visible(int n) {\n"
                             "    middle::call(n + 1); }\n"
                             "}\n"
                             "int main() { outer::visible(1); }\n";

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...) {
    char command[1024];
    size_t n = (size_t)snprintf(command, sizeof(command), "cd %s && ", directory);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command + n, sizeof(command) - n, format, arguments);
    va_end(arguments);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

static char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(directory));
    FILE *file = fopen(path_of("source.cc"), "we");
    assert_non_null(file);
    fputs(source, file);
    fclose(file);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

static uint64_t address_of_visible(void) {
    char command[512], line[64] = "";
    snprintf(command, sizeof(command), "nm %s | awk '$3 ~ /outer7visible/ {print $1}'", path_of("program"));
    FILE *output = popen(command, "re");
    assert_non_null(fgets(line, sizeof(line), output));
    pclose(output);
    return strtoull(line, NULL, 16);
}

static struct lines *open_lines(const char *name, int *fd, const char **reason) {
    struct stat stat;
    *fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(*fd, &stat), 0);
    return lines_open(*fd, (uint64_t)stat.st_size, reason);
}

static void assert_frames(const struct symbols_source *found) {
    assert_int_equal(found->n, 3);
    // gcc writes no linkage name, and so no namespace, of a function that is nowhere but inlined.
    assert_non_null(strstr(found->frames[0].function, "innermost"));
    assert_int_equal(found->frames[0].line, 4);
    assert_non_null(strstr(found->frames[1].function, "call"));
    assert_int_equal(found->frames[1].line, 6);
    assert_string_equal(found->frames[2].function, "outer::visible");
    assert_int_equal(found->frames[2].line, 8);
    for (uint32_t i = 0; i < 3; i++)
        assert_non_null(strstr(found->frames[i].file, "source.cc"));
}

static void inline_frames(void **state) {
    (void)state;
    static const char *const flags[] = {"-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gz", "-gdwarf-4 -gno-as-loc-support",
                                        "-gdwarf-5 -no-pie"};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        struct symbols_source found, best = {0};
        const char *reason;
        int fd;
        run("g++ -O2 %s -o program source.cc", flags[i]);
        uint64_t address = address_of_visible();
        struct lines *lines = open_lines("program", &fd, &reason);
        assert_non_null(lines);
        for (uint64_t at = address; at < address + 24 && best.n < 3; at++) // wherever its one store is
            if (lines_find(lines, at, &found) && found.n > best.n)
                best = found;
        assert_frames(&best);
        assert_false(lines_find(lines, 1, &found));
        assert_false(lines_find(lines, UINT64_MAX, &found));
        lines_close(lines);
        close(fd);
    }
}

static void by_the_service(void **state) {
    (void)state;
    struct symbols_source found = {0};
    run("g++ -O2 -g -o program source.cc && objcopy --only-keep-debug program program.debug && "
        "strip -o stripped program && objcopy --add-gnu-debuglink=program.debug stripped");
    uint64_t address = address_of_visible();
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    struct object_key key = {.pid = getpid(), .path = path_of("stripped")};
    struct symbols_object *object = symbols_object(symbols, &key);
    for (uint64_t at = address; at < address + 24 && found.n < 3; at++) {
        for (int i = 0; i < 1000 && !symbols_source(symbols, object, at, &found); i++)
            usleep(5000);
        assert_true(symbols_source(symbols, object, at, &found));
    }
    assert_frames(&found);
    uint64_t before = symbols_bytes(symbols);
    assert_true(symbols_source(symbols, symbols_jit(symbols, getpid()), 1, &found));
    assert_int_equal(found.n, 0);
    key.path = "/nowhere/absent";
    object = symbols_object(symbols, &key);
    for (uint64_t at = 0; at < 1000; at++) // more than the cache holds
        symbols_source(symbols, object, at, &found);
    for (int i = 0; i < 1000 && !symbols_source(symbols, object, 0, &found); i++)
        usleep(5000);
    assert_true(symbols_source(symbols, object, 0, &found));
    assert_int_equal(found.n, 0);
    assert_true(symbols_bytes(symbols) < before + (1 << 20));
    symbols_free(symbols);
    name_table_unref(names);
}

static void no_debug_info(void **state) {
    (void)state;
    const char *reason;
    int fd;
    run("g++ -O2 -s -o bare source.cc && echo text >text && head -c 67108865 /dev/zero >zeros");
    assert_null(open_lines("bare", &fd, &reason));
    assert_null(reason);
    close(fd);
    assert_null(open_lines("text", &fd, &reason));
    close(fd);
    // Stated, packed and real sizes over the limit.
    run("g++ -O2 -g -o program source.cc && objcopy --remove-section .debug_str --add-section .debug_str=zeros program "
        "large");
    assert_null(open_lines("large", &fd, &reason));
    assert_string_equal(reason, "its debug info is larger than 64 MiB");
    close(fd);
    run("objcopy --compress-debug-sections large packed && test $(stat -c %%s packed) -lt 1000000");
    assert_null(open_lines("packed", &fd, &reason));
    assert_string_equal(reason, "its debug info is larger than 64 MiB");
    close(fd);
    run("rm zeros large");
}

static void damaged(void **state) {
    (void)state;
    static uint8_t bytes[1 << 20], copy[1 << 20];
    run("g++ -O2 -g -no-pie -o program source.cc");
    uint64_t address = address_of_visible();
    FILE *file = fopen(path_of("program"), "re");
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    // The debug sections lie between the data and the section headers.
    size_t start = 0x3000 < size ? 0x3000 : 0;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    srand(3);
    for (int round = 0; round < 1500; round++) {
        struct symbols_source found;
        const char *reason;
        int fd;
        memcpy(copy, bytes, size);
        for (int i = 0; i < 1 + round % 16; i++)
            copy[start + (size_t)rand() % (size - start)] = (uint8_t)(rand() % 3 ? rand() : 0xff);
        file = fopen(path_of("damaged"), "we");
        fwrite(copy, 1, size, file);
        fclose(file);
        struct lines *lines = open_lines("damaged", &fd, &reason);
        for (uint64_t at = address; lines && at < address + 16; at += 4)
            if (lines_find(lines, at, &found))
                assert_in_range(found.n, 1, SOURCE_FRAMES_MAX);
        lines_close(lines);
        close(fd);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_true(to.tv_sec - from.tv_sec < 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(inline_frames), cmocka_unit_test(by_the_service),
                                       cmocka_unit_test(no_debug_info), cmocka_unit_test(damaged)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
