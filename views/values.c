// Values as files carry them (see write.h). Everything but a plain number goes through escape_text first, so no control
// byte of a name ever reaches a file.
#include <json-c/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/write.h"

#define EXACT 9007199254740992.0 // 2^53: whole numbers up to here are exact in a double

// Integers are the common case: formatted without printf.
static size_t whole_write(double value, char *out) {
    uint64_t rest = (uint64_t)(value < 0 ? -value : value);
    char digits[24];
    size_t n = 0, used = 0;

    do
        digits[n++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        out[used++] = '-';
    while (n)
        out[used++] = digits[--n];
    out[used] = '\0';
    return used;
}

size_t number_write(enum unit unit, double value, char *out, size_t size) {
    char text[64];
    size_t length;

    if (!size)
        return 0;
    if (!isfinite(value)) {
        out[0] = '\0';
        return 0;
    }
    double size_of = fabs(value);
    if (value == trunc(value) && size_of <= EXACT) {
        length = whole_write(value, text);
    } else {
        // Nanoseconds for times; six decimals elsewhere, and six digits for tiny values.
        int decimals = unit == UNIT_S ? 9 : unit == UNIT_US ? 3 : 6;
        if (size_of >= 1e15 || (size_of < 0.1 && unit != UNIT_S && unit != UNIT_US)) {
            length = (size_t)snprintf(text, sizeof(text), size_of >= 1e15 ? "%.17g" : "%.6g", value);
        } else {
            length = (size_t)snprintf(text, sizeof(text), "%.*f", decimals, value);
            while (length && text[length - 1] == '0')
                text[--length] = '\0';
            if (length && text[length - 1] == '.')
                text[--length] = '\0';
            if (!strcmp(text, "-0"))
                length = whole_write(0, text);
        }
    }
    if (length > size - 1)
        length = size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
    return length;
}

struct json_object *json_number(enum unit unit, double value) {
    char text[64];

    if (!number_write(unit, value, text, sizeof(text)))
        return NULL;
    return json_object_new_double_s(value, text);
}

// Escaped into `buffer` if it fits, else into memory that the caller frees through *owned.
static const char *escape_any(const char *bytes, size_t length, char *buffer, size_t size, size_t *used, char **owned) {
    *owned = NULL;
    if (length * 6 + 1 > size) {
        size = length * 6 + 1;
        buffer = *owned = xmalloc(size);
    }
    *used = escape_text(bytes, length, buffer, size);
    return buffer;
}

static struct json_object *json_bytes(const char *bytes, size_t length) {
    char buffer[1024], *owned;
    size_t used;
    const char *escaped = escape_any(bytes, length, buffer, sizeof(buffer), &used, &owned);
    struct json_object *object = json_object_new_string_len(escaped, (int)used);

    free(owned);
    return object;
}

struct json_object *json_text(const struct text *text) {
    return text ? json_bytes(text_bytes(text), text_length(text)) : NULL;
}

struct json_object *json_string(const char *string) {
    return string ? json_bytes(string, strlen(string)) : NULL;
}

struct json_object *json_group(struct json_object *pane, const char *group) {
    struct json_object *object = NULL;

    if (!json_object_object_get_ex(pane, group, &object)) {
        bool is_list = !strcmp(group, "events") || !strcmp(group, "notes");
        object = is_list ? json_object_new_array() : json_object_new_object();
        json_object_object_add(pane, group, object);
    }
    return object;
}

// ---- CSV ----

bool csv_wants_header(const struct part_context *ctx) {
    return !ctx->pane->csv_headed;
}

void csv_begin_header(FILE *out) {
    fputs("table,time", out);
}

static void csv_bytes(const char *bytes, size_t length, FILE *out) {
    char buffer[1024], *owned;
    size_t used;
    const char *escaped = escape_any(bytes, length, buffer, sizeof(buffer), &used, &owned);

    fputc(',', out);
    if (memchr(escaped, ',', used) || memchr(escaped, '"', used) ||
        (used && (escaped[0] == ' ' || escaped[used - 1] == ' '))) {
        fputc('"', out);
        for (size_t i = 0; i < used; i++) {
            if (escaped[i] == '"')
                fputc('"', out);
            fputc(escaped[i], out);
        }
        fputc('"', out);
    } else {
        fwrite(escaped, 1, used, out);
    }
    free(owned);
}

void csv_begin(const struct part_context *ctx, const char *table, FILE *out) {
    char time[32];

    fputs(table, out);
    time_write(&ctx->look->frame->wall, time);
    fputc(',', out);
    fputs(time, out);
}

void csv_string(const char *string, FILE *out) {
    csv_bytes(string ? string : "", string ? strlen(string) : 0, out);
}

void csv_text(const struct text *text, FILE *out) {
    csv_bytes(text_bytes(text), text_length(text), out);
}

void csv_number(enum unit unit, double value, FILE *out) {
    char text[64];
    size_t n = number_write(unit, value, text, sizeof(text));

    fputc(',', out);
    fwrite(text, 1, n, out);
}

void csv_end(FILE *out) {
    fputs("\n", out);
}

void time_write(const struct timespec *wall, char out[32]) {
    struct tm tm;
    size_t n;

    gmtime_r(&wall->tv_sec, &tm);
    n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, 32 - n, ".%03dZ", (int)(wall->tv_nsec / 1000000 % 1000));
}

void clock_write(time_t wall, char out[CLOCK_SIZE]) {
    struct tm tm;

    out[0] = '\0';
    if (localtime_r(&wall, &tm))
        strftime(out, CLOCK_SIZE, "%H:%M:%S", &tm);
}
