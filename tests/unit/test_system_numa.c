// NUMA nodes: two of them, one that is taken out and put back, none at all.
#include "tests/unit/system_root.h"

static void node_write(int node, int free_kib, int hits) {
    char path[80], text[256];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node);
    snprintf(text, sizeof text,
             "Node %d MemTotal:  1000 kB\nNode %d MemFree: %d kB\nNode %d FilePages: 5 kB\nNode 9 Shmem: 1 kB\nNode",
             node, node, free_kib, node);
    root_write(path, text);
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/numastat", node);
    snprintf(text, sizeof text,
             "numa_hit %d\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 3\nlocal_node 4\nother_node 5\n", hits);
    root_write(path, text);
}

static void nodes_come_and_go(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_numa_part);
    node_write(0, 400, 100);
    node_write(12, 300, 100);
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "numa"), 2);
    assert_near(fixture_num(&fixture, "numa", "12", "used_kib"), 700);
    assert_near(fixture_num(&fixture, "numa", "12", "file_kib"), 5);
    assert_nan(fixture_num(&fixture, "numa", "12", "shmem_kib"));
    assert_nan(fixture_num(&fixture, "numa", "12", "hits_per_s"));
    node_write(12, 200, 150);
    root_clock += SECOND / 2;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "numa", "12", "free_kib"), 200);
    assert_near(fixture_num(&fixture, "numa", "12", "hits_per_s"), 100);
    assert_near(fixture_num(&fixture, "numa", "0", "misses_per_s"), 0);
    fixture_free(&fixture);
}

static void no_nodes(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_numa_part);
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "numa"), 0);
    assert_int_equal(section_notes(fixture.section), 0);
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nodes_come_and_go, root_make, root_drop),
        cmocka_unit_test_setup_teardown(no_nodes, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
