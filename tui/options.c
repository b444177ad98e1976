// The command line. Every option is one row of option_rows; the tables of getopt_long and --help are made from it.
// Wrong usage is one line: what is wrong, why, and what to do. Nothing but the help is printed here.
#include "tui/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/session.h"
#include "model/live.h"
#include "model/mem.h"
#include "tui/option_values.h"
#include "views/escape.h"

#define OPTION_ROWS_MAX 64
#define OPTION_VALUE_FIRST 1000 // what getopt_long returns for row 0; above every letter

bool options_wrong(struct options *options, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(options->error, sizeof options->error, format, args);
    va_end(args);
    return false;
}

// Arguments may contain any bytes: escaped and cut before they are printed.
static const char *shown(const char *value) {
    static _Thread_local char text[4][64];
    static _Thread_local unsigned next;
    char *out = text[next++ % 4];
    escape_text(value, strlen(value), out, sizeof text[0]);
    return out;
}

static bool parse_number(const char *value, double *out) {
    char *end;
    errno = 0;
    *out = strtod(value, &end);
    return end != value && !*end && !errno && isfinite(*out) && !strchr("nNiI", value[0]);
}

static bool parse_count(const char *value, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(value, &end, 10);
    return isdigit((unsigned char)value[0]) && !*end && !errno;
}

static bool parse_delay(struct options *options, const char *value) {
    double seconds;
    if (!parse_number(value, &seconds) || seconds * 1e9 < (double)LIVE_DELAY_MIN_NS - 0.5 ||
        seconds * 1e9 > (double)LIVE_DELAY_MAX_NS)
        return options_wrong(options, "--delay %s: expected 0.1 to 60 seconds, for example --delay 0.5", shown(value));
    options->delay_ns = (uint64_t)llround(seconds * 1e9);
    options->delay_given = true;
    return true;
}

static bool parse_iterations(struct options *options, const char *value) {
    if (!parse_count(value, &options->iterations) || !options->iterations)
        return options_wrong(options, "--iterations %s: expected an integer >= 1", shown(value));
    return true;
}

static bool parse_batch(struct options *options, const char *value) {
    (void)value;
    options->action = ACTION_BATCH;
    return true;
}

static bool parse_pane(struct options *options, const char *value) {
    size_t used = strlen(options->pane_names);
    if (!*value)
        return options_wrong(options, "--pane needs a name: `ktop --list panes` lists them");
    if (used + strlen(value) + 2 > sizeof options->pane_names)
        return options_wrong(options, "--pane: too many names: name each pane once");
    sprintf(options->pane_names + used, "%s%s", used ? "," : "", value);
    return true;
}

static bool parse_format(struct options *options, const char *value) {
    static const char *const names[] = {"text", "csv", "json", "folded", NULL};
    for (int i = 0; names[i]; i++)
        if (!strcmp(value, names[i])) {
            options->format = (enum format)i;
            return true;
        }
    return options_wrong(options, "--format %s: expected text, csv, json or folded", shown(value));
}

static bool parse_pids(struct options *options, const char *value) {
    for (;;) {
        char *end;
        long pid = strtol(value, &end, 10);
        if (!isdigit((unsigned char)*value) || (*end && *end != ',') || pid < 1 || pid > INT_MAX)
            return options_wrong(options, "--pid %s: expected process IDs, for example --pid 1,4242", shown(value));
        if (options->collect.n_pids == OPTION_PIDS_MAX)
            return options_wrong(options, "--pid: at most %d PIDs: use --pid PARENT --children", OPTION_PIDS_MAX);
        options->pids[options->collect.n_pids++] = (pid_t)pid;
        options->collect.pids = options->pids;
        if (!*end)
            return true;
        value = end + 1;
    }
}

static bool parse_user(struct options *options, const char *value) {
    uint64_t id;
    const struct passwd *entry = *value ? getpwnam(value) : NULL;
    if (entry)
        id = entry->pw_uid;
    else if (!parse_count(value, &id) || id >= UINT32_MAX)
        return options_wrong(options, "--user %s: no such user: expected a user name or a UID", shown(value));
    options->collect.has_user = true;
    options->collect.user = (uid_t)id;
    return true;
}

static bool parse_children(struct options *options, const char *value) {
    (void)value;
    options->collect.children = true;
    return true;
}

static bool parse_threads(struct options *options, const char *value) {
    (void)value;
    options->collect.threads = true;
    return true;
}

static bool parse_events(struct options *options, const char *value) {
    if (options->n_event_texts == OPTION_EVENTS_MAX)
        return options_wrong(options, "--event: at most %d times; one option takes several events, separated by commas",
                             OPTION_EVENTS_MAX);
    options->event_texts[options->n_event_texts++] = value;
    return true;
}

static bool parse_function(struct options *options, const char *value) {
    if (!option_line_add(&options->functions, value))
        return options_wrong(options, "--function needs a pattern, for example 'libssl*:SSL_*'");
    options->collect.functions = options->functions;
    return true;
}

static bool parse_probe(struct options *options, const char *value) {
    if (!option_line_add(&options->probes, value))
        return options_wrong(options, "--probe needs a probe, for example 'p /usr/bin/bash:readline' or "
                                      "'r vfs_read $retval'");
    options->collect.probes = options->probes;
    return true;
}

static bool parse_tracepoint(struct options *options, const char *value) {
    if (!option_line_add(&options->tracepoints, value))
        return options_wrong(options, "--tracepoint needs SYSTEM:EVENT or 'SYSTEM:EVENT if FILTER': "
                                      "`ktop --list tracepoints` lists them");
    options->collect.tracepoints = options->tracepoints;
    return true;
}

// Groups and latencies travel as lines among the tracepoints or probes (collectors/kernel/groups/group.h).
static bool parse_line(struct options *options, const char *kind, const char *value) {
    char *line = xmalloc(strlen(kind) + strlen(value) + 2);
    sprintf(line, "%s %s", kind, value);
    bool good = strncmp(value, "probes:", 7) ? parse_tracepoint(options, line) : parse_probe(options, line);
    free(line);
    return good;
}

static bool parse_group(struct options *options, const char *value) {
    return parse_line(options, "group", value);
}

static bool parse_on(struct options *options, const char *value) {
    size_t n = strcspn(value, " ");
    const char *const *action = session_actions();
    while (*action && (strlen(*action) != n || memcmp(*action, value, n)))
        action++;
    if (!*action || !value[n])
        return options_wrong(options,
                             "--on %s: expected freeze, record, stop or mark, and a tracepoint, for example 'freeze "
                             "oom:mark_victim'",
                             shown(value));
    return parse_tracepoint(options, value);
}

static bool parse_latency(struct options *options, const char *value) {
    return parse_line(options, "latency", value);
}

static bool parse_stacks(struct options *options, const char *value) {
    (void)value;
    return parse_tracepoint(options, "stacks") && parse_probe(options, "stacks");
}

static void load_presets(struct options *options) {
    if (!options->preset_files.n && !options->preset_files.n_problems)
        preset_files_load(&options->preset_files);
}

static bool parse_preset(struct options *options, const char *value) {
    char why[320];
    load_presets(options);
    if (presets_add(&options->preset_files, value, &options->tracepoints, why, sizeof why))
        return options_wrong(options, "--preset %s: %s", shown(value), why);
    options->collect.tracepoints = options->tracepoints;
    return true;
}

static bool parse_sort(struct options *options, const char *value) {
    if (!*value || !strcmp(value, "-"))
        return options_wrong(options, "--sort needs a column: `ktop --list columns` lists them");
    options->sort = value;
    return true;
}

static bool parse_filter(struct options *options, const char *value) {
    options->filter = value;
    return true;
}

static bool parse_record(struct options *options, const char *value) {
    options->record = value;
    return *value || options_wrong(options, "--record needs a file name, or - for standard output");
}

static bool parse_replay(struct options *options, const char *value) {
    options->replay = value;
    return *value || options_wrong(options, "--replay needs a file name, or - for standard input");
}

static bool parse_history(struct options *options, const char *value) {
    double size;
    if (!value_size(value, &size) || !(size >= 1 << 20) || size > 1e15)
        return options_wrong(options, "--history %s: expected a size of at least 1M, for example 64M or 1G",
                             shown(value));
    options->history_bytes = (size_t)size;
    return true;
}

static bool parse_budget(struct options *options, const char *value) {
    double pct;
    if (!parse_number(value, &pct) || pct < 1 || pct > 100)
        return options_wrong(options, "--budget %s: expected 1 to 100 percent of one CPU, for example --budget 50",
                             shown(value));
    options->collect.budget_pct = (uint32_t)lround(pct);
    return true;
}

static bool parse_frequency(struct options *options, const char *value) {
    uint64_t hz;
    if (!parse_count(value, &hz) || hz < 1 || hz > 1000000)
        return options_wrong(options, "--frequency %s: expected 1 to 1000000 samples per second, for example 99",
                             shown(value));
    options->collect.profile.frequency_hz = (uint32_t)hz;
    return true;
}

static bool parse_call_graph(struct options *options, const char *value) {
    struct profile_options *profile = &options->collect.profile;
    size_t length = strcspn(value, ",");
    uint64_t bytes = PROFILE_STACK_BYTES;
    bool dwarf = !strncmp(value, "dwarf", length) && length == 5;
    bool good = dwarf ? !value[5] || parse_count(value + 6, &bytes) : !strcmp(value, "fp");
    if (!good || bytes < 64 || bytes > PROFILE_STACK_BYTES_MAX)
        return options_wrong(options, "--call-graph %s: expected fp, dwarf, or dwarf,BYTES with 64 to %d bytes",
                             shown(value), PROFILE_STACK_BYTES_MAX);
    profile->call_graph = dwarf ? CALL_GRAPH_DWARF : CALL_GRAPH_FP;
    profile->stack_bytes = (uint32_t)bytes & ~7u;
    return true;
}

static bool parse_profile_event(struct options *options, const char *value) {
    options->profile_event = value;
    return *value || options_wrong(options, "--profile-event needs an event: `ktop --list events` lists them");
}

static bool cpus_check(struct options *options, const char *option, const char *value) {
    char why[160];
    return value_cpus(value, why, sizeof why) || options_wrong(options, "--%s %s: %s", option, shown(value), why);
}

static bool parse_profile_cpus(struct options *options, const char *value) {
    options->collect.profile.cpus = value;
    return cpus_check(options, "profile-cpus", value);
}

static bool parse_trace_cpus(struct options *options, const char *value) {
    options->collect.trace.cpus = value;
    return cpus_check(options, "trace-cpus", value);
}

static bool parse_trace_clock(struct options *options, const char *value) {
    options->collect.trace.mono = !strcmp(value, "mono");
    return options->collect.trace.mono || !strcmp(value, "auto") ||
           options_wrong(options,
                         "--trace-clock %s: expected auto (the cheapest one) or mono; times of other clocks cannot be "
                         "compared with those of other collectors",
                         shown(value));
}

static bool parse_trace_buffer(struct options *options, const char *value) {
    double size;
    if (!value_size(value, &size) || size < 64 * 1024 || size > 1e12)
        return options_wrong(options, "--trace-buffer %s: expected a size per CPU of at least 64K, for example 8M",
                             shown(value));
    options->collect.trace.buffer_kib = (uint32_t)(size / 1024);
    return true;
}

static bool parse_profile_cgroup(struct options *options, const char *value) {
    options->collect.profile.cgroup = value;
    return *value == '/' || options_wrong(options,
                                          "--profile-cgroup %s: expected a path as in /proc/PID/cgroup, for example "
                                          "/system.slice/nginx.service",
                                          shown(value));
}

static bool parse_profile_idle(struct options *options, const char *value) {
    (void)value;
    return options->collect.profile.idle = true;
}

static bool parse_exit_code(struct options *options, const char *value) {
    (void)value;
    return options->exit_code = true;
}

static bool parse_no_profile(struct options *options, const char *value) {
    (void)value;
    return options->no_profile = true;
}

static bool parse_off_cpu(struct options *options, const char *value) {
    (void)value;
    return options->off_cpu = true;
}

static bool parse_wakers(struct options *options, const char *value) {
    (void)value;
    return options->off_cpu = options->collect.profile.wakers = true;
}

static bool parse_test(struct options *options, const char *value) {
    struct test_options *test = &options->collect.test;
    size_t length = strcspn(value, "=");
    const char *number = value + length + (value[length] == '=');
    uint64_t kib;
    if (!strncmp(value, "buffer_kib=", length + 1) && parse_count(number, &kib) && kib > 0 && kib <= UINT32_MAX) {
        test->buffer_kib = (uint32_t)kib;
        return true;
    }
    if (!strcmp(value, "clock=mono"))
        return test->clock_mono = true;
    if ((!strncmp(value, "task_bound_pct=", length + 1) && parse_number(number, &test->task_bound_pct)) ||
        (!strncmp(value, "function_bound_pct=", length + 1) && parse_number(number, &test->function_bound_pct)) ||
        (!strncmp(value, "probe_limit=", length + 1) && parse_number(number, &test->probe_limit)))
        return true;
    if (!strncmp(value, "task_events=", length + 1)) {
        test->task_events = number;
        return true;
    }
    return options_wrong(options, "--test %s: the names and values are in collectors/collector.h", shown(value));
}

static bool parse_ascii(struct options *options, const char *value) {
    (void)value;
    return options->ascii = true;
}

static bool parse_doctor(struct options *options, const char *value) {
    (void)value;
    options->action = ACTION_DOCTOR;
    return true;
}

static bool parse_list(struct options *options, const char *value) {
    static const char *const names[] = {"panes",     "columns", "events", "tracepoints",
                                        "functions", "presets", "rules",  NULL};
    for (int i = 0; names[i]; i++)
        if (!strcmp(value, names[i])) {
            options->action = ACTION_LIST;
            options->list = (enum list_what)i;
            if (options->list == LIST_PRESETS)
                load_presets(options);
            return true;
        }
    const char *nearest = name_nearest(value, names);
    return options_wrong(options,
                         "--list %s: expected panes, columns, events, tracepoints, functions, presets or rules%s%s%s",
                         shown(value), nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static bool parse_cleanup(struct options *options, const char *value) {
    (void)value;
    options->action = ACTION_CLEANUP;
    return true;
}

static bool parse_help(struct options *options, const char *value) {
    (void)value;
    options->action = ACTION_HELP;
    return true;
}

static bool parse_version(struct options *options, const char *value) {
    (void)value;
    options->action = ACTION_VERSION;
    return true;
}

static void getopt_tables(struct option *longs, char *letters) {
    *letters++ = ':'; // distinguishes a missing argument from an unknown option
    for (size_t i = 0; option_rows[i].name; i++) {
        const struct option_row *row = &option_rows[i];
        longs[i] = (struct option){row->name, row->argument ? required_argument : no_argument, NULL,
                                   OPTION_VALUE_FIRST + (int)i};
        if (row->letter) {
            *letters++ = row->letter;
            if (row->argument)
                *letters++ = ':';
        }
    }
    *letters = '\0';
}

static const struct option_row *row_of(int value) {
    for (size_t i = 0; option_rows[i].name; i++)
        if (value == OPTION_VALUE_FIRST + (int)i || (value && value == option_rows[i].letter))
            return &option_rows[i];
    return NULL;
}

static bool unknown_option(struct options *options, int letter, const char *word) {
    const char *names[OPTION_ROWS_MAX];
    size_t n = 0;
    if (letter > 0 && letter < OPTION_VALUE_FIRST && !row_of(letter) && strncmp(word, "--", 2))
        return options_wrong(options, "unknown option -%s: `ktop --help` lists the options",
                             shown((char[]){(char)letter, '\0'}));
    if (row_of(letter))
        return options_wrong(options, "--%s takes no value", row_of(letter)->name);
    for (const struct option_row *row = option_rows; row->name; row++)
        if (row->help)
            names[n++] = row->name;
    names[n] = NULL;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *nearest = name_nearest(name, names);
    if (nearest)
        return options_wrong(options, "unknown option --%s: did you mean --%s? `ktop --help` lists the options",
                             shown(name), nearest);
    return options_wrong(options, "unknown option --%s: `ktop --help` lists the options", shown(name));
}

void options_default(struct options *options) {
    memset(options, 0, sizeof *options);
    options->delay_ns = 1000000000;
    options->history_bytes = (size_t)64 << 20;
}

// --record and --replay together, and with options that select what is measured.
static bool record_check(struct options *options) {
    const struct collect_options *collect = &options->collect;
    if (options->replay && options->record)
        return options_wrong(options, "--record with --replay: a recording cannot be recorded, copy the file");
    if (options->replay &&
        (collect->n_pids || collect->has_user || collect->threads || options->n_event_texts || collect->budget_pct))
        return options_wrong(options,
                             "--replay shows what was recorded: --pid, --user, --threads, --event and --budget "
                             "belong to --record; --filter chooses rows");
    if (options->record && !strcmp(options->record, "-") && options->action == ACTION_BATCH)
        return options_wrong(options, "--record - and --batch both write to standard output: leave out --batch, or "
                                      "give --record a file");
    return true;
}

bool options_parse(struct options *options, int argc, char **argv) {
    struct option longs[OPTION_ROWS_MAX] = {0};
    char letters[2 * OPTION_ROWS_MAX + 2];
    getopt_tables(longs, letters);
    opterr = 0;
    optind = 0;
    for (;;) {
        int at = optind ? optind : 1;
        int value = getopt_long(argc, argv, letters, longs, NULL);
        if (value < 0)
            break;
        const struct option_row *row = row_of(value == ':' ? optopt : value);
        if (value == '?')
            return unknown_option(options, optopt, argv[at]);
        if (value == ':')
            return options_wrong(options, "--%s needs %s: see `ktop --help`", row ? row->name : "?",
                                 row ? row->argument : "a value");
        if (!row->parse(options, optarg ? optarg : ""))
            return false;
    }
    if (optind < argc)
        return options_wrong(options, "unexpected argument %s: options begin with -; `ktop --help` lists them",
                             shown(argv[optind]));
    if (!record_check(options))
        return false;
    if (options->exit_code && options->action != ACTION_BATCH)
        return options_wrong(options, "--exit-code is about the findings of --batch --pane triage: give these as well");
    if (options->collect.children && !options->collect.n_pids)
        return options_wrong(options, "--children needs --pid PID");
    return true;
}

void options_help(FILE *out) {
    fputs("usage: ktop [OPTIONS]\n"
          "Live analysis of a Linux machine from /proc, perf counters and kernel events: what is wrong, and what "
          "causes it.\n\n",
          out);
    for (const struct option_row *row = option_rows; row->name; row++) {
        char left[64];
        if (!row->help)
            continue;
        int n = row->letter ? snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name)
                            : snprintf(left, sizeof left, "      --%s", row->name);
        if (row->argument)
            snprintf(left + n, sizeof left - (size_t)n, " %s", row->argument);
        if (strlen(left) > 29)
            fprintf(out, "%s\n%30s%s\n", left, "", row->help);
        else
            fprintf(out, "%-30s%s\n", left, row->help);
    }
    fputs("\nIn the terminal, h shows the keys and columns of each pane.\n"
          "Exit status: 0 success; 1 failure (one line on stderr gives the reason); 2 wrong usage.\n",
          out);
}

const struct option_row option_rows[] = {
    {'d', "delay", "SECS", "length of a frame, 0.1 to 60 (default 1)", parse_delay},
    {'n', "iterations", "N", "stop after N frames", parse_iterations},
    {'b', "batch", NULL, "no screen: write each frame of the chosen panes to standard output", parse_batch},
    {'P', "pane", "NAME[,NAME]", "the pane to start with; with --batch the panes to write", parse_pane},
    {'F', "format", "text|csv|json|folded",
     "format of --batch (default text); json: one object per line; folded: call paths", parse_format},
    {'p', "pid", "PID[,PID]", "only these processes", parse_pids},
    {0, "children", NULL, "with --pid: also their descendants", parse_children},
    {'u', "user", "USER", "only tasks of this user (name or UID)", parse_user},
    {'H', "threads", NULL, "threads instead of processes", parse_threads},
    {'e', "event", "SPEC[,SPEC]", "extra perf events for the cpus pane, in perf's syntax; repeatable", parse_events},
    {'t', "tracepoint", "SYS:EVENT[ if FILTER]", "a tracepoint for the events pane; globs; repeatable",
     parse_tracepoint},
    {0, "group", "'SYS:EVENT by F[,F2][ of F3]'",
     "count its events (probes:NAME: hits) by one or two fields; sum F3; repeatable", parse_group},
    {0, "latency", "SYS:EVENT[F] SYS:EVENT[F]",
     "time from one event (probes:NAME: hit) to the next one with an equal field; repeatable", parse_latency},
    {0, "on", "'ACTION SYS:EVENT[ if F]'", "when it comes: freeze, record, stop (--record, --batch) or mark the frame",
     parse_on},
    {0, "stacks", NULL, "events with their kernel stacks, hits of probes with kernel and user stacks", parse_stacks},
    {0, "trace-buffer", "SIZE", "buffer per CPU of the events pane, fixed (default: small, and growing)",
     parse_trace_buffer},
    {0, "trace-clock", "auto|mono", "clock of the events pane: the cheapest, or CLOCK_MONOTONIC", parse_trace_clock},
    {0, "trace-cpus", "LIST", "record events, functions and probes of these CPUs only: 0,2-5", parse_trace_cpus},
    {'f', "function", "[OBJECT:]GLOB[ > TIME]",
     "functions for the functions pane: 'vfs_*', 'libssl*:SSL_*' of a mapped file; repeatable", parse_function},
    {0, "graph", "'F[,F] [depth=N] [> T]'", "call graph of kernel functions (functions pane)", parse_graph},
    {0, "probe", "SPEC", "a probe for the probes pane: 'p PATH:FUNCTION ARGS', 'r FUNCTION $retval'; repeatable",
     parse_probe},
    {0, "preset", "NAME[,NAME]", "ready-made tracepoints for the events pane: `ktop --list presets`", parse_preset},
    {'s', "sort", "COLUMN", "sort by this column, -COLUMN for ascending", parse_sort},
    {0, "filter", "TEXT", "only rows that contain TEXT or match its terms: 'comm=\"a b\" latency_us>=10ms'",
     parse_filter},
    {'r', "record", "FILE", "also write the frames to FILE (- for standard output)", parse_record},
    {'R', "replay", "FILE", "show a recording instead of this machine (- for standard input)", parse_replay},
    {0, "history", "SIZE", "memory for the rewind history (default 64M)", parse_history},
    {0, "budget", "PCT", "CPU limit of an event stream; above it events are sampled (default 25)", parse_budget},
    {0, "frequency", "HZ", "samples per second and CPU of the profile pane (default 99)", parse_frequency},
    {0, "call-graph", "fp|dwarf[,BYTES]", "how user stacks are walked (default: fp, and dwarf once stacks are broken)",
     parse_call_graph},
    {0, "profile-event", "SPEC", "event that the profile pane samples, in perf's syntax (default: CPU time)",
     parse_profile_event},
    {0, "profile-idle", NULL, "sample idle CPUs as well", parse_profile_idle},
    {0, "exit-code", NULL, "with --batch --pane triage: exit with 3 after a warning, 4 after a critical finding",
     parse_exit_code},
    {0, "no-profile", NULL, "do not sample CPUs for findings, which name no functions then", parse_no_profile},
    {0, "profile-cpus", "LIST", "sample these CPUs only, for example 0,2-5", parse_profile_cpus},
    {0, "profile-cgroup", "PATH", "profile only processes in this cgroup or below it", parse_profile_cgroup},
    {0, "off-cpu", NULL, "also profile where threads block (pane profile)", parse_off_cpu},
    {0, "wakers", NULL, "--off-cpu with the stacks of wakers; it slows down wakeups", parse_wakers},
    {0, "test", "NAME=VALUE", NULL, parse_test},
    {0, "ascii", NULL, "draw with ASCII characters only", parse_ascii},
    {0, "doctor", NULL, "check what this kernel, machine and user allow; for what is missing, the fix", parse_doctor},
    {0, "list", "panes|columns|events|tracepoints|functions|presets|rules", "list the names that options take",
     parse_list},
    {0, "cleanup", NULL, "remove stale tracing instances of dead ktop processes, list them, and exit", parse_cleanup},
    {'h', "help", NULL, "this text", parse_help},
    {'V', "version", NULL, "the version", parse_version},
    {0, NULL, NULL, NULL, NULL},
};
