// Records of the function graph tracer, captured on five kernels (tests/data/graph-*): the tree that is built from a
// buffer's bytes is the one that the kernel's own text of the same buffer shows, call by call. And the files of names.
#include "collectors/functions/graph_records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/functions/graph_roots.h"
#include "collectors/kernel/symbols/kallsyms.h"
#include "model/mem.h"
#include "tests/unit/forge_ring.h"
#include "tests/unit/model_test.h"

#define PATHS_MAX 512
#define PATH_SIZE 1024
#define BYTES_MAX 65536

static const char *const kernels[] = {"5.10", "6.1", "6.12", "6.18", "6.1-arm64"};

struct paths { // "outer;inner": calls that returned, and their time
    size_t n;
    struct {
        char name[PATH_SIZE];
        uint64_t calls;
        double us;
    } all[PATHS_MAX];
};

static size_t file_load(const char *kernel, const char *name, void *out, size_t size) {
    char path[256];
    snprintf(path, sizeof(path), "tests/data/graph-%s/%s", kernel, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t n = fread(out, 1, size - 1, file);
    fclose(file);
    ((char *)out)[n] = '\0';
    assert_true(n < size - 1);
    return n;
}

static void path_add(struct paths *paths, const char *name, uint64_t calls, double us) {
    size_t i = 0;
    while (i < paths->n && strcmp(paths->all[i].name, name) != 0)
        i++;
    if (i == paths->n) {
        assert_true(paths->n++ < PATHS_MAX);
        snprintf(paths->all[i].name, PATH_SIZE, "%s", name);
    }
    paths->all[i].calls += calls;
    paths->all[i].us += us;
}

// ---- the kernel's text ----

// " 0)  probes_-141   | + 14.191 us   |    } /* name */", "name() {" or "name();".
static void text_parse(char *text, struct paths *paths) {
    char path[PATH_SIZE] = "";
    for (char *line; (line = strsep(&text, "\n"));) {
        char *time = strchr(line, '|'), *call = time ? strchr(time + 1, '|') : NULL;
        if (line[0] == '#' || !call)
            continue;
        double us = strtod(time + 1 + strcspn(time + 1, "0123456789|"), NULL);
        call += 1 + strspn(call + 1, " ");
        char *inner = path + strlen(path);
        if (*call == '}') {
            char *name = strstr(call, "/* ") + 3;
            name[strcspn(name, " ")] = '\0';
            char *last = strrchr(path, ';');
            assert_string_equal(last ? last + 1 : path, name);
            path_add(paths, path, 1, us);
            *(last ? last : path) = '\0';
            continue;
        }
        char *end = strchr(call, '(');
        assert_non_null(end);
        bool leaf = end[2] == ';';
        *end = '\0';
        snprintf(inner, sizeof(path) - (size_t)(inner - path), "%s%s", *path ? ";" : "", call);
        if (!leaf)
            continue;
        path_add(paths, path, 1, us);
        *inner = '\0';
    }
    assert_string_equal(path, "");
}

// ---- the tree of the same buffer ----

static const char *symbol_of(char *symbols, uint64_t function) {
    static char name[128];
    for (char *line = symbols; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        uint64_t address = strtoull(line, NULL, 16);
        // With a landing pad the kernel notes the address behind it.
        if (address <= function && function < address + 16) {
            sscanf(line, "%*s %*s %127s", name);
            return name;
        }
    }
    fail_msg("no symbol at %#llx", (unsigned long long)function);
    return NULL;
}

static void tree_paths(const struct graph_tree *tree, char *symbols, struct paths *paths) {
    size_t n;
    const struct graph_node *nodes = graph_tree_nodes(tree, &n);
    char(*names)[PATH_SIZE] = xcalloc(n, sizeof(*names));
    for (size_t i = 1; i < n; i++) {
        uint32_t parent = nodes[i].parent;
        snprintf(names[i], sizeof(*names), "%s%s%s", names[parent], parent ? ";" : "",
                 symbol_of(symbols, nodes[i].function));
        if (nodes[i].now.calls)
            path_add(paths, names[i], nodes[i].now.calls, (double)nodes[i].now.total_ns / 1e3);
    }
    free(names);
}

struct taker {
    const struct graph_records *records;
    struct graph_tree *tree;
};

static void take(void *ctx, const struct ring_event *event) {
    struct taker *taker = ctx;
    graph_records_take(taker->records, event, taker->tree);
}

// Of the captured pages of both CPUs, from that one on.
static struct graph_tree *tree_of(const char *kernel, const struct graph_records *records, size_t first_page) {
    static uint8_t bytes[2][BYTES_MAX] __attribute__((aligned(8)));
    struct forge_source pages = {.page_size = FORGE_PAGE};
    struct graph_tree *tree = graph_tree_new(NULL, 0, 0);
    for (int cpu = 0; cpu < 2; cpu++) {
        char name[16];
        snprintf(name, sizeof(name), "cpu%d.raw", cpu);
        pages.n[cpu] = file_load(kernel, name, bytes[cpu], BYTES_MAX) / FORGE_PAGE;
        pages.n[cpu] = pages.n[cpu] > first_page ? pages.n[cpu] - first_page : 0;
        pages.pages[cpu] = bytes[cpu] + first_page * FORGE_PAGE;
    }
    struct ring *ring = forge_ring(&pages);
    struct taker taker = {.records = records, .tree = tree};
    ring_drain(ring, UINT64_MAX, take, &taker);
    assert_int_equal(ring_stats(ring)->damaged, 0);
    assert_int_equal(ring_stats(ring)->missed + ring_stats(ring)->missed_unknown, 0);
    ring_free(ring);
    return tree;
}

static void records_of(const char *kernel, struct graph_records *records) {
    static char entry[4096], exits[4096];
    file_load(kernel, "entry", entry, sizeof(entry));
    file_load(kernel, "exit", exits, sizeof(exits));
    assert_int_equal(graph_records_parse(records, entry, exits), 0);
}

static void as_the_kernel_says(void **state) {
    (void)state;
    static char text[BYTES_MAX], symbols[8192];
    static struct paths expected, got;
    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        struct graph_records records;
        memset(&expected, 0, sizeof(expected));
        memset(&got, 0, sizeof(got));
        file_load(kernels[k], "trace", text, sizeof(text));
        file_load(kernels[k], "symbols", symbols, sizeof(symbols));
        text_parse(text, &expected);
        records_of(kernels[k], &records);
        struct graph_tree *tree = tree_of(kernels[k], &records, 0);
        const struct graph_counts *counts = graph_tree_counts(tree);
        assert_int_equal(counts->outermost, 4);
        assert_int_equal(counts->dropped + counts->lost_exits + counts->lost_entries + counts->too_deep, 0);
        tree_paths(tree, symbols, &got);
        if (got.n != expected.n)
            fail_msg("%s: %zu paths, the kernel's text has %zu", kernels[k], got.n, expected.n);
        for (size_t i = 0; i < expected.n; i++) {
            size_t at = 0;
            while (at < got.n && strcmp(got.all[at].name, expected.all[i].name) != 0)
                at++;
            if (at == got.n || got.all[at].calls != expected.all[i].calls ||
                fabs(got.all[at].us - expected.all[i].us) > 0.1 * (double)expected.all[i].calls)
                fail_msg("%s: %s: %llu calls of %.3f us, not %llu of %.3f us", kernels[k], expected.all[i].name,
                         (unsigned long long)expected.all[i].calls, expected.all[i].us,
                         at < got.n ? (unsigned long long)got.all[at].calls : 0, at < got.n ? got.all[at].us : 0);
        }
        graph_tree_free(tree);
    }
}

// Without the first page the first calls have no entry: they are left out, and no other is wrong.
static void began_within(void **state) {
    (void)state;
    struct graph_records records;
    records_of("6.12", &records);
    struct graph_tree *whole = tree_of("6.12", &records, 0), *rest = tree_of("6.12", &records, 1);
    const struct graph_counts *all = graph_tree_counts(whole), *counts = graph_tree_counts(rest);
    assert_true(counts->records < all->records && counts->records > 0);
    assert_true(counts->outermost < all->outermost && counts->outermost > 0);
    assert_true(counts->dropped > 0);
    assert_int_equal(counts->lost_exits + counts->lost_entries, 0);
    // Each call has two records.
    assert_int_equal(counts->dropped + 2 * counts->calls, counts->records);
    graph_tree_free(whole);
    graph_tree_free(rest);
}

static void malformed(void **state) {
    (void)state;
    struct graph_records records;
    assert_int_not_equal(graph_records_parse(&records, "", ""), 0);
    records_of("6.18", &records);
    struct graph_tree *tree = graph_tree_new(NULL, 0, 0);
    uint8_t bytes[64] = {0};
    for (uint32_t id = 0; id < 32; id++)
        for (uint32_t size = 4; size < 24; size += 4) { // too short, but for one entry
            bytes[0] = (uint8_t)id;
            graph_records_take(&records, &(struct ring_event){.data = bytes, .size = size}, tree);
        }
    assert_int_equal(graph_tree_counts(tree)->records, 1);
    graph_tree_free(tree);
}

static void temporary(char *path, const char *text) {
    FILE *file = strstr(path, "XXXXXX") ? fdopen(mkstemp(path), "w") : fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void roots(void **state) {
    (void)state;
    char list[] = "/tmp/test_graph_list_XXXXXX", kallsyms[] = "/tmp/test_graph_syms_XXXXXX";
    struct symbol_table *symbols;
    struct graph_range *ranges;
    temporary(list, "beta\nalpha [module]\nabsent\n");
    temporary(kallsyms, "ffffffff81000000 T _text\n"
                        "ffffffff81000100 T other\n"
                        "ffffffff81000200 T beta\n"
                        "ffffffff81000240 d beta\n"
                        "ffffffff81000280 t gamma\n"
                        "ffffffff81000300 t beta\n" // two functions of one name
                        "ffffffff81000310 t delta\n"
                        "ffffffffa0000000 t alpha\t[module]\n");
    assert_int_equal(kallsyms_read(kallsyms, &symbols), 0);
    assert_int_equal(graph_roots_read(list, kallsyms, symbols, &ranges), 3);
    assert_int_equal(ranges[0].begin, 0xffffffff81000200);
    assert_true(ranges[0].end > ranges[0].begin && ranges[0].end <= 0xffffffff81000280);
    assert_int_equal(ranges[1].begin, 0xffffffff81000300);
    assert_int_equal(ranges[1].end, 0xffffffff81000310);
    assert_int_equal(ranges[2].begin, 0xffffffffa0000000);
    free(ranges);
    temporary(list, "#### all functions enabled ####\n");
    assert_int_equal(graph_roots_read(list, kallsyms, symbols, &ranges), 0);
    assert_null(ranges);
    assert_int_equal(graph_roots_read("/nowhere", kallsyms, symbols, &ranges), 0);
    symbol_table_free(symbols);
    unlink(list);
    unlink(kallsyms);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_kernel_says),
        cmocka_unit_test(began_within),
        cmocka_unit_test(malformed),
        cmocka_unit_test(roots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
