// Source files of the function that is looked at; see code.h. Debug info can name any file, also one that only ktop may
// read: only regular files with the suffix of a program's source are shown.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/symbols/code.h"
#include "collectors/kernel/symbols/open.h"
#include "model/mem.h"

#define FILES_MAX 16
#define FILE_BYTES_MAX (4u << 20)

struct source_text {
    char *path;
    char *bytes; // NULL: not readable
    size_t size;
    uint32_t *starts; // of lines
    uint32_t n;
};

struct source_files {
    pid_t pid;
    struct source_text files[FILES_MAX];
    size_t n;
};

struct source_files *source_files_new(pid_t pid) {
    struct source_files *files = xcalloc(1, sizeof(*files));
    files->pid = pid;
    return files;
}

void source_files_free(struct source_files *files) {
    if (!files)
        return;
    for (size_t i = 0; i < files->n; i++) {
        free(files->files[i].path);
        free(files->files[i].bytes);
        free(files->files[i].starts);
    }
    free(files);
}

static bool is_source(const char *path) {
    static const char suffixes[] =
        " c cc cpp cxx c++ C h hh hpp hxx h++ inc inl ipp tcc rs go S s asm d swift zig f f90 "
        "F90 f95 m mm nim pas adb ads cu y l java kt scala py pyx js ts cs ml hs ";
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    char word[16];
    if (path[0] != '/' || !dot || dot < slash || strlen(dot) > 8 || strchr(dot, ' '))
        return false;
    word[0] = ' ';
    strcpy(word + 1, dot + 1);
    strcat(word, " ");
    return word[1] != ' ' && strstr(suffixes, word);
}

static int open_source(pid_t pid, const char *path, struct stat *stat) {
    for (int host = 0; host < 2; host++) {
        int root = open_root(host ? 0 : pid);
        int fd = root >= 0 ? open_below(root, path, true, stat) : -1; // a link may have another suffix
        if (root >= 0)
            close(root);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

static void read_text(struct source_text *text, int fd, size_t size) {
    text->bytes = xmalloc(size + 1);
    while (text->size < size) {
        ssize_t n = pread(fd, text->bytes + text->size, size - text->size, (off_t)text->size);
        if (n <= 0)
            break;
        text->size += (size_t)n;
    }
    uint32_t capacity = 0;
    for (size_t at = 0; at < text->size;) {
        if (text->n == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            text->starts = xrealloc(text->starts, capacity * sizeof(*text->starts));
        }
        text->starts[text->n++] = (uint32_t)at;
        const char *end = memchr(text->bytes + at, '\n', text->size - at);
        at = end ? (size_t)(end - text->bytes) + 1 : text->size;
    }
}

static const struct source_text *find(struct source_files *files, const char *path) {
    for (size_t i = 0; i < files->n; i++)
        if (!strcmp(files->files[i].path, path))
            return &files->files[i];
    if (files->n == FILES_MAX)
        return NULL;
    struct source_text *text = &files->files[files->n++];
    struct stat stat;
    text->path = xstrdup(path);
    int fd = is_source(path) ? open_source(files->pid, path, &stat) : -1;
    if (fd >= 0 && stat.st_size > 0 && stat.st_size <= FILE_BYTES_MAX)
        read_text(text, fd, (size_t)stat.st_size);
    if (fd >= 0)
        close(fd);
    return text;
}

bool source_files_line(struct source_files *files, const char *path, uint32_t line, char *out, size_t size) {
    const struct source_text *text = find(files, path);
    if (!text || !line || line > text->n)
        return false;
    const char *at = text->bytes + text->starts[line - 1];
    const char *end = text->bytes + (line < text->n ? text->starts[line] : text->size);
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (end > at && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
        end--;
    size_t length = (size_t)(end - at);
    length = length < size ? length : size - 1;
    memcpy(out, at, length);
    out[length] = '\0';
    for (char *tab = strchr(out, '\t'); tab; tab = strchr(tab, '\t'))
        *tab = ' ';
    return memchr(out, '\0', length) == NULL;
}
