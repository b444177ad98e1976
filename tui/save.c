// `w`: writes the screen (.txt), the pane's frame (.csv, .json) or its picture (.svg) to a file that did not exist
// before.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tui/app.h"
#include "views/escape.h"

static int write_screen(const struct grid *grid, FILE *out) {
    char row[8192];
    for (int y = 0; y < grid->height; y++) {
        grid_row_text(grid, y, row, sizeof row);
        fprintf(out, "%s\n", row);
    }
    return ferror(out) ? -EIO : 0;
}

static int write_frame(struct app *app, enum format format, FILE *out) {
    const struct write_info info = {KTOP_VERSION, app->host, app->kernel};
    const struct look *look = rewind_look(&app->rewind);
    app->panes[app->current]->csv_headed = false; // a file of its own
    int status = look->frame ? pane_write(app->panes[app->current], look, format, &info, out) : -ENODATA;
    rewind_unlook(&app->rewind);
    return status;
}

static int write_picture(struct app *app, FILE *out) {
    const struct write_info info = {KTOP_VERSION, app->host, app->kernel};
    int status = pane_write_svg(app->panes[app->current], rewind_look(&app->rewind), &info, out);
    rewind_unlook(&app->rewind);
    return status;
}

// The screen as it is without the prompt that asked for the name.
static void draw_again(struct app *app) {
    int x, y;
    app->question = NULL;
    app->message_until_ns = 0;
    chrome_draw(app, rewind_look(&app->rewind), &x, &y);
    rewind_unlook(&app->rewind);
}

static void save_done(struct app *app, const char *name) {
    char shown[100];
    const char *end = strrchr(name, '.');
    bool csv = end && !strcmp(end, ".csv"), json = end && !strcmp(end, ".json");
    bool svg = end && !strcmp(end, ".svg"), text = end && !strcmp(end, ".txt");
    escape_fit(name, 60, shown, sizeof shown);
    if (!*name)
        return;
    if (!csv && !json && !svg && !text) {
        app_say(app, true,
                "not written: the suffix selects the format: .txt (screen), .csv or .json (pane), .svg (heat map)");
        return;
    }
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        if (errno == EEXIST)
            app_say(app, true, "not written: %s exists: choose another name", shown);
        else
            app_say(app, true, "cannot write %s: %s", shown, strerror(errno));
        return;
    }
    FILE *out = fdopen(fd, "w");
    if (text)
        draw_again(app);
    int status = svg    ? write_picture(app, out)
                 : csv  ? write_frame(app, FORMAT_CSV, out)
                 : json ? write_frame(app, FORMAT_JSON, out)
                        : write_screen(app->grid, out);
    errno = status < 0 ? -status : 0;
    if (svg && (status == -ENOTSUP || status == -ENODATA)) {
        fclose(out);
        unlink(name);
        app_say(app, true, status == -ENOTSUP ? "this pane has no heat map to write" : "nothing was measured yet");
        return;
    }
    if (fclose(out) || status < 0) {
        app_say(app, true, "cannot write %s: %s", shown, strerror(errno));
        unlink(name);
        return;
    }
    app_say(app, false, "written: %s", shown);
}

void save_ask(struct app *app) {
    static const struct question question = {"write to (.txt .csv .json .svg): ", NULL, save_done};
    static const char *const ends[] = {"txt", "csv", "json", "txt"};
    char name[100], stamp[32];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    const struct pane *pane = app->panes[app->current];
    bool picture = pane->view->parts[pane->focus].kind->write_svg != NULL; // a heat map has the keys
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    snprintf(name, sizeof name, "ktop-%s-%s.%s", pane->view->name, stamp, picture ? "svg" : ends[app->options->format]);
    app->question = &question;
    prompt_start(&app->prompt, question.label, name);
}
