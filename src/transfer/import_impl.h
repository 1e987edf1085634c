/* import_impl.h - the parts of an importer. Private to import*.c. */
#pragma once

#include "base/map.h"
#include "store/event/lines.h"
#include "transfer/import.h"

/* Builds the events of a foreign conversation: messages, times, tool calls.
 *
 * The parsers of foreign formats call these functions instead of writing events. A talk keeps the
 * time, starts and ends runs, collects the parts of one answer into one llm.response and remembers
 * the names of the tools that were called. Only memory is changed; one thread at a time. */

enum { TALK_SKIPS_MAX = 16 };

/* The files beside the conversations of an export. */
struct assets {
    struct arena arena;
    struct asset {
        str name;
        const char *path;
    } * items;
    size_t n, cap;
};

void assets_open(struct assets *s, const char *dir); /* NULL: there are none */
void assets_done(struct assets *s);

struct talk {
    str owner_id;     /* of all conversations; empty = nobody */
    str old_id;       /* of this one; in the arena of the conversation */
    struct arena out; /* of the events */
    str *events;      /* heap */
    size_t n, cap, bytes;

    char ts[32]; /* time of the next event */
    int64_t first_ms;
    bool is_running;
    int run;
    char run_id[32];
    struct map tools; /* id of a call -> name (heap) */

    struct arena pending; /* of the answer that is being collected */
    struct json *parts;   /* NULL: no answer */
    char answer_ts[32];
    str model, answer_id;
    struct conv_usage usage;

    const struct import_views *views; /* NULL: pictures stay as they are */
    size_t view_bytes, picture_bytes; /* made for models; in results, as text */
    size_t asked;                     /* how often a file was looked for */
    const struct assets *assets;      /* NULL: there are no files */
    struct import_blob *files;        /* those that messages of this conversation name */
    size_t nfiles, files_cap;

    struct { /* items that were not imported */
        const char *what;
        int64_t n;
    } skips[TALK_SKIPS_MAX];
};

void talk_init(struct talk *t);
void talk_done(struct talk *t);
void talk_restart(struct talk *t); /* the next conversation */
void talk_clear(struct talk *t);   /* the events were taken */

/* Sets the time of the following events; an event without a time gets the previous one. */
void talk_at_ms(struct talk *t, int64_t ms);
void talk_at(struct talk *t, str iso);

/* parts: an array of content parts; an empty array is ignored. */
void talk_user(struct talk *t, const struct json *parts);

/* Parts of an answer. An id that differs from that of the current answer begins a new answer. */
void talk_answer(struct talk *t, str answer_id, str model);
void talk_text(struct talk *t, str text);
void talk_reasoning(struct talk *t, str text);
void talk_call(struct talk *t, str id, str name, const struct json *input);
void talk_usage(struct talk *t, const struct conv_usage *u);

/* content: an array of content parts, or a string. name may be empty. */
/* The picture for models; false: there is none, and *ret_problem says why it cannot be shown, or is
 * empty. Everything in the arena. */
bool talk_make_view(struct talk *t, struct arena *a, str picture, struct import_view *ret,
                    str *ret_problem);
void talk_result(struct talk *t, str id, str name, bool ok, const struct json *content);

void talk_title(struct talk *t, str title);
void talk_event(struct talk *t, str line); /* adds the line unchanged */
void talk_skip(struct talk *t, const char *what);
void talk_finish(struct talk *t); /* ends the current answer and run */
/* Reports the skipped items of the conversation `name`. */
void talk_report(struct talk *t, struct import_report *r, str name);

/* One content part {"type":"text","text":...} added to an array. */
void talk_add_text(struct arena *a, struct json *parts, str text);

/* The file with this id or name as a part of a message. False: it is not there, or too large. */
bool talk_add_file(struct talk *t, struct arena *a, struct json *parts, str id, str name);
/* A picture as a block of a result. */
bool talk_add_picture(struct talk *t, struct arena *a, struct json *parts, str id);

/* Blocks of a message in the format of Anthropic: text, thinking, tool_use, tool_result. */
void talk_anthropic(struct talk *t, const struct json *content, bool is_user);

void import_lose(struct import_report *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Reads the values of a JSON array one by one from a file of any size. A file with a single object
 * is treated as an array of one value. */
struct elements {
    int fd;
    off_t at;          /* of the next byte to read */
    struct buf window; /* begins with the current element */
    size_t used;       /* bytes of the window that the last returned element occupies */
    bool has_begun, is_single, has_ended;
};

void elements_init(struct elements *e, int fd);
void elements_done(struct elements *e);
/* 1 and the next value (valid until the next call), 0 at the end, -EINVAL when the file is not an
 * array of objects, -EFBIG for a value that is too large (it is skipped), or -errno. */
int elements_next(struct elements *e, str *ret);

/* import_is_x: is this conversation of an export in the format x? import_x: passes it to the talk
 * and fills conv, whose strings point into v or into the arena. */
bool import_is_chatgpt(const struct json *v);
void import_chatgpt(struct talk *t, struct arena *a, const struct json *v,
                    struct conv_create *conv);
bool import_is_claude(const struct json *v);
void import_claude(struct talk *t, struct arena *a, const struct json *v, struct conv_create *conv);

/* Session files of Claude Code, line by line. */
struct code_session {
    str id; /* in the arena given to import_code_line */
    str cwd;
    str title; /* the last one */
};
bool import_is_code(const struct json *line);
void import_code_line(struct code_session *s, struct talk *t, struct arena *a,
                      const struct json *line);

/* conv_<16 hex> for a foreign id: for the same owner the same every time. */
str talk_conv_id(struct talk *t, struct arena *a, const char *kind, str foreign_id);
/* {"importedFrom":kind,"sourceId":id} */
struct json *import_metadata(struct arena *a, const char *kind, str foreign_id);

/* Imports logs of nb and chats of the folder layout: line 1 becomes a new conversation, every other
 * line an event. Pool threads. */
struct log_reader {
    bool is_folder;
    const char *path;
    bool has_header;
    struct map notes;     /* folder: keys of the notes in the chat */
    struct arena arena;   /* of the conversation */
    struct arena scratch; /* of one line */
    int64_t last_ms;      /* time of the previous line */
    struct import_blob *blobs;
    size_t nblobs, blobs_cap, taken_blobs;
    struct map shared; /* hashes among them */
};

void log_reader_init(struct log_reader *r, const char *path, bool is_folder);
void log_reader_done(struct log_reader *r);
/* Processes one line of the file. Returns true once, when conv has been filled. */
bool log_reader_line(struct log_reader *r, struct talk *t, str line, struct conv_create *conv);
void log_reader_end(struct log_reader *r, struct talk *t); /* adds notes that are not in the chat */
