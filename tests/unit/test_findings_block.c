// Findings from block events: errors by name and sector, timeouts, I/O delayed before the disk; and none for a healthy
// system.
#include "tests/unit/forge.h"

#include <math.h>

#include "model/findings.h"
#include "model/mem.h"

static const struct column block_columns[] = {
    {.name = "device", .type = COLUMN_TEXT},
    {.name = "errors_per_s"},
    {.name = "timeouts_per_s"},
    {.name = "requeues_per_s"},
    {.name = "last_error", .type = COLUMN_TEXT},
    {.name = "last_error_sector", .unit = UNIT_ID},
};
static const struct table_def block_def = {
    .name = "block_devices", .help = "", .columns = block_columns, .n_columns = 6, .n_keys = 1};
static const struct column error_columns[] = {
    {.name = "device", .type = COLUMN_TEXT}, {.name = "op", .type = COLUMN_TEXT},
    {.name = "error", .type = COLUMN_TEXT},  {.name = "errors_per_s"},
    {.name = "sector", .unit = UNIT_ID},
};
static const struct table_def errors_def = {
    .name = "io_errors", .help = "", .columns = error_columns, .n_columns = 5, .n_keys = 3};
static const struct column device_columns[] = {
    {.name = "device", .type = COLUMN_TEXT}, {.name = "reads_per_s"}, {.name = "writes_per_s"}};
static const struct table_def devices_def = {
    .name = "devices", .help = "", .columns = device_columns, .n_columns = 3, .n_keys = 1};
static const struct column group_columns[] = {
    {.name = "cgroup", .type = COLUMN_TEXT},
    {.name = "device", .type = COLUMN_TEXT},
    {.name = "op", .type = COLUMN_TEXT},
    {.name = "ios_per_s"},
    {.name = "latency_us"},
    {.name = "total_us"},
};
static const struct table_def groups_def = {
    .name = "by_cgroup", .help = "", .columns = group_columns, .n_columns = 6, .n_keys = 3};
static const struct column limit_columns[] = {
    {.name = "cgroup", .type = COLUMN_TEXT},
    {.name = "device", .type = COLUMN_TEXT},
    {.name = "reads_per_s"},
    {.name = "read_limit_per_s"},
    {.name = "writes_per_s"},
    {.name = "write_limit_per_s"},
    {.name = "read_bytes_per_s"},
    {.name = "read_limit_bytes_per_s"},
    {.name = "write_bytes_per_s"},
    {.name = "write_limit_bytes_per_s"},
    {.name = "io_wait_pct"},
};
static const struct table_def limits_def = {
    .name = "io_limits", .help = "", .columns = limit_columns, .n_columns = 11, .n_keys = 2};
static const struct column hist_keys[] = {{.name = "device", .type = COLUMN_TEXT}, {.name = "op", .type = COLUMN_TEXT}};
static const struct hist_def latency_def = {"io_latency", "", "", NULL, "us", 1000, UNIT_US, hist_keys, 2},
                             queue_def = {"io_queue", "", "", NULL, "us", 1000, UNIT_US, hist_keys, 2},
                             total_def = {"io_total", "", "", NULL, "us", 1000, UNIT_US, hist_keys, 2};

struct io {
    const char *device, *op;
    unsigned count;
    uint64_t us;
};

struct scene {
    const char *blocks[4], *errors[4], *devices[4], *groups[4], *limits[4];
    struct io latency[4], queue[4], total[4];
};

static struct hist_set *hists(const struct hist_def *def, const struct io *ios) {
    struct hist_set *set = hist_set_new(def);
    for (int i = 0; i < 4 && ios[i].device; i++) {
        struct hist_acc *acc = xcalloc(1, sizeof(*acc));
        for (unsigned n = 0; n < ios[i].count; n++)
            hist_acc_add(acc, ios[i].us * 1000);
        union cell keys[2] = {{.text = text_from(ios[i].device)}, {.text = text_from(ios[i].op)}};
        hist_set_add(set, keys, hist_seal(acc));
        free(acc);
    }
    return set;
}

// Findings of the second of two equal frames, a line each: "severity kind: evidence".
static char *reported(const struct scene *scene) {
    static char out[2048];
    struct findings *findings = findings_new();
    out[0] = '\0';
    for (uint64_t number = 1; number <= 2; number++) {
        struct section *section = forge_section("block", number);
        section_table(section, forge_table(&block_def, scene->blocks));
        if (scene->errors[0])
            section_table(section, forge_table(&errors_def, scene->errors));
        section_table(section, forge_table(&devices_def, scene->devices));
        section_table(section, forge_table(&groups_def, scene->groups));
        if (scene->limits[0])
            section_table(section, forge_table(&limits_def, scene->limits));
        section_hists(section, hists(&latency_def, scene->latency));
        section_hists(section, hists(&queue_def, scene->queue));
        section_hists(section, hists(&total_def, scene->total));
        struct frame *frame = forge_frame(number);
        frame_add_section(frame, section, 0);
        struct section *result = findings_section(findings, frame, NULL);
        const struct table *table = section_find_table(result, "findings");
        size_t cursor = 0, used = 0;
        for (const union cell *row; number == 2 && (row = table_next(table, &cursor));)
            used += (size_t)snprintf(out + used, sizeof(out) - used, "%s %s: %s\n",
                                     text_bytes(row[table_column(&findings_table, "severity")].text),
                                     text_bytes(row[table_column(&findings_table, "kind")].text),
                                     text_bytes(row[table_column(&findings_table, "evidence")].text));
        section_unref(result);
        frame_unref(frame);
    }
    findings_free(findings);
    return out;
}

static void errors(void **state) {
    (void)state;
    struct scene scene = {
        .blocks = {"device=sda|errors_per_s=3|last_error=EIO|last_error_sector=5"},
        .errors = {"device=sda|op=R|error=ENODATA|errors_per_s=2|sector=123456",
                   "device=sda|op=W|error=EIO|errors_per_s=1|sector=9", "device=sdb|op=R|error=EIO|errors_per_s=0"},
    };
    assert_string_equal(
        reported(&scene),
        "warning disk_errors: 3 I/Os failed on sda in 1.0 s with ENODATA (medium error), the last at sector 123456\n");
    // Without the table: the device's last error; an unexplained error.
    scene = (struct scene){.blocks = {"device=sda|errors_per_s=1|last_error=EXDEV|last_error_sector=77"}};
    assert_string_equal(reported(&scene),
                        "warning disk_errors: 1 I/O failed on sda in 1.0 s with EXDEV at sector 77\n");
    scene = (struct scene){.blocks = {"device=sda|errors_per_s=12"}};
    assert_string_equal(reported(&scene), "critical disk_errors: 12 I/Os failed on sda in 1.0 s\n");
    // An unsupported discard is no fault of the device.
    scene = (struct scene){.blocks = {"device=sda|errors_per_s=50|last_error=EOPNOTSUPP"}};
    assert_string_equal(reported(&scene), "");
    scene.errors[0] = "device=sda|op=D|error=EOPNOTSUPP|errors_per_s=50|sector=1";
    assert_string_equal(reported(&scene), "");
    scene.blocks[0] = "device=sda|errors_per_s=51";
    scene.errors[1] = "device=sda|op=W|error=ENOLINK|errors_per_s=1";
    assert_string_equal(reported(&scene),
                        "warning disk_errors: 1 I/O failed on sda in 1.0 s with ENOLINK (transport error)\n");
}

static void timeouts(void **state) {
    (void)state;
    struct scene scene = {.blocks = {"device=sda|errors_per_s=0|timeouts_per_s=2|requeues_per_s=4"}};
    assert_string_equal(reported(&scene),
                        "critical disk_timeouts: 2 I/Os on sda timed out in 1.0 s; requeues/s: 4.0\n");
    scene = (struct scene){.blocks = {"device=sda|errors_per_s=0|timeouts_per_s=0|requeues_per_s=40"},
                           .devices = {"device=sda|reads_per_s=3|writes_per_s=0"}};
    assert_string_equal(
        reported(&scene),
        "info disk_timeouts: sda requeues 40 requests/s, more than it completes: retries, or it rejects requests\n");
    // A full queue on a fast disk.
    scene.devices[0] = "device=sda|reads_per_s=30000|writes_per_s=0";
    assert_string_equal(reported(&scene), "");
    scene.devices[0] = NULL; // unknown: no finding
    assert_string_equal(reported(&scene), "");
}

static void throttled(void **state) {
    (void)state;
    struct scene scene = {
        .latency = {{"vda", "R", 20, 43}, {"vda", "RA", 10, 43}},
        .queue = {{"vda", "R", 20, 2}, {"vda", "RA", 10, 2}},
        .total = {{"vda", "R", 20, 45000}, {"vda", "RA", 10, 45000}},
    };
    assert_string_equal(reported(&scene),
                        "warning io_throttled: reads on vda wait 45.0ms before issue, disk latency 45us: "
                        "throttled, or the queue is full\n");
    // One cgroup on the disk.
    struct scene group = {
        .groups = {"cgroup=/a|device=vda|op=R|ios_per_s=9000|latency_us=43|total_us=50",
                   "cgroup=/b|device=vda|op=R|ios_per_s=22|latency_us=43|total_us=45000"},
        .latency = {{"vda", "R", 9000, 43}},
        .queue = {{"vda", "R", 9000, 2}},
        .total = {{"vda", "R", 8978, 50}, {"vda", "R", 22, 45000}},
    };
    char *text = reported(&group);
    assert_non_null(strstr(text, "warning io_throttled: reads of cgroup /b on vda wait 4"));
    assert_null(strstr(text, "/a"));
    // Nothing limits the root: its queue is full.
    group.groups[1] = "cgroup=/|device=vda|op=R|ios_per_s=22|latency_us=43|total_us=45000";
    text = reported(&group);
    assert_non_null(strstr(text, "info io_throttled: reads of cgroup / on vda wait 4"));
    assert_null(strstr(text, "throttled, or"));
    // Too few I/Os; a slow disk; the queue of any busy disk; waiting in the scheduler; a device without requests, where
    // both times are equal.
    struct scene healthy[] = {
        {.latency = {{"vda", "R", 9, 43}}, .total = {{"vda", "R", 9, 45000}}},
        {.latency = {{"sda", "R", 99, 15000}}, .total = {{"sda", "R", 99, 40000}}},
        {.latency = {{"vda", "W", 99, 100}}, .total = {{"vda", "W", 99, 8000}}},
        {.latency = {{"sda", "W", 99, 8000}}, .queue = {{"sda", "W", 99, 40000}}, .total = {{"sda", "W", 99, 50000}}},
        {.latency = {{"dm-0", "W", 99, 45000}}, .total = {{"dm-0", "W", 99, 45000}}},
        {.total = {{"vda", "R", 99, 45000}}},
        {.groups = {"cgroup=/b|device=vda|op=R|ios_per_s=5|latency_us=43|total_us=45000"}},
        {.groups = {"cgroup=/b|device=vda|op=R|ios_per_s=50|latency_us=43"}},
    };
    for (size_t i = 0; i < sizeof(healthy) / sizeof(healthy[0]); i++)
        assert_string_equal(reported(&healthy[i]), "");
}

// I/O below a limit is no finding; at a limit it is one per limit.
static void held_to_a_limit(void **state) {
    (void)state;
    struct scene held = {.limits = {"cgroup=/b|device=vda|reads_per_s=18|read_limit_per_s=20|writes_per_s=500|"
                                    "write_bytes_per_s=1048576|write_limit_bytes_per_s=1048576",
                                    "cgroup=/c|device=vdb|writes_per_s=10|write_limit_per_s=10|io_wait_pct=97",
                                    "cgroup=/d|device=vda|reads_per_s=10|read_limit_per_s=20|io_wait_pct=50"}};
    char *text = reported(&held);
    assert_non_null(strstr(text, "warning io_throttled: cgroup /b is at its I/O limit on vda: 18 of 20 reads/s; "));
    assert_non_null(strstr(text, "cgroup /b is at its I/O limit on vda: 1.0M of 1.0M written/s; "));
    assert_non_null(strstr(
        text, "cgroup /c is at its I/O limit on vdb: 10 of 10 writes/s, tasks stalled on I/O 97 % of the time; "));
    assert_null(strstr(text, "/d"));
    struct scene idle = {.limits = {"cgroup=/b|device=vda|reads_per_s=0|read_limit_per_s=0"}};
    assert_string_equal(reported(&idle), "");
    // Long names with a common prefix are different cgroups.
#define POD "cgroup=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
    struct scene pods = {.limits = {POD "1|device=vda|reads_per_s=20|read_limit_per_s=20",
                                    POD "2|device=vda|reads_per_s=30|read_limit_per_s=30"},
                         .groups = {POD "3|device=vda|op=R|ios_per_s=50|latency_us=43|total_us=45000",
                                    POD "4|device=vda|op=R|ios_per_s=50|latency_us=43|total_us=45000"}};
    text = reported(&pods);
    assert_non_null(strstr(text, "pod1 is at its I/O limit"));
    assert_non_null(strstr(text, "pod2 is at its I/O limit"));
    assert_non_null(strstr(text, "pod3 on vda wait"));
    assert_non_null(strstr(text, "pod4 on vda wait"));
}

// Two slow reads per flag are no "fastest"; all reads are judged together.
static void flags_are_one_operation(void **state) {
    (void)state;
    struct scene scene = {.latency = {{"vda", "R", 500, 200}, {"vda", "RM", 2, 300000}}};
    assert_string_equal(reported(&scene), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors), cmocka_unit_test(timeouts),
                                       cmocka_unit_test(throttled), cmocka_unit_test(held_to_a_limit),
                                       cmocka_unit_test(flags_are_one_operation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
