#include "cli/acp/acp_catalog.h"

#include "base/json/json.h"
#include "os/file.h"
#include "os/lock.h"

#define FILE_MAX (8u * 1024 * 1024) /* more than ACP_CATALOG_MAX of the longest lines */

static bool read_entry(struct arena *a, str line, struct acp_entry *ret)
{
    struct json *v;
    if (json_parse(a, line, 0, &v, NULL) < 0)
        return false;
    *ret = (struct acp_entry){json_get_string(v, "session"), json_get_string(v, "conversation"),
                              json_get_string(v, "cwd")};
    return ret->session.n > 0 && ret->conversation.n > 0 && ret->cwd.n > 0;
}

static str catalog_path(struct arena *a, const char *work_dir)
{
    return arena_printf(a, "%s/acp/sessions.jsonl", work_dir);
}

void acp_catalog_read(struct arena *a, const char *work_dir, struct acp_catalog *ret)
{
    str text, line;
    size_t cap = 0;
    *ret = (struct acp_catalog){0};
    if (file_read(a, catalog_path(a, work_dir).p, FILE_MAX, &text, NULL) < 0)
        return;
    while (str_split(&text, '\n', &line)) {
        struct acp_entry e;
        if (!read_entry(a, line, &e))
            continue;
        ARENA_GROW(a, ret->entries, ret->n, cap);
        ret->entries[ret->n++] = e;
    }
}

static void write_entry(struct buf *out, const struct acp_entry *e)
{
    struct json_writer w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "session", e->session);
    jw_kstr(&w, "conversation", e->conversation);
    jw_kstr(&w, "cwd", e->cwd);
    jw_end(&w);
    buf_add_char(out, '\n');
}

static int rewrite(struct arena *a, const char *work_dir, const struct acp_entry *entry,
                   struct err *e)
{
    struct acp_catalog old;
    struct buf out;
    acp_catalog_read(a, work_dir, &old);
    buf_init(&out, 2 * FILE_MAX);
    size_t skip = old.n >= ACP_CATALOG_MAX ? old.n - ACP_CATALOG_MAX + 1 : 0;
    for (size_t i = skip; i < old.n; i++)
        if (!str_eq(old.entries[i].session, entry->session))
            write_entry(&out, &old.entries[i]);
    write_entry(&out, entry);
    int r = file_write_atomic(catalog_path(a, work_dir).p, buf_str(&out), 0600, e);
    buf_done(&out);
    return r;
}

int acp_catalog_add(const char *work_dir, const struct acp_entry *entry, struct err *e)
{
    struct arena a;
    int lock;
    arena_init(&a);
    const char *dir = arena_printf(&a, "%s/acp", work_dir).p;
    int r = file_make_dirs(dir, e);
    if (r == 0)
        r = dir_lock(dir, &lock, e);
    if (r == 0) {
        r = rewrite(&a, work_dir, entry, e);
        lock_close(lock);
    }
    arena_done(&a);
    return r;
}

const struct acp_entry *acp_catalog_by_session(const struct acp_catalog *c, str session)
{
    for (size_t i = c->n; i > 0; i--)
        if (str_eq(c->entries[i - 1].session, session))
            return &c->entries[i - 1];
    return NULL;
}

const struct acp_entry *acp_catalog_by_conversation(const struct acp_catalog *c, str conversation)
{
    for (size_t i = c->n; i > 0; i--)
        if (str_eq(c->entries[i - 1].conversation, conversation))
            return &c->entries[i - 1];
    return NULL;
}
