// The process's state in the kernel (see the header).
#include "collectors/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/events/group.h"
#include "collectors/functions/find.h"
#include "collectors/functions/graph.h"
#include "collectors/kernel/tracefs/guard.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/probes/define.h"
#include "collectors/probes/set.h"
#include "model/mem.h"

static int sweep_pipe[2] = {-1, -1};

int session_open(void) {
    const char *reason, *fix;
    tracing_dir(&reason, &fix);
    return guard_start();
}

void session_close(void) {
    guard_stop();
}

bool session_is_in_kernel(void) {
    return instances_held() > 0 || probes_held() > 0;
}

const char *session_tracing_dir(const char **reason, const char **fix) {
    return tracing_dir(reason, fix);
}

// The option of the line with the error; such a line repeats it (collectors/kernel/groups/group.h).
static const char *option_of(const char *text, int32_t place, const char *other) {
    const char *line = place < 0 ? "" : text + place;
    return !strncmp(line, "group ", 6) ? "--group: " : !strncmp(line, "latency ", 8) ? "--latency: " : other;
}

int session_tracepoints(const char *text, char *why, size_t size) {
    const char *dir = tracing_dir(NULL, NULL);
    struct tracepoints list;
    struct choice choice;
    struct choice_error error;
    if (!dir || tracepoints_read(&list, dir))
        return 0;
    struct event_groups *groups;
    int result = event_groups_resolve(&groups, &choice, text, &list, dir, &error);
    if (!result)
        result = choice_check(&choice, text, &error);
    if (result)
        snprintf(why, size, "%s%s", option_of(text, error.place, "--tracepoint "), error.sentence);
    choice_free(&choice);
    event_groups_free(groups);
    tracepoints_free(&list);
    return result;
}

const char *const *session_actions(void) {
    return choice_actions;
}

int session_probes(const struct collect_options *options, char *why, size_t size) {
    struct choice_error error;
    struct probe_set set;
    int result = probe_set_parse(&set, options->probes, &error);
    if (!result)
        result = probe_set_find_grouped(&set, &error);
    if (!result && tracing_dir(NULL, NULL))
        result = probe_set_define(&set, "probes_try", options->n_pids ? options->pids[0] : 0, &error);
    if (result)
        snprintf(why, size, "%s%s", option_of(options->probes, error.place, "--probe: "), error.sentence);
    probe_set_free(&set);
    return result;
}

int session_functions(const struct collect_options *options, char *why, size_t size) {
    struct function_choice *choice = xcalloc(1, sizeof(*choice));
    struct choice_error error;
    int result = function_specs_parse(&choice->specs, options->functions, &error);
    if (!result)
        result = function_choice_find(choice, options->pids, options->n_pids, &error);
    if (result)
        snprintf(why, size, "--function: %s", error.sentence);
    function_choice_free(choice);
    free(choice);
    return result;
}

bool session_probe_line_uses(const char *line, const char *probe) {
    return probe_set_line_uses(line, probe);
}

int session_graph(const struct collect_options *options, char *why, size_t size) {
    struct choice_error error;
    struct graph_words words;
    int result = graph_words_parse(&words, options->graph, &error);
    if (result)
        snprintf(why, size, "--graph: %s", error.sentence);
    return result;
}

int session_sweep(void (*report)(const char *line)) {
    return ktop_sweep(0, report);
}

static void *sweep_main(void *arg) {
    int removed = ktop_sweep(0, NULL);
    ssize_t ignored = write(sweep_pipe[1], &removed, sizeof(removed));
    (void)ignored;
    return arg;
}

int session_sweep_start(void) {
    pthread_t thread;
    if (pipe2(sweep_pipe, O_CLOEXEC | O_NONBLOCK))
        return -1;
    if (pthread_create(&thread, NULL, sweep_main, NULL)) {
        close(sweep_pipe[0]);
        close(sweep_pipe[1]);
        return -1;
    }
    pthread_setname_np(thread, "ktop-sweep");
    pthread_detach(thread);
    return sweep_pipe[0];
}

int session_sweep_result(int fd) {
    int removed = 0;
    return read(fd, &removed, sizeof(removed)) == sizeof(removed) ? removed : 0;
}
