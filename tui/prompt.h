// The prompt line: one line of text being edited. Independent of the screen and of its use.
#ifndef TUI_PROMPT_H
#define TUI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "views/grid.h"

#define PROMPT_MAX 512
#define PROMPT_LABEL_MAX 128

struct prompt {
    const char *label; // "filter: "; "probe (p PATH:FUNCTION): ": what is in brackets goes when the text needs its room
    char text[PROMPT_MAX];
    size_t length, at; // bytes
};

enum prompt_answer { PROMPT_GOES_ON, PROMPT_DONE, PROMPT_CANCELLED };

void prompt_start(struct prompt *prompt, const char *label, const char *text);
enum prompt_answer prompt_key(struct prompt *prompt, int key);
// Puts the text in place of what is between that byte and the cursor. False: there is no room.
bool prompt_replace(struct prompt *prompt, size_t from, const char *text);
// Draws it on one row; returns the column of the cursor.
int prompt_draw(const struct prompt *prompt, struct area row);

#endif
