#include <errno.h>

#include "attach/sniff.h"
#include "base/bytes/base64.h"
#include "base/json/json.h"
#include "base/utf8.h"
#include "store/event/blobs.h"
#include "store/event/event.h"
#include "workspace/roster/roster.h"

/* The content of a result is not looked at: a bundle wrote it. */
const struct json *file_parts_of(enum event_type type, const struct json *event)
{
    const char *member = type == EV_USER_MESSAGE ? "content"
                         : type == EV_TOOL_DONE  ? "files"
                                                 : NULL;
    const struct json *parts = member ? json_get(event, member) : NULL;
    return json_is(parts, JSON_ARRAY) ? parts : NULL;
}

bool file_parts_name(const struct json *parts, size_t i, str *ret_sha256)
{
    const struct json *part = &parts->items[i / 2];
    const struct json *named = i % 2 == 0 ? part : json_get(part, "view");
    return library_id_sha(json_get_string(named, "file"), ret_sha256);
}

/* Most events name no file and are not parsed. */
static struct json *parse_parts(struct arena *a, str line, struct json **ret_event)
{
    struct event_head head;
    if (str_find(line, STR("\"file\":\"file_"), 0) < 0 || !event_scan(line, &head) ||
        json_parse(a, line, JSON_COPY, ret_event, NULL) < 0 || (*ret_event)->type != JSON_OBJECT)
        return NULL;
    return (struct json *)file_parts_of(head.type, *ret_event);
}

/* ---- writing ---- */

struct json file_parts_make(struct arena *a, const struct attached *f)
{
    struct json *part = json_new(a, JSON_OBJECT);
    json_set(a, part, STR("type"), json_of_str(str_from(sniff_part(f->mime))));
    json_set(a, part, STR("file"), json_of_str(arena_str(a, f->id)));
    json_set(a, part, STR("name"), json_of_str(arena_str(a, f->name)));
    json_set(a, part, STR("mimeType"), json_of_str(arena_str(a, f->mime)));
    json_set(a, part, STR("bytes"), json_of_int((int64_t)f->bytes));
    return *part;
}

/* The sender of the message, empty in a tool's result. The log may be imported: a name that is not
 * an id of a person must not become part of a path. */
static bool sender_of(const struct json *event, str *ret)
{
    *ret = json_get_string(event, "userId");
    return ret->n == 0 || user_id_ok(*ret);
}

static int keep_named(struct arena *a, const struct blob_place *p, const struct file_place *files,
                      const struct json *event, str sha256, bool is_new, struct err *e)
{
    str sender;
    const char *from = library_path(a, files->dir, sha256);
    if (p->has(p, a, sha256))
        return 0;
    int r = file_place_bring(a, files, sha256, e);
    if (r < 0 && r != -ENOENT)
        return r;
    err_clear(e);
    if (r < 0)
        return is_new ? err_set(e, -ESTALE,
                                "A file of the message was removed while it was being sent. Give "
                                "the file again, or send the message without it.")
                      : 0;
    r = p->keep_file(p, a, from, sha256, e);
    if (r == 0 && sender_of(event, &sender))
        file_place_mark_named(a, files, sha256, sender);
    return r;
}

int file_parts_link(struct arena *a, const struct blob_place *p, const struct file_place *files,
                    str line, bool is_new, struct err *e)
{
    struct json *event;
    str sha256;
    int r = 0;
    if (!files->dir)
        return 0;
    const struct json *content = parse_parts(a, line, &event);
    for (size_t i = 0; content && i < 2 * content->len && r == 0; i++)
        if (file_parts_name(content, i, &sha256))
            r = keep_named(a, p, files, event, sha256, is_new, e);
    return r;
}

/* ---- reading ---- */

static struct attached part_file(const struct json *part, int64_t at_ms)
{
    return (struct attached){
        .id = json_get_string(part, "file"),
        .name = json_get_string(part, "name"),
        .mime = str_from(sniff_known(json_get_string(part, "mimeType"))),
        .bytes = (uint64_t)json_get_int(part, "bytes", 0),
        .at_ms = at_ms,
    };
}

/* The text of a document is a file of its own: models are told its id, and read the rest of it. */
static struct attached part_text(struct arena *a, const struct json *part, int64_t at_ms)
{
    const struct json *view = json_get(part, "view");
    struct attached f = part_file(view, at_ms);
    if (!str_starts(f.mime, STR("text/")))
        return (struct attached){0};
    f.name = arena_printf(a, "%.*s (text)", STR_ARG(json_get_string(part, "name")));
    return f;
}

size_t file_parts_read(struct arena *a, str line, struct attached *ret, size_t max)
{
    struct json *event;
    str sha256;
    int64_t at_ms = 0;
    size_t n = 0;
    const struct json *parts = parse_parts(a, line, &event);
    if (parts)
        (void)event_time(event, &at_ms);
    for (size_t i = 0; parts && i < parts->len && n + 1 < max; i++) {
        ret[n] = part_file(&parts->items[i], at_ms);
        n += library_id_sha(ret[n].id, &sha256);
        ret[n] = part_text(a, &parts->items[i], at_ms);
        n += library_id_sha(ret[n].id, &sha256);
    }
    return n;
}

static str text_for_model(struct arena *a, str bytes)
{
    struct buf b;
    buf_init(&b, 4 * FILE_TEXT_MAX);
    (void)utf8_sanitise(&b, bytes);
    return buf_keep(&b, a);
}

static str base64_of(struct arena *a, str bytes)
{
    struct buf b;
    buf_init(&b, 2 * FILE_DOCUMENT_MAX);
    (void)base64_encode(&b, bytes);
    return buf_keep_whole(&b, a);
}

/* Bytes that the message may still have. */
struct parts_room {
    size_t text, data;
};

/* The whole file as base64, unless it is longer than `max`. */
static void restore_data(struct arena *a, const struct blob_place *p, str sha256, size_t max,
                         struct json *part, struct parts_room *room)
{
    uint64_t size;
    size_t most = max < room->data ? max : room->data;
    if (!p->begin(p, a, sha256, 0, &size).p || size > most)
        return;
    str bytes = p->begin(p, a, sha256, most, &size);
    if (!bytes.p || size > most)
        return;
    room->data -= bytes.n;
    json_set(a, part, STR("data"), json_of_str(base64_of(a, bytes)));
}

static void restore_text(struct arena *a, const struct blob_place *p, str sha256, struct json *part,
                         struct parts_room *room)
{
    uint64_t size;
    size_t max = room->text < FILE_TEXT_MAX ? room->text : FILE_TEXT_MAX;
    size_t wanted = max > FILE_BEGIN_BYTES ? max : FILE_BEGIN_BYTES + 1; /* so that it is cut */
    str bytes = p->begin(p, a, sha256, wanted, &size);
    if (!bytes.p)
        return;
    bool is_whole = size <= max;
    str shown = is_whole ? bytes : utf8_truncate(bytes, FILE_BEGIN_BYTES);
    json_set(a, part, STR("text"), json_of_str(text_for_model(a, shown)));
    if (is_whole)
        room->text -= bytes.n;
    else
        json_set(a, part, STR("shown"), json_of_int((int64_t)shown.n));
}

static void restore_part(struct arena *a, const struct blob_place *p, struct json *part,
                         struct parts_room *room)
{
    str sha256, seen;
    const struct json *view = json_get(part, "view");
    if (!library_id_sha(json_get_string(part, "file"), &sha256))
        return;
    if (str_eq(json_get_string(part, "mimeType"), STR("application/pdf")))
        restore_data(a, p, sha256, FILE_DOCUMENT_MAX, part, room);
    bool has_view = library_id_sha(json_get_string(view, "file"), &seen);
    str mime = json_get_string(has_view ? view : part, "mimeType");
    str shown = has_view ? seen : sha256;
    if (strcmp(sniff_part(mime), "image") == 0 && !json_get(part, "unreadable"))
        restore_data(a, p, shown, FILE_PICTURE_MAX, part, room);
    else if (sniff_is_text(mime))
        restore_text(a, p, shown, part, room);
}

str file_parts_restore(struct arena *a, const struct blob_place *p, str line)
{
    struct json *event;
    struct parts_room room = {FILE_TEXTS_MAX, FILE_DATA_MAX};
    struct json *content = parse_parts(a, line, &event);
    if (!content || json_get(event, "content") != content) /* models read files of tools in parts */
        return line;
    for (size_t i = 0; i < content->len; i++)
        if (content->items[i].type == JSON_OBJECT)
            restore_part(a, p, &content->items[i], &room);
    return json_to_str(a, event);
}
