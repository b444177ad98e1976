// Symbols of files that the compiler makes now, in each of the forms in which distributions ship them, and of files
// that are damaged, forged or no files at all.
#include "tests/unit/model_test.h"

#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/symbols/elf_file.h"
#include "collectors/kernel/symbols/object.h"

static char directory[] = "/tmp/ktop-test-object-XXXXXX";

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...) {
    char command[4096];
    size_t n = (size_t)snprintf(command, sizeof(command), "cd %s && ", directory);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command + n, sizeof(command) - n, format, arguments);
    va_end(arguments);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
}

static char *path_of(const char *name) {
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void read_named(const char *name, struct object_symbols *out) {
    struct object_key key = {.pid = getpid(), .path = path_of(name)};
    object_read(&key, out);
}

static bool has(const struct object_symbols *symbols, const char *name) {
    for (uint32_t i = 0; symbols->table && i < symbols->table->count; i++)
        if (!strcmp(symbols->table->names + symbols->table->symbols[i].name, name))
            return true;
    return false;
}

// Reads the file, says whether it has a name, and frees what was read.
static bool file_has(const char *file, const char *name) {
    struct object_symbols symbols;
    read_named(file, &symbols);
    bool found = has(&symbols, name);
    symbol_table_free(symbols.table);
    return found;
}

static const char source[] =
    "#include <stdio.h>\n"
    "static __attribute__((noinline)) int hidden(int n) { return n * 7 + 1; }\n"
    "int shown(int n) { puts(\"x\"); return hidden(n) + 1; }\n"
    "int one(void) { return 1; }\n"
    "extern int _one(void) __attribute__((alias(\"one\")));\n"
    "extern int a_weak_one(void) __attribute__((weak, alias(\"one\")));\n"
    "static int a_local_one(void) __attribute__((alias(\"one\"), used));\n"
    "int data_named_object = 3;\n"
    "__asm__(\".pushsection .text.unsized, \\\"ax\\\"\\n.globl unsized\\nunsized: nop\\nnop\\n.popsection\\n\");\n";

static void write_bytes(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(directory));
    write_bytes("lib.c", source, sizeof(source) - 1);
    write_bytes("main.c", "int shown(int); int main(void) { return shown(1); }", 51);
    run("gcc -O1 -shared -fPIC -Wl,--build-id=sha1 -Wl,-soname,libfull.so -o libfull.so lib.c");
    run("gcc -O1 -shared -fPIC -Wl,--build-id=none -o libnoid.so lib.c");
    run("strip -o libstripped.so libfull.so");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

static void own_symbols(void **state) {
    (void)state;
    struct object_symbols symbols;
    read_named("libfull.so", &symbols);
    assert_int_equal(symbols.state, OBJECT_READ);
    assert_string_equal(symbols.reason, "");
    assert_int_equal(symbols.table->kind, NAME_LIBRARY);
    assert_true(has(&symbols, "hidden"));
    assert_true(has(&symbols, "shown"));
    assert_true(has(&symbols, "unsized"));
    assert_true(has(&symbols, "puts@plt"));
    // Of several names at one address: global, with the fewest underscores.
    assert_true(has(&symbols, "one"));
    assert_false(has(&symbols, "_one"));
    assert_false(has(&symbols, "a_weak_one"));
    assert_false(has(&symbols, "a_local_one"));
    assert_false(has(&symbols, "data_named_object"));
    for (uint32_t i = 0; i < symbols.table->count; i++)
        if (!strcmp(symbols.table->names + symbols.table->symbols[i].name, "unsized"))
            assert_in_range(symbols.table->symbols[i].size, 1, 16); // up to the end of its section at most
    symbol_table_free(symbols.table);
}

static void kinds(void **state) {
    (void)state;
    struct object_symbols symbols;
    static const struct {
        const char *flags;
        enum name_kind kind;
    } programs[] = {{"-no-pie", NAME_USER},
                    {"-pie -fPIE", NAME_USER},
                    {"-static", NAME_USER},
                    {"-static-pie", NAME_USER},
                    {"-shared -fPIC", NAME_LIBRARY}};
    for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
        run("gcc -O1 %s -o program main.c lib.c", programs[i].flags);
        read_named("program", &symbols);
        assert_int_equal(symbols.table->kind, programs[i].kind);
        assert_true(has(&symbols, "hidden"));
        symbol_table_free(symbols.table);
    }
}

static void stripped(void **state) {
    (void)state;
    assert_true(file_has("libstripped.so", "shown"));
    assert_true(file_has("libstripped.so", "puts@plt"));
    assert_false(file_has("libstripped.so", "hidden"));
    struct object_symbols symbols;
    write_bytes("bare.c", "void _start(void) { for (;;); }", 31);
    run("gcc -O1 -nostdlib -static -x c -o bare - <bare.c && strip bare");
    read_named("bare", &symbols);
    assert_string_equal(symbols.reason, "bare has no symbols: install its debug package");
    assert_false(has(&symbols, "_start"));
    symbol_table_free(symbols.table);
}

static void debug_link(void **state) {
    (void)state;
    // By build ID.
    run("objcopy --only-keep-debug libfull.so lib.debug && objcopy --add-gnu-debuglink=lib.debug libstripped.so "
        "liblinked.so");
    assert_true(file_has("liblinked.so", "hidden"));
    assert_true(file_has("liblinked.so", "puts@plt"));
    run("mkdir -p .debug && mv lib.debug .debug/");
    assert_true(file_has("liblinked.so", "hidden"));
    run("objcopy --only-keep-debug libnoid.so .debug/lib.debug"); // of another build
    assert_false(file_has("liblinked.so", "hidden"));
    // By checksum.
    run("objcopy --only-keep-debug libnoid.so noid.debug && strip -o libnoidlinked.so libnoid.so && objcopy "
        "--add-gnu-debuglink=noid.debug libnoidlinked.so");
    assert_true(file_has("libnoidlinked.so", "hidden"));
    run("printf x >>noid.debug");
    assert_false(file_has("libnoidlinked.so", "hidden"));
    run("rm -r .debug noid.debug && mkfifo noid.debug");
    assert_false(file_has("libnoidlinked.so", "hidden"));
}

static void debuginfod_cache(void **state) {
    (void)state;
    struct elf_file file;
    struct elf_source elf;
    struct stat stat;
    uint8_t id[BUILD_ID_MAX];
    char hex[2 * BUILD_ID_MAX + 1];
    elf.fd = open(path_of("libfull.so"), O_RDONLY | O_CLOEXEC);
    fstat(elf.fd, &stat);
    elf.bytes = NULL;
    elf.size = (uint64_t)stat.st_size;
    assert_int_equal(elf_file_open(&file, &elf), 0);
    assert_int_equal(elf_file_build_id(&file, id), 20);
    elf_file_close(&file);
    close(elf.fd);
    for (size_t i = 0; i < 20; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    setenv("DEBUGINFOD_CACHE_PATH", path_of("cache"), 1);
    assert_false(file_has("libstripped.so", "hidden"));
    run("mkdir -p cache/%s && objcopy --only-keep-debug libfull.so cache/%s/debuginfo", hex, hex);
    assert_true(file_has("libstripped.so", "hidden"));
    run("chmod 777 cache/%s", hex); // anybody may have put it there
    assert_false(file_has("libstripped.so", "hidden"));
    run("chmod 755 cache/%s", hex);
    if (geteuid() == 0) {
        run("chown 12345 cache/%s/debuginfo", hex);
        assert_false(file_has("libstripped.so", "hidden"));
    }
    unsetenv("DEBUGINFOD_CACHE_PATH");
}

static void pack_section(const char *from, size_t zeros) {
    size_t size = zeros, packed_size = 0;
    uint8_t *bytes = NULL;
    if (from) {
        FILE *file = fopen(path_of(from), "re");
        bytes = calloc(1, 1 << 20);
        size = fread(bytes, 1, 1 << 20, file);
        fclose(file);
    } else {
        bytes = calloc(1, size);
    }
    size_t room = lzma_stream_buffer_bound(size);
    uint8_t *packed = malloc(room);
    assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, bytes, size, packed, &packed_size, room),
                     LZMA_OK);
    write_bytes("packed", packed, packed_size);
    free(bytes);
    free(packed);
}

static void mini_debug_info(void **state) {
    (void)state;
    run("objcopy --only-keep-debug --strip-debug libfull.so mini");
    pack_section("mini", 0);
    run("objcopy --add-section .gnu_debugdata=packed libstripped.so libmini.so");
    assert_true(file_has("libmini.so", "hidden"));
    assert_true(file_has("libmini.so", "shown"));
    run("truncate -s -20 packed && objcopy --add-section .gnu_debugdata=packed libstripped.so libcut.so");
    assert_false(file_has("libcut.so", "hidden"));
    assert_true(file_has("libcut.so", "shown"));
    pack_section(NULL, 200u << 20); // a bomb
    run("objcopy --add-section .gnu_debugdata=packed libstripped.so libbomb.so");
    assert_false(file_has("libbomb.so", "hidden"));
    assert_true(file_has("libbomb.so", "shown"));
}

static void offsets(void **state) {
    (void)state;
    struct object_symbols symbols;
    run("gcc -O1 -no-pie -o program main.c lib.c");
    read_named("program", &symbols);
    const struct symbol *shown = NULL;
    for (uint32_t i = 0; i < symbols.table->count; i++)
        if (!strcmp(symbols.table->names + symbols.table->symbols[i].name, "shown"))
            shown = &symbols.table->symbols[i];
    assert_non_null(shown);
    uint64_t address;
    const struct symbol_segment *code = &symbols.table->segments[0];
    assert_true(code->address >= 0x400000);
    assert_true(symbol_table_address(symbols.table, shown->start - code->address + code->offset, &address));
    assert_int_equal(address, shown->start);
    assert_false(symbol_table_address(symbols.table, 1ull << 40, &address));
    symbol_table_free(symbols.table);
}

static void wrong_files(void **state) {
    (void)state;
    struct object_symbols symbols;
    struct object_key key = {
        .pid = getpid(), .path = path_of("libfull.so"), .build_id = {1, 2, 3}, .build_id_size = 20};
    object_read(&key, &symbols);
    assert_int_equal(symbols.state, OBJECT_REPLACED);
    assert_null(symbols.table);
    assert_non_null(strstr(symbols.reason, "libfull.so was replaced"));
    run("mkfifo fifo && echo text >text && ln -s /dev/zero zero && ln -s libfull.so link.so");
    read_named("fifo", &symbols);
    assert_int_equal(symbols.state, OBJECT_MISSING);
    read_named("zero", &symbols);
    assert_int_equal(symbols.state, OBJECT_MISSING);
    read_named("absent", &symbols);
    assert_int_equal(symbols.state, OBJECT_MISSING);
    assert_string_equal(symbols.reason, "absent cannot be opened: No such file or directory");
    assert_true(file_has("link.so", "hidden"));
    read_named("text", &symbols);
    assert_string_equal(symbols.reason, "text has no symbols: it is not a valid ELF file");
    assert_int_equal(symbols.table->count, 0);
    symbol_table_free(symbols.table);
    // Of a process that is gone only a file that is surely the same is read on the host.
    struct stat stat;
    assert_int_equal(lstat(path_of("libfull.so"), &stat), 0);
    key = (struct object_key){.pid = 999999999, .path = path_of("libfull.so")};
    object_read(&key, &symbols);
    assert_int_equal(symbols.state, OBJECT_MISSING);
    key.device = stat.st_dev;
    key.inode = stat.st_ino;
    object_read(&key, &symbols);
    assert_int_equal(symbols.state, OBJECT_READ);
    symbol_table_free(symbols.table);
    key.inode++;
    object_read(&key, &symbols);
    assert_int_equal(symbols.state, OBJECT_MISSING);
}

// Every prefix, and random bytes in the headers: nothing but an answer, within bounded memory and time.
static void damaged(void **state) {
    (void)state;
    FILE *file = fopen(path_of("libfull.so"), "re");
    static uint8_t bytes[1 << 20], copy[1 << 20];
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    srand(7);
    for (int round = 0; round < 3000; round++) {
        struct object_symbols symbols;
        struct object_key key = {.pid = getpid(), .path = path_of("damaged.so")};
        memcpy(copy, bytes, size);
        size_t length = round < 300 ? size * (size_t)round / 300 : size;
        uint64_t headers;
        memcpy(&headers, bytes + 40, sizeof(headers)); // e_shoff
        for (int i = 0; round >= 300 && i < 1 + round % 8; i++) {
            size_t at = round % 3 ? headers + (size_t)rand() % (size - headers) : (size_t)rand() % 1024;
            copy[at] = (uint8_t)(rand() % 3 ? rand() : 0xff);
        }
        write_bytes("damaged.so", copy, length);
        object_read(&key, &symbols);
        symbol_table_free(symbols.table);
    }
}

// Sizes that a file states are not believed: here of a sparse file of 1 TiB.
static void huge(void **state) {
    (void)state;
    struct object_symbols symbols;
    run("cp libfull.so huge.so && truncate -s 1T huge.so");
    int fd = open(path_of("huge.so"), O_RDWR | O_CLOEXEC);
    Elf64_Ehdr header;
    assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    for (unsigned i = 1; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        off_t at = (off_t)(header.e_shoff + i * sizeof(section));
        assert_int_equal(pread(fd, &section, sizeof(section), at), sizeof(section));
        section.sh_size = 1ull << 39;
        assert_int_equal(pwrite(fd, &section, sizeof(section), at), sizeof(section));
    }
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    read_named("huge.so", &symbols);
    symbol_table_free(symbols.table);
    header.e_shnum = 0; // the number stands in section 0
    Elf64_Shdr first = {.sh_size = 1u << 31};
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(pwrite(fd, &first, sizeof(first), (off_t)header.e_shoff), sizeof(first));
    read_named("huge.so", &symbols);
    assert_non_null(strstr(symbols.reason, "not a valid ELF file"));
    symbol_table_free(symbols.table);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec - before.tv_sec < 10);
    close(fd);
    run("rm huge.so");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_symbols),      cmocka_unit_test(kinds),
        cmocka_unit_test(stripped),         cmocka_unit_test(debug_link),
        cmocka_unit_test(debuginfod_cache), cmocka_unit_test(mini_debug_info),
        cmocka_unit_test(offsets),          cmocka_unit_test(wrong_files),
        cmocka_unit_test(damaged),          cmocka_unit_test(huge),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
