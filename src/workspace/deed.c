#include "workspace/deed.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define DETAIL_MAX 480

struct deed {
    struct audit *log;
    struct arena arena;
    struct audit_entry entry;
};

static str how_of(const struct doer *by)
{
    static const char *const HOW[] = {
        [AUTH_BY_MODE] = "local",  [AUTH_BY_SOCKET] = "socket",   [AUTH_BY_KEY] = "key",
        [AUTH_BY_TOKEN] = "token", [AUTH_BY_SESSION] = "session", [AUTH_BY_JWT] = "jwt",
        [AUTH_BY_LOG] = "message",
    };
    return by->how.n > 0 ? by->how : str_from(HOW[by->actor->people[0].how]);
}

/* All people whose messages are part of the run. */
static str others_of(struct arena *a, const struct actor *actor)
{
    str all = STR_NONE;
    for (size_t i = 1; i < actor->npeople && all.n < DETAIL_MAX; i++)
        all = arena_printf(a, "%.*s%s%.*s", STR_ARG(all),
                           i > 1 ? "," : "with=", STR_ARG(actor->people[i].user_id));
    return all;
}

struct audit_entry doer_entry(struct arena *a, const struct doer *by)
{
    return (struct audit_entry){
        .user = actor_user(by->actor),
        .token = actor_token(by->actor),
        .how = how_of(by),
        .via = by->via,
        .run = by->run_id,
        .address = by->address,
        .workspace = by->actor->workspace_id,
        .detail = others_of(a, by->actor),
    };
}

struct deed *deed_begin(struct audit *log, const struct doer *by, str action, str target)
{
    if (!log || !by || !by->actor)
        return NULL;
    assert(action.n > 0 && by->actor->npeople > 0);
    struct deed *d = xcalloc(1, sizeof *d);
    arena_init(&d->arena);
    d->log = log;
    struct audit_entry e = doer_entry(&d->arena, by);
    e.action = action;
    e.target = target;
    d->entry = audit_entry_copy(&d->arena, &e);
    return d;
}

struct deed *deed_again(const struct deed *d, str target)
{
    if (!d)
        return NULL;
    struct deed *again = xcalloc(1, sizeof *again);
    arena_init(&again->arena);
    again->log = d->log;
    struct audit_entry e = d->entry;
    e.target = target;
    again->entry = audit_entry_copy(&again->arena, &e);
    return again;
}

void deed_set(struct deed *d, str action, str target)
{
    if (!d)
        return;
    d->entry.action = arena_str(&d->arena, action);
    d->entry.target = arena_str(&d->arena, target);
}

void deed_detail(struct deed *d, const char *fmt, ...)
{
    va_list ap;
    if (!d)
        return;
    va_start(ap, fmt);
    str more = arena_vprintf(&d->arena, fmt, ap);
    va_end(ap);
    str old = d->entry.detail;
    str all = old.n > 0 ? arena_printf(&d->arena, "%.*s %.*s", STR_ARG(old), STR_ARG(more)) : more;
    d->entry.detail = str_slice(all, 0, DETAIL_MAX);
}

str deed_outcome(const struct err *err)
{
    if (!err || err->code == 0)
        return STR("ok");
    bool is_refusal = err->code == -EPERM || err->code == -EACCES || err->code == -ENOENT;
    return is_refusal ? STR("denied") : STR("failed");
}

void deed_end(struct deed *d, const struct err *err)
{
    if (!d)
        return;
    assert(d->entry.outcome.n == 0);
    d->entry.outcome = deed_outcome(err);
    audit_record(d->log, &d->entry);
    arena_done(&d->arena);
    free(d);
}

str deed_plain_url(str url)
{
    ptrdiff_t query = str_find_char(url, '?');
    if (query >= 0)
        url = str_slice(url, 0, (size_t)query);
    ptrdiff_t at = str_rfind_char(url, '@');
    return at >= 0 && str_find(url, STR("://"), 0) >= 0 ? str_skip(url, (size_t)at + 1) : url;
}
