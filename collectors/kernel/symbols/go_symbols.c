// Reading of .gopclntab; see the header. The table is read through small windows, since it can be as large as the code
// itself; an entry that contradicts itself is left out.
#include "collectors/kernel/symbols/go_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/go_table.h"
#include "collectors/kernel/symbols/functions.h"
#include "model/mem.h"

#define WINDOW 16384u
#define RANK 1u // over functions without a name

struct window {
    uint64_t at; // in the section
    size_t size;
    uint8_t bytes[WINDOW];
};

struct go_table {
    const struct elf_file *file;
    uint64_t offset, size; // of the section, in the file
    struct go_head head;
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

static bool read_header(struct go_table *table) {
    size_t size = table->size < GO_HEAD_BYTES ? (size_t)table->size : GO_HEAD_BYTES;
    const uint8_t *bytes = bytes_at(table, &table->of_entries, 0, size);
    const GElf_Shdr *text = elf_file_section(table->file, ".text");
    return bytes && go_head_parse(bytes, size, text ? text->sh_addr : 0, &table->head) &&
           table->head.count <= table->size / (2 * table->head.word);
}

// False: the builder is full.
static bool add_function(struct go_table *table, uint64_t index, struct symbol_builder *builder) {
    const struct go_head *head = &table->head;
    uint64_t entry = head->entries + index * 2 * head->word, start, function, end, again, name;
    if (!word_at(table, &table->of_entries, entry, head->word, &start) ||
        !word_at(table, &table->of_entries, entry + head->word, head->word, &function) ||
        !word_at(table, &table->of_entries, entry + 2ull * head->word, head->word, &end) || function > table->size)
        return true;
    function += head->functions;
    if (!word_at(table, &table->of_functions, function, head->word, &again) || again != start ||
        !word_at(table, &table->of_functions, function + head->word, 4, &name))
        return true;
    struct symbol_draft draft = {.start = head->text + start, .rank = RANK};
    draft.limit = functions_end_of_code(table->file, draft.start);
    if (!draft.limit)
        return true;
    if (end > start && end - start <= draft.limit - draft.start)
        draft.end = draft.start + (end - start);
    name += head->names;
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
    for (uint64_t i = 0; room && i < table->head.count; i++)
        room = add_function(table, i, builder);
    free(table);
}
