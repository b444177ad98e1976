// Names of functions and of the files that have them, for the prompts of patterns and of probes. Nothing is attached.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/collector.h"
#include "collectors/functions/kernel.h"
#include "collectors/functions/match.h"
#include "collectors/name_list.h"
#include "model/mem.h"

#define SETS_MAX 8 // the oldest goes first

// Keys of sets that are not those of files, whose key is the file as it was typed.
#define KEY_KERNEL ":kernel"
#define KEY_MODULES ":modules"
#define KEY_FILES ":files"
#define KEY_PATHS ":paths"

struct names {
    const struct collect_options *options;
    struct kept_set {
        char *key; // NULL: none
        struct name_set *names;
        char reason[256]; // why there are none
    } sets[SETS_MAX];
    size_t newest;
};

#define CALL_PADDING "__pfx_" // the bytes before a function, of CONFIG_CALL_PADDING

// /proc/kallsyms names these like modules: BPF programs, and trampolines of the kernel itself.
static bool is_module(const char *name) {
    return *name && strcmp(name, "bpf") != 0 && strncmp(name, "__builtin__", strlen("__builtin__")) != 0;
}

// What a text is completed with.
struct wanted {
    size_t from;
    bool kernel, modules, files, none;
    char object[512]; // "": no file
};

// ---- reading ----

void kernel_names_add(struct name_set *names, char *text, enum kernel_list kind, bool modules) {
    struct kernel_name name;
    while (text && *text) {
        if (!kernel_line_parse(&text, kind, &name))
            continue;
        if (modules && is_module(name.module))
            name_set_add(names, name.module, strlen(name.module));
        if (!modules && strncmp(name.name, CALL_PADDING, strlen(CALL_PADDING)) != 0 &&
            !function_is_fragment(name.name, strlen(name.name)))
            name_set_add(names, name.name, strlen(name.name));
    }
}

static void kernel_read(struct kept_set *set, bool modules) {
    enum kernel_list kind;
    int list_error;
    char *text = kernel_functions_read(&kind, &list_error);
    if (!text)
        snprintf(set->reason, sizeof(set->reason), "the kernel's list of functions cannot be read: %s",
                 strerror(errno));
    kernel_names_add(set->names, text, kind, modules);
    free(text);
}

// As a pattern names a file. A colon or an escaped newline in a name cannot be typed.
static void name_add(struct name_set *names, const char *name) {
    char object[NAME_BYTES_MAX + 1];
    if (strlen(name) + 3 < sizeof(object) - 3 && !strpbrk(name, ":\\"))
        name_set_add(names, object, (size_t)snprintf(object, sizeof(object), "%s:", name));
}

static void file_name_add(void *context, const char *path) {
    name_add(context, strrchr(path, '/') + 1);
}

static void file_path_add(void *context, const char *path) {
    name_add(context, path);
}

static void files_read(struct kept_set *set, const struct collect_options *options, bool paths) {
    mapped_files_each(options->pids, options->n_pids, paths ? file_path_add : file_name_add, set->names);
}

static void object_read(struct kept_set *set, const struct collect_options *options, const char *object) {
    struct function_choice *choice = xcalloc(1, sizeof(*choice));
    struct choice_error error = {.sentence = ""};
    char spec[600];
    snprintf(spec, sizeof(spec), "%s:*", object);
    if (!function_specs_parse(&choice->specs, spec, &error))
        function_objects_find(choice, options->pids, options->n_pids, &error);
    for (size_t i = 0; i < choice->n_objects; i++) {
        pid_t pid = 0;
        for (size_t k = 0; k < choice->n_users && !pid; k++)
            if (choice->users[k].object == i)
                pid = choice->users[k].pid;
        int code = function_names_add(set->names, &choice->objects[i], pid);
        if (code)
            snprintf(error.sentence, sizeof(error.sentence), "%.120s: %s", choice->objects[i].path,
                     code == -ENOEXEC ? "not an ELF file" : strerror(-code));
    }
    memcpy(set->reason, error.sentence, sizeof(set->reason));
    function_choice_free(choice);
    free(choice);
}

static void set_drop(struct kept_set *set) {
    free(set->key);
    name_set_free(set->names);
    *set = (struct kept_set){.key = NULL};
}

static const struct kept_set *set_of(struct names *names, const char *key) {
    for (size_t i = 0; i < SETS_MAX; i++)
        if (names->sets[i].key && !strcmp(names->sets[i].key, key))
            return &names->sets[i];
    names->newest = (names->newest + 1) % SETS_MAX;
    struct kept_set *set = &names->sets[names->newest];
    set_drop(set);
    set->key = xstrdup(key);
    set->names = name_set_new();
    if (!strcmp(key, KEY_KERNEL) || !strcmp(key, KEY_MODULES))
        kernel_read(set, !strcmp(key, KEY_MODULES));
    else if (*key == ':')
        files_read(set, names->options, !strcmp(key, KEY_PATHS));
    else
        object_read(set, names->options, key);
    name_set_seal(set->names);
    return set;
}

// ---- what is typed ----

// "FUNCTION[,FUNCTION] [without=FUNCTION] [start=FUNCTION] ...", after "graph".
static void graph_wanted(struct wanted *wanted, const char *text, const char *at) {
    const char *word = strrchr(at, ' '), *comma = strrchr(at, ',');
    at += strspn(at, " !");
    if (word && word >= at) {
        size_t name = strcspn(word, "=");
        wanted->none = !word[name] || !strncmp(word + 1, "depth=", 6);
        at = word + 1 + (wanted->none ? 0 : name);
    }
    if (comma && comma >= at)
        at = comma + 1;
    wanted->from = (size_t)(at - text);
    wanted->kernel = true;
}

// "[OBJECT:]GLOB" or "GLOB:mod:MODULE"; a slash at the begin: a path.
static void place_wanted(struct wanted *wanted, const char *text, const char *at) {
    const char *module = strstr(at, FUNCTION_SPEC_MODULE);
    if (module) {
        module += strlen(FUNCTION_SPEC_MODULE);
        wanted->from = (size_t)(module - text);
        wanted->modules = true;
        wanted->none = strchr(module, ' ');
        return;
    }
    const char *colon = function_spec_separator(at, at + strlen(at));
    wanted->none = strstr(at, " >") || (colon && colon - at >= (long)sizeof(wanted->object)) || colon == at;
    if (colon && !wanted->none)
        snprintf(wanted->object, sizeof(wanted->object), "%.*s", (int)(colon - at), at);
    wanted->from = (size_t)((colon ? colon + 1 : at) - text);
    wanted->files = !colon;
    wanted->kernel = !colon && *at != '/';
}

static void pattern_wanted(struct wanted *wanted, const char *text) {
    const char *at = text + strspn(text, " ");
    if (!strncmp(at, "graph ", 6)) {
        graph_wanted(wanted, text, at + 6);
        return;
    }
    at += strspn(at, "! ");
    if (!strncmp(at, "start ", 6) || !strncmp(at, "stop ", 5))
        at = strchr(at, ' ');
    place_wanted(wanted, text, at + strspn(at, " "));
}

// "p[:NAME] PLACE". A slash or ".so" marks a file (collectors/probes/spec.h).
static void probe_wanted(struct wanted *wanted, const char *text) {
    const char *at = text + strspn(text, "! "), *place = strchr(at, ' ');
    wanted->none = !place || !strchr("prf", *at) || !strchr("0123456789: ", at[1]);
    if (wanted->none)
        return;
    place += strspn(place, " ");
    place_wanted(wanted, text, place);
    bool file = strchr(place, '/') || strstr(place, ".so");
    wanted->none |= wanted->modules || strchr(place, ' ') || (wanted->object[0] && !file);
    wanted->files = file && !wanted->object[0];
}

// ---- the source ----

static void *names_open(const struct collect_options *options) {
    struct names *names = xcalloc(1, sizeof(*names));
    names->options = options;
    return names;
}

static void names_close(void *state) {
    struct names *names = state;
    for (size_t i = 0; i < SETS_MAX; i++)
        set_drop(&names->sets[i]);
    free(names);
}

static void complete(struct names *names, const struct wanted *wanted, const char *text, struct name_list *out) {
    const struct name_set *sets[2];
    size_t n = 0;
    out->from = wanted->from;
    if (wanted->none)
        return;
    out->what = wanted->files       ? wanted->kernel ? "files and kernel functions" : "files"
                : wanted->modules   ? "kernel modules"
                : wanted->object[0] ? "functions"
                                    : "kernel functions";
    const char *keys[] = {wanted->files ? text[wanted->from] == '/' ? KEY_PATHS : KEY_FILES : NULL,
                          wanted->kernel    ? KEY_KERNEL
                          : wanted->modules ? KEY_MODULES
                                            : NULL,
                          wanted->object[0] ? wanted->object : NULL};
    for (size_t i = 0; i < 3; i++) {
        if (!keys[i])
            continue;
        const struct kept_set *set = set_of(names, keys[i]);
        sets[n++] = set->names;
        if (!out->reason[0])
            memcpy(out->reason, set->reason, sizeof(out->reason));
    }
    name_matches_find(&out->matches, text + wanted->from, sets, n);
    if (out->matches.total)
        out->reason[0] = '\0';
}

static void patterns_complete(void *state, const char *text, struct name_list *out) {
    struct wanted wanted = {.from = 0};
    pattern_wanted(&wanted, text);
    complete(state, &wanted, text, out);
}

static void probes_complete(void *state, const char *text, struct name_list *out) {
    struct wanted wanted = {.from = 0};
    probe_wanted(&wanted, text);
    complete(state, &wanted, text, out);
}

const struct name_source function_names = {names_open, patterns_complete, names_close};
const struct name_source probe_names = {names_open, probes_complete, names_close};
