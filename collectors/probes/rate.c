// Rates of probes before they are recorded; see the header.
#include "collectors/probes/rate.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/clock.h"

static bool is_user(const struct probe_spec *spec) {
    return spec->kind == PROBE_USER || spec->kind == PROBE_USDT;
}

static double limit;

void probe_rate_limit(double per_s) {
    limit = per_s;
}

double probe_rate_most(const struct probe_spec *spec) {
    if (limit > 0)
        return limit;
    return is_user(spec) ? 25000 : 100000;
}

double probe_hit_us(const struct probe_spec *spec, bool most) {
    double low = is_user(spec) ? 1 : 0.1, high = is_user(spec) ? 10 : 1;
    return most ? high : low;
}

uint64_t probe_rate_stats(const char *text) {
    static const char *const names[] = {"entries: ", "\noverrun: ", "\ndropped events: "};
    unsigned long long sum = 0, value;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *at = strstr(text, names[i]);
        if (at && sscanf(at + strlen(names[i]), "%llu", &value) == 1)
            sum += value;
    }
    return sum;
}

static uint64_t hits(const char *dir) {
    char path[512], text[1024];
    uint64_t sum = 0;
    snprintf(path, sizeof(path), "%s/per_cpu", dir);
    DIR *cpus = opendir(path);
    struct dirent *entry;
    while (cpus && (entry = readdir(cpus))) {
        snprintf(path, sizeof(path), "%s/per_cpu/%.32s/stats", dir, entry->d_name);
        if (format_file(path, text, sizeof(text)) > 0)
            sum += probe_rate_stats(text);
    }
    if (cpus)
        closedir(cpus);
    return sum;
}

static int enable(const char *dir, const struct probe *probe) {
    char file[200];
    snprintf(file, sizeof(file), "events/%s/%s/enable", probe->group, probe->event);
    return instance_write(dir, file, "1");
}

// Hits per second of all of them together. *enabled: the kernel's answer.
static int count(const struct probe *const *probes, size_t n, int *enabled, double *per_s) {
    const struct timespec pause = {.tv_nsec = RATE_LIMIT_COUNT_NS};
    char dir[256];
    int error = instance_create("probes-rate", dir, sizeof(dir));
    if (error)
        return error;
    instance_write(dir, "buffer_size_kb", "16");
    uint64_t begin = now_ns();
    *enabled = 0;
    error = instance_write(dir, "tracing_on", "1");
    for (size_t i = 0; i < n && !error && !*enabled; i++)
        *enabled = enable(dir, probes[i]);
    if (!error && !*enabled)
        nanosleep(&pause, NULL);
    instance_write(dir, "tracing_on", "0");
    *per_s = (double)hits(dir) * 1e9 / (double)(now_ns() - begin);
    instance_remove(dir);
    return error;
}

static void refuse(const struct probe *probe, double per_s, struct choice_error *error) {
    error->place = (int32_t)probe->spec.place;
    snprintf(
        error->sentence, sizeof(error->sentence),
        "%.48s: %.0f hits/s, above the limit of %.0f: between %.0f and %.0f %% of a CPU in the traced programs; begin "
        "the probe with ! to record it",
        probe->spec.name, per_s, probe_rate_most(&probe->spec), per_s * probe_hit_us(&probe->spec, false) / 1e4,
        per_s * probe_hit_us(&probe->spec, true) / 1e4);
}

static void cannot_enable(const struct probe *probe, int code, struct choice_error *error) {
    error->place = (int32_t)probe->spec.place;
    snprintf(error->sentence, sizeof(error->sentence), "%.48s: the kernel cannot enable the probe: %s",
             probe->spec.name, strerror(-code));
}

int probe_rate_check(const struct probe *const *probes, size_t n, int *results, struct choice_error *errors) {
    double per_s = 0, most = 1e18;
    int enabled = 0;
    memset(results, 0, n * sizeof(*results));
    int error = n ? count(probes, n, &enabled, &per_s) : 0;
    for (size_t i = 0; i < n; i++)
        most = probe_rate_most(&probes[i]->spec) < most ? probe_rate_most(&probes[i]->spec) : most;
    bool good = !enabled && per_s <= most;
    for (size_t i = 0; i < n && !error && !good; i++) { // which of them
        if (n > 1)
            error = count(&probes[i], 1, &enabled, &per_s);
        if (error)
            break;
        results[i] = enabled ? enabled : per_s > probe_rate_most(&probes[i]->spec) ? -EDQUOT : 0;
        if (enabled)
            cannot_enable(probes[i], enabled, &errors[i]);
        else if (results[i])
            refuse(probes[i], per_s, &errors[i]);
    }
    return error;
}
