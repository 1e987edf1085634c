/* queue.c - one active turn in each conversation, and the messages that wait for it.
 *
 * A conversation in which something happens has a struct busy_conv (turn.h). When its active turn
 * ends, queue_vacate() gives the first message that waits a turn. A message is listed from
 * queue.added to queue.removed; its file exists from MESSAGE_STORING until the message is freed,
 * unless the server stops (QUEUE_FILE_KEPT). */
#include "runtime/queue/queue.h"

#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "base/text/plain.h"
#include "bus/vocabulary.h"
#include "runtime/turn/turn.h"
#include "workspace/roster/directory.h"

#define QUEUE_IS_FULL                                                                              \
    "The queue of this conversation is full. Wait for the answer, or withdraw a queued message."

#define STILL_ANSWERING                                                                            \
    "The agent is still answering in this conversation. Wait for the answer, or cancel it."

/* May the message still be changed or withdrawn? */
static bool is_waiting(const struct message *m)
{
    return m->state == MESSAGE_QUEUED || m->state == MESSAGE_STEERING;
}

/* ---- the active turn of a conversation ---- */

struct busy_conv *queue_conv(struct runtime *rt, str conversation_id)
{
    struct busy_conv *b = map_get(&rt->busy, conversation_id);
    if (b)
        return b;
    b = xcalloc(1, sizeof *b);
    list_init(&b->waiting);
    map_put(&rt->busy, conversation_id, b);
    return b;
}

/* Nothing happens in it any more: the next message begins without waiting. */
static void free_if_idle(struct runtime *rt, str conversation_id, struct busy_conv *b)
{
    if (b->turn || !list_empty(&b->waiting))
        return;
    store_lease_release(b->lease);
    map_del(&rt->busy, conversation_id);
    free(b);
}

void queue_occupy(struct turn *t)
{
    if (t->busy)
        return; /* since queue_begin() */
    t->busy = queue_conv(t->rt, t->conversation_id);
    assert(!t->busy->turn);
    t->busy->turn = t;
}

/* A new turn from the beginning: history and rights may have changed while the message waited. */
void queue_begin(struct message *m)
{
    list_del(&m->place.node);
    struct turn *t = turn_new(m);
    queue_occupy(t);
    message_enter(m, MESSAGE_STARTING);
    defer_start(m->rt->deps.loop, &t->begin);
}

void queue_vacate(struct turn *t)
{
    struct busy_conv *b = t->busy;
    if (!b)
        return; /* it was refused, or a preview, before it became the active one */
    assert(b->turn == t);
    t->busy = NULL;
    b->turn = NULL;
    if (!list_empty(&b->waiting)) /* the others stay in the list, and wait for its turn */
        queue_begin(LIST_ENTRY(b->waiting.next, struct message, place.node));
    else
        free_if_idle(t->rt, t->conversation_id, b);
}

void queue_detach(struct turn *t)
{
    struct busy_conv *b = t->busy;
    assert(b && b->turn == t);
    t->busy = NULL;
    b->turn = NULL;
}

void queue_leave(struct message *m)
{
    struct busy_conv *b = map_get(&m->rt->busy, m->req.conversation_id);
    assert(!m->turn);
    list_del(&m->place.node);
    if (b)
        free_if_idle(m->rt, m->req.conversation_id, b);
}

/* ---- notifications and lists ---- */

static str display_name(const struct message *m)
{
    const struct directory *d = m->rt->deps.directory;
    const struct user *u = d ? roster_user(directory_roster(d), actor_user(m->actor)) : NULL;
    return u ? u->display_name : STR_NONE;
}

static void write_queued(struct json_writer *w, const struct message *m)
{
    char at[CLOCK_ISO_LEN + 1];
    clock_iso(m->place.since_ms, at);
    jw_kstr(w, "queuedId", str_from(m->place.id));
    jw_kstr(w, "userId", actor_user(m->actor));
    jw_kstr_or_null(w, "displayName", display_name(m));
    jw_kstr(w, "mode", m->state == MESSAGE_STEERING ? STR("steer") : STR("queue"));
    jw_kstr(w, "message", m->req.message);
    if (m->req.files)
        jw_kval(w, "files", m->req.files);
    if (m->req.is_for_people)
        jw_kbool(w, "forPeople", true);
    jw_kstr(w, "queuedAt", str_from(at));
}

static void publish_queue_event(struct message *m, str type, struct json_writer *w, struct buf *b)
{
    jw_end(w);
    if (!buf_failed(b))
        store_publish(m->rt->deps.store, m->req.conversation_id, type, buf_str(b));
    buf_done(b);
}

static void begin_queue_event(struct json_writer *w, struct buf *b)
{
    jw_start(w, b, QUEUE_FILE_MAX);
    jw_object(w);
}

static void publish_message(struct message *m, str type)
{
    struct json_writer w;
    struct buf b;
    begin_queue_event(&w, &b);
    write_queued(&w, m);
    publish_queue_event(m, type, &w, &b);
}

/* Once: a message that was withdrawn is not reported as refused, too. */
static void publish_removed(struct message *m, const char *reason, str by, const char *error)
{
    struct json_writer w;
    struct buf b;
    if (!m->place.is_listed)
        return;
    m->place.is_listed = false;
    begin_queue_event(&w, &b);
    jw_kstr(&w, "queuedId", str_from(m->place.id));
    jw_kstr(&w, "reason", str_from(reason));
    if (by.n > 0)
        jw_kstr(&w, "userId", by);
    if (error)
        jw_kstr(&w, "error", str_from(error));
    publish_queue_event(m, event_name(EV_QUEUE_REMOVED), &w, &b);
}

/* The message is in the log. Its id is remembered, so that a late edit gets -EALREADY. */
void queue_taken(struct message *m)
{
    struct runtime *rt = m->rt;
    if (m->req.mentions.len > 0 && rt->on_mentions && !rt->on_stopped)
        rt->on_mentions(rt->on_mentions_ctx, m->req.conversation_id, actor_user(m->actor),
                        &m->req.mentions);
    if (!m->place.is_listed)
        return;
    memcpy(rt->taken[rt->ntaken++ % QUEUE_TAKEN_KEPT], m->place.id, sizeof m->place.id);
    publish_removed(m, "taken", STR_NONE, NULL);
}

/* Of a message that is a row of a database: it was not reached, or another server has taken the
 * conversation over meanwhile. */
static bool is_passing(const struct runtime *rt, enum turn_refusal why, const struct err *err)
{
    return rt->queue_files.store && why == TURN_FAILED &&
           (err->code == -EHOSTUNREACH || err->code == -EOWNERDEAD);
}

/* A restored message has no listener who could send it again, and the cause (a missing key, a full
 * disk) may be temporary: its file is kept. */
void queue_refused(struct message *m, enum turn_refusal why, const struct err *err)
{
    struct err shown = *err;
    if (m->place.file == QUEUE_FILE_OWN && is_passing(m->rt, why, err)) {
        m->place.file = QUEUE_FILE_KEPT; /* restored from its row when the database is back */
        return;
    }
    plain_err(&shown);
    publish_removed(m, "refused", STR_NONE, shown.msg);
    if (!m->place.is_restored || m->place.file != QUEUE_FILE_OWN || why == TURN_NOT_FOUND ||
        why == TURN_FORBIDDEN || why == TURN_WITHDRAWN)
        return;
    m->place.file = QUEUE_FILE_KEPT;
    map_put(&m->rt->left, str_from(m->place.id), m->rt);
    log_warn(m->rt->deps.log, "runtime",
             "a queued message of %.*s was refused and is kept for the next start: %s",
             STR_ARG(m->req.conversation_id), err->msg);
}

/* ---- the file ---- */

static void write_strs(struct json_writer *w, const char *key, struct json_strs list)
{
    if (!list.items)
        return; /* no limit; an empty list is a limit that allows nothing */
    jw_kstrs(w, key, list.items, list.len);
}

static void write_contexts(struct json_writer *w, const struct turn_request *req)
{
    if (req->ncontexts == 0)
        return;
    jw_karray(w, "contexts");
    for (size_t i = 0; i < req->ncontexts; i++) {
        jw_object(w);
        jw_kstr(w, "app", req->contexts[i].app);
        jw_kstr(w, "callId", req->contexts[i].call_id);
        jw_kstr(w, "text", req->contexts[i].text);
        jw_end(w);
    }
    jw_end(w);
}

/* Everything that restore_message() needs; the listener is gone then. */
static struct queue_file_op *write_queue_file(struct message *m, queue_files_fn fn, void *ctx)
{
    struct json_writer w;
    struct buf b;
    begin_queue_event(&w, &b);
    jw_kstr(&w, "queuedId", str_from(m->place.id));
    jw_kstr(&w, "conversationId", m->req.conversation_id);
    jw_kstr(&w, "userId", actor_user(m->actor));
    jw_kstr(&w, "message", m->req.message);
    jw_kstr(&w, "model", m->req.model);
    jw_kstr(&w, "channel", m->req.channel);
    jw_kbool(&w, "unattended", m->req.is_unattended);
    jw_kbool(&w, "forPeople", m->req.is_for_people);
    jw_kbool(&w, "compact", m->req.wants_summary);
    jw_key(&w, "actor");
    actor_write(m->actor, &w);
    write_strs(&w, "autoAllow", m->req.auto_allow);
    write_strs(&w, "mentions", m->req.mentions);
    if (m->app)
        jw_kval(&w, "app", m->app);
    if (m->req.app.n > 0)
        jw_kstr(&w, "byApp", m->req.app);
    write_contexts(&w, &m->req);
    if (m->req.files)
        jw_kval(&w, "files", m->req.files);
    jw_kint(&w, "queuedMs", m->place.since_ms);
    jw_kint(&w, "number", (int64_t)m->place.number);
    jw_end(&w);
    m->place.file = QUEUE_FILE_OWN;
    struct queue_file_op *op =
        queue_files_write(&m->rt->queue_files, str_from(m->place.id), buf_str(&b), fn, ctx);
    buf_done(&b);
    return op;
}

/* ---- waiting ---- */

/* A new watcher gets all queued messages, so together they are no longer than one message may be.
 * In a conversation without a turn the first message has the place of one, and does not count. */
static bool has_room(const struct busy_conv *b, const struct message *m, size_t bytes)
{
    const struct list_node *first = b->turn ? NULL : b->waiting.next;
    size_t n = 0;
    LIST_EACH (other, (struct list_node *)&b->waiting, const struct message, place.node) {
        if (&other->place.node == first || other == m)
            continue;
        n++;
        bytes += other->place.is_listed ? other->req.message.n : 0; /* a run may have taken it */
    }
    return n < TURN_QUEUE_MAX && (n == 0 || bytes <= TURN_MESSAGE_MAX);
}

static void refuse_queued(struct message *m, enum turn_refusal why, const char *words)
{
    struct err e = {0};
    err_set(&e, -EBUSY, "%s", words);
    message_refuse(m, why, &e);
}

/* The file is kept, and the next start restores the message. */
static void leave_for_restart(struct message *m)
{
    m->place.file = QUEUE_FILE_KEPT;
    m->place.is_listed = false; /* no queue.removed: clients that reconnect find it listed again */
    refuse_queued(m, TURN_STOPPING,
                  m->rt->queue_files.dir || m->rt->queue_files.store
                      ? "The server is stopping. The message stays queued and is sent after "
                        "the restart."
                      : "The server is stopping. The message was not sent.");
}

void queue_join(struct message *m, struct busy_conv *b)
{
    /* Files are read into the history when a turn begins: a run under way cannot take them. */
    bool is_steering = m->req.when_busy == TURN_STEER && b->turn && b->turn->run && !m->req.files &&
                       !m->req.is_for_people;
    message_enter(m, is_steering ? MESSAGE_STEERING : MESSAGE_QUEUED);
    list_push(&b->waiting, &m->place.node);
    m->place.is_listed = true;
}

/* To all watchers, and to the sender, who gets the id for changes. */
static void tell_queued(struct message *m)
{
    publish_message(m, event_name(EV_QUEUE_ADDED));
    if (m->ev && m->ev->on_queued)
        m->ev->on_queued(m->ctx, m->req.conversation_id, str_from(m->place.id));
}

static void join_queue(struct message *m, struct busy_conv *b)
{
    queue_join(m, b);
    tell_queued(m);
    if (m->state == MESSAGE_STEERING)
        message_announce(m, m->req.conversation_id, str_from(b->turn->run_id), false);
}

/* The active turn may have ended while the file was being written, and everything else may have
 * changed as well: decide again. */
static void on_message_stored(void *ctx, const struct err *err)
{
    struct message *m = ctx;
    struct busy_conv *b = map_get(&m->rt->busy, m->req.conversation_id);
    assert(m->state == MESSAGE_STORING);
    if (err)
        message_refuse(m, TURN_FAILED, err);
    else if (m->rt->on_stopped)
        leave_for_restart(m);
    else if (m->is_cancelled)
        refuse_queued(m, TURN_WITHDRAWN, "The message was withdrawn.");
    else if (!b)
        queue_begin(m);
    else if (!has_room(b, m, m->req.message.n))
        refuse_queued(m, TURN_BUSY, QUEUE_IS_FULL);
    else
        join_queue(m, b);
}

/* What the turn has found out so far and the message keeps: the model of the conversation now. */
static void keep_findings(struct message *m, const struct turn *t)
{
    m->req.model = arena_str(&m->arena, t->model);
    m->app = t->app ? json_clone(&m->arena, t->app) : NULL;
}

/* An answer belongs to the question that is open now; it cannot wait for a later run. */
static bool may_wait(const struct message *m)
{
    return m->req.when_busy != TURN_REFUSE_BUSY && m->req.answer.ask_id.n == 0;
}

/* It is durable before its sender is told that it waits. */
static void store_message(struct turn *t)
{
    struct message *m = t->msg;
    random_id("msg", m->place.id);
    m->place.since_ms = clock_now_ms();
    m->place.number = ++t->rt->nqueued;
    keep_findings(m, t);
    turn_free(t);
    message_enter(m, MESSAGE_STORING);
    (void)write_queue_file(m, on_message_stored, m);
}

void queue_wait(struct turn *t)
{
    struct message *m = t->msg;
    const struct busy_conv *b = map_get(&t->rt->busy, t->conversation_id);
    assert(b && !t->busy && m->place.id[0] == '\0'); /* a message is queued at most once */
    if (!may_wait(m))
        refuse_queued(m, TURN_BUSY, STILL_ANSWERING);
    else if (!has_room(b, m, m->req.message.n))
        refuse_queued(m, TURN_BUSY, QUEUE_IS_FULL);
    else
        store_message(t);
}

/* The first time the message is stored, and then tried once more; after that it waits in front of
 * all others, without a turn, until hold.c tries again. */
void queue_wait_for_other(struct turn *t)
{
    struct message *m = t->msg;
    struct busy_conv *b = t->busy;
    if (!may_wait(m)) {
        refuse_queued(m, TURN_BUSY, STILL_ANSWERING);
        return;
    }
    queue_detach(t);
    if (m->place.id[0] == '\0') {
        str id = m->req.conversation_id;
        struct runtime *rt = t->rt;
        store_message(t);
        free_if_idle(rt, id, b);
        return;
    }
    turn_free(t);
    message_enter(m, MESSAGE_QUEUED);
    list_push_front(&b->waiting, &m->place.node);
    if (m->rt->on_stopped) {
        leave_for_restart(m);
    } else if (!m->place.is_listed) {
        m->place.is_listed = true;
        tell_queued(m);
    }
}

/* ---- requests of people ---- */

/* The list has the same objects as the event queue.added. */
static void push_message(struct json *list, const struct message *m, struct arena *a)
{
    struct json *one;
    struct json_writer w;
    struct buf b;
    begin_queue_event(&w, &b);
    write_queued(&w, m);
    jw_end(&w);
    if (json_parse(a, buf_str(&b), JSON_COPY, &one, NULL) == 0)
        json_push(a, list, *one);
    buf_done(&b);
}

struct json *queue_json(const struct runtime *rt, str conversation_id, struct arena *a)
{
    struct json *list = json_new(a, JSON_ARRAY);
    struct busy_conv *b = map_get(&rt->busy, conversation_id);
    if (!b)
        return list;
    if (b->turn && b->turn->msg->place.is_listed) /* it is not in the log yet */
        push_message(list, b->turn->msg, a);
    LIST_EACH (m, &b->waiting, const struct message, place.node) {
        if (m->place.is_listed)
            push_message(list, m, a);
    }
    return list;
}

void queue_forward(const struct runtime *rt, str conversation_id)
{
    struct arena a;
    arena_init(&a);
    const struct json *list = queue_json(rt, conversation_id, &a);
    for (size_t i = 0; i < list->len; i++)
        store_forward(rt->deps.store, conversation_id, event_name(EV_QUEUE_ADDED),
                      json_to_str(&a, &list->items[i]));
    arena_done(&a);
}

/* Only the newest ids are kept: older ones get -ENOENT. */
static bool was_taken(const struct runtime *rt, str queued_id)
{
    for (size_t i = 0; i < QUEUE_TAKEN_KEPT; i++)
        if (queued_id.n > 0 && str_eq(queued_id, str_from(rt->taken[i])))
            return true;
    return false;
}

static struct message *find_listed(const struct runtime *rt, const struct queue_ref *which)
{
    LIST_EACH (m, (struct list_node *)&rt->messages, struct message, node) {
        if (m->place.is_listed && str_eq(str_from(m->place.id), which->queued_id) &&
            str_eq(m->req.conversation_id, which->conversation_id))
            return m;
    }
    return NULL;
}

static int find_queued(const struct runtime *rt, const struct queue_ref *which,
                       struct message **ret, struct err *e)
{
    struct message *m = find_listed(rt, which);
    bool is_theirs = m && (which->sender.n == 0 || str_eq(actor_user(m->actor), which->sender));
    if (is_theirs && is_waiting(m)) {
        *ret = m;
        return 0;
    }
    if (is_theirs || was_taken(rt, which->queued_id))
        return err_set(e, -EALREADY,
                       "This message is not queued any more: it was already sent to the agent.");
    return err_set(e, -ENOENT, "No queued message has this id in this conversation.");
}

int queue_edit(struct runtime *rt, const struct queue_ref *which, str message, queue_files_fn fn,
               void *ctx, struct queue_file_op **ret_op, struct err *e)
{
    struct message *m;
    int r = find_queued(rt, which, &m, e);
    if (r == 0 && !(actor_covers(which->by, m->actor) && actor_covers_grant(which->by, m->actor)))
        r = err_set(e, -EPERM,
                    "This message was sent with more rights than this token has. Withdraw it, or "
                    "edit it with the token or session that sent it.");
    if (r == 0)
        r = message_check_text(message, e);
    if (r == 0 && !has_room(map_get(&rt->busy, which->conversation_id), m, message.n))
        r = err_set(e, -EINVAL, QUEUE_IS_FULL);
    if (r < 0)
        return r;
    free(m->edited);
    m->edited = str_dup(message);
    m->req.message = str_make(m->edited, message.n);
    publish_message(m, event_name(EV_QUEUE_CHANGED));
    *ret_op = write_queue_file(m, fn, ctx);
    return 0;
}

int queue_withdraw(struct runtime *rt, const struct queue_ref *which, str by, queue_files_fn fn,
                   void *ctx, struct queue_file_op **ret_op, struct err *e)
{
    struct message *m;
    int r = find_queued(rt, which, &m, e);
    if (r < 0)
        return r;
    publish_removed(m, "withdrawn", by, NULL);
    *ret_op = queue_files_remove(&rt->queue_files, which->queued_id, fn, ctx);
    m->place.file = QUEUE_FILE_NONE;
    refuse_queued(m, TURN_WITHDRAWN, "The message was withdrawn.");
    return 0;
}

/* For people and tokens that lose their access, and for conversations that are deleted. */
bool queue_drop(struct message *m, enum turn_refusal why, const char *words)
{
    if (!is_waiting(m))
        return false;
    publish_removed(m, "withdrawn", STR_NONE, NULL);
    refuse_queued(m, why, words);
    return true;
}

/* Runs end later, and nothing is left that their end could start. */
void queue_leave_all(struct runtime *rt)
{
    LIST_EACH (m, &rt->messages, struct message, node) {
        if (is_waiting(m))
            leave_for_restart(m);
    }
}

/* A queued message may outlive the membership or the token of its sender. */
bool queue_still_member(const struct message *m)
{
    return m->place.id[0] == '\0' || actor_is_current(m->actor, clock_now_ms());
}
