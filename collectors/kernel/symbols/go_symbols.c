// Reading of .gopclntab; see the header. The table is read through small windows, since it can be as large as the code
// itself; an entry that contradicts itself is left out.
#include "collectors/kernel/symbols/go_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/symbols/functions.h"
#include "model/mem.h"

#define WINDOW 16384u
#define RANK 1u // over functions without a name

struct window {
    uint64_t at; // in the section
    size_t size;
    uint8_t bytes[WINDOW];
};

// All offsets are in the section.
struct go_table {
    const struct elf_file *file;
    uint64_t offset, size; // of the section, in the file
    uint64_t count, names, functions, entries;
    uint64_t text;    // what entries are relative to
    unsigned pointer; // bytes
    unsigned word;    // bytes of each half of an entry
    struct window of_entries, of_functions, of_names;
};

// Bytes of the section, valid until the window is used again. NULL: not there.
static const uint8_t *bytes_at(const struct go_table *table, struct window *window, uint64_t at, size_t size) {
    if (at > table->size || size > table->size - at || size > WINDOW)
        return NULL;
    if (!window->size || at < window->at || at - window->at > window->size || size > window->size - (at - window->at)) {
        uint64_t left = table->size - at;
        ssize_t got = elf_file_read_some(table->file, table->offset + at, window->bytes, left < WINDOW ? left : WINDOW);
        window->at = at;
        window->size = got > 0 ? (size_t)got : 0;
    }
    return size <= window->size - (at - window->at) ? window->bytes + (at - window->at) : NULL;
}

static bool word_at(const struct go_table *table, struct window *window, uint64_t at, unsigned size, uint64_t *out) {
    const uint8_t *bytes = bytes_at(table, window, at, size);
    *out = 0;
    if (bytes && size == 8)
        memcpy(out, bytes, 8);
    if (bytes && size == 4) {
        uint32_t half;
        memcpy(&half, bytes, 4);
        *out = half;
    }
    return bytes != NULL;
}

// A field of the header, after its first eight bytes.
static uint64_t field(struct go_table *table, unsigned index) {
    uint64_t value;
    return word_at(table, &table->of_entries, 8 + (uint64_t)index * table->pointer, table->pointer, &value) ? value : 0;
}

static bool read_header(struct go_table *table) {
    uint32_t magic;
    const uint8_t *start = bytes_at(table, &table->of_entries, 0, 8);
    if (!start || start[4] || start[5] || (start[7] != 4 && start[7] != 8))
        return false;
    memcpy(&magic, start, sizeof(magic));
    const GElf_Shdr *text = elf_file_section(table->file, ".text");
    table->pointer = table->word = start[7];
    table->count = field(table, 0);
    switch (magic) {
    case 0xfffffff1: // 1.20
    case 0xfffffff0: // 1.18
        table->word = 4;
        table->text = field(table, 2);
        if (!table->text && text) // set when the program is loaded
            table->text = text->sh_addr;
        table->names = field(table, 3);
        table->functions = table->entries = field(table, 7);
        break;
    case 0xfffffffa: // 1.16
        table->names = field(table, 2);
        table->functions = table->entries = field(table, 6);
        break;
    case 0xfffffffb: // 1.2
        table->entries = 8 + (uint64_t)table->pointer;
        break;
    default:
        return false;
    }
    return table->count <= table->size / (2 * table->word);
}

// False: the builder is full.
static bool add_function(struct go_table *table, uint64_t index, struct symbol_builder *builder) {
    uint64_t entry = table->entries + index * 2 * table->word, start, function, end, again, name;
    if (!word_at(table, &table->of_entries, entry, table->word, &start) ||
        !word_at(table, &table->of_entries, entry + table->word, table->word, &function) ||
        !word_at(table, &table->of_entries, entry + 2ull * table->word, table->word, &end) || function > table->size)
        return true;
    function += table->functions;
    if (!word_at(table, &table->of_functions, function, table->word, &again) || again != start ||
        !word_at(table, &table->of_functions, function + table->word, 4, &name))
        return true;
    struct symbol_draft draft = {.start = table->text + start, .rank = RANK};
    draft.limit = functions_end_of_code(table->file, draft.start);
    if (!draft.limit)
        return true;
    if (end > start && end - start <= draft.limit - draft.start)
        draft.end = draft.start + (end - start);
    name += table->names;
    uint64_t left = name < table->size ? table->size - name : 0;
    size_t room = left < SYMBOL_NAME_MAX ? (size_t)left : SYMBOL_NAME_MAX;
    const char *bytes = (const char *)bytes_at(table, &table->of_names, name, room);
    size_t length = bytes ? strnlen(bytes, room) : 0;
    return !length || symbol_builder_add(builder, &draft, bytes, length, NULL);
}

void go_symbols_add(const struct elf_file *file, struct symbol_builder *builder) {
    const GElf_Shdr *section = elf_file_section(file, ".gopclntab");
    if (!section)
        section = elf_file_section(file, ".data.rel.ro.gopclntab");
    bool native = file->encoding == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
    if (!section || !native || section->sh_type == SHT_NOBITS || (section->sh_flags & SHF_COMPRESSED))
        return;
    struct go_table *table = xcalloc(1, sizeof(*table));
    table->file = file;
    table->offset = section->sh_offset;
    table->size = section->sh_size < file->source.size ? section->sh_size : file->source.size;
    bool room = read_header(table);
    for (uint64_t i = 0; room && i < table->count; i++)
        room = add_function(table, i, builder);
    free(table);
}
