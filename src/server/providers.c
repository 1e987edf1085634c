#include "server/providers.h"

#include <errno.h>

#include "config/file.h"

#define KEY_FILE_MAX  4096
#define PROVIDERS_MAX 64

struct builder {
    struct arena *a;
    const struct config *c;
    struct llm_provider_conf *items;
    size_t n;
};

/* Providers that exist when their key does, with the addresses the vendors publish. */
static const struct {
    const char *name, *type, *base_url;
} KNOWN[] = {
    {"anthropic", "anthropic", "https://api.anthropic.com"},
    {"openai", "openai", "https://api.openai.com/v1"},
    {"google", "openai", "https://generativelanguage.googleapis.com/v1beta/openai"},
    {"openrouter", "openai", "https://openrouter.ai/api/v1"},
    {"groq", "openai", "https://api.groq.com/openai/v1"},
    {"mistral", "openai", "https://api.mistral.ai/v1"},
    {"deepseek", "openai", "https://api.deepseek.com"},
    {"ollama", "openai", "http://127.0.0.1:11434/v1"},
};

static struct llm_provider_conf *add(struct builder *b, str name, str type, str base_url, str key)
{
    struct llm_provider_conf *p = &b->items[b->n++];
    *p = (struct llm_provider_conf){
        .name = name, .type = type, .base_url = base_url, .api_key = key};
    return p;
}

static bool has(const struct builder *b, str name)
{
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(b->items[i].name, name))
            return true;
    return false;
}

static void defaults_for(str name, str *type, str *base_url)
{
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++) {
        if (!str_eq(name, str_from(KNOWN[i].name)))
            continue;
        if (type->n == 0)
            *type = str_from(KNOWN[i].type);
        if (base_url->n == 0 && str_eq(*type, str_from(KNOWN[i].type)))
            *base_url = str_from(KNOWN[i].base_url);
    }
    if (type->n == 0)
        *type = STR("openai");
}

static str key_from_environment(const struct config *c, str name)
{
    if (str_eq(name, STR("anthropic")))
        return c->secrets.anthropic_api_key;
    if (str_eq(name, STR("openai")))
        return c->secrets.openai_api_key;
    if (str_eq(name, STR("google")))
        return c->secrets.google_api_key;
    return STR_NONE;
}

static int read_key_file(struct builder *b, str path, str *ret, struct err *e)
{
    str text;
    int r = file_read(b->a, arena_cstr(b->a, path), KEY_FILE_MAX, &text, e);
    if (r == 0)
        *ret = str_trim(text);
    return r;
}

static int check_url(const struct config *c, str name, str url, struct err *e)
{
    if (str_starts(url, STR("https://")) || str_starts(url, STR("http://")))
        return 0;
    return err_set(e, -EINVAL, "%s: providers.%.*s.baseURL: %s", c->path, STR_ARG(name),
                   url.n ? "expected an http or https URL" : "is missing");
}

struct entry {
    str type, base_url, api_key, key_file;
    const struct json *headers, *models;
};

static const struct json_field ENTRY_FIELDS[] = {
    {"type", JF_STR, offsetof(struct entry, type), 0, NULL, 0},
    {"baseURL", JF_STR, offsetof(struct entry, base_url), 0, NULL, 0},
    {"apiKey", JF_STR, offsetof(struct entry, api_key), JF_NULLABLE, NULL, 0},
    {"apiKeyFile", JF_STR, offsetof(struct entry, key_file), JF_NULLABLE, NULL, 0},
    {"headers", JF_JSON_OBJECT, offsetof(struct entry, headers), 0, NULL, 0},
    {"models", JF_JSON, offsetof(struct entry, models), 0, NULL, 0},
    {0}};

static int add_configured(struct builder *b, const struct json_member *m, struct err *e)
{
    struct entry in = {0};
    str path = arena_printf(b->a, "%s: providers.%.*s", b->c->path, STR_ARG(m->key));
    if (m->value.type != JSON_OBJECT)
        return err_set(e, -EINVAL, "%s: expected object", path.p);
    int r = json_decode(b->a, &m->value, ENTRY_FIELDS, &in, path.p, NULL, NULL, e);
    if (r == 0 && in.key_file.n > 0)
        r = read_key_file(b, in.key_file, &in.api_key, e);
    if (r < 0)
        return r;
    defaults_for(m->key, &in.type, &in.base_url);
    if (!str_eq(in.type, STR("anthropic")) && !str_eq(in.type, STR("openai")))
        return err_set(e, -EINVAL, "%s.type: '%.*s' is not one of anthropic, openai", path.p,
                       STR_ARG(in.type));
    r = check_url(b->c, m->key, in.base_url, e);
    if (r < 0)
        return r;
    if (in.api_key.n == 0)
        in.api_key = key_from_environment(b->c, m->key);
    struct llm_provider_conf *p = add(b, m->key, in.type, in.base_url, in.api_key);
    p->headers = in.headers;
    return 0;
}

int providers_from_config(struct arena *a, const struct config *c, struct llm_conf *ret,
                          struct err *e)
{
    struct builder b = {.a = a, .c = c};
    size_t configured = c->providers ? c->providers->len : 0;
    if (configured > PROVIDERS_MAX)
        return err_set(e, -EINVAL, "%s: providers: more than %d", c->path, PROVIDERS_MAX);
    b.items = arena_array(a, configured + ARRAY_LEN(KNOWN), sizeof *b.items);
    for (size_t i = 0; i < configured; i++) {
        int r = add_configured(&b, &c->providers->members[i], e);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_LEN(KNOWN); i++) {
        str name = str_from(KNOWN[i].name), key = key_from_environment(c, name);
        if (key.n > 0 && !has(&b, name))
            add(&b, name, str_from(KNOWN[i].type), str_from(KNOWN[i].base_url), key);
    }
    *ret = (struct llm_conf){
        .providers = b.items,
        .nproviders = b.n,
        .default_model = c->models.default_model,
        .fast_model = c->models.fast,
        .model_overrides = c->model_overrides,
        .idle_timeout_ms = (uint64_t)c->model_calls.idle_timeout_ms,
        .max_tries = (unsigned)c->model_calls.max_tries,
        .retry_base_ms = (uint64_t)c->model_calls.retry_base_ms,
        .demo_delay_ms = (uint64_t)c->demo_delay_ms,
    };
    return 0;
}
