// Files of /proc and /sys that are read every frame: kept open, read whole from offset 0 into one reused buffer, and
// parsed without sscanf. Owned by one thread. Nothing here allocates once the buffer has its size.
#ifndef COLLECTORS_PROC_FILE_H
#define COLLECTORS_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_MISSING UINT64_MAX // a counter that the file does not have

// The root of "/proc/…" and "/sys/…": "" for the machine, else a test's directory. Set it before any file is opened.
// The string must outlive its use.
void proc_set_root(const char *root);

struct proc_file {
    const char *path; // static or owned by the user of the file: "/proc/stat"
    int fd;           // -1: not open (yet)
};
#define PROC_FILE(path_)                                                                                               \
    (struct proc_file) {                                                                                               \
        .path = (path_), .fd = -1                                                                                      \
    }

struct proc_buffer {
    char *bytes; // ends in NUL after the length
    size_t length, capacity;
};
void proc_buffer_free(struct proc_buffer *buffer);

// Reads the whole file, opening it first if it is not (a file that is missing is tried again at every read).
// 0 or -errno; the buffer is then empty. -EFBIG: more than 64 MiB.
int proc_file_read(struct proc_file *file, struct proc_buffer *buffer);
void proc_file_close(struct proc_file *file);

// A small attribute, opened, read and closed: the first line without its newline. 0 or -errno.
int proc_read_line(const char *path, char *out, size_t size);
bool proc_read_number(const char *path, uint64_t *value);
int proc_read_comm(int32_t pid, char *out, size_t size); // the name of a process; 0, or -errno and ""
bool proc_exists(const char *path);

// ---- parsing; every text ends in NUL ----

// The start of the next line, or NULL when there is none before `end`.
const char *proc_next_line(const char *line, const char *end);
// Skips blanks, reads a decimal number, and moves *at past it; false (and *at unchanged) when there is none on this
// line. Numbers past 2^64 - 2 stay there.
bool proc_number(const char **at, uint64_t *value);
// Up to n numbers from *at on; returns how many there were.
size_t proc_numbers(const char **at, uint64_t *values, size_t n);
// "12.34" to a double; NAN when it is no number. Moves *at past it.
double proc_decimal(const char **at);

// Lines of "Name: 123 kB" or "name 123": values[i] is the number after names[i], PROC_MISSING when no line has it. A
// name that ends in '*' sums all lines that begin with it and match no name before it in the list.
void proc_pairs(const struct proc_buffer *buffer, const char *const *names, size_t n, uint64_t *values);
// A line of names and a line of numbers that both begin with "PREFIX: " (/proc/net/snmp): values as above; a negative
// number counts as missing.
void proc_headed_pairs(const struct proc_buffer *buffer, const char *prefix, const char *const *names, size_t n,
                       uint64_t *values);
// A line "PREFIX: name 1 name 2" (/proc/net/sockstat): values as above.
void proc_line_pairs(const struct proc_buffer *buffer, const char *prefix, const char *const *names, size_t n,
                     uint64_t *values);

// ---- differences ----

// now - before; a counter that wrapped at 32 bits is followed; one that was reset, or is missing, gives PROC_MISSING.
uint64_t counter_delta(uint64_t before, uint64_t now);
// The same per second; NAN when missing, or when no time has passed.
double counter_rate(uint64_t before, uint64_t now, double seconds);
static inline double counter_value(uint64_t value) {
    return value == PROC_MISSING ? __builtin_nan("") : (double)value;
}

#endif
