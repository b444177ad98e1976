// The names of a flame graph as words: short on a cell, whole in a line of text, with the suffixes of folded stacks in
// files. Names come from any program and may hold anything.
#ifndef VIEWS_FLAME_NAMES_H
#define VIEWS_FLAME_NAMES_H

#include <stdio.h>

#include "views/flame/fold.h"
#include "views/flame/span.h"
#include "views/grid.h"

// The symbol, never NULL: "[unknown]" without one. Not escaped.
const char *flame_symbol(const struct text *name);
// As a picture shows it: without the address in a file, since such frames are folded together. Not escaped.
void flame_shown(const struct text *name, char *out, size_t size);
// Escaped, at most `width` cells: arguments and template arguments go before the end does. `size` >= 4.
void flame_short(const char *symbol, int width, char *out, size_t size);
// "kernel", "library", "JIT", ...; "" for a name that is not code.
const char *flame_kind_word(const struct text *name);
// The object's file name, or its whole path: "libc.so.6"; of processes "PID 812" or "12 processes"; "" for none.
// Escaped.
void flame_object(const struct fold_node *node, bool whole, char *out, size_t size);
enum role flame_role(const struct text *name, uint32_t depth);
// Of a difference: by how the share of all samples changed from the base, in shares.
enum role flame_change_role(double change);

// A stack in folded form, "comm;frame;frame_[k] 42": a line, or a JSON string's content, without newline. Frames have
// no ';' and no newline in them. Without `addresses`, names are as a picture shows them.
void flame_stack_write(const struct fold *fold, uint32_t node, bool addresses, FILE *out);

// A sum of weights with its unit: "525 samples", "1 sample", "12.3s blocked", of hot and cold "12.3s on and off CPU".
// The number ends at the blank.
void flame_weight(const struct flame_spec *spec, uint64_t weight, char *out, size_t size);

#endif
