/* rig.h - a store in a temporary directory, with calls that wait for their answer. */
#pragma once

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/feed.h"
#include "store/log/appender.h"
#include "store/postgres/database.h"
#include "store/store.h"
#include "support/unit.h"

enum { RIG_WAIT_MS = 60000, RIG_EVENTS_MAX = 4096 };

struct rig {
    struct loop *loop;
    struct bus *bus;
    struct appender *appender;
    struct pool *readers;
    struct database *database;
    struct store_env env;
    struct store *store;
    char dir[256]; /* root of everything; the store is in <dir>/conversations */
    char conv_dir[300];
    struct logger *log;
    char logged[8192]; /* what the operator was told */
    size_t nlogged;

    /* the last answer, in memory of its own until the next call */
    struct arena arena;
    bool done;
    struct err err;
    struct conv *conv;
    struct store_page page;
    struct store_listing listing;
    struct store_hits hits;
    struct store_note *notes;
    size_t nnotes;
    store_pos pos[RIG_EVENTS_MAX];
    size_t npos;
    str blob;
};

static const char *rig_database_url; /* for stores of type postgres */

static inline void rig_sink(void *ctx, enum log_level level, str line)
{
    struct rig *r = ctx;
    if (level >= LOG_WARN && r->nlogged + line.n < sizeof(r->logged)) {
        memcpy(r->logged + r->nlogged, line.p, line.n);
        r->nlogged += line.n;
        r->logged[r->nlogged] = 0;
    }
}

/* One dollar per million tokens of anything by "known"; everything else has no price. */
static inline bool rig_price(void *ctx, str model, const struct conv_usage *u, double *ret)
{
    if (!str_eq(model, STR("known")))
        return false;
    *ret = (double)(u->input_tokens + u->output_tokens) / 1e6;
    return true;
}

static inline int rig_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static inline void rig_wipe(const char *dir)
{
    (void)nftw(dir, rig_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void rig_open_store(struct rig *r, const char *type)
{
    struct store_conf conf = {.type = type, .dir = r->conv_dir, .workspace_id = "ws_test"};
    struct err e = {0};
    if (store_open(&r->env, &conf, &r->store, &e) < 0)
        fail_msg("store_open: %s", e.msg);
}

static inline void rig_init_with(struct rig *r, const char *type, const struct appender_conf *conf)
{
    memset(r, 0, sizeof(*r));
    /* in memory where possible: these tests are about order and content, not the disk */
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(r->dir, sizeof(r->dir), "%s/nb-store-XXXXXX", tmp);
    assert_non_null(mkdtemp(r->dir));
    (void)snprintf(r->conv_dir, sizeof(r->conv_dir), "%s/conversations", r->dir);
    r->log = logger_new(LOG_INFO, LOG_TEXT, rig_sink, r);
    r->loop = loop_new(r->log);
    r->bus = bus_new(r->loop);
    r->appender = appender_new_with(r->loop, conf);
    r->readers = pool_new(r->loop, "read", 2);
    r->database = database_new(r->loop, r->log, rig_database_url);
    r->env = (struct store_env){.loop = r->loop,
                                .log = r->log,
                                .bus = r->bus,
                                .appender = r->appender,
                                .readers = r->readers,
                                .database = r->database,
                                .price = rig_price};
    arena_init(&r->arena);
    if (type)
        rig_open_store(r, type);
}

static inline void rig_init(struct rig *r, const char *type, const struct store_io *io)
{
    rig_init_with(r, type, &(struct appender_conf){.threads = 4, .io = io});
}

static inline void rig_set_done(void *ctx)
{
    ((struct rig *)ctx)->done = true;
}

static inline void rig_wait(struct rig *r)
{
    assert_true(loop_run_until(r->loop, &r->done, RIG_WAIT_MS));
}

static inline void rig_close_store(struct rig *r)
{
    r->done = false;
    store_close(r->store, rig_set_done, r);
    rig_wait(r);
    r->store = NULL;
}

static inline void rig_reopen(struct rig *r, const char *type)
{
    rig_close_store(r);
    rig_open_store(r, type);
}

static inline void rig_done(struct rig *r)
{
    if (r->store)
        rig_close_store(r);
    database_free(r->database);
    appender_free(r->appender);
    pool_free(r->readers);
    bus_free(r->bus);
    loop_free(r->loop);
    logger_free(r->log);
    arena_done(&r->arena);
    rig_wipe(r->dir);
}

static inline void rig_begin(struct rig *r)
{
    r->done = false;
    err_clear(&r->err);
    arena_done(&r->arena);
    arena_init(&r->arena);
    r->conv = NULL;
    r->npos = 0;
}

static inline void rig_end(struct rig *r, const struct err *err)
{
    assert_false(r->done);
    if (err)
        r->err = *err;
    r->done = true;
}

/* ---- answers ---- */

struct conv *conv_clone(struct arena *a, const struct conv *c); /* store/event/derive.h */

static inline void rig_on_conv(void *ctx, const struct err *err, const struct conv *conv)
{
    struct rig *r = ctx;
    assert_true((err == NULL) == (conv != NULL));
    if (conv)
        r->conv = conv_clone(&r->arena, conv);
    rig_end(r, err);
}

static inline void rig_on_append(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    struct rig *r = ctx;
    assert_true(n <= RIG_EVENTS_MAX);
    if (n)
        memcpy(r->pos, pos, n * sizeof(*pos));
    r->npos = n;
    rig_end(r, err);
}

static inline void rig_on_done(void *ctx, const struct err *err)
{
    rig_end(ctx, err);
}

static inline void rig_on_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct rig *r = ctx;
    if (page) {
        r->page = *page;
        struct store_event *events = arena_array(&r->arena, page->n + 1, sizeof(*events));
        for (size_t i = 0; i < page->n; i++) {
            events[i].pos = page->events[i].pos;
            events[i].line = arena_str(&r->arena, page->events[i].line);
        }
        r->page.events = events;
    }
    rig_end(r, err);
}

static inline void rig_on_list(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct rig *r = ctx;
    if (l) {
        r->listing = *l;
        struct conv *convs = arena_array(&r->arena, l->n + 1, sizeof(*convs));
        for (size_t i = 0; i < l->n; i++)
            convs[i] = *conv_clone(&r->arena, &l->convs[i]);
        r->listing.convs = convs;
        r->listing.next_cursor = arena_str(&r->arena, l->next_cursor);
    }
    rig_end(r, err);
}

static inline void rig_on_search(void *ctx, const struct err *err, const struct store_hits *h)
{
    struct rig *r = ctx;
    if (h) {
        r->hits = *h;
        struct store_hit *hits = arena_array(&r->arena, h->n + 1, sizeof(*hits));
        for (size_t i = 0; i < h->n; i++) {
            hits[i] = h->hits[i];
            str *strings[] = {&hits[i].conv_id, &hits[i].title, &hits[i].ts, &hits[i].role,
                              &hits[i].snippet};
            for (size_t k = 0; k < ARRAY_LEN(strings); k++)
                *strings[k] = arena_str(&r->arena, *strings[k]);
        }
        r->hits.hits = hits;
    }
    rig_end(r, err);
}

static inline void rig_on_notes(void *ctx, const struct err *err, const struct store_note *notes,
                                size_t n)
{
    struct rig *r = ctx;
    r->notes = arena_array(&r->arena, n + 1, sizeof(*r->notes));
    r->nnotes = n;
    for (size_t i = 0; i < n; i++) {
        r->notes[i].ts = arena_str(&r->arena, notes[i].ts);
        r->notes[i].author = arena_str(&r->arena, notes[i].author);
        r->notes[i].text = arena_str(&r->arena, notes[i].text);
    }
    rig_end(r, err);
}

static inline void rig_on_blob(void *ctx, const struct err *err, str bytes)
{
    struct rig *r = ctx;
    r->blob = arena_str(&r->arena, bytes);
    rig_end(r, err);
}

/* ---- calls; each returns 0 or the error's code ---- */

#define RIG_CALL(r, call)                                                                          \
    (rig_begin(r), (void)(call), assert_false((r)->done), rig_wait(r), (r)->err.code)

/* participants: NULL keeps them. */
static inline struct store_op *rig_set_sharing(struct store *s, str id, bool is_shared,
                                               const struct json_strs *participants,
                                               const struct doer *by, store_conv_fn fn, void *ctx)
{
    struct sharing_change change = {.visibility = is_shared ? SHARING_SHARED : SHARING_PRIVATE,
                                    .participants = participants};
    return store_change_sharing(s, id, &change, by, fn, ctx);
}

static inline int rig_create(struct rig *r, const char *id, const char *owner)
{
    struct conv_create spec = {.id = str_from(id), .owner_id = str_from(owner)};
    return RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r));
}

/* Although the trash has the id, as older versions did. */
static inline int rig_create_again(struct rig *r, const char *id, const char *owner)
{
    struct conv_create spec = {
        .id = str_from(id), .is_fresh_id = true, .owner_id = str_from(owner)};
    return RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r));
}

static inline int rig_append_n(struct rig *r, const char *id, const str *events, size_t n)
{
    return RIG_CALL(r, store_append(r->store, str_from(id), events, n, rig_on_append, r));
}

static inline int rig_append(struct rig *r, const char *id, const char *event)
{
    str one = str_from(event);
    return rig_append_n(r, id, &one, 1);
}

static inline int rig_get(struct rig *r, const char *id)
{
    return RIG_CALL(r, store_get(r->store, str_from(id), rig_on_conv, r));
}

static inline int rig_read(struct rig *r, const char *id, const struct store_range *range)
{
    return RIG_CALL(r, store_read(r->store, str_from(id), range, rig_on_page, r));
}

static inline int rig_list(struct rig *r, const struct store_query *q)
{
    return RIG_CALL(r, store_list(r->store, q, rig_on_list, r));
}

static inline int rig_search(struct rig *r, const char *text, const struct viewer *viewer)
{
    struct store_search_query q = {.text = str_from(text), .viewer = viewer};
    return RIG_CALL(r, store_search(r->store, &q, rig_on_search, r));
}

static inline int rig_title(struct rig *r, const char *id, const char *title, bool only_if_unset)
{
    return RIG_CALL(r,
                    only_if_unset
                        ? store_give_title(r->store, str_from(id), str_from(title), STR_NONE,
                                           &(struct store_spend){0}, rig_on_conv, r)
                        : store_set_title(r->store, str_from(id), str_from(title), rig_on_conv, r));
}

static inline int rig_delete(struct rig *r, const char *id, bool purge)
{
    return RIG_CALL(r, store_delete(r->store, str_from(id), purge, NULL, NULL, rig_on_done, r));
}

static inline int rig_delete_as(struct rig *r, const char *id, bool purge, const char *user,
                                bool is_admin)
{
    struct viewer v = {str_from(user), is_admin};
    return RIG_CALL(r, store_delete(r->store, str_from(id), purge, &v, NULL, rig_on_done, r));
}

static inline int rig_restore_as(struct rig *r, const char *id, const char *user, bool is_admin)
{
    struct viewer v = {str_from(user), is_admin};
    return RIG_CALL(r, store_restore(r->store, str_from(id), &v, NULL, rig_on_conv, r));
}

static inline int rig_restore(struct rig *r, const char *id)
{
    return RIG_CALL(r, store_restore(r->store, str_from(id), NULL, NULL, rig_on_conv, r));
}

static inline int rig_fork(struct rig *r, const char *id, int64_t at, const char *owner)
{
    return RIG_CALL(r,
                    store_fork(r->store, str_from(id), at, str_from(owner), NULL, rig_on_conv, r));
}

/* ---- files ---- */

static inline const char *rig_path(struct rig *r, const char *name)
{
    return arena_printf(&r->arena, "%s/%s", r->conv_dir, name).p;
}

static inline str rig_slurp(struct rig *r, const char *name)
{
    FILE *f = fopen(rig_path(r, name), "re");
    if (!f)
        return STR_NONE;
    struct buf b;
    char chunk[4096];
    size_t n;
    buf_init(&b, 1u << 30);
    while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        buf_add(&b, chunk, n);
    (void)fclose(f);
    str s = arena_str(&r->arena, buf_str(&b));
    buf_done(&b);
    return s;
}

static inline void rig_spit(struct rig *r, const char *name, const char *mode, str bytes)
{
    FILE *f = fopen(rig_path(r, name), mode);
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
    assert_int_equal(fclose(f), 0);
}

#define assert_str(actual, expected)                                                               \
    do {                                                                                           \
        str actual_ = (actual), expected_ = str_from(expected);                                    \
        if (!str_eq(actual_, expected_))                                                           \
            fail_msg("expected \"%s\", got \"%.*s\"", expected, STR_ARG(actual_));                 \
    } while (0)
