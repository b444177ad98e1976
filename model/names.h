// A name table: ID -> text, shared by the trees of many frames. A text may be set later than its ID was handed out
// ("[libfoo.so+0x12ab]" first, the symbol when it is found), and then shows in older frames too.
//
// Reference-counted and growing: IDs are 0, 1, 2, ... and stay valid as long as the table. Any thread may call any
// function. Reading takes no lock.
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include <stdint.h>

#include "model/text.h"

#define NAME_NONE UINT32_MAX

struct name_table;

struct name_table *name_table_new(void);
struct name_table *name_table_ref(struct name_table *table);
void name_table_unref(struct name_table *table); // NULL is allowed

// A new ID; `take` may be NULL (no name yet). Equal texts get different IDs: the caller maps its keys (address,
// function) to IDs. NAME_NONE when 2^26 names are in use.
uint32_t name_table_add(struct name_table *table, const struct text *take);
// Replaces the text of the ID. The old text lives as long as the table, since a reader may hold it.
void name_table_set(struct name_table *table, uint32_t id, const struct text *take);
// Borrowed from the table. NULL: no name yet, or NAME_NONE.
const struct text *name_table_text(const struct name_table *table, uint32_t id);

// Grows whenever a text is replaced: what was made of the names is as new as this.
uint64_t name_table_changes(const struct name_table *table);

// ---- names of code ----
//
// A node of a profile names code: a symbol, the kind of code, and the object that it is in. All three are packed into
// one text, so that recordings, merges and late replacement carry them as one value. text_bytes() of it is the symbol.
enum name_kind {
    NAME_PLAIN = 0,     // not code: a process, a thread
    NAME_USER = 'u',    // a program's own executable
    NAME_LIBRARY = 'l', // a shared library, the vdso
    NAME_KERNEL = 'k',  // kernel, modules, BPF
    NAME_JIT = 'j',     // code without a file
    NAME_INLINE = 'i',  // inlined into the frame below it
    NAME_MARK = '!',    // what is missing: "[broken stack]", "[cut stack]"
};
// `object`: "/usr/lib/libc.so.6", "[kernel]", "" for none; of a process its PID. Both are cut to 4 KiB.
const struct text *name_pack(const char *symbol, enum name_kind kind, const char *object);
enum name_kind name_kind(const struct text *text); // NAME_PLAIN for NULL and for texts that are not packed
const char *name_object(const struct text *text);  // "" for none

// The symbol without its arguments and template arguments, for a line of text: std::vector<int, A>::push_back(int
// const&) is std::vector<>::push_back(). What begins with a bracket, operators and "(anonymous namespace)" stay. Cut to
// `size`, which is at least 4.
void name_brief(const char *symbol, char *out, size_t size);

#endif
