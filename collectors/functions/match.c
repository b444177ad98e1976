// Choosing functions by their names; see the header.
#include "collectors/functions/match.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/symbols/debug_file.h"
#include "collectors/kernel/symbols/demangle.h"
#include "collectors/kernel/symbols/elf_names.h"
#include "collectors/kernel/symbols/xz.h"
#include "model/mem.h"
#include "model/nearest.h"

#define NEAR_MAX 20000  // names that a misspelt one is compared with
#define KEPT_MAX 100000 // matches; only their number is of interest above FUNCTIONS_MAX
#define MINI_MAX (32u << 20)

struct of_spec { // what one specification met
    size_t functions, ifuncs, undefined, data, symbols;
    char target[96];
    char **near;
    size_t n_near;
};

struct function_matches {
    struct function *all;
    size_t n, capacity;
    struct of_spec specs[FUNCTION_SPECS_MAX];
    // of the file that is looked at
    const struct elf_file *elf;
    const struct function_choice *choice;
    uint8_t object;
    size_t first; // of its functions
    bool unwinds;
};

struct function_matches *function_matches_new(const struct function_choice *choice) {
    struct function_matches *matches = xcalloc(1, sizeof(*matches));
    for (size_t i = 0; i < choice->specs.n; i++)
        if (!strpbrk(choice->specs.all[i].glob, "*?["))
            matches->specs[i].near = xcalloc(NEAR_MAX + 1, sizeof(char *));
    return matches;
}

void function_matches_free(struct function_matches *matches) {
    for (size_t i = 0; i < FUNCTION_SPECS_MAX; i++) {
        for (size_t k = 0; k < matches->specs[i].n_near; k++)
            free(matches->specs[i].near[k]);
        free(matches->specs[i].near);
    }
    free(matches->all);
    free(matches);
}

// ---- what a name says ----

// They save their return address and return to it twice, or leave the stack: a return probe has replaced it by then.
enum function_untimed function_untimed_name(const char *name) {
    static const char *const names[] = {"setjmp",      "sigsetjmp", "getcontext", "swapcontext", "vfork",
                                        "clone",       "clone3",    "start",      "restore_rt",  "dl_runtime_resolve",
                                        "setcontext",  "fentry",    "mcount",     "savectx",     "makecontext",
                                        "thread_start"};
    name += strspn(name, "_");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n = strlen(names[i]);
        if (!strncmp(name, names[i], n) && (!name[n] || (i == 9 && name[n] == '_')))
            return UNTIMED_NAME;
    }
    return UNTIMED_NOT;
}

bool function_is_fragment(const char *name, size_t length) {
    static const char cold[] = ".cold";
    const char *at = memmem(name, length, cold, sizeof(cold) - 1);
    return at && (at + 5 == name + length || at[5] == '.');
}

// ---- symbols of one file ----

static void near_add(struct of_spec *spec, const char *name, size_t length) {
    if (!spec->near || spec->n_near == NEAR_MAX || length >= 100)
        return;
    spec->near[spec->n_near++] = memcpy(xcalloc(1, length + 1), name, length);
}

static void function_add(struct function_matches *matches, uint8_t spec, uint64_t address, const char *name,
                         size_t length) {
    char symbol[512], plain[DEMANGLED_MAX];
    uint64_t offset;
    if (!elf_offset(matches->elf, address, true, &offset) || matches->n == KEPT_MAX)
        return;
    snprintf(symbol, sizeof(symbol), "%.*s", (int)length, name);
    demangle(symbol, plain);
    if (matches->n == matches->capacity) {
        matches->capacity = matches->capacity ? 2 * matches->capacity : 64;
        matches->all = xrealloc(matches->all, matches->capacity * sizeof(*matches->all));
    }
    struct function *function = &matches->all[matches->n++];
    *function = (struct function){.object = matches->object,
                                  .spec = spec,
                                  .roles = (uint8_t)matches->choice->specs.all[spec].role,
                                  .offset = offset};
    snprintf(function->name, sizeof(function->name), "%.*s", FUNCTION_NAME_SIZE - 1, plain);
    function->untimed = function_untimed_name(symbol);
    matches->specs[spec].functions++;
}

static void symbol_look(void *context, const GElf_Sym *symbol, const char *name) {
    struct function_matches *matches = context;
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    size_t length = strcspn(name + (*name == '@'), "@") + (*name == '@');
    bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
    // As "__gxx_personality_v0@CXXABI_1.3" or "DW.ref.__gxx_personality_v0" as well.
    matches->unwinds |= strstr(name, "gxx_personality_v0") || strstr(name, "rust_eh_personality");
    for (size_t i = 0; i < matches->choice->specs.n; i++) {
        struct of_spec *of = &matches->specs[i];
        if (!(matches->choice->objects[matches->object].specs >> i & 1))
            continue;
        of->symbols++;
        if (!is_function && type != STT_OBJECT && type != STT_NOTYPE)
            continue;
        if (!function_spec_matches(&matches->choice->specs.all[i], name, length)) {
            if (is_function && symbol->st_shndx != SHN_UNDEF)
                near_add(of, name, length);
            continue;
        }
        if (symbol->st_shndx == SHN_UNDEF)
            of->undefined++;
        else if (type == STT_GNU_IFUNC)
            of->ifuncs++;
        else if (!is_function)
            of->data += type == STT_OBJECT;
        else if (!function_is_fragment(name, length))
            function_add(matches, (uint8_t)i, symbol->st_value, name, length);
    }
}

static int by_place(const void *a, const void *b) {
    const struct function *x = a, *y = b;
    if (x->object != y->object || x->offset != y->offset)
        return x->object != y->object ? (x->object < y->object ? -1 : 1) : x->offset < y->offset ? -1 : 1;
    size_t under_x = strspn(x->name, "_"), under_y = strspn(y->name, "_");
    if (under_x != under_y)
        return under_x < under_y ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->spec > y->spec) - (x->spec < y->spec);
}

// One function for each place: the name with the fewest leading underscores.
static void aliases_drop(struct function_matches *matches, size_t first) {
    size_t kept = first;
    if (matches->n > first)
        qsort(matches->all + first, matches->n - first, sizeof(*matches->all), by_place);
    for (size_t i = first; i < matches->n; i++) {
        struct function *function = &matches->all[i];
        if (kept > first && matches->all[kept - 1].object == function->object &&
            matches->all[kept - 1].offset == function->offset) {
            matches->all[kept - 1].untimed |= function->untimed;
            function_join(&matches->all[kept - 1], function->spec, function->roles);
            continue;
        }
        matches->all[kept++] = *function;
    }
    matches->n = kept;
}

// Symbols that the distribution left in the file, packed.
static void mini_each(const struct elf_file *elf, elf_name_fn *fn, void *context) {
    const GElf_Shdr *section = elf_file_section(elf, ".gnu_debugdata");
    size_t size = 0, unpacked = 0;
    uint8_t *packed = section ? elf_file_section_bytes(elf, section, MINI_MAX, &size) : NULL;
    uint8_t *bytes = packed ? xz_unpack(packed, size, &unpacked) : NULL;
    const struct elf_source source = {.bytes = bytes, .size = unpacked};
    struct elf_file mini = {0};
    if (bytes && !elf_file_open(&mini, &source))
        free(elf_names_each(&mini, ".symtab", fn, context));
    elf_file_close(&mini);
    free(bytes);
    free(packed);
}

// Every symbol: of .symtab, else of .dynsym and the debug file, or the packed ones.
static void symbols_each(const struct elf_file *elf, pid_t pid, const char *path, elf_name_fn *fn, void *context) {
    struct elf_file debug = {0};
    char *names = elf_names_each(elf, ".symtab", fn, context);
    if (!names) {
        names = elf_names_each(elf, ".dynsym", fn, context);
        int fd = debug_file_open(elf, pid, path, &debug);
        if (fd >= 0) {
            free(elf_names_each(&debug, ".symtab", fn, context));
            elf_file_close(&debug);
            close(fd);
        } else {
            mini_each(elf, fn, context);
        }
    }
    free(names);
}

static int elf_of(const struct function_object *object, struct elf_file *elf) {
    struct stat stat;
    *elf = (struct elf_file){0};
    if (fstat(object->fd, &stat))
        return -errno;
    return elf_file_open(elf, &(struct elf_source){.fd = object->fd, .size = (uint64_t)stat.st_size});
}

int function_matches_add(struct function_matches *matches, struct function_choice *choice, uint8_t number, pid_t pid) {
    struct function_object *object = &choice->objects[number];
    struct elf_file elf;
    int result = elf_of(object, &elf);
    if (!result) {
        matches->elf = &elf;
        matches->choice = choice;
        matches->object = number;
        matches->first = matches->n;
        matches->unwinds = false;
        object->is64 = elf.is64;
        object->machine = elf.machine;
        object->go = elf_is_go(&elf);
        symbols_each(&elf, pid, object->path, symbol_look, matches);
        aliases_drop(matches, matches->first);
        object->unwinds = matches->unwinds;
    }
    elf_file_close(&elf);
    return result;
}

static void name_look(void *context, const GElf_Sym *symbol, const char *name) {
    char text[512], plain[DEMANGLED_MAX];
    size_t length = strcspn(name + (*name == '@'), "@") + (*name == '@');
    if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || length >= sizeof(text) ||
        function_is_fragment(name, length))
        return;
    snprintf(text, sizeof(text), "%.*s", (int)length, name);
    demangle(text, plain);
    name_set_add(context, plain, strlen(plain));
}

int function_names_add(struct name_set *names, const struct function_object *object, pid_t pid) {
    struct elf_file elf;
    int result = elf_of(object, &elf);
    if (!result)
        symbols_each(&elf, pid, object->path, name_look, names);
    elf_file_close(&elf);
    return result;
}

// ---- all files ----

static int spec_judge(const struct function_spec *spec, struct of_spec *of, struct choice_error *error) {
    if (of->functions || !spec->object[0])
        return 0;
    if (of->ifuncs)
        return choice_refuse(
            error, -EINVAL, function_spec_place(spec),
            "%.60s is an IFUNC: it only selects the function that is called; choose that one, for example "
            "with %.60s_*",
            spec->glob, spec->glob);
    if (of->undefined)
        return choice_refuse(error, -ENOENT, function_spec_place(spec),
                             "%.60s: the file only calls it through its PLT: choose the library that defines it",
                             spec->glob);
    if (of->data)
        return choice_refuse(error, -EINVAL, function_spec_place(spec), "%.60s is a variable, not a function",
                             spec->glob);
    if (!of->symbols)
        return choice_refuse(error, -ENOENT, function_spec_place(spec),
                             "%.60s: the file has no symbols: install its debug package", spec->object);
    if (of->near)
        of->near[of->n_near] = NULL;
    const char *nearest = of->near ? name_nearest(spec->glob, (const char *const *)of->near) : NULL;
    return choice_refuse(error, -ENOENT, function_spec_place(spec), "%.60s: %.60s has no such function%s%.60s%s",
                         spec->glob, spec->object, nearest ? "; did you mean " : "", nearest ? nearest : "",
                         nearest ? "?" : "");
}

static void untimed_set(struct function_choice *choice) {
    for (size_t i = 0; i < choice->n_functions; i++) {
        struct function *function = &choice->functions[i];
        const struct function_object *object = &choice->objects[function->object];
        if (object->go)
            function->untimed = UNTIMED_GO;
        else if (object->unwinds && !choice->specs.all[function->spec].forced && !function->untimed)
            function->untimed = UNTIMED_UNWINDS;
    }
}

// Functions of one name, which static ones of several source files may have.
static void names_part(struct function_choice *choice) {
    bool same[FUNCTIONS_MAX] = {false};
    for (size_t i = 0; i < choice->n_functions; i++)
        for (size_t k = 0; k < choice->n_functions; k++)
            same[i] |= k != i && choice->functions[k].object == choice->functions[i].object &&
                       !strcmp(choice->functions[k].name, choice->functions[i].name);
    for (size_t i = 0; i < choice->n_functions; i++) {
        struct function *function = &choice->functions[i];
        char name[FUNCTION_NAME_SIZE];
        memcpy(name, function->name, sizeof(name));
        if (same[i])
            snprintf(function->name, sizeof(function->name), "%.130s@0x%llx", name,
                     (unsigned long long)function->offset);
    }
}

int function_matches_take(struct function_matches *matches, struct function_choice *choice,
                          struct choice_error *error) {
    for (size_t i = 0; i < choice->specs.n; i++) {
        int result = spec_judge(&choice->specs.all[i], &matches->specs[i], error);
        if (result)
            return result;
        choice->ifuncs += matches->specs[i].ifuncs;
    }
    if (matches->n > FUNCTIONS_MAX) {
        size_t most = 0;
        for (size_t i = 0; i < choice->specs.n; i++)
            most = matches->specs[i].functions > matches->specs[most].functions ? i : most;
        return choice_refuse(error, -E2BIG, function_spec_place(&choice->specs.all[most]),
                             "%.60s: %zu functions match, more than the limit of %d: give a longer name, or one file",
                             choice->specs.all[most].text, matches->n, FUNCTIONS_MAX);
    }
    choice->functions = matches->all;
    choice->n_functions = matches->n;
    matches->all = NULL;
    names_part(choice);
    untimed_set(choice);
    return 0;
}
