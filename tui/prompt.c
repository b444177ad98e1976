// The prompt line: edits one line of UTF-8 by whole characters.
#include "tui/prompt.h"

#include <stdio.h>
#include <string.h>

#include "tui/screen.h"
#include "views/width.h"

void prompt_start(struct prompt *prompt, const char *label, const char *text) {
    memset(prompt, 0, sizeof *prompt);
    prompt->label = label;
    snprintf(prompt->text, sizeof prompt->text, "%s", text);
    prompt->length = prompt->at = strlen(prompt->text);
}

static size_t step_left(const struct prompt *prompt) {
    size_t at = prompt->at;
    while (at > 0 && ((unsigned char)prompt->text[--at] & 0xc0) == 0x80)
        ;
    return at;
}

static size_t step_right(const struct prompt *prompt) {
    size_t at = prompt->at;
    if (at < prompt->length)
        at++;
    while (at < prompt->length && ((unsigned char)prompt->text[at] & 0xc0) == 0x80)
        at++;
    return at;
}

static void cut(struct prompt *prompt, size_t from, size_t to) {
    memmove(prompt->text + from, prompt->text + to, prompt->length - to + 1);
    prompt->length -= to - from;
    prompt->at = from;
}

static void insert(struct prompt *prompt, int key) {
    char bytes[4];
    if (key < ' ' || key == 127 || key > 0x10ffff || char_is_control((uint32_t)key))
        return;
    size_t n = utf8_encode((uint32_t)key, bytes);
    if (prompt->length + n >= sizeof prompt->text)
        return;
    memmove(prompt->text + prompt->at + n, prompt->text + prompt->at, prompt->length - prompt->at + 1);
    memcpy(prompt->text + prompt->at, bytes, n);
    prompt->length += n;
    prompt->at += n;
}

bool prompt_replace(struct prompt *prompt, size_t from, const char *text) {
    size_t n = strlen(text), removed = from <= prompt->at ? prompt->at - from : 0;
    if (from > prompt->at || prompt->length - removed + n >= sizeof prompt->text)
        return false;
    memmove(prompt->text + from + n, prompt->text + prompt->at, prompt->length - prompt->at + 1);
    memcpy(prompt->text + from, text, n);
    prompt->length += n - removed;
    prompt->at = from + n;
    return true;
}

static size_t word_left(const struct prompt *prompt) {
    size_t at = prompt->at;
    while (at > 0 && prompt->text[at - 1] == ' ')
        at--;
    while (at > 0 && prompt->text[at - 1] != ' ')
        at--;
    return at;
}

enum prompt_answer prompt_key(struct prompt *prompt, int key) {
    switch (key) {
    case KEY_VIEW_ENTER:
        return PROMPT_DONE;
    case KEY_TUI_ESCAPE:
    case KEY_CTRL('g'):
        return PROMPT_CANCELLED;
    case KEY_TUI_BACKSPACE:
        if (!prompt->length) // on an empty line Backspace closes the prompt, as in vi
            return PROMPT_CANCELLED;
        cut(prompt, step_left(prompt), prompt->at);
        break;
    case KEY_TUI_DELETE:
    case KEY_CTRL('d'): {
        size_t at = prompt->at;
        cut(prompt, at, step_right(prompt));
        break;
    }
    case KEY_VIEW_LEFT:
    case KEY_CTRL('b'):
        prompt->at = step_left(prompt);
        break;
    case KEY_VIEW_RIGHT:
    case KEY_CTRL('f'):
        prompt->at = step_right(prompt);
        break;
    case KEY_VIEW_HOME:
    case KEY_CTRL('a'):
        prompt->at = 0;
        break;
    case KEY_VIEW_END:
    case KEY_CTRL('e'):
        prompt->at = prompt->length;
        break;
    case KEY_CTRL('u'):
        cut(prompt, 0, prompt->at);
        break;
    case KEY_CTRL('k'):
        cut(prompt, prompt->at, prompt->length);
        break;
    case KEY_CTRL('w'):
        cut(prompt, word_left(prompt), prompt->at);
        break;
    default:
        insert(prompt, key);
    }
    return PROMPT_GOES_ON;
}

int prompt_draw(const struct prompt *prompt, struct area row) {
    char before[PROMPT_MAX];
    const char *hint = strstr(prompt->label, " (");
    bool is_short = hint && text_width(prompt->label) + text_width(prompt->text) + 1 > row.width;
    char shown[PROMPT_LABEL_MAX];
    // Without its examples, once the text needs their room.
    if (is_short)
        snprintf(shown, sizeof shown, "%.*s: ", (int)(hint - prompt->label), prompt->label);
    else
        snprintf(shown, sizeof shown, "%s", prompt->label);
    int label = text_width(shown), room = row.width - label - 1;
    snprintf(before, sizeof before, "%.*s", (int)prompt->at, prompt->text);
    int cursor = text_width(before), skip = 0;
    // A line longer than the row scrolls to keep the cursor visible.
    while (room > 0 && cursor > room) {
        uint32_t ch;
        size_t n = utf8_decode(prompt->text + skip, prompt->length - (size_t)skip, &ch);
        skip += n ? (int)n : 1;
        cursor -= n ? char_width(ch) : 1;
    }
    area_text(row, 0, 0, ROLE_KEY, shown);
    area_text(row, label, 0, ROLE_TEXT, prompt->text + skip);
    return label + cursor < row.width ? label + cursor : row.width - 1;
}
