/* files_read.c - files__read: a part of a text. */
#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/sniff.h"
#include "base/utf8.h"
#include "builtin/conversations.h"
#include "builtin/files.h"
#include "os/file.h"

enum { LINES_DEFAULT = 200, BLOCK_BYTES = 64 * 1024, UTF8_MAX = 4 };

/* On the heap: the pool may still read when the call has been cancelled. */
struct file_reading {
    struct job job;
    struct builtin_call *call;   /* NULL: cancelled */
    const struct attached *file; /* of the call */
    bool is_reading;
    int fd;
    const char *mime;
    uint64_t bytes;       /* of the file */
    uint64_t offset, end; /* of the part that was read */
    uint64_t line, lines; /* wanted; 0 = by offset */
    size_t limit;
    size_t n;
    char text[FILES_TOOL_CHARS + UTF8_MAX]; /* one character more, to see where the last one ends */
    int error;                              /* -errno */
};

static void reading_free(struct file_reading *r)
{
    file_close(r->fd);
    free(r);
}

/* ---- on the pool ---- */

static size_t block_lines(const char *p, size_t n, uint64_t *left)
{
    size_t at = 0;
    while (*left > 0 && at < n) {
        const char *end = memchr(p + at, '\n', n - at);
        if (!end)
            return n;
        at = (size_t)(end - p) + 1;
        --*left;
    }
    return at;
}

/* The offset behind as many lines, from `at` on. */
static uint64_t skip_lines(const struct file_reading *r, uint64_t at, uint64_t lines)
{
    char *block = xcalloc(1, BLOCK_BYTES);
    ssize_t n;
    while (lines > 0 && (n = pread(r->fd, block, BLOCK_BYTES, (off_t)at)) > 0)
        at += block_lines(block, (size_t)n, &lines);
    free(block);
    return at;
}

static void reading_work(struct job *j)
{
    struct file_reading *r = CONTAINER_OF(j, struct file_reading, job);
    char head[SNIFF_BYTES];
    struct stat st;
    ssize_t n = pread(r->fd, head, sizeof head, 0);
    if (n < 0 || fstat(r->fd, &st) < 0) {
        r->error = -EIO;
        return;
    }
    r->mime = sniff_type(str_make(head, (size_t)n));
    r->bytes = (uint64_t)st.st_size;
    if (!sniff_is_text(str_from(r->mime)))
        return;
    if (r->line > 0)
        r->offset = skip_lines(r, 0, r->line - 1);
    n = pread(r->fd, r->text, r->limit + UTF8_MAX, (off_t)r->offset);
    if (n < 0) {
        r->error = -EIO;
        return;
    }
    uint64_t left = r->lines;
    r->n = utf8_truncate(str_make(r->text, (size_t)n), r->limit).n;
    if (r->line > 0)
        r->n = block_lines(r->text, r->n, &left);
}

/* ---- on the loop ---- */

static struct json *reading_json(const struct file_reading *r, str text)
{
    struct arena *a = &r->call->call.arena;
    struct json *o = json_new(a, JSON_OBJECT);
    json_set(a, o, STR("id"), json_of_str(r->file->id));
    json_set(a, o, STR("name"), json_of_str(r->file->name));
    json_set(a, o, STR("mimeType"), json_of_str(str_from(r->mime)));
    json_set(a, o, STR("bytes"), json_of_int((int64_t)r->bytes));
    if (!text.p)
        return o;
    json_set(a, o, STR("offset"), json_of_int((int64_t)r->offset));
    if (r->offset + r->n < r->bytes)
        json_set(a, o, STR("nextOffset"), json_of_int((int64_t)(r->offset + r->n)));
    json_set(a, o, STR("text"), json_of_str(text));
    return o;
}

static void reply_other(struct file_reading *r)
{
    struct arena *a = &r->call->call.arena;
    const struct attached *f = r->file;
    str size = f->width > 0 ? arena_printf(a, ", %u × %u pixels", f->width, f->height) : STR_NONE;
    str text =
        arena_printf(a, "\"%.*s\" is not a text: %s, %llu bytes%.*s. It cannot be read in parts.",
                     STR_ARG(f->name), r->mime, (unsigned long long)r->bytes, STR_ARG(size));
    builtin_reply_json(r->call, text, reading_json(r, STR_NONE));
}

static void reply_text(struct file_reading *r)
{
    struct arena *a = &r->call->call.arena;
    uint64_t end = r->offset + r->n;
    struct buf b;
    buf_init(&b, 4 * FILES_TOOL_CHARS);
    (void)utf8_sanitise(&b, str_make(r->text, r->n));
    str text = buf_keep_whole(&b, a);
    str shown = arena_printf(a, "\"%.*s\", bytes %llu to %llu of %llu:\n%.*s",
                             STR_ARG(r->file->name), (unsigned long long)r->offset,
                             (unsigned long long)end, (unsigned long long)r->bytes, STR_ARG(text));
    if (end < r->bytes)
        shown = arena_printf(a, "%.*s\n[More: read on with offset %llu.]", STR_ARG(shown),
                             (unsigned long long)end);
    builtin_reply_json(r->call, shown, reading_json(r, text));
}

static void reading_done(struct job *j)
{
    struct file_reading *r = CONTAINER_OF(j, struct file_reading, job);
    struct builtin_call *c = r->call;
    if (c)
        c->on_cancel = NULL;
    if (c && r->error < 0)
        builtin_fail(c, "The file cannot be read.");
    else if (c && !sniff_is_text(str_from(r->mime)))
        reply_other(r);
    else if (c && r->offset > r->bytes)
        builtin_fail(c, "The file has %llu bytes: there is nothing at offset %llu.",
                     (unsigned long long)r->bytes, (unsigned long long)r->offset);
    else if (c)
        reply_text(r);
    reading_free(r);
}

static void on_reading_cancel(struct builtin_call *c)
{
    struct file_reading *r = c->state;
    r->call = NULL;
    if (!r->is_reading)
        reading_free(r);
}

static void on_reading_opened(void *ctx, const struct err *err, int fd)
{
    struct file_reading *r = ctx;
    struct builtin_call *c = r->call;
    assert(c && c->state == r);
    if (err) {
        c->on_cancel = NULL;
        conv_tool_fail(c, err);
        reading_free(r);
        return;
    }
    r->fd = fd;
    r->is_reading = true;
    pool_run(runtime_deps(c->builtin->deps.runtime)->pool, &r->job, reading_work, reading_done);
}

static void read_picked(struct builtin_call *c, const struct file_set *set)
{
    const struct json *args = c->call.args;
    const struct attached *f = file_tool_pick(c, set);
    if (!f)
        return;
    struct file_reading *r = xcalloc(1, sizeof *r);
    r->call = c;
    r->file = f;
    r->fd = -1;
    r->offset = (uint64_t)json_get_int(args, "offset", 0);
    r->limit = (size_t)json_get_int(args, "limit", FILES_TOOL_CHARS);
    r->line = (uint64_t)json_get_int(args, "line", json_get(args, "lines") ? 1 : 0);
    r->lines = (uint64_t)json_get_int(args, "lines", LINES_DEFAULT);
    c->state = r;
    c->on_cancel = on_reading_cancel;
    seen_files_open(c->files, f, on_reading_opened, r);
}

static void read_file(struct builtin_call *c)
{
    file_tool_gather(c, read_picked);
}

const struct builtin_tool BUILTIN_FILES_READ = {
    .name = "read",
    .title = "Read a file",
    .description = "Read a part of a text file: of this conversation, or one that the user has "
                   "given. By offset and limit in bytes, or by line and lines. At most 30,000 "
                   "bytes; nextOffset is where to read on. Other files are described.",
    .schema =
        "{\"type\":\"object\",\"properties\":{"
        "\"file\":{\"type\":\"string\",\"minLength\":1,\"description\":\"Id or name\"},"
        "\"offset\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"First byte (0)\"},"
        "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":30000},"
        "\"line\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"First line\"},"
        "\"lines\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":5000,\"description\":\"How "
        "many lines (200)\"},"
        "\"conversationId\":{\"type\":\"string\",\"description\":\"A file of this conversation "
        "instead of the current one\"}},"
        "\"required\":[\"file\"],\"additionalProperties\":false}",
    .is_read_only = true,
    .call = read_file,
};
