// The program's start, in order: the guard is forked before any thread exists; slow steps come after the first paint.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "collectors/session.h"
#include "model/findings_thresholds.h"
#include "tui/app.h"
#include "tui/batch.h"
#include "tui/list.h"
#include "tui/thresholds.h"

// Of malloc, for all threads together: each one keeps what was freed in it, and reading symbol files leaves holes of
// tens of MB in every arena of a thread. The event paths do not allocate.
#define ARENAS 2
#define DESCRIPTORS 1024

// Whether any process of --pid exists; without --pid always.
static bool pids_there(const struct collect_options *collect) {
    bool there = !collect->n_pids;
    for (size_t i = 0; i < collect->n_pids && !there; i++)
        there = !kill(collect->pids[i], 0) || errno != ESRCH;
    return there;
}

static int run(struct options *options) {
    char why[320];
    if (!pids_there(&options->collect)) {
        fprintf(stderr, "ktop: --pid %d: no such process: `ktop --batch --pane tasks` lists the processes\n",
                options->collect.pids[0]);
        return 1;
    }
    bool to_stdout = options->record && !strcmp(options->record, "-");
    if (options->action == ACTION_TUI && options->record && (to_stdout || !isatty(STDOUT_FILENO)))
        options->action = ACTION_RECORD;
    if (to_stdout && isatty(STDOUT_FILENO)) {
        fprintf(stderr, "ktop: --record -: standard output is a terminal: give a pipe, or --record FILE\n");
        return 1;
    }
    if (options->action == ACTION_TUI && !isatty(STDOUT_FILENO)) {
        fprintf(stderr, "ktop: standard output is not a terminal: use --batch, for example ktop --batch --pane %s\n",
                views[0]->name);
        return 1;
    }
    if (options->replay)
        return options->action == ACTION_BATCH ? batch_run(options) : app_run(options);
    if (session_open() < 0) // first: the guard must not inherit what is opened later
        fprintf(stderr, "ktop: cannot start the guard process: after SIGKILL, run ktop --cleanup\n");
    if ((options->tracepoints && session_tracepoints(options->tracepoints, why, sizeof why)) ||
        (options->probes && session_probes(&options->collect, why, sizeof why)) ||
        (options->functions && session_functions(&options->collect, why, sizeof why)) ||
        (options->graph && session_graph(&options->collect, why, sizeof why))) {
        fprintf(stderr, "ktop: %s\n", why);
        session_close();
        return 1;
    }
    return options->action == ACTION_TUI ? app_run(options) : batch_run(options);
}

// If a standard stream is closed, a file of ktop could get its descriptor and be overwritten by output. The placeholder
// refuses reads and writes, like the closed stream.
static void streams_keep(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(1);
}

// A table of descriptors that grows while there are threads waits for a grace period each time: 10 ms, or seconds where
// kernel threads are starved. It never shrinks.
static void descriptors_grow(void) {
    int high = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, DESCRIPTORS - 1);
    if (high >= 0) // else the limit is lower (ulimit -n)
        close(high);
}

int main(int argc, char **argv) {
    static struct options options; // static: a hanging thread may outlive main's frame
    streams_keep();
    descriptors_grow();
    mallopt(M_ARENA_MAX, ARENAS);
    signal(SIGPIPE, SIG_IGN); // a closed pipe is a write error, and a normal end
    signal(SIGXFSZ, SIG_IGN); // the file size limit (ulimit -f) is a write error too
    options_default(&options);
    bool good = options_parse(&options, argc, argv) && names_resolve(&options);
    if (options.tracepoints || !good) // an unknown preset may be in a file that was ignored
        for (size_t i = 0; i < options.preset_files.n_problems; i++)
            fprintf(stderr, "ktop: %s\n", options.preset_files.problems[i]);
    if (!good) {
        fprintf(stderr, "ktop: %s\n", options.error);
        return 2;
    }
    int status = events_resolve(&options);
    if (status) {
        fprintf(stderr, "ktop: %s\n", options.error);
        return status;
    }
    bool rules = options.action == ACTION_LIST ? options.list == LIST_RULES
                                               : options.action != ACTION_HELP && options.action != ACTION_VERSION;
    if (rules)
        thresholds_load();
    for (size_t i = 0; i < thresholds_problems(); i++)
        fprintf(stderr, "ktop: %s\n", thresholds_problem_at(i));
    switch (options.action) {
    case ACTION_HELP:
        options_help(stdout);
        return 0;
    case ACTION_VERSION:
        puts("ktop " KTOP_VERSION);
        return 0;
    case ACTION_LIST:
        return list_names(&options);
    case ACTION_DOCTOR:
        return list_doctor();
    case ACTION_CLEANUP:
        return list_cleanup();
    default:
        return run(&options);
    }
}
