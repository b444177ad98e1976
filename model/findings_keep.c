// Which frames the history keeps for findings: those from 10 s before each began to its first seconds, as long as it is
// shown and for a while after. Findings that begin together share a span.
#include <stdlib.h>

#include "model/findings_private.h"
#include "model/mem.h"

#define NS 1000000000ull
#define EARLIER_NS (10 * NS)
#define FIRST_NS (5 * NS)
#define AFTER_NS (600 * NS)

struct incident {
    uint64_t since_ns, until_ns; // until_ns 0: unused
};

struct findings_keep {
    struct incident incidents[HISTORY_SPANS_MAX];
};

struct findings_keep *findings_keep_new(void) {
    return xcalloc(1, sizeof(struct findings_keep));
}

void findings_keep_note(struct findings_keep *keep, uint64_t since_ns, uint64_t now_ns) {
    struct incident *place = &keep->incidents[0];
    for (size_t i = 0; i < HISTORY_SPANS_MAX; i++) {
        struct incident *incident = &keep->incidents[i];
        if (incident->until_ns && since_ns >= incident->since_ns && since_ns - incident->since_ns < FIRST_NS) {
            incident->until_ns = now_ns + AFTER_NS;
            return;
        }
        if (incident->until_ns < place->until_ns) // unused, or over for the longest time
            place = incident;
    }
    *place = (struct incident){since_ns, now_ns + AFTER_NS};
}

void findings_keep_step(struct findings_keep *keep, struct history *history, uint64_t now_ns) {
    struct history_span spans[HISTORY_SPANS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < HISTORY_SPANS_MAX; i++) {
        struct incident *incident = &keep->incidents[i];
        if (incident->until_ns <= now_ns)
            incident->until_ns = 0;
        else
            spans[n++] = (struct history_span){incident->since_ns > EARLIER_NS ? incident->since_ns - EARLIER_NS : 0,
                                               incident->since_ns + FIRST_NS};
    }
    if (history)
        history_keep(history, spans, n);
}
