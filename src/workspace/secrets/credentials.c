#include "workspace/secrets/credentials.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "os/dir.h"
#include "os/file.h"
#include "os/lock.h"
#include "workspace/secrets/sealed.h"

#define DIR_MODE      0700
#define PERSON_ID_MAX 128
#define MASK          "****"
#define MASK_SHOWN    2 /* visible characters of a longer value */
#define MASK_LONG     4 /* values up to this length show nothing */

/* ---- accounts of people ---- */

const char *credentials_people_dir(struct arena *a, const char *credentials_dir)
{
    return arena_printf(a, "%s/" CREDENTIALS_PEOPLE, credentials_dir).p;
}

static bool is_plain_id(str id)
{
    return id.n > 0 && id.n <= PERSON_ID_MAX && str_is_made_of(id, "_-");
}

str credentials_person_slug(struct arena *a, str server_name, str user_id)
{
    if (!is_plain_id(user_id))
        return STR_NONE;
    return arena_printf(a, "%.*s@%.*s", STR_ARG(user_id), STR_ARG(server_name));
}

/* "<user id>@<server>.json" -> the user id; empty for other files. */
static str person_of_file(str file, str server_name)
{
    str end = STR(".json");
    ptrdiff_t at = str_find_char(file, '@');
    if (at <= 0 || !str_ends(file, end))
        return STR_NONE;
    str server = str_slice(file, (size_t)at + 1, file.n - end.n);
    str id = str_slice(file, 0, (size_t)at);
    return str_eq(server, server_name) && is_plain_id(id) ? id : STR_NONE;
}

size_t credentials_people(struct arena *a, const char *credentials_dir, str server_name, size_t max,
                          str *ret_user_ids)
{
    struct dir d = dir_open(credentials_people_dir(a, credentials_dir));
    size_t n = 0;
    while (n < max && dir_next(&d)) {
        str id = person_of_file(str_from(d.name), server_name);
        if (id.n > 0)
            ret_user_ids[n++] = arena_str(a, id);
    }
    dir_close(&d);
    return n;
}

void credentials_forget_people(const char *credentials_dir, str server_name)
{
    struct arena a;
    arena_init(&a);
    DIR_EACH (d, credentials_people_dir(&a, credentials_dir)) {
        if (person_of_file(str_from(d.name), server_name).n > 0)
            (void)unlinkat(dir_fd(&d), d.name, 0);
    }
    arena_done(&a);
}

static const char *credentials_path(struct arena *a, const char *dir, str slug)
{
    return arena_printf(a, "%s/%.*s.json", dir, STR_ARG(slug)).p;
}

/* dir NULL: a file of another program, not encrypted. */
static int read_object(struct arena *a, const char *dir, const char *path, struct json **ret,
                       struct err *e)
{
    str text;
    int r = dir ? sealed_read(a, dir, path, CREDENTIALS_BYTES_MAX, &text, e)
                : file_read(a, path, CREDENTIALS_BYTES_MAX, &text, e);
    if (r == -ENOENT) {
        err_clear(e);
        *ret = json_new(a, JSON_OBJECT);
        return 0;
    }
    if (r < 0)
        return r;
    struct json *root;
    /* The parser's message could quote a secret. */
    if (json_parse(a, text, JSON_COPY | JSON_UNIQUE, &root, NULL) < 0 || root->type != JSON_OBJECT)
        return err_set(e, -EINVAL, "%s is not a JSON object; repair or delete it", path);
    *ret = root;
    return 0;
}

int credentials_load(struct arena *a, const char *dir, str slug, struct json **ret, struct err *e)
{
    return read_object(a, dir, credentials_path(a, dir, slug), ret, e);
}

static int write_object(const char *dir, const char *path, const struct json *v, struct err *e)
{
    struct buf b;
    buf_init(&b, CREDENTIALS_BYTES_MAX);
    json_write_pretty(&b, v);
    buf_add_char(&b, '\n');
    int r = buf_failed(&b) ? err_set(e, -EFBIG, "%s would be larger than %u bytes", path,
                                     CREDENTIALS_BYTES_MAX)
                           : sealed_write(dir, path, buf_str(&b), e);
    if (b.p)
        explicit_bzero(b.p, b.n);
    buf_done(&b);
    return r;
}

/* The key of these secrets is lost: the old file is renamed, and new secrets can be entered. */
static int set_aside(struct arena *a, const char *path, struct json **ret, struct err *e)
{
    const char *beside = arena_printf(a, "%s.unreadable", path).p;
    if (rename(path, beside) < 0)
        return err_errno(e, -errno, "cannot rename", path);
    err_clear(e);
    *ret = json_new(a, JSON_OBJECT);
    return 0;
}

static int credentials_change(struct arena *a, const char *dir, const char *path, str key,
                              const struct json *value, struct err *e)
{
    struct json *all = NULL;
    int r = read_object(a, dir, path, &all, e);
    if (r == -ENOKEY && value)
        r = set_aside(a, path, &all, e);
    if (r < 0)
        return r;
    if (value) {
        json_set(a, all, key, *value);
    } else if (json_get_str(all, key)) {
        json_unset(all, arena_cstr(a, key));
    } else {
        return err_set(e, -ENOENT, "no value is stored for '%.*s'", STR_ARG(key));
    }
    return write_object(dir, path, all, e);
}

int credentials_set(const char *dir, str slug, str key, const struct json *value, struct err *e)
{
    struct arena a;
    int lock, r = file_make_dirs(dir, e);
    if (r == 0 && chmod(dir, DIR_MODE) < 0)
        r = err_errno(e, -errno, "cannot protect", dir);
    if (r == 0)
        r = dir_lock(dir, &lock, e);
    if (r < 0)
        return r;
    arena_init(&a);
    r = credentials_change(&a, dir, credentials_path(&a, dir, slug), key, value, e);
    arena_done(&a);
    lock_close(lock);
    return r;
}

int credentials_remove(const char *dir, str slug, struct err *e)
{
    struct arena a;
    arena_init(&a);
    const char *path = credentials_path(&a, dir, slug);
    int r = unlink(path) < 0 && errno != ENOENT ? err_errno(e, -errno, "cannot delete", path) : 0;
    arena_done(&a);
    return r;
}

int credentials_instance_secret(struct arena *a, const char *work_dir, str *ret, struct err *e)
{
    struct json *all;
    const char *dir = arena_printf(a, "%s/credentials", work_dir).p;
    int r = credentials_load(a, dir, STR(CREDENTIALS_INSTANCE), &all, e);
    *ret = r == 0 ? json_get_string(all, CREDENTIALS_OIDC) : STR_NONE;
    return r;
}

const struct json *credentials_of_mpak(struct arena *a, const char *home_dir, str package)
{
    struct json *root = NULL;
    if (!home_dir || package.n == 0)
        return NULL;
    const char *path = arena_printf(a, "%s/.mpak/config.json", home_dir).p;
    if (read_object(a, NULL, path, &root, NULL) < 0)
        return NULL;
    const struct json *found = json_get_str(json_get(root, "packages"), package);
    return json_is(found, JSON_OBJECT) ? found : NULL;
}

str credentials_mask(struct arena *a, str value)
{
    size_t shown = 0;
    uint32_t cp;
    if (value.n <= MASK_LONG)
        return STR(MASK);
    for (int i = 0; i < MASK_SHOWN; i++)
        shown += utf8_decode(str_skip(value, shown), &cp);
    return arena_concat(a, str_slice(value, 0, shown), STR(MASK));
}
