// The collector "storms": when the counters of the machine point to a storm, and the jumps of its BPF programs.
#include <errno.h>
#include <unistd.h>

#include "collectors/storms/storms.h"
#include "tests/unit/screens.h"

static bool compacts(const char *stalls) {
    struct section *section = forge_section("system", 1);
    section_table(section, forge_real("memory", "compaction_stalls_per_s", stalls));
    bool is = storm_is_likely(STORM_COMPACTION, (const struct section *[STORM_INPUTS]){section});
    section_unref(section);
    return is;
}

static bool likely(enum storm_kind kind, const char *interrupts, const char *cpus, double system_pct) {
    struct section *section = forge_section("system", 1);
    if (interrupts)
        section_table(section, forge_real("interrupts", "irq|name|cpu|per_s", interrupts));
    if (cpus)
        section_table(section, forge_real("cpus", "cpu|softirq_pct", cpus));
    section_table(section, forge_real("devices", "device|flushes_per_s", system_pct > 5 ? "vda|25\nvdb|0" : "vda|19"));
    section_table(section,
                  forge_real("tcp", "active_opens_per_s|resets_out_per_s", system_pct > 5 ? "20|50" : "19|49"));
    section_series(section, real_series("cpu_system_pct"), system_pct);
    section_series(section, real_series("cpus_online"), 4);
    section_series(section, real_series("forks_per_s"), system_pct > 5 ? 400 : 100);
    bool is = storm_is_likely(kind, (const struct section *[STORM_INPUTS]){section});
    section_unref(section);
    return is;
}

static void triggers(void **state) {
    (void)state;
    static const char quiet[] = "TLB|x|0|1400\nTLB|x|1|1500\nCAL|x|0|2000\nLOC|x|0|1000\nLOC|x|1|1000\nLOC|x|2|1001";
    assert_false(storm_is_likely(STORM_CALL, (const struct section *[STORM_INPUTS]){NULL}));
    for (enum storm_kind kind = 0; kind < STORMS; kind++) {
        assert_false(likely(kind, quiet, "0|20\n1|24", 2));
        assert_false(likely(kind, NULL, NULL, 0.0 / 0.0));
    }
    assert_true(likely(STORM_TLB, "TLB|x|0|1500\nTLB|x|1|1500", NULL, 4));
    assert_true(likely(STORM_IPI, "CAL|x|0|3100", NULL, 4));
    assert_false(likely(STORM_TLB, "CAL|x|0|3100", NULL, 4));
    assert_true(likely(STORM_TIMER, "LOC|x|0|4000", NULL, 4));
    assert_true(likely(STORM_PACKET, NULL, "0|20\n1|26", 4));
    assert_true(likely(STORM_CALL, NULL, NULL, 3)); // an eighth of one of four CPUs
    assert_true(likely(STORM_LOCK, NULL, NULL, 3));
    assert_true(likely(STORM_SYNC, NULL, NULL, 6)); // with 25 flushes per second
    assert_true(likely(STORM_SIGNAL, NULL, NULL, 6));
    assert_true(likely(STORM_FORK, NULL, NULL, 6));
    assert_true(likely(STORM_CONNECT, NULL, NULL, 6));
    assert_true(likely(STORM_RESET, NULL, NULL, 6));
    struct section *sockets = forge_section("sockets", 1), *disks = forge_section("filesystems", 1);
    const struct section *inputs[STORM_INPUTS] = {NULL, sockets, disks};
    section_table(sockets,
                  forge_real("network_namespaces", "netns|active_opens_per_s|resets_out_per_s", "1|19|50\n2|20|0"));
    section_table(disks, forge_real("filesystems", "mount|size_kib|available_kib|inodes|inodes_free",
                                    "/|90000|9000|100|1\n/b|90000|9000|0|0\n/c|900|0|0|0"));
    assert_true(storm_is_likely(STORM_CONNECT, inputs)); // in a container
    assert_true(storm_is_likely(STORM_RESET, inputs));
    assert_false(storm_is_likely(STORM_CALL, inputs));
    assert_false(storm_is_likely(STORM_NO_SPACE, inputs));
    section_unref(disks);
    static const char *const full[] = {"/|90000|1000|100|1", "/|90000|9000|100|0"};
    for (size_t k = 0; k < 2; k++) {
        inputs[STORM_OF_FILESYSTEMS] = disks = forge_section("filesystems", 1);
        section_table(disks, forge_real("filesystems", "mount|size_kib|available_kib|inodes|inodes_free", full[k]));
        assert_true(storm_is_likely(STORM_NO_SPACE, inputs));
        section_unref(disks);
    }
    section_unref(sockets);
    assert_false(compacts("9"));
    assert_true(compacts("10"));
}

// Every jump of a program ends inside of it, behind the jump: the kernel's verifier accepts no other.
static size_t jumps_check(const struct bpf_code *code) {
    size_t filters = 0;
    assert_true(code->n > 15 && code->n < 100);
    assert_int_equal(code->insns[code->n - 1].code, BPF_JMP | BPF_EXIT);
    for (size_t i = 0; i < code->n; i++) {
        const struct bpf_insn *insn = &code->insns[i];
        filters += insn->code == (BPF_JMP | BPF_JNE | BPF_K);
        if (BPF_CLASS(insn->code) != BPF_JMP || BPF_OP(insn->code) == BPF_CALL || BPF_OP(insn->code) == BPF_EXIT)
            continue;
        assert_true(insn->off > 0);
        assert_true(i + 1 + (size_t)insn->off < code->n);
    }
    return filters;
}

static void programs(void **state) {
    (void)state;
    static struct bpf_code code;
    for (enum storm_kind kind = 0; kind < STORMS; kind++) {
        storm_program(&code, &storm_sources[kind], 5, 6);
        assert_int_equal(jumps_check(&code), storm_sources[kind].has_value +
                                                 (storm_sources[kind].detail == DETAIL_SYNC) +
                                                 (storm_sources[kind].detail == DETAIL_NO_SPACE));
    }
    storm_wait_program(&code, 6);
    assert_int_equal(jumps_check(&code), 0);
}

// The kernel's verifier accepts the programs.
static void verifier(void **state) {
    (void)state;
    static struct bpf_code code;
    int waits = bpf_map(BPF_MAP_TYPE_HASH, sizeof(struct storm_wait_key), sizeof(struct storm_wait), 16);
    int map = bpf_map(BPF_MAP_TYPE_HASH, sizeof(struct storm_key), sizeof(struct storm_count), 16);
    if (waits < 0 || map < 0)
        skip();
    for (enum storm_kind kind = 0; kind <= STORMS; kind++) {
        if (kind == STORMS)
            storm_wait_program(&code, waits);
        else
            storm_program(&code, &storm_sources[kind], map, waits);
        int program = bpf_load(&code, BPF_PROG_TYPE_RAW_TRACEPOINT, "ktop_test");
        if (program == -EPERM)
            skip();
        assert_true(program >= 0);
        close(program);
    }
    close(map);
    close(waits);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(triggers), cmocka_unit_test(programs),
                                       cmocka_unit_test(verifier)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
