// Building hashes (parent, ID), so a path costs one look-up per level; sealing sorts the nodes and lays them out
// depth-first. No recursion: a stack may be thousands of frames deep.
#include "model/tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define NONE UINT32_MAX

struct build_node {
    uint32_t parent, name, next_in_bucket;
    uint64_t self, total;
};

struct tree_builder {
    const struct tree_def *def;
    struct name_table *names;
    struct build_node *nodes; // children always after their parent; 0 is the root
    uint32_t n, capacity;
    uint32_t *buckets, n_buckets; // heads of chains by hash
};

struct tree {
    const struct tree_def *def;
    struct name_table *names;
    size_t n;
    struct tree_node nodes[];
};

static void builder_start(struct tree_builder *builder) {
    builder->capacity = 64;
    builder->nodes = xcalloc(builder->capacity, sizeof(builder->nodes[0]));
    builder->n = 1;
    builder->nodes[0].parent = NONE;
    builder->nodes[0].name = NAME_NONE;
    builder->n_buckets = 128;
    builder->buckets = xmalloc(builder->n_buckets * sizeof(builder->buckets[0]));
    memset(builder->buckets, 0xff, builder->n_buckets * sizeof(builder->buckets[0]));
}

struct tree_builder *tree_builder_new(const struct tree_def *def, struct name_table *names) {
    struct tree_builder *builder = xcalloc(1, sizeof(*builder));
    builder->def = def;
    builder->names = name_table_ref(names);
    builder_start(builder);
    return builder;
}

void tree_builder_free(struct tree_builder *builder) {
    if (!builder)
        return;
    free(builder->nodes);
    free(builder->buckets);
    name_table_unref(builder->names);
    free(builder);
}

static uint32_t *bucket_of(const struct tree_builder *builder, uint32_t parent, uint32_t name) {
    uint64_t hash = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15ull;
    return &builder->buckets[hash >> 32 & (builder->n_buckets - 1)];
}

static void builder_grow(struct tree_builder *builder) {
    if (builder->n < builder->capacity)
        return;
    builder->capacity *= 2;
    builder->nodes = xrealloc(builder->nodes, sizeof(builder->nodes[0]) * builder->capacity);
    free(builder->buckets);
    builder->n_buckets = builder->capacity * 2;
    builder->buckets = xmalloc(builder->n_buckets * sizeof(builder->buckets[0]));
    memset(builder->buckets, 0xff, builder->n_buckets * sizeof(builder->buckets[0]));
    for (uint32_t i = 1; i < builder->n; i++) {
        uint32_t *head = bucket_of(builder, builder->nodes[i].parent, builder->nodes[i].name);
        builder->nodes[i].next_in_bucket = *head;
        *head = i;
    }
}

static uint32_t builder_child(struct tree_builder *builder, uint32_t parent, uint32_t name) {
    for (uint32_t i = *bucket_of(builder, parent, name); i != NONE; i = builder->nodes[i].next_in_bucket)
        if (builder->nodes[i].parent == parent && builder->nodes[i].name == name)
            return i;
    builder_grow(builder);
    uint32_t *head = bucket_of(builder, parent, name);
    builder->nodes[builder->n] = (struct build_node){.parent = parent, .name = name, .next_in_bucket = *head};
    *head = builder->n;
    return builder->n++;
}

uint32_t tree_builder_add(struct tree_builder *builder, const uint32_t *ids, size_t n, uint64_t weight) {
    if (n > UINT16_MAX)
        n = UINT16_MAX; // depth is 16 bits; deeper weight goes to the deepest kept node
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++)
        node = builder_child(builder, node, ids[i]);
    builder->nodes[node].self += weight;
    return node;
}

// Children of one parent are adjacent, the heaviest first, then by ID so that equal trees look equal.
static int compare_nodes(const void *a, const void *b) {
    const struct build_node *x = *(const struct build_node *const *)a, *y = *(const struct build_node *const *)b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

// Depth-first: a node follows its parent and the descendants of its heavier siblings. Returns where each node is.
static uint32_t *builder_place(const struct tree_builder *builder, struct tree *tree) {
    uint32_t n = builder->n;
    struct build_node **sorted = xcalloc(n, sizeof(*sorted));
    uint32_t *size = xcalloc(n, sizeof(*size)), *place = xcalloc(n, sizeof(*place));
    uint32_t *first = xcalloc((size_t)n + 1, sizeof(*first)), *stack = xcalloc(n, sizeof(*stack));
    for (uint32_t i = n; i-- > 1;) { // children come after their parents: a backward pass sums up
        size[builder->nodes[i].parent] += size[i] + 1;
        sorted[i - 1] = &builder->nodes[i];
    }
    qsort(sorted, n - 1, sizeof(*sorted), compare_nodes);
    for (uint32_t i = 1; i < n; i++) // first[p]: where p's children start in sorted
        first[builder->nodes[i].parent + 1]++;
    for (uint32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
    uint32_t depth = 1;
    tree->nodes[0] = (struct tree_node){
        .n_descendants = n - 1, .name = NAME_NONE, .self = builder->nodes[0].self, .total = builder->nodes[0].total};
    while (depth) {
        uint32_t node = stack[--depth];
        uint32_t at = place[node] + 1;
        for (uint32_t c = first[node]; c < first[node + 1]; c++) {
            uint32_t child = (uint32_t)(sorted[c] - builder->nodes);
            place[child] = at;
            tree->nodes[at] = (struct tree_node){.parent = place[node],
                                                 .n_descendants = size[child],
                                                 .depth = (uint16_t)(tree->nodes[place[node]].depth + 1),
                                                 .name = sorted[c]->name,
                                                 .self = sorted[c]->self,
                                                 .total = sorted[c]->total};
            at += size[child] + 1;
            stack[depth++] = child;
        }
    }
    free(sorted);
    free(size);
    free(first);
    free(stack);
    return place;
}

struct tree *tree_builder_seal_nodes(struct tree_builder *builder, uint32_t **nodes) {
    struct tree *tree = mem_alloc(sizeof(*tree) + sizeof(tree->nodes[0]) * builder->n);
    tree->def = builder->def;
    tree->names = name_table_ref(builder->names);
    tree->n = builder->n;
    for (uint32_t i = builder->n; i-- > 0;) {
        struct build_node *node = &builder->nodes[i];
        node->total += node->self;
        if (i)
            builder->nodes[node->parent].total += node->total;
    }
    *nodes = builder_place(builder, tree);
    free(builder->nodes);
    free(builder->buckets);
    builder_start(builder);
    return tree;
}

struct tree *tree_builder_seal(struct tree_builder *builder) {
    uint32_t *nodes;
    struct tree *tree = tree_builder_seal_nodes(builder, &nodes);
    free(nodes);
    return tree;
}

struct tree *tree_merge(const struct tree *const *trees, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (trees[i]->def != trees[0]->def || trees[i]->names != trees[0]->names)
            return NULL;
    struct tree_builder *builder = tree_builder_new(trees[0]->def, trees[0]->names);
    for (size_t i = 0; i < n; i++) {
        uint32_t *to = xcalloc(trees[i]->n, sizeof(*to)); // the node in the builder; parents come before children
        builder->nodes[0].self += trees[i]->nodes[0].self;
        for (size_t k = 1; k < trees[i]->n; k++) {
            const struct tree_node *node = &trees[i]->nodes[k];
            to[k] = builder_child(builder, to[node->parent], node->name);
            builder->nodes[to[k]].self += node->self;
        }
        free(to);
    }
    struct tree *sum = tree_builder_seal(builder);
    tree_builder_free(builder);
    return sum;
}

struct tree *tree_pick(const struct tree *tree, const uint32_t *nodes, size_t n) {
    struct tree_builder *builder = tree_builder_new(tree->def, tree->names);
    uint64_t *picked = xcalloc(tree->n, sizeof(*picked));
    uint32_t *to = xcalloc(tree->n, sizeof(*to)); // the node in the builder
    bool *used = xcalloc(tree->n, sizeof(*used));
    for (size_t i = 0; i < n; i++)
        if (nodes[i] < tree->n)
            picked[nodes[i]]++;
    for (size_t i = tree->n; i-- > 1;) { // parents come before children
        used[i] |= picked[i] > 0;
        used[tree->nodes[i].parent] |= used[i];
    }
    for (size_t i = 0; i < tree->n; i++) {
        if (i && used[i])
            to[i] = builder_child(builder, to[tree->nodes[i].parent], tree->nodes[i].name);
        builder->nodes[to[i]].self += picked[i];
    }
    free(picked);
    free(to);
    free(used);
    struct tree *part = tree_builder_seal(builder);
    tree_builder_free(builder);
    return part;
}

void tree_free(struct tree *tree) {
    if (!tree)
        return;
    name_table_unref(tree->names);
    mem_free(tree, sizeof(*tree) + sizeof(tree->nodes[0]) * tree->n);
}

const struct tree_def *tree_def(const struct tree *tree) {
    return tree->def;
}

size_t tree_nodes(const struct tree *tree) {
    return tree->n;
}

const struct tree_node *tree_node(const struct tree *tree, size_t i) {
    return &tree->nodes[i];
}

struct name_table *tree_names(const struct tree *tree) {
    return tree->names;
}

const struct text *tree_node_text(const struct tree *tree, size_t i) {
    return name_table_text(tree->names, tree->nodes[i].name);
}
