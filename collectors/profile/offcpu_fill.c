// One interval's section of the off-CPU profile: the tree, the series, and what is missing.
#include <math.h>
#include <stdio.h>

#include "collectors/profile/offcpu.h"

const struct tree_def offcpu_tree = {
    .name = "offcpu",
    .title = "Off-CPU profile",
    .help = "Call paths on which threads block, by blocked time: process, user frames from the outermost to the "
            "innermost, kernel frames likewise. With wakers: then [woken by], the frames of the waker from the "
            "innermost to the outermost, and its process.",
    .unit_name = "us",
};

const struct series_def offcpu_series[OFFCPU_N_SERIES] = {
    [OFFCPU_STACKS] = {"offcpu_stacks_per_s", "stacks/s", "Stacks of blocking threads taken per second, of all CPUs.",
                       UNIT_PER_S},
    [OFFCPU_SWITCHES] = {"offcpu_switches_per_s", "switches/s", "Context switches per second, of all CPUs.",
                         UNIT_PER_S},
    [OFFCPU_RECORDED_PCT] =
        {"offcpu_recorded_pct", "recorded",
         "Share of the time in which switches were recorded; blocked times are scaled to all of it.", UNIT_PCT},
    [OFFCPU_NO_STACK_PCT] = {"offcpu_no_stack_pct", "no stack",
                             "Share of the blocked time of threads of which no stack was sampled.", UNIT_PCT},
    [OFFCPU_LOST] = {"offcpu_lost", "lost", "Records of switches lost in the interval.", UNIT_COUNT, MERGE_SUM},
};

void offcpu_fill(struct offcpu *offcpu, struct section *out, double seconds) {
    bool timed = seconds > 0.001 && offcpu->recorded_pct > 0;
    double recorded = timed ? seconds * offcpu->recorded_pct / 100 : NAN;
    section_tree(out, tree_builder_seal(offcpu->tree));
    section_series(out, &offcpu_series[OFFCPU_STACKS], timed ? (double)offcpu->stacks_taken / seconds : NAN);
    section_series(out, &offcpu_series[OFFCPU_SWITCHES], (double)offcpu->switches / recorded);
    section_series(out, &offcpu_series[OFFCPU_RECORDED_PCT], timed ? offcpu->recorded_pct : NAN);
    section_series(out, &offcpu_series[OFFCPU_NO_STACK_PCT],
                   offcpu->blocked_us ? 100 * (double)offcpu->unknown_us / (double)offcpu->blocked_us : NAN);
    section_series(out, &offcpu_series[OFFCPU_LOST], (double)offcpu->lost);
    section_events(out, offcpu->switches, offcpu->lost);
}

void offcpu_notes(const struct offcpu *offcpu, struct section *out) {
    char text[256];
    if (offcpu->period_most > 1) {
        snprintf(text, sizeof text, "off-CPU stacks are sampled up to 1:%llu%s",
                 (unsigned long long)offcpu->period_most,
                 offcpu->recorded_pct < 99 ? "" : "; blocked times of threads are exact");
        section_note(out, SEVERITY_INFO, "offcpu_stacks_per_s", text, NULL);
    }
    if (offcpu->recorded_pct < 99) {
        snprintf(text, sizeof text,
                 "switches are recorded and sampled %.0f %% of the time to bound the cost: off-CPU times are scaled",
                 offcpu->recorded_pct);
        section_note(out, SEVERITY_INFO, "offcpu_recorded_pct", text, NULL);
    }
    if (offcpu->lost) {
        snprintf(text, sizeof text, "%llu records were lost: blocks that were in progress are not counted",
                 (unsigned long long)offcpu->lost);
        section_note(out, SEVERITY_WARNING, "offcpu_lost", text, NULL);
    }
    if (offcpu->refused) {
        snprintf(text, sizeof text, "%llu switches are of no thread in the off-CPU profile: its table is full",
                 (unsigned long long)offcpu->refused);
        section_note(out, SEVERITY_WARNING, NULL, text, NULL);
    }
    if (offcpu->unseeded)
        section_note(out, SEVERITY_INFO, NULL, "threads that have slept since before the off-CPU profile are missing",
                     NULL);
}
