// Frames of the collector `profile` made by hand: a tree of stacks, the tables of symbols and of processes.
#ifndef TESTS_UNIT_FORGE_PROFILE_FRAMES_H
#define TESTS_UNIT_FORGE_PROFILE_FRAMES_H

#include "tests/unit/screens.h"

#include "tests/unit/forge_flame.h"

static struct name_table *forge_names;

// A frame with these stacks; `names` of all frames is one table, as of one session.
static inline const struct frame *forge_profile(uint64_t number, const char *stacks, const char *symbols,
                                                const char *processes) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("profile", number);

    if (stacks)
        section_tree(section, forge_tree_of(forge_names, stacks));
    section_table(section, forge_table(def_of("symbols"), symbols));
    section_table(section, forge_table(def_of("profile_processes"), processes));
    frame_add_section(frame, section, 0);
    return frame;
}

#endif
