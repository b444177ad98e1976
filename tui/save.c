// `w`: writes the screen (.txt), the pane's frame (.csv, .json) or a format of one of its parts (.svg) to a new file.
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
    app->panes[app->current]->csv_headed = false; // the file needs its own header lines
    int status = look->frame ? pane_write(app->panes[app->current], look, format, &info, out) : -ENODATA;
    rewind_unlook(&app->rewind);
    return status;
}

static int write_part(struct app *app, const struct part_file *file, FILE *out) {
    const struct write_info info = {KTOP_VERSION, app->host, app->kernel};
    int status = pane_write_file(app->panes[app->current], rewind_look(&app->rewind), file, &info, out);
    rewind_unlook(&app->rewind);
    return status;
}

// Redraws the screen without the prompt.
static void draw_again(struct app *app) {
    int x, y;
    app->question = NULL;
    app->message_until_ns = 0;
    chrome_draw(app, rewind_look(&app->rewind), &x, &y);
    rewind_unlook(&app->rewind);
}

// The formats of every pane, which those of its parts go before.
static const struct {
    const char *suffix, *what;
} own_formats[] = {{".txt", "screen"}, {".csv", "pane"}, {".json", "pane"}};
#define N_OWN_FORMATS (sizeof(own_formats) / sizeof(own_formats[0]))

// ".txt .csv" or ".txt (screen), .csv (pane)".
static void formats_text(const struct pane *pane, bool meanings, char *text, size_t size) {
    const struct part_file *files[PANE_FILES_MAX];
    size_t n = pane_files(pane, files);
    FILE *out = fmemopen(text, size, "w");

    for (size_t i = 0; i < N_OWN_FORMATS + n; i++) {
        bool own = i < N_OWN_FORMATS;
        const char *suffix = own ? own_formats[i].suffix : files[i - N_OWN_FORMATS]->suffix;
        if (own && pane_file(pane, suffix))
            continue;
        fprintf(out, "%s%s", i ? meanings ? ", " : " " : "", suffix);
        if (meanings)
            fprintf(out, " (%s)", own ? own_formats[i].what : files[i - N_OWN_FORMATS]->what);
    }
    fclose(out);
    text[size - 1] = '\0'; // a full buffer has no end
}

static void say_formats(struct app *app) {
    char formats[256];

    formats_text(app->panes[app->current], true, formats, sizeof(formats));
    app_say(app, true, "not written: known suffixes: %s", formats);
}

static void save_done(struct app *app, const char *name) {
    char shown[100];
    const char *end = strrchr(name, '.');
    const struct part_file *file = pane_file(app->panes[app->current], name);
    bool csv = end && !strcmp(end, ".csv"), json = end && !strcmp(end, ".json"), text = end && !strcmp(end, ".txt");
    escape_fit(name, 60, shown, sizeof shown);
    if (!*name)
        return;
    if (!file && !csv && !json && !text) {
        say_formats(app);
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
    if (!file && text)
        draw_again(app);
    int status = file   ? write_part(app, file, out)
                 : csv  ? write_frame(app, FORMAT_CSV, out)
                 : json ? write_frame(app, FORMAT_JSON, out)
                        : write_screen(app->grid, out);
    errno = status < 0 ? -status : 0;
    if (file && status == -ENODATA) {
        fclose(out);
        unlink(name);
        app_say(app, true, "nothing was measured yet, or nothing matches the filter");
        return;
    }
    if (fclose(out) || status < 0) {
        app_say(app, true, "cannot write %s: %s", shown, strerror(errno));
        unlink(name);
        return;
    }
    app_say(app, false, "written: %s", shown);
}

void save_prompt(struct app *app) {
    static struct question question = {NULL, NULL, save_done};
    static const char *const ends[] = {".txt", ".csv", ".json", ".txt"};
    static char label[100];
    char name[100], stamp[32], formats[64];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    const struct pane *pane = app->panes[app->current];
    const struct part_file *file = pane->view->parts[pane->focus].kind->files; // a heat map has the focus
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    snprintf(name, sizeof name, "ktop-%s-%s%s", pane->view->name, stamp,
             file ? file->suffix : ends[app->options->format]);
    formats_text(pane, false, formats, sizeof formats);
    snprintf(label, sizeof label, "write to (%s): ", formats);
    question.label = label;
    app->question = &question;
    prompt_start(&app->prompt, question.label, name);
}
