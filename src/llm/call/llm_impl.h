/* llm_impl.h - the configured providers as the sources of this floor see them. */
#pragma once

#include "llm/call/body_hash.h"
#include "llm/provider/provider.h"
#include "loop/timer.h"

struct probe;

#define TOOLS_KEY_MAX 64

/* The tools of the last request as JSON of its provider: they are long, and mostly equal from call
 * to call. */
struct tools_text {
    const struct provider *provider;
    char key[TOOLS_KEY_MAX + 1]; /* empty = nothing is kept */
    struct buf json;
    uint64_t sum; /* of json, for outlines */
};

/* Empty: not those of this key. */
str tools_text_get(const struct tools_text *t, const struct provider *p, str key);
void tools_text_keep(struct tools_text *t, const struct provider *p, str key, str body);
/* Does the text of an error name a tool by its position in the list? */
bool tools_text_names_bad(str text, size_t *ret_index);

struct llm {
    struct loop *loop;
    struct fetcher *fetcher;
    struct logger *log;
    struct arena arena; /* all strings and providers below */
    struct provider providers[LLM_PROVIDERS_MAX];
    size_t nproviders;
    str default_model, fast_model; /* as configured; may be empty */
    str chosen, chosen_why;        /* the default when none is configured */
    const struct json *overrides;
    uint64_t idle_timeout_ms, retry_base_ms, demo_delay_ms;
    unsigned max_tries;
    str ollama_host;
    struct list_node calls;
    struct tools_text tools;
    struct body_hash hash;
    size_t likely_body;  /* bytes of the next body, as far as the last ones tell */
    struct probe *probe; /* in progress, or NULL */
};

/* Adds a provider that is known by its name; NULL when there are too many. */
struct provider *llm_add_known(struct llm *m, str name);
struct provider *llm_find_provider(const struct llm *m, str name);
bool llm_is_usable(const struct provider *p); /* false: a cloud provider without its key */
void llm_choose_default(struct llm *m);
void llm_qualify_default(struct llm *m); /* a configured name gets its provider */
bool llm_takes_key(str provider);        /* one that is known by its name, with a key */
void llm_caps(const struct llm *m, const struct provider *p, str model, struct model_caps *ret);

void llm_cancel_all(struct llm *m); /* call.c */
void probe_free(struct probe *p);   /* accepts NULL; its callback is not called */
