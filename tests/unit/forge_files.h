// Files for tests that read a directory of their own in the place of /proc or /sys.
#ifndef TESTS_UNIT_FORGE_FILES_H
#define TESTS_UNIT_FORGE_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// The file root/path with that text, and the directories above it.
static inline void forge_file(const char *root, const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *out = fopen(full, "we");
    if (!out || fputs(text, out) < 0 || fclose(out))
        abort();
}

#endif
