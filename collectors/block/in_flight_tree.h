// Some of what is in flight, for flight.h alone: what may be looked for by other means than the sector where it
// is. Most never is, and is not here. By place, so that no look passes over all that is in flight; and the pieces of a
// split bio, each with the next.
#ifndef COLLECTORS_BLOCK_IN_FLIGHT_TREE_H
#define COLLECTORS_BLOCK_IN_FLIGHT_TREE_H

#include "collectors/block/match.h"

enum tree_kind {
    TREE_BIO,       // of disks that tell of their bios at other sectors than those where they begin, by sector
    TREE_POSTFLUSH, // writes after which a flush may follow, by sector
    TREE_APPEND,    // requests that may end at another sector, by the one where they were issued
    TREE_DISCARD,   // bios without a request of their own, by age
    TREE_NONE,      // what has no sector, by its key
};

struct place {
    uint64_t group; // of what, and of which disk
    uint64_t begin, since;
    uint32_t slot;
};

// Of the flight of the same slot.
struct node {
    struct place place;
    uint32_t left, right;        // slot + 1
    uint32_t next_piece, before; // the same; next_piece of the first: the newest of the others
};

struct flight;

// Puts it where it belongs in the order, or takes it out: after what its place is made of has changed.
void flight_tree_update(struct block_match *match, struct flight *f);
// It is no more: neither in the order nor among the pieces of a bio. The pieces of which it is the first stand alone.
void flight_leave(struct block_match *match, struct flight *f);

// The one that fits, around the event's sector: the nearest before it, or an older one near that.
struct flight *tree_around(const struct block_match *match, enum tree_kind of, const struct block_event *event,
                           bool (*fits)(const struct flight *f, const struct block_event *event));
// What was appended to the zone where the event's sector is: the oldest of its length.
struct flight *tree_append(const struct block_match *match, const struct block_event *event);
// The oldest one on the request's disk that is not longer and came before its issue, of the request's thread or of
// others, from *from on (where only `since` need be set), which moves behind it.
struct flight *tree_discard(const struct block_match *match, struct place *from, const struct flight *request,
                            uint64_t sectors, bool others);
// With a key beyond all sectors: the one that the event means, as flight_find.
struct flight *tree_no_sector(struct block_match *match, const struct block_event *event, uint64_t key, uint8_t state);
// The oldest bio of that kind that fits.
struct flight *tree_oldest(const struct block_match *match, const struct block_event *event, uint64_t key,
                           bool (*fits)(const struct flight *f, const struct block_event *event));
// From now on all its bios are in the order, and those that there are.
void disk_tree_all(struct block_match *match, uint32_t dev);
bool disk_is_in_tree(struct block_match *match, uint32_t dev);
// f is one more piece of the bio whose first piece is in the slot root - 1.
void piece_add(struct block_match *match, uint32_t root, struct flight *f);
// Of the first piece the newest one, of that the one before; NULL: no more.
struct flight *piece_next(const struct block_match *match, const struct flight *f);

#endif
