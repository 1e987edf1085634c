#include "llm/llm.h"

#include <assert.h>
#include <errno.h>

#include "llm/call/llm_impl.h"

#define IDLE_TIMEOUT_MS 120000u
#define TRIES           5u
#define RETRY_BASE_MS   1000u

/* Providers that need only a name (and a key). `host` recognises their servers under other names.
 */
static const struct known {
    const char *name;
    const struct provider_type *type;
    const char *base_url, *host, *key_env, *default_model;
    unsigned quirks;
} KNOWN[] = {
    {"anthropic", &PROVIDER_ANTHROPIC, "https://api.anthropic.com", "api.anthropic.com",
     "ANTHROPIC_API_KEY", "claude-sonnet-4-5-20250929", 0},
    {"openai", &PROVIDER_RESPONSES, "https://api.openai.com/v1", "api.openai.com", "OPENAI_API_KEY",
     "gpt-5", QUIRK_CACHE_KEY | QUIRK_MAX_COMPLETION},
    {"openrouter", &PROVIDER_OPENAI, "https://openrouter.ai/api/v1", "openrouter.ai",
     "OPENROUTER_API_KEY", "openrouter/auto", 0},
    {"groq", &PROVIDER_OPENAI, "https://api.groq.com/openai/v1", "api.groq.com", "GROQ_API_KEY",
     "llama-3.3-70b-versatile", 0},
    {"mistral", &PROVIDER_OPENAI, "https://api.mistral.ai/v1", "api.mistral.ai", "MISTRAL_API_KEY",
     "mistral-large-latest", QUIRK_IDS_OF_NINE | QUIRK_STRICT_FIELDS | QUIRK_NO_USER_AFTER_TOOL},
    {"deepseek", &PROVIDER_OPENAI, "https://api.deepseek.com/v1", "api.deepseek.com",
     "DEEPSEEK_API_KEY", "deepseek-chat", QUIRK_ECHO_REASONING},
    /* the quirks are those of its chat completions */
    {"google", &PROVIDER_GOOGLE, "https://generativelanguage.googleapis.com",
     "generativelanguage.googleapis.com", "GEMINI_API_KEY", "gemini-3.8-flash",
     QUIRK_PLAIN_SCHEMA | QUIRK_THOUGHT_SIGNATURE},
    /* its address has the region; no default model, because keys of AWS are there for other things
     */
    {"bedrock", &PROVIDER_BEDROCK, "https://bedrock-runtime.us-east-1.amazonaws.com",
     "bedrock-runtime", "AWS_BEARER_TOKEN_BEDROCK", NULL, 0},
    {"ollama", &PROVIDER_OPENAI, "http://127.0.0.1:11434/v1", NULL, NULL, NULL, QUIRK_LOCAL},
    {"llamacpp", &PROVIDER_OPENAI, "http://127.0.0.1:8080/v1", NULL, NULL, NULL, QUIRK_LOCAL},
    {"vllm", &PROVIDER_OPENAI, "http://127.0.0.1:8000/v1", NULL, NULL, NULL, QUIRK_LOCAL},
    {"lmstudio", &PROVIDER_OPENAI, "http://127.0.0.1:1234/v1", NULL, NULL, NULL, QUIRK_LOCAL},
    {"demo", &PROVIDER_DEMO, "", NULL, NULL, "demo", 0},
};

static const struct provider_type *const TYPES[] = {&PROVIDER_ANTHROPIC, &PROVIDER_OPENAI,
                                                    &PROVIDER_RESPONSES, &PROVIDER_GOOGLE,
                                                    &PROVIDER_BEDROCK,   &PROVIDER_DEMO};

static const struct known *find_known(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++)
        if (str_eq(name, str_from(KNOWN[i].name)))
            return &KNOWN[i];
    return NULL;
}

static const struct known *known_by_host(str base_url)
{
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++)
        if (KNOWN[i].host && str_find(base_url, str_from(KNOWN[i].host), 0) >= 0)
            return &KNOWN[i];
    return NULL;
}

static const struct provider_type *find_type(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
        if (str_eq(name, str_from(TYPES[i]->name)))
            return TYPES[i];
    return NULL;
}

struct provider *llm_find_provider(const struct llm *m, str name)
{
    for (size_t i = 0; i < m->nproviders; i++)
        if (str_eq(m->providers[i].name, name))
            return (struct provider *)&m->providers[i];
    return NULL;
}

static str trim_slash(str url)
{
    while (url.n > 0 && url.p[url.n - 1] == '/')
        url.n--;
    return url;
}

/* Servers that imitate OpenAI speak chat completions, and so does Google at an address of its own.
 */
static const struct provider_type *known_type(const struct known *k, str base_url)
{
    bool is_elsewhere = base_url.n > 0 && k->host && str_find(base_url, str_from(k->host), 0) < 0;
    bool is_imitated = k->type == &PROVIDER_RESPONSES && is_elsewhere;
    bool is_compatible = k->type == &PROVIDER_GOOGLE && str_ends(base_url, STR("/openai"));
    return is_imitated || is_compatible ? &PROVIDER_OPENAI : k->type;
}

static void fill_known(struct llm *m, struct provider *p, const struct known *k)
{
    p->type = p->type ? p->type : known_type(k, p->base_url);
    p->quirks = k->quirks;
    p->key_env = str_from(k->key_env);
    p->default_model = str_from(k->default_model);
    if (p->base_url.n == 0)
        p->base_url = arena_str(&m->arena, str_from(k->base_url));
    if (k->key_env)
        p->key_hint = arena_printf(&m->arena,
                                   "it has no key: set %s, or providers.%.*s.apiKey in "
                                   "nimblebrain.json",
                                   k->key_env, STR_ARG(p->name));
}

struct provider *llm_add_known(struct llm *m, str name)
{
    const struct known *k = find_known(name);
    if (!k || m->nproviders == LLM_PROVIDERS_MAX)
        return NULL;
    struct provider *p = &m->providers[m->nproviders++];
    *p = (struct provider){.name = str_from(k->name)};
    fill_known(m, p, k);
    return p;
}

static int copy_headers(struct llm *m, const struct json *headers, struct provider *p,
                        struct err *e)
{
    if (!headers)
        return 0;
    if (headers->type != JSON_OBJECT || headers->len > LLM_HEADERS_MAX)
        return err_set(e, -EINVAL,
                       "providers.%.*s.headers: expected an object of at most %u strings",
                       STR_ARG(p->name), LLM_HEADERS_MAX);
    p->headers = arena_array(&m->arena, headers->len + 1, sizeof *p->headers);
    for (size_t i = 0; i < headers->len; i++) {
        const struct json_member *h = &headers->members[i];
        if (h->value.type != JSON_STRING)
            return err_set(e, -EINVAL, "providers.%.*s.headers.%.*s: expected string",
                           STR_ARG(p->name), STR_ARG(h->key));
        p->headers[p->nheaders++] =
            (struct fetch_header){arena_str(&m->arena, h->key), arena_str(&m->arena, h->value.s)};
    }
    return 0;
}

static struct aws_keys copy_aws(struct llm *m, const struct aws_keys *k)
{
    struct aws_keys none = {.region = STR_NONE};
    if (!k)
        return none;
    return (struct aws_keys){.access_key = arena_str(&m->arena, str_trim(k->access_key)),
                             .secret_key = arena_str(&m->arena, str_trim(k->secret_key)),
                             .session_token = arena_str(&m->arena, str_trim(k->session_token)),
                             .region = arena_str(&m->arena, str_trim(k->region))};
}

bool llm_is_known(str provider)
{
    return find_known(provider) != NULL;
}

bool llm_takes_key(str provider)
{
    const struct known *k = find_known(provider);
    return k && k->key_env;
}

int llm_may_add(const struct llm *m, const struct llm_provider_conf *conf, struct err *e)
{
    if (conf->name.n == 0 || str_find_char(conf->name, ':') >= 0)
        return err_set(e, -EINVAL,
                       "providers: the name '%.*s' must not be empty or contain a colon",
                       STR_ARG(conf->name));
    if (llm_find_provider(m, conf->name))
        return err_set(e, -EEXIST, "providers.%.*s is defined twice", STR_ARG(conf->name));
    if (m->nproviders >= LLM_PROVIDERS_MAX)
        return err_set(e, -ENOBUFS, "providers: at most %u are allowed", LLM_PROVIDERS_MAX);
    return 0;
}

int llm_add_provider(struct llm *m, const struct llm_provider_conf *conf, struct err *e)
{
    int rc = llm_may_add(m, conf, e);
    if (rc < 0)
        return rc;
    struct provider *p = &m->providers[m->nproviders];
    *p = (struct provider){.name = arena_str(&m->arena, conf->name),
                           .base_url = arena_str(&m->arena, trim_slash(conf->base_url)),
                           .api_key = arena_str(&m->arena, str_trim(conf->api_key)),
                           .is_key_fixed = conf->api_key.n > 0 && !conf->is_key_entered,
                           .is_public_only = conf->is_public_only,
                           .auth_token = arena_str(&m->arena, str_trim(conf->auth_token)),
                           .aws = copy_aws(m, conf->aws),
                           .organization = arena_str(&m->arena, str_trim(conf->organization)),
                           .project = arena_str(&m->arena, str_trim(conf->project)),
                           .type = find_type(conf->type)};
    if (conf->type.n > 0 && !p->type)
        return err_set(e, -EINVAL,
                       "providers.%.*s.type: expected anthropic, openai, openai-responses, google, "
                       "bedrock or demo",
                       STR_ARG(p->name));
    const struct known *k = find_known(p->name);
    k = k ? k : known_by_host(p->base_url);
    if (k)
        fill_known(m, p, k);
    if (!p->type || (p->base_url.n == 0 && p->type != &PROVIDER_DEMO))
        return err_set(e, -EINVAL,
                       "providers.%.*s: an unknown name needs a type (anthropic, openai, "
                       "openai-responses, google or bedrock) and a baseURL",
                       STR_ARG(p->name));
    rc = copy_headers(m, conf->headers, p, e);
    if (rc == 0)
        m->nproviders++;
    return rc;
}

static uint64_t or_default(uint64_t v, uint64_t otherwise)
{
    return v ? v : otherwise;
}

/* Puts the provider in front of a configured model name. If the provider is unclear, the name stays
 * unchanged and the first call reports the problem: a configured model is never replaced. */
void llm_qualify_default(struct llm *m)
{
    str provider, model;
    if (m->default_model.n > 0 && llm_resolve(m, m->default_model, &provider, &model, NULL) == 0)
        m->default_model = arena_printf(&m->arena, "%.*s:%.*s", STR_ARG(provider), STR_ARG(model));
}

struct llm *llm_new(struct loop *l, struct fetcher *f, const struct llm_conf *conf,
                    struct logger *log, struct err *e)
{
    struct llm *m = xcalloc(1, sizeof *m);
    *m = (struct llm){.loop = l, .fetcher = f, .log = log};
    arena_init(&m->arena);
    list_init(&m->calls);
    m->idle_timeout_ms = or_default(conf->idle_timeout_ms, IDLE_TIMEOUT_MS);
    m->retry_base_ms = or_default(conf->retry_base_ms, RETRY_BASE_MS);
    m->max_tries = conf->max_tries ? conf->max_tries : TRIES;
    m->demo_delay_ms = conf->demo_delay_ms;
    m->default_model = arena_str(&m->arena, conf->default_model);
    m->fast_model = arena_str(&m->arena, conf->fast_model);
    m->ollama_host = arena_str(&m->arena, conf->ollama_host);
    if (conf->model_overrides)
        m->overrides = json_clone(&m->arena, conf->model_overrides);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < conf->nproviders; i++)
        rc = llm_add_provider(m, &conf->providers[i], e);
    if (rc == 0 && !llm_find_provider(m, STR("demo")) && !llm_add_known(m, STR("demo")))
        rc = err_set(e, -ENOBUFS, "providers: at most %u are allowed", LLM_PROVIDERS_MAX - 1);
    if (rc < 0) {
        llm_free(m);
        return NULL;
    }
    llm_choose_default(m);
    llm_qualify_default(m);
    return m;
}

void llm_free(struct llm *m)
{
    if (!m)
        return;
    probe_free(m->probe);
    llm_cancel_all(m);
    assert(list_empty(&m->calls) && !m->probe); /* not from inside a callback of a call */
    buf_done(&m->tools.json);
    body_hash_done(&m->hash);
    arena_done(&m->arena);
    free(m);
}

/* ---- which model ---- */

bool llm_is_usable(const struct provider *p)
{
    const struct known *k = known_by_host(p->base_url);
    return p->api_key.n > 0 || p->auth_token.n > 0 || p->aws.access_key.n > 0 || p->nheaders > 0 ||
           !k;
}

static bool choose_provider(struct llm *m, const struct provider *p, const char *why)
{
    if (!p || !llm_is_usable(p) || p->default_model.n == 0)
        return false;
    m->chosen = arena_printf(&m->arena, "%.*s:%.*s", STR_ARG(p->name), STR_ARG(p->default_model));
    m->chosen_why = arena_str(&m->arena, str_from(why));
    return true;
}

void llm_choose_default(struct llm *m)
{
    if (choose_provider(m, llm_find_provider(m, STR("anthropic")),
                        "an Anthropic key is configured") ||
        choose_provider(m, llm_find_provider(m, STR("openai")), "an OpenAI key is configured"))
        return;
    for (size_t i = 0; i < m->nproviders; i++) {
        const struct provider *p = &m->providers[i];
        str why = arena_printf(&m->arena, "a key of %.*s is configured", STR_ARG(p->name));
        if (p->type != &PROVIDER_DEMO && choose_provider(m, p, why.p))
            return;
    }
    m->chosen = STR("demo:demo");
    m->chosen_why = STR("no key is configured and no local model server answers; "
                        "set the key of a provider (ANTHROPIC_API_KEY, OPENAI_API_KEY, "
                        "GEMINI_API_KEY, ...), or start Ollama");
}

str llm_default_model(const struct llm *m, str *ret_why)
{
    if (ret_why)
        *ret_why = m->default_model.n > 0 ? STR("it is configured") : m->chosen_why;
    return m->default_model.n > 0 ? m->default_model : m->chosen;
}

void llm_set_default(struct llm *m, str name)
{
    if (!str_eq(m->default_model, name))
        m->default_model = arena_str(&m->arena, name);
}

bool llm_has_default(const struct llm *m)
{
    return m->default_model.n > 0;
}

static const struct provider *first_of_type(const struct llm *m, const struct provider_type *type)
{
    for (size_t i = 0; i < m->nproviders; i++)
        if (m->providers[i].type == type)
            return &m->providers[i];
    return NULL;
}

/* The only provider besides the demo, or the one of the default model. */
static const struct provider *main_provider(const struct llm *m)
{
    const struct provider *only = NULL;
    size_t n = 0;
    for (size_t i = 0; i < m->nproviders; i++)
        if (m->providers[i].type != &PROVIDER_DEMO)
            only = &m->providers[i], n++;
    if (n == 1)
        return only;
    str name = m->default_model.n > 0 ? m->default_model : m->chosen, head;
    if (str_find_char(name, ':') < 0 || !str_split(&name, ':', &head))
        return NULL;
    const struct provider *p = llm_find_provider(m, head);
    return p && p->type != &PROVIDER_DEMO ? p : NULL;
}

/* Model families whose maker is clear from the name. */
static const struct family {
    const char *prefix, *provider;
    const struct provider_type *type;
} FAMILIES[] = {
    {"claude", "anthropic", &PROVIDER_ANTHROPIC},
    {"gpt-", "openai", &PROVIDER_RESPONSES},
    {"chatgpt", "openai", &PROVIDER_RESPONSES},
    {"o1", "openai", &PROVIDER_RESPONSES},
    {"o3", "openai", &PROVIDER_RESPONSES},
    {"o4", "openai", &PROVIDER_RESPONSES},
    {"ft:", "openai", &PROVIDER_RESPONSES},
    {"gemini", "google", &PROVIDER_GOOGLE},
    {"demo", "demo", &PROVIDER_DEMO},
};

static const struct family *family_of(str model)
{
    for (size_t i = 0; i < ARRAY_LEN(FAMILIES); i++)
        if (str_starts(model, str_from(FAMILIES[i].prefix)))
            return &FAMILIES[i];
    return NULL;
}

static int not_configured(str name, str model, struct err *e)
{
    const struct known *k = find_known(name);
    if (k && k->key_env)
        return err_set(e, -ENOENT,
                       "the model %.*s needs the provider %s, which is not configured: set %s, or "
                       "providers.%s.apiKey in nimblebrain.json",
                       STR_ARG(model), k->name, k->key_env, k->name);
    return err_set(e, -ENOENT,
                   "the model %.*s needs the provider %.*s, which is not configured: add "
                   "providers.%.*s to nimblebrain.json",
                   STR_ARG(model), STR_ARG(name), STR_ARG(name));
}

/* The name may have been meant as provider:model, or as a model without the name of its provider. */
static int no_provider(const struct llm *m, str model, struct err *e)
{
    struct buf names;
    ptrdiff_t colon = str_find_char(model, ':');
    buf_init(&names, 512);
    for (size_t i = 0; i < m->nproviders; i++)
        (void)buf_printf(&names, "%s%.*s", i ? ", " : "", STR_ARG(m->providers[i].name));
    int rc = colon > 0 ? err_set(e, -ENOENT,
                                 "the model %.*s needs the provider %.*s, which is not configured. "
                                 "Configured: %s",
                                 STR_ARG(model), (int)colon, model.p, buf_cstr(&names))
                       : err_set(e, -ENOENT,
                                 "cannot tell which provider has the model %.*s: write "
                                 "provider:model. Configured: %s",
                                 STR_ARG(model), buf_cstr(&names));
    buf_done(&names);
    return rc;
}

/* Names with a colon: tags of Ollama, variants of OpenRouter, versions of Bedrock. With other
 * providers the part before the colon was meant as a provider, and no other may get the message. */
static bool has_names_with_colon(const struct provider *p)
{
    return p->type == &PROVIDER_OPENAI || p->type == &PROVIDER_BEDROCK;
}

static int resolve_bare(struct llm *m, str model, str *ret_provider, str *ret_model, struct err *e)
{
    const struct family *f = family_of(model);
    const struct provider *p = NULL;
    if (f && (p = llm_find_provider(m, str_from(f->provider))) == NULL)
        p = f->type == &PROVIDER_ANTHROPIC ? first_of_type(m, f->type) : main_provider(m);
    if (!f)
        p = main_provider(m);
    if (p && !f && str_find_char(model, ':') >= 0 && !has_names_with_colon(p))
        return no_provider(m, model, e);
    if (!p)
        return f ? not_configured(str_from(f->provider), model, e) : no_provider(m, model, e);
    *ret_provider = p->name;
    *ret_model = model;
    return 0;
}

/* "alias:fast" names a slot of the configuration. */
static str follow_alias(struct llm *m, str name)
{
    if (str_eq(name, STR("alias:fast")) && m->fast_model.n > 0)
        return m->fast_model;
    if (str_eq(name, STR("alias:fast")) || str_eq(name, STR("alias:default")))
        return m->default_model.n > 0 ? m->default_model : m->chosen;
    return name;
}

int llm_resolve(struct llm *m, str name, str *ret_provider, str *ret_model, struct err *e)
{
    name = follow_alias(m, name);
    if (name.n == 0)
        name = m->default_model.n > 0 ? m->default_model : m->chosen;
    ptrdiff_t colon = str_find_char(name, ':');
    str head = colon < 0 ? STR_NONE : str_slice(name, 0, (size_t)colon);
    str tail = colon < 0 ? STR_NONE : str_skip(name, (size_t)colon + 1);
    const struct provider *p = llm_find_provider(m, head);
    if (head.n > 0 && p && tail.n > 0) {
        *ret_provider = p->name;
        *ret_model = tail;
        return 0;
    }
    if (find_known(head) && !p)
        return not_configured(head, name, e);
    return resolve_bare(m, name, ret_provider, ret_model, e); /* "qwen3:8b" is one name */
}

/* ---- what is known of it ---- */

void llm_caps(const struct llm *m, const struct provider *p, str model, struct model_caps *ret)
{
    model_lookup(p ? p->name : STR_NONE, model, m->overrides, ret);
    if (p && (p->quirks & QUIRK_LOCAL) && !ret->has_price)
        ret->has_price = true; /* costs nothing: all prices are zero */
}

bool llm_model_info(const struct llm *m, str name, struct llm_model_info *ret)
{
    struct model_caps c;
    str provider, model;
    if (llm_resolve((struct llm *)m, name, &provider, &model, NULL) < 0)
        return false;
    const struct provider *p = llm_find_provider(m, provider);
    llm_caps(m, p, model, &c);
    *ret = (struct llm_model_info){
        .provider = provider,
        .model = model,
        .context_tokens = c.context_tokens,
        .max_output_tokens = c.max_output_tokens,
        .has_price = c.has_price,
        .price_in = c.price_in,
        .price_out = c.price_out,
        .price_cache_read = c.price_cache_read,
        .price_write_5m = c.price_write_5m,
        .price_write_1h = c.price_write_1h,
        .priced_on = c.priced_on,
        .can_tools = c.can_tools,
        .can_images = c.can_images,
        .can_pdf = c.can_pdf,
        .picture_side = p && p->type->picture_side > 0 ? p->type->picture_side : LLM_PICTURE_SIDE,
        .can_thinking = c.thinks_adaptive || c.thinks_enabled || c.is_reasoning,
        .retires_on = c.retires_on,
        .successor = c.successor,
    };
    return true;
}

size_t llm_providers(const struct llm *m, struct llm_provider_info *ret, size_t max)
{
    for (size_t i = 0; i < m->nproviders && i < max; i++) {
        const struct provider *p = &m->providers[i];
        bool is_fine = llm_is_usable(p);
        ret[i] = (struct llm_provider_info){
            .name = p->name,
            .type = str_from(p->type->name),
            .base_url = p->base_url,
            .default_model = p->default_model,
            .is_usable = is_fine,
            .is_local = (p->quirks & QUIRK_LOCAL) != 0,
            .problem = is_fine ? STR_NONE : p->key_hint,
        };
    }
    return m->nproviders;
}

static str needs(struct arena *a, const struct known *k)
{
    if (k->key_env)
        return arena_printf(a, "set %s, or providers.%s.apiKey in nimblebrain.json", k->key_env,
                            k->name);
    return arena_printf(a, "start it, and add \"%s\": {} to providers in nimblebrain.json",
                        k->name);
}

struct llm_provider_info *llm_missing_providers(const struct llm *m, struct arena *a, size_t *ret_n)
{
    struct llm_provider_info *all = arena_array(a, ARRAY_LEN(KNOWN), sizeof *all);
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++) {
        const struct known *k = &KNOWN[i];
        if (!llm_find_provider(m, str_from(k->name)))
            all[n++] = (struct llm_provider_info){
                .name = str_from(k->name),
                .type = str_from(k->type->name),
                .base_url = str_from(k->base_url),
                .default_model = str_from(k->default_model),
                .is_local = (k->quirks & QUIRK_LOCAL) != 0,
                .problem = needs(a, k),
            };
    }
    *ret_n = n;
    return all;
}

/* Old logs may name providers that are not configured any more: look the model up by its name. */
bool llm_price(void *llm, str name, const struct conv_usage *u, double *ret_usd)
{
    const struct llm *m = llm;
    struct model_caps c;
    ptrdiff_t colon = str_find_char(name, ':');
    str head = colon < 0 ? STR_NONE : str_slice(name, 0, (size_t)colon);
    const struct provider *p = llm_find_provider(m, head);
    bool is_qualified = p || find_known(head);
    llm_caps(m, p, is_qualified ? str_skip(name, head.n + 1) : name, &c);
    return model_price(&c, u, ret_usd);
}

/* A provider may have changed its API since: the fields of the request tell which one it was. */
static const struct provider_type *type_then(const struct provider *p, const struct json *sent)
{
    bool is_newer = p->type == &PROVIDER_RESPONSES || p->type == &PROVIDER_GOOGLE;
    if (json_get(sent, "contents"))
        return &PROVIDER_GOOGLE;
    if (json_get(sent, "input"))
        return &PROVIDER_RESPONSES;
    return json_get(sent, "messages") && is_newer ? &PROVIDER_OPENAI : p->type;
}

int llm_build_request(struct llm *m, str name, const struct llm_request *req,
                      const struct json *sent, struct arena *a, str *ret_body, struct err *e)
{
    str provider, model;
    int rc = llm_resolve(m, name, &provider, &model, e);
    if (rc < 0)
        return rc;
    const struct provider *p = llm_find_provider(m, provider);
    struct llm_request r = *req;
    struct model_caps caps;
    struct buf body;
    r.model = model;
    llm_caps(m, p, model, &caps);
    buf_init(&body, LLM_BODY_MAX);
    rc = type_then(p, sent)->build(p, &caps, &r, &body, e);
    if (rc == 0)
        *ret_body = arena_str(a, buf_str(&body));
    buf_done(&body);
    return rc;
}
