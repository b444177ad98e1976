// A treap: a search tree by place, and a heap by a hash of the slot, which keeps it balanced whatever the order of
// insertion. The pieces of a split bio are a list: its first piece, then the others from the newest on.
#include "collectors/block/flight.h"

#define PROBES 32            // flights examined around a place
#define PROBES_AFTER_FIT 2   // after the first fit, for an older one
#define PROBES_SAME_KIND 256 // flights of one kind: NVMe merges at most 256 discards into a request

static bool place_before(const struct place *a, const struct place *b) {
    if (a->group != b->group)
        return a->group < b->group;
    if (a->begin != b->begin)
        return a->begin < b->begin;
    return a->since != b->since ? a->since < b->since : a->slot < b->slot;
}

static uint32_t heap_priority(uint32_t slot) {
    uint32_t number = slot * 0x9e3779b1u;
    return (number ^ number >> 15) * 0x85ebca6bu;
}

static uint64_t tree_group(enum tree_kind of, uint32_t dev) {
    return (uint64_t)of << 32 | dev;
}

static uint32_t slot_of(const struct block_match *match, const struct flight *f) {
    return (uint32_t)(f - match->pool) + 1;
}

static void no_sector_count(struct block_match *match, const struct place *place, uint32_t add) {
    struct busy *busy = place->group >> 32 == TREE_NONE ? busy_of(match, (uint32_t)place->group) : NULL;
    if (busy)
        busy->no_sector += add;
}

static void tree_insert(struct block_match *match, struct flight *f, enum tree_kind of, uint64_t begin,
                        uint64_t since) {
    uint32_t slot = slot_of(match, f), *at = &match->tree;
    struct node *nodes = match->nodes, *node = &nodes[slot - 1];
    node->place = (struct place){.group = tree_group(of, f->io.dev), .begin = begin, .since = since, .slot = slot};
    while (*at && heap_priority(*at) >= heap_priority(slot))
        at = place_before(&node->place, &nodes[*at - 1].place) ? &nodes[*at - 1].left : &nodes[*at - 1].right;
    uint32_t rest = *at, *before = &node->left, *after = &node->right;
    *at = slot;
    while (rest) {
        struct node *next = &nodes[rest - 1];
        if (place_before(&next->place, &node->place)) {
            *before = rest;
            before = &next->right;
            rest = next->right;
        } else {
            *after = rest;
            after = &next->left;
            rest = next->left;
        }
    }
    *before = *after = 0;
    f->in_tree = true;
    no_sector_count(match, &node->place, 1);
}

static void tree_remove(struct block_match *match, struct flight *f) {
    uint32_t slot = slot_of(match, f), *at = &match->tree;
    struct node *nodes = match->nodes, *node = &nodes[slot - 1];
    while (*at != slot)
        at = place_before(&node->place, &nodes[*at - 1].place) ? &nodes[*at - 1].left : &nodes[*at - 1].right;
    uint32_t left = node->left, right = node->right;
    while (left && right)
        if (heap_priority(left) > heap_priority(right)) {
            *at = left;
            at = &nodes[left - 1].right;
            left = *at;
        } else {
            *at = right;
            at = &nodes[right - 1].left;
            right = *at;
        }
    *at = left | right;
    f->in_tree = false;
    no_sector_count(match, &node->place, UINT32_MAX);
}

// The last node before that place, or the first at or behind it; NULL: none.
static struct flight *tree_near(const struct block_match *match, const struct place *place, bool before) {
    uint32_t found = 0;
    for (uint32_t at = match->tree; at;) {
        const struct node *node = &match->nodes[at - 1];
        bool less = place_before(&node->place, place);
        if (less == before)
            found = at;
        at = less ? node->right : node->left;
    }
    return found ? &match->pool[found - 1] : NULL;
}

static const struct place *place_of(const struct block_match *match, const struct flight *f) {
    return &match->nodes[f - match->pool].place;
}

// Neighbours in the same group.
static struct flight *tree_previous(const struct block_match *match, const struct place *place) {
    struct flight *f = tree_near(match, place, true);
    return f && place_of(match, f)->group == place->group ? f : NULL;
}
static struct flight *tree_next(const struct block_match *match, const struct place *place) {
    struct flight *f = tree_near(match, place, false);
    return f && place_of(match, f)->group == place->group ? f : NULL;
}

struct flight *tree_around(const struct block_match *match, enum tree_kind of, const struct block_event *event,
                           bool (*fits)(const struct flight *f, const struct block_event *event)) {
    struct place place = {
        .group = tree_group(of, event->dev), .begin = event->sector, .since = UINT64_MAX, .slot = UINT32_MAX};
    struct flight *best = NULL, *f = tree_previous(match, &place);
    for (int probes = PROBES; f && probes; probes--, f = tree_previous(match, &place)) {
        place = *place_of(match, f);
        if (!fits(f, event))
            continue;
        if (!best)
            probes = PROBES_AFTER_FIT + 1;
        if (!best || place.since < place_of(match, best)->since)
            best = f;
    }
    return best;
}

struct flight *tree_append(const struct block_match *match, const struct block_event *event) {
    struct place place = {.group = tree_group(TREE_APPEND, event->dev), .begin = event->sector};
    struct flight *f = tree_previous(match, &place);
    if (!f)
        return NULL;
    place.begin = place_of(match, f)->begin;
    f = tree_next(match, &place);
    for (int probes = PROBES_SAME_KIND; f && probes && place_of(match, f)->begin == place.begin; probes--) {
        place = *place_of(match, f);
        if (f->state == FLIGHT_ISSUED && f->left == event->sectors && f->io.issue_ns <= event->ts)
            return f;
        place.slot++;
        f = tree_next(match, &place);
    }
    return NULL;
}

struct flight *tree_discard(const struct block_match *match, struct place *from, const struct flight *request,
                            uint64_t sectors, bool others) {
    from->group = tree_group(TREE_DISCARD, request->io.dev);
    struct flight *f = tree_next(match, from);
    for (int probes = PROBES_SAME_KIND; f && probes && place_of(match, f)->since <= request->io.issue_ns; probes--) {
        *from = *place_of(match, f);
        from->slot++;
        bool waits = f->state == FLIGHT_BIO || f->state == FLIGHT_MERGED;
        if (waits && f->bio_sectors <= sectors && (f->io.tid != request->io.tid) == others)
            return f;
        f = tree_next(match, from);
    }
    return NULL;
}

static struct flight *tree_first(const struct block_match *match, struct place *place, uint32_t dev, uint64_t key) {
    *place = (struct place){.group = tree_group(TREE_NONE, dev), .begin = key};
    return tree_next(match, place);
}

// The next one with the same key.
static struct flight *tree_next_same_key(const struct block_match *match, struct place *place, const struct flight *f) {
    uint64_t key = place->begin;
    *place = *place_of(match, f);
    place->slot++;
    struct flight *next = tree_next(match, place);
    return next && next->key == key ? next : NULL;
}

// No later one can be better: a stale one would be much older.
static bool is_best(const struct flight *f, const struct block_event *event, uint8_t state) {
    bool another = state == FLIGHT_ISSUED && f->io.op == BLOCK_OTHER && f->io.sector != event->sector;
    return !f->suspect && !another && event->ts - flight_since(f, state) <= STALE_NS;
}

struct flight *tree_no_sector(struct block_match *match, const struct block_event *event, uint64_t key, uint8_t state) {
    struct place place;
    struct flight *best = NULL, *f = tree_first(match, &place, event->dev, key);
    for (int probes = PROBES; f && f->key == key && probes; probes--) {
        if (flight_fits(f, event, key, state) && (!best || flight_better(f, best, event)))
            best = f;
        if (best && is_best(best, event, state))
            break;
        f = tree_next_same_key(match, &place, f);
    }
    return best;
}

struct flight *tree_oldest(const struct block_match *match, const struct block_event *event, uint64_t key,
                           bool (*fits)(const struct flight *f, const struct block_event *event)) {
    struct place place;
    struct flight *f = tree_first(match, &place, event->dev, key);
    for (int probes = PROBES_SAME_KIND; f && f->key == key && probes; probes--) {
        if (flight_fits(f, event, key, FLIGHT_BIO) && fits(f, event))
            return f;
        f = tree_next_same_key(match, &place, f);
    }
    return NULL;
}

bool disk_is_in_tree(struct block_match *match, uint32_t dev) {
    const struct busy *busy = match->n_remapped ? busy_of(match, dev) : NULL;
    return busy && busy->in_tree;
}

void disk_use_tree(struct block_match *match, uint32_t dev) {
    struct busy *busy = busy_of(match, dev);
    if (!busy || busy->in_tree)
        return;
    busy->in_tree = true;
    match->n_remapped++;
    for (uint32_t i = 0; i < match->high; i++)
        if (match->pool[i].state == FLIGHT_BIO && match->pool[i].io.dev == dev)
            flight_tree_update(match, &match->pool[i]);
}

void flight_tree_update(struct block_match *match, struct flight *f) {
    if (f->in_tree)
        tree_remove(match, f);
    if (f->key >= NO_SECTOR_KEYS)
        tree_insert(match, f, TREE_NONE, f->key, flight_since(f, f->state));
    else if (f->state == FLIGHT_POSTFLUSH)
        tree_insert(match, f, TREE_POSTFLUSH, f->io.sector, f->io.issue_ns);
    else if (f->state == FLIGHT_ISSUED && f->maybe_append)
        tree_insert(match, f, TREE_APPEND, f->key, f->io.issue_ns);
    else if (f->state == FLIGHT_BIO && disk_is_in_tree(match, f->io.dev))
        tree_insert(match, f, TREE_BIO, f->key, f->io.bio_ns);
    else if ((f->state == FLIGHT_BIO || f->state == FLIGHT_MERGED) && f->io.op == BLOCK_DISCARD)
        tree_insert(match, f, TREE_DISCARD, 0, f->io.bio_ns);
}

// ---- pieces ----

void piece_add(struct block_match *match, uint32_t parent, struct flight *f) {
    uint32_t slot = slot_of(match, f);
    struct node *first = &match->nodes[parent - 1], *node = &match->nodes[slot - 1];
    struct flight *bio = &match->pool[parent - 1];
    uint32_t next = bio->split ? first->next_piece : 0;
    bio->split = (bio->split ? bio->split : SPLIT_PARENT | 1) + 1;
    f->split = parent;
    first->next_piece = slot;
    node->next_piece = next;
    node->before = parent;
    if (next)
        match->nodes[next - 1].before = slot;
}

struct flight *piece_next(const struct block_match *match, const struct flight *f) {
    uint32_t next = f->split ? match->nodes[f - match->pool].next_piece : 0;
    return next ? &match->pool[next - 1] : NULL;
}

static void pieces_forget(struct block_match *match, struct flight *f) {
    struct node *node = &match->nodes[f - match->pool];
    uint32_t next = node->next_piece;
    if (!(f->split & SPLIT_PARENT)) {
        match->nodes[node->before - 1].next_piece = next;
        if (next)
            match->nodes[next - 1].before = node->before;
        f->split = 0;
        return;
    }
    // The pieces in flight become independent.
    for (; next; next = match->nodes[next - 1].next_piece) {
        struct flight *piece = &match->pool[next - 1];
        piece->split = 0;
        if (piece->requested)
            piece->io.bio_ns = 0;
    }
    f->split = 0;
}

void flight_unlink(struct block_match *match, struct flight *f) {
    if (f->in_tree)
        tree_remove(match, f);
    if (f->split)
        pieces_forget(match, f);
}
