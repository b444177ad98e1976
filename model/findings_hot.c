// The functions in which a culprit spends its CPU time, from a tree of samples: the hottest in user mode and the
// hottest in the kernel. Runs once per sampling, so names are compared as texts: a function has an ID per address.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/findings_private.h"
#include "model/mem.h"

#define LEAST_PCT 5   // of the samples: a function below this share explains nothing
#define SYMBOL_MAX 64 // bytes of a symbol in a sentence
#define OBJECT_MAX 40

struct leaf {
    const struct text *name; // of the innermost frame; NULL: no name
    uint64_t samples;
};

struct leaves {
    struct leaf *at;
    size_t n, room;
};

static void leaves_add(struct leaves *leaves, const struct text *name, uint64_t samples) {
    if (leaves->n == leaves->room) {
        leaves->room = leaves->room ? leaves->room * 2 : 64;
        leaves->at = xrealloc(leaves->at, leaves->room * sizeof(*leaves->at));
    }
    leaves->at[leaves->n++] = (struct leaf){name, samples};
}

static int compare_leaves(const void *a, const void *b) {
    const struct leaf *x = a, *y = b;
    if (!x->name || !y->name)
        return (x->name != NULL) - (y->name != NULL);
    return text_compare(x->name, y->name);
}

static bool is_of(const struct text *process, const struct culprit *culprit, bool by_name) {
    if (!process)
        return false;
    return by_name ? culprit->comm && !strcmp(text_bytes(process), text_bytes(culprit->comm))
                   : strtod(name_object(process), NULL) == culprit->pid;
}

static void leaves_of(const struct tree *tree, const struct culprit *culprit, bool by_name, struct hot *hot,
                      struct leaves *out) {
    for (size_t i = 1, n = tree_nodes(tree); i < n;) {
        size_t end = i + tree_node(tree, i)->n_descendants + 1;
        const struct text *process = tree_node_text(tree, i);
        bool wanted = is_of(process, culprit, by_name);
        if (wanted && !hot->process)
            hot->process = process;
        hot->several |= wanted && strcmp(name_object(process), name_object(hot->process)) != 0;
        for (; wanted && i < end; i++) {
            const struct tree_node *node = tree_node(tree, i);
            if (node->self)
                leaves_add(out, tree_node_text(tree, i), node->self);
        }
        i = end;
    }
}

static void hot_update(struct hot *hot, const struct leaf *sum) {
    enum name_kind kind = name_kind(sum->name);
    struct hot_function *of = kind == NAME_KERNEL ? &hot->kernel : &hot->user;
    // A process without frames, and marks of what is missing, are no functions.
    if (!sum->name || kind == NAME_PLAIN || kind == NAME_MARK || sum->samples <= of->samples)
        return;
    *of = (struct hot_function){sum->name, sum->samples};
}

void hot_find(const struct tree *tree, const struct culprit *culprit, bool by_name, struct hot *out) {
    struct leaves leaves = {0};
    *out = (struct hot){0};
    leaves_of(tree, culprit, by_name, out, &leaves);
    // Rows that are threads have names of threads, which no process may have.
    if (!leaves.n && by_name && !isnan(culprit->pid))
        leaves_of(tree, culprit, false, out, &leaves);
    if (leaves.n)
        qsort(leaves.at, leaves.n, sizeof(leaves.at[0]), compare_leaves);
    for (size_t i = 0; i < leaves.n;) {
        struct leaf sum = {leaves.at[i].name, 0};
        for (; i < leaves.n && !compare_leaves(&leaves.at[i], &sum); i++)
            sum.samples += leaves.at[i].samples;
        out->samples += sum.samples;
        hot_update(out, &sum);
    }
    free(leaves.at);
}

// ---- words ----

// At most `most` bytes, not cut within a character.
static void put_cut(char *out, size_t size, const char *text, size_t most) {
    size_t n = strlen(text);
    bool cut = n > most;
    for (n = cut ? most : n; cut && n && ((unsigned char)text[n] & 0xc0) == 0x80;)
        n--;
    snprintf(out, size, "%.*s%s", (int)n, text, cut ? "..." : "");
}

// "json_parse (libjson.so)", "copy_page (kernel)", "[libjson.so+0x12ab]", which names its object itself.
static void function_words(const struct text *name, char *out, size_t size) {
    char brief[512], symbol[SYMBOL_MAX + 4], object[OBJECT_MAX + 4];
    const char *path = name_object(name), *slash = strrchr(path, '/');
    name_brief(text_bytes(name), brief, sizeof(brief));
    put_cut(symbol, sizeof(symbol), brief, SYMBOL_MAX);
    put_cut(object, sizeof(object), slash && slash[1] ? slash + 1 : path, OBJECT_MAX);
    enum name_kind kind = name_kind(name);
    size_t length = strlen(object);
    if (kind == NAME_KERNEL && strcmp(object, "[kernel]") != 0 && length > 2 && object[0] == '[')
        snprintf(out, size, "%s (kernel module %.*s)", symbol, (int)length - 2, object + 1);
    else if (kind == NAME_KERNEL)
        snprintf(out, size, "%s (kernel)", symbol);
    else if (kind == NAME_JIT && symbol[0] != '[')
        snprintf(out, size, "%s (JIT)", symbol);
    else
        snprintf(out, size, symbol[0] == '[' || !length ? "%s" : "%s (%s)", symbol, object);
}

void hot_words(const struct hot *hot, char *out, size_t size) {
    const char *whose = hot->several ? "their" : "its";
    struct hot_function first = hot->user, second = hot->kernel;
    if (second.samples > first.samples) {
        first = hot->kernel;
        second = hot->user;
    }
    double percent = 100 / (double)hot->samples;
    char name[160];
    if (percent * (double)first.samples < LEAST_PCT) {
        snprintf(out, size, "no function uses %d %% of %s CPU time", LEAST_PCT, whose);
        return;
    }
    function_words(first.name, name, sizeof(name));
    int n = snprintf(out, size, "%.0f %% of %s CPU time is in %s", percent * (double)first.samples, whose, name);
    if (percent * (double)second.samples < LEAST_PCT || n < 0 || (size_t)n >= size)
        return;
    function_words(second.name, name, sizeof(name));
    snprintf(out + n, size - (size_t)n, " and %.0f %% in %s", percent * (double)second.samples, name);
}
