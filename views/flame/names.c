#include "views/flame/names.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/column.h"
#include "model/mem.h"
#include "views/escape.h"

#define SYMBOL_MAX 4096
#define CHANGED 0.005 // of all samples: less is noise

const char *flame_symbol(const struct text *name) {
    return name && *text_bytes(name) ? text_bytes(name) : "[unknown]";
}

void flame_shown(const struct text *name, char *out, size_t size) {
    size_t stem = name ? fold_address_stem(name) : 0;

    if (stem > 1)
        snprintf(out, size, "%.*s]", (int)stem, text_bytes(name));
    else
        snprintf(out, size, "%s", stem ? "[unknown]" : flame_symbol(name));
}

void flame_short(const char *symbol, int width, char *out, size_t size) {
    char brief[SYMBOL_MAX];

    if (text_width(symbol) > width && strpbrk(symbol, "<(")) {
        name_brief(symbol, brief, sizeof(brief));
        symbol = brief;
    }
    escape_fit(symbol, width, out, size);
}

const char *flame_kind_word(const struct text *name) {
    if (!name)
        return "";
    switch (name_kind(name)) {
    case NAME_USER:
        return "program";
    case NAME_LIBRARY:
        return "library";
    case NAME_KERNEL:
        return "kernel";
    case NAME_JIT:
        return "JIT";
    case NAME_INLINE:
        return "inlined";
    default:
        return "";
    }
}

void flame_object(const struct fold_node *node, bool whole, char *out, size_t size) {
    const char *object = node->name ? name_object(node->name) : "", *slash = strrchr(object, '/');
    const char *shown = slash && !whole ? slash + 1 : object;

    if (node->processes > 1)
        snprintf(out, size, "%u processes", node->processes);
    else if (*object && name_kind(node->name) == NAME_PLAIN)
        snprintf(out, size, "PID %.20s", object);
    else
        escape_text(shown, strlen(shown), out, size);
}

enum role flame_role(const struct text *name, uint32_t depth) {
    if (!name)
        return depth ? ROLE_FLAME_LIBRARY : ROLE_FLAME_PROCESS;
    switch (name_kind(name)) {
    case NAME_KERNEL:
        return ROLE_FLAME_KERNEL;
    case NAME_LIBRARY:
        return ROLE_FLAME_LIBRARY;
    case NAME_JIT:
        return ROLE_FLAME_JIT;
    case NAME_MARK:
        return ROLE_DIM;
    case NAME_USER:
    case NAME_INLINE:
        return ROLE_FLAME_USER;
    default:
        return ROLE_FLAME_PROCESS;
    }
}

enum role flame_change_role(double change) {
    return change >= CHANGED ? ROLE_FLAME_MORE : change <= -CHANGED ? ROLE_FLAME_LESS : ROLE_FLAME_PROCESS;
}

// ---- folded ----

static void frame_write(const struct text *name, bool addresses, FILE *out) {
    char text[4 * SYMBOL_MAX + 1], shown[SYMBOL_MAX + 1];
    const char *symbol = addresses ? flame_symbol(name) : shown;
    enum name_kind kind = name_kind(name);

    flame_shown(name, shown, sizeof(shown));
    escape_text(symbol, strlen(symbol), text, sizeof(text));
    for (char *at = text; (at = strchr(at, ';'));)
        *at = ':';
    fputs(text, out);
    if (kind == NAME_KERNEL || kind == NAME_JIT || kind == NAME_INLINE)
        fprintf(out, "_[%c]", (char)kind);
}

void flame_stack_write(const struct fold *fold, uint32_t node, bool addresses, FILE *out) {
    uint32_t depth = fold->nodes[node].depth;
    const struct text **path = xcalloc(depth + 1, sizeof(*path));

    fold_path(fold, node, path, depth);
    for (uint32_t i = 0; i < depth; i++) {
        if (i)
            fputc(';', out);
        frame_write(path[i], addresses, out);
    }
    fprintf(out, " %" PRIu64, fold->nodes[node].self);
    free(path);
}

void flame_weight(const struct flame_spec *spec, uint64_t weight, char *out, size_t size) {
    const char *unit = spec->unit;
    char time[32];

    if (!strcmp(unit, "ns")) {
        unit_format(UNIT_US, (double)weight / 1e3, out, size);
        return;
    }
    if (strcmp(unit, "us") != 0) {
        size_t n = strlen(unit);
        bool one = weight == 1 && n && unit[n - 1] == 's';
        snprintf(out, size, "%llu %.*s", (unsigned long long)weight, (int)(n - one), unit);
        return;
    }
    unit_format(UNIT_US, (double)weight, time, sizeof(time));
    snprintf(out, size, "%s%s", time, spec->cold ? " on and off CPU" : " blocked");
}
