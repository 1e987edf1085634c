/* store_write.c - the calls that change a conversation: check and copy the arguments, call the
 * backend, publish, return the result.
 *
 * Each call is a chain of steps (backend.h): a function named after a past participle, such as
 * `created` or `renamed`, runs after that has happened. */
#include <errno.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "base/json/json_scan.h"
#include "base/text/plain.h"
#include "base/utf8.h"
#include "bus/vocabulary.h"
#include "store/backend/backend.h"

enum { TITLE_MAX = 1000, NOTE_MAX = 64 * 1024, DEED_NAMES_MAX = 400 };

static void publish(struct store_op *op, size_t first)
{
    str topic = store_topic(&op->arena, op->store, op->id);
    for (size_t i = first; i < op->nlines; i++) {
        str line = str_slice(op->lines[i], 0, op->lines[i].n - 1);
        struct bus_msg msg = {.topic = topic,
                              .type = json_scan_plain(json_scan_field(line, STR("type"))),
                              .data = line,
                              .pos = op->pos[i]};
        bus_publish(op->store->env->bus, &msg);
    }
}

static void copy_lines(struct store_op *op, const str *events, size_t n, size_t room)
{
    op->nlines = room + n;
    op->lines = arena_array(&op->arena, op->nlines + 1, sizeof(str));
    op->pos = arena_array(&op->arena, op->nlines + 1, sizeof(store_pos));
    for (size_t i = 0; i < n; i++)
        op->lines[room + i] = arena_str(&op->arena, events[i]);
}

static void announce_created(struct store_op *op)
{
    const struct conv *c = op->out.conv;
    struct announcement n = announcement_of(&op->arena, c, &c->acl, c->title);
    announce(op, EV_CONVERSATION_CREATED, &n);
    op_done(op);
}

/* A new conversation exists now: created, forked or restored. */
static void appeared(struct store_op *op)
{
    op->step = announce_created;
    then_get(op);
}

static void created(struct store_op *op)
{
    publish(op, 1);
    appeared(op);
}

static void copy_spec(struct store_op *op, const struct conv_create *spec)
{
    struct conv_create *c = &op->in.create;
    *c = *spec;
    c->owner_id = arena_str(&op->arena, spec->owner_id);
    c->channel = arena_str(&op->arena, spec->channel);
    c->model = arena_str(&op->arena, spec->model);
    c->forked_from = arena_str(&op->arena, spec->forked_from);
    c->parent = spec->parent ? json_clone(&op->arena, spec->parent) : NULL;
    c->metadata = spec->metadata ? json_clone(&op->arena, spec->metadata) : NULL;
}

struct store_op *store_create(struct store *s, const struct conv_create *spec, store_conv_fn fn,
                              void *ctx)
{
    char fresh[RANDOM_ID_MAX];
    random_id("conv", fresh);
    struct store_op *op = op_new(s, spec->id.n ? spec->id : str_from(fresh), answer_conv, ctx);
    op->fn.conv = fn;
    copy_spec(op, spec);
    copy_lines(op, spec->events, spec->nevents, 1);
    op->in.create.events = op->lines + 1;
    op->step = created;
    if (op_check(op, true))
        op_start(op, s->ops->create);
    return op;
}

static void answer_append(struct store_op *op)
{
    if (op->err.code) {
        op->fn.append(op->ctx, &op->err, NULL, 0);
        return;
    }
    publish(op, 0);
    op->fn.append(op->ctx, NULL, op->pos, op->nlines);
}

struct store_op *store_append(struct store *s, str id, const str *events, size_t n,
                              store_append_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_append, ctx);
    op->fn.append = fn;
    copy_lines(op, events, n, 0);
    if (!op_check(op, true))
        return op;
    if (n == 0)
        op_done_later(op);
    else
        op_start(op, s->ops->append);
    return op;
}

/* For calls that append one or two events and then return the changed conversation. */
static void appended(struct store_op *op)
{
    publish(op, 0);
    then_get(op);
}

static void append_own(struct store_op *op, const str *lines, size_t n,
                       void (*step)(struct store_op *op))
{
    copy_lines(op, lines, n, 0);
    op->step = step;
    op_start(op, op->store->ops->append);
}

static void append_buf(struct store_op *op, struct buf *b, void (*step)(struct store_op *op))
{
    str line = buf_str(b);
    append_own(op, &line, 1, step);
    buf_done(b);
}

/* A title is one line, because lists, file names and terminals show it. Text that is not UTF-8 is
 * returned unchanged, and the caller refuses it. */
static str title_line(struct arena *a, str title)
{
    if (!utf8_valid(title))
        return title;
    return utf8_truncate(plain_line(a, title), TITLE_MAX);
}

static void renamed(struct store_op *op)
{
    const struct conv *c = op->out.conv;
    struct announcement n = announcement_of(&op->arena, c, &c->acl, op->in.text.text);
    announce(op, EV_CONVERSATION_RENAMED, &n);
    appended(op);
}

static void title_checked(struct store_op *op)
{
    if (op->in.text.only_if_unset && op->out.conv->title.n) {
        op_done(op);
        return;
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, TITLE_MAX * 8);
    event_begin(&w, &b, EV_TITLE, clock_now_ms());
    jw_key(&w, "title");
    if (op->in.text.text.n)
        jw_str(&w, op->in.text.text);
    else
        jw_null(&w);
    if (op->in.text.only_if_unset)
        jw_kbool(&w, "auto", true);
    jw_end(&w);
    append_buf(op, &b, renamed);
}

struct store_op *store_set_title(struct store *s, str id, str title, bool only_if_unset,
                                 store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->in.text.text = title_line(&op->arena, title);
    op->in.text.only_if_unset = only_if_unset;
    op->step = title_checked;
    if (!op_check(op, true))
        return op;
    if (!utf8_valid(op->in.text.text)) {
        err_set(&op->err, -EINVAL, "title is not valid UTF-8");
        op_done_later(op);
    } else {
        then_get(op);
    }
    return op;
}

static void add_people(struct json_strs *out, const struct json_strs *people,
                       const struct json_strs *without)
{
    for (size_t i = 0; people && i < people->len; i++) {
        str who = people->items[i];
        if (!json_strs_has(out, who) && utf8_valid(who) &&
            !(without && json_strs_has(without, who)))
            out->items[out->len++] = who;
    }
}

/* What the change makes of the state that was read. The owner comes first, each person once. */
static void apply_sharing(struct store_op *op)
{
    const struct sharing_change *change = &op->in.sharing.change;
    const struct conv_acl *now = &op->out.conv->acl;
    const struct json_strs *base = change->participants ? change->participants : &now->participants;
    size_t most = 1 + base->len + (change->add ? change->add->len : 0);
    struct json_strs out = {.items = arena_array(&op->arena, most, sizeof(str))};
    op->in.sharing.is_shared = change->visibility == SHARING_UNCHANGED
                                   ? now->is_shared
                                   : change->visibility == SHARING_SHARED;
    op->in.sharing.keeps_participants = !change->participants && !change->add && !change->remove;
    if (now->owner_id.n)
        out.items[out.len++] = now->owner_id;
    if (op->in.sharing.is_shared) {
        add_people(&out, base, change->remove);
        add_people(&out, change->add, NULL);
    }
    op->in.sharing.participants = out;
}

static str participants_line(struct store_op *op, int64_t now_ms)
{
    const struct json_strs out = op->in.sharing.participants;
    struct buf b;
    struct json_writer w;
    buf_init(&b, STORE_LINE_MAX);
    event_begin(&w, &b, EV_PARTICIPANTS, now_ms);
    jw_kstrs(&w, "participants", out.items, out.len);
    jw_end(&w);
    return buf_keep(&b, &op->arena);
}

/* Users who lose access are notified first, so that they receive no later event of it. */
static void shared(struct store_op *op)
{
    const struct conv *before = op->out.conv;
    struct conv_acl now = before->acl;
    now.is_shared = op->in.sharing.is_shared;
    if (op->nlines > 1)
        now.participants = op->in.sharing.participants;
    announce_lost(op, &before->acl, &now);
    struct announcement n = announcement_of(&op->arena, before, &now, before->title);
    announce(op, EV_CONVERSATION_SHARED, &n);
    appended(op);
}

/* Those of `list` who are not in `without` and are not the owner: "usr_a,usr_b". */
static str names_without(struct store_op *op, const struct json_strs *list,
                         const struct json_strs *without)
{
    struct arena *a = &op->arena;
    str out = STR_NONE, owner = op->out.conv->acl.owner_id;
    for (size_t i = 0; i < list->len && out.n < DEED_NAMES_MAX; i++)
        if (!json_strs_has(without, list->items[i]) && !str_eq(list->items[i], owner))
            out = arena_printf(a, "%.*s%s%.*s", STR_ARG(out), out.n > 0 ? "," : "",
                               STR_ARG(list->items[i]));
    return out;
}

/* The audit record names the users who were added or removed, not the new list. */
static void name_sharing(struct store_op *op)
{
    const struct conv_acl *before = &op->out.conv->acl;
    const struct json_strs *after = &op->in.sharing.participants;
    bool keeps = op->in.sharing.keeps_participants, is_shared = op->in.sharing.is_shared;
    if (!op->deed)
        return;
    str added = keeps ? STR_NONE : names_without(op, after, &before->participants);
    str removed = keeps && is_shared ? STR_NONE : names_without(op, &before->participants, after);
    if (!is_shared) {
        deed_set(op->deed, STR("conversation.unshare"), op->id);
    } else if (before->is_shared && added.n > 0 && removed.n == 0) {
        deed_set(op->deed, STR("participant.add"), op->id);
        deed_detail(op->deed, "userId=%.*s", STR_ARG(added));
    } else if (before->is_shared && removed.n > 0 && added.n == 0) {
        deed_set(op->deed, STR("participant.remove"), removed);
        deed_detail(op->deed, "in=%.*s", STR_ARG(op->id));
    } else {
        deed_detail(op->deed, "participants=%.*s", STR_ARG(added.n > 0 ? added : STR("unchanged")));
    }
}

static void sharing_found(struct store_op *op)
{
    int64_t now_ms = clock_now_ms();
    apply_sharing(op);
    struct buf b;
    struct json_writer w;
    buf_init(&b, 1024);
    event_begin(&w, &b, EV_VISIBILITY, now_ms);
    jw_kstr(&w, "visibility", op->in.sharing.is_shared ? STR("shared") : STR("private"));
    jw_end(&w);
    str lines[2] = {buf_str(&b)};
    size_t n = 1;
    if (!op->in.sharing.is_shared || !op->in.sharing.keeps_participants)
        lines[n++] = participants_line(op, now_ms);
    name_sharing(op);
    append_own(op, lines, n, shared);
    buf_done(&b);
}

static struct store_op *first_sharing(const struct store *s, str id)
{
    LIST_EACH (op, &s->calls, struct store_op, node)
        if (op->is_sharing && str_eq(op->id, id))
            return op;
    return NULL;
}

void sharing_next(struct store *s, str id)
{
    struct store_op *op = first_sharing(s, id);
    if (op)
        then_get(op);
}

static const struct json_strs *copy_people(struct arena *a, const struct json_strs *people)
{
    if (!people)
        return NULL;
    struct json_strs *copy = ARENA_NEW(a, struct json_strs);
    *copy = json_strs_copy(a, *people);
    return copy;
}

struct store_op *store_change_sharing(struct store *s, str id, const struct sharing_change *change,
                                      const struct doer *by, store_conv_fn fn, void *ctx)
{
    bool is_end = change->visibility == SHARING_PRIVATE;
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->deed = deed_begin(s->env->audit, by,
                          is_end ? STR("conversation.unshare") : STR("conversation.share"), id);
    op->in.sharing.change = (struct sharing_change){
        .visibility = change->visibility,
        .participants = copy_people(&op->arena, change->participants),
        .add = copy_people(&op->arena, change->add),
        .remove = copy_people(&op->arena, change->remove),
    };
    op->step = sharing_found;
    if (!op_check(op, true))
        return op;
    op->is_sharing = true;
    if (first_sharing(s, op->id) == op)
        then_get(op);
    return op;
}

struct store_op *store_add_note(struct store *s, str id, str author, str text, store_conv_fn fn,
                                void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    if (!op_check(op, true))
        return op;
    if (!text.n || text.n > NOTE_MAX || !utf8_valid(text) || !utf8_valid(author)) {
        err_set(&op->err, -EINVAL, "a note must be UTF-8 text of 1 to %d bytes", NOTE_MAX);
        op_done_later(op);
        return op;
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, STORE_LINE_MAX);
    event_begin(&w, &b, EV_NOTE, clock_now_ms());
    jw_kstr(&w, "author", author);
    jw_kstr(&w, "content", text);
    jw_end(&w);
    append_buf(op, &b, appended);
    return op;
}

struct store_op *store_fork(struct store *s, str id, int64_t at_message, str new_owner,
                            store_conv_fn fn, void *ctx)
{
    char fresh[RANDOM_ID_MAX];
    random_id("conv", fresh);
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->at_message = at_message;
    if (!op_check(op, true))
        return op;
    struct conv_create *spec = &op->in.create;
    spec->forked_from = op->id;
    spec->owner_id = arena_str(&op->arena, new_owner);
    op->id = arena_str(&op->arena, str_from(fresh));
    op->step = appeared;
    s->ops->fork(op);
    return op;
}

static void answer_done(struct store_op *op)
{
    op->fn.done(op->ctx, op_err(op));
}

static void removed(struct store_op *op)
{
    announce(op, EV_CONVERSATION_DELETED, &op->announcement);
    store_publish(op->store, op->id, event_name(EV_CONVERSATION_DELETED),
                  STR("{\"type\":\"conversation.deleted\"}"));
    op_done(op);
}

static void remove_now(struct store_op *op)
{
    op->step = removed;
    op_start(op, op->store->ops->remove);
}

/* The access list for the announcement must be read before the log moves. A conversation that is
 * already in the trash (c is NULL) is not announced. */
static void on_read_before_remove(void *ctx, const struct err *err, const struct conv *c)
{
    struct store_op *op = ctx;
    if (c && !op_may_manage(op, &c->acl)) {
        err_set(&op->err, -ENOENT, "no such conversation: %.*s", STR_ARG(op->id));
        op_done(op);
        return;
    }
    if (!c) {
        remove_now(op);
        return;
    }
    op->announcement = announcement_of(&op->arena, c, &c->acl, c->title);
    op->step = remove_now;
    op_run(op, ledger_keep);
}

struct store_op *store_delete(struct store *s, str id, bool purge, const struct viewer *viewer,
                              const struct doer *by, store_done_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_done, ctx);
    op->fn.done = fn;
    op->deed = deed_begin(s->env->audit, by, STR("conversation.delete"), id);
    if (purge)
        deed_detail(op->deed, "purge");
    op->in.is_purge = purge;
    (void)op_set_viewer(op, viewer);
    if (op_check(op, true))
        store_get(s, op->id, on_read_before_remove, op);
    return op;
}

struct store_op *store_restore(struct store *s, str id, const struct viewer *viewer,
                               const struct doer *by, store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->deed = deed_begin(s->env->audit, by, STR("conversation.restore"), id);
    (void)op_set_viewer(op, viewer);
    op->step = appeared;
    if (op_check(op, true))
        op_start(op, s->ops->restore);
    return op;
}

struct store_op *store_put_blob(struct store *s, str id, str bytes, store_blob_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_blob, ctx);
    op->fn.blob = fn;
    op->in.blob = arena_str(&op->arena, bytes);
    if (op_check(op, true))
        op_start(op, s->ops->put_blob);
    return op;
}
