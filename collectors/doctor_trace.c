// Tests tracing in a ktop instance: a listed tracer may not work, so each tracer and probe must deliver an event that
// the doctor causes. Removes its instance and probes on every failure path.
#include "collectors/doctor_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/kernel/tracefs/tracers.h"

#define SAY(field_, ...) snprintf((field_), sizeof(field_), __VA_ARGS__)
#define KERNEL_FUNCTION "vfs_read" // exists in every kernel, and is easy to call

// The function with the uprobe.
__attribute__((noinline)) void doctor_probed(void) {
    __asm__ volatile("" ::: "memory"); // keeps the call
}

static void cause_read(void) {
    char byte;
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = read(fd, &byte, 1);
    (void)ignored;
    close(fd);
}

// Whether the instance has recorded a line with that text, or -errno.
static int recorded(const char *instance, const char *text) {
    char path[600], lines[16384];
    SAY(path, "%s/trace", instance);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t have = 0;
    ssize_t n;
    while (have < sizeof lines - 1 && (n = read(fd, lines + have, sizeof lines - 1 - have)) > 0)
        have += (size_t)n;
    close(fd);
    lines[have] = '\0';
    return strstr(lines, text) ? 1 : 0;
}

static bool lists(const char *where, const char *file, const char *word) {
    char path[600], text[1024];
    SAY(path, "%s/%s", where, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    size_t len = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += len)
        if ((at == text || at[-1] == ' ') && strchr(" \n", at[len]))
            return true;
    return false;
}

// 1: delivered; 0: not delivered; -errno: refused.
static int function_try(const char *instance) {
    int error = instance_write(instance, "set_ftrace_filter", KERNEL_FUNCTION);
    if (!error)
        error = instance_write(instance, "current_tracer", "function");
    if (error)
        return error;
    cause_read();
    int seen = recorded(instance, KERNEL_FUNCTION);
    instance_write(instance, "current_tracer", "nop");
    return seen;
}

static void check_function(struct check_report *report, const char *where, const char *instance) {
    struct check check = {.capability = "function tracer"};
    if (!lists(where, "available_tracers", "function")) {
        SAY(check.detail, "not in this kernel (CONFIG_FUNCTION_TRACER is off)");
        SAY(check.fix, "use a kernel built with CONFIG_FUNCTION_TRACER and CONFIG_DYNAMIC_FTRACE");
    } else {
        int result = function_try(instance);
        check.works = result == 1;
        if (check.works) {
            SAY(check.detail, "records calls of kernel functions");
        } else if (result == 0) {
            SAY(check.detail, "enabled, but no call is recorded");
            SAY(check.fix, "check kernel.ftrace_enabled (must be 1) and the kernel log (dmesg)");
        } else {
            SAY(check.detail, "listed in available_tracers, but the kernel refuses it: %s", strerror(-result));
            SAY(check.fix, "use another kernel: this one is built or locked down without function tracing");
        }
    }
    report->add(report, &check);
}

// Puts a probe on `place`, causes a hit and reads it back. Returns as function_try.
static int probe_try(const char *where, const char *instance, const char *file, const char *place,
                     void (*cause)(void)) {
    char group[128], text[1024], enable[300];
    ktop_group_name(ktop_id_self(), "doctor", group, sizeof group);
    SAY(text, "p:%s/tried %s\n", group, place);
    int result = tracing_append(where, file, text);
    if (result)
        return result;
    SAY(enable, "events/%s/tried/enable", group);
    result = instance_write(instance, enable, "1");
    if (!result) {
        cause();
        result = recorded(instance, "tried:");
        instance_write(instance, enable, "0");
    }
    SAY(text, "-:%s/tried\n", group);
    tracing_append(where, file, text);
    return result;
}

static void check_probe(struct check_report *report, const char *where, const char *instance, const char *capability,
                        const char *file, const char *config, const char *place, void (*cause)(void)) {
    struct check check = {.capability = capability};
    int result = place[0] ? probe_try(where, instance, file, place, cause) : -ENOEXEC;
    check.works = result == 1;
    if (check.works) {
        SAY(check.detail, "a probe was inserted, hit and removed");
    } else if (result == -ENOENT) {
        SAY(check.detail, "this kernel has no %s (%s is off)", file, config);
        SAY(check.fix, "use a kernel built with %s", config);
    } else if (result == 0) {
        SAY(check.detail, "a probe was inserted, but its hit was not recorded");
        SAY(check.fix, "check the kernel log (dmesg)");
    } else {
        SAY(check.detail, "the kernel refuses a probe: %s", strerror(-result));
        SAY(check.fix, "a locked-down kernel or a security module forbids probes: boot without lockdown");
    }
    report->add(report, &check);
}

// "PATH:OFFSET" of doctor_probed in this executable, or "".
static void own_place(char *place, size_t size) {
    char exe[400], line[600];
    uintptr_t address = (uintptr_t)doctor_probed;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    FILE *maps = fopen("/proc/self/maps", "re");
    place[0] = '\0';
    while (n > 0 && maps && fgets(line, sizeof line, maps)) {
        unsigned long begin, end, offset;
        if (sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) != 3 || address < begin || address >= end)
            continue;
        exe[n] = '\0';
        if (!strchr(exe, ' ')) // the probe syntax cannot escape blanks
            snprintf(place, size, "%s:0x%lx", exe, (unsigned long)(address - begin + offset));
        break;
    }
    if (maps)
        fclose(maps);
}

static void unavailable(struct check_report *report, const char *capability, const char *why, const char *what) {
    struct check check = {.capability = capability};
    SAY(check.detail, "%s", why);
    SAY(check.fix, "%s", what);
    report->add(report, &check);
}

static void all_unavailable(struct check_report *report, const char *why, const char *what) {
    static const char *const needs[] = {"trace instances", "function tracer", "kprobes", "uprobes"};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        unavailable(report, needs[i], why, what);
}

// What else traces: they share functions with ktop's probes, and cost time of their own.
static void check_tracers(struct check_report *report, const char *where) {
    struct tracer tracers[TRACERS_MAX];
    struct check check = {.capability = "other tracers", .works = true};
    size_t n = tracers_find(where, "/sys", tracers, TRACERS_MAX);
    if (n)
        tracers_text(tracers, n, check.detail, sizeof check.detail);
    else
        SAY(check.detail, "none is active");
    report->add(report, &check);
}

void doctor_trace(struct check_report *report) {
    const char *why = NULL, *what = NULL, *where = tracing_dir(&why, &what);
    char instance[600], reason[256], fix[256], place[512];
    if (!where) {
        unavailable(report, "tracefs", why, what);
        all_unavailable(report, "tracefs cannot be used", "see tracefs above");
        return;
    }
    struct check check = {.capability = "tracefs", .works = true};
    if (tracing_fd() >= 0)
        SAY(check.detail, "not mounted; ktop mounts it in a private mount namespace");
    else
        SAY(check.detail, "mounted at %s", where);
    report->add(report, &check);
    check_tracers(report, where);
    int error = instance_create("doctor", instance, sizeof instance);
    if (error) {
        tracing_explain(error, reason, sizeof reason, fix, sizeof fix);
        all_unavailable(report, reason, fix);
        return;
    }
    instance_write(instance, "tracing_on", "1");
    check = (struct check){.capability = "trace instances", .works = true};
    SAY(check.detail, "an instance was created and will be removed");
    report->add(report, &check);
    check_function(report, where, instance);
    check_probe(report, where, instance, "kprobes", "kprobe_events", "CONFIG_KPROBE_EVENTS", KERNEL_FUNCTION,
                cause_read);
    own_place(place, sizeof place);
    check_probe(report, where, instance, "uprobes", "uprobe_events", "CONFIG_UPROBE_EVENTS", place, doctor_probed);
    instance_remove(instance);
}
