#include "cli/session/logins.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"

#define FILE_BYTES_MAX (1024u * 1024)

/* Somebody else who can write it could send the messages of this person to their own server. */
static int check_owner(const char *path, struct err *e)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT ? -ENOENT : err_errno(e, -errno, "cannot read", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return err_set(e, -EPERM, "%s must be a file of your own", path);
    if (st.st_mode & 077)
        return err_set(e, -EPERM, "%s can be read by others; chmod 600 it, and replace its tokens",
                       path);
    return 0;
}

int logins_read(struct arena *a, struct config *c, struct logins *ret, struct err *e)
{
    const char *path = config_path(c, LOGINS_FILE);
    struct json *doc;
    str text;
    *ret = (struct logins){0};
    int r = check_owner(path, e);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    r = file_read(a, path, FILE_BYTES_MAX, &text, e);
    if (r < 0)
        return r;
    const struct json *list =
        json_parse(a, text, JSON_COPY, &doc, NULL) == 0 ? json_get(doc, "logins") : NULL;
    if (!json_is(list, JSON_ARRAY))
        return err_set(e, -EINVAL, "%s is damaged; remove it and run nb login again", path);
    for (size_t i = 0; i < list->len && ret->n < LOGINS_MAX; i++) {
        const struct json *l = json_at(list, i);
        ret->items[ret->n++] =
            (struct login){json_get_string(l, "url"), json_get_string(l, "token"),
                           json_get_string(l, "workspace")};
    }
    return 0;
}

const struct login *logins_find(const struct logins *all, str url)
{
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->items[i].url, url))
            return &all->items[i];
    return NULL;
}

static int logins_write(struct config *c, struct arena *a, const struct logins *all, struct err *e)
{
    struct json *doc = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < all->n; i++) {
        struct json *l = json_new(a, JSON_OBJECT);
        json_set(a, l, STR("url"), json_of_str(all->items[i].url));
        json_set(a, l, STR("token"), json_of_str(all->items[i].token));
        if (all->items[i].workspace.n > 0)
            json_set(a, l, STR("workspace"), json_of_str(all->items[i].workspace));
        json_push(a, list, *l);
    }
    json_set(a, doc, STR("logins"), *list);
    int r = file_make_dirs(c->work_dir, e);
    return r < 0 ? r : file_write_atomic(config_path(c, LOGINS_FILE), json_to_str(a, doc), 0600, e);
}

static void drop_login(struct logins *all, str url)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (!str_eq(all->items[i].url, url))
            all->items[n++] = all->items[i];
    all->n = n;
}

int logins_put(struct config *c, const struct login *login, struct err *e)
{
    struct arena a;
    struct logins all;
    assert(login->url.n > 0 && login->token.n > 0);
    arena_init(&a);
    int r = logins_read(&a, c, &all, e);
    if (r == 0) {
        drop_login(&all, login->url);
        if (all.n == LOGINS_MAX)
            r = err_set(e, -ENOSPC, "there are %d logins already; nb logout URL removes one",
                        LOGINS_MAX);
    }
    if (r == 0) {
        all.items[all.n++] = *login;
        r = logins_write(c, &a, &all, e);
    }
    arena_done(&a);
    return r;
}

int logins_remove(struct config *c, str url, struct err *e)
{
    struct arena a;
    struct logins all;
    arena_init(&a);
    int r = logins_read(&a, c, &all, e);
    if (r == 0 && !logins_find(&all, url))
        r = err_set(e, -ENOENT, "there is no login for %.*s", STR_ARG(url));
    if (r == 0) {
        drop_login(&all, url);
        r = logins_write(c, &a, &all, e);
    }
    arena_done(&a);
    return r;
}
