#include "store/event/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "base/bytes/random.h"
#include "base/json/json_scan.h"
#include "base/utf8.h"
#include "os/file.h"
#include "store/event/event.h"
#include "store/event/parts.h"
#include "store/event/text.h"
#include "store/store.h"

#define REFERENCE STR("{\"$blob\":\"")

enum {
    PREVIEW_BYTES = 1024,
    PART_BYTES = 4096,          /* of text, and of structured content */
    REFERENCE_MAX = 128 * 1024, /* escapes may make texts six times longer */
    RESTORED_MAX = 32 * 1024 * 1024
};

static const char *blob_path(struct arena *a, const char *dir, str sha256)
{
    return arena_printf(a, "%s/%.*s", dir, STR_ARG(sha256)).p;
}

static int write_blob_file(const struct store_io *io, const char *path, str bytes)
{
    int fd = io->open(io, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    int r = io_write(io, fd, bytes);
    if (r == 0)
        r = io->sync(io, fd);
    close(fd);
    return r;
}

int blobs_write(struct arena *a, const struct store_io *io, const char *dir, str sha256, str bytes,
                struct err *e)
{
    char unique[RANDOM_ID_MAX];
    const char *path = blob_path(a, dir, sha256);
    int r = io_mkdir_all(io, dir);
    random_id("new", unique);
    const char *temp = blob_path(a, dir, str_from(unique));
    if (r == 0)
        r = write_blob_file(io, temp, bytes);
    if (r == 0)
        r = io->rename(io, temp, path);
    if (r == 0)
        r = io_sync_dir(io, dir);
    if (r < 0) {
        (void)io->unlink(io, temp);
        return err_errno(e, r, "cannot write", path);
    }
    return 0;
}

int blobs_put(struct arena *a, const struct store_io *io, const char *dir, str bytes,
              str *ret_sha256, struct err *e)
{
    char hex[SHA256_HEX_LEN + 1];
    if (bytes.n > BLOB_MAX_BYTES)
        return err_set(e, -E2BIG, "value of %zu bytes exceeds the size limit of a blob", bytes.n);
    sha256_hex(bytes, hex);
    const char *path = blob_path(a, dir, str_from(hex));
    struct stat st;
    *ret_sha256 = arena_str(a, str_from(hex));
    if (stat(path, &st) == 0 && (size_t)st.st_size == bytes.n)
        return 0;
    return blobs_write(a, io, dir, *ret_sha256, bytes, e);
}

int blobs_get(struct arena *a, const char *dir, str sha256, str *ret_bytes, struct err *e)
{
    const char *path = blob_path(a, dir, sha256);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return errno == ENOENT ? err_set(e, -ENOENT, "no such blob: %.*s", STR_ARG(sha256))
                               : err_errno(e, -errno, "cannot open", path);
    int r = fstat(fd, &st) < 0 ? -errno : 0;
    if (r == 0 && (!S_ISREG(st.st_mode) || st.st_size > BLOB_MAX_BYTES))
        r = -EFBIG;
    if (r == 0) {
        size_t n = (size_t)st.st_size;
        char *p = arena_alloc(a, n + 1);
        p[n] = 0;
        r = file_read_all(fd, p, n);
        *ret_bytes = str_make(p, n);
    }
    close(fd);
    if (r < 0)
        return err_errno(e, r, "cannot read", path);
    char hex[SHA256_HEX_LEN + 1];
    sha256_hex(*ret_bytes, hex);
    if (!str_eq(str_from(hex), sha256))
        return err_set(e, -EIO, "%s is damaged: its content does not match its SHA-256", path);
    return 0;
}

/* ---- a directory as the place of blobs ---- */

static const struct blob_dir *in_dir(const struct blob_place *p)
{
    return CONTAINER_OF(p, const struct blob_dir, place);
}

static int dir_put(const struct blob_place *p, struct arena *a, str bytes, str *ret_sha256,
                   struct err *e)
{
    return blobs_put(a, in_dir(p)->io, in_dir(p)->dir, bytes, ret_sha256, e);
}

static int dir_get(const struct blob_place *p, struct arena *a, str sha256, str *ret_bytes,
                   struct err *e)
{
    return blobs_get(a, in_dir(p)->dir, sha256, ret_bytes, e);
}

static str dir_begin(const struct blob_place *p, struct arena *a, str sha256, size_t max,
                     uint64_t *ret_size)
{
    struct stat st;
    int fd = open(blob_path(a, in_dir(p)->dir, sha256), O_RDONLY | O_CLOEXEC);
    *ret_size = 0;
    if (fd < 0)
        return STR_NONE;
    size_t n = fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
    *ret_size = n;
    n = n < max ? n : max;
    char *bytes = arena_alloc(a, n + 1);
    bool is_read = file_read_all(fd, bytes, n) == 0;
    file_close(fd);
    return is_read ? str_make(bytes, n) : STR_NONE;
}

static bool dir_has(const struct blob_place *p, struct arena *a, str sha256)
{
    struct stat st;
    return stat(blob_path(a, in_dir(p)->dir, sha256), &st) == 0;
}

static int copy_file(const struct blob_dir *d, struct arena *a, const char *from, struct err *e)
{
    str bytes, sha256;
    int r = file_read(a, from, BLOB_MAX_BYTES, &bytes, e);
    return r < 0 ? r : blobs_put(a, d->io, d->dir, bytes, &sha256, e);
}

static int dir_keep_file(const struct blob_place *p, struct arena *a, const char *from, str sha256,
                         struct err *e)
{
    const struct blob_dir *d = in_dir(p);
    const char *to = blob_path(a, d->dir, sha256);
    int r = io_mkdir_all(d->io, d->dir);
    if (r == 0)
        r = d->io->link(d->io, from, to);
    if (r == -EEXIST)
        return 0;
    if (r == -EXDEV || r == -EMLINK || r == -EPERM) /* another disk, or one without links */
        return copy_file(d, a, from, e);
    if (r == 0)
        r = io_sync_dir(d->io, d->dir);
    return r < 0 ? err_errno(e, r, "cannot write", to) : 0;
}

struct blob_dir blobs_in_dir(const struct store_io *io, const char *dir)
{
    return (struct blob_dir){
        .place = {dir_put, dir_get, dir_begin, dir_has, dir_keep_file}, .io = io, .dir = dir};
}

/* ---- spilling ---- */

static bool is_reference(str value)
{
    return str_starts(value, REFERENCE);
}

static bool must_spill(str value)
{
    return value.n > STORE_SPILL_BYTES || is_reference(value);
}

static bool has_something_to_spill(str line)
{
    struct event_head head;
    struct json_scan scan;
    str key, value;
    bool found = false;
    if (line.n <= STORE_SPILL_BYTES && str_find(line, REFERENCE, 0) < 0)
        return false; /* the common case */
    json_scan_init(&scan, line);
    while (!found && json_scan_next(&scan, &key, &value))
        found = must_spill(value);
    return found && event_scan(line, &head) && head.type == EV_TOOL_DONE;
}

static void describe_value(struct arena *a, struct json_writer *w, str value)
{
    static const struct parts_form FORM = {.text_max = PART_BYTES, .value_max = PART_BYTES};
    struct json *v = NULL;
    bool is_json = json_parse(a, value, 0, &v, NULL) == 0;
    const struct json *content = json_is(v, JSON_OBJECT) ? json_get(v, "content") : v;
    str preview = is_json ? text_of_content(a, content) : STR_NONE;
    jw_kstr(w, "preview", utf8_truncate(preview, PREVIEW_BYTES));
    if (json_is(v, JSON_OBJECT)) {
        jw_key(w, "parts");
        parts_write(w, v, &FORM);
    }
}

/* {"$blob":...} for a value that was stored as a blob. */
static int make_reference(struct arena *a, const struct blob_place *p, str value, str *ret,
                          struct err *e)
{
    str hash;
    int r = p->put(p, a, value, &hash, e);
    if (r < 0)
        return r;
    struct buf b;
    struct json_writer w;
    jw_start(&w, &b, REFERENCE_MAX);
    jw_object(&w);
    jw_kstr(&w, "$blob", hash);
    jw_kint(&w, "bytes", (int64_t)value.n);
    describe_value(a, &w, value);
    jw_end(&w);
    *ret = buf_keep(&b, a);
    return 0;
}

/* The scanner returns raw keys, which are still escaped. */
static void add_json_member(struct buf *out, str key, str value)
{
    buf_add_lit(out, out->n ? ",\"" : "{\"");
    buf_add_str(out, key);
    buf_add_lit(out, "\":");
    buf_add_str(out, value);
}

int blobs_spill(struct arena *a, const struct blob_place *p, str *line, struct err *e)
{
    str body = str_slice(*line, 0, line->n - 1);
    if (!has_something_to_spill(body))
        return 0;
    struct buf out;
    struct json_scan scan;
    str key, value;
    int r = 0;
    buf_init(&out, line->n + STORE_SPILL_BYTES);
    json_scan_init(&scan, body);
    while (r == 0 && json_scan_next(&scan, &key, &value)) {
        if (must_spill(value))
            r = make_reference(a, p, value, &value, e);
        add_json_member(&out, key, value);
    }
    buf_add_lit(&out, "}\n");
    if (r == 0)
        *line = arena_str(a, buf_str(&out));
    buf_done(&out);
    return r;
}

static str blob_of(struct arena *a, const struct blob_place *p, str reference)
{
    str sha256 = str_slice(reference, REFERENCE.n, REFERENCE.n + SHA256_HEX_LEN);
    str bytes;
    for (size_t i = 0; i < sha256.n; i++) {
        if (!strchr("0123456789abcdef", sha256.p[i]))
            return STR_NONE;
    }
    bool is_found = sha256.n == SHA256_HEX_LEN && p->get(p, a, sha256, &bytes, NULL) == 0;
    return is_found ? bytes : STR_NONE;
}

str blobs_restore(struct arena *a, const struct blob_place *p, str line)
{
    struct event_head head;
    if (str_find(line, REFERENCE, 0) < 0 || !event_scan(line, &head) || head.type != EV_TOOL_DONE)
        return line;
    struct buf out;
    struct json_scan scan;
    str key, value;
    buf_init(&out, RESTORED_MAX);
    json_scan_init(&scan, line);
    while (json_scan_next(&scan, &key, &value)) {
        str bytes = is_reference(value) ? blob_of(a, p, value) : STR_NONE;
        add_json_member(&out, key, bytes.n ? bytes : value);
    }
    buf_add_char(&out, '}');
    str whole = buf_failed(&out) ? line : arena_str(a, buf_str(&out));
    buf_done(&out);
    return whole;
}
