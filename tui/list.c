// The options that print and end. All names of the machine are escaped: the output may go to a terminal.
#include "tui/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/doctor.h"
#include "collectors/runner.h"
#include "collectors/session.h"
#include "model/findings_about.h"
#include "model/findings_thresholds.h"
#include "model/mem.h"
#include "views/escape.h"

// ---- --list ----

static int ended(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE)
        return 0;
    fprintf(stderr, "ktop: cannot write to standard output: %s\n", strerror(errno));
    return 1;
}

static int list_panes(void) {
    for (size_t i = 0; views[i]; i++)
        printf("%-10s %c  %s\n", views[i]->name, views[i]->key, views[i]->question);
    return ended();
}

static int list_columns(void) {
    struct frame *blank = runner_blank_frame();
    for (size_t i = 0; views[i]; i++) {
        printf("%s%s: %s\n", i ? "\n" : "", views[i]->name, views[i]->title);
        for (size_t j = 0; j < views[i]->n_parts; j++)
            if (views[i]->parts[j].kind->describe)
                views[i]->parts[j].kind->describe(&views[i]->parts[j], blank, stdout);
    }
    // Includes series that no screen shows.
    puts("\nseries: Series: single values, in the JSON and CSV of each pane that shows data of their source");
    for (size_t i = 0; i < blank->n_sections; i++)
        for (size_t k = 0; k < section_n_series(blank->sections[i]); k++) {
            const struct series_def *def;
            section_series_at(blank->sections[i], k, &def);
            printf("  %-26s %s\n", def->name, def->help ? def->help : "");
        }
    frame_unref(blank);
    return ended();
}

// The lines of a tracefs file.
static int list_file(const char *name, const char *what) {
    const char *reason = NULL, *fix = NULL, *where = session_tracing_dir(&reason, &fix);
    char path[600], *line = NULL, shown[1024];
    size_t size = 0, n = 0;
    if (!where) {
        fprintf(stderr, "ktop: %s cannot be listed: %s: %s\n", what, reason ? reason : "no tracefs", fix ? fix : "");
        return 1;
    }
    snprintf(path, sizeof path, "%s/%s", where, name);
    FILE *in = fopen(path, "re");
    errno = in ? 0 : errno;
    for (ssize_t length; in && (length = getline(&line, &size, in)) > 0; n++) {
        if (line[length - 1] == '\n')
            length--;
        escape_text(line, (size_t)length, shown, sizeof shown);
        puts(shown);
    }
    int error = errno;
    free(line);
    if (in)
        fclose(in);
    if (n)
        return ended();
    const char *why = error == ENOENT ? "not built into this kernel"
                      : error == EPERM || error == EACCES
                          ? "permission denied (run as root; a locked-down kernel refuses root as well)"
                      : error ? strerror(error)
                              : "the list is empty";
    fprintf(stderr, "ktop: %s cannot be listed: %s: %s; see `ktop --doctor`\n", what, name, why);
    return 1;
}

static int list_presets(const struct preset_files *files) {
    for (size_t i = 0; i < files->n_problems; i++)
        fprintf(stderr, "ktop: %s\n", files->problems[i]);
    presets_list(files, stdout);
    return ended();
}

static int list_rules(void) {
    for (const struct finding_about *about = finding_abouts; about->kind; about++) {
        char text[400];
        thresholds_expand(about->kind, about->when, text, sizeof text);
        printf("%s\n  when: %s\n  why: %s\n  try: %s\n", about->kind, text, about->why, about->advice);
        if (about->causes)
            printf("  causes: %s\n", about->causes);
        for (size_t i = 0; i < N_THRESHOLDS; i++) {
            if (strcmp(thresholds[i].rule, about->kind) != 0)
                continue;
            threshold_words(i, thresholds_in_force[i], text, sizeof text);
            printf("  %s.%s = %s", about->kind, thresholds[i].name, text);
            threshold_words(i, thresholds[i].initial, text, sizeof text);
            if (thresholds_in_force[i] != thresholds[i].initial)
                printf("  # default: %s", text);
            putchar('\n');
        }
    }
    return ended();
}

int list_names(const struct options *options) {
    switch (options->list) {
    case LIST_PANES:
        return list_panes();
    case LIST_COLUMNS:
        return list_columns();
    case LIST_EVENTS:
        list_events_each();
        return ended();
    case LIST_TRACEPOINTS:
        return list_file("available_events", "tracepoints");
    case LIST_RULES:
        return list_rules();
    case LIST_PRESETS:
        return list_presets(&options->preset_files);
    default:
        return list_file("available_filter_functions", "functions of the kernel");
    }
}

// ---- --doctor ----

struct doctor {
    struct check_report report;
    struct check *checks;
    size_t n;
};

static void doctor_add(struct check_report *report, const struct check *check) {
    struct doctor *doctor = (struct doctor *)report;
    doctor->checks = xrealloc(doctor->checks, (doctor->n + 1) * sizeof *doctor->checks);
    doctor->checks[doctor->n++] = *check;
}

int list_doctor(void) {
    struct doctor doctor = {.report = {.add = doctor_add}};
    int width = 0;
    size_t missing = 0;
    char shown[1024];
    doctor_run(&doctor.report);
    for (size_t i = 0; i < doctor.n; i++)
        if (text_width(doctor.checks[i].capability) > width)
            width = text_width(doctor.checks[i].capability);
    for (size_t i = 0; i < doctor.n; i++) {
        const struct check *check = &doctor.checks[i];
        escape_text(check->detail, strlen(check->detail), shown, sizeof shown);
        printf("%-*s  %s  %s\n", width, check->capability, check->works ? "works   " : "does not", shown);
        if (!check->works && check->fix[0]) {
            escape_text(check->fix, strlen(check->fix), shown, sizeof shown);
            printf("%-*s  %8s  fix: %s\n", width, "", "", shown);
        }
        missing += !check->works;
    }
    if (missing)
        printf("\n%zu of %zu checks failed.\n", missing, doctor.n);
    else
        printf("\nAll checks passed.\n");
    free(doctor.checks);
    return ended();
}

// ---- --cleanup ----

static void said(const char *line) {
    char shown[1024];
    escape_text(line, strlen(line), shown, sizeof shown);
    puts(shown);
}

int list_cleanup(void) {
    const char *reason = NULL, *fix = NULL;
    if (!session_tracing_dir(&reason, &fix)) {
        fprintf(stderr, "ktop: cannot look for stale tracing instances: %s: %s\n", reason ? reason : "no tracefs",
                fix ? fix : "");
        return 1;
    }
    int removed = session_sweep(said);
    if (removed < 0) {
        fprintf(stderr, "ktop: cannot clean up: %s: run it as root\n", strerror(-removed));
        return 1;
    }
    if (!removed)
        puts("nothing to remove: no stale tracing instance");
    return ended();
}
