/* queue_restore.c - messages that were queued when the server ended.
 *
 * They are queued again in conversations without a turn. Nothing is sent before queue_release(),
 * because the tools are not there yet. */
#include <assert.h>
#include <errno.h>

#include "base/json/json_decode.h"
#include "runtime/queue/queue.h"
#include "runtime/turn/turn.h"

struct stored_message {
    struct turn_request req;
    str queued_id, user_id, token_id;
    struct json_strs token_tools;
    const struct json *actor, *app;
    struct json_structs contexts; /* struct view_context */
    int64_t queued_ms, number;
};

static const struct json_field CONTEXT_FIELDS[] = {
    {"app", JF_STR, offsetof(struct view_context, app), JF_REQUIRED, NULL, 0},
    {"callId", JF_STR, offsetof(struct view_context, call_id), 0, NULL, 0},
    {"text", JF_STR, offsetof(struct view_context, text), JF_REQUIRED, NULL, 0},
    {0}};

static const struct json_field FIELDS[] = {
    {"queuedId", JF_STR, offsetof(struct stored_message, queued_id), JF_REQUIRED, NULL, 0},
    {"conversationId", JF_STR, offsetof(struct stored_message, req.conversation_id), JF_REQUIRED,
     NULL, 0},
    {"userId", JF_STR, offsetof(struct stored_message, user_id), JF_REQUIRED, NULL, 0},
    {"message", JF_STR, offsetof(struct stored_message, req.message), JF_REQUIRED, NULL, 0},
    {"model", JF_STR, offsetof(struct stored_message, req.model), 0, NULL, 0},
    {"channel", JF_STR, offsetof(struct stored_message, req.channel), 0, NULL, 0},
    {"tokenId", JF_STR, offsetof(struct stored_message, token_id), 0, NULL, 0},
    {"unattended", JF_BOOL, offsetof(struct stored_message, req.is_unattended), 0, NULL, 0},
    {"forPeople", JF_BOOL, offsetof(struct stored_message, req.is_for_people), 0, NULL, 0},
    {"allowedTools", JF_STRS, offsetof(struct stored_message, req.allowed_tools), 0, NULL, 0},
    {"tokenTools", JF_STRS, offsetof(struct stored_message, token_tools), 0, NULL, 0},
    {"actor", JF_JSON_OBJECT, offsetof(struct stored_message, actor), 0, NULL, 0},
    {"app", JF_JSON_OBJECT, offsetof(struct stored_message, app), 0, NULL, 0},
    {"byApp", JF_STR, offsetof(struct stored_message, req.app), 0, NULL, 0},
    {"contexts", JF_OBJECTS, offsetof(struct stored_message, contexts), 0, CONTEXT_FIELDS,
     sizeof(struct view_context)},
    {"files", JF_JSON, offsetof(struct stored_message, req.files), 0, NULL, 0},
    {"autoAllow", JF_STRS, offsetof(struct stored_message, req.auto_allow), 0, NULL, 0},
    {"mentions", JF_STRS, offsetof(struct stored_message, req.mentions), 0, NULL, 0},
    {"compact", JF_BOOL, offsetof(struct stored_message, req.wants_summary), 0, NULL, 0},
    {"queuedMs", JF_INT, offsetof(struct stored_message, queued_ms), 0, NULL, 0},
    {"number", JF_INT, offsetof(struct stored_message, number), 0, NULL, 0},
    {0}};

struct restoring {
    struct runtime *rt;
    struct arena arena;
    struct stored_message **items;
    size_t n;
};

static void on_file(void *ctx, str path, str text)
{
    struct restoring *all = ctx;
    struct stored_message *m = ARENA_NEW(&all->arena, struct stored_message);
    struct json *doc;
    struct err e = {0};
    int r = json_parse(&all->arena, text, JSON_COPY, &doc, &e);
    if (r == 0)
        r = json_decode(&all->arena, doc, FIELDS, m, "", NULL, NULL, &e);
    if (r == 0 && (!store_id_valid(m->queued_id) || m->queued_id.n >= RANDOM_ID_MAX))
        r = err_set(&e, -EINVAL, "queuedId: expected an id such as msg_0123456789abcdef");
    if (r == 0 && !store_id_valid(m->req.conversation_id))
        r = err_set(&e, -EINVAL, "conversationId: expected the id of a conversation");
    if (r < 0)
        log_warn(all->rt->deps.log, "runtime", "cannot restore the queued message %.*s: %s",
                 STR_ARG(path), e.msg);
    else
        all->items[all->n++] = m;
}

/* Messages of one millisecond keep the order in which they were queued. */
static int by_time(const void *a, const void *b)
{
    const struct stored_message *x = *(struct stored_message *const *)a;
    const struct stored_message *y = *(struct stored_message *const *)b;
    if (x->queued_ms != y->queued_ms)
        return x->queued_ms < y->queued_ms ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Files of earlier versions have the sender's id and token instead of the actor. */
static struct actor *actor_of(struct runtime *rt, const struct stored_message *m)
{
    const struct runtime_deps *d = &rt->deps;
    if (m->actor)
        return actor_read(d->directory, d->workspace_id, m->actor);
    struct principal p = {
        .user_id = m->user_id,
        .how = m->token_id.n > 0 ? AUTH_BY_TOKEN : AUTH_BY_SESSION,
        .token_id = m->token_id,
        .scopes = SCOPES_DEFAULT,
    };
    return actor_new(d->directory, d->workspace_id, &p, m->token_tools);
}

static void restore_message(struct runtime *rt, struct stored_message *stored)
{
    struct actor *actor = actor_of(rt, stored);
    if (!actor) {
        log_warn(rt->deps.log, "runtime", "the queued message %.*s does not name its sender",
                 STR_ARG(stored->queued_id));
        return;
    }
    stored->req.actor = actor;
    stored->req.when_busy = TURN_QUEUE;
    stored->req.contexts = stored->contexts.items;
    stored->req.ncontexts = stored->contexts.len;
    struct message *m = message_new(rt, &stored->req, NULL, NULL);
    actor_unref(actor);
    m->app = stored->app ? json_clone(&m->arena, stored->app) : NULL;
    assert(stored->queued_id.n < sizeof m->place.id);
    memcpy(m->place.id, stored->queued_id.p, stored->queued_id.n);
    m->place.since_ms = stored->queued_ms;
    m->place.number = ++rt->nqueued;
    m->place.is_restored = true;
    m->place.file = QUEUE_FILE_OWN;
    queue_join(m, queue_conv(rt, m->req.conversation_id));
}

static void restore_all(struct restoring *from)
{
    struct runtime *rt = from->rt;
    struct restoring all = *from;
    qsort(all.items, all.n, sizeof *all.items, by_time);
    for (size_t i = 0; i < all.n; i++)
        restore_message(rt, all.items[i]);
    if (all.n > 0)
        log_info(rt->deps.log, "runtime", "%zu queued messages restored", all.n);
}

static void restoring_init(struct restoring *all, struct runtime *rt)
{
    *all = (struct restoring){.rt = rt};
    arena_init(&all->arena);
    all->items = arena_array(&all->arena, QUEUE_FILES_MAX, sizeof(struct stored_message *));
}

void queue_restore(struct runtime *rt)
{
    struct restoring all;
    if (store_keeps_queue(rt->deps.store)) {
        queue_adopt(rt);
        return;
    }
    restoring_init(&all, rt);
    queue_files_load(&rt->queue_files, on_file, &all);
    restore_all(&all);
    arena_done(&all.arena);
}

static bool is_in_memory(const struct runtime *rt, str queued_id)
{
    LIST_EACH (m, (struct list_node *)&rt->messages, struct message, node)
        if (str_eq(str_from(m->place.id), queued_id))
            return true;
    return queue_files_is_changing(&rt->queue_files, queued_id) || map_get(&rt->left, queued_id);
}

/* A message of this server is in its memory. If a row is not, twice: then its message came from a
 * server that is gone, or the answer to a change was lost, or the database was not reached when its
 * turn came. Once is not enough: it may have been read before it was removed. */
void queue_restore_rows(struct runtime *rt, const struct json_strs *rows)
{
    struct restoring all;
    struct map strays;
    size_t n = 0;
    restoring_init(&all, rt);
    map_init(&strays);
    for (size_t i = 0; i < rows->len && all.n < QUEUE_FILES_MAX; i++)
        on_file(&all, STR("in the database"), rows->items[i]);
    for (size_t i = 0; i < all.n; i++) {
        str id = all.items[i]->queued_id;
        if (is_in_memory(rt, id))
            continue;
        if (map_get(&rt->strays, id))
            all.items[n++] = all.items[i];
        else
            map_put(&strays, id, rt);
    }
    all.n = n;
    map_done(&rt->strays);
    rt->strays = strays;
    restore_all(&all);
    arena_done(&all.arena);
    if (rt->is_released)
        queue_release(rt);
}

void queue_release(struct runtime *rt)
{
    struct map_entry *e;
    rt->is_released = true;
    for (size_t i = 0; (e = map_next(&rt->busy, &i)) != NULL;) {
        struct busy_conv *b = e->value;
        assert(b->turn || !list_empty(&b->waiting));
        if (!b->turn)
            queue_begin(LIST_ENTRY(b->waiting.next, struct message, place.node));
    }
}

/* The server may have ended after the message was appended and before its file was removed. With
 * other servers: one of them may have sent it, because this one was not heard of for too long. */
bool queue_was_sent(const struct turn *t)
{
    const struct queue_place *place = &t->msg->place;
    if (!place->is_restored && (place->id[0] == '\0' || !t->busy->lease))
        return false;
    const struct replay *h = transcript_replay(t->transcript);
    str id = str_from(t->msg->place.id);
    for (size_t i = 0; i < h->n; i++)
        if (str_eq(h->messages[i].queued_id, id))
            return true;
    for (size_t i = 0; i < h->nsaid; i++)
        if (str_eq(h->said[i].queued_id, id))
            return true;
    return false;
}
