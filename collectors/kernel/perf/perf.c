// perf_event_open in groups. Counts nothing by itself: what a number means is the collector's.
#include "collectors/kernel/perf/perf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/perf/caps.h"
#include "collectors/kernel/perf/cpus.h"

#define SPARE_FILES 256 // descriptors left to the rest of the program
#define FILES_MORE 1024
#define HYBRID_SHIFT 32 // PERF_PMU_TYPE_SHIFT, 5.13: which PMU of a hybrid CPU a generic event is for

static bool text_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

// On a CPU with two kinds of cores the kernel takes a generic event for the big ones only: the small ones must be
// named.
uint64_t perf_hybrid_type(int cpu) {
    static const char *const pmus[] = {"cpu_atom", "cpu_lowpower"};
    char path[96], text[512];
    for (size_t i = 0; i < sizeof pmus / sizeof *pmus; i++) {
        bool set[4096] = {false};
        snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/cpus", pmus[i]);
        if (!text_read(path, text, sizeof text))
            continue;
        cpu_list_parse(text, set, 4096);
        snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/type", pmus[i]);
        if (cpu < 4096 && set[cpu] && text_read(path, text, sizeof text))
            return strtoull(text, NULL, 10) << HYBRID_SHIFT;
    }
    return 0;
}

// A login's limit is often 1,024; a large machine needs some thirty descriptors a CPU.
static bool files_more(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max - limit.rlim_cur < FILES_MORE ? limit.rlim_max : limit.rlim_cur + FILES_MORE;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int perf_open_attr(struct perf_event_attr *attr, int pid, int cpu, int group_fd) {
    struct rlimit limit;
    int fd;
    bool again;
    do {
        fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, PERF_FLAG_FD_CLOEXEC);
        int error = fd < 0 ? errno : 0;
        again = error == EMFILE && files_more();
        if (error == EINVAL && attr->exclude_guest && !attr->exclude_host) {
            attr->exclude_guest = 0; // a PMU that cannot exclude anything (msr, uncore)
            again = true;
        }
        fd = error ? -error : fd;
    } while (again);
    if (fd >= 0 && !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd + SPARE_FILES > limit.rlim_cur)
        files_more(); // before other parts of the program run out of them
    return fd;
}

int perf_open(const struct perf_event *event, int cpu, int group_fd) {
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = event->type,
                                   .config = event->config,
                                   .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING,
                                   .exclude_guest = 1}; // as perf stat does
    if (event->type == PERF_TYPE_HARDWARE && !(event->config >> HYBRID_SHIFT))
        attr.config |= perf_hybrid_type(cpu);
    return perf_open_attr(&attr, -1, cpu, group_fd);
}

bool perf_decode(const void *bytes, size_t size, unsigned n, struct perf_reading *out) {
    uint64_t words[3 + PERF_GROUP_MAX]; // count, enabled, running, values
    if (n > PERF_GROUP_MAX || size != (3 + (size_t)n) * sizeof *words)
        return false;
    memcpy(words, bytes, size);
    if (words[0] != n)
        return false;
    out->enabled = words[1];
    out->running = words[2];
    memcpy(out->values, words + 3, n * sizeof *words);
    return true;
}

// value * (enabled / running) / enabled: the scaled count over the interval is the count over the time that it ran.
void perf_rates(const struct perf_reading *before, const struct perf_reading *after, unsigned n,
                struct perf_rates *out) {
    for (unsigned i = 0; i < n; i++)
        out->per_s[i] = NAN;
    out->counted_pct = NAN;
    if (after->enabled <= before->enabled || after->running < before->running)
        return;
    double enabled = (double)(after->enabled - before->enabled), running = (double)(after->running - before->running);
    out->counted_pct = running >= enabled ? 100 : 100 * running / enabled;
    if (running == 0)
        return;
    for (unsigned i = 0; i < n; i++)
        if (after->values[i] >= before->values[i])
            out->per_s[i] = (double)(after->values[i] - before->values[i]) * 1e9 / running;
}

static bool too_many_together(int error) {
    return error == -EINVAL || error == -ENOSPC || error == -EBUSY;
}

int perf_group_open(struct perf_group *group, const struct perf_event *events, const uint8_t *which, unsigned n,
                    int cpu, int *missing) {
    *group = (struct perf_group){0};
    for (unsigned i = 0; i < n; i++) {
        const struct perf_event *event = &events[which[i]];
        int fd = perf_open(event, cpu, group->n ? group->fds[0] : -1);
        if (fd < 0 && group->n && too_many_together(fd)) {
            int alone = perf_open(event, cpu, -1);
            if (alone >= 0) {
                close(alone);
                perf_group_close(group);
                return -E2BIG;
            }
        }
        if (fd < 0) {
            missing[which[i]] = fd;
            continue;
        }
        group->which[group->n] = which[i];
        group->fds[group->n++] = fd;
    }
    return 0;
}

void perf_group_close(struct perf_group *group) {
    while (group->n)
        close(group->fds[--group->n]);
    group->has_before = false;
}

int perf_group_read(struct perf_group *group, struct perf_rates *out) {
    uint64_t words[3 + PERF_GROUP_MAX];
    struct perf_reading now;
    ssize_t size = read(group->fds[0], words, sizeof words);
    if (size < 0)
        return -errno;
    if (size == 0 || !perf_decode(words, (size_t)size, group->n, &now))
        return -ENODATA;
    perf_rates(group->has_before ? &group->before : &now, &now, group->n, out);
    group->before = now;
    group->has_before = true;
    return 0;
}

// ---- why not ----

int perf_paranoid(void) {
    char text[32];
    return text_read("/proc/sys/kernel/perf_event_paranoid", text, sizeof text) ? atoi(text) : -2;
}

static void word_permission(const struct perf_refusal *refusal, char *reason, size_t reason_size, char *fix,
                            size_t fix_size) {
    bool may = refusal->sys_admin || (refusal->perfmon && refusal->paranoid < 3) || refusal->paranoid <= 0;
    if (may) {
        snprintf(reason, reason_size,
                 "perf_event_open is refused despite sufficient privileges: by a container's seccomp filter or a "
                 "security module");
        snprintf(fix, fix_size,
                 "run ktop outside the container, or allow perf_event_open (Docker: --cap-add PERFMON and a seccomp "
                 "profile that allows it)");
    } else if (refusal->paranoid >= 3) {
        snprintf(reason, reason_size, "perf_event_paranoid is %d: this kernel requires CAP_SYS_ADMIN%s",
                 refusal->paranoid, refusal->perfmon ? "; CAP_PERFMON is not enough" : "");
        snprintf(fix, fix_size, "run ktop as root, or: sysctl kernel.perf_event_paranoid=0");
    } else {
        snprintf(reason, reason_size, "perf_event_paranoid is %d: counting a whole CPU needs CAP_PERFMON",
                 refusal->paranoid);
        snprintf(fix, fix_size,
                 "run ktop as root, or: setcap cap_perfmon+ep ktop, or: sysctl kernel.perf_event_paranoid=0");
    }
}

void perf_word(const struct perf_refusal *refusal, char *reason, size_t reason_size, char *fix, size_t fix_size) {
    switch (-refusal->error) {
    case EACCES:
    case EPERM:
        word_permission(refusal, reason, reason_size, fix, fix_size);
        return;
    case ENOSYS:
        snprintf(reason, reason_size, "this kernel has no perf events (CONFIG_PERF_EVENTS is off)");
        snprintf(fix, fix_size, "use a kernel built with CONFIG_PERF_EVENTS");
        return;
    case EMFILE:
    case ENFILE:
        snprintf(reason, reason_size, "too few file descriptors for a counter per event and CPU");
        snprintf(fix, fix_size, "raise the limit before the start: ulimit -n 65536");
        return;
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
        if (!refusal->hardware)
            break;
        snprintf(reason, reason_size, "no hardware PMU: the machine (often a virtual one) has no hardware counters");
        snprintf(fix, fix_size, "run on bare metal, or give the virtual machine a PMU (QEMU: -cpu host,pmu=on)");
        return;
    case EBUSY:
        snprintf(reason, reason_size, "another process holds the hardware counters");
        snprintf(fix, fix_size, "stop the other profiler; in a guest, the host may hold the counters");
        return;
    default:
        break;
    }
    snprintf(reason, reason_size, "perf_event_open failed: %s", strerror(-refusal->error));
    snprintf(fix, fix_size, "see the kernel log (dmesg)");
}

void perf_explain(int error, bool hardware, char *reason, size_t reason_size, char *fix, size_t fix_size) {
    struct perf_refusal refusal = {.error = error,
                                   .hardware = hardware,
                                   .paranoid = perf_paranoid(),
                                   .sys_admin = cap_have(CAP_SYS_ADMIN),
                                   .perfmon = cap_have(CAP_PERFMON)};
    perf_word(&refusal, reason, reason_size, fix, fix_size);
}
