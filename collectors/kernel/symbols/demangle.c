// Demangling by libiberty, with its recursion limit. A crafted name of a few bytes can stand for one of gigabytes
// (substitutions that double), and the callback cannot refuse bytes: it jumps out once the output is full. libiberty
// keeps its state on the stack, so nothing is left behind but, in a Rust name with punycode, a buffer of that
// identifier.
#include "collectors/kernel/symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
    char *bytes;
    size_t length, room;
    jmp_buf full;
};

static void put(const char *bytes, size_t n, void *opaque) {
    struct output *output = opaque;
    size_t room = output->room - output->length;
    if (n) // with no bytes libiberty may pass NULL
        memcpy(output->bytes + output->length, bytes, n < room ? n : room);
    output->length += n < room ? n : room;
    if (n > room)
        longjmp(output->full, 1);
}

// false: not a mangled name. Whatever the output holds after it is full is the start of the name.
static bool run(const char *symbol, struct output *output) {
    if (setjmp(output->full))
        return true;
    // Rust first: its legacy names are C++ names with a hash at the end.
    if (rust_demangle_callback(symbol, DMGL_NO_OPTS, put, output))
        return true;
    output->length = 0;
    return cplus_demangle_v3_callback(symbol, DMGL_NO_OPTS, put, output) != 0;
}

bool demangle(const char *symbol, char out[DEMANGLED_MAX]) {
    static const char plt[] = "@plt";
    size_t length = strnlen(symbol, DEMANGLED_MAX);
    bool mangled = length < DEMANGLED_MAX && demangle_wanted(symbol);
    bool is_plt = length >= sizeof(plt) && length < DEMANGLED_MAX && !strcmp(symbol + length - sizeof(plt) + 1, plt);
    if (mangled) {
        char plain[DEMANGLED_MAX];
        size_t n = length - (is_plt ? sizeof(plt) - 1 : 0);
        memcpy(plain, symbol, n);
        plain[n] = '\0';
        struct output output = {.bytes = out, .room = DEMANGLED_MAX - sizeof(plt)};
        if (run(plain, &output) && output.length) {
            strcpy(out + output.length, is_plt ? plt : "");
            return true;
        }
    }
    if (length > DEMANGLED_MAX - 1)
        length = DEMANGLED_MAX - 1;
    memcpy(out, symbol, length);
    out[length] = '\0';
    return false;
}
