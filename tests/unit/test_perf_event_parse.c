// The exact result of each event string on forged machines; an error names the wrong word and the nearest valid name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/forge_events.h"

static struct forged forged;

#define EXCLUDE_USER 1
#define EXCLUDE_KERNEL 2
#define EXCLUDE_HV 4
#define EXCLUDE_HOST 8
#define EXCLUDE_GUEST 16
#define EXCLUDE_IDLE 32
#define PINNED 64
#define EXCLUSIVE 128
#define NOTHING 256 // not even guests are left out
#define USER_ONLY (EXCLUDE_KERNEL | EXCLUDE_HV | EXCLUDE_GUEST)
#define KERNEL_ONLY                                                                                                    \
    (EXCLUDE_USER | EXCLUDE_HV) // as perf has it: guests are left out with u and p, or without modifiers

static unsigned flags_of(const struct perf_event_attr *attr) {
    return (unsigned)(attr->exclude_user * EXCLUDE_USER | attr->exclude_kernel * EXCLUDE_KERNEL |
                      attr->exclude_hv * EXCLUDE_HV | attr->exclude_host * EXCLUDE_HOST |
                      attr->exclude_guest * EXCLUDE_GUEST | attr->exclude_idle * EXCLUDE_IDLE | attr->pinned * PINNED |
                      attr->exclusive * EXCLUSIVE);
}

static struct perf_event_list parsed(const char *text) {
    struct perf_event_list spec = {0};
    char error[PERF_EVENT_ERROR];
    if (perf_event_parse(&spec, text, &forged.roots, error))
        fail_msg("'%s': %s", text, error);
    return spec;
}

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" // what a row leaves out is 0
struct want {
    const char *text;
    uint32_t type;
    uint64_t config, config1, config2;
    unsigned flags; // 0: EXCLUDE_GUEST alone, what every event has
    unsigned precise;
};

static void check(const struct want *wanted, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct want *want = &wanted[i];
        struct perf_event_list spec = parsed(want->text);
        const struct perf_event_attr *attr = &spec.events[0].attr;
        unsigned flags = want->flags == NOTHING ? 0 : want->flags ? want->flags : EXCLUDE_GUEST;
        if (spec.n != 1 || attr->type != want->type || attr->config != want->config || attr->config1 != want->config1 ||
            attr->config2 != want->config2 || flags_of(attr) != flags || attr->precise_ip != want->precise ||
            attr->size != sizeof *attr || attr->read_format || attr->sample_period || attr->inherit || attr->disabled)
            fail_msg("'%s': %zu events; type %u config %#llx config1 %#llx config2 %#llx flags %#x precise %u",
                     want->text, spec.n, attr->type, (unsigned long long)attr->config,
                     (unsigned long long)attr->config1, (unsigned long long)attr->config2, flags_of(attr),
                     attr->precise_ip);
        perf_event_list_free(&spec);
    }
}

#define CHECK(...)                                                                                                     \
    check((const struct want[]){__VA_ARGS__}, sizeof((const struct want[]){__VA_ARGS__}) / sizeof(struct want))

static void generic(void **state) {
    (void)state;
    forge_begin(&forged);
    CHECK({"cycles", 0, 0}, {"cpu-cycles", 0, 0}, {"instructions", 0, 1}, {"cache-references", 0, 2},
          {"cache-misses", 0, 3}, {"branches", 0, 4}, {"branch-instructions", 0, 4}, {"branch-misses", 0, 5},
          {"bus-cycles", 0, 6}, {"stalled-cycles-frontend", 0, 7}, {"idle-cycles-frontend", 0, 7},
          {"idle-cycles-backend", 0, 8}, {"ref-cycles", 0, 9}, {"cpu-clock", 1, 0}, {"task-clock", 1, 1},
          {"faults", 1, 2}, {"page-faults", 1, 2}, {"cs", 1, 3}, {"context-switches", 1, 3}, {"migrations", 1, 4},
          {"minor-faults", 1, 5}, {"major-faults", 1, 6}, {"alignment-faults", 1, 7}, {"emulation-faults", 1, 8},
          {"dummy", 1, 9}, {"bpf-output", 1, 10}, {"cgroup-switches", 1, 11}, {" cs ", 1, 3}, {"cs:", 1, 3},
          {"cs//", 1, 3}, {"cs/config=5/", 1, 5}, {"cs/config1=7,period=3/", 1, 3, 7}, {"cs/config2=0x9/", 1, 3, 0, 9},
          {"r1a8", 4, 0x1a8}, {"rFFFF", 4, 0xffff}, {"r1a8/config1=2/", 4, 0x1a8, 2}, {"1:3", 1, 3},
          {"4:0x1a8:u", 4, 0x1a8, 0, 0, USER_ONLY}, {"4294967295:1", UINT32_MAX, 1});
    forge_end(&forged);
}

static void caches(void **state) {
    (void)state;
    forge_begin(&forged);
    CHECK({"L1-dcache-loads", 3, 0}, {"L1-dcache", 3, 0}, {"l1d", 3, 0}, {"L1-dcache-load-misses", 3, 0x10000},
          {"L1-dcache-stores", 3, 0x100}, {"L1-dcache-store-misses", 3, 0x10100}, {"L1-dcache-prefetches", 3, 0x200},
          {"l1-d-prefetch-misses", 3, 0x10200}, {"L1-icache-load-misses", 3, 0x10001}, {"LLC-loads", 3, 2},
          {"LLC-load-misses", 3, 0x10002}, {"LLC-misses", 3, 0x10002}, {"LLC-misses-loads", 3, 0x10002},
          {"L2-store-misses", 3, 0x10102}, {"LLC-speculative-read", 3, 0x202}, {"dTLB-store-misses", 3, 0x10103},
          {"Data-TLB-loads", 3, 3}, {"iTLB-load-misses", 3, 0x10004}, {"Instruction-TLB-read-miss", 3, 0x10004},
          {"branch-loads", 3, 5}, {"branch-load-misses", 3, 0x10005}, {"bpu", 3, 5}, {"btb-miss", 3, 0x10005},
          {"node", 3, 6}, {"node-load-misses", 3, 0x10006}, {"node-prefetches", 3, 0x206}, {"LLC-loads-refs", 3, 2},
          {"LLC-load-load", 3, 2}, {"LLC-loads:u", 3, 2, 0, 0, USER_ONLY},
          {"LLC-loads/config1=1/k", 3, 2, 1, 0, KERNEL_ONLY});
    forge_end(&forged);
}

static void modifiers(void **state) {
    (void)state;
    forge_begin(&forged);
    CHECK({"cycles:u", 0, 0, 0, 0, USER_ONLY}, {"cycles:k", 0, 0, 0, 0, KERNEL_ONLY},
          {"cycles:h", 0, 0, 0, 0, EXCLUDE_USER | EXCLUDE_KERNEL},
          {"cycles:uk", 0, 0, 0, 0, EXCLUDE_HV | EXCLUDE_GUEST}, {"cycles:ukh", 0, 0, 0, 0, EXCLUDE_GUEST},
          {"cycles:G", 0, 0, 0, 0, EXCLUDE_HOST}, {"cycles:H", 0, 0, 0, 0, EXCLUDE_GUEST},
          {"cycles:uG", 0, 0, 0, 0, EXCLUDE_KERNEL | EXCLUDE_HV | EXCLUDE_HOST}, {"cycles:I", 0, 0, 0, 0, EXCLUDE_IDLE},
          {"cycles:p", 0, 0, 0, 0, 0, 1}, {"cycles:ppp", 0, 0, 0, 0, 0, 3}, {"cycles:pu", 0, 0, 0, 0, USER_ONLY, 1},
          {"cycles:P", 0, 0, 0, 0, NOTHING}, {"cycles:S", 0, 0, 0, 0, NOTHING}, {"cycles:b", 0, 0, 0, 0, NOTHING},
          {"cycles:W", 0, 0, 0, 0, NOTHING}, {"cycles:D", 0, 0, 0, 0, PINNED}, {"cycles:e", 0, 0, 0, 0, EXCLUSIVE},
          {"cycles:ukhppPSDeWb", 0, 0, 0, 0, EXCLUDE_GUEST | PINNED | EXCLUSIVE, 2}, {"msr/tsc/D", 9, 0, 0, 0, PINNED});
    struct perf_event_list spec = parsed("cycles:GH");
    assert_false(spec.events[0].attr.exclude_guest || spec.events[0].attr.exclude_host);
    perf_event_list_free(&spec);
    forge_end(&forged);
}

static void pmus(void **state) {
    (void)state;
    forge_begin(&forged);
    forge_intel(&forged);
    CHECK({"cpu/event=0x3c/", 4, 0x3c}, {"cpu/event=0x3c,umask=1/u", 4, 0x13c, 0, 0, USER_ONLY},
          {"cpu/event=60,umask=0x01,edge,inv=1,cmask=255/", 4, 0xff84013c}, {"cpu/cpu-cycles/", 4, 0x3c},
          {"cpu/cycles/", 4, 0x3c}, {"cpu/CPU-CYCLES/", 4, 0x3c}, {"cpu/event=cpu-cycles/", 4, 0x3c},
          {"cpu/mem-loads/pp", 4, 0x1cd, 3, 0, 0, 2}, {"mem-loads", 4, 0x1cd, 3},
          {"cpu/mem-loads,ldlat=32/", 4, 0x1cd, 35}, // as perf: the bits of both
          {"cpu/split=0xab/", 4, 0xa000000000b}, {"cpu/offcore_rsp=0xffffffffffffffff/", 4, 0, UINT64_MAX},
          {"cpu/far=0xf/", 4, 0, 0, 0xf0}, {"cpu/r1a8/", 4, 0x1a8},
          {"cpu/config=0x1a8,config1=2,config2=3/", 4, 0x1a8, 2, 3}, {"cpu//", 4, 0},
          {"cpu/config=0x100,event=0x3c/", 4, 0x13c}, {"cpu/event=0x3c,config=0x100/", 4, 0x13c},
          {"cpu/with-param,umask=7/", 4, 0x710}, {"cpu/event=1,name=foo,period=1000/", 4, 1},
          {"cpu/topdown-fetch-bubbles/k", 4, 0x19c, 0, 0, KERNEL_ONLY},
          {"topdown-fetch-bubbles:u", 4, 0x19c, 0, 0, USER_ONLY}, {"power/energy-pkg/", 12, 2},
          {"uncore_imc_1/data_reads/", 21, 0x304}, {"msr/tsc/", 9, 0}, {"tsc", 9, 0}, {"msr/tsc=1/", 9, 0},
          {"software/config=3/", 1, 3}, {"software//", 1, 0}, {"msr /event=1/", 9, 1},
          {"cpu/ event = 0x3c , umask = 1 /", 4, 0x13c});
    forge_end(&forged);
}

static void units_and_cpus(void **state) {
    (void)state;
    forge_begin(&forged);
    forge_intel(&forged);
    struct perf_event_list spec =
        parsed("power/energy-pkg/,imc/data_reads/,cpu/event=1,name='my event'/,uncore_imc*/event=1/u,cs");
    assert_int_equal(spec.n, 7);
    assert_string_equal(spec.events[0].unit, "Joules");
    assert_true(spec.events[0].scale == 2.3283064365386962890625e-10);
    assert_string_equal(spec.events[0].cpus, "0,18");
    assert_true(spec.events[0].uncore);
    assert_true(perf_parsed_on_cpu(&spec.events[0], 0) && perf_parsed_on_cpu(&spec.events[0], 18));
    assert_false(perf_parsed_on_cpu(&spec.events[0], 1) || perf_parsed_on_cpu(&spec.events[0], -1));
    assert_string_equal(spec.events[1].name, "uncore_imc_0/data_reads/");
    assert_string_equal(spec.events[2].name, "uncore_imc_1/data_reads/");
    assert_string_equal(spec.events[2].unit, "MiB");
    assert_true(spec.events[2].scale == 6.103515625e-5);
    assert_string_equal(spec.events[2].cpus, "18");
    assert_string_equal(spec.events[3].name, "my event");
    assert_null(spec.events[3].cpus);
    assert_false(spec.events[3].uncore);
    assert_string_equal(spec.events[4].name, "uncore_imc_0/event=1/u");
    assert_int_equal(spec.events[5].attr.type, 21);
    assert_true(spec.events[6].scale == 1);
    struct perf_event_list alias = parsed("data_reads:u,tsc:D");
    assert_int_equal(alias.n, 3);
    assert_string_equal(alias.events[1].name, "uncore_imc_1/data_reads/u");
    assert_string_equal(alias.events[2].name, "tsc:D");
    perf_event_list_free(&alias);
    assert_true(perf_parsed_on_cpu(&spec.events[6], 4000));
    perf_event_list_free(&spec);
    forge_end(&forged);
}

static void hybrid(void **state) {
    (void)state;
    forge_begin(&forged);
    forge_hybrid(&forged);
    struct perf_event_list spec = parsed("{cycles,LLC-loads}:u,r3c,cpu_atom/event=0x3c/,cs,slots");
    assert_int_equal(spec.n, 9);
    assert_int_equal(spec.n_groups, 6); // r3c twice, the two kinds of cores apart
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(spec.events[i].group, 0); // opened on each CPU with those that are for it
    assert_string_equal(spec.events[0].name, "cpu_core/cycles/");
    assert_string_equal(spec.events[0].cpus, "0-7");
    assert_true(spec.events[0].attr.type == PERF_TYPE_HARDWARE && spec.events[0].attr.config == 4ull << 32);
    assert_string_equal(spec.events[1].name, "cpu_atom/cycles/");
    assert_true(spec.events[1].attr.config == 10ull << 32 && flags_of(&spec.events[1].attr) == USER_ONLY);
    assert_true(spec.events[3].attr.type == PERF_TYPE_HW_CACHE && spec.events[3].attr.config == (10ull << 32 | 2));
    assert_true(spec.events[4].attr.type == 4 && spec.events[4].attr.config == 0x3c);
    assert_true(spec.events[5].attr.type == 10 && spec.events[5].attr.config == 0x3c);
    assert_string_equal(spec.events[5].cpus, "8-15");
    assert_string_equal(spec.events[6].cpus, "8-15");
    assert_null(spec.events[7].cpus);
    assert_string_equal(spec.events[8].name, "slots");
    perf_event_list_free(&spec);
    spec = parsed("cycles:u,cycles/name=mine/");
    assert_string_equal(spec.events[1].name, "cpu_atom/cycles/u");
    assert_string_equal(spec.events[3].name, "cpu_atom/mine/");
    perf_event_list_free(&spec);
    forge_end(&forged);
}

static void arm(void **state) {
    (void)state;
    forge_begin(&forged);
    forge_arm(&forged);
    CHECK({"armv8_pmuv3/cpu_cycles/", 8, 0x11}, {"armv8_pmuv3/event=0x11,long=1/k", 8, 0x11, 1, 0, KERNEL_ONLY},
          {"l1d_cache_refill", 8, 3}, {"armv8_pmuv3/r11/", 8, 0x11}, {"armv8_pmuv3/event=0x11,long,rdpmc/", 8, 0x11, 3},
          {"r11", 4, 0x11}, {"cycles", 0, 0}, {"uprobe/retprobe,ref_ctr_offset=2/", 7, 0x200000001});
    struct perf_event_list spec =
        parsed("armv8_pmuv3/cpu_cycles/,kprobe:vfs_read+0x10:u,kretprobe:vfs_read,kprobe:0xffff0000");
    assert_string_equal(spec.events[0].cpus, "0-3");
    assert_false(spec.events[0].uncore);
    assert_int_equal(spec.events[1].attr.type, 6);
    assert_int_equal(spec.events[1].attr.config, 0);
    assert_string_equal((const char *)(uintptr_t)spec.events[1].attr.config1, "vfs_read");
    assert_int_equal(spec.events[1].attr.config2, 0x10);
    assert_int_equal(flags_of(&spec.events[1].attr), USER_ONLY);
    assert_int_equal(spec.events[2].attr.config, 1);
    assert_string_equal((const char *)(uintptr_t)spec.events[3].attr.config1, "");
    assert_int_equal(spec.events[3].attr.config2, 0xffff0000);
    perf_event_list_free(&spec);
    forge_end(&forged);
}

static void tracepoints_and_breakpoints(void **state) {
    (void)state;
    forge_begin(&forged);
    CHECK({"sched:sched_switch", 2, 316}, {"sched:sched_switch:u", 2, 316, 0, 0, USER_ONLY}, {"irq:soft*", 2, 150},
          {"*:softirq_entry", 2, 150}, {"sched:sched_w?keup", 2, 318}, {"ir[pq]:*", 2, 150});
    struct perf_event_list spec = parsed("sched:*,*:*:k");
    assert_int_equal(spec.n, 5); // without ftrace:function
    assert_string_equal(spec.events[0].name, "sched:sched_switch");
    assert_string_equal(spec.events[1].name, "sched:sched_wakeup");
    assert_string_equal(spec.events[2].name, "irq:softirq_entry");
    assert_int_equal(flags_of(&spec.events[4].attr), KERNEL_ONLY);
    perf_event_list_free(&spec);
    spec = parsed("sched:sched_switch/period=100/k");
    assert_int_equal(spec.n, 1);
    assert_int_equal(spec.events[0].period, 100);
    assert_int_equal(spec.events[0].attr.config, 316);
    assert_int_equal(flags_of(&spec.events[0].attr), KERNEL_ONLY);
    perf_event_list_free(&spec);
    // bp_addr is config1, bp_len is config2
    CHECK({"mem:0x1000", 5, 0, 0x1000, 4}, {"mem:0x1000:w", 5, 0, 0x1000, 4}, {"mem:4096/8:rw", 5, 0, 4096, 8},
          {"mem:0xffffffff81000000:x", 5, 0, 0xffffffff81000000, sizeof(long)},
          {"mem:0x1000/1:r:u", 5, 0, 0x1000, 1, USER_ONLY}, {"mem:0x1000:u", 5, 0, 0x1000, 4, USER_ONLY},
          {"mem:0x1000/2:k", 5, 0, 0x1000, 2, KERNEL_ONLY}, {"mem:0x1000:", 5, 0, 0x1000, 4});
    spec = parsed("mem:0x10,mem:0x10:r,mem:0x10:xw");
    assert_int_equal(spec.events[0].attr.bp_type, 3);
    assert_int_equal(spec.events[1].attr.bp_type, 1);
    assert_int_equal(spec.events[2].attr.bp_type, 6);
    perf_event_list_free(&spec);
    forge_end(&forged);
}

static void groups(void **state) {
    (void)state;
    forge_begin(&forged);
    struct perf_event_list spec = parsed("cs,{cycles:u,instructions}:kD, mine{cs , cpu-clock:e}:W ,{dummy},r1");
    static const unsigned want[] = {0, 1, 1, 2, 2, 3, 4};
    assert_int_equal(spec.n, 7);
    assert_int_equal(spec.n_groups, 5);
    for (size_t i = 0; i < spec.n; i++)
        assert_int_equal(spec.events[i].group, want[i]);
    // a group's modifiers add to those of its events; D is the leader's alone
    assert_int_equal(flags_of(&spec.events[1].attr), EXCLUDE_HV | EXCLUDE_GUEST | PINNED);
    assert_int_equal(flags_of(&spec.events[2].attr), KERNEL_ONLY | EXCLUDE_GUEST);
    assert_true(spec.events[3].weak && spec.events[4].weak && !spec.events[1].weak);
    // more of them, later, in further groups
    char error[PERF_EVENT_ERROR];
    assert_int_equal(perf_event_parse(&spec, "{cs,cs}", &forged.roots, error), 0);
    assert_int_equal(spec.events[8].group, 5);
    assert_int_equal(perf_event_parse(&spec, "{cs,cs},nix", &forged.roots, error), -EINVAL); // all or nothing
    assert_int_equal(spec.n, 9);
    assert_int_equal(spec.n_groups, 6);
    perf_event_list_free(&spec);
    assert_int_equal(spec.n, 0);
    forge_end(&forged);
}

// Each with a part of what is said about it.
static void wrong(void **state) {
    static const char *const rows[][2] = {
        {"cycels", "did you mean cycles?"},
        {"LLC-load-mises", "did you mean LLC-load-misses?"},
        {"contextswitches", "did you mean context-switches?"},
        {"sched:sched_swich", "unknown tracepoint 'sched:sched_swich': did you mean sched:sched_switch?"},
        {"topdown-fetch-bubles", "did you mean topdown-fetch-bubbles?"},
        {"xylophone", "unknown event 'xylophone'"},
        {"Cycles", "did you mean cycles?"},
        {"", "an event is missing at the end"},
        {",cs", "an event is missing before ',cs'"},
        {"cs,", "an event is missing at the end"},
        {"cs,,cs", "an event is missing before ',cs'"},
        {"{}", "an event is missing before '}'"},
        {"{cs", "a } is missing"},
        {"cs}", "expected a comma at '}'"},
        {"{cs,{cs}}", "a group within a group"},
        {"{cs}u", "'u' after a group"},
        {"{cs}:", "':' after a group"},
        {"{cs}:Z", "'Z' after '{...}' is not a modifier"},
        {"{cs}{cs}", "'{cs}' after a group"},
        {"1x{cs}", "'1x' before a {"},
        {"cs{cs}", "a comma is missing"},
        {"cs:Z", "'Z' after 'cs' is not a modifier"},
        {"cs:uu", "the modifier 'u' of 'cs' is repeated"},
        {"cs:pppp", "more than three p"},
        {"{cs:pp}:pp", "more than three p"},
        {"cs:u:k", "':' after 'cs' is not a modifier"},
        {":u", "starts with a colon"},
        {"cs/", "no closing /"},
        {"cs/foo/", "'foo' is not a term of 'cs'"},
        {"cs/config=zz/", "'zz' in 'config=zz' is not a number"},
        {"cs/freq=100/", "'freq' is for sampling, not for counting"},
        {"cs/name=/", "'name=' has no value"},
        {"cs/name=7/", "requires a name"},
        {"cpu/tsc/", "not an event or term of the PMU 'cpu'"},
        {"cpu/cpu-cyclse/", "did you mean cpu-cycles?"},
        {"cpu/event=0x100/", "at most 255"},
        {"cpu/edge=2/", "at most 1"},
        {"cpu/umask/", "needs a value"},
        {"cpu/umask=foo/", "neither a number nor an event"},
        {"cpu/event=1,,umask=1/", "a term is missing"},
        {"cpu/event=12ab/", "'12ab' in 'event=12ab' is not a number"},
        {"cpu/event=0x/", "is not a number"},
        {"cpu/event=0x1ffffffffffffffff/", "too large for 64 bits"},
        {"cpu/=1/", "a term is missing"},
        {"cpu/with-param/", "add umask=NUMBER"},
        {"cpu/event=1/Z", "'Z' after 'cpu' is not a modifier"},
        {"cpu/event=1/:u", "without a colon"},
        {"cpu/event=1/u/", "more than two slashes"},
        {"cpu/event=1", "no closing /"},
        {"cpp/event=1/", "this machine has no PMU 'cpp': did you mean cpu?"},
        {"xyzzy/event=1/", "this machine has no PMU 'xyzzy': it has "},
        {"/tsc/", "starts with a /"},
        {"iTLB-stores", "no such operation"},
        {"L1-dcache-foo", "unknown event"},
        {"LLC-loads-misses-refs", "unknown event"},
        {"rXYZ", "unknown event 'rXYZ'"},
        {"r12345678123456789", "too long"},
        {"1", "SYSTEM:EVENT or TYPE:CONFIG"},
        {"1:", "SYSTEM:EVENT or TYPE:CONFIG"},
        {"1:x", "expected a config"},
        {"99999999999:1", "expected a config"},
        {"sched:", "SYSTEM:EVENT or TYPE:CONFIG"},
        {"sched:nix*", "no tracepoint matches 'sched:nix*'"},
        {"sched:sched_switch/name=a/", "a tracepoint takes no term but period"},
        {"sched:sched_switch/period=3,config=1/", "a tracepoint takes no term but period"},
        {"sched:sched_swich/period=3/", "did you mean sched:sched_switch?"},
        {"mem:", "no address"},
        {"mem:zz", "no address"},
        {"mem:0x1000/", "no length"},
        {"mem:0x1000:rr", "is repeated"},
        {"mem:0x1000:q", "'q' after 'mem:0x1000:q' is not a modifier"},
        {"mem:0x1000z", "neither an access"},
        {"uprobe:/nowhere:f", "cannot be opened"},
        {"uprobe:", "uprobe:FILE:SYMBOL"},
        {"kprobe:", "kprobe:FUNCTION"},
        {"kprobe:f", "no PMU 'kprobe'"},
        {"duration_time", "a clock of perf(1)"},
        {"skl::UOPS", "libpfm4"},
    };
    (void)state;
    forge_begin(&forged);
    forge_intel(&forged);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct perf_event_list spec = {0};
        char error[PERF_EVENT_ERROR];
        if (perf_event_parse(&spec, rows[i][0], &forged.roots, error) != -EINVAL || spec.n)
            fail_msg("'%s' was taken", rows[i][0]);
        if (!strstr(error, rows[i][1]) || strchr(error, '\n'))
            fail_msg("'%s' is said to be wrong so: %s", rows[i][0], error);
        perf_event_list_free(&spec);
    }
    forge_end(&forged);
}

// No input may break the parser: each string truncated at every length, and with every letter inserted.
static void any_bytes(void **state) {
    static const char *const rows[] = {"{cpu/event=0x3c,name='a b'/u,LLC-load-misses:k}:W,mem:0x1000/4:rw:u",
                                       "sched:*:u,uprobe:/bin/sh:main+0x10,imc/data_reads/,4:0x1a8,r1a8"};
    static const char letters[] = "{},:/='\\*?[]0xrum \n\x80\xff";
    (void)state;
    forge_begin(&forged);
    forge_intel(&forged);
    for (size_t i = 0; i < 2; i++)
        for (size_t at = 0; at <= strlen(rows[i]); at++)
            for (size_t j = 0; j < sizeof letters; j++) {
                struct perf_event_list spec = {0};
                char text[256], error[PERF_EVENT_ERROR];
                snprintf(text, sizeof text, "%.*s%.1s%s", (int)at, rows[i], letters + j,
                         letters[j] ? rows[i] + at : "");
                int failed = perf_event_parse(&spec, text, &forged.roots, error);
                assert_true(failed ? !spec.n && *error : spec.n > 0);
                perf_event_list_free(&spec);
            }
    forge_end(&forged);
}

static void name_seen(void *context, const struct perf_event_name *name) {
    char(*seen)[512] = context;
    static const char *const looked_for[] = {"cycles", "LLC-load-misses", "power/energy-pkg/", "sched:sched_switch",
                                             "rNNN"};
    for (size_t i = 0; i < 5; i++)
        if (!strcmp(name->name, looked_for[i]))
            snprintf(seen[i], sizeof seen[i], "%s", name->kind);
    if (name->example) { // what is listed can be given
        struct perf_event_list spec = {0};
        char error[PERF_EVENT_ERROR];
        if (perf_event_parse(&spec, name->example, &forged.roots, error) && !strstr(error, "NUMBER"))
            fail_msg("%s is listed, but: %s", name->example, error);
        perf_event_list_free(&spec);
    }
}

static void names(void **state) {
    char seen[5][512] = {""};
    (void)state;
    forge_begin(&forged);
    forge_intel(&forged);
    perf_event_names(&forged.roots, name_seen, seen);
    assert_string_equal(seen[0], "hardware");
    assert_string_equal(seen[1], "cache");
    assert_string_equal(seen[2], "PMU");
    assert_string_equal(seen[3], "tracepoint");
    assert_string_equal(seen[4], "raw");
    forge_end(&forged);
}

#if defined(__x86_64__) // libpfm4 has the tables of its own architecture only
static void libpfm4(void **state) {
    (void)state;
    setenv("LIBPFM_FORCE_PMU", "skl", 1);
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    forge_begin(&forged);
    forged.roots.no_pfm = false;
    struct perf_event_list spec = parsed("INST_RETIRED:ANY_P:u,skl::UOPS_ISSUED:ANY,"
                                         "skl::OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_HIT:SNP_ANY,cs");
    assert_int_equal(spec.n, 4);
    assert_int_equal(spec.events[0].attr.type, PERF_TYPE_RAW);
    assert_int_equal(spec.events[0].attr.config & 0xffff, 0xc0);
    assert_true(spec.events[0].attr.exclude_kernel && !spec.events[0].attr.exclude_user);
    assert_string_equal(spec.events[0].name, "INST_RETIRED:ANY_P:u");
    assert_int_equal(spec.events[1].attr.config & 0xffff, 0x10e);
    assert_int_equal(spec.events[2].attr.config & 0xffff, 0x1b7);
    assert_true(spec.events[2].attr.config1 != 0); // the second word is filled
    assert_int_equal(spec.events[2].attr.size, sizeof spec.events[2].attr);
    assert_int_equal(spec.events[3].attr.type, PERF_TYPE_SOFTWARE);
    perf_event_list_free(&spec);
    static const char *const rows[][2] = {{"INST_RETIRED:NIX", "libpfm4 has this event, but rejects this form"},
                                          {"skl::NIX", "libpfm4 has no such event"},
                                          {"UOPS_ISUED:ANY", "UOPS_ISSUED:ANY"}};
    for (size_t i = 0; i < 3; i++) {
        char error[PERF_EVENT_ERROR];
        assert_int_equal(perf_event_parse(&spec, rows[i][0], &forged.roots, error), -EINVAL);
        if (!strstr(error, rows[i][1]))
            fail_msg("'%s' is said to be wrong so: %s", rows[i][0], error);
    }
    forge_end(&forged);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generic),
        cmocka_unit_test(caches),
        cmocka_unit_test(modifiers),
        cmocka_unit_test(pmus),
        cmocka_unit_test(units_and_cpus),
        cmocka_unit_test(hybrid),
        cmocka_unit_test(arm),
        cmocka_unit_test(tracepoints_and_breakpoints),
        cmocka_unit_test(groups),
        cmocka_unit_test(wrong),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(names),
#if defined(__x86_64__)
        cmocka_unit_test(libpfm4),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
