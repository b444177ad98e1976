// From names of functions to ranges of code; see the header.
#include "collectors/functions/graph_roots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

struct words {
    char **at;
    size_t n, room;
};

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_begin(const void *a, const void *b) {
    const struct graph_range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

// The first word of each line: a module's name may follow.
static void names_read(const char *path, struct words *names) {
    FILE *in = fopen(path, "re");
    char *line = NULL;
    size_t space = 0;
    while (in && getline(&line, &space, in) > 0) {
        line[strcspn(line, " \t\n")] = '\0';
        if (!*line || *line == '#')
            continue;
        if (names->n == names->room) {
            names->room = names->room ? 2 * names->room : 64;
            names->at = xrealloc(names->at, names->room * sizeof(*names->at));
        }
        names->at[names->n++] = xstrdup(line);
    }
    free(line);
    if (in)
        fclose(in);
    if (names->n)
        qsort(names->at, names->n, sizeof(*names->at), by_text);
}

static bool has_name(const struct words *names, const char *name) {
    return bsearch(&name, names->at, names->n, sizeof(*names->at), by_text) != NULL;
}

size_t graph_roots_read(const char *list, const char *kallsyms, const struct symbol_table *symbols,
                        struct graph_range **out) {
    struct words names = {0};
    struct graph_range *ranges = NULL;
    size_t n = 0, room = 0, space = 0;
    char *line = NULL;
    names_read(list, &names);
    FILE *in = names.n ? fopen(kallsyms, "re") : NULL;
    while (in && getline(&line, &space, in) > 0) {
        char *at;
        uint64_t address = strtoull(line, &at, 16);
        if (at[0] != ' ' || !strchr("tTwW", at[1]) || at[2] != ' ')
            continue;
        char *name = at + 3;
        name[strcspn(name, " \t\n")] = '\0';
        if (!has_name(&names, name))
            continue;
        const struct symbol *symbol = symbols ? symbol_table_find(symbols, address) : NULL;
        if (n == room) {
            room = room ? 2 * room : 64;
            ranges = xrealloc(ranges, room * sizeof(*ranges));
        }
        ranges[n++] = (struct graph_range){.begin = address,
                                           .end = symbol && symbol->size ? symbol->start + symbol->size : address + 16};
    }
    free(line);
    if (in)
        fclose(in);
    for (size_t i = 0; i < names.n; i++)
        free(names.at[i]);
    free(names.at);
    if (n)
        qsort(ranges, n, sizeof(*ranges), by_begin);
    *out = ranges;
    return n;
}
