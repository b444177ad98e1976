// Trees made by hand, for the tests of flame graphs: stacks as text, "nginx/812;u:main/nginx;l:send/libc.so.6;k:tcp
// 30", a line each: the process and its PID; the frames with their kind (enum name_kind) and object; the samples. A
// frame "?" has no name yet.
#ifndef TESTS_UNIT_FORGE_FLAME_H
#define TESTS_UNIT_FORGE_FLAME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/mem.h"
#include "model/tree.h"

static const struct tree_def forge_tree_def = {.name = "cpu", .title = "CPU", .unit_name = "samples"};

static inline const struct text *forge_name(const char *word) {
    char symbol[256], *object;
    bool code = word[0] && word[1] == ':';

    snprintf(symbol, sizeof(symbol), "%s", word + (code ? 2 : 0));
    if ((object = strchr(symbol, '/')))
        *object++ = '\0';
    return name_pack(symbol, code ? (enum name_kind)word[0] : NAME_PLAIN, object ? object : "");
}

// An ID of its own for every frame, as for different addresses: equal names are for the fold to find.
static inline void forge_stack(struct tree_builder *builder, struct name_table *names, const char *line) {
    char copy[1024], *save;
    uint32_t ids[64], n = 0;

    snprintf(copy, sizeof(copy), "%s", line);
    char *count = strrchr(copy, ' ');
    assert_non_null(count);
    *count++ = '\0';
    for (char *word = strtok_r(copy, ";", &save); word && n < 64; word = strtok_r(NULL, ";", &save))
        ids[n++] = name_table_add(names, strcmp(word, "?") ? forge_name(word) : NULL);
    tree_builder_add(builder, ids, n, strtoull(count, NULL, 10));
}

static inline struct tree *forge_tree_of(struct name_table *names, const char *lines) {
    struct tree_builder *builder = tree_builder_new(&forge_tree_def, names);
    char *copy = xstrdup(lines), *save;

    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        forge_stack(builder, names, line);
    free(copy);
    struct tree *tree = tree_builder_seal(builder);
    tree_builder_free(builder);
    return tree;
}

static inline struct tree *forge_tree(const char *lines) {
    struct name_table *names = name_table_new();
    struct tree *tree = forge_tree_of(names, lines);

    name_table_unref(names);
    return tree;
}

#endif
