// Text in an XML document.
#ifndef VIEWS_XML_H
#define VIEWS_XML_H

#include <stdio.h>

// For the content of an element or of a quoted attribute. The text may be any bytes: control characters and invalid
// UTF-8 are escaped first, then what XML gives a meaning to or forbids. Longer than 16 KiB it is cut.
void xml_write(const char *text, FILE *out);

#endif
