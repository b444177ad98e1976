// Frames of the collector `profile` made by hand: a tree of stacks, the tables of symbols and of processes.
#ifndef TESTS_UNIT_FORGE_PROFILE_FRAMES_H
#define TESTS_UNIT_FORGE_PROFILE_FRAMES_H

#include "tests/unit/screens.h"

#include "model/columns.h"
#include "tests/unit/forge_flame.h"

static const struct column forge_symbol_columns[] = {
    NUMBER_COLUMN("self_pct", "SELF%", UNIT_PCT, 6, .help = ""),
    NUMBER_COLUMN("total_pct", "TOTAL%", UNIT_PCT, 6, .help = ""),
    NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .help = ""),
    TEXT_COLUMN("symbol", "SYMBOL", 32, .help = ""),
    TEXT_COLUMN("dso", "OBJECT", 20, .help = ""),
    TEXT_COLUMN("comm", "COMMAND", 15, .help = ""),
};
static const struct table_def forge_symbols = {
    .name = "symbols", .columns = forge_symbol_columns, .n_columns = 6, .n_keys = 0};
static const struct column forge_process_columns[] = {
    NUMBER_COLUMN("pid", "PID", UNIT_ID, 7, .help = ""),
    TEXT_COLUMN("comm", "COMMAND", 15, .help = ""),
    NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .help = ""),
    NUMBER_COLUMN("share", "SHARE%", UNIT_PCT, 6, .help = ""),
    NUMBER_COLUMN("user_pct", "USER%", UNIT_PCT, 6, .help = ""),
    NUMBER_COLUMN("kernel_pct", "KERNEL%", UNIT_PCT, 7, .help = ""),
    NUMBER_COLUMN("broken_pct", "BROKEN%", UNIT_PCT, 7, .help = ""),
};
static const struct table_def forge_processes = {
    .name = "profile_processes", .columns = forge_process_columns, .n_columns = 7, .n_keys = 1};

static struct name_table *forge_names;

// A frame with these stacks; `names` of all frames is one table, as of one session.
static inline const struct frame *forge_profile(uint64_t number, const char *stacks, const char *symbols,
                                                const char *processes) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("profile", number);

    if (stacks)
        section_tree(section, forge_tree_of(forge_names, stacks));
    section_table(section, forge_table(&forge_symbols, symbols));
    section_table(section, forge_table(&forge_processes, processes));
    frame_add_section(frame, section, 0);
    return frame;
}

#endif
