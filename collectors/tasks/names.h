// Interned texts of task rows: ten thousand workers of one program share one command line, one cgroup and one user.
// Also the user names. One thread owns a pool.
#ifndef COLLECTORS_TASKS_NAMES_H
#define COLLECTORS_TASKS_NAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/text.h"

struct names;
struct name { // counted by the pool; read `text` only
    const struct text *text;
    uint32_t users, hash;
};

struct names *names_new(void);
void names_free(struct names *names);
// One more use of the name with these bytes. Give it back with names_release (NULL is fine).
struct name *names_get(struct names *names, const char *bytes, size_t len);
struct name *names_ref(struct name *name);
void names_release(struct names *names, struct name *name);
size_t names_count(const struct names *names);

// The user's name, or the UID if it has none.
struct name *names_user(struct names *names, uid_t uid);
// Reads the user database again if it changed; `path` is /etc/passwd (a test gives its own).
void names_users_refresh(struct names *names, const char *path);

#endif
