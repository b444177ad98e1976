// Symbol tables: which symbol an address belongs to, whatever overlaps.
#include "tests/unit/model_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/kernel/symbols/table.h"

static void add(struct symbol_builder *builder, const char *name, uint64_t start, uint64_t end, uint32_t rank,
                uint64_t limit) {
    struct symbol_draft draft = {.start = start, .end = end, .rank = rank, .limit = limit};
    assert_true(symbol_builder_add(builder, &draft, name, strlen(name), NULL));
}

static const char *at(const struct symbol_table *table, uint64_t address) {
    const struct symbol *symbol = symbol_table_find(table, address);
    return symbol ? table->names + symbol->name : "";
}

static void inner(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    add(&builder, "outer", 100, 200, 1, 0);
    add(&builder, "inner", 120, 130, 1, 0);
    add(&builder, "label", 140, 0, 1, 0); // within a sized function
    add(&builder, "weak", 300, 310, 1, 0);
    add(&builder, "global", 300, 308, 2, 0); // wins at its address
    add(&builder, "unsized", 400, 0, 1, 450);
    add(&builder, "next", 420, 0, 1, 450);
    add(&builder, "last", 500, 0, 1, 0);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    assert_string_equal(at(table, 99), "");
    assert_string_equal(at(table, 100), "outer");
    assert_string_equal(at(table, 125), "inner");
    assert_string_equal(at(table, 130), "outer");
    assert_string_equal(at(table, 145), "outer");
    assert_string_equal(at(table, 199), "outer");
    assert_string_equal(at(table, 200), "");
    assert_string_equal(at(table, 307), "global");
    assert_string_equal(at(table, 309), "");
    assert_string_equal(at(table, 419), "unsized");
    assert_string_equal(at(table, 449), "next");
    assert_string_equal(at(table, 450), "");
    assert_string_equal(at(table, 1 << 20), "last");
    for (uint32_t i = 0; i < table->count; i++)
        assert_int_equal(table->ids[i], NAME_NONE);
    symbol_table_free(table);
}

// Later code replaces what it overlaps, and nothing else.
static void ranked(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    add(&builder, "first", 100, 200, 1, 0);
    add(&builder, "second", 150, 250, 2, 0);
    add(&builder, "third", 120, 130, 3, 0);
    add(&builder, "covered", 400, 410, 4, 0);
    add(&builder, "cover", 390, 420, 5, 0);
    add(&builder, "again", 500, 510, 6, 0);
    add(&builder, "again and shorter", 500, 505, 7, 0);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_RANK);
    assert_string_equal(at(table, 100), "first");
    assert_string_equal(at(table, 125), "third");
    assert_string_equal(at(table, 149), "first");
    assert_string_equal(at(table, 150), "second");
    assert_string_equal(at(table, 249), "second");
    assert_string_equal(at(table, 405), "cover");
    assert_string_equal(at(table, 504), "again and shorter");
    assert_string_equal(at(table, 507), "again");
    symbol_table_free(table);
}

// Against a plain array of bytes.
static void random_overlaps(void **state) {
    (void)state;
    srand(1);
    for (int round = 0; round < 200; round++) {
        struct symbol_builder builder = {0};
        int owner[256], start_of[64];
        memset(owner, -1, sizeof(owner));
        enum symbol_overlap overlap = round % 2 ? OVERLAP_RANK : OVERLAP_INNER;
        for (int i = 0; i < 40; i++) {
            int start = rand() % 200, size = 1 + rand() % 50;
            char name[16];
            snprintf(name, sizeof(name), "%d", i);
            start_of[i] = start;
            bool taken = false; // at one address the rank decides: here the first of equal ranks loses
            for (int j = 0; j < i && overlap == OVERLAP_INNER; j++)
                taken |= start_of[j] == start;
            if (taken)
                continue;
            add(&builder, name, (uint64_t)start, (uint64_t)(start + size), (uint32_t)i, 0);
            for (int b = start; b < start + size; b++)
                if (overlap == OVERLAP_RANK || owner[b] < 0 || start_of[owner[b]] < start)
                    owner[b] = i;
        }
        struct symbol_table *table = symbol_builder_finish(&builder, overlap);
        for (int b = 0; b < 256; b++)
            assert_int_equal(at(table, (uint64_t)b)[0] ? atoi(at(table, (uint64_t)b)) : -1, owner[b]);
        symbol_table_free(table);
    }
}

static void limits(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    assert_int_equal(table->count, 0);
    assert_null(symbol_table_find(table, 0));
    symbol_table_free(table);
    size_t size = 1 << 20;
    char *huge = malloc(size);
    memset(huge, 'x', size);
    struct symbol_draft draft = {.start = 1, .end = 2};
    assert_true(symbol_builder_add(&builder, &draft, huge, size, "[object]"));
    assert_int_equal(strlen(builder.names), SYMBOL_NAME_MAX);
    assert_string_equal(builder.names + SYMBOL_NAME_MAX + 1, "[object]");
    uint32_t n = 1;
    for (; symbol_builder_add(&builder, &draft, huge, SYMBOL_NAME_MAX, NULL); n++)
        draft.start++;
    assert_true(builder.cut);
    assert_true(builder.names_size <= TABLE_NAMES_MAX);
    assert_true(builder.names_size > TABLE_NAMES_MAX - 2 * SYMBOL_NAME_MAX);
    symbol_builder_free(&builder);
    free(huge);
    for (n = 0; symbol_builder_add(&builder, &draft, "", 0, NULL); n++)
        draft.start++;
    assert_int_equal(n, TABLE_SYMBOLS_MAX);
    symbol_builder_free(&builder);
}

static void segments(void **state) {
    (void)state;
    struct symbol_builder builder = {0};
    uint64_t address;
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    assert_true(symbol_table_address(table, 123, &address)); // none: an offset is an address
    assert_int_equal(address, 123);
    table->segments[0] = (struct symbol_segment){.offset = 0x1000, .size = 0x2000, .address = 0x401000};
    table->n_segments = 1;
    assert_true(symbol_table_address(table, 0x2fff, &address));
    assert_int_equal(address, 0x402fff);
    assert_false(symbol_table_address(table, 0x3000, &address));
    assert_false(symbol_table_address(table, 0xfff, &address));
    symbol_table_free(table);
}

static int by_start(const struct symbol_draft *a, const struct symbol_draft *b) {
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

// Sorted, nearly sorted, sorted with a tail in disorder, and in disorder: always in order, and still the same drafts.
static void sorts(void **state) {
    enum { N = 3000 };
    static struct symbol_draft drafts[N];
    uint32_t random = 1;
    (void)state;
    for (unsigned kind = 0; kind < 6; kind++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < N; i++) {
            random = random * 1664525 + 1013904223;
            uint64_t anywhere = random >> 12;
            uint64_t start = kind == 0   ? i
                             : kind == 1 ? (uint64_t)i / 3 * 3 // aliases, the last one first
                             : kind == 2 ? (i < N - 100 ? 1000 * i : anywhere)
                             : kind == 3 ? N - i
                             : kind == 4 ? 7
                                         : anywhere;
            drafts[i] = (struct symbol_draft){.start = start, .end = start + 1, .name = kind == 1 ? N - i : i};
            sum += start * 31 + drafts[i].name;
        }
        symbol_drafts_sort(drafts, N, by_start);
        for (uint32_t i = 0; i < N; i++) {
            assert_true(!i || by_start(&drafts[i - 1], &drafts[i]) < 0);
            assert_int_equal(drafts[i].end, drafts[i].start + 1);
            sum -= drafts[i].start * 31 + drafts[i].name;
        }
        assert_int_equal(sum, 0);
    }
    symbol_drafts_sort(NULL, 0, by_start);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static long memory_kib(const char *what) {
    char line[128];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, what, strlen(what)))
            kib = strtol(line + strlen(what), NULL, 10);
    if (file)
        fclose(file);
    return kib;
}

// A table of as many symbols as one may have: what building it takes, in a process of its own.
static long table_kib(bool overlap) {
    int fds[2];
    long kib = -1;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (!pid) {
        long before = memory_kib("VmRSS:");
        struct symbol_builder builder = {0};
        for (uint32_t i = 0; i < TABLE_SYMBOLS_MAX; i++) {
            char name[32];
            uint64_t start = (uint64_t)(i * 2654435761u) << 4;
            struct symbol_draft draft = {.start = start, .end = start + (overlap ? 1 << 20 : 8)};
            int length = snprintf(name, sizeof name, "function_%u_of_many", i);
            symbol_builder_add(&builder, &draft, name, (size_t)length, NULL);
        }
        struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
        kib = table->count == TABLE_SYMBOLS_MAX ? memory_kib("VmHWM:") - before : -1;
        _exit(write(fds[1], &kib, sizeof kib) != sizeof kib);
    }
    assert_int_equal(read(fds[0], &kib, sizeof kib), sizeof kib);
    waitpid(pid, NULL, 0);
    close(fds[0]);
    close(fds[1]);
    return kib;
}

static void memory(void **state) {
    (void)state;
    long apart = table_kib(false), overlapping = table_kib(true);
    print_message("building a table of a million symbols takes %ld KiB, %ld when they overlap\n", apart, overlapping);
    assert_true(apart > 0 && apart < 80 * 1024);
    assert_true(overlapping > 0 && overlapping < 96 * 1024);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner),
        cmocka_unit_test(ranked),
        cmocka_unit_test(random_overlaps),
        cmocka_unit_test(limits),
        cmocka_unit_test(segments),
        cmocka_unit_test(sorts),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(memory),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
