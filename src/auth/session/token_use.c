#include "auth/session/token_use.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/map.h"
#include "loop/pool.h"
#include "loop/timer.h"
#include "os/file.h"

#define SAVE_AFTER_MS  60000
#define FILE_MAX_BYTES (16u * 1024 * 1024)
#define FILE_NAME      "token-use.json"

struct token_use {
    struct loop *loop;
    struct logger *log;
    char *dir;
    struct map times; /* id -> int64_t */
    struct timer soon;
    struct pool *pool;
    struct job job;
    bool is_saving;
    struct buf text; /* the job's */
    struct err err;
};

const struct json *token_use_read(struct arena *a, const char *work_dir)
{
    str text, path = arena_printf(a, "%s/auth/" FILE_NAME, work_dir);
    struct json *doc;
    if (file_read(a, path.p, FILE_MAX_BYTES, &text, NULL) == 0 &&
        json_parse(a, text, 0, &doc, NULL) == 0 && json_is(doc, JSON_OBJECT))
        return doc;
    return json_new(a, JSON_OBJECT);
}

static void set(struct token_use *u, str token_id, int64_t ms)
{
    int64_t *t = map_get(&u->times, token_id);
    if (!t) {
        t = xcalloc(1, sizeof *t);
        map_put(&u->times, token_id, t);
    }
    *t = ms;
}

/* ---- writing ---- */

static void write_all(struct token_use *u)
{
    struct json_writer w;
    struct map_entry *e;
    jw_start(&w, &u->text, FILE_MAX_BYTES);
    jw_object(&w);
    for (size_t i = 0; (e = map_next(&u->times, &i)) != NULL;) {
        jw_key_str(&w, e->key);
        jw_int(&w, *(int64_t *)e->value);
    }
    jw_end(&w);
}

static void token_use_save(struct job *j)
{
    struct token_use *u = CONTAINER_OF(j, struct token_use, job);
    struct arena a;
    arena_init(&a);
    err_clear(&u->err);
    str path = arena_printf(&a, "%s/" FILE_NAME, u->dir);
    if (file_make_dirs(u->dir, &u->err) == 0)
        (void)file_write_atomic(path.p, buf_str(&u->text), 0600, &u->err);
    arena_done(&a);
}

static void saved(struct job *j)
{
    struct token_use *u = CONTAINER_OF(j, struct token_use, job);
    if (u->err.code < 0)
        log_warn(u->log, "auth", "%s", u->err.msg);
    buf_done(&u->text);
    u->is_saving = false;
}

static void on_soon(void *ctx)
{
    struct token_use *u = ctx;
    if (u->is_saving) {
        timer_start(&u->soon, SAVE_AFTER_MS);
        return;
    }
    if (!u->pool)
        u->pool = pool_new(u->loop, "nb-token-use", 1);
    u->is_saving = true;
    write_all(u);
    pool_run(u->pool, &u->job, token_use_save, saved);
}

/* ---- life ---- */

struct token_use *token_use_new(struct loop *l, struct logger *log, const char *work_dir)
{
    struct token_use *u = xcalloc(1, sizeof *u);
    struct arena a;
    arena_init(&a);
    u->loop = l;
    u->log = log;
    u->dir = str_dup(arena_printf(&a, "%s/auth", work_dir));
    map_init(&u->times);
    timer_init(&u->soon, l, on_soon, u);
    const struct json *doc = token_use_read(&a, work_dir);
    for (size_t i = 0; i < doc->len; i++)
        if (json_is(&doc->members[i].value, JSON_INT))
            set(u, doc->members[i].key, doc->members[i].value.i);
    arena_done(&a);
    return u;
}

void token_use_free(struct token_use *u)
{
    struct map_entry *e;
    if (!u)
        return;
    bool is_dirty = timer_active(&u->soon);
    timer_stop(&u->soon);
    pool_free(u->pool);
    assert(!u->is_saving);
    if (is_dirty) {
        write_all(u);
        token_use_save(&u->job);
        saved(&u->job);
    }
    for (size_t i = 0; (e = map_next(&u->times, &i)) != NULL;)
        free(e->value);
    map_done(&u->times);
    free(u->dir);
    free(u);
}

void token_use_note(struct token_use *u, str token_id)
{
    set(u, token_id, clock_now_ms());
    if (!timer_active(&u->soon))
        timer_start(&u->soon, SAVE_AFTER_MS);
}

void token_use_forget(struct token_use *u, str token_id)
{
    free(map_del(&u->times, token_id));
}

int64_t token_use_ms(const struct token_use *u, str token_id)
{
    const int64_t *t = map_get(&u->times, token_id);
    return t ? *t : 0;
}
