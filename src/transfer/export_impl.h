/* export_impl.h - the parts of an exporter. Private to export*.c. */
#pragma once

#include "store/event/event.h"
#include "transfer/export.h"

enum export_item_type {
    ITEM_USER,
    ITEM_ASSISTANT,
    ITEM_SYSTEM,
    ITEM_REASONING,
    ITEM_CALL,   /* of a tool; text is its input */
    ITEM_RESULT, /* of a tool */
    ITEM_ERROR,
    ITEM_NOTE,
};

struct export_item { /* one readable part of the conversation, in log order */
    enum export_item_type type;
    str ts;
    str who;  /* user, model, author, or the name of a tool */
    str text; /* never empty, except of a call or a result */
    bool ok;  /* of a result */
    int64_t ms;
    const struct json *content; /* of a result: its blocks; NULL = none */
    const struct json *file;    /* the part that names a file; NULL = none */
};

struct export_style {
    void (*begin)(struct exporter *x);
    void (*item)(struct exporter *x, const struct export_item *item); /* or: */
    void (*event)(struct exporter *x, enum event_type type, const struct json *event, str line);
    void (*end)(struct exporter *x); /* or NULL */
};

extern const struct export_style export_style_markdown, export_style_html, export_style_json;

struct exporter {
    const struct export_style *style;
    const struct conv *conv;
    struct export_options opt;
    export_write_fn fn;
    void *ctx;
    int status; /* the first failure of fn */
    bool has_begun, has_ended;
    struct buf out;
    struct arena scratch;       /* of one event */
    enum export_item_type last; /* the previous speaker (Markdown, HTML) */
    bool has_spoken;

    struct { /* JSON: an answer that waits for the results of its tools */
        struct arena arena;
        const struct json *event;
        enum event_type type;
        struct json *results; /* array of tool.done events */
        size_t bytes;
        bool has_messages, has_notes;
        struct buf notes;
    } held;
};

/* Adds text to the document; passes it to fn in pieces. */
void export_put(struct exporter *x, str s);
#define export_lit(x, literal) export_put((x), STR(literal))

/* A readable time: "2026-03-25 10:30:00 UTC"; empty when ts is not a time. */
str export_time(struct exporter *x, str ts);
/* What is known about the conversation: calls put for each fact. */
void export_facts(struct exporter *x, void (*put)(struct exporter *x, const char *name, str value));
/* Does this item begin a new section? Remembers the speaker. */
bool export_is_new_speaker(struct exporter *x, const struct export_item *item);

/* The blocks of a result: calls put for each that is not text, with what it is in a few words. */
void export_blocks(struct exporter *x, const struct export_item *item,
                   void (*put)(struct exporter *x, const struct json *block, str label));

/* The address of a file that a part names, as the options say; empty = none. */
str export_file_link(struct exporter *x, const struct json *part);

/* The text of a tool result, or its JSON when it has no text. */
str export_result_text(struct arena *a, const struct json *event);
