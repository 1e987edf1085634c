#include "cli/session/remote.h"

#include <errno.h>

#include "cli/session/logins.h"
#include "cli/term/ask.h"
#include "net/url.h"

/* The host in lower case, so that an address is always written in the same way. */
static const char *written(struct arena *a, const struct url *u)
{
    struct buf b;
    str path = u->target;
    buf_init(&b, URL_MAX + 16);
    (void)url_add_origin(&b, u);
    for (size_t i = 0; i < b.n; i++)
        b.p[i] = b.p[i] >= 'A' && b.p[i] <= 'Z' ? (char)(b.p[i] + 'a' - 'A') : b.p[i];
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    buf_add_str(&b, path);
    const char *url = arena_cstr(a, buf_str(&b));
    buf_done(&b);
    return url;
}

int remote_url(struct arena *a, const char *typed, bool is_insecure, const char **ret,
               struct err *e)
{
    struct url u;
    int r = url_parse(str_from(typed), &u, e);
    if (r < 0)
        return r;
    if (u.has_userinfo)
        return err_set(e, -EINVAL, "the address must not have a user name or a password in it");
    if (strpbrk(typed, "?#") || str_find(u.target, STR("//"), 0) >= 0 ||
        str_find(u.target, STR(".."), 0) >= 0)
        return err_set(e, -EINVAL, "give the address of the server alone: https://example.com");
    if (!u.is_https && !url_is_local(&u) && !is_insecure)
        return err_set(
            e, -EINVAL,
            "http:// would send the token and the messages unencrypted; use https://, or "
            "--insecure in a network that you trust");
    *ret = written(a, &u);
    return 0;
}

bool remote_token_is_valid(str token)
{
    for (size_t i = 0; i < token.n; i++)
        if (token.p[i] <= ' ' || token.p[i] >= 0x7f)
            return false;
    return token.n > 0;
}

static int stored_token(struct config *c, struct err *e)
{
    struct logins all;
    int r = logins_read(&c->arena, c, &all, e);
    if (r < 0)
        return r;
    const struct login *l = logins_find(&all, str_from(c->remote.url));
    if (!l)
        return err_set(e, -ENOENT,
                       "there is no login for %s; run nb login %s, or pass --token-file",
                       c->remote.url, c->remote.url);
    c->remote.token = l->token;
    if (!c->workspace && l->workspace.n > 0)
        c->workspace = arena_cstr(&c->arena, l->workspace);
    return 0;
}

int remote_use(struct config *c, const char *typed, const char *token_file, bool is_insecure,
               struct err *e)
{
    int r = remote_url(&c->arena, typed, is_insecure, &c->remote.url, e);
    if (r == 0)
        r = token_file ? secret_read_file(&c->arena, token_file, &c->remote.token, e)
                       : stored_token(c, e);
    if (r == 0 && !remote_token_is_valid(c->remote.token))
        r = err_set(e, -EINVAL, "the token for %s has a space or a control character in it",
                    c->remote.url);
    if (r < 0)
        c->remote = (struct config_remote){0};
    return r;
}
