// The known name nearest to a misspelt one, for errors that end in "did you mean".
#ifndef MODEL_NEAREST_H
#define MODEL_NEAREST_H

// One of the NULL-terminated names, or NULL when none is near enough.
const char *name_nearest(const char *word, const char *const *names);

#endif
