#include "llm/provider/failure.h"

#include <errno.h>

#include "base/clock.h"
#include "base/utf8.h"

#define QUOTE_BYTES_MAX 400
#define KEY_BYTES_MIN   8 /* shorter ones occur in ordinary words */

/* ---- reading what the server said ---- */

static str first_string(const struct json *v, const char *const *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str s = json_get_string(v, keys[i]);
        if (s.n > 0)
            return s;
    }
    return STR_NONE;
}

/* FastAPI servers: {"detail": [{"msg": ...}]} or {"detail": "..."}. */
static str detail_of(const struct json *body)
{
    const struct json *detail = json_get(body, "detail");
    return json_is(detail, JSON_ARRAY) ? json_get_string(json_at(detail, 0), "msg")
                                       : json_string(detail, STR_NONE);
}

static int64_t wait_until(str http_date)
{
    char text[64];
    struct tm tm = {0};
    if (http_date.n >= sizeof text)
        return -1;
    memcpy(text, http_date.p, http_date.n);
    text[http_date.n] = '\0';
    if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
        return -1;
    int64_t wait = (int64_t)timegm(&tm) * 1000 - clock_now_ms();
    return wait > 0 ? wait : 0;
}

static int64_t parse_wait(str value, double unit_ms)
{
    double amount;
    if (parse_double(str_trim(value), &amount) == 0)
        return amount >= 0 && amount < 1e9 ? (int64_t)(amount * unit_ms) : -1;
    return unit_ms > 1 ? wait_until(str_trim(value)) : -1;
}

/* Google: {"details": [{"@type": ".../google.rpc.RetryInfo", "retryDelay": "37s"}, {"@type":
 * ".../google.rpc.QuotaFailure", "violations": [{"quotaId": "...PerDay..."}]}]}. A quota of
 * the day is not waited for. */
static void read_google_details(const struct json *details, struct wire_error *ret)
{
    for (size_t i = 0; json_is(details, JSON_ARRAY) && i < details->len; i++) {
        const struct json *d = &details->items[i], *violations = json_get(d, "violations");
        str delay = json_get_string(d, "retryDelay");
        if (ret->retry_after_ms < 0 && str_ends(delay, STR("s")))
            ret->retry_after_ms = parse_wait(str_slice(delay, 0, delay.n - 1), 1000);
        for (size_t k = 0; json_is(violations, JSON_ARRAY) && k < violations->len; k++) {
            str quota = json_get_string(&violations->items[k], "quotaId");
            if (str_find(quota, STR("PerDay"), 0) >= 0)
                ret->type = STR("insufficient_quota");
        }
    }
}

void wire_error_parse(struct arena *a, str body, struct wire_error *ret)
{
    static const char *const TYPES[] = {"code", "type", "status"};
    static const char *const MESSAGES[] = {"message", "msg"};
    struct json *root;
    if (json_parse(a, body, JSON_COPY, &root, NULL) < 0)
        return; /* HTML of a proxy, or nothing: the status is enough */
    if (json_is(root, JSON_ARRAY) && root->len > 0)
        root = &root->items[0];
    const struct json *error = json_get(root, "error");
    if (json_is(error, JSON_STRING)) {
        ret->message = error->s;
        return;
    }
    const struct json *from = json_is(error, JSON_OBJECT) ? error : root;
    ret->message = first_string(from, MESSAGES, ARRAY_LEN(MESSAGES));
    ret->type = first_string(from, TYPES, ARRAY_LEN(TYPES));
    ret->param = json_get_string(from, "param");
    read_google_details(json_get(from, "details"), ret);
    if (ret->message.n == 0)
        ret->message = detail_of(root);
    str id = json_get_string(root, "request_id");
    if (id.n > 0)
        ret->request_id = id;
}

void wire_error_header(struct arena *a, str name, str value, struct wire_error *ret)
{
    if (str_eq(name, STR("retry-after-ms"))) {
        ret->retry_after_ms = parse_wait(value, 1);
    } else if (str_eq(name, STR("retry-after")) && ret->retry_after_ms < 0) {
        ret->retry_after_ms = parse_wait(value, 1000);
    } else if (str_eq(name, STR("x-should-retry"))) {
        ret->should_retry = str_eq(value, STR("true")) ? 1 : str_eq(value, STR("false")) ? 0 : -1;
    } else if (str_eq(name, STR("request-id")) || str_eq(name, STR("x-request-id")) ||
               str_eq(name, STR("x-generation-id"))) {
        ret->request_id = arena_str(a, value);
    }
}

/* ---- judging ---- */

struct failure_rule {
    int status;       /* 0 = any */
    const char *type; /* NULL = any */
    const char *text; /* found in the message, any case; NULL = any */
    enum llm_error_kind kind;
    bool is_retryable;
    const char *what; /* NULL = the words of its kind */
};

#define RATE_LIMITED "limits the rate of requests"
#define TIMED_OUT    "did not answer in time"

/* The first rule that matches decides: the exact ones come first. */
static const struct failure_rule RULES[] = {
    {0, "insufficient_quota", NULL, LLM_ERR_BILLING, false},
    /* Google speaks of the plan and its billing in every rate limit */
    {0, "RESOURCE_EXHAUSTED", NULL, LLM_ERR_OVERLOADED, true, RATE_LIMITED},
    {0, "billing_error", NULL, LLM_ERR_BILLING, false},
    {0, NULL, "credit balance is too low", LLM_ERR_BILLING, false},
    {0, NULL, "usage limits", LLM_ERR_BILLING, false},
    {429, NULL, "spend", LLM_ERR_BILLING, false},
    {429, NULL, "billing", LLM_ERR_BILLING, false},
    {0, "exceed_context_size_error", NULL, LLM_ERR_TOO_LONG, false},
    {0, "context_length_exceeded", NULL, LLM_ERR_TOO_LONG, false},
    {0, "request_too_large", NULL, LLM_ERR_TOO_LONG, false},
    {400, NULL, "prompt is too long", LLM_ERR_TOO_LONG, false},
    {400, NULL, "context length", LLM_ERR_TOO_LONG, false},
    {400, NULL, "context limit", LLM_ERR_TOO_LONG, false},
    {400, NULL, "context window", LLM_ERR_TOO_LONG, false},
    {400, NULL, "input token count", LLM_ERR_TOO_LONG, false},
    {400, NULL, "input is too long", LLM_ERR_TOO_LONG, false},
    {400, NULL, "model identifier is invalid", LLM_ERR_MODEL, false},
    {0, "tool_use_failed", NULL, LLM_ERR_INVALID, true},
    {0, "authentication_error", NULL, LLM_ERR_AUTH, false},
    {0, "permission_error", NULL, LLM_ERR_AUTH, false},
    {0, "invalid_api_key", NULL, LLM_ERR_AUTH, false},
    {400, NULL, "api key not valid", LLM_ERR_AUTH, false},
    {0, "model_not_found", NULL, LLM_ERR_MODEL, false},
    {404, NULL, "model", LLM_ERR_MODEL, false},
    {400, NULL, "model not found", LLM_ERR_MODEL, false},
    {0, "rate_limit_error", NULL, LLM_ERR_OVERLOADED, true, RATE_LIMITED},
    {0, "throttlingException", NULL, LLM_ERR_OVERLOADED, true, RATE_LIMITED},
    {0, "modelStreamErrorException", NULL, LLM_ERR_SERVER, true},
    {0, "internalServerException", NULL, LLM_ERR_SERVER, true},
    {0, "serviceUnavailableException", NULL, LLM_ERR_OVERLOADED, true},
    {0, "modelTimeoutException", NULL, LLM_ERR_OVERLOADED, true, TIMED_OUT},
    {0, "validationException", NULL, LLM_ERR_INVALID, false},
    {0, "rate_limit_exceeded", NULL, LLM_ERR_OVERLOADED, true, RATE_LIMITED},
    {0, "overloaded_error", NULL, LLM_ERR_OVERLOADED, true},
    {0, "timeout_error", NULL, LLM_ERR_OVERLOADED, true, TIMED_OUT},
    {0, "api_error", NULL, LLM_ERR_SERVER, true},
    {0, "server_error", NULL, LLM_ERR_SERVER, true},
    {0, "answer_too_large", NULL, LLM_ERR_INVALID, false},
    {0, "invalid_request_error", NULL, LLM_ERR_INVALID, false},
    {401, NULL, NULL, LLM_ERR_AUTH, false},
    {402, NULL, NULL, LLM_ERR_BILLING, false},
    {403, NULL, NULL, LLM_ERR_AUTH, false},
    {408, NULL, NULL, LLM_ERR_OVERLOADED, true, TIMED_OUT},
    {409, NULL, NULL, LLM_ERR_OVERLOADED, true, "reports a conflict with another request"},
    {413, NULL, NULL, LLM_ERR_TOO_LONG, false},
    {429, NULL, NULL, LLM_ERR_OVERLOADED, true, RATE_LIMITED},
    {503, NULL, NULL, LLM_ERR_OVERLOADED, true},
    {504, NULL, NULL, LLM_ERR_OVERLOADED, true, TIMED_OUT},
    {529, NULL, NULL, LLM_ERR_OVERLOADED, true},
};

static bool rule_fits(const struct failure_rule *r, const struct wire_error *w)
{
    return (r->status == 0 || r->status == w->status) &&
           (!r->type || str_eq(w->type, str_from(r->type))) &&
           (!r->text || str_find_nocase(w->message, str_from(r->text)) >= 0);
}

static struct failure_rule find_rule(const struct wire_error *w)
{
    for (size_t i = 0; i < ARRAY_LEN(RULES); i++)
        if (rule_fits(&RULES[i], w))
            return RULES[i];
    if (w->status >= 500)
        return (struct failure_rule){.kind = LLM_ERR_SERVER, .is_retryable = true};
    if (w->status >= 300)
        return (struct failure_rule){.kind = LLM_ERR_INVALID};
    return (struct failure_rule){.kind = LLM_ERR_NETWORK, .is_retryable = true}; /* in mid-stream */
}

/* ---- wording ---- */

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '*';
}

/* Servers often repeat the key that they refuse. */
static size_t secret_at(str rest, const struct provider *p)
{
    const str SECRETS[] = {p->api_key, p->auth_token, p->aws.secret_key, p->aws.session_token};
    for (size_t i = 0; i < ARRAY_LEN(SECRETS); i++)
        if (SECRETS[i].n >= KEY_BYTES_MIN && str_starts(rest, SECRETS[i]))
            return SECRETS[i].n;
    return 0;
}

static str scrub(struct arena *a, str s, const struct provider *p)
{
    struct buf out;
    buf_init(&out, QUOTE_BYTES_MAX * 2);
    for (size_t i = 0; i < s.n && !buf_failed(&out);) {
        str rest = str_skip(s, i);
        size_t n = secret_at(rest, p);
        if (n == 0 && (str_starts(rest, STR("sk-")) || str_starts(rest, STR("gsk_")) ||
                       str_starts(rest, STR("AIza"))))
            while (n < rest.n && is_key_char(rest.p[n]))
                n++;
        (void)(n > 0 ? buf_add_lit(&out, "[redacted]") : buf_add_char(&out, s.p[i]));
        i += n > 0 ? n : 1;
    }
    str clean = utf8_truncate(arena_str(a, buf_str(&out)), QUOTE_BYTES_MAX);
    buf_done(&out);
    return clean;
}

/* "429: Rate limited", "overloaded_error: Overloaded", "HTTP 502". */
static str quote(struct arena *a, const struct provider *p, const struct wire_error *w)
{
    str said = scrub(a, w->message, p);
    if (w->status > 0 && said.n > 0)
        return arena_printf(a, "%d: %.*s", w->status, STR_ARG(said));
    if (w->status > 0)
        return arena_printf(a, "HTTP %d", w->status);
    return said.n > 0 ? said : w->type;
}

static str how_to_set_key(struct arena *a, const struct provider *p)
{
    if (p->key_env.n > 0)
        return arena_printf(a, "Set %.*s, or providers.%.*s.apiKey in nimblebrain.json.",
                            STR_ARG(p->key_env), STR_ARG(p->name));
    return arena_printf(a, "Set providers.%.*s.apiKey in nimblebrain.json.", STR_ARG(p->name));
}

static str what_instead(struct arena *a, const struct provider *p, str model, str successor)
{
    if (p->quirks & QUIRK_LOCAL && str_eq(p->name, STR("ollama")))
        return arena_printf(a, "Fetch it with: ollama pull %.*s", STR_ARG(model));
    if (successor.n > 0)
        return arena_printf(a, "Use %.*s instead: --model, or models.default in nimblebrain.json.",
                            STR_ARG(successor));
    return STR("Choose another model with --model, or set models.default in nimblebrain.json.");
}

static const struct {
    int code;
    const char *what;
    const char *advice; /* NULL = made up by advice_for */
} WORDS[] = {
    [LLM_ERR_AUTH] = {-EACCES, "does not accept the API key", NULL},
    [LLM_ERR_BILLING] = {-EDQUOT, "has no credit left for this key, or a spending limit is reached",
                         "Check the account's billing page, or choose another model with --model."},
    [LLM_ERR_MODEL] = {-ENOENT, "does not have this model, or has retired it", NULL},
    [LLM_ERR_INVALID] = {-EINVAL, "refused the request", ""},
    [LLM_ERR_TOO_LONG] = {-EMSGSIZE, "says that the conversation is too long for the model",
                          "Start a new conversation, or choose a model with a larger context."},
    [LLM_ERR_OVERLOADED] = {-EBUSY, "is overloaded", ""},
    [LLM_ERR_SERVER] = {-EIO, "had an internal error", ""},
    [LLM_ERR_NETWORK] = {-ECONNRESET, "did not complete its answer", ""},
};

static str advice_for(struct arena *a, const struct provider *p, str model, str successor,
                      enum llm_error_kind kind)
{
    if (WORDS[kind].advice)
        return str_from(WORDS[kind].advice);
    return kind == LLM_ERR_AUTH ? how_to_set_key(a, p) : what_instead(a, p, model, successor);
}

/* "anthropic:claude-x: the provider does not have this model, or has retired it (404: ...). Use
 * ..." */
static void word(struct arena *a, const struct provider *p, str model, str successor,
                 const struct wire_error *w, const char *what, struct llm_failure *f)
{
    str said = quote(a, p, w), advice = advice_for(a, p, model, successor, f->kind);
    str who = p->name;
    if (f->kind == LLM_ERR_MODEL)
        who = arena_printf(a, "%.*s:%.*s: the provider", STR_ARG(p->name), STR_ARG(model));
    err_set(&f->err, WORDS[f->kind].code, "%.*s %s (%.*s).%s%.*s", STR_ARG(who),
            what ? what : WORDS[f->kind].what, STR_ARG(said), advice.n > 0 ? " " : "",
            STR_ARG(advice));
}

struct verdict failure_judge(const struct provider *p, str model, str successor,
                             const struct wire_error *w, struct llm_failure *ret)
{
    struct failure_rule rule = find_rule(w);
    /* Anthropic names a wait with every rate limit and none with a spend cap of the account;
     * proxies in between drop it. A retry costs nothing, and only the last attempt
     * tells the two apart. */
    if (w->status == 429 && p->type->rate_limit_needs_wait && w->retry_after_ms < 0 &&
        rule.kind == LLM_ERR_OVERLOADED)
        rule.what = RATE_LIMITED ", or a spending limit of the account is reached";
    struct verdict v = {rule.is_retryable, w->retry_after_ms};
    if (w->should_retry >= 0)
        v.is_retryable = w->should_retry == 1;
    if (v.wait_ms > (int64_t)RETRY_AFTER_MAX_MS)
        v.is_retryable = false;
    ret->kind = rule.kind;
    ret->http_status = w->status;
    ret->request_id = w->request_id;
    struct arena a;
    arena_init(&a);
    word(&a, p, model, successor, w, rule.what, ret);
    arena_done(&a);
    return v;
}

uint64_t failure_backoff_ms(unsigned attempt, uint64_t base_ms, uint64_t random)
{
    uint64_t wait = base_ms;
    for (unsigned i = 1; i < attempt && wait < RETRY_WAIT_CAP_MS; i++)
        wait *= 2;
    if (wait > RETRY_WAIT_CAP_MS)
        wait = RETRY_WAIT_CAP_MS;
    uint64_t quarter = wait / 4;
    return wait - (quarter ? random % (quarter + 1) : 0);
}
