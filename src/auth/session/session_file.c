#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "auth/session/session_impl.h"
#include "base/json/json_decode.h"
#include "os/file.h"

#define FILE_MAX_BYTES (64u * 1024 * 1024)

/* ---- reading ---- */

struct session_in {
    str id, user_id, origin, value, refresh, former, spent, provider_refresh;
    int64_t created, seen, value_until, former_until, value_ms, idle_ms, absolute_ms;
};

#define AT(member) offsetof(struct session_in, member)

static const struct json_field FIELDS[] = {
    {"id", JF_STR, AT(id), JF_REQUIRED, NULL, 0},
    {"userId", JF_STR, AT(user_id), JF_REQUIRED, NULL, 0},
    {"origin", JF_STR, AT(origin), JF_REQUIRED, NULL, 0},
    {"value", JF_STR, AT(value), JF_REQUIRED, NULL, 0},
    {"refresh", JF_STR, AT(refresh), JF_REQUIRED, NULL, 0},
    {"former", JF_STR, AT(former), 0, NULL, 0},
    {"spent", JF_STR, AT(spent), 0, NULL, 0},
    {"providerRefresh", JF_STR, AT(provider_refresh), 0, NULL, 0},
    {"createdMs", JF_INT, AT(created), JF_REQUIRED, NULL, 0},
    {"seenMs", JF_INT, AT(seen), JF_REQUIRED, NULL, 0},
    {"valueUntilMs", JF_INT, AT(value_until), JF_REQUIRED, NULL, 0},
    {"formerUntilMs", JF_INT, AT(former_until), 0, NULL, 0},
    {"valueMs", JF_INT, AT(value_ms), JF_REQUIRED, NULL, 0},
    {"idleMs", JF_INT, AT(idle_ms), JF_REQUIRED, NULL, 0},
    {"absoluteMs", JF_INT, AT(absolute_ms), JF_REQUIRED, NULL, 0},
    {0}};

static bool copy_hash(char to[SHA256_HEX_LEN + 1], str from)
{
    if (from.n != SHA256_HEX_LEN)
        return from.n == 0;
    memcpy(to, from.p, SHA256_HEX_LEN);
    return true;
}

static void take_session(struct sessions *s, const struct session_in *in)
{
    struct login_session *x = xcalloc(1, sizeof *x);
    bool is_ok = copy_hash(x->value_hash, in->value) && copy_hash(x->refresh_hash, in->refresh) &&
                 copy_hash(x->former_hash, in->former) && copy_hash(x->spent_hash, in->spent) &&
                 in->id.n > 0 && in->id.n < sizeof x->id && !map_get(&s->all, in->id);
    if (!is_ok || !str_eq(in->origin, str_from(s->origin))) {
        free(x);
        return;
    }
    snprintf(x->id, sizeof x->id, "%.*s", STR_ARG(in->id));
    x->user_id = str_make(str_dup(in->user_id), in->user_id.n);
    if (in->provider_refresh.n > 0)
        x->provider_refresh = str_make(str_dup(in->provider_refresh), in->provider_refresh.n);
    x->created_ms = in->created;
    x->seen_ms = in->seen;
    x->value_until_ms = in->value_until;
    x->former_until_ms = in->former_until;
    x->policy = (struct session_policy){in->value_ms, in->idle_ms, in->absolute_ms};
    session_index(s, x);
}

static int sessions_read_file(struct sessions *s, struct arena *a, struct err *e)
{
    str text;
    struct json *doc;
    int r = file_read(a, s->path, FILE_MAX_BYTES, &text, e);
    if (r == 0)
        r = json_parse(a, text, 0, &doc, e);
    if (r < 0)
        return r;
    const struct json *list = json_get(doc, "sessions");
    for (size_t i = 0; list && i < list->len && map_len(&s->all) < SESSIONS_MAX; i++) {
        struct session_in in = {0};
        if (json_decode(a, json_at(list, i), FIELDS, &in, "", NULL, NULL, e) < 0)
            return -EINVAL;
        take_session(s, &in);
    }
    return 0;
}

void sessions_read(struct sessions *s)
{
    struct arena a;
    struct err e = {0};
    arena_init(&a);
    int r = sessions_read_file(s, &a, &e);
    if (r < 0 && r != -ENOENT)
        log_error(s->log, "auth", "some users must log in again: %s: %s", s->path, e.msg);
    arena_done(&a);
}

/* ---- writing ---- */

static void write_session(struct json_writer *w, const struct sessions *s,
                          const struct login_session *x)
{
    jw_object(w);
    jw_kstr(w, "id", str_from(x->id));
    jw_kstr(w, "userId", x->user_id);
    jw_kstr(w, "origin", str_from(s->origin));
    jw_kstr(w, "value", str_from(x->value_hash));
    jw_kstr(w, "refresh", str_from(x->refresh_hash));
    if (x->former_hash[0]) {
        jw_kstr(w, "former", str_from(x->former_hash));
        jw_kstr(w, "spent", str_from(x->spent_hash));
        jw_kint(w, "formerUntilMs", x->former_until_ms);
    }
    jw_kstr_if(w, "providerRefresh", x->provider_refresh);
    jw_kint(w, "createdMs", x->created_ms);
    jw_kint(w, "seenMs", x->seen_ms);
    jw_kint(w, "valueUntilMs", x->value_until_ms);
    jw_kint(w, "valueMs", x->policy.value_ms);
    jw_kint(w, "idleMs", x->policy.idle_ms);
    jw_kint(w, "absoluteMs", x->policy.absolute_ms);
    jw_end(w);
}

static void write_all(struct sessions *s)
{
    struct json_writer w;
    struct map_entry *e;
    jw_start(&w, &s->text, FILE_MAX_BYTES);
    jw_object(&w);
    jw_kint(&w, "version", 1);
    jw_karray(&w, "sessions");
    for (size_t i = 0; (e = map_next(&s->all, &i)) != NULL;)
        write_session(&w, s, e->value);
    jw_end(&w);
    jw_end(&w);
    s->text_of = s->changed;
    s->is_seen_dirty = false;
}

static int sessions_save(struct sessions *s)
{
    char *dir = str_dup(str_slice(str_from(s->path), 0, (size_t)(strrchr(s->path, '/') - s->path)));
    int r = file_make_dirs(dir, &s->err);
    if (r == 0)
        r = file_write_atomic(s->path, buf_str(&s->text), 0600, &s->err);
    free(dir);
    return r;
}

static void sessions_save_work(struct job *j)
{
    struct sessions *s = CONTAINER_OF(j, struct sessions, job);
    err_clear(&s->err);
    (void)sessions_save(s); /* s->err */
}

static void wake(struct sessions *s)
{
    static const struct err NONE;
    LIST_EACH (w, &s->waiting, struct session_wait, node) {
        if (w->change > s->written)
            continue;
        list_del(&w->node);
        w->fn(w->ctx, &NONE);
    }
}

/* A failed write is treated as done: an immediate retry would fail as well, and the next change
 * writes everything again. */
static void saved(struct sessions *s)
{
    assert(s->written <= s->text_of && s->text_of <= s->changed);
    s->is_writing = false;
    s->written = s->text_of;
    if (s->err.code < 0)
        log_error(s->log, "auth", "cannot save sessions: %s", s->err.msg);
    buf_done(&s->text);
}

static void start_writing(struct sessions *s);

static void save_done(struct job *j)
{
    struct sessions *s = CONTAINER_OF(j, struct sessions, job);
    assert(s->is_writing);
    saved(s);
    if (s->changed > s->written)
        start_writing(s);
    wake(s);
}

static void start_writing(struct sessions *s)
{
    assert(!s->is_writing && s->changed > s->written);
    if (!s->pool)
        s->pool = pool_new(s->loop, "nb-sessions", 1);
    s->is_writing = true;
    write_all(s);
    pool_run(s->pool, &s->job, sessions_save_work, save_done);
}

static void file_changed(struct sessions *s)
{
    s->changed++;
    if (!s->is_writing)
        start_writing(s);
}

static void file_note(struct sessions *s, const char *id, enum session_event what)
{
    file_changed(s); /* the file is written as a whole */
}

static void answer_wait(void *ctx)
{
    static const struct err NONE;
    struct session_wait *w = ctx;
    w->fn(w->ctx, &NONE);
}

static void file_await(struct sessions *s, const struct login_session *x, struct session_wait *w)
{
    answer_wait(w);
}

static void file_sync(struct sessions *s, struct session_wait *w)
{
    if (s->changed == s->written && !s->is_writing) {
        loop_post(s->loop, answer_wait, w);
        return;
    }
    w->change = s->changed;
    list_push(&s->waiting, &w->node);
}

static void file_sweep(struct sessions *s)
{
    if (s->is_seen_dirty)
        file_changed(s);
}

static void file_stop(struct sessions *s)
{
    pool_free(s->pool); /* with what follows in save_done */
    s->pool = NULL;
    assert(!s->is_writing && s->written == s->changed);
    if (!s->is_seen_dirty)
        return;
    write_all(s);
    err_clear(&s->err);
    (void)sessions_save(s);
    saved(s);
}

const struct session_keeper SESSION_FILE = {
    .note = file_note,
    .await = file_await,
    .sync = file_sync,
    .sweep = file_sweep,
    .stop = file_stop,
};
