// Lookup in DWARF by libdw; see the header. libdw's own search for scopes recurses as deep as a file nests its entries,
// so that a crafted one could exhaust the stack: entries are walked here, with a depth and a number that are bounded.
#include "collectors/kernel/symbols/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/symbols/debug_image.h"
#include "collectors/kernel/symbols/demangle.h"
#include "model/mem.h"

#define UNITS_MAX 200000
#define NAMESPACES_MAX 64  // nesting of namespaces and classes around a function
#define BLOCKS_MAX 256     // nesting of blocks and inlined functions in it
#define VISITS_MAX 2000000 // entries looked at for one address

struct lines {
    Elf *elf;
    Dwarf *dwarf;
    uint8_t *image;
    uint64_t bytes;
    Dwarf_Die unit; // that lines_row() found last
    bool has_unit;
};

struct lines *lines_open(int fd, uint64_t size, const char **reason) {
    struct elf_source source = {.fd = fd, .size = size};
    struct lines *lines = xcalloc(1, sizeof(*lines));
    lines->image = debug_image(&source, &lines->bytes, reason);
    if (!lines->image) {
        free(lines);
        return NULL;
    }
    lines->elf = elf_memory((char *)lines->image, lines->bytes);
    lines->dwarf = lines->elf ? dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL) : NULL;
    if (lines->dwarf)
        return lines;
    *reason = DEBUG_DAMAGED;
    lines_close(lines);
    return NULL;
}

void lines_close(struct lines *lines) {
    if (!lines)
        return;
    dwarf_end(lines->dwarf);
    elf_end(lines->elf);
    free(lines->image);
    free(lines);
}

uint64_t lines_bytes(const struct lines *lines) {
    return lines->bytes;
}

static bool has_address(Dwarf_Die *die, uint64_t address) {
    return dwarf_haspc(die, address) > 0;
}

// .debug_aranges if there are any; not all compilers write them.
static bool find_unit(struct lines *lines, uint64_t address, Dwarf_Die *unit) {
    if (dwarf_addrdie(lines->dwarf, address, unit))
        return true;
    Dwarf_CU *cu = NULL;
    uint8_t type;
    Dwarf_Die sub;
    for (unsigned n = 0; n < UNITS_MAX && dwarf_get_units(lines->dwarf, cu, &cu, NULL, &type, unit, &sub) == 0; n++)
        if (type == DW_UT_compile && has_address(unit, address))
            return true;
    return false;
}

static bool is_container(int tag) {
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_module;
}

// The function that holds the address, in whatever namespace.
static bool find_function(Dwarf_Die *unit, uint64_t address, unsigned *visits, Dwarf_Die *out) {
    Dwarf_Die stack[NAMESPACES_MAX], child;
    unsigned depth = 0;
    if (dwarf_child(unit, &stack[0]) != 0)
        return false;
    for (;;) {
        Dwarf_Die *at = &stack[depth];
        if (++*visits > VISITS_MAX)
            return false;
        int tag = dwarf_tag(at);
        if (tag == DW_TAG_subprogram && has_address(at, address)) {
            *out = *at;
            return true;
        }
        if (is_container(tag) && depth + 1 < NAMESPACES_MAX && dwarf_child(at, &child) == 0) {
            stack[++depth] = child;
            continue;
        }
        while (dwarf_siblingof(&stack[depth], &child) != 0)
            if (depth-- == 0)
                return false;
        stack[depth] = child;
    }
}

// The block or inlined function directly in `outer` that holds the address.
static bool find_inner(Dwarf_Die *outer, uint64_t address, unsigned *visits, Dwarf_Die *out) {
    if (dwarf_child(outer, out) != 0)
        return false;
    do {
        int tag = dwarf_tag(out);
        if (++*visits > VISITS_MAX)
            return false;
        if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
             tag == DW_TAG_catch_block) &&
            has_address(out, address))
            return true;
    } while (dwarf_siblingof(out, out) == 0);
    return false;
}

static void set_function(Dwarf_Die *die, struct source_frame *frame) {
    Dwarf_Attribute attribute;
    char name[DEMANGLED_MAX];
    const char *linkage = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        linkage = dwarf_formstring(&attribute);
    if (!linkage && dwarf_attr_integrate(die, DW_AT_name, &attribute))
        linkage = dwarf_formstring(&attribute);
    demangle(linkage ? linkage : "", name);
    snprintf(frame->function, sizeof(frame->function), "%.*s", (int)sizeof(frame->function) - 1, name);
}

static void set_file(struct source_frame *frame, const char *file, uint32_t line) {
    snprintf(frame->file, sizeof(frame->file), "%s", file ? file : "");
    frame->line = line;
}

// Where an inlined function was called.
static void set_call(Dwarf_Die *unit, Dwarf_Die *inlined, struct source_frame *frame) {
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    Dwarf_Files *files;
    size_t n;
    if (!dwarf_attr(inlined, DW_AT_call_line, &attribute) || dwarf_formudata(&attribute, &line))
        line = 0;
    if (!dwarf_attr(inlined, DW_AT_call_file, &attribute) || dwarf_formudata(&attribute, &file) ||
        dwarf_getsrcfiles(unit, &files, &n) || file >= n)
        return;
    set_file(frame, dwarf_filesrc(files, file, NULL, NULL), line > UINT32_MAX ? 0 : (uint32_t)line);
}

bool lines_find(struct lines *lines, uint64_t address, struct symbols_source *out) {
    Dwarf_Die unit, function, inner, inlined[SOURCE_FRAMES_MAX];
    unsigned visits = 0, depth = 0, n = 0;
    int line = 0;
    *out = (struct symbols_source){0};
    if (!find_unit(lines, address, &unit))
        return false;
    Dwarf_Line *row = dwarf_getsrc_die(&unit, address);
    if (row)
        dwarf_lineno(row, &line);
    bool found = find_function(&unit, address, &visits, &function);
    // The outermost inlined functions first; of too many the innermost are dropped.
    for (Dwarf_Die at = function; found && depth < BLOCKS_MAX && find_inner(&at, address, &visits, &inner); depth++) {
        at = inner;
        if (dwarf_tag(&at) == DW_TAG_inlined_subroutine && n + 1 < SOURCE_FRAMES_MAX)
            inlined[n++] = at;
    }
    if (!row && !found)
        return false;
    out->n = n + 1;
    for (unsigned i = 0; i < n; i++) {
        set_function(&inlined[n - 1 - i], &out->frames[i]);
        set_call(&unit, &inlined[n - 1 - i], &out->frames[i + 1]);
    }
    if (found)
        set_function(&function, &out->frames[n]);
    set_file(&out->frames[0], row ? dwarf_linesrc(row, NULL, NULL) : NULL, line > 0 ? (uint32_t)line : 0);
    return true;
}

bool lines_row(struct lines *lines, uint64_t address, const char **file, uint32_t *line) {
    int number = 0;
    if (!lines->has_unit || !has_address(&lines->unit, address))
        lines->has_unit = find_unit(lines, address, &lines->unit);
    Dwarf_Line *row = lines->has_unit ? dwarf_getsrc_die(&lines->unit, address) : NULL;
    if (row)
        dwarf_lineno(row, &number);
    *file = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
    *line = number > 0 ? (uint32_t)number : 0;
    return *file && *line;
}
