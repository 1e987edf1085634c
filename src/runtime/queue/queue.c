/* queue.c - turns that are queued behind another turn of their conversation, and their files.
 *
 * Every queued turn is in `queued` of the active turn of its conversation, in the order of arrival.
 * When the active turn ends, turn_resume_queue() makes the first of them the active one and moves
 * the others behind it. A message is listed (is_shown) from queue.added to queue.removed; its file
 * exists from TURN_STORING until the turn is freed, unless the server stops (keeps_file). */
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

/* May the message still be changed or withdrawn? A steering message without text has been read by
 * the run. */
static bool is_waiting(const struct turn *t)
{
    return t->state == TURN_HELD || t->state == TURN_QUEUED ||
           (t->state == TURN_STEERING && t->message.n > 0);
}

/* As in the API: whenBusy. */
static const char *mode_of(const struct turn *t)
{
    return t->state == TURN_STEERING ? "steer" : "queue";
}

/* ---- notifications and lists ---- */

static str display_name(const struct turn *t)
{
    const struct directory *d = t->rt->deps.directory;
    const struct user *u = d ? roster_user(directory_roster(d), actor_user(t->actor)) : NULL;
    return u ? u->display_name : STR_NONE;
}

static void write_queued(struct json_writer *w, const struct turn *t)
{
    char at[CLOCK_ISO_LEN + 1];
    clock_iso(t->queued_ms, at);
    jw_kstr(w, "queuedId", str_from(t->queued_id));
    jw_kstr(w, "userId", actor_user(t->actor));
    jw_kstr_or_null(w, "displayName", display_name(t));
    jw_kstr(w, "mode", str_from(mode_of(t)));
    jw_kstr(w, "message", t->message);
    jw_kstr(w, "queuedAt", str_from(at));
}

static void publish_queue_event(struct turn *t, str type, struct json_writer *w, struct buf *b)
{
    jw_end(w);
    if (!buf_failed(b))
        turn_publish(t, type, buf_str(b));
    buf_done(b);
}

static void begin_queue_event(struct json_writer *w, struct buf *b)
{
    jw_start(w, b, QUEUE_FILE_MAX);
    jw_object(w);
}

static void publish_message(struct turn *t, str type)
{
    struct json_writer w;
    struct buf b;
    begin_queue_event(&w, &b);
    write_queued(&w, t);
    publish_queue_event(t, type, &w, &b);
}

static void publish_removed(struct turn *t, const char *reason, str by, const char *error)
{
    struct json_writer w;
    struct buf b;
    if (!t->is_shown)
        return;
    t->is_shown = false;
    begin_queue_event(&w, &b);
    jw_kstr(&w, "queuedId", str_from(t->queued_id));
    jw_kstr(&w, "reason", str_from(reason));
    if (by.n > 0)
        jw_kstr(&w, "userId", by);
    if (error)
        jw_kstr(&w, "error", str_from(error));
    publish_queue_event(t, event_name(EV_QUEUE_REMOVED), &w, &b);
}

/* The message is in the log. Its id is remembered, so that a late edit gets -EALREADY. */
void queue_taken(struct turn *t)
{
    struct runtime *rt = t->rt;
    if (!t->is_shown)
        return;
    memcpy(rt->taken[rt->ntaken++ % QUEUE_TAKEN_KEPT], t->queued_id, sizeof t->queued_id);
    publish_removed(t, "taken", STR_NONE, NULL);
}

/* A restored message has no listener who could send it again, and the cause (a missing key, a full
 * disk) may be temporary: its file is kept. */
void queue_refused(struct turn *t, enum turn_refusal why, const struct err *err)
{
    struct err shown = *err;
    plain_err(&shown);
    publish_removed(t, "refused", STR_NONE, shown.msg);
    if (!t->is_restored || t->keeps_file || why == TURN_NOT_FOUND || why == TURN_FORBIDDEN ||
        why == TURN_WITHDRAWN)
        return;
    t->keeps_file = true;
    log_warn(t->rt->deps.log, "runtime",
             "a queued message of %.*s was refused and is kept for the next start: %s",
             STR_ARG(t->conversation_id), err->msg);
}

/* ---- the file ---- */

static void write_strs(struct json_writer *w, const char *key, struct json_strs list)
{
    if (!list.items)
        return; /* no limit; an empty list is a limit that allows nothing */
    jw_kstrs(w, key, list.items, list.len);
}

static struct queue_file_op *write_queue_file(struct turn *t, queue_files_fn fn, void *ctx)
{
    struct json_writer w;
    struct buf b;
    begin_queue_event(&w, &b);
    jw_kstr(&w, "queuedId", str_from(t->queued_id));
    jw_kstr(&w, "conversationId", t->conversation_id);
    jw_kstr(&w, "userId", actor_user(t->actor));
    jw_kstr(&w, "message", t->message);
    jw_kstr(&w, "model", t->model);
    jw_kstr(&w, "channel", t->channel);
    jw_kbool(&w, "unattended", t->is_unattended);
    jw_key(&w, "actor");
    actor_write(t->actor, &w);
    write_strs(&w, "autoAllow", t->auto_allow);
    if (t->app)
        jw_kval(&w, "app", t->app);
    jw_kint(&w, "queuedMs", t->queued_ms);
    jw_kint(&w, "number", (int64_t)t->queued_number);
    jw_end(&w);
    t->has_file = true;
    struct queue_file_op *op =
        queue_files_write(&t->rt->queue_files, str_from(t->queued_id), buf_str(&b), fn, ctx);
    buf_done(&b);
    return op;
}

/* ---- waiting ---- */

/* A new watcher gets all queued messages, so together they are no longer than one message may be.
 */
static bool has_room(const struct turn *busy, const struct turn *t, size_t bytes)
{
    size_t n = 0;
    LIST_EACH (other, (struct list_node *)&busy->queued, const struct turn, queue_node) {
        n += other != t;
        bytes += other != t ? other->message.n : 0;
    }
    return n < TURN_QUEUE_MAX && (n == 0 || bytes <= TURN_MESSAGE_MAX);
}

static void refuse_queued(struct turn *t, enum turn_refusal why, const char *message)
{
    struct err e = {0};
    err_set(&e, -EBUSY, "%s", message);
    turn_refuse(t, why, &e);
}

/* The file is kept, and the next start restores the message. */
static void leave_for_restart(struct turn *t)
{
    t->keeps_file = true;
    t->is_shown = false; /* no queue.removed: clients that reconnect find it listed again */
    refuse_queued(t, TURN_STOPPING,
                  t->rt->queue_files.dir
                      ? "The server is stopping. The message stays queued and is sent after "
                        "the restart."
                      : "The server is stopping. The message was not sent.");
}

static void join_queue(struct turn *t, struct turn *busy)
{
    bool is_steering =
        t->when_busy == TURN_STEER && busy->run; /* without a run: nothing to steer */
    turn_enter(t, is_steering ? TURN_STEERING : TURN_QUEUED);
    list_push(&busy->queued, &t->queue_node);
    t->is_shown = true;
    publish_message(t, event_name(EV_QUEUE_ADDED));
    if (t->ev && t->ev->on_queued)
        t->ev->on_queued(t->ctx, t->conversation_id, str_from(t->queued_id));
    if (t->state == TURN_STEERING)
        turn_announce(t, str_from(busy->run_id));
}

/* The active turn may have ended while the file was being written, and everything else may have
 * changed as well: decide again. */
static void on_message_stored(void *ctx, const struct err *err)
{
    struct turn *t = ctx;
    struct turn *busy = map_get(&t->rt->active, t->conversation_id);
    assert(t->state == TURN_STORING && busy != t);
    if (err)
        turn_refuse(t, TURN_FAILED, err);
    else if (t->rt->on_stopped)
        leave_for_restart(t);
    else if (t->is_cancelled)
        refuse_queued(t, TURN_WITHDRAWN, "The message was withdrawn.");
    else if (!busy)
        turn_begin_waiting(t);
    else if (!has_room(busy, t, t->message.n))
        refuse_queued(t, TURN_BUSY, QUEUE_IS_FULL);
    else
        join_queue(t, busy);
}

void queue_wait(struct turn *t, struct turn *busy)
{
    assert(busy != t && t->queued_id[0] == '\0'); /* a turn is queued at most once */
    if (t->when_busy == TURN_REFUSE_BUSY || t->answer.ask_id.n > 0) {
        refuse_queued(t, TURN_BUSY,
                      "The agent is still answering in this conversation. Wait for the answer, or "
                      "cancel it.");
    } else if (!has_room(busy, t, t->message.n)) {
        refuse_queued(t, TURN_BUSY, QUEUE_IS_FULL);
    } else {
        random_id("msg", t->queued_id);
        t->queued_ms = clock_now_ms();
        t->queued_number = ++t->rt->nqueued;
        turn_enter(t, TURN_STORING);
        (void)write_queue_file(t, on_message_stored, t);
    }
}

void turn_begin_waiting(struct turn *t)
{
    map_put(&t->rt->active, t->conversation_id, t);
    turn_enter(t, TURN_STARTING);
    t->when_busy = TURN_REFUSE_BUSY; /* it is the active turn: it never waits a second time */
    defer_start(t->rt->deps.loop, &t->begin);
}

void queue_hold(struct turn *t)
{
    map_put(&t->rt->active, t->conversation_id, t);
    turn_enter(t, TURN_HELD);
}

/* The next turn starts from the beginning, because the history has changed; the others wait for
 * it. */
void turn_resume_queue(struct turn *from)
{
    if (list_empty(&from->queued))
        return;
    assert(map_get(&from->rt->active, from->conversation_id) == from);
    map_del(&from->rt->active, from->conversation_id);
    struct turn *next = LIST_ENTRY(list_pop(&from->queued), struct turn, queue_node);
    LIST_FOREACH (n, &from->queued) {
        list_del(n);
        list_push(&next->queued, n);
    }
    if (from->state == TURN_HELD) /* withdrawn before queue_release() */
        queue_hold(next);
    else
        turn_begin_waiting(next);
}

/* ---- requests of people ---- */

/* The list has the same objects as the event queue.added. */
static void push_message(struct json *list, const struct turn *t, struct arena *a)
{
    struct json *one;
    struct json_writer w;
    struct buf b;
    begin_queue_event(&w, &b);
    write_queued(&w, t);
    jw_end(&w);
    if (json_parse(a, buf_str(&b), JSON_COPY, &one, NULL) == 0)
        json_push(a, list, *one);
    buf_done(&b);
}

struct json *queue_json(const struct runtime *rt, str conversation_id, struct arena *a)
{
    struct json *list = json_new(a, JSON_ARRAY);
    struct turn *first = map_get(&rt->active, conversation_id);
    if (!first)
        return list;
    if (first->is_shown)
        push_message(list, first, a);
    LIST_EACH (t, &first->queued, const struct turn, queue_node)
        if (t->is_shown)
            push_message(list, t, a);
    return list;
}

/* Only the newest ids are kept: older ones get -ENOENT. */
static bool was_taken(const struct runtime *rt, str queued_id)
{
    for (size_t i = 0; i < QUEUE_TAKEN_KEPT; i++)
        if (queued_id.n > 0 && str_eq(queued_id, str_from(rt->taken[i])))
            return true;
    return false;
}

static struct turn *find_turn(const struct runtime *rt, const struct queue_ref *which)
{
    LIST_EACH (t, (struct list_node *)&rt->turns, struct turn, node) {
        if (t->is_shown && str_eq(str_from(t->queued_id), which->queued_id) &&
            str_eq(t->conversation_id, which->conversation_id))
            return t;
    }
    return NULL;
}

static int find_queued(const struct runtime *rt, const struct queue_ref *which, struct turn **ret,
                       struct err *e)
{
    struct turn *t = find_turn(rt, which);
    bool is_theirs = t && (which->sender.n == 0 || str_eq(actor_user(t->actor), which->sender));
    if (is_theirs && is_waiting(t)) {
        *ret = t;
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
    struct turn *t;
    int r = find_queued(rt, which, &t, e);
    if (r == 0 && !(actor_covers(which->by, t->actor) && actor_covers_grant(which->by, t->actor)))
        r = err_set(e, -EPERM,
                    "This message was sent with more rights than this token has. Withdraw it, or "
                    "edit it with the token or session that sent it.");
    if (r == 0)
        r = turn_check_message(message, e);
    if (r == 0 && !has_room(map_get(&rt->active, which->conversation_id), t, message.n))
        r = err_set(e, -EINVAL, QUEUE_IS_FULL);
    if (r < 0)
        return r;
    free(t->edited);
    t->edited = str_dup(message);
    t->message = str_make(t->edited, message.n);
    publish_message(t, event_name(EV_QUEUE_CHANGED));
    *ret_op = write_queue_file(t, fn, ctx);
    return 0;
}

int queue_withdraw(struct runtime *rt, const struct queue_ref *which, str by, queue_files_fn fn,
                   void *ctx, struct queue_file_op **ret_op, struct err *e)
{
    struct turn *t;
    int r = find_queued(rt, which, &t, e);
    if (r < 0)
        return r;
    publish_removed(t, "withdrawn", by, NULL);
    *ret_op = queue_files_remove(&rt->queue_files, which->queued_id, fn, ctx);
    t->has_file = false;
    refuse_queued(t, TURN_WITHDRAWN, "The message was withdrawn.");
    return 0;
}

/* For people and tokens that lose their access. */
bool queue_drop(struct turn *t)
{
    if (!is_waiting(t))
        return false;
    publish_removed(t, "withdrawn", STR_NONE, NULL);
    refuse_queued(t, TURN_WITHDRAWN, "The message was withdrawn.");
    return true;
}

static void leave_all_of(struct runtime *rt, bool is_held)
{
    LIST_EACH (t, &rt->turns, struct turn, node)
        if (is_waiting(t) && (t->state == TURN_HELD) == is_held)
            leave_for_restart(t);
}

/* Turns behind others end first: otherwise the end of one would start the next. */
void queue_leave_all(struct runtime *rt)
{
    leave_all_of(rt, false);
    leave_all_of(rt, true);
}

/* A queued message may outlive the membership or the token of its sender. */
bool queue_still_member(struct turn *t)
{
    return t->queued_id[0] == '\0' || actor_is_current(t->actor, clock_now_ms());
}
