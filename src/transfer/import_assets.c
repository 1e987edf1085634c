/* import_assets.c - files beside the conversations of an export: pictures and documents that
 * messages name. Names in messages only choose among the files that are there; they never become a
 * path. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "attach/file_name.h"
#include "attach/library.h"
#include "attach/sniff.h"
#include "base/bytes/base64.h"
#include "base/bytes/hash.h"
#include "os/dir.h"
#include "os/file.h"
#include "store/event/blobs.h"
#include "transfer/import_impl.h"

enum { ASSETS_MAX = 100000, ASSET_DEPTH_MAX = 3, RESULT_PICTURE_MAX = 4 * 1024 * 1024 };

/* Links are not followed: an export that was unpacked by another program may have some. */
static void assets_visit(struct assets *s, const char *dir, int depth)
{
    struct stat st;
    DIR_EACH (d, dir) {
        const char *path = arena_printf(&s->arena, "%s/%s", dir, d.name).p;
        if (d.name[0] == '.' || lstat(path, &st) < 0 || s->n == ASSETS_MAX)
            continue;
        if (S_ISDIR(st.st_mode) && depth < ASSET_DEPTH_MAX) {
            assets_visit(s, path, depth + 1);
        } else if (S_ISREG(st.st_mode)) {
            ARENA_GROW(&s->arena, s->items, s->n, s->cap);
            str name = str_from(path);
            s->items[s->n++] = (struct asset){str_skip(name, name.n - strlen(d.name)), path};
        }
    }
}

void assets_open(struct assets *s, const char *dir)
{
    *s = (struct assets){0};
    arena_init(&s->arena);
    if (dir)
        assets_visit(s, dir, 0);
}

void assets_done(struct assets *s)
{
    arena_done(&s->arena);
}

/* The name itself, or an id with something behind it: "file-abc" is "file-abc-photo.png". Each
 * mention of a file reads it, so that a few bytes of a message cost much: they are counted. */
static const struct asset *assets_find(struct talk *t, str name)
{
    const struct assets *s = t->asked < IMPORT_ASKED_MAX ? t->assets : NULL;
    t->asked++;
    for (size_t i = 0; s && name.n > 0 && i < s->n; i++) {
        str rest = str_skip(s->items[i].name, name.n);
        if (str_starts(s->items[i].name, name) &&
            (rest.n == 0 || ((name.n >= 8) && strchr("-_.", rest.p[0]))))
            return &s->items[i];
    }
    return NULL;
}

/* The part behind the id in the name of a file. */
static str shown_name(struct arena *a, const struct asset *asset, str id, str given)
{
    str rest = str_skip(asset->name, id.n);
    if (given.n == 0)
        given = rest.n > 1 && strchr("-_", rest.p[0]) ? str_skip(rest, 1) : asset->name;
    return file_name_clean(a, given);
}

static void remember(struct talk *t, struct arena *a, const char *path)
{
    for (size_t i = 0; i < t->nfiles; i++)
        if (t->files[i].path && strcmp(t->files[i].path, path) == 0)
            return;
    ARENA_GROW(a, t->files, t->nfiles, t->files_cap);
    t->files[t->nfiles++] = (struct import_blob){.path = path, .is_file = true};
}

/* ---- pictures for models ---- */

bool talk_make_view(struct talk *t, struct arena *a, str picture, struct import_view *ret,
                    str *ret_problem)
{
    struct err e = {0};
    *ret_problem = STR_NONE;
    if (!t->views)
        return false;
    if (t->view_bytes >= IMPORT_VIEWS_BYTES)
        err_set(&e, -EFBIG, "the conversation has too many large pictures");
    else if (t->views->make(t->views->ctx, t->views->side, a, picture, ret, &e) == 0)
        t->view_bytes += ret->bytes.n;
    if (e.code == -EINVAL || e.code == -EFBIG)
        *ret_problem = arena_str(a, str_from(e.msg));
    return e.code == 0;
}

static void add_view(struct talk *t, struct arena *a, struct json *part, str picture)
{
    char sha256[SHA256_HEX_LEN + 1];
    struct import_view v;
    str problem;
    if (!talk_make_view(t, a, picture, &v, &problem)) {
        if (problem.n > 0)
            json_set(a, part, STR("unreadable"), json_of_str(problem));
        return;
    }
    sha256_hex(v.bytes, sha256);
    struct json *view = json_new(a, JSON_OBJECT);
    json_set(a, view, STR("file"), json_of_str(library_id(a, str_from(sha256))));
    json_set(a, view, STR("mimeType"), json_of_str(str_from(v.mime)));
    json_set(a, view, STR("bytes"), json_of_int((int64_t)v.bytes.n));
    json_set(a, view, STR("width"), json_of_int(v.width));
    json_set(a, view, STR("height"), json_of_int(v.height));
    json_set(a, part, STR("view"), *view);
    ARENA_GROW(a, t->files, t->nfiles, t->files_cap);
    t->files[t->nfiles++] = (struct import_blob){.bytes = v.bytes};
}

/* ---- files of messages ---- */

bool talk_add_file(struct talk *t, struct arena *a, struct json *parts, str id, str name)
{
    char sha256[SHA256_HEX_LEN + 1];
    struct arena scratch;
    str bytes;
    const struct asset *asset = assets_find(t, id);
    if (!asset || t->nfiles >= IMPORT_CONV_FILES_MAX)
        return false;
    arena_init(&scratch);
    bool is_read = file_read(&scratch, asset->path, IMPORT_FILE_BYTES, &bytes, NULL) == 0;
    if (is_read) {
        sha256_hex(bytes, sha256);
        const struct attached f = {.id = library_id(a, str_from(sha256)),
                                   .name = shown_name(a, asset, id, name),
                                   .mime = str_from(sniff_type(bytes)),
                                   .bytes = bytes.n};
        struct json part = file_parts_make(a, &f);
        remember(t, a, asset->path);
        if (strcmp(sniff_part(f.mime), "image") == 0)
            add_view(t, a, &part, bytes);
        json_push(a, parts, part);
    }
    arena_done(&scratch);
    return is_read;
}

/* A block as tools return it: results have their pictures in them. */
bool talk_add_picture(struct talk *t, struct arena *a, struct json *parts, str id)
{
    struct arena scratch;
    str bytes;
    struct buf b;
    const struct asset *asset = assets_find(t, id);
    arena_init(&scratch);
    bool is_read = asset && t->picture_bytes < IMPORT_PICTURES_BYTES &&
                   file_read(&scratch, asset->path, RESULT_PICTURE_MAX, &bytes, NULL) == 0 &&
                   strcmp(sniff_part(str_from(sniff_type(bytes))), "image") == 0;
    if (is_read) {
        buf_init(&b, 2 * RESULT_PICTURE_MAX);
        (void)base64_encode(&b, bytes);
        t->picture_bytes += b.n;
        struct json *part = json_new(a, JSON_OBJECT);
        json_set(a, part, STR("type"), json_of_str(STR("image")));
        json_set(a, part, STR("data"), json_of_str(buf_keep_whole(&b, a)));
        json_set(a, part, STR("mimeType"), json_of_str(str_from(sniff_type(bytes))));
        json_push(a, parts, *part);
    }
    arena_done(&scratch);
    return is_read;
}
