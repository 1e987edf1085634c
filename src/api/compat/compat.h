/* compat.h - other people's programs: requests in the form of two model services.
 *
 * POST /v1/chat/completions, /v1/responses and /v1/messages take what clients of those services
 * send, and answer in their form; behind them is a turn like any other, with the tools of the
 * workspace. docs/openai.md says what each parameter does.
 *
 *   compat_request.c  the request as this room understands it: messages, tools, files, limits
 *   read_chat.c, read_responses.c, read_messages.c   the body of each route becomes that request
 *   compat_parts.c    forms that the readers share: lists, tools, data: URLs
 *   compat_files.c    files inside the request are stored
 *   compat_turn.c     the request becomes a turn: events of what was said before, the message
 *   compat_threads.c  the conversation that a request without one continues
 *   compat_call.c     one request from its body to its answer, the routes
 *   write_chat.c, write_responses.c, write_messages.c   the answer, whole or as a stream
 *   get_response.c    an answer of /v1/responses that was given before
 *   compat_error.c    errors in the form of each service
 *
 * A request without a conversation continues the one that it quotes, or gets one of its own, which
 * is hidden unless the program asks for it (`store`). A program that disconnects cancels its run:
 * nobody else waits for the answer. Loop thread only. */
#pragma once

#include "api/compat/compat_error.h"
#include "api/exchange.h"
#include "api/live/live.h"
#include "runtime/runtime.h"

#define COMPAT_MESSAGES_MAX 2000
#define COMPAT_BLOCKS_MAX   4000 /* of all messages */
#define COMPAT_FILES_MAX    50
#define COMPAT_SCHEMA_MAX   (64u * 1024)
#define COMPAT_VALUES_MAX   200000           /* commas and brackets of a body */
#define COMPAT_TEXT_MAX     TURN_MESSAGE_MAX /* of one text */

struct compat_block {
    enum compat_block_type {
        COMPAT_TEXT,
        COMPAT_FILE,   /* of a user message */
        COMPAT_CALL,   /* of an assistant message: the program executes it */
        COMPAT_RESULT, /* of a user message: what it returned */
    } type;
    str text;     /* COMPAT_TEXT, COMPAT_RESULT */
    str id, name; /* COMPAT_CALL; COMPAT_RESULT has the id */
    str args;     /* COMPAT_CALL: JSON text, or what the model wrote instead */
    bool is_error;
    size_t file; /* COMPAT_FILE: which of the files */
};

struct compat_message {
    bool is_assistant;
    struct compat_block *blocks;
    size_t n, cap;
};

struct compat_file {
    str id;           /* of a file that was uploaded before; or: */
    str base64, name; /* its bytes */
};

/* In the arena of the HTTP request, as everything that it points to. */
struct compat_request {
    struct arena *arena;
    str model;
    bool is_stream, has_usage_chunk; /* the second: stream_options.include_usage */
    int64_t max_tokens;              /* 0 = not limited by the request */
    str *orders;                     /* compat_instruct */
    size_t norders, orders_cap;
    str instructions; /* all of them, after compat_check */
    struct compat_message *messages;
    size_t n, cap, nblocks;
    struct llm_tool *tools;
    size_t ntools;
    bool is_toolless;
    struct compat_file files[COMPAT_FILES_MAX];
    size_t nfiles;
    str conversation_id, after_run_id; /* continue this one; else empty */
    str previous_id;                   /* as the program named it */
    bool is_listed;                    /* the new conversation is listed */
    const struct json *metadata;
};

/* ---- compat_request.c: all return 0, or -EINVAL with a message that names the place ---- */

/* The last message if it has that role, else a new one: models take turns. NULL: too many. */
struct compat_message *compat_message(struct compat_request *q, bool is_assistant, struct err *e);
int compat_add(struct compat_request *q, struct compat_message *m, struct compat_block b,
               struct err *e);
int compat_add_text(struct compat_request *q, struct compat_message *m, str text, struct err *e);
int compat_add_file(struct compat_request *q, struct compat_message *m, struct compat_file f,
                    struct err *e);
void compat_instruct(struct compat_request *q, str text);     /* added to its instructions */
str compat_join(struct arena *a, const str *texts, size_t n); /* as paragraphs */
int compat_add_tool(struct compat_request *q, const char *where, struct llm_tool tool,
                    struct err *e);
/* What every request needs, when all of it was read. */
int compat_check(struct compat_request *q, struct err *e);

/* ---- read_chat.c, read_responses.c, read_messages.c ---- */

typedef int compat_read(struct compat_request *q, const struct json *body, struct err *e);
compat_read compat_read_chat, compat_read_responses, compat_read_anthropic;

/* resp_<run>_<conversation>; false: it is not the id of a response. */
bool compat_parse_response_id(struct arena *a, str id, str *ret_conversation, str *ret_run);

/* ---- compat_parts.c ---- */

/* A place in the body, for messages: "messages[3].content[0]". */
struct compat_place {
    char text[160];
};
struct compat_place compat_place(const char *in, const char *list, size_t i);

/* Reads one part of a list by its type. */
struct compat_part_type {
    const char *type;
    int (*read)(struct compat_request *q, struct compat_message *m, const struct json *part,
                const char *where, struct err *e); /* NULL: it is left out */
};
/* content: a string, which is a text, or an array of parts; null and absent are empty. */
int compat_read_parts(struct compat_request *q, struct compat_message *m,
                      const struct json *content, const struct compat_part_type *types,
                      const char *where, struct err *e);
int compat_read_text_part(struct compat_request *q, struct compat_message *m,
                          const struct json *part, const char *where, struct err *e);
/* The texts of a string or of a list of parts with a `text`, joined. */
int compat_join_text(struct compat_request *q, const struct json *content, const char *where,
                     str *ret, struct err *e);
/* The same for the result of a tool, which may have pictures: they become files of the message. */
int compat_read_result(struct compat_request *q, struct compat_message *m,
                       const struct json *content, const struct compat_part_type *others,
                       const char *where, str *ret, struct err *e);
/* A string of this member; -EINVAL when it is missing or empty. */
int compat_need(const struct json *v, const char *key, const char *where, str *ret, struct err *e);
/* Whether it can be decoded, in pieces of a multiple of four. */
int compat_read_base64(str text, const char *where, struct err *e);
/* data:<type>;base64,<bytes>. Other addresses are refused: nb fetches nothing for a program. */
int compat_read_url(str url, const char *where, str name, struct compat_file *ret, struct err *e);
/* Adds the file with this id; without one, that of the `data:` URL, under this name. */
int compat_read_file(struct compat_request *q, struct compat_message *m, const char *where, str id,
                     str url, str name, struct err *e);
/* Members that change the meaning of a request and that nb does not have. */
struct compat_refusal {
    const char *key;
    bool (*is_harmless)(const struct json *v); /* such a value is accepted and ignored */
    const char *why;
};
int compat_refuse(const struct json *body, const struct compat_refusal *rows, struct err *e);
bool compat_is_absent(const struct json *v); /* null, false, an empty list or object */
/* The form of the answer: text, json_object, or json_schema; as instructions to the model. */
int compat_read_format(struct compat_request *q, const struct json *format, const char *where,
                       struct err *e);
/* tool_choice: "auto" or "none", also as {type}. */
int compat_read_choice(struct compat_request *q, const struct json *choice, struct err *e);

/* ---- compat_files.c ---- */

/* parts: one for each file, an array in the arena; NULL with an error. */
typedef void (*compat_files_fn)(void *ctx, const struct err *err, const struct json *parts);
struct compat_files;
struct compat_files *compat_files_start(const struct api *api, struct http_req *r,
                                        struct compat_request *q, compat_files_fn fn, void *ctx);
void compat_files_cancel(struct compat_files *f); /* accepts NULL */

/* ---- compat_turn.c ---- */

/* Fills the turn; everything in the arena of the request. files: parts, or NULL. */
void compat_turn(const struct actor *who, const struct compat_request *q, const struct json *files,
                 struct turn_request *ret);
/* The model of the turn, or the agent profile. False: 404 was sent. */
bool compat_choose_model(struct api *api, struct http_req *r, struct turn_request *turn);

/* ---- the answer ---- */

#define COMPAT_NAME_MAX 300

/* An answer that is being written: belongs to compat_call.c, and outlives the request. */
struct compat_answer {
    struct live *live; /* NULL: the answer is not a stream */
    char conversation_id[STORE_ID_MAX + 1], run_id[STORE_ID_MAX + 1];
    char model[COMPAT_NAME_MAX], previous_id[COMPAT_NAME_MAX];
    int64_t created_s;
    bool has_usage_chunk, is_listed;
    bool is_text_open; /* a text item or block has begun */
    unsigned nitems;   /* items or blocks so far */
    uint64_t nevents;  /* sequence numbers */
};

struct compat_dialect {
    compat_read *read;
    /* the whole answer */
    void (*write)(struct json_writer *w, const struct compat_answer *a,
                  const struct turn_result *t);
    /* the same as a stream; each may send several events */
    void (*start)(struct compat_answer *a);
    void (*text)(struct compat_answer *a, str delta);
    void (*reasoning)(struct compat_answer *a, str delta); /* or NULL */
    void (*done)(struct compat_answer *a, const struct turn_result *t);
    void (*fail)(struct compat_answer *a, const char *code, str message);
};

extern const struct compat_dialect COMPAT_CHAT, COMPAT_RESPONSES, COMPAT_ANTHROPIC;

/* write_responses.c: a response from the log. error: of a run that failed; else empty. */
void compat_write_stored(struct json_writer *w, const struct compat_answer *a,
                         const struct run_result *run, str error);

/* Sends an event that j has, and frees j. event: empty = without a name. */
void compat_send(struct compat_answer *a, const char *event, struct api_json *j);
/* An id of this answer: the prefix, and the random part of the id of its run. */
void compat_write_id(struct json_writer *w, const char *key, const char *prefix,
                     const struct compat_answer *a);
