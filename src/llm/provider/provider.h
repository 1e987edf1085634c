/* provider.h - the differences between model APIs. Internal to llm/.
 *
 * A provider type is a table: how a request becomes a body, and how the events of the
 * answer's stream are read. Sending, waiting, retrying and wording errors are the same for
 * all (call.c, failure.c). */
#pragma once

#include "base/json/json_decode.h"
#include "llm/aws/aws_frames.h"
#include "llm/aws/aws_sign.h"
#include "llm/llm.h"
#include "llm/provider/answer.h"
#include "llm/provider/models.h"
#include "net/fetch.h"
#include "net/sse_parse.h"

#define LLM_PICTURE_SIDE  1568u
#define LLM_BODY_MAX      (32u * 1024 * 1024) /* what the largest provider accepts */
#define LLM_PROVIDERS_MAX 32u
#define LLM_HEADERS_MAX   32u
#define AUTH_MAX          3 /* headers that say who asks */

/* How servers of the chat-completions family differ (contract of each in openai.c). */
enum provider_quirk {
    QUIRK_IDS_OF_NINE = 1,        /* tool call ids are exactly nine letters or digits */
    QUIRK_STRICT_FIELDS = 2,      /* unknown fields are refused */
    QUIRK_NO_USER_AFTER_TOOL = 4, /* an assistant message must stand between */
    QUIRK_PLAIN_SCHEMA = 8,       /* no $ref, no additionalProperties */
    QUIRK_THOUGHT_SIGNATURE = 16, /* each tool call must carry one, even foreign history */
    QUIRK_CACHE_KEY = 32,         /* understands prompt_cache_key */
    QUIRK_MAX_COMPLETION = 64,    /* reasoning models take max_completion_tokens */
    QUIRK_ECHO_REASONING = 128,   /* tool calls must carry the reasoning, even if it is empty */
    QUIRK_LOCAL = 256,            /* found on this machine: no key, no price */
};

struct provider {
    str name;                     /* as in "name:model" */
    str base_url;                 /* without a slash at its end */
    str api_key;                  /* secret; may be empty */
    bool is_key_fixed;            /* by the settings or the environment */
    bool is_public_only;          /* its address may only be https and public */
    str auth_token;               /* secret: sent as bearer beside the key; may be empty */
    str organization, project;    /* whom OpenAI bills; may be empty */
    struct aws_keys aws;          /* Bedrock: sign requests; empty = the key is a bearer */
    str key_hint;                 /* advice when the key is missing; may be empty */
    str key_env;                  /* the variable that holds the key, for messages; may be empty */
    str default_model;            /* empty = none */
    struct json_strs found;       /* models that its server on this machine has listed */
    struct fetch_header *headers; /* extra ones from the configuration */
    size_t nheaders;
    unsigned quirks;
    const struct provider_type *type;
};

struct provider_type {
    const char *name; /* "anthropic", "openai", "openai-responses", "google", "bedrock", "demo" */
    /* A stream of AWS instead of events; NULL = events. */
    void (*frame)(struct answer *an, const struct aws_frame *f);
    /* Signs the request, in place of `auth`; NULL, or 0 headers: it has other credentials. */
    size_t (*sign)(const struct provider *p, struct arena *a, str url, str body, int64_t now_ms,
                   struct fetch_header out[AUTH_MAX]);
    /* Pure: the same values give the same bytes. */
    int (*build)(const struct provider *p, const struct model_caps *caps,
                 const struct llm_request *req, struct buf *ret_body, struct err *e);
    str (*url)(const struct provider *p, str model, struct arena *a);
    size_t (*auth)(const struct provider *p, struct arena *a, struct fetch_header out[AUTH_MAX]);
    void (*event)(struct answer *an, const struct sse_event *ev);
    void (*eof)(struct answer *an); /* the connection was closed normally */
    bool rate_limit_needs_wait;     /* a 429 without Retry-After may be a spending limit */
    uint32_t picture_side;          /* of pictures that people give; 0 = LLM_PICTURE_SIDE */
};

int anthropic_build(const struct provider *p, const struct model_caps *caps,
                    const struct llm_request *req, struct buf *ret_body, struct err *e);
void anthropic_event(struct answer *an, const struct sse_event *ev);
void anthropic_eof(struct answer *an);
/* The same for Bedrock, where the address names the model. */
int anthropic_build_unnamed(const struct provider *p, const struct model_caps *caps,
                            const struct llm_request *req, struct buf *ret_body, struct err *e);
int openai_build(const struct provider *p, const struct model_caps *caps,
                 const struct llm_request *req, struct buf *ret_body, struct err *e);
void openai_event(struct answer *an, const struct sse_event *ev);
void openai_eof(struct answer *an);
int google_build(const struct provider *p, const struct model_caps *caps,
                 const struct llm_request *req, struct buf *ret_body, struct err *e);
void google_event(struct answer *an, const struct sse_event *ev);
void google_eof(struct answer *an);
int responses_build(const struct provider *p, const struct model_caps *caps,
                    const struct llm_request *req, struct buf *ret_body, struct err *e);
void responses_event(struct answer *an, const struct sse_event *ev);
void responses_eof(struct answer *an);

extern const struct provider_type PROVIDER_ANTHROPIC, PROVIDER_OPENAI, PROVIDER_RESPONSES,
    PROVIDER_GOOGLE, PROVIDER_BEDROCK, PROVIDER_DEMO;

/* Removes tool `index` from a body that was built before; -EINVAL if the body has fewer tools.
 * *ret_name is the name of the removed tool and lives in the arena. */
int provider_drop_tool(struct buf *body, size_t index, struct arena *a, str *ret_name);

/* The tools that a body has to list, or NULL: there are none, or they are written already because
 * they are cached. */
const struct llm_tool *provider_begin_tools(struct json_writer *w, struct arena *a,
                                            const struct llm_request *req, size_t max,
                                            unsigned schema_flags, size_t *ret_n);

/* The tools as they go out: names of the allowed shape and each once, clean texts and schemas
 * (schema_clean.h), at most `max`. Lives in the arena. */
struct llm_tool *provider_tools(struct arena *a, const struct llm_request *req, size_t max,
                                unsigned schema_flags, size_t *ret_n);

typedef void (*stream_fn)(struct answer *an, const struct json *ev);

/* The meaning of an event of one type; a stream whose events have types is a table of these. */
struct stream_handler {
    str type;
    stream_fn fn;
};

/* NULL: the type is not in the table, or `data` is NULL. */
stream_fn provider_handler(const struct stream_handler *table, size_t n, const struct json *data,
                           const struct sse_event *ev);

/* The JSON of an event, in the answer's scratch; NULL: it is none, and the answer has failed. */
const struct json *provider_parse_event(struct answer *an, const struct sse_event *ev);

/* The system prompt as one text. */
str provider_system(struct arena *a, const struct llm_request *req);

/* An address below the base URL, for servers of OpenAI's APIs: "http://host:port" without a path
 * means /v1. */
str provider_openai_url(const struct provider *p, struct arena *a, str path);
/* Authorization, and whom to bill. */
size_t provider_bearer(const struct provider *p, struct arena *a,
                       struct fetch_header out[AUTH_MAX]);

/* The limit that the request asks for, within that of the model. */
int64_t provider_max_tokens(const struct model_caps *caps, const struct llm_request *req);

/* The body as it goes out, or -EMSGSIZE with the limit in words. */
int provider_finish(const struct buf *body, struct err *e);

/* All texts of a list, a blank line between them. */
str provider_join_texts(struct arena *a, const struct llm_block *blocks, size_t n);
