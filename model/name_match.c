// Names that complete a word; see the header.
#include "model/name_match.h"

#include <fnmatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/nearest.h"

#define NEAR_MAX 100000
#define CUT_BYTES (NAME_BYTES_MAX - 3) // a cut name has at least as many

struct name_set {
    char *bytes;
    size_t used, space;
    uint32_t *offsets; // of the names in `bytes`
    size_t n, n_space;
    const char **names; // sorted; NULL: not sealed
};

struct name_set *name_set_new(void) {
    return xcalloc(1, sizeof(struct name_set));
}

void name_set_free(struct name_set *set) {
    if (!set)
        return;
    free(set->bytes);
    free(set->offsets);
    free(set->names);
    free(set);
}

// The bytes of a name that are kept: whole characters.
static size_t kept(const char *name, size_t length) {
    if (length <= NAME_BYTES_MAX)
        return length;
    for (length = NAME_BYTES_MAX; length > CUT_BYTES && ((unsigned char)name[length] & 0xc0) == 0x80; length--)
        continue;
    return length;
}

void name_set_add(struct name_set *set, const char *name, size_t length) {
    length = kept(name, length);
    if (!length || set->used + length + 1 > NAME_SET_BYTES)
        return;
    if (set->used + length + 1 > set->space)
        set->bytes = xrealloc(set->bytes, set->space = 2 * set->space + NAME_BYTES_MAX + 1);
    if (set->n == set->n_space)
        set->offsets = xrealloc(set->offsets, (set->n_space = 2 * set->n_space + 64) * sizeof(*set->offsets));
    set->offsets[set->n++] = (uint32_t)set->used;
    memcpy(set->bytes + set->used, name, length);
    set->bytes[set->used + length] = '\0';
    set->used += length + 1;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void name_set_seal(struct name_set *set) {
    size_t n = 0;
    set->names = xcalloc(set->n + 1, sizeof(*set->names));
    for (size_t i = 0; i < set->n; i++)
        set->names[i] = set->bytes + set->offsets[i];
    if (set->n)
        qsort(set->names, set->n, sizeof(*set->names), by_bytes);
    for (size_t i = 0; i < set->n; i++)
        if (!n || strcmp(set->names[n - 1], set->names[i]) != 0)
            set->names[n++] = set->names[i];
    set->n = n;
    free(set->offsets);
    set->offsets = NULL;
}

size_t name_set_count(const struct name_set *set) {
    return set->n;
}

// ---- matching ----

struct word {
    const char *text;
    size_t length;
    char *open; // a glob with "*" behind it; NULL: no glob
};

static bool is_match(const struct word *word, int rank, const char *name) {
    bool first = word->open ? !fnmatch(word->text, name, 0) : !strncmp(name, word->text, word->length);
    if (rank == 0 || first)
        return rank == 0 && first;
    return word->open ? !fnmatch(word->open, name, 0) : strstr(name, word->text) != NULL;
}

// Shortens `common` to what the name has as well.
static void common_cut(char *common, const char *name) {
    size_t n = 0;
    while (common[n] && common[n] == name[n])
        n++;
    while (n && ((unsigned char)common[n] & 0xc0) == 0x80) // whole characters
        n--;
    common[n] = '\0';
}

static void match_add(struct name_matches *out, int rank, const char *name) {
    if (rank == 0 && !out->matching)
        snprintf(out->common, sizeof(out->common), "%s", name);
    else if (rank == 0)
        common_cut(out->common, name);
    out->matching++;
    if (out->n < NAME_MATCHES_MAX)
        out->names[out->n++] = xstrdup(name);
}

static void nearest_find(struct name_matches *out, const char *word, const struct name_set *const *sets,
                         size_t n_sets) {
    size_t n = 0;
    const char **all = xcalloc((out->total < NEAR_MAX ? out->total : NEAR_MAX) + 1, sizeof(*all));
    for (size_t i = 0; i < n_sets; i++)
        for (size_t k = 0; k < sets[i]->n && n < NEAR_MAX; k++)
            all[n++] = sets[i]->names[k];
    const char *nearest = name_nearest(word, all);
    snprintf(out->nearest, sizeof(out->nearest), "%s", nearest ? nearest : "");
    free(all);
}

void name_matches_find(struct name_matches *out, const char *text, const struct name_set *const *sets, size_t n_sets) {
    struct word word = {.text = text, .length = strlen(text)};
    *out = (struct name_matches){.total = 0};
    if (strpbrk(text, "*?[")) {
        word.open = xmalloc(word.length + 2);
        snprintf(word.open, word.length + 2, "%s*", text);
    }
    for (size_t i = 0; i < n_sets; i++)
        out->total += sets[i]->n;
    for (int rank = 0; rank < (word.open && out->matching ? 1 : 2); rank++)
        for (size_t i = 0; i < n_sets; i++)
            for (size_t k = 0; k < sets[i]->n; k++)
                if (is_match(&word, rank, sets[i]->names[k]))
                    match_add(out, rank, sets[i]->names[k]);
    if (word.open || strlen(out->common) <= word.length)
        out->common[0] = '\0';
    if (!out->matching && !word.open)
        nearest_find(out, text, sets, n_sets);
    free(word.open);
}

void name_matches_free(struct name_matches *matches) {
    for (size_t i = 0; i < matches->n; i++)
        free(matches->names[i]);
    *matches = (struct name_matches){.total = 0};
}

// ---- a name as it is typed ----

// U+0080-9F, and those that change line or direction: U+2028-202E, U+2066-2069.
static bool is_control(const unsigned char *at) {
    return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xe2 && ((at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae) ||
                                                                 (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9)));
}

// Bytes of the UTF-8 character there; 0: it is none, or a control character.
static size_t printable(const char *at) {
    unsigned char first = (unsigned char)*at;
    size_t n = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (first < ' ' || first == 127 || is_control((const unsigned char *)at))
        return 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void name_as_glob(const char *name, char out[NAME_BYTES_MAX + 2]) {
    size_t used = 0, length = strnlen(name, NAME_BYTES_MAX);
    for (size_t at = 0; at < length;) {
        size_t n = printable(name + at);
        if (!n || strchr("*?[\\", name[at]) || (name[at] == ' ' && name[at + 1] == '>')) {
            // How many characters such bytes are to fnmatch depends on the locale and on the rest of the name.
            bool ascii = (unsigned char)name[at++] < 0x80;
            if (ascii || !used || out[used - 1] != '*')
                out[used++] = ascii ? '?' : '*';
            continue;
        }
        memcpy(out + used, name + at, n);
        used += n;
        at += n;
    }
    if (length >= CUT_BYTES)
        out[used++] = '*';
    out[used] = '\0';
}
