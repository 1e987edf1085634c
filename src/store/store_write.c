/* store_write.c - the calls that change a conversation: check and copy the arguments, call the
 * backend, publish, return the result.
 *
 * (Deleting and restoring: store_delete.c.) Each call is a chain of steps (backend.h): a function
 * named after a past participle, such as `created` or `renamed`, runs after that has happened. */
#include <assert.h>
#include <errno.h>

#include "base/bytes/random.h"
#include "base/json/json_scan.h"
#include "base/text/plain.h"
#include "base/utf8.h"
#include "bus/vocabulary.h"
#include "store/backend/backend.h"

enum { SHARING_TRIES = 8, TITLE_MAX = 1000, NOTE_MAX = 64 * 1024, DEED_NAMES_MAX = 400 };

static void publish(struct store_op *op, size_t first)
{
    str topic = store_topic(&op->arena, op->store, op->id);
    for (size_t i = first; i < op->nlines; i++) {
        str line = str_slice(op->lines[i], 0, op->lines[i].n - 1);
        struct bus_msg msg = {.topic = topic,
                              .type = json_scan_plain(json_scan_field(line, STR("type"))),
                              .data = line,
                              .pos = op->pos[i]};
        publish_everywhere(op->store, &msg);
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

void op_appeared(struct store_op *op)
{
    op->step = announce_created;
    then_get(op);
}

static void created(struct store_op *op)
{
    publish(op, 1);
    op_appeared(op);
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
    c->branch = spec->branch ? json_clone(&op->arena, spec->branch) : NULL;
}

struct store_op *store_create(struct store *s, const struct conv_create *spec, store_conv_fn fn,
                              void *ctx)
{
    char fresh[RANDOM_ID_MAX];
    random_id("conv", fresh);
    struct store_op *op = op_new(s, spec->id.n ? spec->id : str_from(fresh), answer_conv, ctx);
    op->fn.conv = fn;
    copy_spec(op, spec);
    op->in.create.is_fresh_id |= spec->id.n == 0;
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

static void op_set_spend(struct store_op *op, const struct store_spend *spend)
{
    op->spend = (struct store_spend){arena_str(&op->arena, spend->user_id), spend->usd};
}

struct store_op *store_append(struct store *s, str id, const str *events, size_t n,
                              store_append_fn fn, void *ctx)
{
    return store_append_if(s, id, &(struct store_terms){0}, events, n, fn, ctx);
}

struct store_op *store_append_if(struct store *s, str id, const struct store_terms *terms,
                                 const str *events, size_t n, store_append_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_append, ctx);
    op->fn.append = fn;
    op->lease_epoch = terms->lease ? store_lease_epoch(terms->lease) : 0;
    op->has_at_end = terms->has_end;
    op->at_end = terms->end;
    op_set_spend(op, &terms->spend);
    copy_lines(op, events, n, 0);
    if (!op_check(op, true))
        return op;
    if (op->lease_epoch < 0) {
        err_set(&op->err, -EOWNERDEAD, STORE_LEASE_LOST);
        op_done_later(op);
    } else if (n == 0)
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
    str lines[2] = {op->in.text.event};
    size_t n = op->in.text.event.n > 0;
    if (op->in.text.only_if_unset && op->out.conv->title.n) {
        if (n > 0)
            append_own(op, lines, n, appended);
        else
            op_done(op);
        return;
    }
    struct buf b;
    struct json_writer w;
    buf_init(&b, TITLE_MAX * 8);
    event_begin_undated(&w, &b, EV_TITLE);
    jw_key(&w, "title");
    if (op->in.text.text.n)
        jw_str(&w, op->in.text.text);
    else
        jw_null(&w);
    if (op->in.text.only_if_unset)
        jw_kbool(&w, "auto", true);
    jw_end(&w);
    lines[n++] = buf_str(&b);
    append_own(op, lines, n, renamed);
    buf_done(&b);
}

static void answer_lease(struct store_op *op)
{
    op->fn.lease(op->ctx, op_err(op), op->out.lease);
}

bool store_has_leases(const struct store *s)
{
    return s->ops->has_leases && s->ops->has_leases(s);
}

struct store_op *store_take_lease(struct store *s, str id, store_lease_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_lease, ctx);
    assert(store_has_leases(s));
    op->fn.lease = fn;
    if (op_check(op, true))
        op_start(op, s->ops->take_lease);
    return op;
}

static struct store_op *title_new(struct store *s, str id, str title, store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->in.text.text = title_line(&op->arena, title);
    op->step = title_checked;
    return op;
}

static struct store_op *title_start(struct store_op *op)
{
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

struct store_op *store_set_title(struct store *s, str id, str title, store_conv_fn fn, void *ctx)
{
    return title_start(title_new(s, id, title, fn, ctx));
}

struct store_op *store_give_title(struct store *s, str id, str title, str event,
                                  const struct store_spend *spend, store_conv_fn fn, void *ctx)
{
    struct store_op *op = title_new(s, id, title, fn, ctx);
    op_set_spend(op, spend);
    op->in.text.event = arena_str(&op->arena, event);
    op->in.text.only_if_unset = true;
    op->may_wait = true; /* lists show the beginning of the question until then */
    return title_start(op);
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

/* Those who only read: nobody who does not take part, and not the owner. A reader stays one
 * unless the change names them, so that a client without roles lifts none. */
static struct json_strs readers_after(struct store_op *op, const struct json_strs *all)
{
    const struct sharing_change *change = &op->in.sharing.change;
    const struct conv_acl *now = &op->out.conv->acl;
    const struct json_strs *base = change->readers ? change->readers : &now->readers;
    struct json_strs out = {.items = arena_array(&op->arena, all->len + 1, sizeof(str))};
    for (size_t i = 0; i < all->len; i++) {
        str who = all->items[i];
        bool is_added = change->add && json_strs_has(change->add, who);
        bool is_reader = is_added && change->add_as != SHARING_AS_BEFORE
                             ? change->add_as == SHARING_READ
                             : json_strs_has(base, who);
        if (is_reader && !str_eq(who, now->owner_id))
            out.items[out.len++] = who;
    }
    return out;
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
    op->in.sharing.keeps_participants =
        !change->participants && !change->add && !change->remove && !change->readers;
    if (now->owner_id.n)
        out.items[out.len++] = now->owner_id;
    if (op->in.sharing.is_shared) {
        add_people(&out, base, change->remove);
        add_people(&out, change->add, NULL);
    }
    op->in.sharing.participants = out;
    op->in.sharing.readers = readers_after(op, &out);
}

static str participants_line(struct store_op *op)
{
    const struct json_strs out = op->in.sharing.participants, readers = op->in.sharing.readers;
    struct buf b;
    struct json_writer w;
    buf_init(&b, STORE_LINE_MAX);
    event_begin_undated(&w, &b, EV_PARTICIPANTS);
    jw_kstrs(&w, "participants", out.items, out.len);
    if (readers.len > 0)
        jw_kstrs(&w, "readers", readers.items, readers.len);
    jw_end(&w);
    return buf_keep(&b, &op->arena);
}

static str promoted_line(struct arena *a)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, 1024);
    event_begin_undated(&w, &b, EV_PROMOTED);
    jw_end(&w);
    return buf_keep(&b, a);
}

/* Users who lose access are notified first, so that they receive no later event of it. */
static void shared(struct store_op *op)
{
    const struct conv *before = op->out.conv;
    struct conv after = *before;
    struct conv_acl now = before->acl;
    now.is_shared = op->in.sharing.is_shared;
    if (!now.is_shared || !op->in.sharing.keeps_participants) {
        now.participants = op->in.sharing.participants;
        now.readers = op->in.sharing.readers;
    }
    if (now.is_shared && before->branch)
        after.is_hidden = false;
    announce_lost(op, &before->acl, &now);
    struct announcement n = announcement_of(&op->arena, &after, &now, before->title);
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
    str readers = names_without(op, &op->in.sharing.readers, &before->readers);
    if (is_shared && !keeps && readers.n > 0)
        deed_detail(op->deed, "readers=%.*s", STR_ARG(readers));
}

/* The list of participants follows from the state that was read, so nothing may have been appended
 * since: else it is read again (op_done). */
static void sharing_found(struct store_op *op)
{
    op->has_at_end = store_has_leases(op->store);
    op->at_end = op->out.conv->end;
    apply_sharing(op);
    struct buf b;
    struct json_writer w;
    buf_init(&b, 1024);
    event_begin_undated(&w, &b, EV_VISIBILITY);
    jw_kstr(&w, "visibility", op->in.sharing.is_shared ? STR("shared") : STR("private"));
    jw_end(&w);
    str lines[3] = {buf_str(&b)};
    size_t n = 1;
    if (!op->in.sharing.is_shared || !op->in.sharing.keeps_participants)
        lines[n++] = participants_line(op);
    /* People with whom a branch is shared would not find it behind a conversation of its owner. */
    if (op->in.sharing.is_shared && op->out.conv->branch)
        lines[n++] = promoted_line(&op->arena);
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

bool sharing_again(struct store_op *op)
{
    if (!op->is_sharing || op->err.code != -EBUSY || !op->has_at_end || ++op->tries > SHARING_TRIES)
        return false;
    err_clear(&op->err);
    op->step = sharing_found;
    then_get(op);
    return true;
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
        .readers = copy_people(&op->arena, change->readers),
        .add_as = change->add_as,
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
    event_begin_undated(&w, &b, EV_NOTE);
    jw_kstr(&w, "author", author);
    jw_kstr(&w, "content", text);
    jw_end(&w);
    append_buf(op, &b, appended);
    return op;
}

static void promoted(struct store_op *op)
{
    publish(op, 0);
    op_appeared(op);
}

static void promotion_found(struct store_op *op)
{
    str line = promoted_line(&op->arena);
    if (op->out.conv->branch)
        append_own(op, &line, 1, promoted);
    else
        op_done(op);
}

struct store_op *store_promote(struct store *s, str id, store_conv_fn fn, void *ctx)
{
    struct store_op *op = op_new(s, id, answer_conv, ctx);
    op->fn.conv = fn;
    op->step = promotion_found;
    if (op_check(op, true))
        then_get(op);
    return op;
}

struct store_op *store_fork(struct store *s, str id, int64_t at_message, str new_owner,
                            const struct json *branch, store_conv_fn fn, void *ctx)
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
    spec->is_fresh_id = true;
    spec->owner_id = arena_str(&op->arena, new_owner);
    spec->branch = branch ? json_clone(&op->arena, branch) : NULL;
    op->id = arena_str(&op->arena, str_from(fresh));
    op->step = op_appeared;
    s->ops->fork(op);
    return op;
}

struct store_op *store_put_blob(struct store *s, str id, str bytes, store_blob_fn fn, void *ctx)
{
    return store_put_blob_from(s, id, bytes, STR_NONE, fn, ctx);
}

struct store_op *store_put_blob_from(struct store *s, str id, str bytes, str from, store_blob_fn fn,
                                     void *ctx)
{
    struct store_op *op = op_new(s, id, answer_blob, ctx);
    op->fn.blob = fn;
    op->in.blob = arena_str(&op->arena, bytes);
    op->blob_from = arena_str(&op->arena, from);
    if (op_check(op, true))
        op_start(op, s->ops->put_blob);
    return op;
}

struct store_op *store_put_shared(struct store *s, str id, str bytes, str sha256, store_blob_fn fn,
                                  void *ctx)
{
    struct store_op *op = op_new(s, id, answer_blob, ctx);
    op->fn.blob = fn;
    op->out.blob = arena_str(&op->arena, sha256);
    op->is_shared_put = true;
    if (!op_check(op, true))
        return op;
    if (s->ops->take_shared && s->ops->take_shared(op)) {
        op_done_later(op);
        return op;
    }
    op->in.blob = arena_str(&op->arena, bytes);
    op_start(op, s->ops->put_shared);
    return op;
}

void store_release_shared(struct store *s, str sha256)
{
    if (s->ops->release_shared)
        s->ops->release_shared(s, sha256);
}
