// The tables, series and trees of the profile.
#include "collectors/profile/table.h"

#include "collectors/profile/profile.h"
#include "model/columns.h"

static const struct column symbol_columns[SYMBOL_COLUMNS] = {
    [SYMBOL_NAME] =
        TEXT_COLUMN("symbol", "SYMBOL", 32, .help = "Function, demangled; [file+0x...]: its file has no symbol there."),
    [SYMBOL_DSO] = TEXT_COLUMN("dso", "OBJECT", 24, .help = "File that it is in; [kernel] or a kernel module."),
    [SYMBOL_COMM] = COLUMN_COMM(.help = "Name of the processes."),
    [SYMBOL_SELF_PCT] = NUMBER_COLUMN("self_pct", "SELF%", UNIT_PCT, 6,
                                      .help = "Share of all samples in which the function itself ran."),
    [SYMBOL_TOTAL_PCT] = NUMBER_COLUMN("total_pct", "TOTAL%", UNIT_PCT, 6,
                                       .help = "The same with the functions that it called; a sample counts once, also "
                                               "in recursion."),
    [SYMBOL_SAMPLES] =
        NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .help = "Samples in which the function itself ran."),
};

const struct table_def profile_symbols_table = {
    .name = "symbols",
    .help = "Where the sampled CPU time goes, by function.",
    .columns = symbol_columns,
    .n_columns = SYMBOL_COLUMNS,
    .n_keys = 3,
};

static const struct column process_columns[PROCESS_COLUMNS] = {
    [PROCESS_PID] = COLUMN_PID(.help = HELP_PID),
    [PROCESS_COMM] = COLUMN_COMM(.help = "Name of the process."),
    [PROCESS_SAMPLES] = NUMBER_COLUMN("samples", "SAMPLES", UNIT_COUNT, 7, .help = "Samples of its threads."),
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
};

static const struct column event_columns[EVENT_COLUMNS] = {
    [EVENT_TIME_S] = COLUMN_TIME_S(.help = "Time of the sample.", .format = column_format_clock_us),
    [EVENT_CPU] = COLUMN_CPU(.help = HELP_CPU),
    [EVENT_PID] = COLUMN_PID(.help = HELP_PID),
    [EVENT_TID] = COLUMN_TID(.help = HELP_TID),
    [EVENT_COMM] = COLUMN_COMM(.help = "Name of the process."),
    [EVENT_NAME] = COLUMN_NAME(32, .help = "Function that ran."),
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
    [PROFILE_LOST] = {"profile_lost", "lost", "Samples and other records lost in the interval.", UNIT_COUNT},
};

const struct tree_def profile_tree = {
    .name = "cpu",
    .title = "CPU profile",
    .help = "On-CPU call paths: process, user frames from the outermost to the innermost, kernel frames likewise.",
    .unit_name = "samples",
};
const struct tree_def profile_raw_tree = {.name = "cpu", .title = "CPU profile", .help = "", .unit_name = "samples"};
