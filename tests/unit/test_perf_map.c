// Perf maps and jitdump files: what is appended, what is replaced, and what is refused.
#include "tests/unit/model_test.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/kernel/symbols/perf_map.h"

static char path[64];

static void put(const char *text, bool append) {
    FILE *file = fopen(path, append ? "ae" : "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct jit_owner self(void) {
    struct jit_owner owner = {0};
    jit_owner_read(&owner, getpid());
    assert_true(owner.known);
    assert_int_equal(owner.effective, geteuid());
    return owner;
}

// Opens and reads all that is new; 0 or the error of the opening.
static int read_new(struct jit_file *file, enum jit_file_kind kind, const char *dump, struct symbol_builder *builder,
                    bool *restarted, char reason[160]) {
    struct jit_owner owner = self();
    uint32_t rank = builder->count + 1;
    int fd = jit_file_open(file, kind, &owner, dump, restarted, reason);
    if (fd < 0)
        return fd;
    assert_false(jit_file_read(file, kind, fd, builder, &rank));
    close(fd);
    return 0;
}

static void assert_symbol(const struct symbol_table *table, uint64_t address, const char *name) {
    const struct symbol *symbol = symbol_table_find(table, address);
    assert_string_equal(symbol ? table->names + symbol->name : "", name);
}

static void appended(void **state) {
    (void)state;
    struct jit_file file = {0};
    struct symbol_builder builder = {0};
    char reason[160];
    bool restarted;
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), -ENOENT);
    assert_string_equal(reason, "");
    put("7f0000001000 100 first function\n0x7f0000002000 0x80 second\nbad line\n7f0000003000 0 empty\n"
        "ffffffffffffff00 fff over the end\n7f0000004000 10 \n7f0000005000 40 carriage\r\n7f00000060",
        false);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), 0);
    assert_false(restarted);
    assert_int_equal(builder.count, 3);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), 0); // the line being written
    assert_int_equal(builder.count, 3);
    put("00 20 late\n7f0000001080 100 newer\n", true);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), 0);
    assert_int_equal(builder.count, 5);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), -EAGAIN);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_RANK);
    assert_symbol(table, 0x7f0000001000, "first function");
    assert_symbol(table, 0x7f0000001080, "newer"); // later lines win
    assert_symbol(table, 0x7f000000117f, "newer");
    assert_symbol(table, 0x7f0000001180, "");
    assert_symbol(table, 0x7f000000207f, "second");
    assert_symbol(table, 0x7f0000005000, "carriage");
    assert_symbol(table, 0x7f000000601f, "late");
    symbol_table_free(table);
    // A shorter or another file is read from its start.
    put("1000 10 anew\n", false);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), 0);
    assert_true(restarted);
    assert_int_equal(builder.count, 1);
    symbol_builder_free(&builder);
    unlink(path);
}

static void refused(void **state) {
    (void)state;
    struct jit_file file = {0};
    struct symbol_builder builder = {0};
    char reason[160], other[80];
    bool restarted;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), -EINVAL);
    assert_non_null(strstr(reason, "is not a regular file"));
    unlink(path);
    snprintf(other, sizeof(other), "%s.other", path);
    put("1000 10 linked\n", false);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), -ELOOP);
    assert_non_null(strstr(reason, "is a symbolic link"));
    unlink(path);
    unlink(other);
    assert_int_equal(symlink("/dev/zero", path), 0);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), -ELOOP);
    unlink(path);
    if (geteuid() == 0) {
        put("1000 10 foreign\n", false);
        assert_int_equal(chown(path, 12345, 12345), 0);
        assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), -EPERM);
        assert_non_null(strstr(reason, "belongs to another user"));
        unlink(path);
    }
    assert_int_equal(builder.count, 0);
    symbol_builder_free(&builder);
}

// 2 GB, most of it one line: read up to the limit, and no memory for it.
static void large(void **state) {
    (void)state;
    struct jit_file file = {0};
    struct symbol_builder builder = {0};
    char reason[160];
    bool restarted;
    put("1000 10 before\n2000 10 ", false);
    assert_int_equal(truncate(path, 600 << 10), 0); // longer than the reader's buffer
    put("\n3000 10 after\n", true);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), 0);
    assert_int_equal(builder.count, 2);
    assert_true(builder.names_capacity <= 4096);
    assert_int_equal(truncate(path, 2000ll << 20), 0);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), 0);
    assert_int_equal(read_new(&file, JIT_PERF_MAP, NULL, &builder, &restarted, reason), -EAGAIN);
    assert_non_null(strstr(reason, "larger than 256 MiB"));
    unlink(path);
    // A builder that is full says so; the next round goes on there.
    FILE *lines = fopen(path, "we");
    for (uint32_t i = 0; i < TABLE_SYMBOLS_MAX + 10; i++)
        fprintf(lines, "%x 10 f\n", 0x10000 + i * 16);
    fclose(lines);
    symbol_builder_free(&builder);
    struct jit_owner owner = self();
    uint32_t rank = 1;
    int fd = jit_file_open(&file, JIT_PERF_MAP, &owner, NULL, &restarted, reason);
    assert_true(fd >= 0);
    assert_true(jit_file_read(&file, JIT_PERF_MAP, fd, &builder, &rank));
    assert_int_equal(builder.count, TABLE_SYMBOLS_MAX);
    symbol_builder_free(&builder);
    assert_false(jit_file_read(&file, JIT_PERF_MAP, fd, &builder, &rank));
    assert_int_equal(builder.count, 10);
    symbol_builder_free(&builder);
    close(fd);
    unlink(path);
}

// PID 1 of a PID namespace, with a /tmp of its own that has its map. Writes its PID outside to `ready`.
static void run_contained(int ready) {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID))
        _exit(2);
    int written[2];
    char byte;
    if (pipe(written))
        _exit(3);
    pid_t inner = fork();
    if (inner == 0) {
        close(ready);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", "/tmp", "tmpfs", 0, NULL))
            _exit(4);
        snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
        put("1000 10 contained\n", false);
        if (write(written[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    close(written[1]);
    if (read(written[0], &byte, 1) != 1 || write(ready, &inner, sizeof(inner)) != sizeof(inner))
        _exit(5);
    waitpid(inner, NULL, 0);
    _exit(0);
}

static void namespaces(void **state) {
    (void)state;
    int ready[2];
    pid_t inner = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t helper = fork();
    if (helper == 0) {
        close(ready[0]);
        run_contained(ready[1]);
    }
    close(ready[1]);
    bool made = read(ready[0], &inner, sizeof(inner)) == sizeof(inner);
    close(ready[0]);
    if (!made) {
        waitpid(helper, NULL, 0);
        skip(); // no right to make namespaces
    }
    struct jit_owner owner = {0};
    struct jit_file file = {0};
    struct symbol_builder builder = {0};
    char reason[160];
    bool restarted;
    uint32_t rank = 1;
    jit_owner_read(&owner, inner);
    int fd = jit_file_open(&file, JIT_PERF_MAP, &owner, NULL, &restarted, reason);
    if (fd >= 0) {
        jit_file_read(&file, JIT_PERF_MAP, fd, &builder, &rank);
        close(fd);
    }
    kill(inner, SIGKILL);
    waitpid(helper, NULL, 0);
    assert_int_equal(owner.ns_pid, 1);
    assert_true(fd >= 0);
    assert_int_equal(builder.count, 1);
    assert_string_equal(builder.names, "contained");
    symbol_builder_free(&builder);
}

static size_t record(uint8_t *at, uint32_t id, const uint64_t *words, size_t n, const char *name, size_t code) {
    size_t size = 16 + 8 * n + (name ? strlen(name) + 1 : 0) + code;
    uint32_t head[2] = {id, (uint32_t)size};
    memset(at, 0, size);
    memcpy(at, head, sizeof(head));
    memcpy(at + 16, words, 8 * n);
    if (name)
        memcpy(at + 16 + 8 * n, name, strlen(name));
    return size;
}

static void jitdump(void **state) {
    (void)state;
    char dump[80], reason[160];
    uint8_t bytes[1024] = {0};
    uint32_t header[10] = {0x4a695444, 1, 40, 62};
    memcpy(bytes, header, sizeof(header));
    size_t n = sizeof(header);
    uint64_t load[5] = {1, 0x5000, 0x5000, 0x40, 1}, move[6] = {1, 0x8000, 0x5000, 0x8000, 0x40, 1}, other[1] = {0};
    n += record(bytes + n, 0, load, 5, "loaded", 0x40);
    n += record(bytes + n, 2, other, 1, NULL, 0); // JIT_CODE_DEBUG_INFO
    n += record(bytes + n, 1, move, 6, NULL, 0);
    load[2] = 0x6000;
    size_t whole = n;
    n += record(bytes + n, 0, load, 5, "being written", 0x40);
    snprintf(dump, sizeof(dump), "/tmp/jit-%d.dump", (int)getpid());
    FILE *file = fopen(dump, "we");
    fwrite(bytes, 1, n - 1, file);
    fclose(file);
    struct jit_file state_of = {0};
    struct symbol_builder builder = {0};
    bool restarted;
    assert_int_equal(read_new(&state_of, JIT_DUMP, dump, &builder, &restarted, reason), 0);
    assert_int_equal(state_of.offset, whole);
    file = fopen(dump, "ae");
    fwrite(bytes + n - 1, 1, 1, file);
    fclose(file);
    assert_int_equal(read_new(&state_of, JIT_DUMP, dump, &builder, &restarted, reason), 0);
    assert_int_equal(state_of.offset, n);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_RANK);
    assert_symbol(table, 0x5010, "loaded");
    assert_symbol(table, 0x803f, "loaded"); // moved
    assert_symbol(table, 0x6000, "being written");
    assert_symbol(table, 0x6040, "");
    symbol_table_free(table);
    // Damaged at every place.
    for (size_t i = 0; i < n; i++)
        for (int value = 0; value < 256; value += 51) {
            uint8_t was = bytes[i];
            bytes[i] = (uint8_t)value;
            int fd = open(dump, O_WRONLY | O_TRUNC | O_CLOEXEC);
            assert_int_equal(write(fd, bytes, n), n);
            close(fd);
            bytes[i] = was;
            struct jit_file fresh = {0};
            read_new(&fresh, JIT_DUMP, dump, &builder, &restarted, reason);
            assert_true(fresh.offset <= n);
            symbol_builder_free(&builder);
        }
    unlink(dump);
}

int main(void) {
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(appended), cmocka_unit_test(refused), cmocka_unit_test(large),
                                       cmocka_unit_test(namespaces), cmocka_unit_test(jitdump)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
