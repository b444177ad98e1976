// Keeps the largest of many without sorting: values above the minimum are appended, and when the buffer is full
// quickselect drops the smaller half and raises the minimum. Which tasks do few I/Os is known only at the end: keep the
// first I/Os of each task, fewer when there are many tasks, and choose those of the tasks with the fewest.
#include "collectors/block/rare.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

const char *const block_why_names[BLOCK_WHYS] = {"failed", "slow", "rare"};

struct block_rare *block_rare_new(void) {
    struct block_rare *rare = xcalloc(1, sizeof(*rare));
    rare->failed = xcalloc(BLOCK_FAILED_KEPT, sizeof(*rare->failed));
    rare->few = xcalloc(BLOCK_FEW_KEPT, sizeof(*rare->few)); // untouched pages cost nothing
    rare->ranks = xcalloc((size_t)2 * BLOCK_SLOW_KEPT, sizeof(*rare->ranks));
    rare->chosen = xcalloc(BLOCK_RARE_CHOSEN, sizeof(*rare->chosen));
    rare->sorted = xcalloc((size_t)BLOCK_SLOW_SETS * BLOCK_SLOW_WAYS * 2 * BLOCK_SLOW_KEPT, sizeof(*rare->sorted));
    rare->few_each = BLOCK_FEW_EACH;
    rare->filtered = xcalloc(1, sizeof(*rare->filtered));
    for (int by = 0; by < BLOCK_SLOW_WAYS; by++)
        rare->filtered->least[by] = UINT64_MAX;
    return rare;
}

void block_rare_free(struct block_rare *rare) {
    if (!rare)
        return;
    free(rare->failed);
    for (int i = 0; i < BLOCK_SLOW_SETS; i++)
        free(rare->slow[i]);
    free(rare->filtered);
    free(rare->few);
    free(rare->ranks);
    free(rare->chosen);
    free(rare->sorted);
    free(rare);
}

void block_rare_clear(struct block_rare *rare) {
    for (uint32_t i = 0; i < rare->n_slow; i++)
        for (int by = 0; by < BLOCK_SLOW_WAYS; by++)
            rare->slow[i]->least[by] = rare->slow[i]->n[by] = 0;
    rare->n_failed = rare->n_slow = rare->n_few = 0;
    rare->few_each = BLOCK_FEW_EACH;
}

struct block_slow *block_rare_slow(struct block_rare *rare, uint8_t *at) {
    if (!*at)
        *at = (uint8_t)(rare->n_slow < BLOCK_SLOW_SETS ? ++rare->n_slow : BLOCK_SLOW_SETS);
    struct block_slow **slow = &rare->slow[*at - 1];
    if (!*slow)
        *slow = xcalloc(1, sizeof(**slow));
    return *slow;
}

void block_rare_failed(struct block_rare *rare, const struct block_pick *pick) {
    rare->failed[rare->n_failed++ % BLOCK_FAILED_KEPT] = *pick;
}

// The kth largest of n values (k from 1): quickselect, reorders them.
static uint64_t kth_largest(uint64_t *values, uint32_t n, uint32_t k) {
    uint32_t low = 0, high = n - 1, want = k - 1;
    while (low < high) {
        uint64_t first = values[low], middle = values[low + (high - low) / 2], last = values[high];
        uint64_t pivot = first > middle ? (middle > last  ? middle
                                           : first > last ? last
                                                          : first)
                                        : (first > last    ? first
                                           : middle > last ? last
                                                           : middle);
        uint32_t i = low, j = high;
        for (;; i++, j--) {
            while (values[i] > pivot)
                i++;
            while (values[j] < pivot)
                j--;
            if (i >= j)
                break;
            uint64_t keep = values[i];
            values[i] = values[j];
            values[j] = keep;
        }
        if (want <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[want];
}

// Moves the BLOCK_SLOW_KEPT largest to the front; returns the smallest of them.
static uint64_t sift(struct block_pick *picks, uint32_t n, uint64_t *ranks) {
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = picks[i].rank;
    uint64_t least = kth_largest(ranks, n, BLOCK_SLOW_KEPT);
    uint32_t kept = 0, above = 0;
    for (uint32_t i = 0; i < n; i++)
        above += picks[i].rank > least;
    uint32_t ties = BLOCK_SLOW_KEPT - above; // kept among those equal to the least
    for (uint32_t i = 0; i < n; i++) {
        if (picks[i].rank < least || (picks[i].rank == least && !ties))
            continue;
        ties -= picks[i].rank == least;
        if (kept != i)
            picks[kept] = picks[i];
        kept++;
    }
    return least;
}

void block_rare_slowest(struct block_rare *rare, struct block_slow *slow, enum block_slow_by by,
                        const struct block_pick *pick) {
    struct block_pick *picks = slow->picks[by];
    picks[slow->n[by]++] = *pick;
    if (slow->n[by] < 2 * BLOCK_SLOW_KEPT)
        return;
    slow->least[by] = sift(picks, slow->n[by], rare->ranks);
    slow->n[by] = BLOCK_SLOW_KEPT;
}

void block_rare_few(struct block_rare *rare, const struct block_pick *pick) {
    while (rare->n_few == BLOCK_FEW_KEPT) {
        if (rare->few_each == 1) { // more tasks than few_kept holds
            rare->few_each = 0;
            return;
        }
        rare->few_each /= 2;
        uint32_t kept = 0;
        for (uint32_t i = 0; i < rare->n_few; i++)
            if (rare->few[i].rank < rare->few_each)
                rare->few[kept++] = rare->few[i];
        rare->n_few = kept;
    }
    if (pick->rank < rare->few_each)
        rare->few[rare->n_few++] = *pick;
}

typedef bool (*unwanted_fn)(const void *ctx, uint32_t proc);

static uint32_t forget(struct block_pick *picks, uint32_t n, unwanted_fn unwanted, const void *ctx) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (unwanted(ctx, picks[i].io.proc))
            continue;
        if (kept != i)
            picks[kept] = picks[i];
        kept++;
    }
    return kept;
}

static int nth_compare(const void *left, const void *right) {
    const struct block_pick *a = left, *b = right;
    return (a->nth > b->nth) - (a->nth < b->nth);
}

void block_rare_forget(struct block_rare *rare, unwanted_fn unwanted, const void *ctx) {
    for (uint32_t set = 0; set < rare->n_slow; set++)
        for (int by = 0; by < BLOCK_SLOW_WAYS; by++) {
            struct block_slow *slow = rare->slow[set];
            slow->n[by] = forget(slow->picks[by], slow->n[by], unwanted, ctx);
            if (slow->n[by] < BLOCK_SLOW_KEPT)
                slow->least[by] = 0; // there is room again
        }
    rare->n_few = forget(rare->few, rare->n_few, unwanted, ctx);
    uint32_t n_failed = rare->n_failed < BLOCK_FAILED_KEPT ? (uint32_t)rare->n_failed : BLOCK_FAILED_KEPT;
    rare->n_failed = forget(rare->failed, n_failed, unwanted, ctx);
    qsort(rare->failed, rare->n_failed, sizeof(*rare->failed), nth_compare); // a full ring starts anywhere
}

// ---- choosing ----

struct choice {
    struct block_rare *rare;
    uint64_t before;
    uint32_t n; // of rare->chosen
};

// Returns whether it was chosen.
static bool choose(struct choice *choice, const struct block_pick *pick, enum block_why why) {
    if (pick->nth >= choice->before)
        return false;
    choice->rare->chosen[choice->n++] = (struct block_chosen){pick, why};
    return true;
}

static int rank_compare(const void *left, const void *right) {
    const struct block_chosen *a = left, *b = right;
    return a->pick->rank != b->pick->rank ? (a->pick->rank < b->pick->rank ? 1 : -1)
                                          : (a->pick->nth > b->pick->nth) - (a->pick->nth < b->pick->nth);
}

#define SEEN (4u * BLOCK_SLOW_CHOSEN)

// Returns whether it was new: an I/O that is slow in both ways is chosen once.
static bool seen_add(uint64_t *seen, uint64_t nth) {
    uint32_t at = (uint32_t)((nth * 0x9e3779b97f4a7c15ull) >> 32) % SEEN;
    for (; seen[at]; at = (at + 1) % SEEN)
        if (seen[at] == nth + 1)
            return false;
    seen[at] = nth + 1;
    return true;
}

// The slowest of each set, then the second slowest, until BLOCK_SLOW_CHOSEN are taken.
static void choose_slow(struct choice *choice) {
    const struct block_rare *rare = choice->rare;
    struct block_chosen *sorted = rare->sorted;
    uint32_t ends[BLOCK_SLOW_SETS * BLOCK_SLOW_WAYS + 1] = {0}, n_ends = 0, room = BLOCK_SLOW_CHOSEN;
    uint64_t seen[SEEN] = {0};
    for (uint32_t set = 0; set < rare->n_slow; set++)
        for (int by = 0; by < BLOCK_SLOW_WAYS; by++) {
            const struct block_slow *slow = rare->slow[set];
            // The set never filled up: its I/Os are few, not slow.
            enum block_why why = slow->least[by] ? BLOCK_SLOW : BLOCK_FEW;
            uint32_t end = ends[n_ends];
            for (uint32_t i = 0; i < slow->n[by]; i++)
                if (slow->picks[by][i].nth < choice->before)
                    sorted[end++] = (struct block_chosen){&slow->picks[by][i], why};
            qsort(sorted + ends[n_ends], end - ends[n_ends], sizeof(*sorted), rank_compare);
            ends[++n_ends] = end;
        }
    for (uint32_t nth = 0; nth < BLOCK_SLOW_KEPT; nth++)
        for (uint32_t i = 0; i < n_ends && room; i++) {
            const struct block_chosen *next = &sorted[ends[i] + nth];
            if (ends[i] + nth < ends[i + 1] && seen_add(seen, next->pick->nth)) {
                choose(choice, next->pick, next->why);
                room--;
            }
        }
}

// I/Os of the tasks with the fewest, up to BLOCK_FEW_CHOSEN; of tasks with equal counts, the first ones.
static void choose_few(struct choice *choice, uint64_t (*ios)(const void *ctx, uint32_t proc), const void *ctx) {
    const struct block_rare *rare = choice->rare;
    uint32_t of[BLOCK_FEW_MOST + 1] = {0}, room = BLOCK_FEW_CHOSEN, most = 0;
    for (uint32_t i = 0; i < rare->n_few; i++) {
        uint64_t n = ios(ctx, rare->few[i].io.proc);
        if (n <= BLOCK_FEW_MOST && rare->few[i].nth < choice->before)
            of[n]++;
    }
    for (; most < BLOCK_FEW_MOST && of[most] <= room; most++)
        room -= of[most];
    for (uint32_t i = 0; i < rare->n_few; i++) {
        uint64_t n = ios(ctx, rare->few[i].io.proc);
        if (n < most)
            choose(choice, &rare->few[i], BLOCK_FEW);
        else if (n == most && room && choose(choice, &rare->few[i], BLOCK_FEW))
            room--;
    }
}

static int chosen_compare(const void *left, const void *right) {
    const struct block_chosen *a = left, *b = right;
    return a->pick->nth != b->pick->nth ? (a->pick->nth > b->pick->nth ? 1 : -1) : (int)a->why - (int)b->why;
}

uint32_t block_rare_choose(struct block_rare *rare, uint64_t before, uint64_t (*ios)(const void *ctx, uint32_t proc),
                           const void *ctx, const struct block_chosen **out) {
    struct choice choice = {.rare = rare, .before = before};
    uint64_t n_failed = rare->n_failed < BLOCK_FAILED_KEPT ? rare->n_failed : BLOCK_FAILED_KEPT;
    *out = rare->chosen;
    if (!before) // the newest are all
        return 0;
    for (uint64_t i = 0; i < n_failed; i++)
        choose(&choice, &rare->failed[i], BLOCK_FAILED);
    choose_slow(&choice);
    choose_few(&choice, ios, ctx);
    qsort(rare->chosen, choice.n, sizeof(*rare->chosen), chosen_compare);
    uint32_t n = 0;
    for (uint32_t i = 0; i < choice.n; i++)
        if (!n || rare->chosen[n - 1].pick->nth != rare->chosen[i].pick->nth)
            rare->chosen[n++] = rare->chosen[i];
    return n;
}
