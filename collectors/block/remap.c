// Bios sent on to another disk. dm, and md since 5.14, send a clone, traced as a bio of the lower disk when it arrives
// there, and trace the completion of the parent. Before 5.14 md (raid0, linear) sends the same bio on: only its request
// on the lower disk is traced, and both complete together. NVMe multipath does the same: its requests carry the dev_t
// of a hidden path and are reported for the head.
#include "collectors/block/flight.h"

#define SLOT_BITS 20 // of the largest table

// Identifies a flight: its slot, and its bio time in case the slot is reused.
static uint64_t link_of(const struct block_match *match, const struct flight *f) {
    return f->io.bio_ns << SLOT_BITS | (uint64_t)(f - match->pool);
}

// A clone remapped once more, from a partition of the lower disk.
static bool partition_known(struct block_match *match, const struct block_event *event) {
    for (struct flight *f = chain_first(match, event->dev, event->old_sector); f; f = chain_next(match, f))
        if (f->clone && f->remapped && flight_fits(f, event, event->old_sector, FLIGHT_BIO) &&
            f->bio_sectors == event->sectors) {
            flight_move(match, f, event->sector);
            f->io.sector = event->sector;
            return true;
        }
    return false;
}

static void clone_add(struct block_match *match, const struct block_event *event, uint32_t from) {
    struct block_event at = *event;
    at.dev = from;
    at.sector = event->old_sector;
    struct flight *parent = flight_find(match, &at, at.sector, FLIGHT_BIO);
    if (!parent)
        return;
    uint64_t link = link_of(match, parent);
    uint32_t slot = (uint32_t)(parent - match->pool);
    struct flight *f = bio_add(match, event, event->sector);
    if (!f)
        return;
    parent = &match->pool[slot];
    f->io.tid = parent->io.tid; // the submitter of the parent, not the current thread
    f->io.cgroup = parent->io.cgroup;
    f->own = parent->own;
    memcpy(f->io.comm, parent->io.comm, BLOCK_COMM);
    f->io.end_ns = link;
    f->clone = f->remapped = true;
    match->n_remapped++;
}

void bio_remapped(struct block_match *match, const struct block_event *event) {
    uint32_t from = disk_of(match, event->old_dev);
    if (!event->sectors)
        return;
    if (from != event->dev)
        clone_add(match, event, from);
    else if (event->old_dev != event->dev && !partition_known(match, event))
        bio_of_partition(match, event);
}

// The parent that the clone f belongs to; NULL: not a clone, or the parent is gone.
static struct flight *parent_bio(const struct block_match *match, const struct flight *f) {
    uint32_t slot = f->io.end_ns & ((1u << SLOT_BITS) - 1);
    struct flight *parent = &match->pool[slot];
    bool live = f->clone && slot < match->high && parent->state == FLIGHT_BIO && link_of(match, parent) == f->io.end_ns;
    return live ? parent : NULL;
}

void clone_failed(struct block_match *match, const struct flight *f, int16_t error) {
    struct flight *parent = parent_bio(match, f);
    if (parent && !parent->io.error)
        parent->io.error = error;
}

void clone_end(struct block_match *match, const struct flight *f, uint64_t ts) {
    if (__builtin_expect(!f->clone, 1))
        return;
    struct flight *parent = parent_bio(match, f);
    if (!parent)
        return;
    if (f->io.error && !parent->io.error)
        parent->io.error = f->io.error;
    parent->left += f->bio_bytes / 512;
    if (parent->left >= parent->bio_sectors)
        bio_end(match, parent, ts);
}

// ---- paths ----

static bool is_head(const struct block_match *match, uint32_t dev) {
    for (uint32_t i = 0; i < match->n_heads; i++)
        if (match->heads[i] == dev)
            return true;
    return false;
}

void block_match_path(struct block_match *match, struct block_part path) {
    for (uint32_t i = 0; i < match->n_paths; i++)
        if (match->paths[i].dev == path.dev) {
            match->paths[i].disk = path.disk;
            return;
        }
    if (match->n_paths < PATHS)
        match->paths[match->n_paths++] = path;
}

// A device that a head sends bios to is its path. Needed for a new path, and on 5.10, where diskstats does not list it.
void path_learn(struct block_match *match, const struct block_event *remap) {
    if (remap->dev == remap->old_dev || match->n_paths == PATHS || disk_of(match, remap->dev) != remap->dev ||
        !is_head(match, remap->old_dev))
        return;
    const struct block_part path = {.dev = remap->dev, .disk = remap->old_dev};
    match->paths[match->n_paths++] = path;
    part_add(match, path);
}

void block_match_heads(struct block_match *match, const uint32_t *heads, size_t n) {
    match->n_heads = 0;
    for (size_t i = 0; i < n && i < HEADS; i++)
        match->heads[match->n_heads++] = heads[i];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < match->n_paths; i++)
        if (is_head(match, match->paths[i].disk))
            match->paths[kept++] = match->paths[i];
    match->n_paths = kept;
}

void block_match_no_path(struct block_match *match, uint32_t dev) {
    for (uint32_t i = 0; i < match->n_paths; i++)
        if (match->paths[i].dev == dev) {
            match->paths[i] = match->paths[--match->n_paths];
            return;
        }
}

// The path failed: the request completes without its bios, which are sent to another path.
void path_failed(struct block_match *match, struct flight *f) {
    struct block_event at = {.ts = UINT64_MAX,
                             .rwbs = f->io.rwbs,
                             .dev = f->io.dev,
                             .sector = f->io.sector + (f->io.bio_ns ? f->bio_sectors : 0)};
    for (uint64_t end = f->io.sector + f->io.bytes / 512; at.sector < end && match->by_state[FLIGHT_MERGED];) {
        struct flight *merged = flight_find(match, &at, at.sector, FLIGHT_MERGED);
        if (!merged)
            break;
        at.sector += merged->bio_sectors;
        flight_state(match, merged, FLIGHT_BIO);
        flight_tree_update(match, merged);
    }
    if (!f->io.bio_ns) {
        flight_remove(match, f);
        return;
    }
    f->io.requeues += f->io.requeues < UINT16_MAX;
    f->io.bytes = f->left = 0;
    flight_state(match, f, FLIGHT_BIO);
    flight_tree_update(match, f);
}
