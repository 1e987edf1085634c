/* queue_remote.c - messages that are queued on another server: lists of them, and changes.
 *
 * The server that has the message in its memory makes the change, with the same checks as for its
 * own clients: the question names the sender, and the actor who edits. A server that does not have
 * the message says nothing. */
#include <assert.h>
#include <errno.h>

#include "base/clock.h"
#include "bus/vocabulary.h"
#include "runtime/queue/queue.h"
#include "runtime/turn/turn.h"
#include "workspace/roster/directory.h"

/* ---- listing ---- */

static bool has_queued(const struct json *list, str queued_id)
{
    for (size_t i = 0; i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "queuedId"), queued_id))
            return true;
    return false;
}

/* As queue.added has it; of the document only what people see. */
static struct json *shown_document(const struct runtime *rt, struct arena *a,
                                   const struct json *doc)
{
    char at[CLOCK_ISO_LEN + 1];
    struct json *one = json_new(a, JSON_OBJECT);
    str user_id = json_get_string(doc, "userId");
    const struct directory *d = rt->deps.directory;
    const struct user *u = d ? roster_user(directory_roster(d), user_id) : NULL;
    const struct json *files = json_get(doc, "files");
    clock_iso(json_get_int(doc, "queuedMs", 0), at);
    json_set(a, one, STR("queuedId"), json_of_str(json_get_string(doc, "queuedId")));
    json_set(a, one, STR("userId"), json_of_str(user_id));
    json_set(a, one, STR("displayName"),
             u && u->display_name.n > 0 ? json_of_str(arena_str(a, u->display_name))
                                        : *json_new(a, JSON_NULL));
    json_set(a, one, STR("mode"), json_of_str(STR("queue"))); /* only its own server steers */
    json_set(a, one, STR("message"), json_of_str(json_get_string(doc, "message")));
    if (files)
        json_set(a, one, STR("files"), *files);
    if (json_get_bool(doc, "forPeople", false))
        json_set(a, one, STR("forPeople"), json_of_bool(true));
    json_set(a, one, STR("queuedAt"), json_of_str(arena_str(a, str_from(at))));
    return one;
}

static int by_queued_time(const void *a, const void *b)
{
    return str_cmp(json_get_string(a, "queuedAt"), json_get_string(b, "queuedAt"));
}

struct json *queue_json_with(const struct runtime *rt, str conversation_id,
                             const struct json_strs *documents, struct arena *a)
{
    struct json *list = queue_json(rt, conversation_id, a), *doc;
    size_t own = list->len;
    for (size_t i = 0; i < documents->len; i++)
        if (json_parse(a, documents->items[i], JSON_COPY, &doc, NULL) == 0 &&
            str_eq(json_get_string(doc, "conversationId"), conversation_id) &&
            !has_queued(list, json_get_string(doc, "queuedId")))
            json_push(a, list, *shown_document(rt, a, doc));
    if (list->len > own)
        qsort(list->items, list->len, sizeof *list->items, by_queued_time);
    return list;
}

/* ---- asking ---- */

static void begin_question(struct json_writer *w, struct buf *b, const char *what,
                           const struct queue_ref *which)
{
    others_begin(w, b, what);
    jw_kstr(w, "queuedId", which->queued_id);
    jw_kstr(w, "sender", which->sender);
}

struct others_ask *queue_edit_elsewhere(struct runtime *rt, const struct queue_ref *which,
                                        str message, others_fn fn, void *ctx)
{
    struct json_writer w;
    struct buf b;
    begin_question(&w, &b, "queue.edit", which);
    jw_kstr(&w, "message", message);
    jw_key(&w, "actor");
    actor_write(which->by, &w);
    return others_ask(rt, which->conversation_id, &w, &b, fn, ctx);
}

struct others_ask *queue_withdraw_elsewhere(struct runtime *rt, const struct queue_ref *which,
                                            str by, others_fn fn, void *ctx)
{
    struct json_writer w;
    struct buf b;
    begin_question(&w, &b, "queue.withdraw", which);
    jw_kstr(&w, "by", by);
    return others_ask(rt, which->conversation_id, &w, &b, fn, ctx);
}

/* ---- answering ---- */

struct queue_answer {
    struct runtime *rt;
    char ask_id[RANDOM_ID_MAX];
};

static void on_asked_change(void *ctx, const struct err *err)
{
    struct queue_answer *a = ctx;
    struct runtime *rt = a->rt;
    others_reply(rt, str_from(a->ask_id), err);
    free(a);
    assert(rt->nrecords > 0);
    rt->nrecords--;
    runtime_check_stopped(rt);
}

static int make_change(struct runtime *rt, const struct queue_ref *which, const struct json *q,
                       struct queue_answer *a, struct err *e)
{
    struct queue_file_op *op;
    struct queue_ref ref = *which;
    if (str_eq(json_get_string(q, "do"), STR("queue.withdraw")))
        return queue_withdraw(rt, which, json_get_string(q, "by"), on_asked_change, a, &op, e);
    struct actor *by = actor_read(rt->deps.directory, rt->deps.workspace_id, json_get(q, "actor"));
    if (!by)
        return err_set(e, -EPERM, "the editor of the message is not known here");
    ref.by = by;
    int r = queue_edit(rt, &ref, json_get_string(q, "message"), on_asked_change, a, &op, e);
    actor_unref(by);
    return r;
}

void queue_asked(struct runtime *rt, str conversation_id, str ask_id, const struct json *question)
{
    static const char *const KNOWN[] = {"queue.edit", "queue.withdraw"};
    struct err e = {0};
    if (rt->on_stopped || STR_INDEX(json_get_string(question, "do"), KNOWN) < 0 ||
        ask_id.n >= RANDOM_ID_MAX)
        return;
    const struct queue_ref which = {.conversation_id = conversation_id,
                                    .queued_id = json_get_string(question, "queuedId"),
                                    .sender = json_get_string(question, "sender")};
    struct queue_answer *a = xcalloc(1, sizeof *a);
    a->rt = rt;
    memcpy(a->ask_id, ask_id.p, ask_id.n);
    rt->nrecords++;
    int r = make_change(rt, &which, question, a, &e);
    if (r == 0)
        return;
    if (r != -ENOENT) /* else a different server may have it */
        others_reply(rt, ask_id, &e);
    free(a);
    rt->nrecords--;
    runtime_check_stopped(rt);
}
