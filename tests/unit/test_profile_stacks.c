// Paths from forged samples: order, return addresses, marks, the cache. The symbol service is a double that names each
// 256 bytes of a file: "lib.so:3" for offsets 0x300 to 0x3ff.
#include "collectors/profile/stacks.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- the double ----

struct symbols {
    struct name_table *names;
};
struct symbols_object {
    char name[64];
    bool jit;
};

static struct symbols_object objects[8];
static size_t n_objects;
static unsigned lookups;
static bool is_idle = true;
static char announced[256];

struct symbols *symbols_new(struct name_table *names) {
    static struct symbols symbols;
    symbols.names = names;
    return &symbols;
}

void symbols_free(struct symbols *symbols) {
    symbols->names = NULL;
}

static struct symbols_object *object(const char *name, bool jit) {
    struct symbols_object *at = &objects[n_objects++];
    assert_true(n_objects <= 8);
    snprintf(at->name, sizeof at->name, "%s", name);
    at->jit = jit;
    return at;
}

struct symbols_object *symbols_object(struct symbols *symbols, const struct object_key *key) {
    (void)symbols;
    snprintf(announced, sizeof announced, "%s", key->path);
    return object(strrchr(key->path, '/') + 1, !strncmp(key->path, "/memfd:", 7));
}

struct symbols_object *symbols_jit(struct symbols *symbols, pid_t pid) {
    char name[32];
    (void)symbols;
    snprintf(name, sizeof name, "jit-%d", (int)pid);
    return object(name, true);
}

bool symbols_is_jit(const struct symbols_object *at) {
    return at->jit;
}

static uint32_t name(struct symbols *symbols, const char *of, uint64_t address, enum name_kind kind) {
    char text[96];
    lookups++;
    snprintf(text, sizeof text, "%s:%lx", of, (unsigned long)address >> 8);
    return name_table_add(symbols->names, name_pack(text, kind, of));
}

uint32_t symbols_user(struct symbols *symbols, struct symbols_object *at, uint64_t offset) {
    return name(symbols, at->name, offset, at->jit ? NAME_JIT : NAME_USER);
}

uint32_t symbols_kernel(struct symbols *symbols, uint64_t ip) {
    return name(symbols, "k", ip & 0xffffff, NAME_KERNEL);
}

void symbols_ksymbol(struct symbols *symbols, uint64_t address, uint32_t size, const char *text, bool gone) {
    (void)symbols, (void)address, (void)size, (void)text, (void)gone;
}

bool symbols_idle(const struct symbols *symbols) {
    (void)symbols;
    return is_idle;
}

// ---- samples ----

#define K 0xffffffff81000000ull
#define KERNEL_MARK ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER_MARK ((uint64_t)PERF_CONTEXT_USER)

static struct space_maps *maps;
static struct name_table *names;
static struct stacks *stacks;
static struct stacks_path path;

static void map_put(pid_t pid, uint64_t start, uint64_t offset, const char *file) {
    space_maps_record(maps, &(struct profile_record){
                                .type = RECORD_MMAP,
                                .pid = pid,
                                .tid = pid,
                                .mmap = {.start = start, .end = start + 0x10000, .offset = offset, .path = file}});
}

static int begin(void **state) {
    (void)state;
    n_objects = lookups = 0;
    is_idle = true;
    maps = space_maps_new("/nonexistent", NULL, NULL);
    names = name_table_new();
    stacks = stacks_new(maps, names, 16, NULL);
    space_maps_record(maps, &(struct profile_record){.type = RECORD_EXEC, .pid = 42, .tid = 42, .comm = "prog"});
    map_put(42, 0x400000, 0, "/bin/prog");
    map_put(42, 0x7f0000, 0x1000, "/lib/lib.so");
    map_put(42, 0x900000, 0, "//anon");
    return 0;
}

static int end(void **state) {
    (void)state;
    stacks_free(stacks);
    name_table_unref(names);
    space_maps_free(maps);
    return 0;
}

static const char *text(void) {
    static char out[8192];
    size_t n = 0;
    for (size_t i = 0; i < path.n; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s", i ? ";" : "",
                              text_bytes(name_table_text(names, path.ids[i])));
    return out;
}

static const char *sample_of(pid_t pid, bool kernel, const uint64_t *ips, size_t n) {
    struct profile_sample sample = {.ip = kernel ? K + 0x123 : 0x400123, .kernel = kernel, .ips = ips, .n_ips = n};
    stacks_path(stacks, space_maps_get(maps, pid, 1), pid, &sample, &path);
    return text();
}

#define SAMPLE(kernel, ...)                                                                                            \
    sample_of(42, kernel, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

// A return address at the first byte of the next function belongs to the caller.
static void order(void **state) {
    (void)state;
    assert_string_equal(SAMPLE(true, KERNEL_MARK, K + 0x500, K + 0x700, USER_MARK, 0x7f0300, 0x400200, 0x400100),
                        "prog;prog:0;prog:1;lib.so:13;k:6;k:5");
    assert_int_equal(path.n_user, 3);
    assert_string_equal(text_bytes(name_table_text(names, path.ids[0])), "prog");
    assert_string_equal(name_object(name_table_text(names, path.ids[0])), "42");
    assert_string_equal(SAMPLE(false, USER_MARK, 0x400200), "prog;prog:2");
    assert_string_equal(sample_of(42, true, NULL, 0), "prog;k:1"); // no chain: the address alone
    assert_string_equal(sample_of(42, false, NULL, 0), "prog;prog:1");
    // Of a guest, or with a marker that is not known: left out.
    assert_string_equal(SAMPLE(false, (uint64_t)PERF_CONTEXT_GUEST, 0x400300, USER_MARK, 0x400200), "prog;prog:2");
}

static void unknown(void **state) {
    (void)state;
    assert_string_equal(SAMPLE(false, USER_MARK, 0x400200, 0x1), "prog;[unknown];prog:2");
    assert_string_equal(sample_of(77, false, (const uint64_t[]){USER_MARK, 0x400200}, 2), "[exited];[unknown]");
}

static void jit(void **state) {
    (void)state;
    assert_string_equal(SAMPLE(false, USER_MARK, 0x900500), "prog;jit-42:9005"); // the address itself
    map_put(42, 0xa00000, 0x3000, "/memfd:jit (deleted)");
    assert_string_equal(SAMPLE(false, USER_MARK, 0xa00500), "prog;jit-42:a005");
    announced[0] = '\0';
    map_put(42, 0xb00000, 0, "/tmp/jit-42.dump");
    assert_string_equal(SAMPLE(false, USER_MARK, 0x900700), "prog;jit-42:9007");
    assert_string_equal(announced, "/tmp/jit-42.dump");
}

static void cut(void **state) {
    (void)state;
    uint64_t ips[18] = {USER_MARK};
    for (int i = 1; i < 18; i++)
        ips[i] = 0x400210;
    const char *got = sample_of(42, false, ips, 17); // as long as the kernel makes them
    assert_int_equal(strncmp(got, "prog;[cut stack];prog:2;", 24), 0);
    assert_int_equal(name_kind(name_table_text(names, path.ids[1])), NAME_MARK);
    assert_int_equal(strncmp(sample_of(42, false, ips, 16), "prog;prog:2;", 12), 0);
}

// Known addresses cost no look-up; after a change of the mappings they are looked up anew.
static void cached(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++)
        SAMPLE(true, KERNEL_MARK, K + 0x500, USER_MARK, 0x400200, 0x400300);
    assert_int_equal(lookups, 3);
    uint32_t before = path.ids[1];
    map_put(42, 0x400000, 0, "/bin/other");
    SAMPLE(true, KERNEL_MARK, K + 0x500, USER_MARK, 0x400200, 0x400300);
    assert_int_equal(lookups, 5);
    assert_true(path.ids[1] != before);
    assert_string_equal(text(), "prog;other:2;other:2;k:5");
    // A fork shares the mappings and what is known of them, until it maps something else.
    space_maps_record(maps, &(struct profile_record){.type = RECORD_FORK, .pid = 43, .tid = 43, .parent = 42});
    sample_of(43, false, (const uint64_t[]){USER_MARK, 0x400200}, 2);
    assert_int_equal(lookups, 5);
    assert_string_equal(name_object(name_table_text(names, path.ids[0])), "43");
    // Kernel code that went: its addresses are looked up anew.
    struct profile_record gone = {.type = RECORD_KSYMBOL, .ksymbol = {K + 0x400, 0x200, "prog", true}};
    stacks_ksymbol(stacks, &gone);
    SAMPLE(true, KERNEL_MARK, K + 0x500, USER_MARK, 0x400200);
    assert_int_equal(lookups, 6);
}

// IDs of addresses that were given while files were being read are not kept when they have been read.
static void refreshed(void **state) {
    (void)state;
    is_idle = false;
    SAMPLE(false, USER_MARK, 0x400200);
    stacks_refresh(stacks);
    SAMPLE(false, USER_MARK, 0x400200);
    assert_int_equal(lookups, 1);
    is_idle = true;
    stacks_refresh(stacks);
    SAMPLE(false, USER_MARK, 0x400200);
    assert_int_equal(lookups, 2);
    stacks_refresh(stacks);
    SAMPLE(false, USER_MARK, 0x400200);
    assert_int_equal(lookups, 2);
}

static void deep(void **state) {
    (void)state;
    static uint64_t ips[5000] = {USER_MARK};
    for (int i = 1; i < 5000; i++)
        ips[i] = 0x400210 + (uint64_t)i % 7 * 0x100;
    sample_of(42, false, ips, 5000);
    assert_true(path.n <= STACKS_PATH_MAX);
}

// A chain with the caller from the link register, which lacks others.
static size_t chain_of(void *context, struct space *space, const struct profile_sample *sample, const uint64_t *chain,
                       size_t n_chain, struct stacks_frame *frames, size_t max, bool *incomplete) {
    (void)space, (void)max;
    assert_int_equal(n_chain, 2);
    frames[0] = (struct stacks_frame){chain[0], true};
    frames[1] = (struct stacks_frame){sample->regs[0], false};
    frames[2] = (struct stacks_frame){chain[1], false};
    *incomplete = *(bool *)context;
    return 3;
}

static void linked(void **state) {
    (void)state;
    static const uint64_t registers[] = {0x400400, 0x400500}, ips[] = {USER_MARK, 0x400200, 0x400300};
    bool lacks = false;
    const struct stacks_unwinder unwinder = {.chain = chain_of, .context = &lacks};
    struct profile_sample sample = {.ip = 0x400200, .ips = ips, .n_ips = 3, .regs = registers, .n_regs = 1};
    struct space *space = space_maps_get(maps, 42, 1);
    stacks_free(stacks);
    stacks = stacks_new(maps, names, 16, &unwinder);
    stacks_path(stacks, space, 42, &sample, &path);
    assert_string_equal(text(), "prog;prog:2;prog:3;prog:2");
    assert_false(path.incomplete);
    lacks = true;
    stacks_path(stacks, space, 42, &sample, &path);
    assert_string_equal(text(), "prog;prog:2;prog:3;prog:2");
    assert_true(path.incomplete);
    sample.n_regs = 2; // for a walk of a copy that is not there
    stacks_path(stacks, space, 42, &sample, &path);
    assert_string_equal(text(), "prog;prog:2;prog:2");
    assert_false(path.incomplete);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(order),  TEST(unknown),   TEST(jit),    TEST(cut),
                                       TEST(cached), TEST(refreshed), TEST(linked), TEST(deep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
