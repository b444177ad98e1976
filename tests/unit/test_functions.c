// Functions before they are counted: patterns and their errors, symbols of forged ELF files, what is no function, what
// has no return probe.
#include "collectors/functions/kernel.h"
#include "collectors/functions/match.h"
#include "collectors/functions/program.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/mem.h"
#include "tests/unit/model_test.h"

static void specs(void **state) {
    (void)state;
    static const struct {
        const char *text, *object, *glob, *module;
        uint64_t slower_ns;
        bool forced;
        enum function_role role;
    } cases[] = {
        {"vfs_*", "", "vfs_*", "", 0, false},
        {"libssl*:SSL_*", "libssl*", "SSL_*", "", 0, false},
        {"  ! /usr/sbin/nginx:ngx_http_* > 10ms ", "/usr/sbin/nginx", "ngx_http_*", "", 10000000, true},
        {"prog:work > 250us", "prog", "work", "", 250000, false},
        {"prog:work >1.5s", "prog", "work", "", 1500000000, false},
        {"libx.so:ns::call*", "libx.so", "ns::call*", "", 0, false},
        {"prog:vec::operator>", "prog", "vec::operator>", "", 0, false},
        {"ns::call", "", "ns::call", "", 0, false},
        {":mod:nfs", "", "*", "nfs", 0, false},
        {"nfs_*:mod:nfs > 1ms", "", "nfs_*", "nfs", 1000000, false},
        {"start vfs_fsync", "", "vfs_fsync", "", 0, false, FUNCTION_START},
        {"! stop  prog:ns::call", "prog", "ns::call", "", 0, true, FUNCTION_STOP},
        {"start", "", "start", "", 0, false},
        {"stop > 1ms", "", "stop", "", 1000000, false},
        {"started", "", "started", "", 0, false},
        {"stop:start", "stop", "start", "", 0, false},
    };
    static struct function_specs parsed;
    struct choice_error error;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (function_specs_parse(&parsed, cases[i].text, &error))
            fail_msg("%s: %s", cases[i].text, error.sentence);
        assert_int_equal(parsed.n, 1);
        assert_string_equal(parsed.all[0].object, cases[i].object);
        assert_string_equal(parsed.all[0].glob, cases[i].glob);
        assert_string_equal(parsed.all[0].module, cases[i].module);
        assert_int_equal(parsed.all[0].slower_ns, cases[i].slower_ns);
        assert_int_equal(parsed.all[0].forced, cases[i].forced);
        assert_int_equal(parsed.all[0].role, cases[i].role ? cases[i].role : FUNCTION_COUNTED);
    }
    assert_int_equal(function_specs_parse(&parsed, "\n a:b \n\n  c:d", &error), 0);
    assert_int_equal(parsed.n, 2);
    assert_int_equal(parsed.all[1].place, 10);
    assert_string_equal(parsed.all[1].text, "c:d");
    assert_int_equal(function_specs_parse(&parsed, "", &error), 0);
    assert_int_equal(parsed.n, 0);
}

static void spec_errors(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
        int32_t place;
    } cases[] = {
        {"prog:work > 10", "expected a time with its unit", 11},
        {"prog:work > ms", "expected a time with its unit", 11},
        {"prog:work > -1ms", "expected a time with its unit", 11},
        {"a:b\nprog:", "expected the name of a function", 9},
        {":work", "expected a file before the colon", 0},
        {"!", "expected the name of a function", 1},
        {"x:mod:", "expected the name of a kernel module", 6},
        {"prog:x:mod:nfs", "a kernel module has no file name", 0},
        {"start vfs_read > 1ms", "calls of start and stop functions are not listed", 14},
        {"start :work", "expected a file before the colon", 6},
    };
    static struct function_specs parsed;
    struct choice_error error;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(function_specs_parse(&parsed, cases[i].text, &error), -EINVAL);
        if (!strstr(error.sentence, cases[i].words) || error.place != cases[i].place)
            fail_msg("%s: %s at %d", cases[i].text, error.sentence, error.place);
    }
    char many[20 * 4 + 1] = "";
    for (int i = 0; i < 17; i++)
        strcat(many, "a:b\n");
    assert_int_equal(function_specs_parse(&parsed, many, &error), -E2BIG);
    assert_int_equal(error.place, 64);
}

static void files(void **state) {
    (void)state;
    static struct function_specs parsed;
    struct choice_error error;
    function_specs_parse(&parsed, "libssl*:x\n/usr/*/nginx:x\nnginx:SSL_*", &error);
    assert_true(function_spec_is_in(&parsed.all[0], "/usr/lib/libssl.so.3"));
    assert_false(function_spec_is_in(&parsed.all[0], "/usr/lib/libcrypto.so.3"));
    assert_true(function_spec_is_in(&parsed.all[1], "/usr/sbin/nginx"));
    assert_false(function_spec_is_in(&parsed.all[1], "/opt/sbin/nginx"));
    assert_true(function_spec_is_in(&parsed.all[2], "/opt/nginx"));
    assert_true(function_spec_matches(&parsed.all[2], "SSL_read@@X", 8));
    assert_false(function_spec_matches(&parsed.all[2], "SSL_read", 3));
    function_specs_parse(&parsed, "a:ns::work*", &error);
    assert_true(function_spec_matches(&parsed.all[0], "_ZN2ns4workEi", 13));
    assert_false(function_spec_matches(&parsed.all[0], "_ZN2ns4walkEi", 13));
}

static void names(void **state) {
    (void)state;
    static const char *const unsafe[] = {"setjmp", "_setjmp", "__sigsetjmp", "vfork",
                                         "_start", "__vfork", "swapcontext", "_dl_runtime_resolve_xsavec"};
    static const char *const safe[] = {"start_thread", "longjmp_x", "main", "restore", "clone_child", "mcount_of"};
    for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
        if (function_untimed_name(unsafe[i]) != UNTIMED_NAME)
            fail_msg("%s", unsafe[i]);
    for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++)
        if (function_untimed_name(safe[i]) != UNTIMED_NOT)
            fail_msg("%s", safe[i]);
    assert_true(function_is_fragment("work.cold", 9));
    assert_true(function_is_fragment("work.cold.12", 12));
    assert_false(function_is_fragment("work.coldest", 12));
    assert_false(function_is_fragment("work.isra.0", 11));
}

// ---- a forged ELF file ----

struct symbol {
    const char *name;
    uint64_t value;
    unsigned type;
    bool undefined;
};

static int forge(const struct symbol *symbols, size_t n, const char *extra) {
    static const char titles[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0";
    char strings[1024] = "", headers[128];
    Elf64_Sym table[32] = {0};
    size_t at = 1, titles_size = sizeof(titles) - 1;
    for (size_t i = 0; i < n; i++) {
        table[i + 1] = (Elf64_Sym){.st_name = (Elf64_Word)at,
                                   .st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, symbols[i].type),
                                   .st_shndx = symbols[i].undefined ? SHN_UNDEF : 1,
                                   .st_value = symbols[i].value,
                                   .st_size = 16};
        at += (size_t)snprintf(strings + at, sizeof(strings) - at, "%s", symbols[i].name) + 1;
    }
    memcpy(headers, titles, titles_size);
    memcpy(headers + titles_size, extra, strlen(extra) + 1);
    const uint64_t text = 0x1000, symtab = 0x2000, strtab = 0x3000, shstrtab = 0x3800, sections = 0x4000;
    const Elf64_Shdr rows[6] = {
        {0},
        {1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x401000, text, 0x1000, 0, 0, 16, 0},
        {7, SHT_SYMTAB, 0, 0, symtab, (n + 1) * sizeof(Elf64_Sym), 3, 1, 8, sizeof(Elf64_Sym)},
        {15, SHT_STRTAB, 0, 0, strtab, at, 0, 0, 1, 0},
        {23, SHT_STRTAB, 0, 0, shstrtab, titles_size + strlen(extra) + 1, 0, 0, 1, 0},
        {(Elf64_Word)titles_size, SHT_PROGBITS, 0, 0, text, 16, 0, 0, 1, 0},
    };
    const Elf64_Phdr segment = {PT_LOAD, PF_R | PF_X, text, 0x401000, 0x401000, 0x1000, 0x1000, 0x1000};
    Elf64_Ehdr header = {.e_type = ET_EXEC,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof(header),
                         .e_shoff = sections,
                         .e_ehsize = sizeof(header),
                         .e_phentsize = sizeof(segment),
                         .e_phnum = 1,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = *extra ? 6 : 5,
                         .e_shstrndx = 4};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    int fd = memfd_create("forged", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0x5000), 0);
    assert_true(pwrite(fd, &header, sizeof(header), 0) > 0 &&
                pwrite(fd, &segment, sizeof(segment), sizeof(header)) > 0);
    assert_true(pwrite(fd, table, sizeof(table), (off_t)symtab) > 0 && pwrite(fd, strings, at, (off_t)strtab) > 0);
    assert_true(pwrite(fd, headers, sizeof(headers), (off_t)shstrtab) > 0);
    assert_true(pwrite(fd, rows, sizeof(rows), (off_t)sections) > 0);
    return fd;
}

static const struct symbol program[] = {
    {"__work", 0x401010, STT_FUNC, false},       {"work", 0x401010, STT_FUNC, false},
    {"work.cold", 0x401030, STT_FUNC, false},    {"_ZN2ns4workEi", 0x401040, STT_FUNC, false},
    {"workmem", 0x401050, STT_GNU_IFUNC, false}, {"workdata", 0x401060, STT_OBJECT, false},
    {"worklabel", 0x401070, STT_NOTYPE, false},  {"workplt", 0, STT_FUNC, true},
    {"work2", 0x401080, STT_FUNC, false},        {"work2", 0x401090, STT_FUNC, false},
    {"workout", 0x501080, STT_FUNC, false},      {"setjmp", 0x4010a0, STT_FUNC, false},
};

static int look(struct function_choice *choice, const char *list, const char *extra, struct choice_error *error) {
    memset(choice, 0, sizeof(*choice));
    assert_int_equal(function_specs_parse(&choice->specs, list, error), 0);
    choice->objects[0] = (struct function_object){.path = xstrdup("/opt/prog"),
                                                  .fd = forge(program, sizeof(program) / sizeof(program[0]), extra),
                                                  .specs = (1u << choice->specs.n) - 1};
    choice->n_objects = 1;
    struct function_matches *matches = function_matches_new(choice);
    int result = function_matches_add(matches, choice, 0, 0);
    if (!result)
        result = function_matches_take(matches, choice, error);
    function_matches_free(matches);
    return result;
}

static void symbols(void **state) {
    (void)state;
    struct function_choice *choice = xcalloc(1, sizeof(*choice));
    struct choice_error error;
    if (look(choice, "prog:*work*\nprog:setjmp", "", &error))
        fail_msg("%s", error.sentence);
    static const struct {
        const char *name;
        uint64_t offset;
    } expected[] = {
        {"work", 0x1010}, {"ns::work", 0x1040}, {"work2@0x1080", 0x1080}, {"work2@0x1090", 0x1090}, {"setjmp", 0x10a0}};
    assert_int_equal(choice->n_functions, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(choice->functions[i].name, expected[i].name);
        assert_int_equal(choice->functions[i].offset, expected[i].offset);
        assert_int_equal(choice->functions[i].untimed, i == 4 ? UNTIMED_NAME : UNTIMED_NOT);
    }
    assert_int_equal(choice->ifuncs, 1);
    function_choice_free(choice);
    assert_int_equal(look(choice, "prog:work", ".gopclntab", &error), 0);
    assert_int_equal(choice->functions[0].untimed, UNTIMED_GO);
    function_choice_free(choice);
    static const struct {
        const char *list, *words;
    } wrong[] = {
        {"prog:workmem", "workmem is an IFUNC"}, {"prog:workplt", "only calls it through its PLT"},
        {"prog:workdata", "is a variable"},      {"prog:wrok2", "did you mean work2?"},
        {"prog:none*", "has no such function"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_true(look(choice, wrong[i].list, "", &error) < 0);
        if (!strstr(error.sentence, wrong[i].words))
            fail_msg("%s: %s", wrong[i].list, error.sentence);
        assert_int_equal(error.place, 5);
        function_choice_free(choice);
    }
    // One that several patterns name is of the one that counts it.
    assert_int_equal(look(choice, "start prog:work\nprog:*work\nstop prog:work2", "", &error), 0);
    assert_int_equal(choice->functions[0].roles, FUNCTION_COUNTED | FUNCTION_START);
    assert_int_equal(choice->functions[0].spec, 1);
    assert_int_equal(choice->functions[2].roles, FUNCTION_STOP);
    function_choice_free(choice);
    free(choice);
}

static void no_elf(void **state) {
    (void)state;
    struct function_choice *choice = xcalloc(1, sizeof(*choice));
    struct choice_error error;
    function_specs_parse(&choice->specs, "prog:x", &error);
    choice->objects[0] =
        (struct function_object){.path = xstrdup("/opt/prog"), .fd = memfd_create("empty", MFD_CLOEXEC), .specs = 1};
    choice->n_objects = 1;
    struct function_matches *matches = function_matches_new(choice);
    assert_int_equal(function_matches_add(matches, choice, 0, 0), -ENOEXEC);
    function_matches_free(matches);
    function_choice_free(choice);
    free(choice);
}

// What this very process maps.
static void own_process(void **state) {
    (void)state;
    struct function_choice *choice = xcalloc(1, sizeof(*choice));
    struct choice_error error;
    const pid_t pid = getpid();
    function_specs_parse(&choice->specs, "test_functions*:own_process\ntest_functions:no_elf > 1ms", &error);
    if (function_choice_find(choice, &pid, 1, &error))
        fail_msg("%s", error.sentence);
    assert_int_equal(choice->n_objects, 1);
    assert_int_equal(choice->n_users, 1);
    assert_int_equal(choice->users[0].pid, pid);
    assert_int_equal(choice->n_functions, 2);
    function_choice_free(choice);
    function_specs_parse(&choice->specs, "test_function:main", &error);
    assert_int_equal(function_choice_find(choice, &pid, 1, &error), -ENOENT);
    assert_non_null(strstr(error.sentence, "did you mean test_functions?"));
    function_choice_free(choice);
    free(choice);
}

// Lists of the kernel's functions, as three kernels have them.
static void kernel_lists(void **state) {
    (void)state;
    static const struct {
        const char *list, *text;
        enum kernel_list kind;
        size_t n;
        const char *name, *object;
    } cases[] = {
        {"vfs_r*", "vfs_open\nvfs_read\nvfs_readv\nnfs_read [nfs]\n", LIST_NAMES, 2, "vfs_read", "[kernel]"},
        {":mod:nfs", "vfs_open\nnfs_read [nfs]\nnfsd_read [nfsd]\n", LIST_NAMES, 1, "nfs_read", "[nfs]"},
        {"*_read:mod:nfs", "nfs_open [nfs]\nnfs_read [nfs]\n", LIST_NAMES, 1, "nfs_read", "[nfs]"},
        {"vfs_*", "ffffffff81234560 T vfs_read\nffffffff81234570 d vfs_data\nffffffffc0000000 t vfs_x\t[mod]\n",
         LIST_KALLSYMS, 2, "vfs_read", "[kernel]"},
        {"dup", "dup\ndup\n", LIST_NAMES, 1, "dup", "[kernel]"},
    };
    struct function_choice *choice = xcalloc(1, sizeof(*choice));
    struct choice_error error;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = xstrdup(cases[i].text);
        assert_int_equal(function_specs_parse(&choice->specs, cases[i].list, &error), 0);
        if (kernel_functions_match(choice, text, cases[i].kind, &error))
            fail_msg("%s: %s", cases[i].list, error.sentence);
        assert_int_equal(choice->n_functions, cases[i].n);
        assert_string_equal(choice->functions[0].name, cases[i].name);
        assert_string_equal(choice->objects[choice->functions[0].object].path, cases[i].object);
        assert_int_equal(choice->users[0].pid, FUNCTION_KERNEL_PID);
        function_choice_free(choice);
        free(text);
    }
    static const struct {
        const char *list, *words;
    } wrong[] = {{"vfs_raed", "the kernel has no such function; did you mean vfs_read?"},
                 {"nfs_*:mod:nfs", "in the module nfs (is it loaded?)"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[] = "vfs_open\nvfs_read\n";
        function_specs_parse(&choice->specs, wrong[i].list, &error);
        assert_int_equal(kernel_functions_match(choice, text, LIST_NAMES, &error), -ENOENT);
        if (!strstr(error.sentence, wrong[i].words))
            fail_msg("%s: %s", wrong[i].list, error.sentence);
        function_choice_free(choice);
    }
    char *many = xcalloc(1, 16 * 300);
    for (int i = 0; i < 300; i++)
        sprintf(many + strlen(many), "many_%d\n", i);
    function_specs_parse(&choice->specs, "*", &error);
    assert_int_equal(kernel_functions_match(choice, many, LIST_NAMES, &error), -E2BIG);
    assert_non_null(strstr(error.sentence, "300 functions match, more than the limit of 256"));
    function_choice_free(choice);
    free(many);
    free(choice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs),       cmocka_unit_test(spec_errors),  cmocka_unit_test(files),
        cmocka_unit_test(names),       cmocka_unit_test(symbols),      cmocka_unit_test(no_elf),
        cmocka_unit_test(own_process), cmocka_unit_test(kernel_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
