#include "model/findings_thresholds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define PROBLEMS_MAX 4

const struct threshold thresholds[] = {
#define ROW(rule_, name_, initial_) {#rule_, #name_, initial_},
    FINDINGS_THRESHOLDS(ROW)
#undef ROW
};

double thresholds_in_force[] = {
#define VALUE(rule_, name_, initial_) initial_,
    FINDINGS_THRESHOLDS(VALUE)
#undef VALUE
};

static char *problems[PROBLEMS_MAX];
static size_t n_problems;

const char *threshold_unit(const struct threshold *threshold) {
    static const struct {
        const char *end, *unit;
    } units[] = {{"_pct", "%"}, {"_per_s", "/s"}, {"_s", "s"},          {"_ms", "ms"},
                 {"_us", "us"}, {"_kib", "KiB"},  {"_us_per_s", "us/s"}};
    size_t length = strlen(threshold->name), longest = 0;
    const char *unit = "";
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t n = strlen(units[i].end);
        if (n > longest && n < length && !strcmp(threshold->name + length - n, units[i].end)) {
            longest = n;
            unit = units[i].unit;
        }
    }
    return unit;
}

void threshold_words(size_t i, double value, char *out, size_t size) {
    const char *unit = threshold_unit(&thresholds[i]);
    snprintf(out, size, "%.10g%s%s", value, unit[0] ? " " : "", unit);
}

size_t threshold_find(const char *rule, const char *name) {
    size_t i = 0;
    while (i < N_THRESHOLDS && (strcmp(thresholds[i].rule, rule) != 0 || strcmp(thresholds[i].name, name) != 0))
        i++;
    return i;
}

// "40,000", "2.5".
static void number_words(double value, char *out, size_t size) {
    char digits[32];
    size_t used = 0, length = (size_t)snprintf(digits, sizeof(digits), "%.10g", value),
           whole = strspn(digits, "0123456789");
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        if (i && i < whole && (whole - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

// As in a sentence, in which the sentence itself says "per second".
static void prose(size_t i, char *out, size_t size) {
    static const struct {
        const char *unit, *shown;
        double from, divisor; // from that value on
    } scales[] = {
        {"KiB", "GiB", 1 << 20, 1 << 20}, {"KiB", "MiB", 1024, 1024}, {"us/s", "s", 0, 1e6}, {"us", "ms", 1000, 1000},
        {"ms", "s", 1000, 1000},          {"s", "h", 3600, 3600},     {"s", "min", 120, 60}, {"/s", "", 0, 1}};
    const char *unit = threshold_unit(&thresholds[i]);
    double value = thresholds_in_force[i];
    char number[32];
    for (size_t k = 0; k < sizeof(scales) / sizeof(scales[0]); k++)
        if (!strcmp(scales[k].unit, unit) && value >= scales[k].from) {
            value /= scales[k].divisor;
            unit = scales[k].shown;
            break;
        }
    number_words(value, number, sizeof(number));
    snprintf(out, size, "%s%s%s", number, unit[0] ? " " : "", unit);
}

void thresholds_expand(const char *rule, const char *sentence, char *out, size_t size) {
    size_t used = 0;
    while (*sentence && used + 1 < size) {
        size_t length = *sentence == '{' ? strcspn(sentence, "}") : 0, i = N_THRESHOLDS;
        char name[64], words[64];
        if (length && length < sizeof(name) && sentence[length]) {
            snprintf(name, sizeof(name), "%.*s", (int)length - 1, sentence + 1);
            i = threshold_find(rule, name);
        }
        if (i == N_THRESHOLDS) {
            out[used++] = *sentence++;
            continue;
        }
        prose(i, words, sizeof(words));
        used += (size_t)snprintf(out + used, size - used, "%s", words);
        used = used < size ? used : size - 1;
        sentence += length + 1;
    }
    out[used] = '\0';
}

void thresholds_problem(const char *line) {
    if (n_problems < PROBLEMS_MAX)
        problems[n_problems++] = xstrdup(line);
}

size_t thresholds_problems(void) {
    return n_problems;
}

const char *thresholds_problem_at(size_t i) {
    return problems[i];
}

void thresholds_reset(void) {
    while (n_problems)
        free(problems[--n_problems]);
    for (size_t i = 0; i < N_THRESHOLDS; i++)
        thresholds_in_force[i] = thresholds[i].initial;
}
