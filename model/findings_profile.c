// Which functions a culprit of a CPU finding runs: a bounded sampling of all CPUs, requested once per culprit and
// incident. One sampling serves every culprit of its time. The collector "profile" runs for that time (its lease, see
// live.h) although no pane needs it. Runs in the thread that builds frames.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/findings_private.h"
#include "model/mem.h"

#define NS 1000000000ull
#define SAMPLING_NS (2 * NS)
#define ENOUGH_NS (NS * 17 / 10) // of samples: the collector needs time to start
#define END_NS (NS * 3 / 10)     // a section that ends so close to the end of the sampling is its last one
#define LATE_NS NS               // no section is awaited longer
#define GAP_NS (10 * NS)         // at least, from the begin of a sampling to that of the next one
#define REFUSED_GAP_NS (60 * NS) // the same after one that was not permitted
#define FORGET_NS (60 * NS)      // an incident is over when no finding named its culprit for so long
#define AGE_NS (10 * NS)         // older samples are shown with their age
#define SAMPLES_LEAST 20         // fewer give no share
#define TRIES_MAX 3              // samplings with fewer
#define FRAMES_LEAST 2           // the culprit must be the same in so many frames, or in one long frame
#define LONG_FRAME_S 5.0
#define PIECES_MAX 32 // sections of a sampling with the shortest frames
#define KNOWN_MAX 8

// What is known about one culprit.
struct known {
    bool used;
    char comm[32];
    double pid;        // NAN: all processes of that name
    uint64_t named_ns; // the last frame in which a finding names it
    uint32_t frames;   // in a row
    uint32_t tries;
    uint64_t sampled_ns; // 0: not yet
    uint64_t samples;
    char words[352]; // "": too few samples
};

struct findings_profile {
    bool off;
    uint64_t until_ns; // of the sampling that goes on; 0: none
    uint64_t next_ns;  // no sampling begins before
    char reason[96];   // finding and culprit of the last one
    const struct section *pieces[PIECES_MAX];
    size_t n_pieces;
    uint64_t pieces_ns, cpu_ns; // time that they cover, and what they cost
    uint64_t ended_ns;          // the last one; 0: none yet
    char refused[200];          // why it gave no samples
    struct tree *tree;          // of the last one, for culprits that are named soon after it
    struct known known[KNOWN_MAX];
};

struct findings_profile *findings_profile_new(void) {
    return xcalloc(1, sizeof(struct findings_profile));
}

static void pieces_drop(struct findings_profile *profile) {
    while (profile->n_pieces)
        section_unref(profile->pieces[--profile->n_pieces]);
}

void findings_profile_free(struct findings_profile *profile) {
    if (!profile)
        return;
    pieces_drop(profile);
    tree_free(profile->tree);
    free(profile);
}

// ---- culprits ----

static bool is_by_name(const struct profiled *of) {
    return of->rule->by_name || isnan(of->culprit->pid);
}

static struct known *known_find(struct findings_profile *profile, const struct profiled *of) {
    if (!of->culprit->comm)
        return NULL;
    for (size_t i = 0; i < KNOWN_MAX; i++) {
        struct known *known = &profile->known[i];
        bool same_pid = is_by_name(of) ? isnan(known->pid) : known->pid == of->culprit->pid;
        if (known->used && same_pid && !strncmp(known->comm, text_bytes(of->culprit->comm), sizeof(known->comm) - 1))
            return known;
    }
    return NULL;
}

// The oldest one makes room.
static struct known *known_add(struct findings_profile *profile, const struct profiled *of) {
    struct known *place = &profile->known[0];
    for (size_t i = 1; i < KNOWN_MAX && place->used; i++)
        if (!profile->known[i].used || profile->known[i].named_ns < place->named_ns)
            place = &profile->known[i];
    *place = (struct known){.used = true, .pid = is_by_name(of) ? NAN : of->culprit->pid};
    snprintf(place->comm, sizeof(place->comm), "%s", text_bytes(of->culprit->comm));
    return place;
}

static void known_set(struct known *known, const struct hot *hot, uint64_t sampled_ns) {
    known->sampled_ns = sampled_ns;
    known->samples = hot->samples;
    if (hot->samples >= SAMPLES_LEAST)
        hot_words(hot, known->words, sizeof(known->words));
}

// From the last sampling, which had all processes. A process of another name has executed another program since.
static void known_look_back(const struct findings_profile *profile, struct known *known, const struct profiled *of) {
    struct hot hot;
    hot_find(profile->tree, of->culprit, is_by_name(of), &hot);
    if (hot.samples >= SAMPLES_LEAST && !strcmp(text_bytes(hot.process), text_bytes(of->culprit->comm)))
        known_set(known, &hot, profile->ended_ns);
}

// Notes that a finding names the culprit in this frame. True: its functions should be sampled.
static bool known_note(struct findings_profile *profile, const struct frame *frame, const struct profiled *of) {
    if (!of->culprit->comm)
        return false;
    struct known *known = known_find(profile, of);
    if (!known)
        known = known_add(profile, of);
    if (known->named_ns != frame->end_ns)
        known->frames = known->named_ns && known->named_ns == frame->begin_ns ? known->frames + 1 : 1;
    known->named_ns = frame->end_ns;
    bool lasts = known->frames >= FRAMES_LEAST || frame_interval_s(frame) >= LONG_FRAME_S;
    if (profile->tree && !known->sampled_ns)
        known_look_back(profile, known, of);
    return of->shown && lasts && !known->sampled_ns;
}

static void known_forget(struct findings_profile *profile, uint64_t now_ns) {
    for (size_t i = 0; i < KNOWN_MAX; i++)
        if (profile->known[i].used && profile->known[i].named_ns + FORGET_NS < now_ns)
            profile->known[i].used = false;
}

// ---- a sampling ----

static const struct section *profile_section(const struct frame *frame, bool *repeated) {
    for (uint16_t i = 0; i < frame->n_sections; i++)
        if (!strcmp(section_collector(frame->sections[i]), FINDINGS_COLLECTOR)) {
            *repeated = frame->repeated[i];
            return frame->sections[i];
        }
    return NULL;
}

// True: it was the last one.
static bool piece_take(struct findings_profile *profile, const struct frame *frame) {
    bool repeated = false;
    const struct section *section = profile_section(frame, &repeated);
    bool late = frame->begin_ns >= profile->until_ns + LATE_NS;
    if (!section || repeated)
        return late;
    if (section_state(section) == SECTION_UNAVAILABLE) {
        bool told = section_notes(section) > 0;
        snprintf(profile->refused, sizeof(profile->refused), "%s",
                 told ? section_note_at(section, 0)->text : "sampling is not available");
        return true;
    }
    if (!section_find_tree(section, IN(trees, cpu)) || section_end(section) <= section_begin(section))
        return late;
    if (profile->n_pieces < PIECES_MAX)
        profile->pieces[profile->n_pieces++] = section_ref(section);
    profile->pieces_ns += section_end(section) - section_begin(section);
    profile->cpu_ns += section_cpu_ns(section);
    return late || profile->pieces_ns >= ENOUGH_NS || profile->n_pieces == PIECES_MAX ||
           section_end(section) + END_NS >= profile->until_ns;
}

// Of all pieces; after a change of the name table, of the newest ones. NULL: there is none.
static struct tree *pieces_merge(const struct findings_profile *profile) {
    const struct tree *trees[PIECES_MAX];
    size_t n = profile->n_pieces, first = n;
    for (size_t i = 0; i < n; i++)
        trees[i] = section_find_tree(profile->pieces[i], IN(trees, cpu));
    while (first && tree_names(trees[first - 1]) == tree_names(trees[n - 1]))
        first--;
    return n ? tree_merge(&trees[first], n - first) : NULL;
}

static void known_measure(struct findings_profile *profile, const struct frame *frame, const struct profiled *of) {
    struct known *known = known_find(profile, of);
    struct hot hot;
    if (!known || known->sampled_ns)
        return;
    hot_find(profile->tree, of->culprit, is_by_name(of), &hot);
    if (hot.samples < SAMPLES_LEAST && ++known->tries < TRIES_MAX)
        return;
    known_set(known, &hot, frame->end_ns);
}

static void sampling_end(struct findings_profile *profile, const struct frame *frame, const struct profiled *of,
                         size_t n) {
    profile->tree = pieces_merge(profile);
    for (size_t i = 0; profile->tree && i < n; i++)
        known_measure(profile, frame, &of[i]);
    pieces_drop(profile);
    profile->until_ns = 0;
    profile->ended_ns = frame->end_ns;
    if (profile->refused[0])
        profile->next_ns = frame->end_ns + REFUSED_GAP_NS;
}

static void sampling_begin(struct findings_profile *profile, const struct frame *frame, const struct profiled *of) {
    char name[64];
    profile->until_ns = frame->end_ns + SAMPLING_NS;
    profile->next_ns = frame->end_ns + GAP_NS;
    profile->pieces_ns = profile->cpu_ns = profile->ended_ns = 0;
    profile->refused[0] = '\0';
    snprintf(profile->reason, sizeof(profile->reason), "%s, %s", of->rule->kind,
             is_by_name(of) ? text_bytes(of->culprit->comm) : culprit_name(of->culprit, name, sizeof(name)));
}

void findings_profile_step(struct findings_profile *profile, const struct frame *frame, const struct profiled *of,
                           size_t n) {
    const struct profiled *unknown = NULL;
    if (profile->tree && frame->end_ns >= profile->next_ns) {
        tree_free(profile->tree);
        profile->tree = NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (known_note(profile, frame, &of[i]) && !unknown)
            unknown = &of[i];
    known_forget(profile, frame->end_ns);
    if (!profile->until_ns && unknown && !profile->off && frame->end_ns >= profile->next_ns)
        sampling_begin(profile, frame, unknown);
    else if (!profile->until_ns)
        return;
    // The section of the first frame counts as well: the collector may run for a pane.
    if (piece_take(profile, frame))
        sampling_end(profile, frame, of, n);
}

// ---- results ----

void findings_profile_off(struct findings_profile *profile) {
    profile->off = true;
}

uint64_t findings_profile_lease(const struct findings_profile *profile) {
    return profile->until_ns;
}

// " 40 s ago", or "" for new samples.
static void age_words(uint64_t age_ns, char *out, size_t size) {
    double seconds = (double)age_ns / 1e9;
    if (age_ns < AGE_NS)
        out[0] = '\0';
    else if (seconds < 120)
        snprintf(out, size, " %.0f s ago", seconds);
    else
        snprintf(out, size, " %.0f min ago", seconds / 60);
}

bool findings_profile_words(struct findings_profile *profile, const struct profiled *of, uint64_t now_ns, char *out,
                            size_t size) {
    const struct known *known = known_find(profile, of);
    char ago[32];
    if (!known || !known->words[0])
        return false;
    age_words(now_ns - known->sampled_ns, ago, sizeof(ago));
    snprintf(out, size, "%s; %llu samples%s", known->words, (unsigned long long)known->samples, ago);
    return true;
}

bool findings_profile_detail(const struct findings_profile *profile, uint64_t now_ns, char *out, size_t size) {
    char ago[32];
    if (profile->until_ns)
        snprintf(out, size, "samples for %llu s for a finding (%s)", (unsigned long long)(SAMPLING_NS / NS),
                 profile->reason);
    if (profile->until_ns || !profile->ended_ns)
        return profile->until_ns;
    age_words(now_ns - profile->ended_ns, ago, sizeof(ago));
    if (profile->refused[0])
        snprintf(out, size, "no samples for a finding (%s)%s: %s", profile->reason, ago, profile->refused);
    else
        snprintf(out, size, "sampled %.1f s for a finding (%s)%s: %.2f %% of one CPU", (double)profile->pieces_ns / 1e9,
                 profile->reason, ago,
                 profile->pieces_ns ? 100 * (double)profile->cpu_ns / (double)profile->pieces_ns : 0);
    return true;
}
