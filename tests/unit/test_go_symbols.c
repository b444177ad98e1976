// Functions of stripped Go programs: tables of every format, and damaged ones.
#include "collectors/kernel/symbols/go_symbols.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/forge_go.h"

static char *names[] = {"", ".text", ".gopclntab"};

// The table of symbols of a program with this .gopclntab.
static struct symbol_table *read_table(const uint8_t *bytes, size_t size) {
    GElf_Shdr sections[] = {
        {0}, {.sh_addr = GO_TEXT, .sh_size = 96, .sh_type = SHT_PROGBITS}, {.sh_size = size, .sh_type = SHT_PROGBITS}};
    GElf_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_X | PF_R, .p_vaddr = 0x400000, .p_filesz = 0x2000};
    struct elf_file file = {.source = {.fd = -1, .bytes = bytes, .size = size},
                            .is64 = true,
                            .encoding = ELFDATA2LSB,
                            .sections = sections,
                            .section_names = names,
                            .n_sections = 3,
                            .segments = &segment,
                            .n_segments = 1};
    struct symbol_builder builder = {0};
    go_symbols_add(&file, &builder);
    return symbol_builder_finish(&builder, OVERLAP_INNER);
}

static void has(const struct symbol_table *table, uint64_t address, const char *name) {
    const struct symbol *symbol = symbol_table_find(table, address);
    if (!name) {
        assert_null(symbol);
        return;
    }
    assert_non_null(symbol);
    assert_string_equal(table->names + symbol->name, name);
}

static void every_format(void **state) {
    (void)state;
    static const uint32_t magics[] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
    for (unsigned i = 0; i < 8; i++) {
        struct go_forge forge = {.magic = magics[i / 2], .pointer = i % 2 ? 4 : 8};
        go_forge(&forge);
        struct symbol_table *table = read_table(forge.bytes, forge.size);
        assert_int_equal(table->count, 3);
        has(table, GO_TEXT - 1, NULL);
        has(table, GO_TEXT, "main.a");
        has(table, GO_TEXT + 15, "main.a");
        has(table, GO_TEXT + 16, "main.(*T).b");
        has(table, GO_TEXT + 63, "main.(*T).b");
        has(table, GO_TEXT + 95, "main.c");
        has(table, GO_TEXT + 96, NULL);
        symbol_table_free(table);
    }
}

// In a program that is relocated when it is loaded, the file has no address there.
static void text_is_not_known(void **state) {
    (void)state;
    struct go_forge forge = {.magic = 0xfffffff1, .pointer = 8};
    go_forge(&forge);
    memset(forge.bytes + 8 + 16, 0, 8);
    struct symbol_table *table = read_table(forge.bytes, forge.size);
    has(table, GO_TEXT + 16, "main.(*T).b");
    symbol_table_free(table);
}

static void damaged(void **state) {
    (void)state;
    struct go_forge forge = {.magic = 0xfffffff1, .pointer = 8};
    go_forge(&forge);
    for (size_t size = 0; size < forge.size; size++) { // cut; each is read where it ends, for a sanitizer
        uint8_t *bytes = test_malloc(size + !size);
        memcpy(bytes, forge.bytes, size);
        struct symbol_table *table = read_table(bytes, size);
        assert_true(table->count <= 3);
        symbol_table_free(table);
        test_free(bytes);
    }
    for (size_t at = 0; at < forge.size; at++) { // a wrong byte costs the functions that it is of
        struct go_forge wrong = forge;
        wrong.bytes[at] ^= 0xff;
        struct symbol_table *table = read_table(wrong.bytes, wrong.size);
        assert_true(table->count <= 3);
        symbol_table_free(table);
    }
    memset(forge.bytes + 8, 0xff, 8); // so many functions
    struct symbol_table *table = read_table(forge.bytes, forge.size);
    assert_int_equal(table->count, 0);
    symbol_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format),
        cmocka_unit_test(text_is_not_known),
        cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
