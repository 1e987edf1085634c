/* answer.h - one answer of a model while it arrives.
 *
 * Stream decoders open blocks, add to them and close them; the answer keeps the bytes, notifies its
 * listener of deltas, and returns the whole as a struct llm_result at the end.
 * Everything is bounded: bytes and blocks. An answer is owned by one call. */
#pragma once

#include "llm/llm.h"

#define ANSWER_BYTES_MAX   (32u * 1024 * 1024)
#define ANSWER_BLOCKS_MAX  1024u
#define ANSWER_REFUSAL_MAX 4096u
#define ANSWER_NO_INDEX    (-1)
#define ANSWER_TOKENS_MAX  1000000000000 /* sums of counts must not overflow */

/* An error in the words of the server, before or during the stream. */
struct wire_error {
    int status; /* HTTP status, 0 = in mid-stream or none at all */
    str type;   /* "overloaded_error", "insufficient_quota" ...; may be empty */
    str message;
    str param; /* what part of the request it is about; may be empty */
    str request_id;
    int64_t retry_after_ms; /* -1 = not given */
    int should_retry;       /* x-should-retry: 1, 0; -1 = not given */
};

enum answer_kind {
    ANSWER_TEXT,
    ANSWER_TOOL,
    ANSWER_OPAQUE, /* kept and sent back, never interpreted */
};

struct answer_block {
    enum answer_kind kind;
    int64_t index; /* the stream's own number for it, or ANSWER_NO_INDEX */
    bool is_open;
    str id, name;      /* ANSWER_TOOL */
    struct buf text;   /* text, JSON arguments, or thinking */
    struct buf args;   /* ANSWER_OPAQUE: input of a server tool */
    struct json *json; /* ANSWER_OPAQUE: the block as it started */
    const char *grows; /* ANSWER_OPAQUE: the member that `text` is for */
};

struct answer_usage { /* as reported; each figure overwrites the one before */
    int64_t uncached_in, cache_read, cache_write, cache_write_1h, out;
};

struct answer {
    struct arena arena;   /* lives as long as the answer */
    struct arena scratch; /* one event */
    struct answer_block *blocks;
    size_t n, cap, bytes;
    struct answer_usage usage;
    enum llm_stop stop;
    bool has_stop;    /* the stop reason was received */
    bool is_complete; /* the end of the stream was received */
    bool had_output;  /* the listener was notified of output */
    str stop_detail, request_id;
    bool has_error;
    struct wire_error error;
    const struct llm_events *listener; /* on_text, on_thinking, on_tool_*; NULL = none */
    void *ctx;
};

void answer_init(struct answer *an, const struct llm_events *listener, void *ctx);
void answer_done(struct answer *an);

/* NULL when there are too many blocks; the answer has failed then. */
struct answer_block *answer_open(struct answer *an, enum answer_kind kind, int64_t index);
/* The last block if it is of this kind (and, for an opaque one, `grows` in this member), else a new
 * one without a number; NULL as above. */
struct answer_block *answer_continue(struct answer *an, enum answer_kind kind, const char *grows);
struct answer_block *answer_find(struct answer *an, int64_t index); /* open ones only, or NULL */
struct answer_block *answer_last(struct answer *an, enum answer_kind kind); /* or NULL */

/* Adds to a block and, for text, notifies the listener. */
void answer_text(struct answer *an, struct answer_block *b, str delta);
void answer_thinking(struct answer *an, struct answer_block *b, str delta);
void answer_add(struct answer *an, struct buf *to, str bytes);
/* The block has its name and its id. */
void answer_tool_started(struct answer *an, const struct answer_block *b);
/* Adds to the arguments; the listener gets those that came before the name with it. */
void answer_args(struct answer *an, struct answer_block *b, str piece);

/* A token count that a server reported; `otherwise` when it is missing or out of range. */
int64_t answer_count(const struct json *usage, const char *key, int64_t otherwise);

/* Adds to the words of a refusal, up to ANSWER_REFUSAL_MAX. */
void answer_refusal(struct answer *an, str words);

/* The first error wins; `type` and `message` are copied. */
void answer_fail(struct answer *an, str type, str message);

/* The tokens that were reported so far; zeros while nothing was. */
struct conv_usage answer_usage_so_far(const struct answer *an);

/* The whole answer. Cut or refused parts are left out, so that nothing half-written is ever
 * run or stored. Borrows from the answer. */
void answer_result(struct answer *an, str provider, str model, struct llm_result *ret);
