/* store_marks.c - the marks of people on conversations (marks.h), in a document per person.
 *
 * In a store of files it is <dir>/.people/<user>.json. A document is written as a whole, so that a
 * reader needs no lock. A change reads the document and writes it, while no other change can; only
 * reader threads ever wait for that. */
#include <errno.h>
#include <sys/stat.h>

#include "os/file.h"
#include "store/backend/backend.h"
#include "store/marks.h"
#include "workspace/roster/roster.h"

/* ---- the documents of a store of files ---- */

static const char *people_dir(const struct store *s, struct arena *a)
{
    return arena_printf(a, "%s/.people", s->conf.dir).p;
}

static const char *person_path(const struct store *s, struct arena *a, str user_id)
{
    return arena_printf(a, "%s/%.*s.json", people_dir(s, a), STR_ARG(user_id)).p;
}

bool person_file_peek(struct store *s)
{
    return s->conf.dir != NULL;
}

int person_file_read(struct store *s, str user_id, struct arena *a, str *ret, struct err *e)
{
    const char *path = person_path(s, a, user_id);
    *ret = STR_NONE;
    return file_exists(path) ? file_read(a, path, MARKS_TEXT_MAX, ret, e) : 0;
}

static int write_person_file(struct store *s, struct arena *a, str user_id, str text, struct err *e)
{
    const char *dir = people_dir(s, a);
    if (mkdir(dir, 0700) < 0 && errno != EEXIST) /* the store's own directory is not created here */
        return err_errno(e, -errno, "cannot create the directory", dir);
    return file_write_atomic(person_path(s, a, user_id), text, 0600, e);
}

int person_file_change(struct store *s, str user_id, document_edit_fn edit, void *ctx,
                       struct err *e)
{
    struct arena a;
    str old, text;
    arena_init(&a);
    (void)pthread_mutex_lock(&s->marking);
    int r = person_file_read(s, user_id, &a, &old, e);
    if (r == 0)
        r = edit(ctx, &a, old, &text, e);
    if (r == 0 && text.p != old.p)
        r = write_person_file(s, &a, user_id, text, e);
    (void)pthread_mutex_unlock(&s->marking);
    arena_done(&a);
    return r;
}

/* ---- reading: before a list ---- */

struct person_marks {
    struct store_op *op;
    struct marks *marks; /* in the arena of op */
};

/* A person without a document gets one, so that later messages are unread until they read them. */
static int begin_document(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    struct person_marks *x = ctx;
    int r = marks_parse(&x->op->arena, arena_str(&x->op->arena, old), x->marks, e);
    *ret = old.n > 0 ? old : marks_write(a, x->marks);
    return r;
}

static int read_marks(struct store_op *op, str user_id, struct marks *ret)
{
    struct store *s = op->store;
    struct person_marks x = {op, ret};
    str text = STR_NONE;
    if (!user_id_ok(user_id))
        return err_set(&op->err, -EINVAL, "not the id of a user");
    int r = s->ops->person_read(s, user_id, &op->arena, &text, &op->err);
    if (r == 0 && text.n == 0 && !s->conf.read_only)
        return s->ops->person_change(s, user_id, begin_document, &x, &op->err);
    return r < 0 ? r : marks_parse(&op->arena, text, ret, &op->err);
}

/* A list does not fail because of marks: without them it has none. */
void marks_load(struct store_op *op)
{
    struct marks *m = ARENA_NEW(&op->arena, struct marks);
    str user_id = op->in.query.marks_of;
    if (read_marks(op, user_id, m) < 0)
        log_warn(op->store->env->log, "store", "the marks of %.*s are not used: %s",
                 STR_ARG(user_id), op->err.msg);
    err_clear(&op->err);
    op->in.query.marks = m;
}

/* ---- changing ---- */

static void answer_mark(struct store_op *op)
{
    op->fn.mark(op->ctx, op_err(op), op->err.code ? NULL : &op->out.mark);
}

static int change_marks(void *ctx, struct arena *a, str old, str *ret, struct err *e)
{
    struct person_marks *x = ctx;
    struct arena *own = &x->op->arena;
    const struct conv *c = &x->op->in.mark.conv;
    *x->marks = (struct marks){0};
    int r = marks_parse(own, arena_str(own, old), x->marks, e);
    if (r == 0)
        r = marks_apply(own, x->marks, c, &x->op->in.mark.change, e);
    *ret = r == 0 ? marks_write(a, x->marks) : STR_NONE;
    return r;
}

/* Only read: a person without a document gets none. */
static void state_work(struct store_op *op)
{
    struct marks m = {0};
    str text = STR_NONE;
    struct store *s = op->store;
    str user_id = op->in.mark.user_id;
    int r = user_id_ok(user_id) ? s->ops->person_read(s, user_id, &op->arena, &text, &op->err)
                                : err_set(&op->err, -EINVAL, "not the id of a user");
    if (r == 0)
        r = marks_parse(&op->arena, text, &m, &op->err);
    if (r == 0)
        op->out.mark = marks_state(&m, &op->in.mark.conv);
}

static void mark_work(struct store_op *op)
{
    struct marks m = {0};
    struct person_marks x = {op, &m};
    struct store *s = op->store;
    str user_id = op->in.mark.user_id;
    int r = user_id_ok(user_id) ? s->ops->person_change(s, user_id, change_marks, &x, &op->err)
                                : err_set(&op->err, -EINVAL, "not the id of a user");
    if (r == 0)
        op->out.mark = marks_state(&m, &op->in.mark.conv);
}

struct store_op *store_mark(struct store *s, str user_id, const struct conv *c,
                            const struct mark_change *change, store_mark_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, c->id, answer_mark, ctx);
    op->fn.mark = fn;
    op->in.mark.user_id = arena_str(&op->arena, user_id);
    op->in.mark.conv = (struct conv){
        .id = op->id,
        .updated_at = arena_str(&op->arena, c->updated_at),
        .message_count = c->message_count,
    };
    if (change)
        op->in.mark.change = *change;
    if (op_check(op, change != NULL))
        op_run(op, change ? mark_work : state_work);
    return op;
}
