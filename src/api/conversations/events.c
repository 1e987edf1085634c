/* GET /v1/conversations/:id/events - live events of a conversation, from any position on. GET
 * /v1/events - live events of the workspace, and of any conversations in it. */
#include <errno.h>

#include "api/api_impl.h"
#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"
#include "api/live/live.h"
#include "bus/vocabulary.h"

/* The position to continue from: Last-Event-ID, ?after=, or only new events. */
static bool parse_after(struct http_req *r, store_pos *ret)
{
    str text = http_get_header(r, "last-event-id");
    if (text.n == 0)
        text = api_query(r, "after");
    *ret = STORE_FEED_TAIL;
    if (text.n == 0 || parse_u64(text, ret) == 0)
        return true;
    return api_bad_request(r, "after: expected a position (a whole number)");
}

static void watch_one(struct api_wait *w, const struct conv *c)
{
    struct arena a; /* the request's own copy is freed with the request */
    store_pos after = *(const store_pos *)w->data;
    arena_init(&a);
    str id = arena_str(&a, c->id);
    bool is_child = c->parent != NULL; /* the stream must check the access itself */
    struct live *s = live_open(w->api, w->req, &LIVE_CONVERSATION, NULL);
    (void)live_watch(s, id, after, is_child ? NULL : &c->acl);
    arena_done(&a);
}

void api_conversations_events(void *ctx, struct http_req *r)
{
    store_pos *after = ARENA_NEW(&r->arena, store_pos);
    if (parse_after(r, after))
        api_find_conv(ctx, r, after, watch_one);
}

/* ---- POST /v1/conversations/:id/typing ---- */

struct typing_body {
    bool is_typing;
};

const struct json_field API_TYPING_FIELDS[] = {
    {"isTyping", JF_BOOL, offsetof(struct typing_body, is_typing), JF_NULLABLE, NULL, 0,
     "False: they have stopped; absent: true."},
    {0}};

static void tell_typing(struct api_wait *w, const struct conv *c)
{
    const struct typing_body *body = w->data;
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "userId", api_user(w->req));
    jw_kstr_or_null(&j.w, "displayName", api_display_name(w->api, api_user(w->req)));
    jw_kbool(&j.w, "isTyping", body->is_typing);
    store_publish(w->space->store, w->id, event_name(EV_TYPING), api_json_text(&j));
    buf_done(&j.buf);
    http_reply(w->req, 204, NULL, STR_NONE);
}

void api_conversations_typing(void *ctx, struct http_req *r)
{
    struct typing_body *body = ARENA_NEW(&r->arena, struct typing_body);
    body->is_typing = true;
    if (r->body.n > 0 && !api_decode_body(r, API_TYPING_FIELDS, body))
        return;
    api_find_conv(ctx, r, body, tell_typing);
}

/* ---- GET /v1/events ---- */

/* "conv_a@120" or "conv_a": from that position on, or only new events. */
static bool parse_watch(str text, str *ret_id, store_pos *ret_after)
{
    ptrdiff_t at = str_find_char(text, '@');
    *ret_after = STORE_FEED_TAIL;
    *ret_id = store_id_meant(at < 0 ? text : str_slice(text, 0, (size_t)at));
    return store_id_valid(*ret_id) &&
           (at < 0 || parse_u64(str_skip(text, (size_t)at + 1), ret_after) == 0);
}

static bool watches_ok(str list)
{
    size_t n = 0;
    str one, id;
    store_pos after;
    while (str_split(&list, ',', &one))
        if (!parse_watch(one, &id, &after) || ++n > LIVE_WATCHES_MAX)
            return false;
    return true;
}

static void watch_all(struct live *s, str list)
{
    str one, id;
    store_pos after;
    while (str_split(&list, ',', &one))
        if (parse_watch(one, &id, &after))
            (void)live_watch(s, id, after, NULL);
}

static void send_subscribed(struct live *s)
{
    char id[48];
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(
        &j.w, "streamId",
        str_make(id, (size_t)snprintf(id, sizeof id, "%llu", (unsigned long long)live_number(s))));
    live_send(s, event_name(EV_SUBSCRIBED), hub_last_id(live_watcher(s)->hub, id),
              api_json_text(&j));
    buf_done(&j.buf);
}

#define WATCH_HINT                                                                                 \
    "watch: expected conversation ids, each with @ and a position or without, separated by "       \
    "commas; at most 50"

void api_events_get(void *ctx, struct http_req *r)
{
    struct arena a; /* the request's own copy is freed with the request */
    arena_init(&a);
    str last = arena_str(&a, http_get_header(r, "last-event-id"));
    if (last.n == 0)
        last = arena_str(&a, api_query(r, "after"));
    str list = arena_str(&a, api_query(r, "watch"));
    if (!watches_ok(list)) {
        api_bad_request(r, WATCH_HINT);
    } else {
        struct live *s = live_open(ctx, r, &LIVE_WORKSPACE, NULL);
        if (last.n > 0 && !hub_replay(live_watcher(s), last))
            live_send(s, STR("reset"), STR_NONE, STR("{}"));
        send_subscribed(s);
        watch_all(s, list);
    }
    arena_done(&a);
}

/* ---- POST /v1/events/:stream/watch {add, remove} ---- */

struct watch_body {
    struct json_strs add, remove;
};

const struct json_field API_WATCH_FIELDS[] = {
    {"add", JF_STRS, offsetof(struct watch_body, add), JF_NULLABLE, NULL, 0,
     "Conversations to add, each with @ and a position or without."},
    {"remove", JF_STRS, offsetof(struct watch_body, remove), JF_NULLABLE, NULL, 0,
     "Ids of conversations to end."},
    {0}};

void api_events_watch(void *ctx, struct http_req *r)
{
    struct watch_body body = {0};
    if (!api_decode_body(r, API_WATCH_FIELDS, &body))
        return;
    struct live *s = live_find(ctx, r, r->params[0]);
    if (!s) {
        api_not_found(r, "stream");
        return;
    }
    int code = 0;
    for (size_t i = 0; i < body.remove.len; i++)
        live_unwatch(s, body.remove.items[i]);
    for (size_t i = 0; code == 0 && i < body.add.len; i++) {
        str id;
        store_pos after;
        bool is_ok = parse_watch(body.add.items[i], &id, &after);
        code = is_ok ? live_watch(s, id, after, NULL) : -EINVAL;
    }
    if (code < 0)
        api_bad_request(r, WATCH_HINT);
    else
        http_reply(r, 204, NULL, STR_NONE);
}
