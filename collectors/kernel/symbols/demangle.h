// Mangled names to what the programmer wrote: C++ (Itanium ABI) and Rust (legacy and v0), without parameters, as perf
// shows them. Names of other languages stay as they are.
#ifndef COLLECTORS_SYMBOLS_DEMANGLE_H
#define COLLECTORS_SYMBOLS_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLED_MAX 4096 // bytes with the NUL

// Writes the name for `symbol`, or the symbol itself (cut) when it is not mangled or longer than 4 KiB. A suffix "@plt"
// is kept. Never fails; true: it was demangled. Bounded in time, stack and output whatever the symbol is.
bool demangle(const char *symbol, char out[DEMANGLED_MAX]);

// Whether it looks mangled: demangle() may then take a while.
static inline bool demangle_wanted(const char *symbol) {
    return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

#endif
