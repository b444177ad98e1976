// What the reader of a profile has to know of it: what was sampled, what that cannot see, what is missing.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/slow_calls.h"
#include "collectors/profile/profile.h"

#define BLAMED_MAX 3
#define BLAMED_PCT 5 // of the stacks of its processes
#define BLAMED_SAMPLES 10
#define ADDRESSES_DROPPED_PCT 5 // of the samples

static void note_source(const struct profile_source *source, struct section *out) {
    char text[256], fix[256], why[256];
    if (source->no_pmu) {
        perf_explain(source->no_pmu, true, why, sizeof why, fix, sizeof fix);
        section_note(out, SEVERITY_INFO, "profile_frequency_hz",
                     source->no_pmu == -EBUSY
                         ? "sampled by cpu-clock (PMU in use): code with interrupts off shows where they are enabled"
                         : "sampled by cpu-clock (no hardware PMU): code with interrupts off shows where they are "
                           "enabled",
                     fix);
    }
    if (source->is_clock && !source->no_pmu)
        section_note(out, SEVERITY_INFO, "profile_frequency_hz",
                     "sampled by a clock: code with interrupts off shows where they are enabled", NULL);
    if (source->own_only) {
        snprintf(text, sizeof text, "only the processes of --pid are sampled: perf_event_paranoid is %d",
                 perf_paranoid());
        section_note(out, SEVERITY_INFO, NULL, text, "run ktop as root, or: setcap cap_perfmon+ep ktop");
    }
    if (source->no_kernel) {
        snprintf(text, sizeof text, "kernel code is not sampled: perf_event_paranoid is %d and CAP_PERFMON is missing",
                 perf_paranoid());
        section_note(out, SEVERITY_WARNING, NULL, text, "run ktop as root");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (source->hz_limited) {
        snprintf(text, sizeof text, "sampled at %u Hz instead of %u Hz: kernel.perf_event_max_sample_rate is %u",
                 source->hz, source->hz_limited, source->hz);
        snprintf(fix, sizeof fix, "sysctl kernel.perf_event_max_sample_rate=%u", source->hz_limited);
        section_note(out, SEVERITY_WARNING, "profile_frequency_hz", text, fix);
    }
}

static void note_missing(const struct profile *profile, struct section *out) {
    char text[256];
    if (profile->lost) {
        snprintf(text, sizeof text, "%llu records were lost: the ring buffers were full",
                 (unsigned long long)profile->lost);
        section_note(out, SEVERITY_WARNING, "profile_lost", text, "sample at a lower frequency: --frequency 49");
    }
    if (profile->malformed) {
        snprintf(text, sizeof text, "%llu records were malformed and left out", (unsigned long long)profile->malformed);
        section_note(out, SEVERITY_WARNING, "profile_lost", text, NULL);
    }
    if (profile->throttled) {
        snprintf(text, sizeof text, "the kernel throttled sampling %llu times: samples took too much CPU time",
                 (unsigned long long)profile->throttled);
        section_note(out, SEVERITY_WARNING, "profile_samples_per_s", text,
                     "sample at a lower frequency: --frequency 49");
    }
    if (profile->addresses_dropped * 100 > profile->samples * ADDRESSES_DROPPED_PCT) {
        snprintf(text, sizeof text, "%llu of %llu samples are not in the table addresses: it keeps %d instructions",
                 (unsigned long long)profile->addresses_dropped, (unsigned long long)profile->samples, ADDRESSES_SHOWN);
        section_note(out, SEVERITY_INFO, "offset", text, "choose processes: --pid PID");
    }
    size_t hung = slow_calls_hung(space_maps_calls(profile->maps));
    if (hung) {
        snprintf(text, sizeof text,
                 "%zu reads of mappings or unwind tables hang: stacks of their processes are incomplete", hung);
        section_note(out, SEVERITY_WARNING, "broken_pct", text, NULL);
    }
    if (profile->outside) {
        snprintf(text, sizeof text, "%llu samples are of processes outside this PID namespace and are left out",
                 (unsigned long long)profile->outside);
        section_note(out, SEVERITY_INFO, "profile_samples_per_s", text, "run ktop in the host's PID namespace");
    }
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void note_broken(struct profile *profile, struct section *out) {
    bool copied = profile->chains.whole, begun = profile_sampling_source(profile->sampling)->stack_bytes > 0;
    const char *fix = copied  ? "build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer"
                      : begun ? "none needed: from now on user stacks are copied and unwound by their tables"
                              : "use --call-graph dwarf, or build it with -fno-omit-frame-pointer";
    size_t n, given = 0;
    const struct tally_blame *blames = tally_blames(profile->tally, &n);
    for (size_t i = 0; i < n && given < BLAMED_MAX; i++) {
        double pct = 100 * (double)blames[i].broken / (double)blames[i].user;
        const char *object = base_name(text_bytes(blames[i].dso));
        char text[256];
        if (pct < BLAMED_PCT || blames[i].broken < BLAMED_SAMPLES)
            continue;
        given++;
        snprintf(text, sizeof text, "%.0f %% of %.20s's stacks are broken: %.48s%s", pct, text_bytes(blames[i].comm),
                 *object ? object : "code outside known mappings",
                 !*object ? ""
                 : copied ? " has no unwind table"
                          : " has no frame pointers");
        section_note(out, SEVERITY_INFO, "broken_pct", text, fix);
    }
}

// The symbol service gives each note once; the last ones stay in every frame.
static void note_symbols(struct profile *profile, struct section *out) {
    struct symbols_note note;
    while (symbols_note(stacks_symbols(profile->stacks), &note)) {
        if (profile->n_notes == PROFILE_NOTES_KEPT)
            memmove(&profile->notes[0], &profile->notes[1], --profile->n_notes * sizeof *profile->notes);
        profile->notes[profile->n_notes++] = note;
    }
    for (size_t i = 0; i < profile->n_notes; i++)
        section_note(out, SEVERITY_INFO, "symbol", profile->notes[i].text, NULL);
}

void profile_notes(struct profile *profile, struct section *out) {
    note_source(profile_sampling_source(profile->sampling), out);
    note_missing(profile, out);
    note_broken(profile, out);
    note_symbols(profile, out);
}
