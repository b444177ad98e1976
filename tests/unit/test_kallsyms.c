// kallsyms: forged files, and this kernel's own.
#include "tests/unit/model_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/symbols/kallsyms.h"

static int read_text(const char *text, struct symbol_table **table) {
    char path[] = "/tmp/ktop-test-kallsyms-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    int error = kallsyms_read(path, table);
    unlink(path);
    return error;
}

static void assert_symbol(const struct symbol_table *table, uint64_t address, const char *name, const char *object) {
    const struct symbol *symbol = symbol_table_find(table, address);
    if (!name) {
        assert_null(symbol);
        return;
    }
    assert_non_null(symbol);
    const char *found = table->names + symbol->name;
    assert_string_equal(found, name);
    assert_string_equal(found + strlen(found) + 1, object);
}

static void forged(void **state) {
    (void)state;
    struct symbol_table *table;
    assert_int_equal(read_text("0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T startup_64\n"
                               "ffffffff81000100 t local_one\n"
                               "ffffffff81000100 T __global_one\n"
                               "ffffffff81000200 W weak_one\n"
                               "ffffffff81000240 D data\n"
                               "ffffffff81000300 T last\n"
                               "ffffffff81000400 R rodata\n"
                               "ffffffffc0002000 t late\t[ext4]\n"
                               "ffffffffc0001000 t early\t[ext4]\n"
                               "ffffffffc0003000 t $x\t[ext4]\n"
                               "ffffffffc0003000 t one\t[ext4]\n"
                               "ffffffffc0003010 t $d.7\t[ext4]\n"
                               "ffffffffc0003018 t $x\t[ext4]\n"
                               "ffffffffc0003040 t $xbox\t[ext4]\n"
                               "ffffffffc0100000 t bpf_prog_1234_name\t[bpf]\n"
                               "ffffffffc0200000 t trampoline\t[__builtin__ftrace]\n"
                               "garbage\n\n"
                               "ffffffffc0300000 t",
                               &table),
                     0);
    assert_int_equal(table->kind, NAME_KERNEL);
    assert_symbol(table, 0xffffffff80ffffff, NULL, NULL);
    assert_symbol(table, 0xffffffff81000010, "startup_64", "[kernel]");
    assert_symbol(table, 0xffffffff81000110, "__global_one", "[kernel]");
    assert_symbol(table, 0xffffffff8100023f, "weak_one", "[kernel]");
    assert_symbol(table, 0xffffffff81000240, NULL, NULL); // data
    assert_symbol(table, 0xffffffff810003ff, "last", "[kernel]");
    assert_symbol(table, 0xffffffff81000400, NULL, NULL);
    assert_symbol(table, 0xffffffffc0001fff, "early", "[ext4]"); // modules are in no order
    assert_symbol(table, 0xffffffffc0002010, "late", "[ext4]");
    assert_symbol(table, 0xffffffffc0003000, "one", "[ext4]"); // not the mapping symbols of arm64
    assert_symbol(table, 0xffffffffc000301c, "one", "[ext4]");
    assert_symbol(table, 0xffffffffc0003044, "$xbox", "[ext4]");
    assert_symbol(table, 0xffffffffc00fffff, NULL, NULL); // not up to the next module
    assert_symbol(table, 0xffffffffc0100010, "bpf_prog_1234_name", "[bpf]");
    assert_symbol(table, 0xffffffffc0200010, "trampoline", "[kernel]");
    symbol_table_free(table);
}

static void hidden(void **state) {
    (void)state;
    struct symbol_table *table;
    assert_int_equal(read_text("0000000000000000 T _text\n0000000000000000 t f\t[ext4]\n", &table), -EACCES);
    assert_int_equal(read_text("", &table), -ENOENT);
    assert_int_equal(read_text("no symbols here\n", &table), -ENOENT);
    assert_int_equal(kallsyms_read("/nowhere/kallsyms", &table), -ENOENT);
    assert_null(table);
}

static void long_lines(void **state) {
    (void)state;
    struct symbol_table *table;
    size_t size = 1 << 20, n = 0;
    char *text = malloc(size + 4096);
    n += (size_t)sprintf(text, "ffffffff81000000 T before\nffffffff81001000 T ");
    memset(text + n, 'x', size);
    n += size;
    strcpy(text + n, "\nffffffff81002000 T after\nffffffff81003000 D end\n");
    assert_int_equal(read_text(text, &table), 0);
    assert_symbol(table, 0xffffffff81000000, "before", "[kernel]");
    assert_symbol(table, 0xffffffff81002fff, "after", "[kernel]");
    symbol_table_free(table);
    free(text);
}

static void this_kernel(void **state) {
    (void)state;
    struct symbol_table *table;
    int error = kallsyms_read("/proc/kallsyms", &table);
    if (error == -EACCES || error == -ENOENT)
        skip(); // kptr_restrict
    assert_int_equal(error, 0);
    assert_true(table->count > 1000);
    for (uint32_t i = 1; i < table->count; i++)
        assert_true(table->symbols[i - 1].start + table->symbols[i - 1].size <= table->symbols[i].start);
    symbol_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(forged), cmocka_unit_test(hidden), cmocka_unit_test(long_lines),
                                       cmocka_unit_test(this_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
