// Counting functions; see the header.
#include "collectors/functions/running.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/functions/kernel.h"
#include "collectors/kernel/proc/file.h"
#include "collectors/rate_limit.h"
#include "model/clock.h"
#include "model/mem.h"

#define PIDS_MAX (1 << 22) // PID_MAX_LIMIT
#define LOOKS 2

// ---- places ----

static uint32_t functions_of(const struct function_choice *choice, uint8_t object) {
    uint32_t n = 0;
    for (size_t i = 0; i < choice->n_functions; i++)
        n += choice->functions[i].object == object;
    return n;
}

// Adds the places of a user; false: there is no room for them.
static bool places_add(struct running *running, uint16_t user) {
    const struct function_user *of = &running->choice.users[user];
    if (running->n_places + functions_of(&running->choice, of->object) > running->maps.places)
        return false;
    for (size_t i = 0; i < running->choice.n_functions; i++) {
        if (running->choice.functions[i].object != of->object)
            continue;
        const struct function_spec *spec = &running->choice.specs.all[running->choice.functions[i].spec];
        running->maps.shared[running->n_places].slower_ns = spec->slower_ns;
        running->maps.shared[running->n_places].roles = running->choice.functions[i].roles;
        running->places[running->n_places++] = (struct function_place){.function = (uint16_t)i, .user = user};
    }
    proc_read_comm(of->pid, running->comms[user], sizeof(running->comms[user]));
    return true;
}

static const struct function_spec *spec_of(const struct running *running, const struct function_place *place) {
    return &running->choice.specs.all[running->choice.functions[place->function].spec];
}

static bool is_timed(const struct running *running, const struct function_place *place) {
    const struct function *function = &running->choice.functions[place->function];
    return function->untimed == UNTIMED_NOT && function->roles & FUNCTION_COUNTED;
}

static int kernel_attach(struct running *running, uint16_t user, bool returns) {
    const char *names[FUNCTIONS_MAX];
    uint32_t indexes[FUNCTIONS_MAX];
    const struct function_abi abi = {
        .pids = running->pids, .n_pids = running->n_pids, .self = running->show_self ? 0 : getpid()};
    struct kernel_places places = {.abi = &abi, .names = names, .indexes = indexes};
    for (uint32_t i = 0; i < running->n_places; i++) {
        if (running->places[i].user != user || (returns && !is_timed(running, &running->places[i])))
            continue;
        names[places.n] = running->choice.functions[running->places[i].function].name;
        indexes[places.n++] = i;
    }
    return kprobes_attach(&running->probes[user], &running->maps, &places, returns, &running->refused);
}

// Attaches to the entries or the returns of a user's places.
static int user_attach(struct running *running, uint16_t user, bool returns) {
    const struct function_user *of = &running->choice.users[user];
    const struct function_object *object = &running->choice.objects[of->object];
    if (object->kernel)
        return kernel_attach(running, user, returns);
    uint64_t offsets[FUNCTIONS_MAX];
    uint32_t indexes[FUNCTIONS_MAX];
    struct uprobe_places places = {.file = object->fd,
                                   .pid = of->pid,
                                   .returned_bytes = uprobe_returned_bytes(object->machine, object->is64),
                                   .offsets = offsets,
                                   .indexes = indexes};
    for (uint32_t i = 0; i < running->n_places; i++) {
        if (running->places[i].user != user || (returns && !is_timed(running, &running->places[i])))
            continue;
        offsets[places.n] = running->choice.functions[running->places[i].function].offset;
        indexes[places.n++] = i;
    }
    return uprobes_attach(&running->probes[user], &running->maps, &places, returns);
}

// A call that was entered before counts without a time.
static void user_time(struct running *running, uint16_t user) {
    for (uint32_t i = 0; i < running->n_places; i++)
        if (running->places[i].user == user && is_timed(running, &running->places[i]))
            __atomic_store_n(&running->maps.shared[i].timing, 1, __ATOMIC_RELAXED);
}

static bool has_ended(pid_t pid) {
    return pid > 0 && kill(pid, 0) && errno == ESRCH;
}

static int attach_failed(const struct running *running, uint16_t user, int code, struct choice_error *error) {
    const struct function_user *of = &running->choice.users[user];
    const struct function_object *object = &running->choice.objects[of->object];
    error->place = object->kernel ? 0 : (int32_t)running->choice.specs.all[__builtin_ctz(object->specs)].place;
    if (code == -EPERM || code == -EACCES)
        snprintf(error->sentence, sizeof(error->sentence),
                 "%.80s: the kernel does not permit uprobes with BPF (%s): run ktop as root; the kernel must not be "
                 "locked down",
                 object->path, strerror(-code));
    else if (code == -ENODEV)
        snprintf(error->sentence, sizeof(error->sentence),
                 "%.80s: this kernel has no uprobes (CONFIG_UPROBE_EVENTS, CONFIG_BPF_EVENTS)", object->path);
    else if (object->kernel)
        snprintf(error->sentence, sizeof(error->sentence), "%.80s: the kernel refuses the probes: %s", object->path,
                 strerror(-code));
    else
        snprintf(error->sentence, sizeof(error->sentence), "%.100s in PID %d: the kernel refuses the probes: %s",
                 object->path, (int)of->pid, strerror(-code));
    return code;
}

static int entries_attach(struct running *running, struct choice_error *error) {
    for (uint16_t user = 0; user < running->choice.n_users; user++) {
        int code = user_attach(running, user, false);
        if (code && !has_ended(running->choice.users[user].pid))
            return attach_failed(running, user, code, error);
    }
    return 0;
}

// ---- the rate ----

static bool spec_stands(const struct running *before, const struct function_spec *spec) {
    for (size_t i = 0; before && i < before->choice.specs.n; i++)
        if (!strcmp(before->choice.specs.all[i].text, spec->text))
            return !before->stopped[0];
    return false;
}

// Calls that do not count cost the programs as much.
static double entries_of(const struct place_counts *counts) {
    return (double)__atomic_load_n(&counts->entries, __ATOMIC_RELAXED) +
           (double)__atomic_load_n(&counts->skipped, __ATOMIC_RELAXED);
}

static double call_us(const struct running *running, const struct function_place *place) {
    if (running->choice.objects[running->choice.functions[place->function].object].kernel)
        return kernel_trial()->timed_us;
    return is_timed(running, place) ? uprobe_trial()->timed_us : uprobe_trial()->counted_us;
}

// Counts the entries for a moment before anything else is attached.
static int rate_check(struct running *running, const struct running *before, struct choice_error *error) {
    const struct timespec pause = {.tv_nsec = RATE_LIMIT_COUNT_NS};
    double us = 0, most_us = 0, calls = 0;
    uint32_t most = 0;
    uint64_t begin = now_ns();
    bool wanted = false;
    for (uint32_t i = 0; i < running->n_places; i++) {
        const struct function_spec *spec = spec_of(running, &running->places[i]);
        wanted |= !spec->forced && !spec_stands(before, spec);
    }
    if (!wanted)
        return 0;
    nanosleep(&pause, NULL);
    double seconds = (double)(now_ns() - begin) / 1e9;
    for (uint32_t i = 0; i < running->n_places; i++) {
        const struct function_spec *spec = spec_of(running, &running->places[i]);
        if (spec->forced || spec_stands(before, spec))
            continue;
        double entries = entries_of(&running->maps.shared[i]);
        double cost = entries * call_us(running, &running->places[i]);
        us += cost;
        calls += entries;
        most = cost > most_us ? i : most;
        most_us = cost > most_us ? cost : most_us;
    }
    double pct = us / seconds / 1e4;
    if (pct <= running->bound_pct)
        return 0;
    const struct function *function = &running->choice.functions[running->places[most].function];
    error->place = (int32_t)running->choice.specs.all[function->spec].place;
    snprintf(
        error->sentence, sizeof(error->sentence),
        "%.0f calls/s would cost the programs %.0f %% of a CPU, above the limit of %g, most of it in %.48s: choose "
        "other functions, or begin the pattern with !",
        calls / seconds, pct, running->bound_pct, function->name);
    return -EDQUOT;
}

void running_bound(struct running *running, double seconds) {
    double most_calls = 0;
    uint32_t most = 0;
    bool forced = true;
    if (running->stopped[0] || seconds <= 0)
        return;
    for (uint32_t i = 0; i < running->n_places; i++) {
        const struct function_place *place = &running->places[i];
        double calls = place->now ? entries_of(place->now) : 0;
        most = calls > most_calls ? i : most;
        most_calls = calls > most_calls ? calls : most_calls;
        forced &= spec_of(running, place)->forced;
    }
    double pct = running->cost_us / seconds / 1e4;
    if (forced || !rate_limit_passed(&running->high, pct, running->bound_pct))
        return;
    snprintf(running->stopped, sizeof(running->stopped),
             "the probes cost the programs %.0f %% of a CPU, most of it in %.48s (%.0f calls/s)", pct,
             running->choice.functions[running->places[most].function].name, most_calls / seconds);
    for (size_t i = 0; i < running->choice.n_users; i++)
        uprobes_detach(&running->probes[i]);
}

// ---- begin and end ----

static int open_all(struct running *running, const char *list, const struct collect_options *options,
                    const struct running *before, struct choice_error *error) {
    size_t n_pids = options ? options->n_pids : 0, places = 0;
    struct function_uses uses = {.lists = false};
    int result = function_specs_parse(&running->choice.specs, list, error);
    if (result)
        return result;
    if (!running->choice.specs.n)
        return -ENODATA;
    result = function_choice_find(&running->choice, options ? options->pids : NULL, n_pids, error);
    if (result)
        return result;
    running->pids = options ? options->pids : NULL;
    running->n_pids = n_pids;
    running->show_self = options && options->show_self;
    for (size_t i = 0; i < running->choice.n_objects; i++)
        running->every |= !n_pids && !running->choice.objects[i].kernel;
    running->bound_pct =
        options && options->test.function_bound_pct > 0 ? options->test.function_bound_pct : FUNCTION_COST_PCT;
    for (size_t i = 0; i < running->choice.n_users; i++)
        places += functions_of(&running->choice, running->choice.users[i].object);
    for (size_t i = 0; i < running->choice.n_objects; i++)
        uses.kernel |= running->choice.objects[i].kernel;
    for (size_t i = 0; i < running->choice.specs.n; i++) {
        const struct function_spec *spec = &running->choice.specs.all[i];
        uses.lists |= spec->slower_ns != 0;
        uses.switched |= spec->role != FUNCTION_COUNTED;
        running->starts |= spec->role == FUNCTION_START;
    }
    running->some_cpus = options && options->trace.cpus;
    if (running->some_cpus)
        function_cpus_parse(&running->cpus, options->trace.cpus);
    uses.cpus = running->some_cpus ? &running->cpus : NULL;
    if (places > FUNCTION_PLACES_MAX) {
        error->place = 0;
        snprintf(error->sentence, sizeof(error->sentence),
                 "%zu functions in %zu processes are %zu probes, more than the limit of %d: choose fewer functions, or "
                 "processes with --pid",
                 running->choice.n_functions, running->choice.n_users, places, FUNCTION_PLACES_MAX);
        return -E2BIG;
    }
    uint32_t room = running->every ? FUNCTION_PLACES_MAX : places ? (uint32_t)places : 1;
    result = function_maps_open(&running->maps, room, &uses);
    if (result) {
        char fix[160];
        bpf_explain(result, error->sentence, sizeof(error->sentence), fix, sizeof(fix));
        return result;
    }
    if (uses.switched)
        running->maps.switch_->on = !running->starts;
    running->places = xcalloc(room, sizeof(*running->places));
    for (uint16_t user = 0; user < running->choice.n_users; user++)
        places_add(running, user);
    result = entries_attach(running, error);
    if (!result)
        result = rate_check(running, before, error);
    for (uint16_t user = 0; user < running->choice.n_users && !result; user++) {
        int code = user_attach(running, user, true);
        if (code && !has_ended(running->choice.users[user].pid))
            result = attach_failed(running, user, code, error);
        user_time(running, user);
        running->choice.users[user].fresh = false;
    }
    return result;
}

int running_open(struct running **out, const char *list, const struct collect_options *options,
                 const struct running *before, struct choice_error *error) {
    struct running *running = xcalloc(1, sizeof(*running));
    *error = (struct choice_error){.place = -1};
    running->maps = FUNCTION_MAPS_NONE;
    running->probes = xcalloc(FUNCTION_PROCESSES_MAX, sizeof(*running->probes));
    running->comms = xcalloc(FUNCTION_PROCESSES_MAX, sizeof(*running->comms));
    running->known = xcalloc(1, PIDS_MAX);
    int result = open_all(running, list, options, before, error);
    if (result) {
        running_free(running);
        running = NULL;
    } else {
        running_read(running); // entries of the check are not of the first interval
    }
    *out = running;
    return result;
}

void running_free(struct running *running) {
    if (!running)
        return;
    for (size_t i = 0; i < FUNCTION_PROCESSES_MAX; i++)
        uprobes_detach(&running->probes[i]);
    for (uint32_t i = 0; i < running->n_places; i++) {
        free(running->places[i].before);
        free(running->places[i].now);
    }
    function_maps_close(&running->maps);
    function_choice_free(&running->choice);
    free(running->places);
    free(running->probes);
    free(running->comms);
    free(running->known);
    free(running);
}

// ---- processes that come and go ----

static void user_start(struct running *running, uint16_t user) {
    bool has_places = false;
    for (uint32_t i = 0; i < running->n_places; i++)
        has_places |= running->places[i].user == user;
    if (has_places) {
        proc_read_comm(running->choice.users[user].pid, running->comms[user], sizeof(running->comms[user]));
    } else if (!places_add(running, user)) {
        running->choice.left_out++;
        return;
    }
    if (!user_attach(running, user, false) && !user_attach(running, user, true))
        user_time(running, user);
}

// Processes that started since the last frame. One may be looked at before its exec, so each is looked at twice. A PID
// that is used again later is not seen.
static void processes_add(struct running *running) {
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc))) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid <= 0 || pid >= PIDS_MAX || pid == getpid() || running->known[pid] == LOOKS)
            continue;
        running->known[pid]++;
        function_choice_add(&running->choice, pid);
    }
    if (proc)
        closedir(proc);
    for (uint16_t user = 0; user < running->choice.n_users; user++) {
        if (running->choice.users[user].fresh)
            user_start(running, user);
        running->choice.users[user].fresh = false;
    }
}

static void users_end(struct running *running) {
    for (size_t i = 0; i < running->choice.n_users; i++) {
        struct function_user *user = &running->choice.users[i];
        if (!user->pid || !has_ended(user->pid))
            continue;
        uprobes_detach(&running->probes[i]);
        user->pid = 0;
    }
}

// ---- reading ----

// The racy maximum and minimum of the interval, corrected by the histogram, which is exact but for its precision.
static void extremes_read(struct function_place *place, struct place_counts *shared) {
    uint32_t low = 0, high = HIST_BUCKETS;
    place->max_ns = __atomic_exchange_n(&shared->max_ns, 0, __ATOMIC_RELAXED);
    place->min_ns = ~__atomic_exchange_n(&shared->not_min_ns, 0, __ATOMIC_RELAXED);
    while (low < HIST_BUCKETS && !place->now->buckets[low])
        low++;
    while (high && !place->now->buckets[high - 1])
        high--;
    if (!high)
        return;
    if (hist_bucket(place->max_ns) != high - 1)
        place->max_ns = (hist_bucket_low(high - 1) + hist_bucket_high(high - 1)) / 2;
    if (hist_bucket(place->min_ns) != low)
        place->min_ns = hist_bucket_low(low);
}

static void place_read(struct function_place *place, struct place_counts *shared) {
    const uint64_t entries = __atomic_load_n(&shared->entries, __ATOMIC_RELAXED),
                   skipped = __atomic_load_n(&shared->skipped, __ATOMIC_RELAXED);
    if (!entries && !skipped)
        return;
    if (!place->before) {
        place->before = xcalloc(1, sizeof(*place->before));
        place->now = xcalloc(1, sizeof(*place->now));
    }
    struct place_counts *now = place->now, *before = place->before;
    uint64_t returns = 0;
    for (int i = 0; i < HIST_BUCKETS; i++) {
        uint32_t count = __atomic_load_n(&shared->buckets[i], __ATOMIC_RELAXED);
        now->buckets[i] = count - before->buckets[i];
        before->buckets[i] = count;
        returns += now->buckets[i];
    }
    const uint64_t sum = __atomic_load_n(&shared->sum_ns, __ATOMIC_RELAXED),
                   unwound = __atomic_load_n(&shared->unwound, __ATOMIC_RELAXED);
    now->entries = entries - before->entries;
    now->skipped = skipped - before->skipped;
    now->returns = returns; // of the histogram, which is what is shown
    now->sum_ns = sum - before->sum_ns;
    now->unwound = unwound - before->unwound;
    now->begun = __atomic_load_n(&shared->begun, __ATOMIC_RELAXED); // since the start
    before->entries = entries;
    before->skipped = skipped;
    before->returns += returns;
    before->sum_ns = sum;
    before->unwound = unwound;
    place->calls_total += (double)now->entries;
    extremes_read(place, shared);
}

void running_read(struct running *running) {
    running->cost_us = 0;
    for (uint32_t i = 0; i < running->n_places; i++) {
        struct function_place *place = &running->places[i];
        place_read(place, &running->maps.shared[i]);
        if (place->now)
            running->cost_us += entries_of(place->now) * call_us(running, place);
    }
    users_end(running);
    if (running->every && !running->stopped[0])
        processes_add(running);
}
