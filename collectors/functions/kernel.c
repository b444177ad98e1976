// Functions of the kernel; see the header.
#include "collectors/functions/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/clock.h"
#include "model/mem.h"
#include "model/nearest.h"

#define PMU "/sys/bus/event_source/devices/kprobe/"
#define TRIAL_CALLS 500
#define LIST_MAX (64u << 20) // bytes of a list of functions
#define NEAR_MAX 50000
#if defined(__x86_64__)
#define TRIAL_FUNCTION "__x64_sys_getppid"
#else
#define TRIAL_FUNCTION "__arm64_sys_getppid"
#endif

// ---- attaching ----

static int pmu_number(const char *file, const char *format) {
    char text[64];
    int value = -ENODEV, fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return sscanf(text, format, &value) == 1 ? value : -ENODEV;
}

static int pmu_open(const char *name, bool returns) {
    int type = pmu_number(PMU "type", "%d"), bit = pmu_number(PMU "format/retprobe", "config:%d");
    struct perf_event_attr attr = {.type = (uint32_t)type,
                                   .size = sizeof(attr),
                                   .config = returns && bit >= 0 ? 1ull << (bit & 63) : 0,
                                   .kprobe_func = (uintptr_t)name};
    return type < 0 ? type : perf_open_attr(&attr, -1, 0, -1); // its program runs on every CPU
}

static void program_make(struct bpf_code *code, const struct function_maps *maps, const struct kernel_places *places,
                         uint32_t index, bool returns) {
    struct function_abi abi = *places->abi;
    abi.kernel = true;
    abi.place = index;
    if (returns)
        function_return_program(code, maps, &abi);
    else
        function_entry_program(code, maps, &abi);
}

static int pmu_attach(struct uprobes *probes, const struct function_maps *maps, const struct kernel_places *places,
                      bool returns, size_t *refused) {
    struct bpf_code *code = xcalloc(1, sizeof(*code));
    int error = 0;
    for (size_t i = 0; i < places->n && !error; i++) {
        program_make(code, maps, places, places->indexes[i], returns);
        int program = bpf_load(code, BPF_PROG_TYPE_KPROBE, returns ? "ktop_fn_return" : "ktop_fn_entry");
        if (program < 0) {
            error = program;
            break;
        }
        int event = pmu_open(places->names[i], returns);
        error = event < 0 ? event : bpf_attach_perf(program, event);
        close(program);
        if (event >= 0)
            uprobes_keep(probes, event);
        if (error != -EINVAL && error != -ENOENT && error != -EADDRNOTAVAIL)
            continue;
        error = 0; // on the kernel's list of functions without probes, or one of several with this name
        ++*refused;
    }
    free(code);
    return error;
}

static int link_attach(struct uprobes *probes, const struct function_maps *maps, const struct kernel_places *places,
                       bool returns) {
    struct bpf_code *code = xcalloc(1, sizeof(*code));
    uint64_t *cookies = xcalloc(places->n, sizeof(*cookies));
    for (size_t i = 0; i < places->n; i++)
        cookies[i] = places->indexes[i];
    program_make(code, maps, places, PLACE_BY_COOKIE, returns);
    int program = bpf_load_multi(code, BPF_KPROBE_MULTI, returns ? "ktop_fn_return" : "ktop_fn_entry");
    const struct bpf_kprobes kprobes = {
        .names = places->names, .cookies = cookies, .n = (uint32_t)places->n, .returns = returns};
    int link = program < 0 ? program : bpf_link_kprobes(program, &kprobes);
    if (program >= 0)
        close(program);
    if (link >= 0)
        uprobes_keep(probes, link);
    free(cookies);
    free(code);
    return link < 0 ? link : 0;
}

int kprobes_attach(struct uprobes *probes, const struct function_maps *maps, const struct kernel_places *places,
                   bool returns, size_t *refused) {
    const struct kernel_trial *trial = kernel_trial();
    if (!places->n)
        return 0;
    if (trial->way == KERNEL_LINK) {
        int error = link_attach(probes, maps, places, returns);
        // One name that is ambiguous, or a module's before Linux 6.3, fails them all.
        if (!error || trial->pmu_error)
            return error;
    }
    return trial->way ? pmu_attach(probes, maps, places, returns, refused) : trial->link_error;
}

// ---- a trial with a system call ----

static double calls_us(void) {
    uint64_t begin = now_ns();
    for (int i = 0; i < TRIAL_CALLS; i++)
        syscall(SYS_getppid);
    return (double)(now_ns() - begin) / 1e3 / TRIAL_CALLS;
}

static struct kernel_trial trial;
static pthread_once_t trial_once = PTHREAD_ONCE_INIT;

static int trial_way(enum kernel_way way, const struct kernel_places *places) {
    struct function_maps maps;
    struct uprobes probes = {.n = 0};
    size_t refused = 0;
    int error = function_maps_open(&maps, 2, &(struct function_uses){.kernel = true});
    for (int i = 0; i < 2 && !error; i++)
        error = way == KERNEL_LINK ? link_attach(&probes, &maps, places, i == 1)
                                   : pmu_attach(&probes, &maps, places, i == 1, &refused);
    if (!error && !refused) {
        maps.shared[1].timing = 1;
        trial.timed_us = calls_us();
        if (maps.shared[1].returns < TRIAL_CALLS)
            error = -EIO;
    }
    uprobes_detach(&probes);
    if (!error && refused)
        error = -EINVAL;
    if (!error) {
        double without = calls_us();
        trial.timed_us = trial.timed_us > without ? trial.timed_us - without : 0;
    }
    if (maps.shared)
        function_maps_close(&maps);
    return error;
}

static void trial_make(void) {
    const char *name = TRIAL_FUNCTION;
    const uint32_t index = 1; // a kernel that mistakes cookies has 0 for all
    const pid_t self = getpid();
    const struct function_abi abi = {.pids = &self, .n_pids = 1};
    const struct kernel_places places = {.abi = &abi, .names = &name, .indexes = &index, .n = 1};
    trial.link_error = trial_way(KERNEL_LINK, &places);
    double link_us = trial.timed_us;
    trial.pmu_error = pmu_number(PMU "type", "%d") < 0 ? -ENODEV
                      : trial.link_error               ? trial_way(KERNEL_PMU, &places)
                                                       : 0;
    trial.way = !trial.link_error ? KERNEL_LINK : !trial.pmu_error ? KERNEL_PMU : KERNEL_UNKNOWN;
    if (trial.way == KERNEL_LINK)
        trial.timed_us = link_us;
}

const struct kernel_trial *kernel_trial(void) {
    pthread_once(&trial_once, trial_make);
    return &trial;
}

// ---- names ----

static uint8_t object_of(struct function_choice *choice, const char *module) {
    char path[80];
    snprintf(path, sizeof(path), "[%.70s]", *module ? module : "kernel");
    for (size_t i = 0; i < choice->n_objects; i++)
        if (choice->objects[i].kernel && !strcmp(choice->objects[i].path, path))
            return (uint8_t)i;
    if (choice->n_objects == FUNCTION_OBJECTS_MAX || choice->n_users == FUNCTION_PROCESSES_MAX)
        return UINT8_MAX;
    uint8_t number = (uint8_t)choice->n_objects++;
    choice->objects[number] = (struct function_object){.path = xstrdup(path), .fd = -1, .kernel = true};
    choice->users[choice->n_users++] = (struct function_user){.pid = FUNCTION_KERNEL_PID, .object = number};
    return number;
}

bool kernel_line_parse(char **text, enum kernel_list kind, struct kernel_name *out) {
    char *at = *text, *end = at + strcspn(at, "\n");
    *text = end + (*end == '\n');
    *end = '\0';
    *out = (struct kernel_name){.module = ""};
    if (kind == LIST_KALLSYMS) {
        at += strcspn(at, " ");
        if (*at != ' ' || !at[1] || !strchr("tT", at[1]) || at[2] != ' ')
            return false;
        at += 3;
    }
    out->name = at;
    at += strcspn(at, " \t");
    if (at == out->name)
        return false;
    char *module = strchr(at, '[');
    *at = '\0';
    if (module && (end = strchr(module, ']'))) {
        *end = '\0';
        out->module = module + 1;
    }
    return true;
}

static void function_add(struct function_choice *choice, const struct kernel_name *name, uint8_t spec) {
    const uint8_t role = (uint8_t)choice->specs.all[spec].role;
    for (size_t i = 0; i < choice->n_functions; i++) { // of several patterns, or a name that several functions have
        struct function *function = &choice->functions[i];
        if (!choice->objects[function->object].kernel || strcmp(function->name, name->name) != 0)
            continue;
        function_join(function, spec, role);
        return;
    }
    uint8_t object = object_of(choice, name->module);
    if (object == UINT8_MAX)
        return;
    choice->functions = xrealloc(choice->functions, (choice->n_functions + 1) * sizeof(*choice->functions));
    struct function *function = &choice->functions[choice->n_functions++];
    *function = (struct function){.object = object, .spec = spec, .roles = role};
    snprintf(function->name, sizeof(function->name), "%s", name->name);
}

int kernel_functions_match(struct function_choice *choice, char *text, enum kernel_list kind,
                           struct choice_error *error) {
    size_t matches[FUNCTION_SPECS_MAX] = {0}, n_near = 0;
    const char **near = xcalloc(NEAR_MAX + 1, sizeof(*near));
    struct kernel_name name;
    int result = 0;
    while (*text) {
        if (!kernel_line_parse(&text, kind, &name))
            continue;
        if (n_near < NEAR_MAX)
            near[n_near++] = name.name;
        for (size_t i = 0; i < choice->specs.n; i++) {
            const struct function_spec *spec = &choice->specs.all[i];
            if (spec->object[0] || (spec->module[0] && strcmp(spec->module, name.module) != 0) ||
                !function_spec_matches(spec, name.name, strlen(name.name)))
                continue;
            if (++matches[i] <= FUNCTIONS_MAX)
                function_add(choice, &name, (uint8_t)i);
        }
    }
    for (size_t i = 0; i < choice->specs.n && !result; i++) {
        const struct function_spec *spec = &choice->specs.all[i];
        if (matches[i] > FUNCTIONS_MAX || (matches[i] && choice->n_functions > FUNCTIONS_MAX))
            result = choice_refuse(error, -E2BIG, function_spec_place(spec),
                                   "%.60s: %zu functions match, more than the limit of %d: give a longer name",
                                   spec->text, matches[i], FUNCTIONS_MAX);
        if (spec->object[0] || matches[i])
            continue;
        const char *nearest = strpbrk(spec->glob, "*?[") ? NULL : name_nearest(spec->glob, near);
        result = choice_refuse(error, -ENOENT, function_spec_place(spec),
                               "%.60s: the kernel has no such function%s%.60s%s%s%.60s%s", spec->glob,
                               spec->module[0] ? " in the module " : "", spec->module,
                               spec->module[0] ? " (is it loaded?)" : "", nearest ? "; did you mean " : "",
                               nearest ? nearest : "", nearest ? "?" : "");
    }
    free(near);
    return result;
}

// The whole file, which the caller frees; NULL with errno.
static char *file_read(const char *path) {
    size_t used = 0, size = 1u << 20;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = xmalloc(size);
    ssize_t n;
    while ((n = read(fd, text + used, size - used - 1)) > 0 && used < LIST_MAX) {
        used += (size_t)n;
        if (size - used < size / 4)
            text = xrealloc(text, size *= 2);
    }
    int error = n < 0 ? errno : used ? 0 : ENODATA;
    close(fd);
    text[used] = '\0';
    if (!error)
        return text;
    free(text);
    errno = error;
    return NULL;
}

char *kernel_functions_read(enum kernel_list *kind, int *list_error) {
    const char *dir = tracing_dir(NULL, NULL);
    char path[300], *text = NULL;
    *list_error = ENOENT;
    if (dir) {
        snprintf(path, sizeof(path), "%s/available_filter_functions", dir);
        text = file_read(path);
        *list_error = text ? 0 : errno;
    }
    *kind = text ? LIST_NAMES : LIST_KALLSYMS;
    return text ? text : file_read("/proc/kallsyms");
}

int kernel_functions_find(struct function_choice *choice, struct choice_error *error) {
    const struct function_spec *spec = NULL;
    int list_error;
    enum kernel_list kind;
    for (size_t i = 0; i < choice->specs.n && !spec; i++)
        spec = choice->specs.all[i].object[0] ? NULL : &choice->specs.all[i];
    if (!spec)
        return 0;
    const struct kernel_trial *works = kernel_trial();
    char *text = kernel_functions_read(&kind, &list_error);
    int error_number = errno;
    if (works->way == KERNEL_UNKNOWN) {
        free(text);
        return choice_refuse(
            error, -EOPNOTSUPP, function_spec_place(spec),
            "%.48s: functions of the kernel cannot be counted: kprobe_multi: %s; %s%s%s; functions of programs "
            "can (FILE:GLOB)",
            spec->text, strerror(-works->link_error),
            works->pmu_error == -ENODEV ? "no kprobes (CONFIG_KPROBES is off)" : "kprobes: ",
            works->pmu_error == -ENODEV ? "" : strerror(-works->pmu_error),
            list_error == EPERM ? "; the function tracer is not permitted" : "");
    }
    if (!text)
        return choice_refuse(error, -error_number, function_spec_place(spec),
                             "%.60s: the kernel's list of functions cannot be read: %s", spec->text,
                             strerror(error_number));
    int result = kernel_functions_match(choice, text, kind, error);
    free(text);
    return result;
}
