// The tables, series and trees of the profile.
#include "collectors/profile/table.h"

#include <stdio.h>

#include "collectors/profile/profile.h"
#include "model/columns.h"

static const struct column symbol_columns[SYMBOL_COLUMNS] = {
    [SYMBOL_NAME] =
        TEXT_COLUMN("symbol", "SYMBOL", 32, .help = "Function, demangled; [file+0x...]: its file has no symbol there."),
    [SYMBOL_DSO] = TEXT_COLUMN("dso", "OBJECT", 24, .help = "File that it is in; [kernel] or a kernel module."),
    [SYMBOL_COMM] = COLUMN_COMM(.help = "Name of the processes."),
    [SYMBOL_SELF_PCT] =
        NUMBER_COLUMN("self_pct", "SELF%", UNIT_PCT, 6, .help = "Share of all samples in which it ran itself."),
    [SYMBOL_TOTAL_PCT] =
        NUMBER_COLUMN("total_pct", "TOTAL%", UNIT_PCT, 6,
                      .help = "The same with what it called; a sample counts once, also in recursion."),
    [SYMBOL_SAMPLES] = NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .merge = MERGE_SUM,
                                     .help = "Samples in which it ran itself."),
};

const struct table_def profile_symbols_table = {
    .name = "symbols",
    .help = "Where the sampled CPU time goes, by function.",
    .columns = symbol_columns,
    .n_columns = SYMBOL_COLUMNS,
    .n_keys = 3,
    .rows = ROWS_OF_INTERVAL,
};

const struct table_def profile_objects_table = {
    .name = "objects",
    .help = "Where the sampled CPU time goes, by program, library and kernel module.",
    .columns = symbol_columns + SYMBOL_DSO,
    .n_columns = SYMBOL_COLUMNS - SYMBOL_DSO,
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column process_columns[PROCESS_COLUMNS] = {
    [PROCESS_PID] = COLUMN_PID(.help = HELP_PID),
    [PROCESS_COMM] = COLUMN_COMM(.help = "Name of the process."),
    [PROCESS_SAMPLES] =
        NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .merge = MERGE_SUM, .help = "Samples of its threads."),
    [PROCESS_CPU_PCT] = COLUMN_CPU_PCT(
            .help = "CPU time that its samples stand for, in percent of one CPU; null for events other than time."),
    [PROCESS_USER_PCT] = COLUMN_USER_PCT(.help = "Share of its samples in user mode."),
    [PROCESS_KERNEL_PCT] =
        NUMBER_COLUMN("kernel_pct", "KERN%", UNIT_PCT, 5, .help = "Share of its samples in the kernel."),
    [PROCESS_BROKEN_PCT] =
        NUMBER_COLUMN("broken_pct", "BROKEN%", UNIT_PCT, 7,
                      .help = "Share of its user stacks whose outermost frame is not where a thread begins."),
};

const struct table_def profile_processes_table = {
    .name = "profile_processes",
    .help = "The processes that were sampled.",
    .columns = process_columns,
    .n_columns = PROCESS_COLUMNS,
    .n_keys = 1,
    .rows = ROWS_OF_INTERVAL,
};

static size_t format_offset(union cell value, char *out, size_t size) {
    int n = snprintf(out, size, "%#llx", (unsigned long long)value.num);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

#define HELP_OFFSET "Of the instruction in the file; from the symbol's start for the kernel; JIT code: its address."
static const struct column address_columns[ADDRESS_COLUMNS] = {
    [ADDRESS_PID] = COLUMN_PID(.help = HELP_PID),
    [ADDRESS_SYMBOL] = TEXT_COLUMN("symbol", "SYMBOL", 32, .help = "Function of the sampled instruction."),
    [ADDRESS_DSO] = TEXT_COLUMN("dso", "OBJECT", 24, .help = "File that it is in; [kernel] or a kernel module."),
    [ADDRESS_OFFSET] =
        NUMBER_COLUMN("offset", "OFFSET", UNIT_ID, 14, .ascending = true, .format = format_offset, .help = HELP_OFFSET),
    [ADDRESS_COMM] = COLUMN_COMM(.help = "Name of the process."),
    [ADDRESS_SAMPLES] = NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .merge = MERGE_SUM,
                                      .help = "Samples at the instruction itself."),
};

const struct table_def profile_addresses_table = {
    .name = "addresses",
    .help = "The sampled instructions: the 2,048 with the most samples.",
    .columns = address_columns,
    .n_columns = ADDRESS_COLUMNS,
    .n_keys = 4,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column code_columns[CODE_COLUMNS] = {
    [CODE_SYMBOL] = TEXT_COLUMN("symbol", "SYMBOL", 32, .help = "The function that was asked for."),
    [CODE_DSO] = TEXT_COLUMN("dso", "OBJECT", 24, .help = "File that it is in; [kernel] or a kernel module."),
    [CODE_LINE_ONLY] = ID_COLUMN("line_only", "LINE", 4, .help = "1: only its source line was asked for."),
    [CODE_OFFSET] = NUMBER_COLUMN("offset", "OFFSET", UNIT_ID, 14, .ascending = true, .format = format_offset,
                                  .help = HELP_OFFSET " Null in the first row, which is about the function."),
    [CODE_ADDRESS] = NUMBER_COLUMN("address", "ADDRESS", UNIT_ID, 14, .ascending = true, .format = format_offset,
                                   .help = "Address of the instruction as the file's symbols have it."),
    [CODE_INSTRUCTION] = TEXT_COLUMN("instruction", "INSTRUCTION", 40, .help = "The instruction, in AT&T syntax."),
    [CODE_FUNCTION] = TEXT_COLUMN("function", "INLINED", 24, .help = "Function that is inlined there."),
    [CODE_FILE] = TEXT_COLUMN("file", "FILE", 24, .help = "Source file, from debug info."),
    [CODE_LINE] = ID_COLUMN("line", "LINE", 6, .help = "Line in it."),
    [CODE_SOURCE] = TEXT_COLUMN("source", "SOURCE", 40, .help = "Text of the line, if the file is on this machine."),
    [CODE_NOTE] = TEXT_COLUMN("note", "NOTE", 0, .help = "What is missing, and why."),
};

const struct table_def profile_code_table = {
    .name = "code",
    .help = "Instructions and source lines of the function that is looked at.",
    .columns = code_columns,
    .n_columns = CODE_COLUMNS,
    .n_keys = 4,
};

static const struct column event_columns[EVENT_COLUMNS] = {
    [EVENT_TIME_S] = COLUMN_TIME_S(.help = "Time of the sample.", .format = column_format_clock_us),
    [EVENT_CPU] = COLUMN_CPU(.help = HELP_CPU),
    [EVENT_PID] = COLUMN_PID(.help = HELP_PID),
    [EVENT_TID] = COLUMN_TID(.help = HELP_TID),
    [EVENT_COMM] = COLUMN_COMM(.help = "Name of the process."),
    [EVENT_NAME] = COLUMN_NAME(32, .help = "Function that ran."),
    [EVENT_PATH] =
        NUMBER_COLUMN("path", "PATH", UNIT_COUNT, 6,
                      .help = "Where its call path ends in the tree of the frame: node, counted depth-first."),
};

const struct table_def profile_samples_table = {
    .name = "profile_samples",
    .help = "The samples of the interval; the newest 8,192.",
    .columns = event_columns,
    .n_columns = EVENT_COLUMNS,
};

const struct series_def profile_series[PROFILE_N_SERIES] = {
    [PROFILE_SAMPLES_PER_S] = {"profile_samples_per_s", "samples/s", "Samples per second, of all CPUs.", UNIT_PER_S},
    [PROFILE_BROKEN_PCT] = {"profile_broken_pct", "broken", "Share of the user stacks that are broken.", UNIT_PCT},
    [PROFILE_FREQUENCY_HZ] = {"profile_frequency_hz", "frequency",
                              "Samples per second and busy CPU that are asked for.", UNIT_HZ},
    [PROFILE_ADDRESSES_DROPPED] = {"profile_addresses_dropped", "dropped",
                                   "Samples whose instruction is not in the table addresses.", UNIT_COUNT},
    [PROFILE_LOST] = {"profile_lost", "lost", "Samples and other records lost in the interval.", UNIT_COUNT, MERGE_SUM},
};

const struct tree_def profile_tree = {
    .name = "cpu",
    .title = "CPU profile",
    .help = "On-CPU call paths: process, user frames from the outermost to the innermost, kernel frames likewise.",
    .unit_name = "samples",
};
const struct tree_def profile_raw_tree = {.name = "cpu", .title = "CPU profile", .help = "", .unit_name = "samples"};
