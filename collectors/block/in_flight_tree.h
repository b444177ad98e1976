// A tree of the flights that events find by other means than their sector; most flights are never in it. Ordered by
// place, so that no look-up scans everything in flight. Also the list of pieces of a split bio. Private to flight.h.
#ifndef COLLECTORS_BLOCK_IN_FLIGHT_TREE_H
#define COLLECTORS_BLOCK_IN_FLIGHT_TREE_H

#include "collectors/block/match.h"

enum tree_kind {
    TREE_BIO,       // disks that trace bios at other sectors than their first, by sector
    TREE_POSTFLUSH, // writes that a flush may follow, by sector
    TREE_APPEND,    // requests that may complete at another sector, by issue sector
    TREE_DISCARD,   // bios without a request of their own, by age
    TREE_NONE,      // flights without a sector, by key
};

struct place {
    uint64_t group; // tree_kind << 32 | device
    uint64_t begin, since;
    uint32_t slot;
};

// One per flight, same slot.
struct node {
    struct place place;
    uint32_t left, right;        // slot + 1
    uint32_t next_piece, before; // slot + 1; next_piece of the first piece: the newest of the others
};

struct flight;

// Inserts, moves or removes f, after a field that its place depends on changed.
void flight_tree_update(struct block_match *match, struct flight *f);
// Removes f from the tree and from its pieces. If f is the first piece, the others become independent.
void flight_unlink(struct block_match *match, struct flight *f);

// The flight that fits: the nearest before the event's sector, or an older one near that.
struct flight *tree_around(const struct block_match *match, enum tree_kind of, const struct block_event *event,
                           bool (*fits)(const struct flight *f, const struct block_event *event));
// Zone append to the zone of the event's sector: the oldest of its length.
struct flight *tree_append(const struct block_match *match, const struct block_event *event);
// Oldest discard on the request's disk that arrived before its issue and fits into `sectors`: of the request's thread,
// or of others. Starts at *from (only `since` need be set) and moves it behind the result.
struct flight *tree_discard(const struct block_match *match, struct place *from, const struct flight *request,
                            uint64_t sectors, bool others);
// flight_find for keys above all sectors.
struct flight *tree_no_sector(struct block_match *match, const struct block_event *event, uint64_t key, uint8_t state);
// Oldest bio with that key that fits.
struct flight *tree_oldest(const struct block_match *match, const struct block_event *event, uint64_t key,
                           bool (*fits)(const struct flight *f, const struct block_event *event));
// Puts all bios of the disk into the tree, now and from now on.
void disk_use_tree(struct block_match *match, uint32_t dev);
bool disk_is_in_tree(struct block_match *match, uint32_t dev);
// Adds piece f to the bio whose first piece is in slot parent - 1.
void piece_add(struct block_match *match, uint32_t parent, struct flight *f);
// From the first piece: the newest; from that one: the one before; NULL: end.
struct flight *piece_next(const struct block_match *match, const struct flight *f);

#endif
