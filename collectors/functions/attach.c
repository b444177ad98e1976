// Attaching to processes; see the header.
#include "collectors/functions/attach.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/perf/perf.h"
#include "model/clock.h"
#include "model/mem.h"

#define PMU "/sys/bus/event_source/devices/uprobe/"
#define TRIAL_CALLS 32

struct pmu {
    int type; // -errno: there is none
    uint64_t retprobe;
};
static struct pmu pmu;
static pthread_once_t pmu_once = PTHREAD_ONCE_INIT;

static bool line_read(const char *path, char *out, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static void pmu_read(void) {
    char text[64];
    int bit = 0;
    pmu.type = line_read(PMU "type", text, sizeof(text)) ? atoi(text) : -ENODEV;
    if (line_read(PMU "format/retprobe", text, sizeof(text)))
        sscanf(text, "config:%d", &bit);
    pmu.retprobe = 1ull << (bit & 63);
}

static int event_open(const char *path, uint64_t offset, bool returns, pid_t pid) {
    struct perf_event_attr attr = {.type = (uint32_t)pmu.type,
                                   .size = sizeof(attr),
                                   .config = returns ? pmu.retprobe : 0,
                                   .uprobe_path = (uintptr_t)path,
                                   .probe_offset = offset};
    return perf_open_attr(&attr, pid, -1, -1);
}

// A process whose first thread has exited: another thread has the same memory.
static int thread_event_open(const char *path, uint64_t offset, bool returns, pid_t pid) {
    char dir[64];
    int event = -ESRCH;
    snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(dir);
    struct dirent *entry;
    while (tasks && event == -ESRCH && (entry = readdir(tasks)))
        if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != pid)
            event = event_open(path, offset, returns, atoi(entry->d_name));
    if (tasks)
        closedir(tasks);
    return event;
}

void uprobes_keep(struct uprobes *uprobes, int fd) {
    if (uprobes->n == uprobes->capacity) {
        uprobes->capacity = uprobes->capacity ? 2 * uprobes->capacity : 16;
        uprobes->fds = xrealloc(uprobes->fds, uprobes->capacity * sizeof(*uprobes->fds));
    }
    uprobes->fds[uprobes->n++] = fd;
}

static void program_make(struct bpf_code *code, const struct function_maps *maps, const struct uprobe_places *places,
                         uint32_t index, bool returns) {
    const struct function_abi abi = {.place = index, .returned_bytes = places->returned_bytes};
    if (returns)
        function_return_program(code, maps, &abi);
    else
        function_entry_program(code, maps, &abi);
}

static int pmu_attach(struct uprobes *uprobes, const struct function_maps *maps, const struct uprobe_places *places,
                      bool returns, const char *path, struct bpf_code *code) {
    int error = 0;
    for (size_t i = 0; i < places->n && !error; i++) {
        program_make(code, maps, places, places->indexes[i], returns);
        int program = bpf_load(code, BPF_PROG_TYPE_KPROBE, returns ? "ktop_fn_return" : "ktop_fn_entry");
        if (program < 0)
            return program;
        int event = event_open(path, places->offsets[i], returns, places->pid);
        if (event == -ESRCH)
            event = thread_event_open(path, places->offsets[i], returns, places->pid);
        error = event < 0 ? event : bpf_attach_perf(program, event);
        close(program);
        if (event >= 0)
            uprobes_keep(uprobes, event);
    }
    return error;
}

static int link_attach(struct uprobes *uprobes, const struct function_maps *maps, const struct uprobe_places *places,
                       bool returns, const char *path, struct bpf_code *code) {
    uint64_t *cookies = xcalloc(places->n, sizeof(*cookies));
    for (size_t i = 0; i < places->n; i++)
        cookies[i] = places->indexes[i];
    program_make(code, maps, places, PLACE_BY_COOKIE, returns);
    int program = bpf_load_multi(code, BPF_UPROBE_MULTI, returns ? "ktop_fn_return" : "ktop_fn_entry");
    const struct bpf_uprobes uprobe = {.path = path,
                                       .pid = places->pid,
                                       .offsets = places->offsets,
                                       .cookies = cookies,
                                       .n = (uint32_t)places->n,
                                       .returns = returns};
    int link = program < 0 ? program : bpf_link_uprobes(program, &uprobe);
    if (program >= 0)
        close(program);
    if (link >= 0)
        uprobes_keep(uprobes, link);
    free(cookies);
    return link < 0 ? link : 0;
}

static int attach(enum uprobe_way way, struct uprobes *uprobes, const struct function_maps *maps,
                  const struct uprobe_places *places, bool returns) {
    char path[64];
    pthread_once(&pmu_once, pmu_read);
    if (way == UPROBES_PMU && pmu.type < 0)
        return pmu.type;
    struct bpf_code *code = xcalloc(1, sizeof(*code));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", places->file);
    int error = (way == UPROBES_LINK ? link_attach : pmu_attach)(uprobes, maps, places, returns, path, code);
    free(code);
    return error;
}

int uprobes_attach(struct uprobes *uprobes, const struct function_maps *maps, const struct uprobe_places *places,
                   bool returns) {
    const struct uprobe_trial *trial = uprobe_trial();
    if (!places->n)
        return 0;
    return trial->way ? attach(trial->way, uprobes, maps, places, returns) : trial->error;
}

void uprobes_detach(struct uprobes *uprobes) {
    for (size_t i = 0; i < uprobes->n; i++)
        close(uprobes->fds[i]);
    free(uprobes->fds);
    *uprobes = (struct uprobes){.n = 0};
}

uint32_t uprobe_returned_bytes(uint16_t machine, bool is64) {
    return machine == EM_X86_64 || machine == EM_386 ? (is64 ? 8 : 4) : 0; // others return to a register
}

// ---- a trial in ktop's own code ----

__attribute__((noinline)) static void trial_target(void) {
    __asm__ volatile("" : : : "memory");
}

// In a thread of its own: on some kernels a link misses all threads but the first. double *: us for each call.
static void *trial_calls(void *us) {
    void (*volatile target)(void) = trial_target; // not inlined, not left out
    target();                                     // the first one copies the page
    uint64_t begin = now_ns();
    for (int i = 1; i < TRIAL_CALLS; i++)
        target();
    *(double *)us = (double)(now_ns() - begin) / 1e3 / (TRIAL_CALLS - 1);
    return NULL;
}

static int trial_run(double *us) {
    pthread_t thread;
    int error = pthread_create(&thread, NULL, trial_calls, us);
    if (!error)
        pthread_join(thread, NULL);
    return -error;
}

// Where an address of ktop's own is in its file.
static bool own_place(uint64_t address, uint64_t *offset) {
    char *line = NULL;
    size_t space = 0;
    bool found = false;
    unsigned long long start, end, at;
    FILE *in = fopen("/proc/self/maps", "re");
    while (in && !found && getline(&line, &space, in) > 0) {
        found = sscanf(line, "%llx-%llx %*s %llx", &start, &end, &at) == 3 && address >= start && address < end;
        if (found)
            *offset = address - start + at;
    }
    free(line);
    if (in)
        fclose(in);
    return found;
}

static struct uprobe_trial trial;
static pthread_once_t trial_once = PTHREAD_ONCE_INIT;

static int trial_way(enum uprobe_way way, const struct uprobe_places *places) {
    struct function_maps maps;
    struct uprobes uprobes = {.n = 0};
    int error = function_maps_open(&maps, 2, &(struct function_uses){.lists = false});
    if (error)
        return error;
    error = attach(way, &uprobes, &maps, places, false);
    if (!error)
        error = trial_run(&trial.counted_us);
    if (!error && maps.shared[1].entries != TRIAL_CALLS)
        error = -EIO;
    if (!error)
        error = attach(way, &uprobes, &maps, places, true);
    maps.shared[1].timing = 1;
    if (!error)
        error = trial_run(&trial.timed_us);
    if (!error && maps.shared[1].returns != TRIAL_CALLS)
        error = -EIO;
    uprobes_detach(&uprobes);
    function_maps_close(&maps);
    return error;
}

static void trial_make(void) {
#if defined(__x86_64__)
    const uint32_t returned_bytes = uprobe_returned_bytes(EM_X86_64, true);
#else
    const uint32_t returned_bytes = 0;
#endif
    const uint32_t index = 1; // a kernel that mistakes cookies has 0 for all
    uint64_t offset = 0;
    const struct uprobe_places places = {.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
                                         .pid = getpid(),
                                         .returned_bytes = returned_bytes,
                                         .offsets = &offset,
                                         .indexes = &index,
                                         .n = 1};
    trial.error = places.file < 0 ? -errno : own_place((uintptr_t)trial_target, &offset) ? 0 : -ENOENT;
    for (enum uprobe_way way = UPROBES_LINK; way <= UPROBES_PMU && !trial.way && places.file >= 0; way++)
        if (!(trial.error = trial_way(way, &places)))
            trial.way = way;
    if (places.file >= 0)
        close(places.file);
}

const struct uprobe_trial *uprobe_trial(void) {
    pthread_once(&trial_once, trial_make);
    return &trial;
}
