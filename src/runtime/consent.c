#include "runtime/consent.h"

#include <assert.h>
#include <errno.h>

#include "base/json/json.h"
#include "base/text/glob.h"
#include "os/file.h"
#include "workspace/roster/roster.h"

#define FILE_MAX (256u * 1024)

void consents_init(struct consents *c, struct pool *pool, struct logger *log)
{
    *c = (struct consents){.pool = pool, .log = log};
    arena_init(&c->arena);
    list_init(&c->waiting);
    list_init(&c->served);
    list_init(&c->watch.node);
}

void consents_done(struct consents *c)
{
    assert(!c->is_writing && list_empty(&c->waiting));
    list_del(&c->watch.node);
    free(c->edits);
    arena_done(&c->arena);
}

static void read_doc(struct consents *c, const struct json *doc)
{
    const struct json *old = json_get(doc, "allow"), *list = json_get(doc, "consents");
    for (size_t i = 0; json_is(old, JSON_ARRAY) && i < old->len; i++)
        (void)consents_add(c, STR(ROSTER_SOLE_USER), json_string(&old->items[i], STR_NONE));
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++)
        (void)consents_add(c, json_get_string(&list->items[i], "userId"),
                           json_get_string(&list->items[i], "tool"));
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
    if (r == 0)
        read_doc(c, saved);
    return r;
}

static bool is_of(const struct consent *one, str user_id, str tool)
{
    return str_eq(one->user_id, user_id) && str_eq(one->tool, tool);
}

bool consents_has(const struct consents *c, str user_id, str tool)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct consent *one = &c->items[i];
        if ((one->user_id.n == 0 || str_eq(one->user_id, user_id)) && glob_match(one->tool, tool))
            return true;
    }
    return false;
}

bool consents_allow(const struct consents *c, str user_id, const struct consent_call *call)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct consent *one = &c->items[i];
        if ((one->user_id.n == 0 || str_eq(one->user_id, user_id)) &&
            consent_limit_matches(one->tool, call))
            return true;
    }
    return consents_has(c, user_id, call->tool);
}

static bool put(struct consents *c, str user_id, str tool)
{
    for (size_t i = 0; i < c->n; i++)
        if (is_of(&c->items[i], user_id, tool))
            return true;
    if (c->n >= CONSENTS_MAX)
        return false;
    if (!c->items)
        c->items = arena_array(&c->arena, CONSENTS_MAX, sizeof *c->items);
    c->items[c->n++] = (struct consent){arena_str(&c->arena, user_id), arena_str(&c->arena, tool)};
    return true;
}

/* For the table, which gets what is new. The last word about a consent counts. */
static void note_edit(struct consents *c, str user_id, str tool, bool is_removal)
{
    struct consent_edit x = {{arena_str(&c->arena, user_id), arena_str(&c->arena, tool)},
                             is_removal};
    if (!c->table)
        return;
    for (size_t i = c->nwriting; i < c->nedits; i++)
        if (str_eq(c->edits[i].row.user_id, user_id) && str_eq(c->edits[i].row.tool, tool)) {
            c->edits[i] = x;
            return;
        }
    GROW(c->edits, c->nedits, c->edits_cap);
    c->edits[c->nedits++] = x;
}

static void remove_at(struct consents *c, size_t i)
{
    assert(i < c->n);
    note_edit(c, c->items[i].user_id, c->items[i].tool, true);
    c->n--;
    memmove(&c->items[i], &c->items[i + 1], (c->n - i) * sizeof *c->items);
}

/* Conversations end without notice, so that what was allowed in them has to make room. */
static void make_room(struct consents *c, str tool)
{
    size_t n = 0, oldest = 0;
    if (!consent_is_of_conversation(tool))
        return;
    for (size_t i = c->n; i > 0; i--)
        if (consent_is_of_conversation(c->items[i - 1].tool)) {
            n++;
            oldest = i - 1;
        }
    if (n >= CONSENTS_CONVERSATION_MAX)
        remove_at(c, oldest);
}

bool consents_add(struct consents *c, str user_id, str tool)
{
    make_room(c, tool);
    if (!put(c, user_id, tool))
        return false;
    note_edit(c, user_id, tool, false);
    return true;
}

bool consents_remove(struct consents *c, str user_id, str tool)
{
    for (size_t i = 0; i < c->n; i++) {
        if (!is_of(&c->items[i], user_id, tool))
            continue;
        remove_at(c, i);
        return true;
    }
    return false;
}

bool consents_remove_user(struct consents *c, str user_id)
{
    size_t before = c->n;
    for (size_t i = c->n; user_id.n > 0 && i > 0; i--)
        if (str_eq(c->items[i - 1].user_id, user_id))
            remove_at(c, i - 1);
    return c->n < before;
}

struct json_strs consents_of(const struct consents *c, struct arena *a, str user_id)
{
    struct json_strs all = {arena_array(a, c->n + 1, sizeof(str)), 0};
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->items[i].user_id, user_id))
            all.items[all.len++] = arena_str(a, c->items[i].tool);
    return all;
}

/* ---- the table ---- */

/* What is not stored yet is not in the rows: they are wanted again afterwards. */
static bool on_consent_rows(void *ctx, const struct consent_row *rows, size_t n)
{
    struct consents *c = ctx;
    if (c->nedits > 0)
        return false;
    arena_done(&c->arena);
    arena_init(&c->arena);
    c->items = NULL;
    c->n = 0;
    for (size_t i = 0; i < n; i++)
        (void)put(c, rows[i].user_id, rows[i].tool);
    return true;
}

int consents_share(struct consents *c, struct consent_table *table, str workspace_id, struct err *e)
{
    c->table = table;
    c->watch.workspace_id = workspace_id;
    c->watch.on_rows = on_consent_rows;
    c->watch.ctx = c;
    return table->watch(table, &c->watch, e);
}

static void consents_written(struct consents *c);

static bool has_later(const struct consents *c, size_t i)
{
    for (size_t k = i + 1; k < c->nedits; k++)
        if (str_eq(c->edits[k].row.user_id, c->edits[i].row.user_id) &&
            str_eq(c->edits[k].row.tool, c->edits[i].row.tool))
            return true;
    return false;
}

/* Edits that could not be stored wait for the next that are; of two about one consent the later. */
static void on_edits_stored(void *ctx, const struct err *err)
{
    struct consents *c = ctx;
    size_t kept = 0;
    c->err = *err;
    for (size_t i = 0; i < c->nedits; i++)
        if (i >= c->nwriting || (err->code < 0 && !has_later(c, i)))
            c->edits[kept++] = c->edits[i];
    c->nedits = kept;
    c->nwriting = 0;
    free((void *)c->write.edits);
    consents_written(c);
}

/* A copy, because the list may grow meanwhile. */
static void write_edits(struct consents *c)
{
    struct consent_edit *copy = xcalloc(c->nedits + 1, sizeof *copy);
    if (c->nedits > 0)
        memcpy(copy, c->edits, c->nedits * sizeof *copy);
    c->nwriting = c->nedits;
    c->write = (struct consent_write){.workspace_id = c->watch.workspace_id,
                                      .edits = copy,
                                      .n = c->nedits,
                                      .done = on_edits_stored,
                                      .ctx = c};
    c->table->write(c->table, &c->write);
}

/* ---- the file ---- */

static char *render(const struct consents *c)
{
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, FILE_MAX);
    jw_object(&w);
    jw_karray(&w, "consents");
    for (size_t i = 0; i < c->n; i++) {
        jw_object(&w);
        jw_kstr(&w, "tool", c->items[i].tool);
        if (c->items[i].user_id.n > 0)
            jw_kstr(&w, "userId", c->items[i].user_id);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    char *text = buf_failed(&b) ? NULL : str_dup(buf_str(&b));
    buf_done(&b);
    return text;
}

static void write_consents(struct job *j) /* pool thread */
{
    struct consents *c = CONTAINER_OF(j, struct consents, job);
    if (c->path && c->text)
        (void)file_write_atomic(c->path, str_from(c->text), 0600, &c->err);
    else if (c->path)
        err_set(&c->err, -EFBIG, "more than %u bytes", FILE_MAX);
}

static void on_consents_written(struct job *j);

static void write_consent_file(struct consents *c)
{
    struct list_node *n;
    assert(!c->is_writing && list_empty(&c->served)); /* the file is written as a whole */
    while ((n = list_pop(&c->waiting)) != NULL)
        list_push(&c->served, n);
    c->is_writing = true;
    c->err = (struct err){0};
    if (c->table) {
        write_edits(c);
        return;
    }
    c->text = render(c);
    pool_run(c->pool, &c->job, write_consents, on_consents_written);
}

static void on_consents_written(struct job *j)
{
    struct consents *c = CONTAINER_OF(j, struct consents, job);
    free(c->text);
    c->text = NULL;
    consents_written(c);
}

static void consents_written(struct consents *c)
{
    struct list_node *n;
    assert(c->is_writing && !list_empty(&c->served));
    if (c->err.code < 0)
        log_error(c->log, "runtime", "stored permissions are not saved: %s", c->err.msg);
    while ((n = list_pop(&c->served)) != NULL) {
        struct consent_save *s = LIST_ENTRY(n, struct consent_save, node);
        s->has_failed = c->err.code < 0;
        s->fn(s->ctx);
    }
    c->is_writing = false;
    if (!list_empty(&c->waiting))
        write_consent_file(c);
}

void consents_save(struct consents *c, struct consent_save *s, loop_fn fn, void *ctx)
{
    s->fn = fn;
    s->ctx = ctx;
    list_push(&c->waiting, &s->node);
    if (!c->is_writing)
        write_consent_file(c);
}
