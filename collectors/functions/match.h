// Which symbols of which files are chosen functions: globs against symbol tables and separate debug files, without
// IFUNCs, PLT stubs and parts of functions, one name for each place.
#ifndef COLLECTORS_FUNCTIONS_MATCH_H
#define COLLECTORS_FUNCTIONS_MATCH_H

#include "collectors/functions/find.h"
#include "model/name_match.h"

struct function_matches;
struct function_matches *function_matches_new(const struct function_choice *choice);
void function_matches_free(struct function_matches *matches);
// Looks at one file, of that process (0: none). 0 or -errno; -ENOEXEC: no ELF file.
int function_matches_add(struct function_matches *matches, struct function_choice *choice, uint8_t object, pid_t pid);
// Moves the functions into the choice. 0, or -errno with the sentence: a specification without a function, or too many.
int function_matches_take(struct function_matches *matches, struct function_choice *choice, struct choice_error *error);

// Adds the names of all functions of one file, as patterns name them, aliases included. 0 or -errno.
int function_names_add(struct name_set *names, const struct function_object *object, pid_t pid);

// Of a symbol's name: UNTIMED_NAME if a return probe on it would corrupt the program.
enum function_untimed function_untimed_name(const char *name);
// "work.cold": a part that is jumped to, not called.
bool function_is_fragment(const char *name, size_t length);

#endif
