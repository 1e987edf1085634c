/* header.c - line 1 of a conversation: written once, never rewritten. */
#include "base/clock.h"
#include "store/backend/backend.h"

enum { HEADER_MAX = 1024 * 1024 };

static void write_optional(struct json_writer *w, const char *key, str value)
{
    if (value.n)
        jw_kstr(w, key, value);
}

static void owner(struct json_writer *w, str owner_id)
{
    if (!owner_id.n)
        return;
    jw_kstr(w, "ownerId", owner_id);
    jw_kstr(w, "visibility", STR("private"));
    jw_karray(w, "participants");
    jw_str(w, owner_id);
    jw_end(w);
}

str header_line(struct arena *a, const struct store *s, str id, const struct conv_create *spec,
                int64_t now_ms)
{
    struct buf b;
    struct json_writer w;
    char iso[CLOCK_ISO_LEN + 1];
    clock_iso(spec->created_ms ? spec->created_ms : now_ms, iso);
    jw_start(&w, &b, HEADER_MAX);
    jw_object(&w);
    jw_kstr(&w, "id", id);
    jw_kstr(&w, "createdAt", str_from(iso));
    jw_kstr(&w, "format", STR("events"));
    write_optional(&w, "workspaceId", str_from(s->conf.workspace_id));
    owner(&w, spec->owner_id);
    write_optional(&w, "channel", spec->channel);
    write_optional(&w, "model", spec->model);
    write_optional(&w, "forkedFrom", spec->forked_from);
    if (spec->parent)
        jw_kval(&w, "parent", spec->parent);
    if (spec->metadata)
        jw_kval(&w, "metadata", spec->metadata);
    if (spec->branch)
        jw_kval(&w, "branch", spec->branch);
    if (spec->is_hidden)
        jw_kbool(&w, "hidden", true);
    jw_end(&w);
    buf_add_char(&b, '\n');
    return buf_keep_whole(&b, a);
}
