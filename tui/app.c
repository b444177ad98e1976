// The main loop of the terminal program: one poll for keys, frames, signals and messages of the sweep; then it draws
// what changed. It never waits for data or for a collector.
#include "tui/app.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "collectors/session.h"
#include "model/mem.h"
#include "tui/restore.h"
#include "tui/signals.h"

#define MESSAGE_NS 6000000000ull

static void sweep_ended(struct app *app, int *sweep_fd) {
    int removed = session_sweep_result(*sweep_fd);
    if (removed > 0)
        app_say(app, false, "removed %d stale tracing instance%s", removed, removed == 1 ? "" : "s");
    *sweep_fd = -1;
}

// ---- for the other files ----

void app_say(struct app *app, bool bad, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(app->message, sizeof app->message, format, args);
    va_end(args);
    app->message_bad = bad;
    app->message_until_ns = now_ns() + MESSAGE_NS;
    app->dirty = true;
}

void app_want(struct app *app) {
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < app->n_panes; i++) {
        const struct pane *pane = app->panes[i];
        if (i != app->current && !pane->pinned)
            continue;
        n = pane_needs(pane, false, names, n, 63);
    }
    names[n] = NULL;
    app->source->ops->want(app->source, names);
}

void app_show_pane(struct app *app, size_t index, bool remember) {
    if (remember && app->n_back < APP_BACK_MAX && index != app->current)
        app->back[app->n_back++] = app->current;
    app->current = index;
    app->dirty = true;
    app_want(app);
}

// ---- drawing ----

static void draw(struct app *app) {
    int cursor_x, cursor_y;
    chrome_draw(app, rewind_look(&app->rewind), &cursor_x, &cursor_y);
    screen_show(app->grid, cursor_x, cursor_y);
    rewind_unlook(&app->rewind);
    app->dirty = false;
}

static void fit(struct app *app) {
    int width, height;
    screen_size(&width, &height);
    grid_free(app->grid);
    app->grid = grid_new(width, height, screen_ascii());
    app->dirty = true;
}

// ---- the loop ----

static void suspend(struct app *app) {
    sigset_t stop;
    screen_suspend();
    signal(SIGTSTP, SIG_DFL); // ncurses has installed its own handler
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL); // stops here; an orphaned process group ignores it
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    screen_resume();
    fit(app);
}

static void signals(struct app *app, int fd) {
    struct signalfd_siginfo info;
    bool resized = false;
    while (read(fd, &info, sizeof info) == sizeof info) {
        switch (info.ssi_signo) {
        case SIGWINCH:
            resized = true;
            break;
        case SIGTSTP:
            suspend(app);
            break;
        case SIGCONT: // after a SIGSTOP: the shell may have drawn over the screen and changed the terminal settings
            screen_again();
            resized = true; // the size may have changed: while stopped, the shell's group got the SIGWINCH
            break;
        default:
            app->quit = true;
        }
    }
    if (resized) {
        screen_resized();
        fit(app);
    }
}

// Shows once how the recording ended.
static void replay_ended(struct app *app) {
    struct replay_state state = replay_state(app->source->replay);
    if (!state.ended || app->ended)
        return;
    app->ended = true;
    if (state.problem[0])
        app_say(app, true, "the recording: %s", state.problem);
    else if (state.left_out)
        app_say(app, true, "end of the recording; %llu frames are missing: their writing was too slow",
                (unsigned long long)state.left_out);
    else
        app_say(app, false, "end of the recording");
}

static void frame_arrived(struct app *app) {
    struct source *source = app->source;
    const struct frame *frame = source->ops->latest(source);
    if (source->replay)
        replay_ended(app);
    if (!frame)
        return;
    if (!app->first_number) // a recording may begin with any number
        app->first_number = source->replay ? frame->number : 1;
    if (app->options->iterations && frame->number >= app->first_number + app->options->iterations - 1)
        app->quit = true;
    // A recording shown at its newest frame stays at the newest when it advances (key ]).
    bool follows = source->replay && !source->follow && !rewind_live(&app->rewind) && rewind_age_s(&app->rewind) <= 0;
    rewind_newest(&app->rewind, frame);
    if (follows) {
        rewind_to_live(&app->rewind);
        rewind_freeze(&app->rewind);
    }
    if (!source->replay)
        triggers_fire(app, frame);
    app->dirty = true;
}

// Answers of collectors to requests: the sentence, and the place of the error in the request's text.
static void answers_arrived(struct app *app) {
    struct answer answer;
    while (runner_answer(app->source->runner, &answer)) {
        if (answer.kind == REQUEST_WAKERS && answer.status == ANSWER_REFUSED)
            app->wakers = false; // only switching them on is refused
        bool chosen = choices_answered(app, &answer);
        bool bad = answer.status == ANSWER_REFUSED || answer.status == ANSWER_LATE;
        if (!answer.sentence[0] || answer.status == ANSWER_SUPERSEDED)
            continue;
        if (answer.place >= 0 && !chosen)
            app_say(app, bad, "%s (at character %d)", answer.sentence, answer.place + 1);
        else
            app_say(app, bad, "%s", answer.sentence);
    }
}

static void keys(struct app *app) {
    struct screen_key key;
    int got;
    // Handles all waiting keys before one drawing, so that a held key does not lag.
    for (int i = 0; i < 64 && (got = screen_read(&key)) > 0 && !app->quit; i++)
        keys_handle(app, &key);
    if (got < 0)
        app->quit = true;
}

static int timeout_ms(const struct app *app) {
    uint64_t now = now_ns();
    if (!app->message_until_ns)
        return -1;
    return app->message_until_ns <= now ? 0 : (int)((app->message_until_ns - now) / 1000000 + 1);
}

static void loop(struct app *app, int signal_fd) {
    bool swept = false;
    int sweep_fd = -1;
    while (!app->quit) {
        if (app->dirty)
            draw(app);
        if (!swept && app->rewind.newest && app->source->live) {
            sweep_fd = session_sweep_start();
            swept = true;
        }
        struct pollfd fds[] = {{screen_fd(), POLLIN, 0},
                               {app->source->fd, POLLIN, 0},
                               {signal_fd, POLLIN, 0},
                               {sweep_fd, POLLIN, 0},
                               {app->source->runner ? runner_answer_fd(app->source->runner) : -1, POLLIN, 0},
                               {app->source->recorder ? recorder_fd(app->source->recorder) : -1, POLLIN, 0},
                               {complete_fd(&app->complete), POLLIN, 0}};
        if (poll(fds, sizeof fds / sizeof *fds, timeout_ms(app)) < 0 && errno != EINTR)
            return;
        if (app->message_until_ns && now_ns() >= app->message_until_ns) {
            app->message_until_ns = 0;
            app->dirty = true;
        }
        if (fds[2].revents)
            signals(app, signal_fd);
        if (fds[0].revents & POLLIN) {
            keys(app);
            app->source->ops->paused(app->source, !rewind_live(&app->rewind));
        }
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            return;
        if (fds[1].revents)
            frame_arrived(app);
        if (fds[3].revents)
            sweep_ended(app, &sweep_fd);
        if (fds[4].revents)
            answers_arrived(app);
        if (fds[5].revents && app->source->recorder)
            record_stop(app, false);
        if (fds[6].revents && app->complete.lister) {
            complete_answered(&app->complete, &app->prompt);
            app->dirty = true;
        }
    }
}

static bool app_panes(struct app *app) {
    while (views[app->n_panes] && app->n_panes < APP_PANES_MAX) {
        if (app->options->n_panes && views[app->n_panes] == app->options->panes[0])
            app->current = app->n_panes;
        app->n_panes++;
    }
    return panes_open(app->options, views, app->n_panes, app->panes);
}

static void app_free(struct app *app) {
    rewind_done(&app->rewind);
    overlay_close(&app->overlay);
    complete_stop(&app->complete);
    for (size_t i = 0; i < app->n_panes; i++)
        pane_free(app->panes[i]);
    grid_free(app->grid);
}

// Keys come from the terminal even if standard input is a recording.
static bool terminal_input(void) {
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    bool done = fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO;
    if (fd > STDIN_FILENO)
        close(fd);
    return done;
}

int app_run(const struct options *options) {
    char why[256];
    static struct app only; // static: a collector that hangs at the end may outlive this function
    struct app *app = &only;
    app->options = options;
    app->threads = options->collect.threads;
    app->wakers = options->collect.profile.wakers;
    app->choices[CHOICE_TRACEPOINTS].list = options->tracepoints ? xstrdup(options->tracepoints) : NULL;
    app->choices[CHOICE_PROBES].list = options->probes ? xstrdup(options->probes) : NULL;
    app->choices[CHOICE_FUNCTIONS].list = options->functions ? xstrdup(options->functions) : NULL;
    if (options->replay && !(app->source = source_replay(options, why, sizeof why))) {
        fprintf(stderr, "ktop: %s\n", why);
        return 1;
    }
    if (options->replay && !strcmp(options->replay, "-") && !terminal_input()) {
        fprintf(stderr, "ktop: --replay -: no terminal to read keys from: use --batch\n");
        return 1;
    }
    int status = 1, signal_fd = signals_open((const int[]){SIGTSTP, SIGCONT, SIGWINCH, 0});
    priority_ask(PRIORITY_SCREEN); // before the first paint, which matters most under load
    if (!app_panes(app)) {
        app_free(app);
        return sort_unknown(options, "no pane has");
    }
    restore_on_crash();
    mem_on_failure(restore_now);
    if (!screen_open(options->ascii, why, sizeof why)) {
        fprintf(stderr, "ktop: %s\n", why);
        app_free(app);
        return 1;
    }
    if (!app->source)
        app->source = source_live(options);
    app->rewind.history = app->source->history;
    snprintf(app->host, sizeof app->host, "%s", app->source->origin->host);
    snprintf(app->kernel, sizeof app->kernel, "%s", app->source->origin->kernel);
    fit(app);
    if (screen_note()[0])
        app_say(app, true, "%s", screen_note());
    else if (options->filter_note[0])
        app_say(app, true, "--filter: %s", options->filter_note);
    draw(app); // before the collectors' threads start, which use most CPU then
    app_want(app);
    if (triggers_any(options->tracepoints))
        triggers_arm(app);
    bool recorded = !options->record || record_start(app, options->record);
    int error = recorded ? app->source->ops->start(app->source) : 0;
    if (recorded && !error) {
        loop(app, signal_fd);
        status = 0;
    }
    screen_close(); // first: the user gets the prompt back at once
    if (error)
        source_start_failed(error);
    if (!recorded)
        fprintf(stderr, "ktop: --record: %s\n", app->message);
    if (app->source->recorder) {
        record_stop(app, true);
        if (app->message_bad && app->message[0])
            fprintf(stderr, "ktop: %s\n", app->message);
    }
    int hung = app->source->ops->stop(app->source);
    if (hung)
        return status; // a hanging thread still uses the memory: it is freed with the process
    session_close();
    app_free(app);
    source_free(app->source);
    return status;
}
