/* llm.h - one message model for all providers, and the calls that use it.
 *
 * The types follow the Anthropic Messages API, which is the superset. A request is built from
 * immutable values by pure functions (history -> wire), so that the same history gives the same
 * bytes. Content that only one provider understands (thinking, signatures) is kept as an opaque
 * block and is sent back only to the provider and model that it came from.
 *
 * Calls run on the loop; all callbacks come on the loop thread, never before llm_start has
 * returned. Everything in a request is borrowed until llm_start returns; everything in a
 * callback is borrowed for the callback. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/usage.h"
#include "loop/loop.h"

struct fetcher;
struct aws_keys;

enum llm_block_type {
    LLM_TEXT,
    LLM_IMAGE,
    LLM_TOOL_USE,
    LLM_TOOL_RESULT,
    LLM_OPAQUE,
    LLM_DOCUMENT
};

struct llm_block {
    enum llm_block_type type;
    /* LLM_TEXT; LLM_DOCUMENT: for models that do not take the document itself */
    str text;
    str mime, data;                /* LLM_IMAGE, LLM_DOCUMENT: base64 */
    str id, name;                  /* LLM_TOOL_USE; a result has the id, a document the name */
    str args;                      /* LLM_TOOL_USE: raw JSON text as the model wrote it */
    const char *args_error;        /* LLM_TOOL_USE: why args is not usable JSON; NULL = fine */
    bool is_error;                 /* LLM_TOOL_RESULT */
    const struct llm_block *parts; /* LLM_TOOL_RESULT: text and images only */
    size_t nparts;
    str provider, model;     /* LLM_OPAQUE */
    const struct json *json; /* LLM_OPAQUE: the block as it came */
};

enum llm_role { LLM_USER, LLM_ASSISTANT };

struct llm_message {
    enum llm_role role;
    const struct llm_block *blocks;
    size_t n;
};

struct llm_tool {
    str name, description;
    const struct json *schema; /* JSON Schema of the arguments; NULL = no arguments */
};

struct llm_request {
    str model;           /* without the provider prefix */
    str system_stable;   /* cacheable: identity, core context, apps */
    str system_volatile; /* behind it: matched skill, date */
    const struct llm_message *messages;
    size_t nmessages;
    const struct llm_tool *tools; /* sorted by name */
    size_t ntools;
    str tools_key;  /* equal keys mean equal tools (a checksum of them); may be empty */
    str tools_json; /* for this floor: the tools as JSON of the provider, if they are cached */
    int64_t max_tokens;
    const char *thinking;    /* "off", "adaptive", "enabled"; NULL = off */
    const char *effort;      /* low medium high max; NULL = the model's default */
    int64_t thinking_budget; /* tokens, for "enabled" */
    str session_key;         /* conversation id: provider-side cache affinity; may be empty */
};

enum llm_stop { LLM_STOP_END, LLM_STOP_TOOL, LLM_STOP_LENGTH, LLM_STOP_REFUSAL, LLM_STOP_PAUSE };

struct llm_result {
    const struct llm_block *blocks; /* text, tool_use, opaque, in the order they came */
    size_t n;
    enum llm_stop stop;
    struct conv_usage usage;
    str model;       /* "provider:model" */
    str request_id;  /* may be empty */
    str stop_detail; /* refusal text; may be empty */
    uint64_t ms;
    char request_sha256[65]; /* of the body that was sent */
    str request_parts;       /* its outline (outline.h), JSON text */
};

enum llm_error_kind {
    LLM_ERR_AUTH,       /* 401, 403: the key is wrong or missing */
    LLM_ERR_BILLING,    /* 402, spend caps, quota */
    LLM_ERR_MODEL,      /* the model does not exist or was retired */
    LLM_ERR_INVALID,    /* the request was refused: 400, 422 */
    LLM_ERR_TOO_LONG,   /* context overflow: trim or compact */
    LLM_ERR_OVERLOADED, /* 408, 429, 503, 504, 529 after all tries */
    LLM_ERR_SERVER,     /* 500, 502: an internal error of the provider */
    LLM_ERR_NETWORK,    /* no connection, cut stream, silence */
};

struct llm_failure {
    enum llm_error_kind kind;
    int http_status; /* 0 = none */
    bool had_output; /* deltas were delivered before it failed */
    str request_id;
    struct err err; /* for people */
};

struct llm_events {
    void (*on_text)(void *ctx, str delta);
    void (*on_thinking)(void *ctx, str delta);          /* may be NULL */
    void (*on_tool_start)(void *ctx, str id, str name); /* may be NULL */
    /* A piece of the arguments of a call that was announced, as the model writes them. May be NULL;
     * a model that does not stream arguments gives them in one piece, or only with the result. */
    void (*on_tool_args)(void *ctx, str id, str piece);
    /* Attempt `attempt` of `of` has failed; the next one follows after the wait. May be NULL. */
    void (*on_retry)(void *ctx, unsigned attempt, unsigned of, uint64_t wait_ms,
                     const struct err *why);
    void (*on_done)(void *ctx, const struct llm_result *r);  /* last call, or: */
    void (*on_fail)(void *ctx, const struct llm_failure *f); /* last call */
};

struct llm; /* the configured providers */
struct llm_call;

/* ---- configuration ---- */

struct llm_provider_conf {
    str name;       /* as used in "name:model" */
    str type;       /* of a provider (provider.h); empty = the known one for the name */
    str base_url;   /* empty = the known URL for the name (openrouter, groq, mistral, ollama ...) */
    str api_key;    /* secret */
    str auth_token; /* secret; ANTHROPIC_AUTH_TOKEN: a bearer beside the key */
    str organization, project;  /* OPENAI_ORG_ID, OPENAI_PROJECT_ID */
    const struct aws_keys *aws; /* secret; signs requests to Bedrock; or NULL */
    bool is_key_entered;        /* by a person while nb was running: llm_set_key may replace it */
    bool is_public_only;        /* its address was entered in the page: only https, only public */
    const struct json *headers; /* extra request headers, object of strings, or NULL */
};

struct llm_conf {
    const struct llm_provider_conf *providers;
    size_t nproviders;
    str default_model;                  /* as configured; empty = chosen by the available keys */
    str fast_model;                     /* titles, compaction; empty = the default model */
    const struct json *model_overrides; /* capabilities and prices by model name, or NULL */
    uint64_t idle_timeout_ms;           /* 0 = 120 s */
    unsigned max_tries;                 /* 0 = 5 */
    uint64_t retry_base_ms;             /* 0 = 1000; tests make it small */
    uint64_t demo_delay_ms;             /* between the demo's words; 0 = as fast as possible */
    str ollama_host; /* OLLAMA_HOST, where llm_probe looks; empty = 127.0.0.1:11434 */
};

struct llm *llm_new(struct loop *l, struct fetcher *f, const struct llm_conf *conf,
                    struct logger *log, struct err *e);
void llm_free(struct llm *m);

/* ---- models ---- */

#define LLM_PICTURE_SIDE 1568u /* of a model of which nothing is known */

struct llm_model_info {
    str provider, model;
    int64_t context_tokens, max_output_tokens; /* 0 = unknown */
    bool has_price;
    double price_in, price_out, price_cache_read, price_write_5m, price_write_1h; /* per Mtok */
    str priced_on; /* month of the public list price; empty = set by the configuration */
    bool can_tools, can_images, can_pdf, can_thinking;
    uint32_t picture_side; /* pixels: a longer side is only shrunk by the provider */
    str retires_on;        /* ISO date or empty */
    str successor;
};

/* Splits "provider:model", or finds the provider of a bare name. -ENOENT with a message that names
 * the providers and says what to configure. */
int llm_resolve(struct llm *m, str name, str *ret_provider, str *ret_model, struct err *e);

/* The model for requests that name none: "provider:model", and the reason in words. Probing local
 * servers is asynchronous: see llm_probe. Never fails: the last choice is the demo. */
str llm_default_model(const struct llm *m, str *ret_why);
/* Looks for local model servers if nothing is configured; at most 300 ms,
 * or 3 s for one that OLLAMA_HOST names; fn is called once. */
void llm_probe(struct llm *m, void (*fn)(void *ctx), void *ctx);
/* The same whatever is configured; the default model does not change. Models that were found can be
 * named from now on. Only one search runs at a time: a new one replaces one in progress. */
void llm_look(struct llm *m, void (*fn)(void *ctx), void *ctx);
void llm_stop_look(struct llm *m); /* fn will not be called */
/* Sets the model for requests that name none; "provider:model". */
void llm_set_default(struct llm *m, str name);
bool llm_has_default(const struct llm *m); /* it was set here or in the settings */

bool llm_model_info(const struct llm *m, str name, struct llm_model_info *ret);
/* For store_env.price. */
bool llm_price(void *llm, str model, const struct conv_usage *u, double *ret_usd);

struct llm_provider_info {
    str name, type, base_url;
    str default_model; /* without the provider; may be empty */
    bool is_usable;
    bool is_local; /* a model server on the user's own machine (Ollama, llama.cpp, ...) */
    str problem;   /* why it is not usable, and what to do; empty when usable */
};

/* The configured providers and those that a probe found, the demo included. Writes at most `max`,
 * returns the number of all. */
size_t llm_providers(const struct llm *m, struct llm_provider_info *ret, size_t max);
/* Well-known providers that are not configured; `problem` says what they need. In the arena. */
struct llm_provider_info *llm_missing_providers(const struct llm *m, struct arena *a,
                                                size_t *ret_n);

/* "provider:model" of every known model that a configured provider has: the default first, then by
 * provider. Models that are not listed can be used, too. */
str *llm_known_models(const struct llm *m, struct arena *a, size_t *ret_n);

/* ---- keys that people enter ---- */

#define LLM_KEY_MIN 8
#define LLM_KEY_MAX 512

/* A provider that nb knows may have a key, and one with another name that is configured.
 * -ENOENT: no provider with this name takes a key; -EPERM: its key is in the settings or the
 * environment, which take precedence. */
int llm_may_set_key(const struct llm *m, str provider, struct err *e);
bool llm_is_key(str key); /* has the form of a key */
/* For calls from now on; chooses the default model again. */
void llm_set_key(struct llm *m, str provider, str key);
/* -ENOENT: no key of this provider was entered; -EPERM: as above. */
int llm_may_remove_key(const struct llm *m, str provider, struct err *e);
bool llm_needs_key(const struct llm *m, str provider); /* it cannot be used without the key */
bool llm_has_prefix(str model, str provider);          /* the name is "provider:..." */
/* For calls from now on; a default model that needs the key is not configured any more. */
void llm_remove_key(struct llm *m, str provider);

/* Asks the provider's default model, or the configured one, one word with a key that is not set,
 * nor is it by this: does the provider accept it? Unknown: it could not be reached, say; `why` says
 * what went wrong. fn is called once, later; llm_may_set_key must hold, and the trial end before
 * `m` does. */
enum llm_trial_result { LLM_TRIAL_ACCEPTED, LLM_TRIAL_REFUSED, LLM_TRIAL_UNKNOWN };
typedef void (*llm_trial_fn)(void *ctx, enum llm_trial_result result, const struct err *why);
struct llm_trial;
struct llm_trial *llm_try_key(struct llm *m, str provider, str key, llm_trial_fn fn, void *ctx);
/* The same for a provider that does not exist yet, and one of its models. `conf` is copied. */
struct llm_trial *llm_try_provider(struct llm *m, const struct llm_provider_conf *conf, str model,
                                   llm_trial_fn fn, void *ctx);
void llm_stop_trial(struct llm_trial *t); /* fn will not be called */

/* Adds a provider while nb runs. -EEXIST: there is one with that name; -EINVAL, -ENOBUFS: as for
 * one of the settings. llm_may_add only checks. */
bool llm_is_known(str provider); /* nb knows the provider by its name */
int llm_may_add(const struct llm *m, const struct llm_provider_conf *conf, struct err *e);
int llm_add_provider(struct llm *m, const struct llm_provider_conf *conf, struct err *e);

/* ---- calls ---- */

/* `model` is "provider:model" or a bare name. Retries, back-off and timeouts are handled inside.
 * Errors before the request is sent are reported through on_fail, too. */
struct llm_call *llm_start(struct llm *m, str model, const struct llm_request *req,
                           const struct llm_events *ev, void *ctx);
void llm_cancel(struct llm_call *c); /* closes the connection; no callback follows */

/* During a call, or in its on_fail: the tokens that the provider has used so far and will bill.
 * Counts that the provider has not reported are estimated (about 4 bytes per token). False: none.
 */
bool llm_usage_so_far(const struct llm_call *c, struct conv_usage *ret, bool *ret_is_estimated);

/* ---- the pure part, for replay and tests ---- */

/* The exact body that llm_start would send; `sent` is the outline (outline.h) of the one that was
 * sent, whose API is used if the provider has another by now, or NULL. */
int llm_build_request(struct llm *m, str model, const struct llm_request *req,
                      const struct json *sent, struct arena *a, str *ret_body, struct err *e);
