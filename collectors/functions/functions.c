// The collector "functions": calls of chosen functions of programs that run already, counted and timed by BPF programs
// at their entries and returns. It runs only while a pane shows it; without a pattern it does nothing.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/functions/kernel.h"
#include "collectors/functions/long_calls.h"
#include "collectors/functions/running.h"
#include "collectors/functions/table.h"
#include "model/mem.h"

#define DRAIN_MS 100 // while calls are listed: their processes may exit soon

struct functions {
    const struct collect_options *options;
    struct running *running; // NULL: no pattern
    struct table_builder *table, *by_process, *slow;
    struct long_calls *long_calls;    // NULL: no pattern lists any
    struct hist_acc acc, process_acc; // of one function; of it in one process
};

// ---- the user's choice ----

// Replaces the choice. On failure the previous one goes on.
static int functions_choose(struct functions *functions, struct collector_run *run, const char *list,
                            struct choice_error *failure) {
    struct running *next = NULL;
    atomic_store(&run->waits_for, "its functions to be found and probed");
    int error = running_open(&next, list, functions->options, functions->running, failure);
    if (!error || error == -ENODATA) {
        running_free(functions->running);
        functions->running = next;
        long_calls_free(functions->long_calls); // of the places of the previous choice
        functions->long_calls = next && next->maps.lists ? long_calls_new(next->maps.kernel >= 0) : NULL;
        run->drain_ms = functions->long_calls ? DRAIN_MS : 0;
        error = 0;
    }
    atomic_store(&run->waits_for, NULL);
    return error;
}

static int functions_open(struct collector_run *run) {
    struct functions *functions = run->state = xcalloc(1, sizeof(*functions));
    struct choice_error failure = {.place = -1};
    functions->options = run->options;
    functions->table = table_builder_new(&functions_table);
    functions->by_process = table_builder_new(&functions_process_table);
    functions->slow = table_builder_new(&functions_slow_table);
    run->poll_fd = -1;
    if (!run->options || !run->options->functions)
        return 0;
    int error = functions_choose(functions, run, run->options->functions, &failure);
    if (error)
        memcpy(run->reason, failure.sentence, sizeof(run->reason));
    return error;
}

static void functions_close(struct collector_run *run) {
    struct functions *functions = run->state;
    run->state = NULL;
    if (!functions)
        return;
    long_calls_free(functions->long_calls);
    running_free(functions->running);
    table_builder_free(functions->slow);
    table_builder_free(functions->table);
    table_builder_free(functions->by_process);
    free(functions);
}

static size_t counted(const struct function_choice *choice) {
    size_t n = 0;
    for (size_t i = 0; i < choice->n_functions; i++)
        n += choice->functions[i].roles & FUNCTION_COUNTED;
    return n;
}

static int functions_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct functions *functions = run->state;
    struct choice_error failure = {.place = -1};
    int error = functions_choose(functions, run, request->text ? request->text : "", &failure);
    if (error) {
        memcpy(answer->sentence, failure.sentence, sizeof(answer->sentence));
        answer->place = failure.place;
    } else if (functions->running) {
        const struct function_choice *choice = &functions->running->choice;
        size_t n = counted(choice);
        snprintf(answer->sentence, sizeof(answer->sentence),
                 "%zu function%s in %zu process%s; a call costs the program about %.1f us", n, n == 1 ? "" : "s",
                 choice->n_users, choice->n_users == 1 ? "" : "es", uprobe_trial()->timed_us);
    } else {
        snprintf(answer->sentence, sizeof(answer->sentence), "no function is counted");
    }
    return error;
}

// ---- an interval ----

static void functions_drain(struct collector_run *run) {
    struct functions *functions = run->state;
    if (functions->long_calls)
        long_calls_drain(functions->long_calls, functions->running);
}

struct sums {
    uint64_t entries, returns, begun, returned, unwound, unwound_total, sum_ns, max_ns, min_ns;
    uint32_t processes;
};

// counted: false: of a start or stop function.
static void sums_add(struct sums *sums, const struct function_place *place, bool counted) {
    const struct place_counts *now = place->now;
    if (!now)
        return;
    sums->entries += counted ? now->entries : now->skipped;
    sums->returns += now->returns;
    sums->begun += now->begun;
    sums->returned += place->before->returns;
    sums->unwound += now->unwound;
    sums->unwound_total += place->before->unwound;
    sums->sum_ns += now->sum_ns;
    sums->max_ns = place->max_ns > sums->max_ns ? place->max_ns : sums->max_ns;
    sums->min_ns = now->returns && (place->min_ns < sums->min_ns || !sums->min_ns) ? place->min_ns : sums->min_ns;
}

static void histogram_add(struct hist_acc *acc, const struct function_place *place) {
    for (int i = 0; place->now && i < HIST_BUCKETS; i++)
        acc->buckets[i] += place->now->buckets[i];
}

static void histogram_finish(struct hist_acc *acc, const struct sums *sums) {
    acc->count = sums->returns;
    acc->sum = sums->sum_ns;
    acc->max = sums->max_ns;
    acc->not_min = ~sums->min_ns;
}

static void measures_set(struct table_builder *table, uint32_t slot, uint16_t first, const struct sums *sums,
                         bool timed, double seconds, double p99_ns) {
    double in_flight = (double)sums->begun - (double)sums->returned - (double)sums->unwound_total;
    double per_s = seconds > 0 ? 1 / seconds : NAN, entries = (double)sums->entries, returns = (double)sums->returns;
    const double values[FUNCTIONS_M_ALL] = {
        [FUNCTIONS_M_CALLS] = entries * per_s,
        [FUNCTIONS_M_TOTAL] = timed ? (double)sums->sum_ns / 1e3 * per_s : NAN,
        [FUNCTIONS_M_AVG] = sums->returns ? (double)sums->sum_ns / 1e3 / returns : NAN,
        [FUNCTIONS_M_P99] = p99_ns / 1e3,
        [FUNCTIONS_M_MAX] = sums->returns ? (double)sums->max_ns / 1e3 : NAN,
        [FUNCTIONS_M_MISSED] = timed ? (double)sums->unwound : NAN,
        [FUNCTIONS_M_IN_FLIGHT] = timed ? (in_flight > 0 ? in_flight : 0) : NAN,
        [FUNCTIONS_M_COUNT] = entries,
    };
    for (uint16_t i = 0; i < FUNCTIONS_M_ALL; i++)
        table_builder_set_num(table, slot, (uint16_t)(first + i), values[i]);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void process_row(struct functions *functions, const struct function_place *place, bool timed, double seconds) {
    const struct running *running = functions->running;
    const struct function *function = &running->choice.functions[place->function];
    const struct function_user *user = &running->choice.users[place->user];
    struct sums sums = {.processes = 1};
    sums_add(&sums, place, true);
    if (user->pid <= 0 || !(sums.entries || sums.returns))
        return;
    uint32_t slot = table_builder_add(functions->by_process);
    memset(&functions->process_acc, 0, sizeof(functions->process_acc));
    histogram_add(&functions->process_acc, place);
    histogram_finish(&functions->process_acc, &sums);
    struct hist *hist = hist_seal(&functions->process_acc);
    table_builder_set_num(functions->by_process, slot, FUNCTIONS_P_PID, user->pid);
    table_builder_set_text(functions->by_process, slot, FUNCTIONS_P_COMM, text_from(running->comms[place->user]));
    table_builder_set_text(functions->by_process, slot, FUNCTIONS_P_FUNCTION, text_from(function->name));
    table_builder_set_text(functions->by_process, slot, FUNCTIONS_P_OBJECT,
                           text_from(base_name(running->choice.objects[function->object].path)));
    measures_set(functions->by_process, slot, FUNCTIONS_P_MEASURES, &sums, timed, seconds, hist_quantile(hist, 0.99));
    hist_free(hist);
}

static void function_row(struct functions *functions, size_t number, double seconds, struct hist_set *hists,
                         struct sums *all) {
    static const char *const untimed[] = {"yes", "Go", "unwinds", "unsafe"};
    const struct running *running = functions->running;
    const struct function *function = &running->choice.functions[number];
    bool counted = function->roles & FUNCTION_COUNTED, timed = counted && function->untimed == UNTIMED_NOT;
    struct sums sums = {.processes = 0};
    memset(&functions->acc, 0, sizeof(functions->acc));
    for (uint32_t i = 0; i < running->n_places; i++) {
        const struct function_place *place = &running->places[i];
        if (place->function != number)
            continue;
        sums_add(&sums, place, counted);
        sums.processes += running->choice.users[place->user].pid > 0;
        histogram_add(&functions->acc, place);
        if (counted)
            process_row(functions, place, timed, seconds);
    }
    histogram_finish(&functions->acc, &sums);
    struct hist *hist = hist_seal(&functions->acc);
    uint32_t slot = table_builder_add(functions->table);
    table_builder_set_text(functions->table, slot, FUNCTIONS_F_FUNCTION, text_from(function->name));
    table_builder_set_text(functions->table, slot, FUNCTIONS_F_OBJECT,
                           text_from(base_name(running->choice.objects[function->object].path)));
    measures_set(functions->table, slot, FUNCTIONS_F_MEASURES, &sums, timed, seconds, hist_quantile(hist, 0.99));
    bool kernel = running->choice.objects[function->object].kernel;
    table_builder_set_num(functions->table, slot, FUNCTIONS_F_PROCESSES, kernel ? NAN : sums.processes);
    const char *why = counted ? untimed[function->untimed] : function->roles & FUNCTION_START ? "start" : "stop";
    table_builder_set_text(functions->table, slot, FUNCTIONS_F_TIMED, text_from(why));
    table_builder_set_text(functions->table, slot, FUNCTIONS_F_SPEC,
                           text_from(running->choice.specs.all[function->spec].text));
    all->entries += counted ? sums.entries : 0;
    all->unwound += sums.unwound;
    if (hist->count)
        hist_set_add(hists, &(union cell){.text = text_from(function->name)}, hist);
    else
        hist_free(hist);
}

// How the functions are counted, and what that costs.
static void ways_note(const struct running *running, struct section *out) {
    const struct uprobe_trial *trial = uprobe_trial();
    const struct function_choice *choice = &running->choice;
    char text[256];
    bool programs = false, kernel = false;
    for (size_t i = 0; i < choice->n_objects; i++)
        *(choice->objects[i].kernel ? &kernel : &programs) = true;
    if (kernel) {
        bool link = kernel_trial()->way == KERNEL_LINK;
        snprintf(text, sizeof(text), "functions of the kernel are counted by %s; a call costs about %.2f us%s",
                 link ? "a kprobe_multi link" : "perf's kprobe PMU", kernel_trial()->timed_us,
                 link ? "" : "; in_flight includes returns that the kernel lost");
        section_note(out, SEVERITY_INFO, "avg_us", text, NULL);
    }
    if (running->refused) {
        snprintf(text, sizeof(text), "the kernel refuses %zu probes of its functions: they are not counted",
                 running->refused);
        section_note(out, SEVERITY_WARNING, "function", text, NULL);
    }
    if (!programs)
        return;
    snprintf(
        text, sizeof(text),
        "each call costs its program about %.1f us for an entry and a return, %.1f us for an entry alone (%s); times "
        "include a part of it",
        trial->timed_us, trial->counted_us, trial->way == UPROBES_LINK ? "uprobe_multi link" : "perf's uprobe PMU");
    section_note(out, SEVERITY_INFO, "avg_us", text, NULL);
}

// Which calls count, if not all do.
static void limits_note(const struct running *running, const struct collect_options *options, struct section *out) {
    const struct function_switch *state = running->maps.switch_;
    char text[256], times[40] = "";
    if (running->some_cpus) {
        snprintf(text, sizeof(text), "only calls that are entered on the CPUs %.100s are counted (--trace-cpus)",
                 options->trace.cpus);
        section_note(out, SEVERITY_INFO, "calls", text, NULL);
    }
    if (!state)
        return;
    uint64_t starts = __atomic_load_n(&state->starts, __ATOMIC_RELAXED);
    bool on = __atomic_load_n(&state->on, __ATOMIC_RELAXED);
    if (running->starts)
        snprintf(times, sizeof(times), "; started %llu time%s", (unsigned long long)starts, starts == 1 ? "" : "s");
    snprintf(text, sizeof(text), "%s%s",
             on                           ? "calls are counted now"
             : running->starts && !starts ? "nothing is counted: no start function was entered yet"
                                          : "nothing is counted: a stop function was entered",
             times);
    section_note(out, SEVERITY_INFO, "calls", text,
                 on || running->starts ? NULL : "add a start function, or remove the stop function");
}

static void notes_add(const struct running *running, struct section *out) {
    const struct function_choice *choice = &running->choice;
    char text[256];
    size_t untimed[4] = {0};
    if (running->stopped[0])
        section_note(
            out, SEVERITY_WARNING, NULL, running->stopped,
            "counting is stopped: remove the pattern, and add it again with ! before it or for fewer functions");
    for (size_t i = 0; i < choice->n_functions; i++)
        untimed[choice->functions[i].untimed] += choice->functions[i].roles & FUNCTION_COUNTED;
    ways_note(running, out);
    if (untimed[UNTIMED_GO])
        section_note(out, SEVERITY_INFO, "timed",
                     "functions of Go programs are counted only: a return probe would crash them, because Go moves "
                     "stacks",
                     NULL);
    if (untimed[UNTIMED_UNWINDS])
        section_note(out, SEVERITY_INFO, "timed",
                     "functions of C++ and Rust programs are counted only: an exception that passes through a return "
                     "probe ends the program",
                     "begin the pattern with ! to time them if no exception leaves them");
    if (untimed[UNTIMED_NAME])
        section_note(out, SEVERITY_INFO, "timed",
                     "functions that return twice or leave the stack (setjmp, vfork, _start) are counted only", NULL);
    if (choice->ifuncs) {
        snprintf(text, sizeof(text),
                 "%zu IFUNC symbol%s left out: they only select the function that is called, which has another name",
                 choice->ifuncs, choice->ifuncs == 1 ? " is" : "s are");
        section_note(out, SEVERITY_INFO, "function", text, NULL);
    }
    if (choice->left_out) {
        snprintf(text, sizeof(text), "processes above the limit of %d, or of %d probes, are not counted",
                 FUNCTION_PROCESSES_MAX, FUNCTION_PLACES_MAX);
        section_note(out, SEVERITY_WARNING, "processes", text, "choose processes with --pid");
    }
}

static int functions_sample(struct collector_run *run, struct section *out) {
    struct functions *functions = run->state;
    struct running *running = functions->running;
    double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    struct sums all = {.entries = 0};
    if (running)
        running_read(running);
    if (run->first && running) // calls before the first interval do not count
        return 0;
    if (running)
        running_bound(running, seconds);
    struct hist_set *hists = hist_set_new(&functions_latency_hist);
    table_builder_clear(functions->table);
    table_builder_clear(functions->by_process);
    for (size_t i = 0; running && i < running->choice.n_functions; i++)
        function_row(functions, i, seconds, hists, &all);
    section_table(out, table_builder_seal(functions->table));
    section_table(out, table_builder_seal(functions->by_process));
    section_hists(out, hists);
    table_builder_clear(functions->slow);
    uint64_t left_out = functions->long_calls ? long_calls_fill(functions->long_calls, running, functions->slow) : 0;
    section_stream(out, table_builder_seal(functions->slow), left_out);
    const double values[FUNCTIONS_SERIES] = {
        [FUNCTIONS_CALLS] = seconds > 0 ? (double)all.entries / seconds : NAN,
        [FUNCTIONS_COST] = running && seconds > 0 ? running->cost_us / seconds / 1e4 : NAN,
        [FUNCTIONS_MISSED] = (double)all.unwound,
        [FUNCTIONS_PLACES] = running ? running->n_places : 0,
    };
    for (int i = 0; i < FUNCTIONS_SERIES; i++)
        section_series(out, &functions_series[i], running ? values[i] : NAN);
    if (!running) {
        section_note(out, SEVERITY_INFO, NULL, "no function is chosen",
                     "-f 'libssl*:SSL_*' --pid PID, or the key E in the terminal");
        return 0;
    }
    limits_note(running, functions->options, out);
    notes_add(running, out);
    section_events(out, all.entries, 0);
    return 0;
}

// ---- the doctor ----

static void kernel_check(struct check_report *report) {
    const struct kernel_trial *trial = kernel_trial();
    struct check check = {.capability = "functions of the kernel", .works = trial->way != KERNEL_UNKNOWN};
    if (check.works)
        snprintf(check.detail, sizeof(check.detail), "%s; a call costs %.2f us",
                 trial->way == KERNEL_LINK ? "kprobe_multi link" : "perf's kprobe PMU", trial->timed_us);
    else
        snprintf(check.detail, sizeof(check.detail), "kprobe_multi: %s; kprobe PMU: %s", strerror(-trial->link_error),
                 strerror(-trial->pmu_error));
    if (!check.works)
        snprintf(check.fix, sizeof(check.fix), "use a kernel with CONFIG_KPROBES and CONFIG_BPF_EVENTS, as root");
    report->add(report, &check);
}

static void functions_check(struct check_report *report) {
    kernel_check(report);
    const struct uprobe_trial *trial = uprobe_trial();
    struct check check = {.capability = "functions of programs", .works = trial->way != UPROBES_UNKNOWN};
    if (check.works) {
        snprintf(check.detail, sizeof(check.detail), "%s; a timed call costs the program %.1f us",
                 trial->way == UPROBES_LINK ? "uprobe_multi link" : "perf's uprobe PMU", trial->timed_us);
    } else if (access("/proc/self", F_OK)) {
        snprintf(check.detail, sizeof(check.detail), "/proc is not mounted");
        snprintf(check.fix, sizeof(check.fix), "mount -t proc proc /proc");
    } else {
        bpf_explain(trial->error, check.detail, sizeof(check.detail), check.fix, sizeof(check.fix));
    }
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&functions_table, &functions_process_table, NULL};
static const struct table_def *const streams[] = {&functions_slow_table, NULL};
static const struct hist_def *const hists[] = {&functions_latency_hist, NULL};

const struct collector collector_functions = {
    .name = "functions",
    .help = "Calls of the chosen functions of running programs and of the kernel, by BPF programs at their entries and "
            "returns: counts, "
            "times, histograms. Runs only while a pane shows it; a call costs the program 2 to 25 us.",
    .series = functions_series,
    .n_series = FUNCTIONS_SERIES,
    .tables = tables,
    .hists = hists,
    .streams = streams,
    .open = functions_open,
    .drain = functions_drain,
    .requests = 1u << REQUEST_FUNCTIONS,
    .request = functions_request,
    .sample = functions_sample,
    .close = functions_close,
    .check = functions_check,
};
