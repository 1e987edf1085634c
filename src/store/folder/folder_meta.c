/* folder_meta.c - conversation.json: the current header of a conversation.
 *
 * Line 1 of chat.jsonl and notes.jsonl is written once, so it has the initial title and updatedAt.
 * Other programs find the current values here, under the same names. The file is derived: only this
 * module reads it, it is replaced as a whole and not synced, and a failure to write it does not
 * fail the append. Pool threads. */
#include <fcntl.h>
#include <unistd.h>

#include "os/file.h"
#include "store/folder/folder_impl.h"

enum { META_MAX = 1024 * 1024 };

static bool changes_header(enum event_type t)
{
    return t == EV_USER_MESSAGE || t == EV_RUN_DONE || t == EV_RUN_ERROR || t == EV_TITLE ||
           t == EV_NOTE || t == EV_LEGACY_MESSAGE;
}

static bool is_due(const struct store_op *op, int64_t *ret_ms)
{
    struct event_head head;
    struct arena a;
    struct json *v;
    bool is_due = false;
    arena_init(&a);
    for (size_t i = 0; i < op->nlines; i++) {
        if (!event_peek(op->lines[i], &head) || !changes_header(head.type))
            continue;
        is_due = true;
        arena_reset(&a);
        if (json_parse(&a, op->lines[i], 0, &v, NULL) == 0)
            (void)event_time(v, ret_ms);
    }
    arena_done(&a);
    return is_due;
}

/* The title before this append: from the file, else from the log. */
static str old_title(struct store_op *op, const char *path)
{
    str text;
    struct json *v;
    struct derive d;
    if (file_read(&op->arena, path, META_MAX, &text, NULL) == 0 &&
        json_parse(&op->arena, text, JSON_COPY, &v, NULL) == 0 && json_get(v, "title"))
        return json_get_string(v, "title");
    derive_init(&d, op->store->env);
    (void)op->store->ops->scan(op->store, op->id, derive_scanned, &d, NULL);
    str title = arena_str(&op->arena, d.conv.title);
    derive_done(&d);
    return title;
}

/* As derive.c says: an automatic title never replaces a title. */
static str title_after(struct store_op *op, str title)
{
    struct event_head head;
    struct json *v;
    for (size_t i = 0; i < op->nlines; i++) {
        if (!event_peek(op->lines[i], &head) || head.type != EV_TITLE ||
            json_parse(&op->arena, op->lines[i], JSON_COPY, &v, NULL) < 0)
            continue;
        if (!json_get_bool(v, "auto", false) || title.n == 0)
            title = json_get_string(v, "title");
    }
    return title;
}

static void write_meta(struct buf *b, const struct folder_place *p, str title, int64_t created_ms,
                       int64_t updated_ms)
{
    struct json_writer w;
    jw_init(&w, b);
    jw_object(&w);
    jw_kstr(&w, "type", STR("conversation-header"));
    jw_kint(&w, "schemaVersion", 1);
    jw_kstr(&w, "fileKind", STR("derived"));
    jw_kstr(&w, "conversationId", p->conversation_id);
    jw_kstr(&w, "threadId", p->thread_id);
    jw_kstr(&w, "channel", p->channel);
    jw_kstr(&w, "title", title);
    if (created_ms > 0)
        jw_kint(&w, "createdAt", created_ms);
    jw_kint(&w, "updatedAt", updated_ms);
    jw_end(&w);
    buf_add_char(b, '\n');
}

/* The createdAt of the header of the chat. */
static int64_t created_at(struct store_op *op, const char *chat)
{
    char block[4096];
    int64_t ms = 0;
    int fd = open(chat, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, block, sizeof block, 0) : -1;
    const char *lf = n > 0 ? memchr(block, '\n', (size_t)n) : NULL;
    struct json *v;
    if (lf &&
        json_parse(&op->arena, str_make(block, (size_t)(lf - block)), JSON_COPY, &v, NULL) == 0)
        ms = json_get_int(v, "createdAt", 0);
    file_close(fd);
    return ms;
}

void folder_update_meta(struct files *f, struct store_op *op)
{
    struct folder *d = f->own;
    struct folder_place p;
    struct buf b;
    int64_t updated_ms = 0;
    if (!is_due(op, &updated_ms) || !catalog_find(&d->catalog, &op->arena, op->id, &p))
        return;
    str dir = arena_printf(&op->arena, "%s/%s", d->catalog.dir, p.name.p);
    const char *path = arena_printf(&op->arena, "%s/conversation.json", dir.p).p;
    const char *temp = arena_printf(&op->arena, "%s/.conversation.json", dir.p).p;
    buf_init(&b, META_MAX);
    write_meta(&b, &p, title_after(op, old_title(op, path)),
               created_at(op, arena_printf(&op->arena, "%s/chat.jsonl", dir.p).p), updated_ms);
    /* One writer at a time: the lock of chat.jsonl is held. */
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool is_written = fd >= 0 && !buf_failed(&b) && write(fd, b.p, b.n) == (ssize_t)b.n;
    file_close(fd);
    if (!is_written || rename(temp, path) < 0)
        (void)unlink(temp);
    buf_done(&b);
}
