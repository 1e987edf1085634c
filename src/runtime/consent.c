#include "runtime/consent.h"

#include <assert.h>
#include <errno.h>

#include "base/json.h"
#include "config/file.h"

#define FILE_MAX (256u * 1024)

void consents_init(struct consents *c, struct pool *pool, struct logger *log)
{
    *c = (struct consents){.pool = pool, .log = log};
    arena_init(&c->arena);
    list_init(&c->waiting);
    list_init(&c->served);
}

void consents_done(struct consents *c)
{
    assert(!c->is_writing && list_empty(&c->waiting));
    arena_done(&c->arena);
}

int consents_load(struct consents *c, const char *path, struct err *e)
{
    str text;
    struct json *saved;
    c->path = arena_cstr(&c->arena, str_from(path));
    if (!file_exists(path))
        return 0;
    int r = file_read(&c->arena, path, FILE_MAX, &text, e);
    if (r == 0 && (r = json_parse(&c->arena, text, 0, &saved, e)) < 0)
        err_prefix(e, "%s", path);
    const struct json *list = r == 0 ? json_get(saved, "allow") : NULL;
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++)
        (void)consents_add(c, json_string(&list->items[i], STR_NONE));
    return r;
}

bool consents_has(const struct consents *c, str tool)
{
    return globs_match(c->tools, tool);
}

bool consents_add(struct consents *c, str tool)
{
    if (consents_has(c, tool))
        return true;
    if (c->tools.len >= CONSENTS_MAX)
        return false;
    if (!c->tools.items)
        c->tools.items = arena_array(&c->arena, CONSENTS_MAX, sizeof(str));
    c->tools.items[c->tools.len++] = arena_str(&c->arena, tool);
    return true;
}

bool consents_remove(struct consents *c, str tool)
{
    for (size_t i = 0; i < c->tools.len; i++) {
        if (!str_eq(c->tools.items[i], tool))
            continue;
        c->tools.len--;
        memmove(&c->tools.items[i], &c->tools.items[i + 1],
                (c->tools.len - i) * sizeof *c->tools.items);
        return true;
    }
    return false;
}

/* ---- the file ---- */

static char *render(const struct consents *c)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, FILE_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_key(&w, "allow");
    jw_array(&w);
    for (size_t i = 0; i < c->tools.len; i++)
        jw_str(&w, c->tools.items[i]);
    jw_end(&w);
    jw_end(&w);
    char *text = buf_failed(&b) ? NULL : str_dup(buf_str(&b));
    buf_done(&b);
    return text;
}

static void work(struct job *j) /* pool thread */
{
    struct consents *c = CONTAINER_OF(j, struct consents, job);
    if (c->path && c->text)
        (void)file_write_atomic(c->path, str_from(c->text), 0600, &c->err);
    else if (c->path)
        err_set(&c->err, -EFBIG, "more than %u bytes", FILE_MAX);
}

static void on_written(struct job *j);

static void write_file(struct consents *c)
{
    struct list_node *n;
    while ((n = list_pop(&c->waiting)) != NULL)
        list_push(&c->served, n);
    c->is_writing = true;
    c->err = (struct err){0};
    c->text = render(c);
    c->job = (struct job){.work = work, .done = on_written};
    pool_submit(c->pool, &c->job);
}

static void on_written(struct job *j)
{
    struct consents *c = CONTAINER_OF(j, struct consents, job);
    struct list_node *n;
    free(c->text);
    c->text = NULL;
    if (c->err.code < 0)
        log_error(c->log, "runtime", "what is allowed for good is not saved: %s", c->err.msg);
    while ((n = list_pop(&c->served)) != NULL) {
        struct consent_save *s = LIST_ENTRY(n, struct consent_save, node);
        s->has_failed = c->err.code < 0;
        s->fn(s->ctx);
    }
    c->is_writing = false;
    if (!list_empty(&c->waiting))
        write_file(c);
}

void consents_save(struct consents *c, struct consent_save *s, loop_fn fn, void *ctx)
{
    s->fn = fn;
    s->ctx = ctx;
    list_push(&c->waiting, &s->node);
    if (!c->is_writing)
        write_file(c);
}
