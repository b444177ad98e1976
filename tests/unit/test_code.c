// Known code to known instructions: of both machines, of a file through the symbol service, of JIT memory, of a forged
// /proc/kcore and of a jitdump file. Source text: only from regular files that are source files.
#include "tests/unit/model_test.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/symbols/code.h"
#include "collectors/kernel/symbols/jitdump.h"
#include "collectors/kernel/symbols/kcore.h"

static char directory[] = "/tmp/ktop-test-code-XXXXXX";

static char *path_of(const char *name) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(path_of(name), "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static int setup(void **state) {
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state) {
    char command[64];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

// ---- bytes ----

static const uint8_t x86[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xf7, 0xf1, 0x06, 0xe8, 0x00, 0x01, 0x00, 0x00, 0x75, 0xf1};
static const uint8_t arm[] = {0xfd, 0x7b, 0xbf, 0xa9, 0x41, 0x0c, 0xc0, 0x9a, 0xff, 0xff,
                              0xff, 0xff, 0x40, 0x00, 0x00, 0x94, 0xc1, 0xff, 0xff, 0x54};

static void assert_lines(const struct code *code, const char *const *texts, const uint64_t *offsets, uint32_t n) {
    assert_int_equal(code->n, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(code->texts + code->lines[i].text, texts[i]);
        assert_int_equal(code->lines[i].offset, offsets[i]);
        assert_int_equal(code->lines[i].address, offsets[i] + 0x1000);
    }
}

static void machines(void **state) {
    (void)state;
    static const char *const x86_texts[] = {"pushq   %rbp", "movq    %rsp, %rbp", "divq    %rcx",
                                            "(bad)",        "callq   0x110d",     "jne     0x1000"};
    static const uint64_t x86_offsets[] = {0, 1, 4, 7, 8, 13};
    static const char *const arm_texts[] = {"stp     x29, x30, [sp, #-0x10]!", "sdiv    x1, x2, x0", "(bad)",
                                            "bl      #0x110c", "b.ne    #0x1008"};
    static const uint64_t arm_offsets[] = {0, 4, 8, 12, 16};
    uint64_t target;
    struct code *code = code_new();
    assert_true(code_disassemble(
        code, &(struct code_bytes){.machine = EM_X86_64, .bytes = x86, .size = sizeof(x86), .address = 0x1000}));
    assert_lines(code, x86_texts, x86_offsets, 6);
    assert_true(code_target(x86_texts[4], &target));
    assert_int_equal(target, 0x110d);
    assert_false(code_target("callq   *%rax", &target));
    assert_false(code_target("movq    $0, 0x1000", &target));
    assert_false(code_target("jmpq    *0x2ff2(%rip)", &target));
    code_free(code);
    code = code_new();
    assert_true(code_disassemble(
        code, &(struct code_bytes){.machine = EM_AARCH64, .bytes = arm, .size = sizeof(arm), .address = 0x1000}));
    assert_lines(code, arm_texts, arm_offsets, 5);
    assert_true(code_target(arm_texts[4], &target));
    assert_int_equal(target, 0x1008);
    code_free(code);
    code = code_new();
    assert_false(code_disassemble(code, &(struct code_bytes){.machine = EM_SPARC, .bytes = x86, .size = 4}));
    assert_non_null(strstr(code->note, "no disassembler"));
    code_free(code);
}

// Of a long function only what is around the samples, and no more than the limit.
static void long_function(void **state) {
    (void)state;
    uint8_t *bytes = malloc(CODE_BYTES_MAX);
    static const uint64_t hot[] = {5000, 5010, 900000};
    memset(bytes, 0x90, CODE_BYTES_MAX); // nop
    struct code *code = code_new();
    assert_true(code_disassemble(
        code,
        &(struct code_bytes){.machine = EM_X86_64, .bytes = bytes, .size = CODE_BYTES_MAX, .hot = hot, .n_hot = 3}));
    assert_in_range(code->n, 4 * CODE_AROUND - 4, 4 * CODE_AROUND + 16);
    assert_in_range(code->lines[0].offset, 5000 - CODE_AROUND, 5000);
    assert_in_range(code->lines[code->n - 1].offset, 900000, 900000 + CODE_AROUND);
    assert_non_null(strstr(code->note, "1024 KiB"));
    code_free(code);
    code = code_new();
    code_disassemble(
        code, &(struct code_bytes){.machine = EM_X86_64, .bytes = bytes, .size = CODE_WHOLE_BYTES, .address = 1});
    assert_int_equal(code->n, CODE_LINES_MAX);
    code_free(code);
    free(bytes);
}

// ---- the service ----

static struct code *wait_code(struct symbols *symbols) {
    struct code *code = NULL;
    for (int i = 0; i < 2000 && !(code = symbols_code_take(symbols)); i++)
        usleep(5000);
    assert_non_null(code);
    return code;
}

static const char program[] = "__attribute__((noinline)) unsigned long known(unsigned long n) {\n"
                              "    unsigned long sum = 1;\n"
                              "    for (unsigned long i = 1; i < n; i++)\n"
                              "        sum = n / sum + i;\n"
                              "    return sum; }\n"
                              "int main(int n, char **v) { return (int)known((unsigned long)n); }\n";

static void a_file(void **state) {
    (void)state;
    char command[512];
    write_file("program.c", program, sizeof(program) - 1);
    snprintf(command, sizeof(command), "cd %s && gcc -O1 -g -no-pie -Wl,-z,noseparate-code -o program program.c",
             directory);
    assert_int_equal(system(command), 0);
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    struct object_key key = {.pid = getpid(), .path = path_of("program")};
    struct symbols_object *object = symbols_object(symbols, &key);
    struct code *code = NULL;
    uint64_t offset = 0, within;
    // The name gets an ID once the file is read.
    for (uint64_t at = 0; at < 0x3000 && !offset; at += 16) {
        uint32_t id = symbols_user(symbols, object, at);
        for (int i = 0; i < 1000 && !symbols_idle(symbols); i++)
            usleep(2000);
        if (!strcmp(text_bytes(name_table_text(names, id)), "known"))
            symbols_find(symbols, object, "known", "", &offset);
    }
    assert_true(offset > 0);
    assert_ptr_equal(symbols_file(symbols, key.path), object);
    assert_null(symbols_file(symbols, "/nowhere"));
    assert_true(symbols_within(symbols, object, offset + 3, &within));
    assert_int_equal(within, 3);
    struct code_query query = {.object = object, .offset = offset + 3, .hot = {offset}, .n_hot = 1, .pid = getpid()};
    symbols_code_want(symbols, &query);
    code = wait_code(symbols);
    assert_string_equal(code->note, "");
    assert_int_equal(code->start, offset);
    bool divides = false, jumps = false;
    for (uint32_t i = 0; i < code->n; i++) {
        const struct code_line *line = &code->lines[i];
        assert_in_range(line->offset, code->start, code->end - 1);
        assert_int_equal(line->address, line->offset + 0x400000);
        assert_non_null(strstr(code->texts + line->file, "program.c"));
        jumps |= strstr(code->texts + line->text, "<known+0x") != NULL;
        if (strncmp(code->texts + line->text, "div", 3) != 0)
            continue;
        divides = true;
        assert_int_equal(line->line, 4);
        assert_string_equal(code->texts + line->source, "sum = n / sum + i;");
    }
    assert_true(divides && jumps);
    assert_string_equal(code->where.frames[0].function, "known");
    code_free(code);
    // A file that is not there; a newer query replaces an older one.
    key.path = "/nowhere/absent";
    struct symbols_object *absent = symbols_object(symbols, &key);
    symbols_code_want(symbols, &query);
    symbols_code_want(symbols, &(struct code_query){.object = absent, .offset = 1});
    code = wait_code(symbols);
    assert_int_equal(code->n, 0);
    assert_non_null(strstr(code->note, "cannot be read"));
    code_free(code);
    symbols_code_want(symbols, &query); // left unread
    symbols_free(symbols);
    name_table_unref(names);
}

static void jit_memory(void **state) {
    (void)state;
    uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, x86, sizeof(x86));
    struct name_table *names = name_table_new();
    struct symbols *symbols = symbols_new(names);
    uint64_t at = (uint64_t)memory;
    struct code_query query = {
        .object = symbols_jit(symbols, getpid()), .offset = at, .hot = {at, at + 4}, .n_hot = 2, .pid = getpid()};
    symbols_code_want(symbols, &query);
    struct code *code = wait_code(symbols);
#if defined(__x86_64__)
    assert_true(code->n > 3);
    assert_string_equal(code->texts + code->lines[2].text, "divq    %rcx");
    assert_int_equal(code->lines[2].address, at + 4);
#endif
    code_free(code);
    symbols_free(symbols);
    name_table_unref(names);
    munmap(memory, 4096);
}

// ---- files of the kernel and of JITs ----

static void forged_kcore(void **state) {
    (void)state;
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segments[2];
        uint8_t code[16];
    } file = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_CORE,
                         .e_machine = EM_X86_64,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 2},
              .segments = {{.p_type = PT_NOTE},
                           {.p_type = PT_LOAD,
                            .p_vaddr = 0xffffffff81000000,
                            .p_memsz = 12,
                            .p_filesz = 12,
                            .p_offset = offsetof(__typeof__(file), code)}}};
    uint8_t out[16];
    uint16_t machine;
    memcpy(file.code, x86, 12);
    write_file("kcore", &file, sizeof(file));
    assert_int_equal(kcore_read(path_of("kcore"), 0xffffffff81000004, out, sizeof(out), &machine), 8);
    assert_memory_equal(out, x86 + 4, 8);
    assert_int_equal(machine, EM_X86_64);
    assert_true(kcore_read(path_of("kcore"), 0xffffffff8100000c, out, sizeof(out), &machine) < 0);
    assert_true(kcore_read(path_of("kcore"), 0, out, sizeof(out), &machine) < 0);
    assert_true(kcore_read(path_of("absent"), 0, out, sizeof(out), &machine) < 0);
    write_file("kcore", "text", 4);
    assert_true(kcore_read(path_of("kcore"), 0xffffffff81000004, out, sizeof(out), &machine) < 0);
}

static size_t put_load(uint8_t *out, uint64_t address, const char *name, const uint8_t *code, uint64_t size) {
    uint64_t words[5] = {0, address, address, size, 1};
    size_t length = strlen(name) + 1, total = 16 + 40 + length + size;
    uint32_t head[4] = {0, (uint32_t)total, 0, 0};
    memcpy(out, head, 16);
    memcpy(out + 16, words, 40);
    memcpy(out + 56, name, length);
    memcpy(out + 56 + length, code, size);
    return total;
}

static void a_jitdump(void **state) {
    (void)state;
    uint8_t bytes[512], out[16];
    uint32_t head[10] = {0x4a695444, 1, 40, EM_X86_64};
    memcpy(bytes, head, 40);
    size_t n = 40;
    n += put_load(bytes + n, 0x7000, "old", x86, 4);
    n += put_load(bytes + n, 0x8000, "other", x86, 4);
    n += put_load(bytes + n, 0x7000, "f", x86 + 4, 8); // in its place
    write_file("dump", bytes, n);
    int fd = open(path_of("dump"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(jitdump_code(fd, 0x7001, out, sizeof(out)), 7);
    assert_memory_equal(out, x86 + 5, 7);
    assert_int_equal(jitdump_code(fd, 0x7000, out, 3), 3);
    assert_true(jitdump_code(fd, 0x9000, out, sizeof(out)) < 0);
    close(fd);
    put_load(bytes + 40, 0x7000, "old", x86, 4);
    memset(bytes + 40 + 16 + 24, 0xff, 8); // a size beyond the record
    write_file("dump", bytes, 110);
    fd = open(path_of("dump"), O_RDONLY | O_CLOEXEC);
    assert_true(jitdump_code(fd, 0x7001, out, sizeof(out)) < 0);
    close(fd);
}

static void source_text(void **state) {
    (void)state;
    char line[32], path[300];
    write_file("text.c", "one\n\ttwo\tx  \r\n\nfour", 20);
    write_file("secret", "password\n", 9);
    assert_int_equal(mkfifo(path_of("fifo.c"), 0600), 0);
    struct source_files *files = source_files_new(getpid());
    assert_true(source_files_line(files, path_of("text.c"), 1, line, sizeof(line)));
    assert_string_equal(line, "one");
    assert_true(source_files_line(files, path_of("text.c"), 2, line, sizeof(line)));
    assert_string_equal(line, "two x");
    assert_true(source_files_line(files, path_of("text.c"), 4, line, 3));
    assert_string_equal(line, "fo");
    assert_false(source_files_line(files, path_of("text.c"), 5, line, sizeof(line)));
    assert_false(source_files_line(files, path_of("text.c"), 0, line, sizeof(line)));
    assert_false(source_files_line(files, path_of("secret"), 1, line, sizeof(line)));
    assert_false(source_files_line(files, path_of("fifo.c"), 1, line, sizeof(line)));
    assert_false(source_files_line(files, "relative.c", 1, line, sizeof(line)));
    assert_false(source_files_line(files, "/x.d/secret", 1, line, sizeof(line)));
    assert_int_equal(symlink(path_of("secret"), strcat(strcpy(path, directory), "/link.c")), 0);
    assert_false(source_files_line(files, path_of("link.c"), 1, line, sizeof(line)));
    source_files_free(files);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines),    cmocka_unit_test(long_function), cmocka_unit_test(a_file),
        cmocka_unit_test(jit_memory),  cmocka_unit_test(forged_kcore),  cmocka_unit_test(a_jitdump),
        cmocka_unit_test(source_text),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
