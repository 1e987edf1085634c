/* The marks of a person on conversations (store/marks.h), and their trash.
 *
 * PATCH /v1/conversations/:id/marks changes pins, archive and reading of the caller alone. The
 * caller's other streams are told; nobody else is. */
#include <assert.h>

#include "api/bodies.h"
#include "api/conversations/conversations.h"
#include "api/handlers.h"
#include "api/live/hub.h"
#include "bus/vocabulary.h"

/* ---- PATCH /v1/conversations/:id/marks ---- */

struct marks_body {
    const struct json *is_pinned, *is_archived, *is_unread, *read;
};

#define FLAG_SHAPE "boolean|null"

const struct json_field API_MARKS_FIELDS[] = {
    {"isPinned", JF_JSON, offsetof(struct marks_body, is_pinned), JF_NULLABLE, NULL, 0,
     "It stands above the others in your list.", FLAG_SHAPE},
    {"isArchived", JF_JSON, offsetof(struct marks_body, is_archived), JF_NULLABLE, NULL, 0,
     "You have put it away.", FLAG_SHAPE},
    {"isUnread", JF_JSON, offsetof(struct marks_body, is_unread), JF_NULLABLE, NULL, 0,
     "false: you have read everything; true: not the last message.", FLAG_SHAPE},
    {"readMessages", JF_JSON, offsetof(struct marks_body, read), JF_NULLABLE, NULL, 0,
     "So many messages you have read (messageCount); a smaller number than before changes nothing.",
     "integer(0..)|null"},
    {0}};

static bool parse_flag(struct http_req *r, const char *name, const struct json *v,
                       enum mark_flag *ret)
{
    if (!v)
        return true;
    if (v->type != JSON_BOOL)
        return api_bad_request(r, arena_printf(&r->arena, "%s: expected true or false", name).p);
    *ret = v->boolean ? MARK_SET : MARK_CLEAR;
    return true;
}

static bool parse_marks(struct http_req *r, struct mark_change *ret)
{
    struct marks_body body = {0};
    *ret = (struct mark_change){.read = -1};
    if (!api_decode_body(r, API_MARKS_FIELDS, &body) ||
        !parse_flag(r, "isPinned", body.is_pinned, &ret->pinned) ||
        !parse_flag(r, "isArchived", body.is_archived, &ret->archived) ||
        !parse_flag(r, "isUnread", body.is_unread, &ret->unread))
        return false;
    if (!body.read)
        return true;
    if (body.read->type != JSON_INT || body.read->i < 0)
        return api_bad_request(r, "readMessages: expected a whole number, 0 or more");
    ret->read = body.read->i;
    return true;
}

static void write_marked(struct json_writer *w, str id, const struct mark_state *s)
{
    jw_kstr(w, "conversationId", id);
    api_write_mark(w, s);
}

static void tell_own_streams(const struct api_wait *w, const struct mark_state *s)
{
    struct api_json j;
    api_json_begin(&j);
    write_marked(&j.w, w->id, s);
    hub_tell_everywhere(w->api, w->space, api_user(w->req), event_name(EV_CONVERSATION_MARKED),
                        api_json_text(&j));
    buf_done(&j.buf);
}

static void on_marked(void *ctx, const struct err *err, const struct mark_state *s)
{
    struct api_wait *w = ctx;
    assert(w->op);
    w->op = NULL;
    if (err) {
        api_fail(w->req, FROM_STORE, err);
        return;
    }
    tell_own_streams(w, s);
    struct api_json j;
    api_json_begin(&j);
    write_marked(&j.w, w->id, s);
    api_json_send(&j, w->req);
}

static void mark_found(struct api_wait *w, const struct conv *c)
{
    const struct mark_change *change = w->data;
    w->op = store_mark(w->space->store, api_user(w->req), c, change, on_marked, w);
}

void api_conversations_mark(void *ctx, struct http_req *r)
{
    struct mark_change *change = ARENA_NEW(&r->arena, struct mark_change);
    if (parse_marks(r, change))
        api_find_conv(ctx, r, change, mark_found);
}

/* ---- GET /v1/trash ---- */

static void on_trash_listed(void *ctx, const struct err *err, const struct store_listing *l)
{
    struct api_wait *w = ctx;
    if (err) {
        api_fail(w->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "conversations");
    for (size_t i = 0; i < l->n; i++) {
        const struct conv *c = &l->convs[i];
        jw_object(&j.w);
        jw_kstr(&j.w, "id", c->id);
        jw_kstr_or_null(&j.w, "title", c->title);
        jw_kstr(&j.w, "preview", c->preview);
        jw_kint(&j.w, "messageCount", c->message_count);
        jw_kstr(&j.w, "updatedAt", c->updated_at);
        jw_key(&j.w, "deletedAt");
        api_write_time(&j.w, c->deleted_ms);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, w->req);
}

void api_trash_list(void *ctx, struct http_req *r)
{
    struct api_wait *w = api_wait_new(ctx, r);
    w->op = store_list_trash(w->space->store, api_viewer(r), on_trash_listed, w);
}
