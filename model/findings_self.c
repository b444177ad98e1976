// Rules about ktop's own collectors: what is missing from the data.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

static void check_lost_events(struct rule_ctx *ctx) {
    const struct frame *frame = ctx->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct section *section = frame->sections[i];
        uint64_t lost = frame->repeated[i] ? 0 : section_lost(section), seen = section_seen(section);
        unsigned long long n = lost, of = lost + seen;
        if (lost)
            ctx_report(ctx, SEVERITY_WARNING, section_collector(section), &NO_CULPRIT,
                       "collector %s: %llu of %llu events lost, its counts are too low", section_collector(section), n,
                       of);
    }
}

const struct rule rule_lost_events = {
    .kind = "lost_events", .resource = "kernel", .pane = "health", .is_event = true, .check = check_lost_events};

static void check_collector_stale(struct rule_ctx *ctx) {
    const struct frame *frame = ctx->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        double age_s = (double)frame->stale_ns[i] / 1e9;
        if (age_s <= 0 || ctx_is_leased(ctx, section_collector(frame->sections[i])))
            continue;
        // After 10 s it is not the load of the machine: a read in the kernel blocks.
        ctx_report(ctx, age_s >= LIMIT(collector_stale, warning_s) ? SEVERITY_WARNING : SEVERITY_INFO,
                   section_collector(frame->sections[i]), &NO_CULPRIT, "collector %s is stale: its data is %.1f s old",
                   section_collector(frame->sections[i]), age_s);
    }
}

const struct rule rule_collector_stale = {
    .kind = "collector_stale", .resource = "kernel", .pane = "health", .check = check_collector_stale};

static void check_collector_unavailable(struct rule_ctx *ctx) {
    const struct frame *frame = ctx->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct section *section = frame->sections[i];
        if (section_state(section) != SECTION_UNAVAILABLE || ctx_is_leased(ctx, section_collector(section)))
            continue;
        const char *reason = section_notes(section) ? section_note_at(section, 0)->text : "unknown reason";
        ctx_report(ctx, SEVERITY_INFO, section_collector(section), &NO_CULPRIT, "collector %s unavailable: %s",
                   section_collector(section), reason);
    }
}

const struct rule rule_collector_unavailable = {
    .kind = "collector_unavailable", .resource = "kernel", .pane = "health", .check = check_collector_unavailable};
