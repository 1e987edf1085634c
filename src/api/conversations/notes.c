/* /v1/conversations/:id/notes - notes that people and models added to a conversation. */
#include <assert.h>

#include "api/bodies.h"
#include "api/exchange.h"
#include "api/handlers.h"

static void on_notes(void *ctx, const struct err *err, const struct store_note *notes, size_t n)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_kstr(&j.w, "conversationId", wait->id);
    jw_karray(&j.w, "notes");
    for (size_t i = 0; i < n; i++) {
        jw_object(&j.w);
        jw_kstr(&j.w, "timestamp", notes[i].ts);
        jw_kstr(&j.w, "author", notes[i].author);
        jw_kstr(&j.w, "content", notes[i].text);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    api_json_send(&j, wait->req);
}

static void read_notes(struct api_wait *w, const struct conv *c)
{
    assert(!w->op);
    w->op = store_notes(w->space->store, w->id, on_notes, w);
}

void api_notes_list(void *ctx, struct http_req *r)
{
    api_find_conv(ctx, r, NULL, read_notes);
}

struct note_body {
    str content;
};

const struct json_field API_NOTE_FIELDS[] = {{"content", JF_STR,
                                              offsetof(struct note_body, content), JF_REQUIRED,
                                              NULL, 0, "The text of the note."},
                                             {0}};

/* Replies with all notes, so that the client can show the new one among the others. */
static void on_added(void *ctx, const struct err *err, const struct conv *c)
{
    struct api_wait *w = ctx;
    w->op = NULL;
    if (err)
        api_fail(w->req, FROM_STORE, err);
    else
        read_notes(w, c);
}

static void add_conv_note(struct api_wait *w, const struct conv *c)
{
    const struct note_body *body = w->data;
    w->op = store_add_note(w->space->store, w->id, api_user(w->req), body->content, on_added, w);
}

void api_notes_add(void *ctx, struct http_req *r)
{
    struct note_body *body = ARENA_NEW(&r->arena, struct note_body);
    if (!api_decode_body(r, API_NOTE_FIELDS, body))
        return;
    if (str_trim(body->content).n == 0)
        api_bad_request(r, "content: must not be empty");
    else
        api_find_conv(ctx, r, body, add_conv_note);
}
