// Reading and parsing of /proc and /sys files; see the header. Must never allocate per read, and never trust a file:
// the content may be truncated, forged, or of an older or newer kernel.
#include "collectors/kernel/proc/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

#define PROC_BUFFER_FIRST (32u << 10)
#define PROC_BUFFER_MAX (64u << 20)
#define PROC_PATH_MAX 512

static const char *proc_root = "";

void proc_set_root(const char *root) {
    proc_root = root ? root : "";
}

static int proc_open(const char *path) {
    char full[PROC_PATH_MAX];
    int length = snprintf(full, sizeof full, "%s%s", proc_root, path);
    if (length < 0 || (size_t)length >= sizeof full)
        return -ENAMETOOLONG;
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void proc_buffer_free(struct proc_buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct proc_buffer){0};
}

static int buffer_room(struct proc_buffer *buffer) {
    if (buffer->length + 1 < buffer->capacity)
        return 0;
    size_t capacity = buffer->capacity ? buffer->capacity * 2 : PROC_BUFFER_FIRST;
    if (capacity > PROC_BUFFER_MAX)
        return -EFBIG;
    buffer->bytes = xrealloc(buffer->bytes, capacity);
    buffer->capacity = capacity;
    return 0;
}

int proc_file_read(struct proc_file *file, struct proc_buffer *buffer) {
    int error = 0;
    buffer->length = 0;
    if ((error = buffer_room(buffer)) < 0)
        return error;
    buffer->bytes[0] = '\0';
    if (file->fd < 0) {
        int fd = proc_open(file->path);
        if (fd < 0)
            return fd;
        file->fd = fd;
    }
    for (;;) {
        // seq_files return about a page per read: only a read of 0 bytes is the end.
        if ((error = buffer_room(buffer)) < 0)
            break;
        ssize_t got = pread(file->fd, buffer->bytes + buffer->length, buffer->capacity - buffer->length - 1,
                            (off_t)buffer->length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            error = -errno;
            break;
        }
        if (got == 0)
            break;
        buffer->length += (size_t)got;
    }
    if (error < 0) {
        // After hotplug another file may have the same name: reopen it next time.
        proc_file_close(file);
        buffer->length = 0;
    }
    buffer->bytes[buffer->length] = '\0';
    return error;
}

void proc_file_close(struct proc_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

int proc_read_line(const char *path, char *out, size_t size) {
    out[0] = '\0';
    int fd = proc_open(path);
    if (fd < 0)
        return fd;
    ssize_t got = read(fd, out, size - 1);
    int error = got < 0 ? -errno : 0;
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return error;
}

bool proc_read_number(const char *path, uint64_t *value) {
    char line[64];
    const char *at = line;
    return proc_read_line(path, line, sizeof line) == 0 && proc_number(&at, value);
}

int proc_read_comm(int32_t pid, char *out, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    return proc_read_line(path, out, size);
}

bool proc_exists(const char *path) {
    char full[PROC_PATH_MAX];
    int length = snprintf(full, sizeof full, "%s%s", proc_root, path);
    return length > 0 && (size_t)length < sizeof full && access(full, F_OK) == 0;
}

const char *proc_next_line(const char *line, const char *end) {
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline && newline + 1 < end ? newline + 1 : NULL;
}

bool proc_number(const char **at, uint64_t *value) {
    const char *p = *at;
    while (*p == ' ' || *p == '\t')
        p++;
    if (*p < '0' || *p > '9')
        return false;
    uint64_t number = 0;
    const char *safe = p + 19; // 19 digits always fit
    for (; *p >= '0' && *p <= '9' && p < safe; p++)
        number = number * 10 + (uint64_t)(*p - '0');
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        number = number > (PROC_MISSING - 1 - digit) / 10 ? PROC_MISSING - 1 : number * 10 + digit;
    }
    *value = number;
    *at = p;
    return true;
}

size_t proc_numbers(const char **at, uint64_t *values, size_t n) {
    size_t i = 0;
    while (i < n && proc_number(at, &values[i]))
        i++;
    return i;
}

double proc_decimal(const char **at) {
    uint64_t whole, part = 0;
    if (!proc_number(at, &whole))
        return NAN;
    if (**at != '.' || (*at)[1] < '0' || (*at)[1] > '9')
        return (double)whole;
    const char *digits = ++*at;
    proc_number(at, &part);
    return (double)whole + (double)part / pow(10, (double)(*at - digits));
}

static bool name_matches(const char *name, const char *word, size_t length) {
    size_t own = strlen(name);
    if (own && name[own - 1] == '*')
        return length >= own - 1 && memcmp(name, word, own - 1) == 0;
    return length == own && memcmp(name, word, length) == 0;
}

// The index of the word among the names, searched from `guess` on: kernels list the fields in the order of the table.
static size_t name_index(const char *const *names, size_t n, size_t guess, const char *word, size_t length) {
    if (guess < n && names[guess][0] == word[0] && strlen(names[guess]) == length &&
        memcmp(names[guess], word, length) == 0)
        return guess;
    for (size_t i = 0; i < n; i++)
        if (names[i][0] == word[0] && name_matches(names[i], word, length))
            return i;
    return n;
}

static void value_add(uint64_t *value, uint64_t number) {
    *value = *value == PROC_MISSING ? number : *value + number;
}

void proc_pairs(const struct proc_buffer *buffer, const char *const *names, size_t n, uint64_t *values) {
    for (size_t i = 0; i < n; i++)
        values[i] = PROC_MISSING;
    const char *end = buffer->bytes + buffer->length;
    size_t guess = 0;
    for (const char *line = buffer->bytes; line; line = proc_next_line(line, end)) {
        size_t length = strcspn(line, ": \t\n");
        size_t i = name_index(names, n, guess, line, length);
        const char *at = line + length + (line[length] == ':');
        uint64_t number;
        if (i == n || !proc_number(&at, &number))
            continue;
        value_add(&values[i], number);
        guess = i + 1;
    }
}

void proc_headed_pairs(const struct proc_buffer *buffer, const char *prefix, const char *const *names, size_t n,
                       uint64_t *values) {
    for (size_t i = 0; i < n; i++)
        values[i] = PROC_MISSING;
    const char *end = buffer->bytes + buffer->length;
    size_t length = strlen(prefix), guess = 0;
    const char *head = NULL, *numbers = NULL;
    for (const char *line = buffer->bytes; line && !numbers; line = proc_next_line(line, end))
        if (strncmp(line, prefix, length) == 0 && line[length] == ':')
            *(head ? &numbers : &head) = line + length + 1;
    if (!numbers)
        return;
    for (;;) {
        head += strspn(head, " ");
        numbers += strspn(numbers, " ");
        size_t word = strcspn(head, " \n");
        if (!word || *numbers == '\n' || *numbers == '\0')
            return;
        size_t i = name_index(names, n, guess, head, word);
        const char *at = numbers;
        uint64_t number;
        if (i < n && proc_number(&at, &number)) {
            value_add(&values[i], number);
            guess = i + 1;
        }
        head += word;
        numbers += strcspn(numbers, " \n");
    }
}

void proc_line_pairs(const struct proc_buffer *buffer, const char *prefix, const char *const *names, size_t n,
                     uint64_t *values) {
    for (size_t i = 0; i < n; i++)
        values[i] = PROC_MISSING;
    const char *end = buffer->bytes + buffer->length, *at = buffer->bytes;
    size_t length = strlen(prefix), guess = 0;
    while (at && !(strncmp(at, prefix, length) == 0 && at[length] == ':'))
        at = proc_next_line(at, end);
    for (at = at ? at + length + 1 : NULL; at;) {
        at += strspn(at, " ");
        const char *name = at;
        size_t word = strcspn(name, " \n");
        uint64_t number;
        at += word;
        if (!word || !proc_number(&at, &number))
            return;
        size_t i = name_index(names, n, guess, name, word);
        if (i < n) {
            value_add(&values[i], number);
            guess = i + 1;
        }
    }
}

uint64_t counter_delta(uint64_t before, uint64_t now) {
    if (before == PROC_MISSING || now == PROC_MISSING)
        return PROC_MISSING;
    if (now >= before)
        return now - before;
    // Many counters are 32 bits wide whatever the machine: one that fell from the top quarter to the bottom one
    // wrapped; anything else was reset.
    if (before <= UINT32_MAX && before >= 3u << 30 && now < 1u << 30)
        return now + (1ull << 32) - before;
    return PROC_MISSING;
}

double counter_rate(uint64_t before, uint64_t now, double seconds) {
    uint64_t delta = counter_delta(before, now);
    return delta == PROC_MISSING || !(seconds > 0) ? NAN : (double)delta / seconds;
}
