/* api_streams.h - streams of events over the API of a rig (api_rig.h).
 *
 *     struct api_stream *s = api_watch(t, "ben", id);
 *     const struct json *message = stream_wait(s, "user.message");
 *
 * stream_wait runs the loop until the next frame of that event has come and returns its data.
 * Streams that a test leaves open end with the test. */
#pragma once

#include "support/api_rig.h"

#define API_FRAMES_MAX 512

struct api_frame {
    const char *event, *id, *data; /* "" = absent */
};

struct api_stream {
    struct api_client *client;
    struct api_frame frames[API_FRAMES_MAX];
    size_t nframes, next; /* next: the first that stream_wait has not passed */
    size_t parsed;        /* bytes of the client's input */
    int status;           /* 0 = the head has not come */
};

static inline struct api_stream *api_stream_of(struct api_client *c)
{
    struct api_stream *s = ARENA_NEW(&c->t->rig->arena, struct api_stream);
    s->client = c;
    return s;
}

/* headers as in api_call_with. */
static inline struct api_stream *api_stream_with(struct api_rig *t, const char *who,
                                                 const char *path, const char *headers)
{
    return api_stream_of(api_begin(t, who, "GET", path, headers, STR_NONE));
}

static inline struct api_stream *api_stream(struct api_rig *t, const char *who, const char *path)
{
    return api_stream_with(t, who, path, "");
}

/* The answer to a chat message, as a stream. */
static inline struct api_stream *api_stream_chat(struct api_rig *t, const char *who,
                                                 const char *body)
{
    return api_stream_of(api_begin(t, who, "POST", "/v1/chat/stream", "", str_from(body)));
}

static inline void stream_add_frame(struct api_stream *s, str text)
{
    struct arena *mem = &s->client->t->rig->arena;
    struct api_frame f = {"", "", ""};
    str line;
    assert_true(s->nframes < API_FRAMES_MAX);
    while (str_split(&text, '\n', &line)) {
        if (str_starts(line, STR("event: ")))
            f.event = arena_cstr(mem, str_skip(line, 7));
        else if (str_starts(line, STR("id: ")))
            f.id = arena_cstr(mem, str_skip(line, 4));
        else if (str_starts(line, STR("data: ")))
            f.data = arena_cstr(mem, str_skip(line, 6));
    }
    if (*f.event)
        s->frames[s->nframes++] = f;
}

/* Parses what has come so far. */
static inline void stream_parse(struct api_stream *s)
{
    struct api_answer a;
    str in = buf_str(&s->client->in);
    ptrdiff_t end;
    if (s->status == 0 && api_split(in, &a)) {
        s->status = a.status;
        s->parsed = in.n - a.body.n;
    }
    while (s->status == 200 && (end = str_find(in, STR("\n\n"), s->parsed)) >= 0) {
        stream_add_frame(s, str_slice(in, s->parsed, (size_t)end));
        s->parsed = (size_t)end + 2;
    }
}

/* The first frame of this event that was not waited for yet, or NULL. */
static inline const struct api_frame *stream_find(struct api_stream *s, const char *event)
{
    stream_parse(s);
    for (size_t i = s->next; i < s->nframes; i++)
        if (strcmp(s->frames[i].event, event) == 0) {
            s->next = i + 1;
            return &s->frames[i];
        }
    return NULL;
}

/* Waits for the next frame of this event and returns its data. Frames before it are passed. */
static inline const struct json *stream_wait(struct api_stream *s, const char *event)
{
    const struct api_frame *f = NULL;
    struct rig *r = s->client->t->rig;
    uint64_t until_ms = clock_mono_ms() + RIG_PATIENCE_MS;
    struct json *v;
    while (!(f = stream_find(s, event)) && !s->client->is_over && clock_mono_ms() < until_ms)
        rig_spin(r);
    if (!f && !(f = stream_find(s, event)))
        fail_msg("no %s%s", event, s->client->is_over ? ": the stream has ended" : "");
    assert_int_equal(json_parse(&r->arena, str_from(f->data), 0, &v, NULL), 0);
    return v;
}

/* Events of all frames so far, separated by spaces. */
static inline const char *stream_events(struct api_stream *s)
{
    struct buf b;
    buf_init(&b, 1u << 20);
    stream_parse(s);
    for (size_t i = 0; i < s->nframes; i++)
        buf_printf(&b, "%s%s", i > 0 ? " " : "", s->frames[i].event);
    const char *all = arena_cstr(&s->client->t->rig->arena, buf_str(&b));
    buf_done(&b);
    return all;
}

/* Waits until the server has ended the stream. */
static inline void stream_end(struct api_stream *s)
{
    rig_until(s->client->t->rig, s->client->is_over);
    stream_parse(s);
    api_client_close(s->client);
}

/* The client disconnects, and the server notices it. */
static inline void stream_drop(struct api_stream *s)
{
    struct api_rig *t = s->client->t;
    struct http_stats before, now;
    http_server_stats(t->http, &before);
    api_client_close(s->client);
    rig_until(t->rig, (http_server_stats(t->http, &now), now.streams < before.streams));
}

/* The stream of a conversation, when it is live. */
static inline struct api_stream *api_watch(struct api_rig *t, const char *who, const char *id)
{
    struct api_stream *s = api_stream(t, who, api_path(t, "/v1/conversations/%s/events", id));
    stream_wait(s, "queue.snapshot");
    return s;
}

/* The stream of the workspace; query: "?watch=...", or "". */
static inline struct api_stream *api_watch_workspace(struct api_rig *t, const char *who,
                                                     const char *query)
{
    struct api_stream *s = api_stream(t, who, api_path(t, "/v1/events%s", query));
    stream_wait(s, "subscribed");
    return s;
}
