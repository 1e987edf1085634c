#include <stdlib.h>

#include "auth/session/use_store.h"
#include "base/json/json.h"
#include "os/file.h"

#define FILE_MAX_BYTES (16u * 1024 * 1024)
#define FILE_NAME      "token-use.json"

struct use_file {
    struct use_store store;
    char *dir;
};

static int use_file_read(struct use_store *s, struct arena *a, struct token_times *ret,
                         struct err *e)
{
    struct use_file *f = CONTAINER_OF(s, struct use_file, store);
    str text, path = arena_printf(a, "%s/" FILE_NAME, f->dir);
    struct json *doc;
    *ret = (struct token_times){0};
    if (file_read(a, path.p, FILE_MAX_BYTES, &text, NULL) < 0 ||
        json_parse(a, text, 0, &doc, NULL) < 0 || !json_is(doc, JSON_OBJECT))
        return 0;
    ret->items = arena_array(a, doc->len + 1, sizeof *ret->items);
    for (size_t i = 0; i < doc->len && ret->n < TOKEN_USES_MAX; i++)
        if (json_is(&doc->members[i].value, JSON_INT))
            ret->items[ret->n++] =
                (struct token_time){doc->members[i].key, doc->members[i].value.i};
    return 0;
}

static void write_times(struct buf *out, const struct token_times *all)
{
    struct json_writer w;
    jw_start(&w, out, FILE_MAX_BYTES);
    jw_object(&w);
    for (size_t i = 0; i < all->n; i++) {
        jw_key_str(&w, all->items[i].token_id);
        jw_int(&w, all->items[i].ms);
    }
    jw_end(&w);
}

static int use_file_write(struct use_store *s, const struct use_changes *c, struct err *e)
{
    struct use_file *f = CONTAINER_OF(s, struct use_file, store);
    struct arena a;
    struct buf text;
    arena_init(&a);
    write_times(&text, &c->all);
    str path = arena_printf(&a, "%s/" FILE_NAME, f->dir);
    int r = file_make_dirs(f->dir, e);
    if (r == 0)
        r = file_write_atomic(path.p, buf_str(&text), 0600, e);
    buf_done(&text);
    arena_done(&a);
    return r;
}

static void use_file_free(struct use_store *s)
{
    struct use_file *f = CONTAINER_OF(s, struct use_file, store);
    free(f->dir);
    free(f);
}

struct use_store *use_file_new(const char *work_dir)
{
    struct use_file *f = xcalloc(1, sizeof *f);
    struct buf dir;
    f->store =
        (struct use_store){.read = use_file_read, .write = use_file_write, .free = use_file_free};
    buf_init(&dir, 8192);
    buf_printf(&dir, "%s/auth", work_dir);
    f->dir = buf_take(&dir, NULL);
    return &f->store;
}
