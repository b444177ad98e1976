// The table `code`: the instructions and source lines of the one function that a view asked for. Files are read by the
// symbol service; here is only the question and the answer. One thread: the collector's.
#ifndef COLLECTORS_PROFILE_CODE_H
#define COLLECTORS_PROFILE_CODE_H

#include "model/code_ask.h"
#include "model/section.h"

struct profile;
struct profile_code;

struct profile_code *profile_code_new(void);
void profile_code_free(struct profile_code *code);
void profile_code_ask(struct profile *profile, const struct code_ask *ask);
void profile_code_forget(struct profile_code *code); // the symbol service ends: it is asked again
void profile_code_fill(struct profile *profile, struct section *out);

#endif
