#include "api/frames.h"

#include <assert.h>

#include "base/json/json.h"
#include "bus/vocabulary.h"
#include "net/url.h"
#include "store/event/parts.h"
#include "store/event/text.h"
#include "tools/result.h"

#define FRAME_MAX       (64u * 1024 * 1024)
#define PARTS_TEXT_MAX  (64u * 1024)
#define PARTS_VALUE_MAX (64u * 1024)

struct frame_source {
    struct arena *arena;
    const struct json *event;
    const struct frame_names *names;
    str conv_id;
};

typedef void (*frame_writer)(struct json_writer *w, const struct frame_source *from);

/* The rest of such a block, a signature or encrypted reasoning, is often longer than the answer. */
void frame_write_content(struct json_writer *w, struct arena *a, const struct json *content)
{
    if (content->type != JSON_ARRAY) {
        jw_value(w, content);
        return;
    }
    jw_array(w);
    for (size_t i = 0; i < content->len; i++) {
        const struct json *part = &content->items[i];
        bool is_opaque = str_eq(json_get_string(part, "type"), STR("opaque"));
        str thought = is_opaque ? text_of_thought(a, part) : STR_NONE;
        if (thought.n > 0) {
            jw_object(w);
            jw_kstr(w, "type", STR("reasoning"));
            jw_kstr(w, "text", thought);
            jw_end(w);
        } else if (!is_opaque) {
            jw_value(w, part);
        }
    }
    jw_end(w);
}

/* All members but `type`, which is the frame's event name already, and `views`, which are for
 * models. */
static void write_plain(struct json_writer *w, const struct frame_source *from)
{
    const struct json *event = from->event;
    for (uint32_t i = 0; i < event->len; i++) {
        const struct json_member *m = &event->members[i];
        if (str_eq(m->key, STR("type")) || str_eq(m->key, STR("views")))
            continue;
        jw_key_str(w, m->key);
        if (str_eq(m->key, STR("content")))
            frame_write_content(w, from->arena, &m->value);
        else
            jw_value(w, &m->value);
    }
}

/* ---- results of tools ---- */

static str text_of_parts(struct arena *a, const struct json *reference)
{
    struct tool_result r = {.content = json_get(reference, "parts")};
    str text = tool_result_to_text(a, &r);
    return text.n > 0 ? text : json_get_string(reference, "preview");
}

static void write_result_blob(struct json_writer *w, struct arena *a, str conv_id,
                              const struct json *reference)
{
    str sha256 = json_get_string(reference, "$blob");
    jw_kobject(w, "blob");
    jw_kstr(w, "sha256", sha256);
    jw_kint(w, "bytes", json_get_int(reference, "bytes", 0));
    jw_kstr(
        w, "address",
        arena_printf(a, "/v1/conversations/%.*s/blobs/%.*s", STR_ARG(conv_id), STR_ARG(sha256)));
    jw_end(w);
}

void frame_write_result(struct json_writer *w, struct arena *a, const struct frame_call *call,
                        const struct json *result)
{
    struct tool_result r = {.content = json_get(result, "content")};
    bool is_blob = json_is(json_get(result, "$blob"), JSON_STRING);
    jw_kstr(w, "output", is_blob ? text_of_parts(a, result) : tool_result_to_text(a, &r));
    if (is_blob)
        write_result_blob(w, a, call->conv_id, result);
    if (!result || parts_are_text(result) || (is_blob && !json_get(result, "parts")))
        return;
    struct buf address;
    buf_init(&address, 4096);
    buf_printf(&address, "/v1/conversations/%.*s/calls/", STR_ARG(call->conv_id));
    url_encode(&address, call->id, "");
    buf_add_lit(&address, "/parts/");
    struct parts_form form = {.text_max = PARTS_TEXT_MAX,
                              .value_max = PARTS_VALUE_MAX,
                              .address = buf_keep_whole(&address, a)};
    jw_key(w, "parts");
    parts_write(w, result, &form);
}

static void write_tool_done(struct json_writer *w, const struct frame_source *from)
{
    const struct json *result = json_get(from->event, "result");
    struct frame_call call = {from->conv_id, json_get_string(from->event, "id")};
    write_plain(w, from);
    if (result && !json_get(from->event, "output"))
        frame_write_result(w, from->arena, &call, result);
}

static void write_user_message(struct json_writer *w, const struct frame_source *from)
{
    str user = json_get_string(from->event, "userId");
    str name = user.n > 0 && from->names ? from->names->find(from->names->ctx, user) : STR_NONE;
    write_plain(w, from);
    if (name.n > 0)
        jw_kstr(w, "displayName", name);
}

static frame_writer writer_of(enum event_type type)
{
    return type == EV_USER_MESSAGE ? write_user_message
           : type == EV_TOOL_DONE  ? write_tool_done
                                   : write_plain;
}

str frame_data(str line, const struct frame_names *names, str conv_id, struct buf *out)
{
    struct arena a;
    struct json *event;
    enum event_type type = EV_UNKNOWN;
    str shown = STR_NONE;
    assert(out->n == 0);
    arena_init(&a);
    if (json_parse(&a, line, 0, &event, NULL) == 0) {
        type = event_type_of(json_get_string(event, "type"));
        shown = event_shown_as(type);
    }
    if (shown.n > 0) {
        struct frame_source from = {&a, event, names, conv_id};
        struct json_writer w;
        jw_init(&w, out);
        jw_object(&w);
        writer_of(type)(&w, &from);
        jw_end(&w);
    }
    arena_done(&a);
    return buf_failed(out) ? STR_NONE : shown;
}

/* The same object with two more members in front. Ids need no escaping (store_id_valid). */
static struct sse_frame *mixed_frame(str event, uint64_t pos, str data, str conv_id)
{
    struct buf b;
    bool is_empty = data.n <= 2;
    assert(data.n >= 2 && data.p[0] == '{' && conv_id.n > 0);
    buf_init(&b, FRAME_MAX);
    buf_printf(&b, "{\"conversationId\":\"%.*s\"", STR_ARG(conv_id));
    if (pos > 0)
        buf_printf(&b, ",\"position\":%llu", (unsigned long long)pos);
    buf_add_str(&b, is_empty ? STR("}") : STR(","));
    if (!is_empty)
        buf_add_str(&b, str_skip(data, 1));
    struct sse_frame *f = buf_failed(&b) ? NULL : sse_frame_new(event, STR_NONE, buf_str(&b));
    buf_done(&b);
    return f;
}

static struct sse_frame *make_frame(str event, uint64_t pos, str data, str conv_id,
                                    enum frame_form form)
{
    char id[24] = "";
    if (form == FRAME_MIXED)
        return mixed_frame(event, pos, data, conv_id);
    if (pos > 0)
        snprintf(id, sizeof id, "%llu", (unsigned long long)pos);
    return sse_frame_new(event, str_from(id), data);
}

struct sse_frame *frame_of_data(str event, str data, str conv_id, enum frame_form form)
{
    return make_frame(event, 0, data, conv_id, form);
}

struct sse_frame *frame_of_line(uint64_t pos, str line, const struct frame_names *names,
                                str conv_id, enum frame_form form)
{
    struct buf data;
    buf_init(&data, FRAME_MAX);
    str event = frame_data(line, names, conv_id, &data);
    struct sse_frame *f =
        event.n > 0 ? make_frame(event, pos, buf_str(&data), conv_id, form) : NULL;
    buf_done(&data);
    return f;
}

/* Frames of one bus message, shared by all streams of a conversation: one for each form that was
 * needed. */
struct shared_frames {
    struct sse_frame *frames[2];
    bool is_made[2];
};

static void free_shared(void *shared)
{
    struct shared_frames *s = shared;
    for (size_t i = 0; i < ARRAY_LEN(s->frames); i++)
        sse_frame_unref(s->frames[i]);
    free(s);
}

struct sse_frame *frame_of_msg(struct bus_msg *msg, const struct frame_names *names, str conv_id,
                               enum frame_form form)
{
    if (!msg->shared) {
        msg->shared = xcalloc(1, sizeof(struct shared_frames));
        msg->shared_free = free_shared;
    }
    assert(msg->shared_free == free_shared);
    struct shared_frames *s = msg->shared;
    if (!s->is_made[form]) {
        s->is_made[form] = true;
        s->frames[form] = msg->pos > 0 ? frame_of_line(msg->pos, msg->data, names, conv_id, form)
                                       : make_frame(msg->type, 0, msg->data, conv_id, form);
    }
    return s->frames[form];
}
