
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/library.h"
#include "attach/sniff.h"
#include "base/bytes/base64.h"
#include "base/json/json.h"
#include "base/utf8.h"
#include "os/file.h"
#include "store/event/blobs.h"
#include "store/event/event.h"

/* Most messages name no file and are not parsed. */
static bool names_files(str line)
{
    struct event_head head;
    return str_find(line, STR("\"file\":\"file_"), 0) >= 0 && event_scan(line, &head) &&
           head.type == EV_USER_MESSAGE;
}

static struct json *parse_content(struct arena *a, str line, struct json **ret_event)
{
    if (json_parse(a, line, JSON_COPY, ret_event, NULL) < 0 || (*ret_event)->type != JSON_OBJECT)
        return NULL;
    struct json *content = (struct json *)json_get(*ret_event, "content");
    return json_is(content, JSON_ARRAY) ? content : NULL;
}

/* ---- writing ---- */

static int copy_file(struct arena *a, const struct store_io *io, const char *from,
                     const char *blob_dir, struct err *e)
{
    str bytes, sha256;
    int r = file_read(a, from, BLOB_MAX_BYTES, &bytes, e);
    return r < 0 ? r : blobs_put(a, io, blob_dir, bytes, &sha256, e);
}

static int link_file(struct arena *a, const struct store_io *io, const char *files_dir,
                     const char *blob_dir, str sha256, struct err *e)
{
    const char *from = library_path(a, files_dir, sha256);
    const char *to = arena_printf(a, "%s/%.*s", blob_dir, STR_ARG(sha256)).p;
    struct stat st;
    if (stat(to, &st) == 0 || stat(from, &st) < 0)
        return 0;
    int r = io_mkdir_all(io, blob_dir);
    if (r == 0)
        r = io->link(io, from, to);
    if (r == -EEXIST)
        return 0;
    if (r == -EXDEV || r == -EMLINK || r == -EPERM) /* another disk, or one without links */
        return copy_file(a, io, from, blob_dir, e);
    if (r == 0)
        r = io_sync_dir(io, blob_dir);
    return r < 0 ? err_errno(e, r, "cannot write", to) : 0;
}

int file_parts_link(struct arena *a, const struct store_io *io, const char *files_dir,
                    const char *blob_dir, str line, struct err *e)
{
    struct json *event;
    str sha256;
    int r = 0;
    if (!files_dir || !names_files(line))
        return 0;
    const struct json *content = parse_content(a, line, &event);
    for (size_t i = 0; content && i < content->len && r == 0; i++)
        if (library_id_sha(json_get_string(&content->items[i], "file"), &sha256))
            r = link_file(a, io, files_dir, blob_dir, sha256, e);
    return r;
}

/* ---- reading ---- */

static str text_for_model(struct arena *a, str bytes, uint64_t size)
{
    struct buf b;
    buf_init(&b, 4 * FILE_TEXT_MAX);
    (void)utf8_sanitise(&b, bytes);
    if (size > bytes.n)
        buf_printf(&b, "\n[Cut here: %zu of %llu bytes shown.]", bytes.n, (unsigned long long)size);
    return buf_keep(&b, a);
}

static str base64_of(struct arena *a, str bytes)
{
    struct buf b;
    buf_init(&b, 2 * FILE_PICTURE_MAX);
    (void)base64_encode(&b, bytes);
    return buf_keep_whole(&b, a);
}

static str read_begin(struct arena *a, const char *path, size_t max, uint64_t *ret_size)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *ret_size = 0;
    if (fd < 0)
        return STR_NONE;
    size_t n = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
    *ret_size = n;
    n = n < max ? n : max;
    char *p = arena_alloc(a, n + 1);
    bool is_read = file_read_all(fd, p, n) == 0;
    file_close(fd);
    return is_read ? str_make(p, n) : STR_NONE;
}

static void restore_part(struct arena *a, const char *blob_dir, struct json *part)
{
    uint64_t size;
    str sha256, mime = json_get_string(part, "mimeType");
    bool is_picture = strcmp(sniff_part(mime), "image") == 0;
    if (!library_id_sha(json_get_string(part, "file"), &sha256) ||
        (!is_picture && !sniff_is_text(mime)))
        return;
    const char *path = arena_printf(a, "%s/%.*s", blob_dir, STR_ARG(sha256)).p;
    str bytes = read_begin(a, path, is_picture ? FILE_PICTURE_MAX : FILE_TEXT_MAX, &size);
    if (!bytes.p || (is_picture && size > FILE_PICTURE_MAX))
        return;
    if (is_picture)
        json_set(a, part, STR("data"), json_of_str(base64_of(a, bytes)));
    else
        json_set(a, part, STR("text"), json_of_str(text_for_model(a, bytes, size)));
}

str file_parts_restore(struct arena *a, const char *blob_dir, str line)
{
    struct json *event;
    struct json *content = names_files(line) ? parse_content(a, line, &event) : NULL;
    if (!content)
        return line;
    for (size_t i = 0; i < content->len; i++)
        if (content->items[i].type == JSON_OBJECT)
            restore_part(a, blob_dir, &content->items[i]);
    return json_to_str(a, event);
}
