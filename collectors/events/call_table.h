// The system calls that can be recorded with their arguments: specifications "call:NAME". For each one: its arguments,
// which of them are strings that the kernel's program copies (call_program.h), and the names of flags.
#ifndef COLLECTORS_EVENTS_CALL_TABLE_H
#define COLLECTORS_EVENTS_CALL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALL_SYSTEM "call" // in the place of a tracepoint's system
#define CALL_STRINGS 4     // of one call, at most
#define CALL_ARGS 6

enum call_kind {
    CALL_NONE,
    CALL_DIRFD, // the directory of the path that follows
    CALL_PATH,  // below the DIRFD before it, else below the working directory
    CALL_STRING,
    CALL_OPTIONS, // comma-separated, or one value: passwords in it are not shown
    CALL_HOW,     // struct open_how
    CALL_FD,
    CALL_MODE, // permissions, if the flags create a file
    CALL_FLAGS,
    CALL_VALUE, // one of the flags' values
    CALL_NUMBER,
};
struct call_flag {
    uint64_t bits, of; // set if (value & of) == bits; of 0: bits
    const char *name;
};
struct call_arg {
    const char *name;
    enum call_kind kind;
    const struct call_flag *flags; // ends with name NULL
};
enum call_result {
    CALL_PLAIN,
    CALL_OPENS,    // a descriptor of the path
    CALL_DUPS,     // one of the same file as the argument's
    CALL_MOUNT_FD, // one of a file system without a path
    CALL_MOVES,    // the working directory is another one: the path, or that of a descriptor
};
struct call {
    const char *name;
    int number; // -1: this architecture has no such call
    enum call_result result;
    bool hidden; // recorded only to know where paths begin: changes of directories and descriptors
    struct call_arg args[CALL_ARGS];
};
extern const struct call calls_table[];
extern const size_t calls_table_n;

static inline bool call_is_string(enum call_kind kind) {
    return kind == CALL_PATH || kind == CALL_STRING || kind == CALL_OPTIONS || kind == CALL_HOW;
}
#define CALL_NAMES_MAX 1024
size_t call_names(char *out, size_t size); // "call:NAME\n" of each one that can be chosen: the length
int call_find(const char *name);           // index; -1: none, or a hidden one
// "O_RDONLY|O_CLOEXEC": unknown bits in hexadecimal. Returns the length.
size_t call_flags_text(const struct call_arg *arg, uint64_t value, char *out, size_t size);

#endif
