// The level of a finding: the quantity that its rule checks, in this frame and two minutes before the finding began.
// One place for all rules: a rule only names its input (struct rule_level). Runs in the thread that builds frames; the
// history is searched once per finding.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/findings_private.h"

#define NS 1000000000ull
#define BEFORE_NS (120 * NS)
#define AROUND_NS (30 * NS) // the frames around that time, so that one peak does not count
#define FRAMES_MAX 32
#define FRAMES_LEAST 3 // or one long frame
#define LONG_FRAME_S 5.0
#define HISTS_MAX 256
#define TELLING 2      // times the level of before
#define COUNTLESS 1000 // from so many times on, the factor says nothing

double telling_quantile(uint64_t count, const char **name) {
    *name = count >= 100 ? "p99" : count >= 10 ? "p90" : "min";
    return count >= 100 ? 0.99 : count >= 10 ? 0.9 : 0;
}

// ---- one frame ----

static bool is_key(const struct column *column, union cell value, const char *key) {
    char number[32];
    if (cell_is_null(column, value))
        return false;
    if (column->type == COLUMN_TEXT)
        return !strcmp(path_tail(text_bytes(value.text), 47), key);
    snprintf(number, sizeof(number), "%.0f", value.num);
    return !strcmp(number, key);
}

static double table_level(const struct table *table, enum level_kind kind, const char *name, const char *key,
                          enum unit *unit) {
    const struct table_def *def = table ? table_def(table) : NULL;
    int column = def ? table_column(def, name) : -1;
    double most = NAN;
    size_t cursor = 0;
    if (column < 0)
        return NAN;
    *unit = def->columns[column].unit;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double value = row[column].num;
        if (kind == LEVEL_ONLY)
            return *key ? NAN : value; // with a key, the finding is about something else than the only row
        if (kind == LEVEL_ROW && !is_key(&def->columns[0], row[0], key))
            continue;
        if (!(value <= most)) // also if most is NAN
            most = isnan(value) ? most : value;
    }
    return most;
}

static double plain_level(const struct rule_level *of, const char *name, const struct frame *frame, const char *key,
                          enum unit *unit) {
    const struct series_def *def = NULL;
    if (of->kind != LEVEL_SERIES)
        return table_level(frame_table(frame, of->of), of->kind, name, key, unit);
    double value = frame_series(frame, name, &def);
    if (def)
        *unit = def->unit;
    return value;
}

// Of that device and operation, whatever the flags: "vda R" has the operations R, RA, RS.
static bool is_hist_key(const union cell *keys, const char *key) {
    const char *device = keys[0].text ? text_bytes(keys[0].text) : "";
    size_t length = strlen(device);
    return length && keys[1].text && !strncmp(key, device, length) && key[length] == ' ' &&
           key[length + 1] == text_bytes(keys[1].text)[0] && !key[length + 2];
}

static double hist_level(const struct rule_level *of, const struct frame *const *frames, size_t n, const char *key,
                         struct level *level) {
    const struct hist *list[HISTS_MAX];
    const struct hist_def *def = NULL;
    const union cell *keys;
    const char *name;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hist_set *set = frame_hists(frames[i], of->of);
        if (!set || hist_set_def(set)->n_keys != 2 || hist_set_def(set)->keys[0].type != COLUMN_TEXT ||
            hist_set_def(set)->keys[1].type != COLUMN_TEXT)
            continue;
        def = hist_set_def(set);
        for (size_t k = 0; k < hist_set_count(set) && found < HISTS_MAX; k++) {
            const struct hist *hist = hist_set_at(set, k, &keys);
            if (is_hist_key(keys, key))
                list[found++] = hist;
        }
    }
    if (!found)
        return NAN;
    struct hist *all = hist_merge(list, found);
    double value = all->count ? hist_quantile(all, telling_quantile(all->count, &name)) : NAN;
    hist_free(all);
    level->unit = def->unit;
    level->suffix = def->unit_name;
    return value / (def->divisor > 0 ? def->divisor : 1);
}

void level_now(struct level *level, const struct rule_level *of, const struct frame *frame, const char *key) {
    level->name = NULL;
    level->now = NAN;
    if (of->kind == LEVEL_HIST) {
        level->now = hist_level(of, &frame, 1, key, level);
        level->name = isnan(level->now) ? NULL : of->of;
        return;
    }
    for (size_t i = 0; of->kind != LEVEL_NONE && i < 2 && of->names[i]; i++) {
        enum unit unit = UNIT_NONE;
        double value = plain_level(of, of->names[i], frame, key, &unit);
        if (isnan(value) || value <= level->now) // false for a NAN
            continue;
        *level = (struct level){of->names[i], NULL, unit, value, level->before};
    }
}

// ---- before ----

// The same finding was in that frame.
static bool held_then(const struct frame *frame, const struct rule *rule, const struct text *device) {
    const struct table *table = frame_table(frame, findings_table.name);
    const struct table_def *def = table ? table_def(table) : NULL;
    int kind = def ? table_column(def, "kind") : -1, on = def ? table_column(def, "culprit_device") : -1;
    size_t cursor = 0;
    for (const union cell *row; kind >= 0 && (row = table_next(table, &cursor));) {
        const struct text *its = text_at(row, on);
        if (text_at(row, kind) && !strcmp(text_bytes(row[kind].text), rule->kind) &&
            (!its || !device || !text_compare(its, device)))
            return true;
    }
    return false;
}

static int compare_numbers(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double plain_before(const struct level *level, const struct rule_level *of, const struct frame *const *frames,
                           size_t n, const char *key) {
    double values[FRAMES_MAX];
    size_t known = 0;
    enum unit unit;
    for (size_t i = 0; i < n; i++) {
        values[known] = plain_level(of, level->name, frames[i], key, &unit);
        known += !isnan(values[known]);
    }
    if (!known)
        return NAN;
    qsort(values, known, sizeof(values[0]), compare_numbers);
    return values[known / 2];
}

void level_before(struct level *level, const struct rule *rule, const struct history *history, uint64_t since_ns,
                  const char *key, const struct text *device) {
    const struct rule_level *of = &rule->level;
    const struct frame *frames[FRAMES_MAX];
    level->before = NAN;
    if (!level->name || !history || since_ns < BEFORE_NS + AROUND_NS)
        return;
    uint64_t then = since_ns - BEFORE_NS;
    size_t n = history_between(history, then - AROUND_NS, then + AROUND_NS, frames, FRAMES_MAX);
    bool high = false, enough = n >= FRAMES_LEAST || (n && frame_interval_s(frames[0]) >= LONG_FRAME_S);
    for (size_t i = 0; i < n; i++)
        high |= held_then(frames[i], rule, device);
    struct level ignored = {0};
    if (enough && !high)
        level->before =
            of->kind == LEVEL_HIST ? hist_level(of, frames, n, key, &ignored) : plain_before(level, of, frames, n, key);
    for (size_t i = 0; i < n; i++)
        frame_unref(frames[i]);
}

// ---- words ----

void level_words(const struct level *level, const struct rule_level *of, char *out, size_t size) {
    char value[32];
    double before = level->before, times = level->now / before;
    out[0] = '\0';
    if (!level->name || isnan(before) || isnan(level->now))
        return;
    unit_format(level->unit, before, value, sizeof(value));
    const char *percent = level->unit == UNIT_PCT ? " %" : "";
    if (of->falls ? before < TELLING * level->now : level->now < TELLING * before || level->now <= 0)
        return;
    if (of->falls || !(times < COUNTLESS))
        snprintf(out, size, "; %s two minutes before: %s%s", of->what, value, percent);
    else
        snprintf(out, size, "; %s is %.*f x its level two minutes before (%s%s)", of->what, times < 9.95, times, value,
                 percent);
}

bool level_name(const struct level *level, const struct rule_level *of, char *out, size_t size) {
    if (!level->name)
        return false;
    bool table = of->kind != LEVEL_SERIES && of->kind != LEVEL_HIST;
    snprintf(out, size, "%s%s%s%s%s", table ? of->of : "", table ? "." : "", level->name, level->suffix ? "_" : "",
             level->suffix ? level->suffix : "");
    return true;
}
