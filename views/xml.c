#include "views/xml.h"

#include <stdbool.h>
#include <string.h>

#include "views/escape.h"

#define XML_TEXT_MAX (16 << 10)

static const char *entity_of(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

void xml_write(const char *text, FILE *out) {
    char shown[XML_TEXT_MAX];

    escape_text(text, strlen(text), shown, sizeof(shown));
    for (const char *c = shown; *c; c++) {
        const char *entity = entity_of(*c);
        // U+FFFE and U+FFFF are valid in UTF-8 but not in XML.
        bool forbidden = !strncmp(c, "\xef\xbf\xbe", 3) || !strncmp(c, "\xef\xbf\xbf", 3);
        if (entity)
            fputs(entity, out);
        else if (forbidden)
            fputs(c[2] == '\xbe' ? "\\ufffe" : "\\uffff", out);
        else
            fputc(*c, out);
        c += forbidden ? 2 : 0;
    }
}
