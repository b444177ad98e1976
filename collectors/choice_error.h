// Why a user's choice is refused: the answer to a request, or the line that ends the program.
#ifndef COLLECTORS_CHOICE_ERROR_H
#define COLLECTORS_CHOICE_ERROR_H

#include <stdint.h>

struct choice_error {
    char sentence[256];
    int32_t place; // offset of the error in the choice's text, in bytes; -1: none
};

// Sets both; returns code.
__attribute__((format(printf, 4, 5))) int choice_refuse(struct choice_error *error, int code, int64_t place,
                                                        const char *format, ...);

#endif
