// Folds trees by name. Every distinct text gets a rank in the order of names, once; nodes are then found by (parent,
// rank) and ordered by rank, so no text is compared per node.
#include "views/flame/fold.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define NONE UINT32_MAX

size_t fold_address_stem(const struct text *name) {
    const char *symbol = text_bytes(name), *digits = strrchr(symbol, '+');

    if (symbol[0] != '[')
        return 0;
    digits = digits ? digits : symbol;
    if (strncmp(digits + 1, "0x", 2) != 0 || !digits[3] || digits[3 + strspn(digits + 3, "0123456789abcdef")] != ']')
        return 0;
    return digits == symbol ? 1 : (size_t)(digits - symbol);
}

// A process: its object is its PID.
static bool is_process(const struct text *name) {
    const char *object = name_object(name);
    return *object >= '0' && *object <= '9' && name_kind(name) == NAME_PLAIN;
}

// In the order of names. Addresses in one file are equal, and processes of one name.
static int compare_merged(const struct text *a, const struct text *b) {
    size_t stem = fold_address_stem(a), other = fold_address_stem(b);
    size_t length = stem ? stem : strlen(text_bytes(a)), with = other ? other : strlen(text_bytes(b));
    int order = memcmp(text_bytes(a), text_bytes(b), length < with ? length : with);

    order = order ? order : (length > with) - (length < with);
    order = order ? order : (stem > 0) - (other > 0);
    if (order || (!stem && is_process(a) && is_process(b)))
        return order;
    if (!stem)
        return text_compare(a, b);
    order = (int)name_kind(a) - (int)name_kind(b);
    return order ? order : strcmp(name_object(a), name_object(b));
}

bool fold_same_name(const struct text *a, const struct text *b) {
    return a == b || (a && b && !compare_merged(a, b));
}

bool fold_name_contains(const struct text *name, const char *text) {
    return name && strcasestr(text_bytes(name), text);
}

// ---- ranks of names ----

struct ranked {
    const struct text *text; // never NULL
    uint32_t rank;           // equal texts: the same; from 1, 0 is the unknown name
    bool match;              // contains the filter's text
};

struct ranks {
    struct ranked *names; // by pointer
    size_t n;
};

static int by_pointer(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    return ((uintptr_t)x->text > (uintptr_t)y->text) - ((uintptr_t)x->text < (uintptr_t)y->text);
}

static int by_merged(const void *a, const void *b) {
    const struct ranked *const *x = a, *const *y = b;
    return compare_merged((*x)->text, (*y)->text);
}

// The same, but addresses stay apart.
static int by_text(const void *a, const void *b) {
    const struct ranked *const *x = a, *const *y = b;
    int order = by_merged(a, b);
    return order || !fold_address_stem((*x)->text) ? order : text_compare((*x)->text, (*y)->text);
}

// The same, but processes stay apart as well.
static int by_whole_text(const void *a, const void *b) {
    const struct ranked *const *x = a, *const *y = b;
    int order = by_merged(a, b);
    return order ? order : text_compare((*x)->text, (*y)->text);
}

static void ranks_make(struct ranks *ranks, const struct fold_filter *filter) {
    int (*compare)(const void *, const void *) = filter->processes   ? by_whole_text
                                                 : filter->addresses ? by_text
                                                                     : by_merged;
    const char *text = filter->text;
    size_t n = 0;
    if (!ranks->n)
        return;
    qsort(ranks->names, ranks->n, sizeof(*ranks->names), by_pointer);
    for (size_t i = 0; i < ranks->n; i++)
        if (!n || ranks->names[n - 1].text != ranks->names[i].text)
            ranks->names[n++] = ranks->names[i];
    ranks->n = n;
    struct ranked **order = xcalloc(n + 1, sizeof(*order));
    for (size_t i = 0; i < n; i++)
        order[i] = &ranks->names[i];
    qsort(order, n, sizeof(*order), compare);
    uint32_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        rank += !i || compare(&order[i - 1], &order[i]) != 0;
        order[i]->rank = rank;
        order[i]->match = text && *text && fold_name_contains(order[i]->text, text);
    }
    free(order);
}

static const struct ranked *ranks_find(const struct ranks *ranks, const struct text *text) {
    static const struct ranked unknown;
    struct ranked key = {.text = text};
    return text ? bsearch(&key, ranks->names, ranks->n, sizeof(*ranks->names), by_pointer) : &unknown;
}

// ---- building ----

struct build_node {
    uint32_t parent, rank, next_in_bucket;
    const struct text *name;
    uint64_t self[2], total[2]; // of the tree, of the base
    uint32_t processes;
};

struct process {
    uint32_t node;
    const struct text *name;
};

struct build {
    const struct fold_filter *filter;
    struct ranks ranks;
    const struct text *off_cpu;
    struct process *processes;
    size_t n_processes;
    struct build_node *nodes; // children after their parent
    uint32_t n, capacity;
    uint32_t *buckets, n_buckets;
};

static uint32_t *bucket_of(const struct build *build, uint32_t parent, uint32_t rank) {
    uint64_t hash = ((uint64_t)parent << 32 | rank) * 0x9e3779b97f4a7c15ull;
    return &build->buckets[hash >> 32 & (build->n_buckets - 1)];
}

static void build_size(struct build *build, uint32_t capacity) {
    build->capacity = capacity;
    build->nodes = xrealloc(build->nodes, sizeof(build->nodes[0]) * capacity);
    free(build->buckets);
    build->n_buckets = capacity * 2;
    build->buckets = xmalloc(build->n_buckets * sizeof(build->buckets[0]));
    memset(build->buckets, 0xff, build->n_buckets * sizeof(build->buckets[0]));
    for (uint32_t i = 1; i < build->n; i++) {
        uint32_t *head = bucket_of(build, build->nodes[i].parent, build->nodes[i].rank);
        build->nodes[i].next_in_bucket = *head;
        *head = i;
    }
}

static uint32_t build_child(struct build *build, uint32_t parent, const struct ranked *name, const struct text *text) {
    for (uint32_t i = *bucket_of(build, parent, name->rank); i != NONE; i = build->nodes[i].next_in_bucket)
        if (build->nodes[i].parent == parent && build->nodes[i].rank == name->rank)
            return i;
    if (build->n == build->capacity)
        build_size(build, build->capacity * 2);
    uint32_t *head = bucket_of(build, parent, name->rank);
    build->nodes[build->n] =
        (struct build_node){.parent = parent, .rank = name->rank, .name = text, .next_in_bucket = *head};
    *head = build->n;
    return build->n++;
}

// Whether frames of that kind are left out by the filter.
static bool is_left_out(const struct fold_filter *filter, enum name_kind kind) {
    bool kernel = kind == NAME_KERNEL, user = !kernel && kind != NAME_PLAIN && kind != NAME_MARK;
    return filter->user != filter->kernel && (filter->user ? kernel : user);
}

static bool is_other_process(const struct fold_filter *filter, const struct text *name) {
    const char *object = name ? name_object(name) : "";
    long pid = name && is_process(name) ? strtol(object, NULL, 10) : -1;
    return (filter->pid && pid != filter->pid) || (!filter->idle && pid == 0);
}

static int by_process(const void *a, const void *b) {
    const struct process *x = a, *y = b;
    return x->node != y->node ? (x->node < y->node ? -1 : 1) : text_compare(x->name, y->name);
}

// Equal texts are one process: its name may have got several IDs.
static void processes_count(struct build *build) {
    const struct process *processes = build->processes;

    if (build->n_processes)
        qsort(build->processes, build->n_processes, sizeof(*processes), by_process);
    for (size_t i = 0; i < build->n_processes; i++)
        build->nodes[processes[i].node].processes += !i || by_process(&processes[i - 1], &processes[i]) != 0;
}

struct place {
    uint32_t node; // where its samples go
    bool out;      // of another process
    bool match;    // a name of its path contains the text
};

// texts: of the nodes, read once, since names may be replaced at any time.
static void build_add(struct build *build, const struct tree *tree, const struct text *const *texts, int which) {
    const struct fold_filter *filter = build->filter;
    size_t n = tree_nodes(tree);
    struct place *places = xcalloc(n, sizeof(*places));
    const struct ranked *off_cpu = which ? ranks_find(&build->ranks, build->off_cpu) : NULL;

    build->processes = xrealloc(build->processes, (build->n_processes + n) * sizeof(*build->processes));
    places[0].match = !filter->text || !*filter->text;
    for (size_t i = 0; i < n; i++) {
        const struct tree_node *node = tree_node(tree, i);
        if (i) {
            const struct ranked *name = ranks_find(&build->ranks, texts[i]);
            places[i] = places[node->parent];
            if (node->depth == 1)
                places[i].out = is_other_process(filter, texts[i]);
            if (!places[i].out && !is_left_out(filter, name_kind(texts[i]))) {
                places[i].node = build_child(build, places[i].node, name, texts[i]);
                places[i].match |= name->match;
                if ((!which || filter->add) && node->depth == 1 && texts[i] && is_process(texts[i]))
                    build->processes[build->n_processes++] = (struct process){places[i].node, texts[i]};
            }
        }
        if (places[i].out || !places[i].match || !node->self)
            continue;
        uint32_t at = places[i].node;
        if (which && build->off_cpu)
            at = build_child(build, at, off_cpu, build->off_cpu);
        build->nodes[at].self[which] += node->self;
    }
    free(places);
}

// ---- laying out ----

static int by_parent_and_rank(const void *a, const void *b) {
    const struct build_node *x = *(const struct build_node *const *)a, *y = *(const struct build_node *const *)b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool is_counted(const struct build_node *node) {
    return node->total[0] || node->total[1];
}

static void fold_put(struct fold *fold, const struct build_node *node, uint32_t parent, uint32_t before) {
    uint32_t at = fold->n++;
    fold->nodes[at] = (struct fold_node){.parent = parent,
                                         .depth = at ? fold->nodes[parent].depth + 1 : 0,
                                         .name = node->name,
                                         .self = node->self[0],
                                         .total = node->total[0],
                                         .base_self = node->self[1],
                                         .base_total = node->total[1],
                                         .processes = node->processes};
    if (before)
        fold->nodes[before].next = at;
    else if (at)
        fold->nodes[parent].first_child = at;
}

struct visit {
    uint32_t place;     // in the fold
    uint32_t next, end; // of its children, in the sorted order
    uint32_t last;      // child that was put
};

// Depth-first with a stack of its own: call paths may be thousands of frames deep.
static void fold_lay_out(struct fold *fold, const struct build *build) {
    uint32_t n = build->n, depth = 1;
    struct build_node **sorted = xcalloc(n, sizeof(*sorted));
    uint32_t *first = xcalloc((size_t)n + 1, sizeof(*first));
    struct visit *stack = xcalloc(n, sizeof(*stack));

    for (uint32_t i = 1; i < n; i++) {
        sorted[i - 1] = &build->nodes[i];
        first[build->nodes[i].parent + 1]++;
    }
    for (uint32_t i = 0; i < n; i++)
        first[i + 1] += first[i];
    qsort(sorted, n - 1, sizeof(*sorted), by_parent_and_rank);
    fold_put(fold, &build->nodes[0], 0, 0);
    stack[0] = (struct visit){.next = first[0], .end = first[1]};
    while (depth) {
        struct visit *top = &stack[depth - 1];
        if (top->next == top->end) {
            depth--;
            continue;
        }
        const struct build_node *child = sorted[top->next++];
        if (!is_counted(child))
            continue;
        fold_put(fold, child, top->place, top->last);
        top->last = fold->n - 1;
        uint32_t at = (uint32_t)(child - build->nodes);
        stack[depth++] = (struct visit){.place = fold->n - 1, .next = first[at], .end = first[at + 1]};
    }
    free(sorted);
    free(first);
    free(stack);
}

static const struct text **texts_read(const struct tree *tree, struct ranks *ranks) {
    size_t n = tree_nodes(tree);
    const struct text **texts = xcalloc(n, sizeof(const struct text *));

    ranks->names = xrealloc(ranks->names, (ranks->n + n) * sizeof(*ranks->names));
    for (size_t i = 1; i < n; i++) {
        texts[i] = tree_node_text(tree, i);
        if (texts[i])
            ranks->names[ranks->n++] = (struct ranked){.text = texts[i]};
    }
    return texts;
}

struct fold *fold_new(const struct tree *tree, const struct tree *base, const struct fold_filter *filter) {
    static const struct fold_filter all;
    const struct tree *trees[2] = {tree, base};
    const struct text **texts[2] = {NULL, NULL};
    struct build build = {.filter = filter ? filter : &all};
    struct fold *fold = xcalloc(1, sizeof(*fold));

    if (build.filter->add && base) {
        fold->off_cpu = build.off_cpu = name_pack("[off-CPU]", NAME_MARK, "");
        build.ranks.names = xcalloc(1, sizeof(*build.ranks.names));
        build.ranks.names[build.ranks.n++] = (struct ranked){.text = fold->off_cpu};
    }
    for (int i = 0; i < 2; i++)
        texts[i] = trees[i] ? texts_read(trees[i], &build.ranks) : NULL;
    ranks_make(&build.ranks, build.filter);
    build_size(&build, 64);
    build.nodes[build.n++] = (struct build_node){.next_in_bucket = NONE};
    for (int i = 0; i < 2; i++)
        if (trees[i])
            build_add(&build, trees[i], texts[i], i);
    processes_count(&build);
    for (uint32_t i = 0; i < build.n && build.filter->add; i++)
        build.nodes[i].self[0] =
            (uint64_t)((double)build.nodes[i].self[0] * build.filter->scale + 0.5) + build.nodes[i].self[1];
    for (uint32_t i = build.n; i-- > 0;) {
        struct build_node *node = &build.nodes[i];
        for (int k = 0; k < 2; k++) {
            node->total[k] += node->self[k];
            if (i)
                build.nodes[node->parent].total[k] += node->total[k];
        }
    }
    fold->nodes = xcalloc(build.n, sizeof(*fold->nodes));
    fold->base_total = build.nodes[0].total[1];
    for (int i = 0; i < 2; i++)
        fold->names[i] = trees[i] ? name_table_ref(tree_names(trees[i])) : NULL;
    fold_lay_out(fold, &build);
    free(build.nodes);
    free(build.buckets);
    free(build.processes);
    free(build.ranks.names);
    free(texts[0]);
    free(texts[1]);
    return fold;
}

void fold_free(struct fold *fold) {
    if (!fold)
        return;
    name_table_unref(fold->names[0]);
    name_table_unref(fold->names[1]);
    if (fold->off_cpu)
        text_unref(fold->off_cpu);
    free(fold->nodes);
    free(fold);
}

// ---- reading ----

uint32_t fold_find(const struct fold *fold, const struct text *const *path, uint32_t n) {
    uint32_t node = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t child = fold->nodes[node].first_child;
        while (child && !fold_same_name(fold->nodes[child].name, path[i]))
            child = fold->nodes[child].next;
        if (!child)
            break;
        node = child;
    }
    return node;
}

uint32_t fold_path(const struct fold *fold, uint32_t node, const struct text **path, uint32_t max) {
    uint32_t depth = fold->nodes[node].depth;

    for (uint32_t i = depth; i-- > 0; node = fold->nodes[node].parent)
        if (i < max)
            path[i] = fold->nodes[node].name;
    return depth;
}

uint32_t fold_after(const struct fold *fold, uint32_t node) {
    while (node && !fold->nodes[node].next)
        node = fold->nodes[node].parent;
    return node ? fold->nodes[node].next : fold->n;
}

uint64_t fold_matched(const struct fold *fold, uint32_t node, const char *text) {
    uint64_t sum = 0;
    uint32_t end = fold_after(fold, node);

    for (uint32_t up = node; up; up = fold->nodes[up].parent)
        if (fold_name_contains(fold->nodes[up].name, text))
            return fold->nodes[node].total;
    for (uint32_t i = node; i < end;) {
        bool match = i && fold_name_contains(fold->nodes[i].name, text);
        sum += match ? fold->nodes[i].total : 0;
        i = match ? fold_after(fold, i) : i + 1;
    }
    return sum;
}
