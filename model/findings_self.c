// Rules about ktop's own sources: what it cannot see is said as plainly as what it sees.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

void check_lost_events(struct scan *scan) {
    const struct frame *frame = scan->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct section *section = frame->sections[i];
        uint64_t lost = frame->repeated[i] ? 0 : section_lost(section), seen = section_seen(section);
        unsigned long long n = lost, of = lost + seen;
        if (lost)
            scan_report(scan, SEVERITY_WARNING, section_collector(section), &NOBODY,
                        "the kernel lost %llu of %llu events of the %s collector: its counts are too low", n, of,
                        section_collector(section));
    }
}

void check_stale(struct scan *scan) {
    const struct frame *frame = scan->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        double age_s = (double)frame->stale_ns[i] / 1e9;
        if (age_s <= 0)
            continue;
        // Ten seconds are no hiccup of a busy machine any more: a read in the kernel hangs.
        scan_report(scan, age_s >= 10 ? SEVERITY_WARNING : SEVERITY_INFO, section_collector(frame->sections[i]),
                    &NOBODY, "the %s collector does not answer: what it shows is %.1f s old",
                    section_collector(frame->sections[i]), age_s);
    }
}

void check_unavailable(struct scan *scan) {
    const struct frame *frame = scan->frame;
    for (uint16_t i = 0; i < frame->n_sections; i++) {
        const struct section *section = frame->sections[i];
        if (section_state(section) != SECTION_UNAVAILABLE)
            continue;
        const char *reason = section_notes(section) ? section_note_at(section, 0)->text : "no reason is known";
        scan_report(scan, SEVERITY_INFO, section_collector(section), &NOBODY, "the %s collector cannot work here: %s",
                    section_collector(section), reason);
    }
}
