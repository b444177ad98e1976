// Which known name was meant: for errors that say "did you mean".
#ifndef MODEL_NEAREST_H
#define MODEL_NEAREST_H

// Of the NULL-terminated names, the one nearest to word, or NULL when none is near enough to be meant.
const char *name_nearest(const char *word, const char *const *names);

#endif
