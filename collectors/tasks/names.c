// Interned texts and user names. User names come from /etc/passwd itself and not from getpwuid(3): that may query
// directory servers, which can hang on an overloaded machine, and it does not work in a static program. A directory's
// users show as UIDs.
#include "collectors/tasks/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/mem.h"

struct user {
    uid_t uid;
    uint32_t line; // of the file
    char name[36];
};

struct names {
    struct name **table; // open addressing, a power of two, at most half full
    size_t capacity, count;
    struct user *users; // by uid
    size_t n_users;
    struct timespec users_time;
};

static uint32_t bytes_hash(const char *bytes, size_t len) {
    uint64_t h = 0x9e3779b97f4a7c15ull ^ len;
    while (len >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
        bytes += 8;
        len -= 8;
    }
    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)bytes[i]) * 0x100000001b3ull;
    return (uint32_t)(h ^ (h >> 29));
}

struct names *names_new(void) {
    struct names *names = xcalloc(1, sizeof(*names));
    names->capacity = 256;
    names->table = xcalloc(names->capacity, sizeof(*names->table));
    return names;
}

void names_free(struct names *names) {
    if (!names)
        return;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->table[i]) {
            text_unref(names->table[i]->text);
            free(names->table[i]);
        }
    free(names->table);
    free(names->users);
    free(names);
}

static void table_grow(struct names *names) {
    struct name **old = names->table;
    size_t n = names->capacity;
    names->capacity *= 2;
    names->table = xcalloc(names->capacity, sizeof(*names->table));
    for (size_t i = 0; i < n; i++) {
        if (!old[i])
            continue;
        size_t at = old[i]->hash & (names->capacity - 1);
        while (names->table[at])
            at = (at + 1) & (names->capacity - 1);
        names->table[at] = old[i];
    }
    free(old);
}

struct name *names_get(struct names *names, const char *bytes, size_t len) {
    uint32_t hash = bytes_hash(bytes, len);
    size_t at = hash & (names->capacity - 1);
    for (struct name *name; (name = names->table[at]); at = (at + 1) & (names->capacity - 1))
        if (name->hash == hash && text_length(name->text) == len && !memcmp(text_bytes(name->text), bytes, len)) {
            name->users++;
            return name;
        }
    if (names->count * 2 >= names->capacity) {
        table_grow(names);
        at = hash & (names->capacity - 1);
        while (names->table[at])
            at = (at + 1) & (names->capacity - 1);
    }
    struct name *name = xmalloc(sizeof(*name));
    *name = (struct name){.text = text_new(bytes, len), .users = 1, .hash = hash};
    names->table[at] = name;
    names->count++;
    return name;
}

struct name *names_ref(struct name *name) {
    if (name)
        name->users++;
    return name;
}

void names_release(struct names *names, struct name *name) {
    if (!name || --name->users)
        return;
    size_t mask = names->capacity - 1, at = name->hash & mask;
    while (names->table[at] != name)
        at = (at + 1) & mask;
    names->count--;
    text_unref(name->text);
    free(name);
    // Backward-shift deletion: entries that would no longer be found move up.
    size_t gap = at;
    for (;;) {
        at = (at + 1) & mask;
        struct name *next = names->table[at];
        if (!next)
            break;
        if (((at - (next->hash & mask)) & mask) >= ((at - gap) & mask)) {
            names->table[gap] = next;
            gap = at;
        }
    }
    names->table[gap] = NULL;
}

size_t names_count(const struct names *names) {
    return names->count;
}

static int user_compare(const void *a, const void *b) {
    uid_t x = ((const struct user *)a)->uid, y = ((const struct user *)b)->uid;
    return x < y ? -1 : x > y;
}

struct name *names_user(struct names *names, uid_t uid) {
    struct user key = {.uid = uid};
    const struct user *user =
        names->n_users ? bsearch(&key, names->users, names->n_users, sizeof(key), user_compare) : NULL;
    if (user)
        return names_get(names, user->name, strlen(user->name));
    char number[16];
    int len = snprintf(number, sizeof(number), "%u", (unsigned)uid);
    return names_get(names, number, (size_t)len);
}

// By UID, then by line.
static int user_order(const void *a, const void *b) {
    uint32_t x = ((const struct user *)a)->line, y = ((const struct user *)b)->line;
    int order = user_compare(a, b);
    return order ? order : x < y ? -1 : x > y;
}

void names_users_refresh(struct names *names, const char *path) {
    struct stat st;
    if (stat(path, &st) < 0 ||
        (st.st_mtim.tv_sec == names->users_time.tv_sec && st.st_mtim.tv_nsec == names->users_time.tv_nsec))
        return;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    names->users_time = st.st_mtim;
    names->n_users = 0;
    char line[1024];
    size_t room = 0;
    while (fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        char *second = colon ? strchr(colon + 1, ':') : NULL;
        if (!second || colon == line || second[1] < '0' || second[1] > '9')
            continue;
        *colon = '\0';
        if (names->n_users == room) {
            room = room ? room * 2 : 32;
            names->users = xrealloc(names->users, room * sizeof(*names->users));
        }
        struct user *user = &names->users[names->n_users++];
        user->uid = (uid_t)strtoul(second + 1, NULL, 10);
        user->line = (uint32_t)names->n_users;
        snprintf(user->name, sizeof(user->name), "%.35s", line);
    }
    fclose(file);
    // The first line of a UID wins, as in the C library: later ones are dropped.
    if (names->n_users)
        qsort(names->users, names->n_users, sizeof(*names->users), user_order);
    size_t kept = 0;
    for (size_t i = 0; i < names->n_users; i++)
        if (!kept || names->users[kept - 1].uid != names->users[i].uid)
            names->users[kept++] = names->users[i];
    names->n_users = kept;
}
