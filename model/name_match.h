// Sets of names, and which of them a typed word means: the list that a prompt shows while it is typed.
#ifndef MODEL_NAME_MATCH_H
#define MODEL_NAME_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_BYTES_MAX 240         // of a name; longer ones are cut
#define NAME_SET_BYTES (64u << 20) // of all names of a set; more are left out
#define NAME_MATCHES_MAX 256       // names of one answer

struct name_set;
struct name_set *name_set_new(void);
void name_set_add(struct name_set *set, const char *name, size_t length); // before the seal
void name_set_seal(struct name_set *set);                                 // sorts; equal names become one
size_t name_set_count(const struct name_set *set);
void name_set_free(struct name_set *set); // NULL is allowed

struct name_matches {
    size_t total, matching;        // names in the sets; those that match
    char *names[NAME_MATCHES_MAX]; // the first of those, owned
    size_t n;
    char common[NAME_BYTES_MAX + 1];  // what all names that begin with the word begin with; "": no more than the word
    char nearest[NAME_BYTES_MAX + 1]; // none matches: a similar name; "": none
};
// A word without '*', '?' and '[' means the names that begin with it, then those that contain it; a glob the names that
// it matches, or if there are none, those that it matches with "*" behind it. In the order of the sets (sealed), then
// of bytes.
void name_matches_find(struct name_matches *out, const char *word, const struct name_set *const *sets, size_t n_sets);
void name_matches_free(struct name_matches *matches);

// The name as a glob that matches it: '?' for control characters, for what is special in a glob, and for a blank before
// '>', which would begin a limit; '*' for bytes that are no UTF-8 or cannot be shown, and at the end of a cut name.
void name_as_glob(const char *name, char out[NAME_BYTES_MAX + 2]);

#endif
