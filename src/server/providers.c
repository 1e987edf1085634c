#include "server/providers.h"

#include <assert.h>
#include <errno.h>

#include "llm/aws/aws_sign.h"
#include "os/file.h"
#include "workspace/secrets/credentials.h"

#define KEY_FILE_MAX  4096
#define PROVIDERS_MAX 64

struct provider_list {
    struct arena *a;
    const struct config *c;
    const struct json *entered; /* keys by provider */
    struct llm_provider_conf *items;
    size_t n, max;
};

/* Providers that exist when their key is set; llm/ knows the rest of them by name. */
static const struct {
    const char *name;
    size_t key;
} KEYS[] = {
    {"anthropic", offsetof(struct config_secrets, anthropic_api_key)},
    {"openai", offsetof(struct config_secrets, openai_api_key)},
    {"google", offsetof(struct config_secrets, google_api_key)},
    {"openrouter", offsetof(struct config_secrets, openrouter_api_key)},
    {"groq", offsetof(struct config_secrets, groq_api_key)},
    {"mistral", offsetof(struct config_secrets, mistral_api_key)},
    {"deepseek", offsetof(struct config_secrets, deepseek_api_key)},
    {"bedrock", offsetof(struct config_secrets, bedrock_api_key)},
};

static struct llm_provider_conf *providers_add(struct provider_list *b, str name, str type,
                                               str base_url, str key)
{
    assert(b->n < b->max);
    struct llm_provider_conf *p = &b->items[b->n++];
    *p = (struct llm_provider_conf){
        .name = name, .type = type, .base_url = base_url, .api_key = key};
    return p;
}

static bool has(const struct provider_list *b, str name)
{
    for (size_t i = 0; i < b->n; i++)
        if (str_eq(b->items[i].name, name))
            return true;
    return false;
}

static str key_of(const struct config *c, size_t i)
{
    return *(const str *)((const char *)&c->secrets + KEYS[i].key);
}

static str key_from_environment(const struct config *c, str name)
{
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++)
        if (str_eq(name, str_from(KEYS[i].name)))
            return key_of(c, i);
    return STR_NONE;
}

static str base_url_of(const struct config *c, str name)
{
    return str_eq(name, STR("anthropic")) ? c->base_urls.anthropic
           : str_eq(name, STR("openai"))  ? c->base_urls.openai
           : str_eq(name, STR("google"))  ? c->base_urls.google
                                          : STR_NONE;
}

/* It becomes part of a host name. */
static bool is_region(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-')
            return false;
    return s.n > 0 && s.n <= 32;
}

/* Without an API key of Bedrock, requests are signed with the keys of the account. */
static void use_aws(struct arena *a, const struct config *c, struct llm_provider_conf *p)
{
    str region = c->aws_region.n > 0 ? c->aws_region : STR("us-east-1");
    struct aws_keys *keys = ARENA_NEW(a, struct aws_keys);
    *keys = (struct aws_keys){.access_key = c->secrets.aws_access_key_id,
                              .secret_key = c->secrets.aws_secret_access_key,
                              .session_token = c->secrets.aws_session_token,
                              .region = region};
    if (p->base_url.n == 0 && is_region(region))
        p->base_url =
            arena_printf(a, "https://bedrock-runtime.%.*s.amazonaws.com", STR_ARG(region));
    if (keys->access_key.n > 0 && keys->secret_key.n > 0)
        p->aws = keys;
}

/* Variables that the SDKs of these providers read beside the key. A key of the file takes the place
 * of the token: it says who pays. */
static void use_sdk_variables(const struct provider_list *b, bool has_own_key,
                              struct llm_provider_conf *p)
{
    const struct config *c = b->c;
    if (str_eq(p->name, STR("anthropic"))) {
        p->auth_token = has_own_key ? STR_NONE : c->secrets.anthropic_auth_token;
    } else if (str_eq(p->name, STR("openai"))) {
        p->organization = c->openai.organization;
        p->project = c->openai.project;
    } else if (str_eq(p->name, STR("bedrock"))) {
        use_aws(b->a, c, p);
    }
}

static bool has_credentials(const struct config *c, size_t i)
{
    bool has_token =
        c->secrets.anthropic_auth_token.n > 0 && strcmp(KEYS[i].name, "anthropic") == 0;
    return key_of(c, i).n > 0 || has_token;
}

/* Last, the keys that people entered in the page. */
static void use_entered(const struct provider_list *b, struct llm_provider_conf *p)
{
    if (p->api_key.n > 0)
        return;
    p->api_key = json_string(json_get_str(b->entered, p->name), STR_NONE);
    p->is_key_entered = p->api_key.n > 0;
}

static int read_key_file(struct provider_list *b, str path, str *ret, struct err *e)
{
    str text;
    int r = file_read(b->a, arena_cstr(b->a, path), KEY_FILE_MAX, &text, e);
    if (r == 0)
        *ret = str_trim(text);
    return r;
}

struct provider_entry {
    str type, base_url, api_key, key_file;
    bool is_public_only;
    const struct json *headers, *models;
};

static int check_url(str path, str url, struct err *e)
{
    if (url.n == 0 || str_starts(url, STR("https://")) || str_starts(url, STR("http://")))
        return 0;
    return err_set(e, -EINVAL, "%.*s.baseURL: expected an http or https URL", STR_ARG(path));
}

/* Empty = the default for the name. A server with its own address and another name speaks chat
 * completions. */
static int check_type(str path, str name, const struct provider_entry *in, str *ret, struct err *e)
{
    static const str TYPES[] = {STR_INIT("anthropic"), STR_INIT("openai"),
                                STR_INIT("openai-responses"), STR_INIT("google"),
                                STR_INIT("bedrock")};
    if (in->type.n > 0 && !str_in(in->type, TYPES, ARRAY_LEN(TYPES)))
        return err_set(
            e, -EINVAL,
            "%.*s.type: '%.*s' is not one of anthropic, openai, openai-responses, google, "
            "bedrock",
            STR_ARG(path), STR_ARG(in->type));
    bool is_own = in->base_url.n > 0 && !str_in(name, TYPES, ARRAY_LEN(TYPES));
    *ret = in->type.n == 0 && is_own ? STR("openai") : in->type;
    return 0;
}

static const struct json_field ENTRY_FIELDS[] = {
    {"type", JF_STR, offsetof(struct provider_entry, type), 0, NULL, 0},
    {"baseURL", JF_STR, offsetof(struct provider_entry, base_url), 0, NULL, 0},
    {"apiKey", JF_STR, offsetof(struct provider_entry, api_key), JF_NULLABLE, NULL, 0},
    {"apiKeyFile", JF_STR, offsetof(struct provider_entry, key_file), JF_NULLABLE, NULL, 0},
    {"publicOnly", JF_BOOL, offsetof(struct provider_entry, is_public_only), 0, NULL, 0},
    {"headers", JF_JSON_OBJECT, offsetof(struct provider_entry, headers), 0, NULL, 0},
    {"models", JF_JSON, offsetof(struct provider_entry, models), 0, NULL, 0},
    {0}};

static int add_configured(struct provider_list *b, const struct json_member *m, struct err *e)
{
    struct provider_entry in = {0};
    str path = arena_printf(b->a, "%s: providers.%.*s", b->c->path, STR_ARG(m->key));
    if (m->value.type != JSON_OBJECT)
        return err_set(e, -EINVAL, "%s: expected object", path.p);
    int r = json_decode(b->a, &m->value, ENTRY_FIELDS, &in, path.p, NULL, NULL, e);
    if (r == 0 && in.key_file.n > 0)
        r = read_key_file(b, in.key_file, &in.api_key, e);
    if (r < 0)
        return r;
    r = check_type(path, m->key, &in, &in.type, e);
    if (r == 0)
        r = check_url(path, in.base_url, e);
    if (r < 0)
        return r;
    bool has_own_key = in.api_key.n > 0;
    if (!has_own_key)
        in.api_key = key_from_environment(b->c, m->key);
    str base_url = in.base_url.n > 0 ? in.base_url : base_url_of(b->c, m->key);
    struct llm_provider_conf *p = providers_add(b, m->key, in.type, base_url, in.api_key);
    p->headers = in.headers;
    p->is_public_only = in.is_public_only;
    use_sdk_variables(b, has_own_key, p);
    use_entered(b, p);
    return 0;
}

int providers_from_config(struct arena *a, const struct config *c, struct llm_conf *ret,
                          struct err *e)
{
    struct provider_list b = {.a = a, .c = c};
    struct json *entered;
    int r = credentials_load(a, arena_printf(a, "%s/credentials", c->work_dir).p,
                             STR(CREDENTIALS_PROVIDERS), &entered, e);
    /* restored on another machine: nb starts anyway, and the keys are entered again */
    if (r == -ENOKEY) {
        entered = json_new(a, JSON_OBJECT);
        err_clear(e);
        r = 0;
    }
    if (r < 0)
        return r;
    b.entered = entered;
    size_t configured = c->providers ? c->providers->len : 0;
    if (configured > PROVIDERS_MAX)
        return err_set(e, -EINVAL, "%s: providers: more than %d", c->path, PROVIDERS_MAX);
    b.max = configured + ARRAY_LEN(KEYS);
    b.items = arena_array(a, b.max, sizeof *b.items);
    for (size_t i = 0; i < configured; i++) {
        r = add_configured(&b, &c->providers->members[i], e);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_LEN(KEYS); i++) {
        str name = str_from(KEYS[i].name), url = base_url_of(c, name);
        r = check_url(arena_printf(a, "%.*s (environment)", STR_ARG(name)), url, e);
        if (r < 0)
            return r;
        if (has(&b, name) || !(has_credentials(c, i) || url.n > 0 || json_get_str(entered, name)))
            continue;
        struct llm_provider_conf *p = providers_add(&b, name, STR_NONE, url, key_of(c, i));
        use_sdk_variables(&b, false, p);
        use_entered(&b, p);
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
        .ollama_host = c->ollama_host,
    };
    return 0;
}
