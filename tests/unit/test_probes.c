// Probes before they reach the kernel: specifications and their errors, the kernel's commands, its words and their
// place, USDT arguments, lost returns, rates.
#include "collectors/probes/define.h"
#include "collectors/probes/pairs.h"
#include "collectors/probes/print_format.h"
#include "collectors/probes/profile.h"
#include "collectors/probes/rate.h"
#include "collectors/probes/recording.h"
#include "collectors/probes/set.h"
#include "collectors/probes/usdt.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "tests/unit/model_test.h"

static void specs(void **state) {
    (void)state;
    static const struct {
        const char *text, *kind, *name, *path, *symbol;
        uint64_t offset;
        const char *args, *filter;
        uint32_t maxactive;
        bool forced;
    } cases[] = {
        {"p vfs_read", "kprobe", "vfs_read", "", "vfs_read", 0, "", "", 0, false},
        {"  p:mine  vfs_read+0x10  a=%di ", "kprobe", "mine", "", "vfs_read+0x10", 0, "a=%di", "", 0, false},
        {"p:grp/mine vfs_read", "kprobe", "mine", "", "vfs_read", 0, "", "", 0, false},
        {"r16:mine nfs:nfs_read $retval if ret > 4", "kretprobe", "mine", "", "nfs:nfs_read", 0, "$retval", "ret > 4",
         16, false},
        {"vfs_read%return", "kretprobe", "vfs_read__return", "", "vfs_read", 0, "", "", 0, false},
        {"!lbl=vfs_read", "kprobe", "lbl", "", "vfs_read", 0, "", "", 0, true},
        {"f vfs_read%return $retval", "fprobe exit", "vfs_read__return", "", "vfs_read", 0, "$retval", "", 0, false},
        {"t sched_switch prev->pid", "tracepoint", "sched_switch", "", "sched_switch", 0, "prev->pid", "", 0, false},
        {"e:x sched.sched_switch a=$next_pid if next_pid > 1", "event", "x", "", "sched.sched_switch", 0,
         "a=$next_pid if next_pid > 1", "", 0, false},
        {"p /bin/a:b:readline", "USDT", "b_readline", "/bin/a", "b:readline", 0, "", "", 0, false},
        {"p /usr/lib/x.so:sdt_python:gc__start", "USDT", "python_gc__start", "/usr/lib/x.so", "python:gc__start", 0, "",
         "", 0, false},
        {"p /bin/x:ns::fn(int)", "uprobe", "ns_fn_int", "/bin/x", "ns::fn(int)", 0, "", "", 0, false},
        {"libc.so.6:malloc+12 s=%di:u64", "uprobe", "malloc_12", "libc.so.6", "malloc", 12, "s=%di:u64", "", 0, false},
        {"-x /bin/bash readline%return $retval:string", "uretprobe", "readline__return", "/bin/bash", "readline", 0,
         "$retval:string", "", 0, false},
        {"p /opt/a-b/prog:0x1149", "uprobe", "prog_0x1149", "/opt/a-b/prog", "", 0x1149, "", "", 0, false},
        {"p /bin/p.12:0x1149(0x4028)", "uprobe", "p_12_0x1149", "/bin/p.12", "", 0x1149, "", "", 0, false},
        {"p 0xffffffff81000000", "kprobe", "_0xffffffff81000000", "", "0xffffffff81000000", 0, "", "", 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe_spec spec;
        struct choice_error error;
        if (probe_spec_parse(&spec, cases[i].text, strlen(cases[i].text), &error))
            fail_msg("%s: %s", cases[i].text, error.sentence);
        assert_string_equal(probe_kind_name(&spec), cases[i].kind);
        assert_string_equal(spec.name, cases[i].name);
        assert_string_equal(spec.path, cases[i].path);
        assert_string_equal(spec.symbol, cases[i].symbol);
        assert_int_equal(spec.offset, cases[i].offset);
        assert_int_equal(spec.args_length, strlen(cases[i].args));
        assert_memory_equal(spec.args, cases[i].args, spec.args_length);
        assert_string_equal(spec.filter, cases[i].filter);
        assert_int_equal(spec.maxactive, cases[i].maxactive);
        assert_int_equal(spec.forced, cases[i].forced);
    }
}

static void spec_errors(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int place;
        const char *sentence;
    } cases[] = {
        {"p", 1, "where is the probe? For example: p do_sys_openat2, or p /usr/bin/bash:readline"},
        {"p:a-b vfs_read", 3, "a probe's name has letters, digits and _ only"},
        {"s:x u64 lat", 0, "synthetic events (s:) are no probes: use p, r, f, t or e"},
        {"p12 vfs_read", 1, "MAXACTIVE is for return probes only: r12"},
        {"r5000 vfs_read", 1, "MAXACTIVE is 4096 at most"},
        {"vfs_read:12", 0, "source lines are no places here: use SYMBOL+OFFSET"},
        {"r /bin/bash:readline+4", 12, "a return probe is at a function, without an offset"},
        {"p /bin/bash:0x12z", 16, "expected an offset in the file, for example 0x1149 or 0x1149(0x4028)"},
        {"p /bin/bash", 11, "expected PATH:SYMBOL, PATH:OFFSET or PATH:PROVIDER:NAME"},
        {"r /bin/x:prov:name", 9, "a USDT probe has no return"},
        {"f /bin/bash:readline", 2, "fprobes (f) are for functions of the kernel: use p or r for a file"},
        {"p vfs_read a=%di if ", 19, "the filter after \"if\" is missing"},
        {"-x", 2, "the path is missing"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe_spec spec;
        struct choice_error error;
        assert_int_equal(probe_spec_parse(&spec, cases[i].text, strlen(cases[i].text), &error), -EINVAL);
        assert_string_equal(error.sentence, cases[i].sentence);
        assert_int_equal(error.place, cases[i].place);
    }
}

static void lists(void **state) {
    (void)state;
    struct probe_set set;
    struct choice_error error;
    assert_int_equal(probe_set_parse(&set, "p vfs_read\n\n  p vfs_read a=%di\nr vfs_read", &error), 0);
    assert_int_equal(set.n, 3);
    assert_string_equal(set.probes[0]->event, "vfs_read");
    assert_string_equal(set.probes[1]->event, "vfs_read_2"); // an event of the kernel has one name
    assert_string_equal(set.probes[2]->event, "vfs_read__return");
    assert_int_equal(set.places[1], 14);
    assert_ptr_equal(probe_set_find(&set, "p vfs_read a=%di"), set.probes[1]);
    assert_null(probe_set_find(&set, "p vfs_read a=%si"));
    probe_set_free(&set);
    assert_int_equal(probe_set_parse(&set, "p vfs_read\n p:1 x", &error), -EINVAL);
    assert_int_equal(error.place, 14);
    probe_set_free(&set);
    char many[64 * (PROBES_MAX + 1)], *at = many;
    for (int i = 0; i <= PROBES_MAX; i++)
        at += sprintf(at, "p f%d\n", i);
    assert_int_equal(probe_set_parse(&set, many, &error), -E2BIG);
    assert_string_equal(error.sentence, "more than 16 probes: remove some");
    probe_set_free(&set);
}

static void grouped(void **state) {
    (void)state;
    static const struct {
        const char *list, *sentence; // sentence NULL: it is accepted
        int result, place;
    } cases[] = {
        {"p vfs_read n=%dx\nr:back vfs_read\ngroup probes:vfs_read by n,comm of n\nlatency vfs_read back[pid]", NULL, 0,
         -1},
        {"group vfs_read by n", "no probe is named vfs_read: add it first", -ENOENT, 0},
        {"p vfs_read\n  group vfs_raed by n", "no probe is named vfs_raed: did you mean vfs_read?", -ENOENT, 13},
        {"p vfs_read\nlatency vfs_read xyzzy", "no probe is named xyzzy, but for example vfs_read", -ENOENT, 11},
        {"p vfs_read\ngroup sched:sched_switch by n",
         "group sched:sched_switch by n: expected PROBE by FIELD[,FIELD2][ of FIELD3]", -EINVAL, 11},
        {"p vfs_read\ngroup vfs_read by n\ngroup vfs_read by m", "group vfs_read by m: this probe has a group already",
         -EINVAL, 31},
        {"p vfs_read\nlatency vfs_read", "latency vfs_read: expected PROBE[FIELD] PROBE[FIELD]", -EINVAL, 11},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct probe_set set;
        struct choice_error error;
        int result = probe_set_parse(&set, cases[i].list, &error);
        if (!result)
            result = probe_set_find_grouped(&set, &error);
        assert_int_equal(result, cases[i].result);
        assert_int_equal(error.place, cases[i].place);
        if (cases[i].sentence)
            assert_string_equal(error.sentence, cases[i].sentence);
        if (!result) {
            assert_int_equal(set.n, 2);
            assert_int_equal(set.groups->groups[0].event.index, 0);
            assert_int_equal(set.groups->groups[0].n_keys, 2);
            assert_string_equal(set.groups->groups[0].value.name, "n");
            assert_int_equal(set.groups->pairs[0].events[1].index, 1);
        }
        probe_set_free(&set);
    }
    assert_true(probe_set_line_uses("group probes:work by n", "work"));
    assert_true(probe_set_line_uses("latency start[n] work", "work"));
    assert_false(probe_set_line_uses("group works by n", "work"));
    assert_false(probe_set_line_uses("p work", "work"));
}

static void make(struct probe *probe, const char *text, const char *entry) {
    struct choice_error error;
    memset(probe, 0, sizeof(*probe));
    assert_int_equal(probe_spec_parse(&probe->spec, text, strlen(text), &error), 0);
    strcpy(probe->group, "ktop_1_2_probes");
    strcpy(probe->event, probe->spec.name);
    strcpy(probe->entry, entry);
}

static void commands(void **state) {
    (void)state;
    static struct probe probe;
    static struct probe_command command;
    const struct probe_site site = {.offset = 0x1149, .semaphore = 0x4028, .args = "arg1=%di:s32"};
    make(&probe, "p:a /bin/x:work   a=%di:s32\tb=%si", "");
    probe_command_make(&command, &probe, "/proc/7/root/bin/x", &(struct probe_site){.offset = 0x1149}, false, 0);
    assert_string_equal(command.text, "p:ktop_1_2_probes/a /proc/7/root/bin/x:0x1149 a=%di:s32 b=%si");
    // Each character of an argument has its own place in what the user wrote, whatever blanks are there.
    size_t b = (size_t)(strstr(command.text, "b=%si") - command.text);
    assert_int_equal(command.places[b], strstr(probe.spec.text, "b=%si") - probe.spec.text);
    assert_int_equal(probe.spec.text[command.places[b + 4]], 'i');
    assert_int_equal(command.places[strlen("p:ktop_1_2_probes/a ")], 4);
    make(&probe, "p /bin/x:prov:name", "");
    probe_command_make(&command, &probe, "/bin/x", &site, false, 0);
    assert_string_equal(command.text, "p:ktop_1_2_probes/prov_name /bin/x:0x1149(0x4028) arg1=%di:s32");
    make(&probe, "vfs_read%return $retval", "vfs_read__return_entry");
    probe_command_make(&command, &probe, NULL, NULL, false, 64);
    assert_string_equal(command.text, "r64:ktop_1_2_probes/vfs_read__return vfs_read $retval ktop_sp=$stack");
    probe_command_make(&command, &probe, NULL, NULL, true, 0);
    assert_string_equal(command.text, "p:ktop_1_2_probes/vfs_read__return_entry vfs_read ktop_sp=$stack");
    make(&probe, "f:x vfs_read%return $retval", "");
    probe_command_make(&command, &probe, NULL, NULL, false, 0);
    assert_string_equal(command.text, "f:ktop_1_2_probes/x vfs_read%return $retval");
    make(&probe, "e:x sched.sched_switch a=$next_pid", "");
    probe_command_make(&command, &probe, NULL, NULL, false, 0);
    assert_string_equal(command.text, "e:ktop_1_2_probes/x sched.sched_switch a=$next_pid");
    // With stacks the return address comes with the entry of a function, and only there.
    make(&probe, "p:a /bin/x:work a=%di", "");
    probe.with_caller = true;
    probe_command_make(&command, &probe, "/bin/x", &site, false, 0);
    assert_non_null(strstr(command.text, " a=%di ktop_ra="));
    static const char *const others[] = {"p:a /bin/x:work+4 a=%di", "r:a /bin/x:work a=$retval", "p:a vfs_read a=%di"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        make(&probe, others[i], "");
        probe.with_caller = true;
        probe_command_make(&command, &probe, "/bin/x", &site, false, 0);
        assert_null(strstr(command.text, "ktop_ra"));
    }
}

// The error_log of Linux 6.18 after two commands, one of them twice.
static void kernel_words(void **state) {
    (void)state;
    static const char log[] = "[ 2046.865256] trace_uprobe: error: Invalid register name\n"
                              "  Command: p:ktop_1/x /tmp/prog:0x1149 a=%di s=+0(%si):string b=%zz\n"
                              "                                                              ^\n"
                              "[ 2046.866055] trace_uprobe: error: Unknown type is specified\n"
                              "  Command: p:ktop_1/x /tmp/prog:0x1149 a=%di s=+0(%si):foo\n"
                              "                                                       ^\n"
                              "[ 2046.966055] trace_uprobe: error: Something later\n"
                              "  Command: p:ktop_1/x /tmp/prog:0x1149 a=%di s=+0(%si):foo\n"
                              "           ^\n";
    static const char first[] = "p:ktop_1/x /tmp/prog:0x1149 a=%di s=+0(%si):string b=%zz";
    char sentence[64];
    int32_t at;
    assert_true(probe_log_error(log, first, sentence, sizeof(sentence), &at));
    assert_string_equal(sentence, "Invalid register name");
    assert_int_equal(at, strstr(first, "%zz") - first - 2);
    assert_true(
        probe_log_error(log, "p:ktop_1/x /tmp/prog:0x1149 a=%di s=+0(%si):foo", sentence, sizeof(sentence), &at));
    assert_string_equal(sentence, "Something later");
    assert_int_equal(at, 0);
    assert_false(probe_log_error(log, "p:ktop_1/x /tmp/prog:0x1149 a=%di", sentence, sizeof(sentence), &at));
    assert_false(probe_log_error("", first, sentence, sizeof(sentence), &at));
    assert_true(
        probe_log_error("[1] trace_kprobe: error: Cut\n  Command: p:a b", "p:a b", sentence, sizeof(sentence), &at));
    assert_int_equal(at, -1);
}

static void print_formats(void **state) {
    (void)state;
    static const struct {
        const char *before, *after;
    } cases[] = {
        {"format:\nprint fmt: \"(%lx) a=%d\", REC->__probe_ip, REC->a\n", "format:\nprint fmt: \"a=%d\", REC->a\n"},
        {"print fmt: \"(%lx <- %lx) a=%d ktop_sp=0x%Lx\", REC->__probe_func, REC->__probe_ret_ip, REC->a, "
         "REC->ktop_sp\n",
         "print fmt: \"a=%d \", REC->a\n"},
        {"print fmt: \"(%lx)\", REC->__probe_ip\n", "print fmt: \"\"\n"},
        {"print fmt: \"(%lx) a=%d ktop_ra=%llu\", REC->__probe_ip, REC->a, REC->ktop_ra\n",
         "print fmt: \"a=%d \", REC->a\n"},
        {"print fmt: \"a=%d\", REC->a\n", "print fmt: \"a=%d\", REC->a\n"},
        {"nothing", "nothing"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        strcpy(text, cases[i].before);
        assert_int_equal(print_format_clean(text, strlen(text)), strlen(cases[i].after));
        assert_string_equal(text, cases[i].after);
    }
}

// Two notes of one probe and one of another, as gcc and sys/sdt.h make them; the base moved by 0x10.
static void notes_make(uint8_t *out, size_t *size) {
    static const struct {
        uint64_t pc, base, semaphore;
        const char texts[40];
        uint32_t length;
    } notes[] = {
        {0x1140, 0x2000, 0x4028, "test\0hit\0-4@%edi", 18},
        {0x1160, 0x2000, 0x4028, "test\0hit\0-4@%esi", 18},
        {0x1180, 0x2000, 0, "test\0other", 12},
    };
    *size = 0;
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        const uint32_t header[3] = {8, 24 + notes[i].length, 3};
        memcpy(out + *size, header, sizeof(header));
        memcpy(out + *size + 12, "stapsdt", 8);
        memcpy(out + *size + 20, &notes[i].pc, 24);
        memcpy(out + *size + 44, notes[i].texts, notes[i].length);
        *size += 44 + ((notes[i].length + 3) & ~3u);
    }
}

static size_t notes_read(const uint8_t *bytes, size_t size, const char *wanted, struct usdt_site *sites,
                         char ***names) {
    static char *sections_names[] = {"", ".note.stapsdt", ".stapsdt.base"};
    GElf_Shdr sections[] = {{0}, {.sh_size = size, .sh_type = SHT_NOTE}, {.sh_addr = 0x2010, .sh_type = SHT_PROGBITS}};
    struct elf_file file = {.source = {.fd = -1, .bytes = bytes, .size = size},
                            .is64 = true,
                            .encoding = ELFDATA2LSB,
                            .sections = sections,
                            .section_names = sections_names,
                            .n_sections = 3};
    return usdt_find(&file, wanted, sites, 4, names);
}

static void usdt_notes(void **state) {
    (void)state;
    uint8_t bytes[512] = {0};
    struct usdt_site sites[4];
    char **names;
    size_t size;
    notes_make(bytes, &size);
    assert_int_equal(notes_read(bytes, size, "test:hit", sites, &names), 2);
    assert_int_equal(sites[0].address, 0x1150);
    assert_int_equal(sites[1].address, 0x1170);
    assert_int_equal(sites[1].semaphore, 0x4038);
    assert_string_equal(sites[1].args, "-4@%esi");
    assert_string_equal(names[0], "test:hit");
    assert_string_equal(names[1], "test:other");
    assert_null(names[2]);
    usdt_names_free(names);
    assert_int_equal(notes_read(bytes, size, "test:other", sites, NULL), 1);
    assert_int_equal(sites[0].semaphore, 0);
    assert_string_equal(sites[0].args, "");
    assert_int_equal(notes_read(bytes, size, "tes:hit", sites, NULL), 0);
    // Cut short, and with each byte damaged: whatever is found, nothing beyond the section is read.
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = xmalloc(cut + 1);
        memcpy(copy, bytes, cut);
        assert_in_range(notes_read(copy, cut, "test:hit", sites, NULL), 0, 2);
        free(copy);
    }
    for (size_t at = 0; at < size; at++) {
        uint8_t *copy = xmalloc(size);
        memcpy(copy, bytes, size);
        copy[at] ^= 0xff;
        assert_in_range(notes_read(copy, size, "test:hit", sites, NULL), 0, 2);
        free(copy);
    }
}

static void usdt_arguments(void **state) {
    (void)state;
    static const struct {
        const char *note;
        uint16_t machine;
        const char *args;
        size_t left_out;
    } cases[] = {
        {"-4@%edi 8@%rsi", EM_X86_64, "arg1=%di:s32 arg2=%si:u64", 0},
        {"-4@-20(%rbp) 8@16(%rsp) 1@%r8b", EM_X86_64, "arg1=-20(%bp):s32 arg2=+16(%sp):u64 arg3=%r8:u8", 0},
        {"4@$-3 -8@(%rdi)", EM_X86_64, "arg1=\\-3:u32 arg2=+0(%di):s64", 0},
        {"8@8(%rdi,%rax,4) 8f@%xmm0 8@var(%rip) -4@%eax 1@%ah", EM_X86_64, "arg4=%ax:s32", 4},
        {"8@x0 -4@[sp, 12] 4@7 8@[x3] -4@w1", EM_AARCH64,
         "arg1=%x0:u64 arg2=+12(%sp):s32 arg3=\\7:u32 arg4=+0(%x3):u64 arg5=%x1:s32", 0},
        {"", EM_X86_64, "", 0},
        {"rubbish @ 4@", EM_X86_64, "", 3},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[256];
        assert_int_equal(usdt_args(cases[i].note, cases[i].machine, out, sizeof(out)), cases[i].left_out);
        assert_string_equal(out, cases[i].args);
    }
}

// Stack pointers at the entry; after the return they are 8 higher.
static void returns(void **state) {
    (void)state;
    struct pairs *pairs = pairs_new();
    for (int i = 0; i < 3; i++) {
        pairs_enter(pairs, 0, 42, 1000);
        assert_int_equal(pairs_in_flight(pairs, 0), 1);
        pairs_leave(pairs, 0, 42, 1008);
    }
    assert_int_equal(pairs_lost(pairs, 0), 0);
    assert_int_equal(pairs_in_flight(pairs, 0), 0);
    // Recursion; the inner return is lost, the outer one comes.
    pairs_enter(pairs, 0, 42, 1000);
    pairs_enter(pairs, 0, 42, 900);
    assert_int_equal(pairs_in_flight(pairs, 0), 2);
    pairs_leave(pairs, 0, 42, 1008);
    assert_int_equal(pairs_lost(pairs, 0), 1);
    assert_int_equal(pairs_in_flight(pairs, 0), 0);
    // The outer one is lost: noticed at the next call.
    pairs_enter(pairs, 0, 42, 1000);
    pairs_enter(pairs, 0, 42, 900);
    pairs_leave(pairs, 0, 42, 908);
    assert_int_equal(pairs_lost(pairs, 0), 1);
    assert_int_equal(pairs_in_flight(pairs, 0), 1);
    pairs_enter(pairs, 0, 42, 1000);
    assert_int_equal(pairs_lost(pairs, 0), 2);
    // Other threads and functions are apart.
    pairs_enter(pairs, 1, 42, 500);
    pairs_enter(pairs, 0, 43, 500);
    assert_int_equal(pairs_in_flight(pairs, 0), 2);
    assert_int_equal(pairs_in_flight(pairs, 1), 1);
    // A return whose entry was not recorded.
    pairs_leave(pairs, 1, 44, 500);
    pairs_leave(pairs, 1, 42, 100);
    assert_int_equal(pairs_lost(pairs, 1), 0);
    pairs_gap(pairs);
    assert_int_equal(pairs_in_flight(pairs, 0), 0);
    assert_int_equal(pairs_lost(pairs, 0), 2);
    pairs_leave(pairs, 0, 42, 1008); // its entry was before the gap
    assert_int_equal(pairs_lost(pairs, 0), 2);
    pairs_free(pairs);
}

// A thread with two stacks: the call on the lower one looks lost while the other stack is used, until its return comes.
static void two_stacks(void **state) {
    (void)state;
    struct pairs *pairs = pairs_new();
    pairs_enter(pairs, 0, 42, 1000);
    pairs_enter(pairs, 0, 42, 9000);
    assert_int_equal(pairs_lost(pairs, 0), 1);
    pairs_leave(pairs, 0, 42, 1008);
    assert_int_equal(pairs_lost(pairs, 0), 0);
    assert_int_equal(pairs_in_flight(pairs, 0), 1);
    pairs_leave(pairs, 0, 42, 9008);
    assert_int_equal(pairs_lost(pairs, 0), 0);
    assert_int_equal(pairs_in_flight(pairs, 0), 0);
    pairs_free(pairs);
}

// 100 nested calls, of which the kernel reports the outermost 64 (uretprobes).
static void deep(void **state) {
    (void)state;
    struct pairs *pairs = pairs_new();
    for (uint64_t i = 0; i < 100; i++)
        pairs_enter(pairs, 3, 7, 100000 - 48 * i);
    for (uint64_t i = 64; i-- > 0;)
        pairs_leave(pairs, 3, 7, 100008 - 48 * i);
    assert_int_equal(pairs_lost(pairs, 3), 36);
    assert_int_equal(pairs_in_flight(pairs, 3), 0);
    for (uint64_t i = 0; i < 3 * PAIRS_DEEP; i++) // deeper than it remembers
        pairs_enter(pairs, 3, 7, 100000 - 48 * i);
    assert_int_equal(pairs_in_flight(pairs, 3), PAIRS_DEEP);
    for (uint64_t i = 3 * PAIRS_DEEP; i-- > 0;)
        pairs_leave(pairs, 3, 7, 100008 - 48 * i);
    assert_int_equal(pairs_in_flight(pairs, 3), 0);
    assert_int_equal(pairs_lost(pairs, 3), 36);
    pairs_free(pairs);
}

// More threads than slots: what is forgotten is not in flight.
static void crowd(void **state) {
    (void)state;
    struct pairs *pairs = pairs_new();
    for (int32_t tid = 1; tid < 20 * PAIRS_SLOTS; tid++)
        pairs_enter(pairs, (uint32_t)tid % PAIRS_MAX, tid, 1000);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < PAIRS_MAX; i++) {
        sum += pairs_in_flight(pairs, i);
        assert_int_equal(pairs_lost(pairs, i), 0);
    }
    assert_in_range(sum, PAIRS_SLOTS / 2, PAIRS_SLOTS);
    pairs_free(pairs);
}

static void profiles(void **state) {
    (void)state;
    static const char text[] = "  vfs_read                                                   12               0\n"
                               "  vfs_read__return                                           12               3\n"
                               "  twice                                                       1               1\n"
                               "  twice                                                       1               1\n";
    uint64_t missed = 99;
    assert_true(probe_profile_find(text, "vfs_read__return", &missed));
    assert_int_equal(missed, 3);
    assert_false(probe_profile_find(text, "twice", &missed));
    assert_false(probe_profile_find(text, "vfs", &missed));
    assert_false(probe_profile_find("", "vfs_read", &missed));
}

static void shares(void **state) {
    (void)state;
    static const struct {
        uint64_t counts[3], most, shares[3];
    } cases[] = {
        {{10, 20, 30}, 2000, {10, 20, 30}},
        {{100000, 8, 150}, 2000, {1842, 8, 150}},
        {{5000, 5000, 10}, 2000, {995, 995, 10}},
        {{0, 5000, 0}, 2000, {0, 2000, 0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t out[3];
        recording_shares(cases[i].counts, 3, cases[i].most, out);
        assert_memory_equal(out, cases[i].shares, sizeof(out));
    }
}

static void rates(void **state) {
    (void)state;
    assert_int_equal(probe_rate_stats("entries: 12\noverrun: 100\ncommit overrun: 5\nbytes: 4\noldest event ts: 1\n"
                                      "now ts: 2\ndropped events: 3\nread events: 0\n"),
                     115);
    assert_int_equal(probe_rate_stats(""), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs),         cmocka_unit_test(spec_errors), cmocka_unit_test(lists),
        cmocka_unit_test(grouped),       cmocka_unit_test(commands),    cmocka_unit_test(kernel_words),
        cmocka_unit_test(print_formats), cmocka_unit_test(usdt_notes),  cmocka_unit_test(usdt_arguments),
        cmocka_unit_test(returns),       cmocka_unit_test(two_stacks),  cmocka_unit_test(deep),
        cmocka_unit_test(crowd),         cmocka_unit_test(profiles),    cmocka_unit_test(rates),
        cmocka_unit_test(shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
