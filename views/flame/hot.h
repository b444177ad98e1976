// Where in one function the samples of a span are: the rows of the table `addresses` of its frames, added up by offset.
#ifndef VIEWS_FLAME_HOT_H
#define VIEWS_FLAME_HOT_H

#include "model/code_ask.h"
#include "views/flame/span.h"

struct hot_address {
    double offset;
    uint64_t samples;
};

struct hot {
    struct hot_address *list; // by offset
    size_t n, capacity;
    uint64_t total;  // samples
    long pid;        // the process with the most in one row; 0: none
    double hottest;  // offset; NAN: none
    double unplaced; // samples of the function without an offset
};

// Of all processes, or one (pid > 0). `low` <= offset < `high` counts too, whatever the symbol: a name that was found
// later stood under another one; NAN: the symbol alone. Only the newest `frames` frames.
struct hot_wanted {
    const char *symbol, *object;
    long pid;
    double low, high;
    size_t frames;
};
struct hot hot_make(const struct look *look, uint64_t from, uint64_t to, const char *tree,
                    const struct hot_wanted *wanted);
void hot_free(struct hot *hot);
uint64_t hot_between(const struct hot *hot, double low, double high); // samples, high excluded
// Fills in process and hot offsets.
void hot_ask(const struct hot *hot, struct code_ask *ask);

#endif
