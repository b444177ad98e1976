// Functions as the user chooses them, without looking at any file or at the kernel:
//
//     [!][OBJECT:]GLOB[ > TIME]
//     [!]start [OBJECT:]GLOB
//     [!]stop [OBJECT:]GLOB
//
// OBJECT: a path, or a glob on the name of a mapped file ("libssl*"); without it GLOB names functions of the kernel.
// "GLOB:mod:NAME" and ":mod:NAME" are those of a kernel module, as the kernel's own filter files write it. "::" is a
// part of a C++ name. TIME ("10ms"): also list each call that takes longer. "!" skips the check of the rate. The calls
// of `start` functions switch counting on, those of `stop` functions off.
#ifndef COLLECTORS_FUNCTIONS_SPEC_H
#define COLLECTORS_FUNCTIONS_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/choice_error.h"

#define FUNCTION_SPECS_MAX 16
#define FUNCTION_SPEC_MAX 1024 // bytes of one specification
#define FUNCTION_SPEC_MODULE ":mod:"

enum function_role { FUNCTION_COUNTED = 1, FUNCTION_START = 2, FUNCTION_STOP = 4 };

struct function_spec {
    char text[FUNCTION_SPEC_MAX]; // as written, without blanks around it
    bool forced;
    enum function_role role;
    char object[512];   // "": the kernel
    char glob[256];     // of function names
    char module[64];    // of the kernel; "": any
    uint64_t slower_ns; // 0: calls are not listed
    size_t place;       // of `text` in the list
    size_t glob_at;     // in `text`
};

struct function_specs {
    struct function_spec all[FUNCTION_SPECS_MAX];
    size_t n;
};

// Parses a list, a specification a line. 0, -EINVAL, -E2BIG with the sentence and the place in the list.
int function_specs_parse(struct function_specs *specs, const char *list, struct choice_error *error);
// Of its functions in the list, for an error.
int64_t function_spec_place(const struct function_spec *spec);
// "10ms" in ns, with blanks before the unit or not; 0: no time. Of a specification, and of a call graph.
double function_time_parse(const char *text);
// Whether it names a function: its symbol (up to `length`), or what the symbol means in C++ and Rust.
bool function_spec_matches(const struct function_spec *spec, const char *symbol, size_t length);
// Whether it names the file that is mapped at that path.
bool function_spec_is_in(const struct function_spec *spec, const char *path);
// The ":" between OBJECT and GLOB; NULL: none. "::" separates the parts of a C++ name.
const char *function_spec_separator(const char *text, const char *end);

#endif
