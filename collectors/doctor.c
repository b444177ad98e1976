// The general checks of --doctor: permissions, limits, kernel settings. Tracing checks are in doctor_trace.c, a
// collector's own checks in the collector. It reports settings and never changes them.
#include "collectors/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collectors/doctor_trace.h"
#include "collectors/kernel/perf/caps.h"

#define SAY(field_, ...) snprintf((field_), sizeof(field_), __VA_ARGS__)

static int text_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, text, size - 1);
    int error = n < 0 ? -errno : 0;
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return error;
}

static void check_rights(struct check_report *report) {
    static const struct {
        int cap;
        const char *name, *use;
    } wanted[] = {
        {CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "mounting tracefs"},
        {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "tracefs"},
        {CAP_PERFMON, "CAP_PERFMON", "counters of whole CPUs"},
        {CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "I/O of other users' tasks"},
        {CAP_NET_ADMIN, "CAP_NET_ADMIN", "task statistics"},
        {CAP_NET_RAW, "CAP_NET_RAW", "DNS queries"},
    };
    struct check check = {.capability = "rights"};
    char lacks[240] = "";
    size_t at = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        bool has = cap_have(wanted[i].cap) || (wanted[i].cap == CAP_PERFMON && cap_have(CAP_SYS_ADMIN));
        if (!has && at < sizeof lacks)
            at += (size_t)snprintf(lacks + at, sizeof lacks - at, "%s%s (%s)", at ? ", " : "", wanted[i].name,
                                   wanted[i].use);
    }
    check.works = !lacks[0];
    if (check.works) {
        SAY(check.detail, "UID %u with all capabilities that ktop uses", geteuid());
    } else {
        SAY(check.detail, "UID %u lacks %s", geteuid(), lacks);
        SAY(check.fix, "run ktop as root; the lines below show what works without");
    }
    report->add(report, &check);
}

static void check_files(struct check_report *report) {
    struct check check = {.capability = "file descriptors"};
    struct rlimit limit = {0};
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    getrlimit(RLIMIT_NOFILE, &limit);
    unsigned long need =
        (unsigned long)(cpus > 0 ? cpus : 1) * 12 + 256; // eleven counters and a trace pipe for each CPU
    check.works = limit.rlim_max >= need;
    SAY(check.detail, "%lu needed for %ld CPUs, %lu allowed (%lu now)", need, cpus, (unsigned long)limit.rlim_max,
        (unsigned long)limit.rlim_cur);
    if (!check.works)
        SAY(check.fix, "raise the hard limit before the start: ulimit -Hn %lu", need);
    report->add(report, &check);
}

// A setting in /proc/sys: 0 is off, missing is not built in.
static void check_sysctl(struct check_report *report, const char *capability, const char *path, const char *name,
                         const char *config) {
    struct check check = {.capability = capability};
    char text[32];
    int error = text_read(path, text, sizeof text);
    check.works = !error && atoi(text) > 0;
    if (check.works) {
        SAY(check.detail, "%s is %s", name, text);
    } else if (!error) {
        SAY(check.detail, "%s is 0 (the default): off", name);
        SAY(check.fix, "sysctl %s=1", name);
    } else {
        SAY(check.detail, "this kernel has no %s (%s is off%s)", name, config,
            !strcmp(config, "CONFIG_TASK_DELAY_ACCT") ? ", or older than 5.14" : "");
        SAY(check.fix, "use a kernel built with %s", config);
    }
    report->add(report, &check);
}

static void check_accounting(struct check_report *report) {
    check_sysctl(report, "delays of tasks", "/proc/sys/kernel/task_delayacct", "kernel.task_delayacct",
                 "CONFIG_TASK_DELAY_ACCT");
    check_sysctl(report, "scheduler statistics", "/proc/sys/kernel/sched_schedstats", "kernel.sched_schedstats",
                 "CONFIG_SCHEDSTATS");
}

void doctor_run(struct check_report *report) {
    check_rights(report);
    check_files(report);
    check_accounting(report);
    doctor_trace(report);
    for (size_t i = 0; collectors[i]; i++)
        if (collectors[i]->check)
            collectors[i]->check(report);
}
