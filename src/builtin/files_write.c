/* files_write.c - files__write: a new file of the conversation, given by the person it acts for. */
#include <errno.h>

#include "attach/upload.h"
#include "builtin/files.h"
#include "workspace/deed.h"

struct file_writing {
    struct builtin_call *call;
    struct upload *upload; /* NULL: it has ended */
    struct deed *deed;
};

static void on_writing_cancel(struct builtin_call *c)
{
    static const struct err CANCELLED = {.code = -ECANCELED, .msg = "cancelled"};
    struct file_writing *w = c->state;
    upload_cancel(w->upload);
    deed_end(w->deed, &CANCELLED);
}

static void on_writing_room(void *ctx) {}

static void on_file_written(void *ctx, const struct err *err, const struct attached *file)
{
    struct file_writing *w = ctx;
    struct builtin_call *c = w->call;
    struct arena *a = &c->call.arena;
    w->upload = NULL;
    c->on_cancel = NULL;
    deed_end(w->deed, err);
    if (err) {
        builtin_fail(c, "%s", err->msg);
        return;
    }
    struct tool_result res = tool_result_text(
        a, arena_printf(a, "Wrote \"%.*s\" (%.*s, %llu bytes) as %.*s.", STR_ARG(file->name),
                        STR_ARG(file->mime), (unsigned long long)file->bytes, STR_ARG(file->id)));
    tool_result_add_file(a, &res, file);
    builtin_answer(c, res);
}

/* The limits are checked before, and the text is at most what one upload may hold in memory: the
 * whole of it is written in one piece. */
static void write_file(struct builtin_call *c)
{
    static const struct upload_events EVENTS = {on_writing_room, on_file_written};
    struct attach *files = runtime_deps(c->builtin->deps.runtime)->files;
    str text = json_get_string(c->call.args, "text"), user = actor_user(c->call.who.actor);
    struct err e = {0};
    if (!files || !user_id_ok(user)) {
        builtin_fail(c, "Files cannot be written here.");
        return;
    }
    if (upload_check(files, text.n, &e) < 0) {
        builtin_fail(c, "%s", e.msg);
        return;
    }
    struct file_writing *w = ARENA_NEW(&c->call.arena, struct file_writing);
    w->call = c;
    w->deed = deed_begin(runtime_deps(c->builtin->deps.runtime)->audit, builtin_doer(c),
                         STR("file.add"), json_get_string(c->call.args, "name"));
    w->upload = upload_new(files, user, &EVENTS, w);
    upload_name(w->upload, json_get_string(c->call.args, "name"));
    c->state = w;
    c->on_cancel = on_writing_cancel;
    (void)upload_write(w->upload, text);
    upload_finish(w->upload);
}

const struct builtin_tool BUILTIN_FILES_WRITE = {
    .name = "write",
    .title = "Write a file",
    .description = "Make a new text file, which the user can open and download. It belongs to this "
                   "conversation. A file cannot be changed: write a new one of the same name.",
    .schema = "{\"type\":\"object\",\"properties\":{"
              "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":200,\"description\":"
              "\"With its extension, without a path\"},"
              "\"text\":{\"type\":\"string\",\"maxLength\":4000000}},"
              "\"required\":[\"name\",\"text\"],\"additionalProperties\":false}",
    .call = write_file,
    .audited = "file.add",
};
