// What is known of each kind of finding besides its condition: its place in the order, its consequences, and the words
// for `--list rules`, the man page and the key h. Data only; constant.
#ifndef MODEL_FINDINGS_ABOUT_H
#define MODEL_FINDINGS_ABOUT_H

#include <stdbool.h>

// Orders findings of equal severity.
enum finding_class {
    FINDING_FAILS,   // something fails or is lost: a program or a client gets an error
    FINDING_WAITS,   // tasks wait, and the finding names the cause
    FINDING_GENERAL, // a load, which may be intended, or a consequence of something that another finding names
    FINDING_SELF,    // about ktop's own data
};

struct finding_about {
    const char *kind; // of the rule
    enum finding_class class;
    const char *causes; // kinds that are its consequences, separated by blanks; NULL: none
    const char *when;   // the condition; {NAME} is a threshold of the rule (thresholds_expand)
    const char *why;    // why it matters: a sentence
    const char *advice; // what to try: a sentence
};
extern const struct finding_about finding_abouts[];          // in the order of the rules; ends with kind NULL
const struct finding_about *finding_about(const char *kind); // NULL: no such kind

bool finding_causes(const char *cause, const char *kind);
// Such a consequence has the culprit of its cause: others may be as busy for reasons of their own.
bool finding_is_of_culprit(const char *kind);

#endif
