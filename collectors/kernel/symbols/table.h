// A table of symbols that never overlap, sorted by address; made once by a builder, then read-only except for the IDs.
// Reference-counted, so that a thread can use it while another one replaces it.
#ifndef COLLECTORS_SYMBOLS_TABLE_H
#define COLLECTORS_SYMBOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/names.h"

#define SYMBOL_NAME_MAX 4096                // bytes of a name; longer ones are cut
#define TABLE_SYMBOLS_MAX (1u << 20)        // of one table
#define TABLE_NAMES_MAX ((size_t)40u << 20) // bytes of one table's names

struct symbol {
    uint64_t start;
    uint32_t size;
    uint32_t name; // in `names`; "": a function whose name is unknown
};

struct symbol_segment { // a PT_LOAD: file offset to address
    uint64_t offset, size, address;
};
#define TABLE_SEGMENTS 8

struct symbol_table {
    uint32_t refs; // guarded by the lock of the service
    uint32_t count;
    struct symbol *symbols;
    uint32_t *ids; // one per symbol, NAME_NONE: no ID yet; guarded by the lock of the service
    char *names;   // each ends in NUL
    size_t names_size;
    struct symbol_segment segments[TABLE_SEGMENTS]; // none: an offset is an address
    size_t n_segments;
    enum name_kind kind;
    bool named_objects; // each name is followed by its object's: "symbol\0[module]\0"
    bool cut;           // there were more symbols than a table holds
};

void symbol_table_free(struct symbol_table *table); // NULL is allowed
size_t symbol_table_bytes(const struct symbol_table *table);
// The symbol at an address; NULL: none.
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);
// File offset to address; false: in no segment.
bool symbol_table_address(const struct symbol_table *table, uint64_t offset, uint64_t *address);

// ---- building ----

struct symbol_draft {
    uint64_t start, end; // end 0: up to the next symbol, at most `limit`
    uint64_t limit;
    uint32_t rank; // of two symbols at one address the higher one wins
    uint32_t name; // set by symbol_builder_add()
};

struct symbol_builder {
    struct symbol_draft *drafts;
    uint32_t count, capacity;
    char *names;
    size_t names_size, names_capacity;
    bool cut;
};

// In two steps, for names that are read later: a draft whose `name` the caller sets to what the second one returns.
// false, UINT32_MAX: the table is full.
bool symbol_builder_draft(struct symbol_builder *builder, const struct symbol_draft *draft);
uint32_t symbol_builder_name(struct symbol_builder *builder, const char *name, size_t length, const char *object);
// In one step. The name is copied and cut; `object` may be NULL. false: the table is full.
bool symbol_builder_add(struct symbol_builder *builder, const struct symbol_draft *draft, const char *name,
                        size_t length, const char *object);
void symbol_builder_free(struct symbol_builder *builder);

// Sorts, in little time what is nearly sorted, and with eight bytes for each draft.
typedef int draft_compare(const struct symbol_draft *a, const struct symbol_draft *b);
void symbol_drafts_sort(struct symbol_draft *drafts, uint32_t count, draft_compare *compare);

enum symbol_overlap {
    OVERLAP_INNER, // the symbol that starts last wins: a function within another one
    OVERLAP_RANK,  // the higher rank wins: code that replaced older code
};
// Takes what the builder holds and leaves it empty. Never NULL.
struct symbol_table *symbol_builder_finish(struct symbol_builder *builder, enum symbol_overlap overlap);

// "$x", "$d.12": where code and data alternate, for disassemblers of Arm code. No function's name.
bool symbol_is_mapping(const char *name, size_t length);

#endif
