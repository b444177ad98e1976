// Bios that are sent on to another disk. dm, and md since 5.14, send a bio of their own, which is told as one of the
// disk below when it gets there, and tell the end of theirs. Before 5.14 md (raid0, linear) sends the same bio on:
// it is told no more, but by the request that is made for it below, and ends with that. So does NVMe with several
// paths: its requests have the number of a hidden disk, the path; they are told of the disk that everybody sees.
#include "collectors/block/flight.h"

#define SLOT_BITS 20 // of the largest table

// Which flight it is, for one that was sent on for it: another one in its place began at another time.
static uint64_t link_of(const struct block_match *match, const struct flight *f) {
    return f->io.bio_ns << SLOT_BITS | (uint64_t)(f - match->pool);
}

// A bio that came through a partition of a disk that is not the first one that it was sent to.
static bool partition_known(struct block_match *match, const struct block_event *event) {
    for (struct flight *f = chain_first(match, event->dev, event->old_sector); f; f = chain_next(match, f))
        if (f->sent && f->remapped && flight_fits(f, event, event->old_sector, FLIGHT_BIO) &&
            f->bio_sectors == event->sectors) {
            flight_move(match, f, event->sector);
            f->io.sector = event->sector;
            return true;
        }
    return false;
}

static void sent_on(struct block_match *match, const struct block_event *event, uint32_t from) {
    struct block_event at = *event;
    at.dev = from;
    at.sector = event->old_sector;
    struct flight *above = flight_find(match, &at, at.sector, FLIGHT_BIO);
    if (!above)
        return;
    uint64_t link = link_of(match, above);
    uint32_t slot = (uint32_t)(above - match->pool);
    struct flight *f = bio_add(match, event, event->sector);
    if (!f)
        return;
    above = &match->pool[slot];
    f->io.tid = above->io.tid; // whoever sends it on, it is of who asked
    f->io.cgroup = above->io.cgroup;
    f->own = above->own;
    memcpy(f->io.comm, above->io.comm, BLOCK_COMM);
    f->io.end_ns = link;
    f->sent = f->remapped = true;
    match->n_remapped++;
}

void bio_remapped(struct block_match *match, const struct block_event *event) {
    uint32_t from = disk_of(match, event->old_dev);
    if (!event->sectors)
        return;
    if (from != event->dev)
        sent_on(match, event, from);
    else if (event->old_dev != event->dev && !partition_known(match, event))
        bio_of_partition(match, event);
}

// The bio of another disk that f ends; NULL: it is none, or that one is no more.
static struct flight *above_of(const struct block_match *match, const struct flight *f) {
    uint32_t slot = f->io.end_ns & ((1u << SLOT_BITS) - 1);
    struct flight *above = &match->pool[slot];
    bool there = f->sent && slot < match->high && above->state == FLIGHT_BIO && link_of(match, above) == f->io.end_ns;
    return there ? above : NULL;
}

void sent_failed(struct block_match *match, const struct flight *f, int16_t error) {
    struct flight *above = above_of(match, f);
    if (above && !above->io.error)
        above->io.error = error;
}

void sent_end(struct block_match *match, const struct flight *f, uint64_t ts) {
    if (__builtin_expect(!f->sent, 1))
        return;
    struct flight *above = above_of(match, f);
    if (!above)
        return;
    if (f->io.error && !above->io.error)
        above->io.error = f->io.error;
    above->left += f->bio_bytes / 512;
    if (above->left >= above->bio_sectors)
        bio_end(match, above, ts);
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

// What the heads send bios to are their paths: of one that has just come, and on 5.10, no file told it.
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

// The path failed: the request ends without its bios, which are sent to another one.
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
