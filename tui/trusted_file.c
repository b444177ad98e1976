#include "tui/trusted_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/mem.h"

// NULL: only root and the effective user can have written it.
static const char *distrust(const struct stat *status) {
    if (status->st_uid != 0 && status->st_uid != geteuid())
        return "another user owns it";
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return "other users may write to it";
    return NULL;
}

int trusted_dir(const char *path, const char **why) {
    struct stat status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    *why = NULL;
    if (fd < 0) {
        // EACCES: it is in another user's home, which sudo and setpriv leave in the environment.
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            *why = strerror(errno);
        return -1;
    }
    *why = fstat(fd, &status) ? strerror(errno) : distrust(&status);
    if (!*why)
        return fd;
    close(fd);
    return -1;
}

char *trusted_read(int dir, const char *name, size_t *length, const char **why) {
    // O_NONBLOCK: opening a FIFO must not wait for its writer.
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    char *bytes = NULL;
    ssize_t n;
    *length = 0;
    if (fd < 0) {
        *why = errno == ENOENT ? NULL : errno == ELOOP ? "it is a symbolic link" : strerror(errno);
        return NULL;
    }
    *why = fstat(fd, &status)                    ? strerror(errno)
           : !S_ISREG(status.st_mode)            ? "it is not a regular file"
           : status.st_size > TRUSTED_FILE_BYTES ? "it is larger than 64 KiB"
                                                 : distrust(&status);
    if (!*why) {
        bytes = xmalloc(TRUSTED_FILE_BYTES);
        while (*length < TRUSTED_FILE_BYTES && (n = read(fd, bytes + *length, TRUSTED_FILE_BYTES - *length)) > 0)
            *length += (size_t)n;
    }
    close(fd);
    return bytes;
}

bool trusted_user_path(const char *name, char *out, size_t size) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config && *config == '/')
        snprintf(out, size, "%s/ktop%s%s", config, *name ? "/" : "", name);
    else if (home && *home == '/')
        snprintf(out, size, "%s/.config/ktop%s%s", home, *name ? "/" : "", name);
    else
        return false;
    return true;
}

char *line_trim(char *line) {
    while (*line == ' ' || *line == '\t')
        line++;
    size_t length = strlen(line);
    while (length && (line[length - 1] == ' ' || line[length - 1] == '\t' || line[length - 1] == '\r'))
        line[--length] = '\0';
    return line;
}

bool line_is_printable(const char *line) {
    for (; *line; line++)
        if ((unsigned char)*line < 0x20 || *line == 0x7f)
            return false;
    return true;
}
