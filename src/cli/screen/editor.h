/* editor.h - a line editor without a terminal: bytes in, text and events out.
 *
 * A pure state machine, so that every key can be tested. It supports UTF-8, the usual Emacs keys,
 * arrows with modifiers, bracketed paste, reverse search and several lines of text. Bytes may
 * arrive in any pieces. Control characters never become part of the text. The text has a ceiling;
 * input beyond it is dropped. One owner, loop thread. */
#pragma once

#include "base/buf.h"
#include "cli/screen/history.h"

#define EDITOR_TEXT_MAX (1024u * 1024)

enum editor_event {
    EDITOR_NOTHING,   /* all bytes were consumed */
    EDITOR_SUBMIT,    /* Enter: see text, then editor_clear */
    EDITOR_INTERRUPT, /* Ctrl-C on an empty line */
    EDITOR_END,       /* Ctrl-D on an empty line */
    EDITOR_REFRESH,   /* Ctrl-L: clear the screen */
    EDITOR_UNFOLD,    /* Ctrl-O */
    EDITOR_SUSPEND,   /* Ctrl-Z */
    EDITOR_EXTERNAL,  /* Ctrl-X Ctrl-E: edit the text with another program */
    EDITOR_CHOOSE,    /* Tab behind "@conv": choose a conversation, then editor_mention */
};

/* Completes a path that begins behind "@": its common beginning, and all candidates for the hint.
 * True: there is one. */
typedef bool (*editor_complete_fn)(void *ctx, str typed, struct buf *ret_common,
                                   struct buf *ret_all);

struct editor {
    struct buf text;
    size_t cursor;   /* bytes, always between characters */
    struct buf hint; /* shown below the text until the next key */

    struct history *history;
    size_t browse;    /* entry shown; history->len = the draft */
    struct buf draft; /* the draft that was being typed when browsing began */
    struct buf query; /* of a reverse search */
    bool is_searching;

    const char *const *words; /* what Tab completes at the start of the text; ends with NULL */
    editor_complete_fn complete_path; /* what it completes behind "@"; may be NULL */
    bool can_choose;                  /* EDITOR_CHOOSE is handled */
    void *complete_ctx;

    struct buf killed;
    bool was_kill, is_kill; /* consecutive kills are yanked together */
    char seq[16];           /* bytes of an incomplete key */
    size_t nseq;
    bool is_pasting, was_return;
    bool is_prefixed; /* Ctrl-X was pressed: the next key has another meaning */
    enum editor_event event;
};

void editor_init(struct editor *e, struct history *h, const char *const *words);
void editor_done(struct editor *e);
void editor_clear(struct editor *e); /* empties the text, ends searching and browsing */

/* Consumes bytes up to and including the first one that causes an event; returns their number. */
size_t editor_feed(struct editor *e, str bytes, enum editor_event *ret_event);
/* No byte followed an escape for a while: it was the Escape key. */
void editor_idle(struct editor *e);
static inline bool editor_is_waiting(const struct editor *e)
{
    return e->nseq == 1 && e->seq[0] == '\x1b';
}
void editor_hint(struct editor *e, str text);
/* Replaces the word behind "@" before the cursor, and ends it with a space. */
void editor_mention(struct editor *e, str name);

/* The prompt, the text and the hint as lines of at most `width` columns, joined by line feeds, and
 * the position of the cursor. */
void editor_draw(const struct editor *e, size_t width, bool has_color, struct buf *out,
                 size_t *ret_row, size_t *ret_col);

/* ---- shared by the parts of the editor ---- */

void editor_insert(struct editor *e, str text);    /* at the cursor, without control characters */
void editor_set(struct editor *e, str text);       /* replaces the text, cursor at its end */
bool editor_search_key(struct editor *e, str key); /* false: not a key of the search */
void editor_search_type(struct editor *e, str text);
void editor_press(struct editor *e, str key); /* ignores what is not a key */
