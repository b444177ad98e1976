// Rules about ktop's own sources: what it cannot see is said as plainly as what it sees.
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
                       "the kernel lost %llu of %llu events of the %s collector: its counts are too low", n, of,
                       section_collector(section));
    }
}

const struct rule rule_lost_events = {
    .kind = "lost_events", .resource = "kernel", .pane = "health", .is_event = true, .check = check_lost_events};

static void check_collector_stale(struct rule_ctx *ctx) {
    const struct frame *frame = ctx->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        double age_s = (double)frame->stale_ns[i] / 1e9;
        if (age_s <= 0)
            continue;
        // Ten seconds are no hiccup of a busy machine any more: a read in the kernel hangs.
        ctx_report(ctx, age_s >= 10 ? SEVERITY_WARNING : SEVERITY_INFO, section_collector(frame->sections[i]),
                   &NO_CULPRIT, "the %s collector does not answer: what it shows is %.1f s old",
                   section_collector(frame->sections[i]), age_s);
    }
}

const struct rule rule_collector_stale = {
    .kind = "collector_stale", .resource = "kernel", .pane = "health", .check = check_collector_stale};

static void check_collector_unavailable(struct rule_ctx *ctx) {
    const struct frame *frame = ctx->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct section *section = frame->sections[i];
        if (section_state(section) != SECTION_UNAVAILABLE)
            continue;
        const char *reason = section_notes(section) ? section_note_at(section, 0)->text : "no reason is known";
        ctx_report(ctx, SEVERITY_INFO, section_collector(section), &NO_CULPRIT, "the %s collector cannot work here: %s",
                   section_collector(section), reason);
    }
}

const struct rule rule_collector_unavailable = {
    .kind = "collector_unavailable", .resource = "kernel", .pane = "health", .check = check_collector_unavailable};
