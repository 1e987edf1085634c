#include "bundle/package/mpak.h"

#include <ctype.h>
#include <errno.h>
#include <sys/utsname.h>

#include "base/bytes/hash.h"
#include "net/url.h"

#define LEVEL_MAX   4
#define TRUST_LEVEL 25 /* points for each certification level */

struct mpak_call {
    struct arena arena;
    struct fetch *fetch;
    struct buf body;
    int status;
    str what; /* for messages: the bundle's name, or the query */
    int (*check)(struct mpak_call *call, const struct json *v, struct err *e);
    mpak_done done;
    void *ctx;
};

static const char *base_url(const struct mpak_conf *c)
{
    return c->base_url ? c->base_url : MPAK_REGISTRY;
}

/* ---- one question ---- */

static void mpak_call_free(struct mpak_call *call)
{
    buf_done(&call->body);
    arena_done(&call->arena);
    free(call);
}

static int read_answer(struct mpak_call *call, struct json **ret, struct err *e)
{
    if (buf_failed(&call->body))
        return err_set(e, -EMSGSIZE, "the registry's answer is larger than %u MiB",
                       MPAK_ANSWER_MAX >> 20);
    if (call->status == 404)
        return err_set(e, -ENOENT, "the registry has no %.*s", STR_ARG(call->what));
    if (call->status != 200)
        return err_set(e, -EIO, "the registry answered with HTTP status %d", call->status);
    if (json_parse(&call->arena, buf_str(&call->body), 0, ret, NULL) < 0 ||
        (*ret)->type != JSON_OBJECT)
        return err_set(e, -EIO, "the registry's answer is not a JSON object");
    return call->check ? call->check(call, *ret, e) : 0;
}

static void on_mpak_head(void *ctx, int status, const struct fetch_header *headers, size_t n)
{
    ((struct mpak_call *)ctx)->status = status;
}

static void on_mpak_data(void *ctx, str bytes)
{
    buf_add_str(&((struct mpak_call *)ctx)->body, bytes);
}

static void on_mpak_done(void *ctx, const struct err *err)
{
    struct mpak_call *call = ctx;
    struct json *result = NULL;
    struct err e = *err;
    int r = e.code < 0 ? e.code : read_answer(call, &result, &e);
    if (err->code < 0)
        err_prefix(&e, "cannot reach the registry");
    call->done(call->ctx, r == 0 ? result : NULL, r == 0 ? NULL : &e);
    mpak_call_free(call);
}

static struct mpak_call *mpak_ask(const struct mpak_conf *c, str what, str path, mpak_done done,
                                  void *ctx)
{
    static const struct fetch_events EVENTS = {on_mpak_head, on_mpak_data, on_mpak_done};
    static const struct fetch_header ACCEPT = {STR_INIT("Accept"), STR_INIT("application/json")};
    struct mpak_call *call = xcalloc(1, sizeof *call);
    arena_init(&call->arena);
    buf_init(&call->body, MPAK_ANSWER_MAX);
    call->what = arena_str(&call->arena, what);
    call->done = done;
    call->ctx = ctx;
    str base = str_from(base_url(c));
    while (str_ends(base, STR("/")))
        base.n--;
    struct fetch_spec spec = {
        .url = arena_printf(&call->arena, "%.*s%.*s", STR_ARG(base), STR_ARG(path)),
        .headers = &ACCEPT,
        .nheaders = 1,
        .connect_timeout_ms = MPAK_TIMEOUT_MS,
        .idle_timeout_ms = MPAK_TIMEOUT_MS,
        .flags = FETCH_FOLLOW_SAME_ORIGIN,
    };
    call->fetch = fetch_start(c->fetcher, &spec, &EVENTS, call);
    return call;
}

void mpak_cancel(struct mpak_call *call)
{
    fetch_cancel(call->fetch);
    mpak_call_free(call);
}

/* ---- the questions ---- */

static struct mpak_call *ask_path(const struct mpak_conf *c, str name, const char *middle,
                                  str version, const char *end, mpak_done done, void *ctx)
{
    struct buf path;
    buf_init(&path, URL_MAX);
    buf_add_lit(&path, "/v1/bundles/");
    url_encode(&path, name, "@/");
    buf_add_lit(&path, middle);
    url_encode(&path, version, "@/");
    buf_add_lit(&path, end);
    struct mpak_call *call = mpak_ask(c, name, buf_str(&path), done, ctx);
    buf_done(&path);
    return call;
}

static int check_search(struct mpak_call *call, const struct json *v, struct err *e)
{
    return json_is(json_get(v, "bundles"), JSON_ARRAY)
               ? 0
               : err_set(e, -EIO, "the registry's answer has no list of bundles");
}

struct mpak_call *mpak_search(const struct mpak_conf *c, str query, int64_t limit, int64_t offset,
                              mpak_done done, void *ctx)
{
    struct buf path;
    buf_init(&path, URL_MAX);
    buf_add_lit(&path, "/v1/bundles/search?q=");
    url_encode(&path, query, NULL);
    buf_printf(&path, "&limit=%lld&offset=%lld", (long long)limit, (long long)offset);
    struct mpak_call *call = mpak_ask(c, STR("search"), buf_str(&path), done, ctx);
    call->check = check_search;
    buf_done(&path);
    return call;
}

struct mpak_call *mpak_info(const struct mpak_conf *c, str name, mpak_done done, void *ctx)
{
    return ask_path(c, name, "", STR_NONE, "", done, ctx);
}

struct mpak_call *mpak_versions(const struct mpak_conf *c, str name, mpak_done done, void *ctx)
{
    return ask_path(c, name, "/versions", STR_NONE, "", done, ctx);
}

const char *mpak_arch(void)
{
    static const struct {
        const char *machine, *arch;
    } ARCHS[] = {{"x86_64", "x64"}, {"aarch64", "arm64"}, {"armv7l", "arm"}, {"i686", "ia32"}};
    struct utsname u;
    if (uname(&u) == 0)
        for (size_t i = 0; i < ARRAY_LEN(ARCHS); i++)
            if (strcmp(u.machine, ARCHS[i].machine) == 0)
                return ARCHS[i].arch;
    return "any";
}

static bool is_sha256(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!isxdigit((unsigned char)s.p[i]))
            return false;
    return s.n == SHA256_HEX_LEN;
}

/* The version becomes the name of a directory. */
static bool is_version(str s)
{
    return s.n > 0 && s.n <= 100 && str_is_made_of(s, ".-+_") && isalnum((unsigned char)s.p[0]);
}

static int check_location(struct mpak_call *call, const struct json *v, struct err *e)
{
    const struct json *bundle = json_get(v, "bundle");
    struct url u;
    if (url_parse(json_get_string(v, "url"), &u, NULL) < 0)
        return err_set(e, -EIO, "the registry's answer has no usable download URL");
    if (!is_sha256(json_get_string(bundle, "sha256")))
        return err_set(e, -EIO, "the registry's answer has no checksum (sha256)");
    if (!is_version(json_get_string(bundle, "version")))
        return err_set(e, -EIO, "the registry's answer has no usable version");
    return 0;
}

struct mpak_call *mpak_locate(const struct mpak_conf *c, str name, str version, mpak_done done,
                              void *ctx)
{
    char end[64];
    snprintf(end, sizeof end, "/download?os=linux&arch=%s", mpak_arch());
    struct mpak_call *call =
        ask_path(c, name, "/versions/", version.n > 0 ? version : STR("latest"), end, done, ctx);
    call->check = check_location;
    return call;
}

/* ---- conclusions from answers ---- */

unsigned mpak_fetch_flags(const struct mpak_conf *c, str url)
{
    struct url base, u;
    if (url_parse(str_from(base_url(c)), &base, NULL) == 0 && url_parse(url, &u, NULL) == 0 &&
        url_same_origin(&base, &u))
        return FETCH_FOLLOW_SAME_ORIGIN;
    return FETCH_FOLLOW_SAME_ORIGIN | FETCH_HTTPS_ONLY | FETCH_PUBLIC_ONLY;
}

int64_t mpak_trust_score(const struct json *bundle)
{
    int64_t score = json_get_int(bundle, "trust_score", json_get_int(bundle, "trustScore", -1));
    if (score >= 0 && score <= 100)
        return score;
    int64_t level = json_get_int(bundle, "certification_level", -1);
    if (level < 0)
        level = json_get_int(json_get(bundle, "certification"), "level", -1);
    return level < 0 || level > LEVEL_MAX ? -1 : level * TRUST_LEVEL;
}
