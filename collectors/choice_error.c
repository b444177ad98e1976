#include "collectors/choice_error.h"

#include <stdarg.h>
#include <stdio.h>

int choice_refuse(struct choice_error *error, int code, int64_t place, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error->sentence, sizeof(error->sentence), format, args);
    va_end(args);
    error->place = (int32_t)place;
    return code;
}
