/* {"projects": {ID: {name, ownerId, members, instructions, instructionsBy, createdAt, updatedAt,
 *  files: [{id, name, mimeType, bytes, at, by}]}}, "conversations": {CONVERSATION: ID}} */
#include "workspace/projects.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bytes/random.h"
#include "base/clock.h"
#include "base/map.h"

#define FILE_MAX          (16u * 1024 * 1024)
#define CONVERSATIONS_MAX 20000u /* of all projects */
#define KEY_PROJECTS      STR("projects")
#define KEY_CONVERSATIONS STR("conversations")

struct projects {
    struct doc_file *file;
    /* conversation -> id of its project, a string of the document; rebuilt when that changes */
    struct map by_conversation;
    struct map sizes; /* id of a project -> how many conversations, as a number */
    uint64_t built_for;
    /* Conversations that were purged and are still in the document. A sweep of the trash purges
     * many at a time, and each change writes all of it: so they wait for the change under way. */
    struct doc_change *forgetting;
    struct arena purged_arena;
    str *purged;
    size_t npurged, purged_cap;
};

struct projects *projects_open(const struct doc_place *at)
{
    struct projects *p = xcalloc(1, sizeof *p);
    p->file = doc_file_open(at, FILE_MAX);
    map_init(&p->by_conversation);
    map_init(&p->sizes);
    arena_init(&p->purged_arena);
    return p;
}

void projects_reload(struct projects *p)
{
    doc_file_reload(p->file);
}

static void forget_purged(struct projects *p);

void projects_free(struct projects *p)
{
    if (!p)
        return;
    forget_purged(p);
    doc_file_free(p->file);
    map_done(&p->by_conversation);
    map_done(&p->sizes);
    arena_done(&p->purged_arena);
    free(p);
}

void project_new_id(char out[PROJECT_ID_MAX])
{
    random_id("prj", out);
}

_Static_assert(PROJECT_ID_MAX == RANDOM_ID_MAX, "random_id writes it");

/* ---- reading ---- */

static const struct json *all_projects(const struct projects *p)
{
    const struct json *all = p ? json_get_str(doc_file_root(p->file), KEY_PROJECTS) : NULL;
    return json_is(all, JSON_OBJECT) ? all : NULL;
}

/* Its files are named after it. Those of project_new_id are valid; the document may have been
 * edited. */
static bool project_id_ok(str id)
{
    return str_starts(id, STR("prj_")) && str_is_made_of(id, "_") && id.n > 4 &&
           id.n < PROJECT_ID_MAX;
}

static bool read_project(str id, const struct json *v, struct conv_project *ret)
{
    if (!json_is(v, JSON_OBJECT) || !project_id_ok(id))
        return false;
    const struct json *members = json_get(v, "members"), *files = json_get(v, "files");
    *ret = (struct conv_project){
        .id = id,
        .name = json_get_string(v, "name"),
        .owner_id = json_get_string(v, "ownerId"),
        .instructions = json_get_string(v, "instructions"),
        .instructions_by = json_get_string(v, "instructionsBy"),
        .created_at = json_get_string(v, "createdAt"),
        .updated_at = json_get_string(v, "updatedAt"),
        .members = json_is(members, JSON_ARRAY) ? members : NULL,
        .files = json_is(files, JSON_ARRAY) ? files : NULL,
    };
    return ret->name.n > 0 && ret->owner_id.n > 0;
}

bool projects_find(const struct projects *p, str id, struct conv_project *ret)
{
    const struct json *v = json_get_str(all_projects(p), id);
    return v && read_project(id, v, ret);
}

size_t projects_count(const struct projects *p)
{
    const struct json *all = all_projects(p);
    return all ? all->len : 0;
}

bool projects_at(const struct projects *p, size_t i, struct conv_project *ret)
{
    const struct json *all = all_projects(p);
    assert(all && i < all->len);
    return read_project(all->members[i].key, &all->members[i].value, ret);
}

static const struct json *all_conversations(const struct projects *p)
{
    const struct json *all = json_get_str(doc_file_root(p->file), KEY_CONVERSATIONS);
    return json_is(all, JSON_OBJECT) ? all : NULL;
}

static size_t size_of(const struct projects *p, str id)
{
    return (size_t)(uintptr_t)map_get(&p->sizes, id);
}

/* A list looks up each of its rows, so that a walk through the document would be too slow. */
static void refresh_map(struct projects *p)
{
    uint64_t now = doc_file_version(p->file);
    const struct json *all = all_conversations(p);
    if (p->built_for == now)
        return;
    map_done(&p->by_conversation);
    map_init(&p->by_conversation);
    map_done(&p->sizes);
    map_init(&p->sizes);
    for (size_t i = 0; all && i < all->len; i++) {
        const struct json *id = &all->members[i].value;
        if (id->type != JSON_STRING)
            continue;
        map_put(&p->by_conversation, all->members[i].key, (void *)id);
        map_put(&p->sizes, id->s, (void *)(uintptr_t)(size_of(p, id->s) + 1));
    }
    p->built_for = now;
}

size_t projects_size(struct projects *p, str id)
{
    refresh_map(p);
    return size_of(p, id);
}

bool projects_of(struct projects *p, str conversation_id, struct conv_project *ret)
{
    if (!p || conversation_id.n == 0)
        return false;
    refresh_map(p);
    const struct json *id = map_get(&p->by_conversation, conversation_id);
    return id && projects_find(p, id->s, ret);
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

struct json_strs projects_conversations(struct projects *p, struct arena *a, str id)
{
    const struct json *all = p ? all_conversations(p) : NULL;
    struct json_strs ids = {arena_array(a, (all ? all->len : 0) + 1, sizeof(str)), 0};
    for (size_t i = 0; all && i < all->len; i++)
        if (str_eq(json_string(&all->members[i].value, STR_NONE), id))
            ids.items[ids.len++] = arena_str(a, all->members[i].key);
    if (ids.len > 1)
        qsort(ids.items, ids.len, sizeof(str), by_text);
    return ids;
}

static bool has_person(const struct conv_project *p, str user_id)
{
    return str_eq(p->owner_id, user_id) || (p->members && json_has_string(p->members, user_id));
}

bool project_is_seen_by(const struct conv_project *p, const struct actor *who)
{
    bool has_all = true;
    for (size_t i = 0; i < who->npeople; i++)
        has_all &= has_person(p, who->people[i].user_id);
    return has_all || actor_is_admin(who);
}

bool project_is_managed_by(const struct conv_project *p, const struct actor *who)
{
    bool owns = true;
    for (size_t i = 0; i < who->npeople; i++)
        owns &= str_eq(p->owner_id, who->people[i].user_id);
    return owns || actor_is_admin(who);
}

bool project_author_counts(const struct roster *all, str workspace_id, const struct actor *who,
                           str author)
{
    if (!all || all->is_sole || actor_has_user(who, author))
        return true;
    const struct workspace *ws = roster_workspace(all, workspace_id);
    return ws && workspace_role(ws, author) == WS_ADMIN;
}

/* ---- files ---- */

size_t project_file_count(const struct conv_project *p)
{
    return p->files ? p->files->len : 0;
}

struct project_file project_file_at(const struct conv_project *p, size_t i)
{
    assert(i < project_file_count(p));
    const struct json *f = json_at(p->files, i);
    return (struct project_file){
        .id = json_get_string(f, "id"),
        .name = json_get_string(f, "name"),
        .mime = json_get_string(f, "mimeType"),
        .bytes = (uint64_t)json_get_int(f, "bytes", 0),
        .at_ms = json_get_int(f, "at", 0),
        .by = json_get_string(f, "by"),
    };
}

bool project_file_find(const struct conv_project *p, str id, struct project_file *ret)
{
    for (size_t i = 0; i < project_file_count(p); i++) {
        *ret = project_file_at(p, i);
        if (ret->id.n > 0 && str_eq(ret->id, id))
            return true;
    }
    return false;
}

/* ---- changing ---- */

struct edit_data {
    struct project_edit edit;
    bool is_new;
    str conversation_id; /* of projects_assign */
};

/* What it returned before for the same object may have moved. */
static struct json *object_of(struct arena *a, struct json *in, str key)
{
    struct json *v = json_get_str(in, key);
    return json_is(v, JSON_OBJECT) ? v : json_set(a, in, key, *json_new(a, JSON_OBJECT));
}

static int check_project(const struct project_edit *x, struct err *e)
{
    if (x->has_name && (x->name.n == 0 || x->name.n > PROJECT_NAME_MAX))
        return err_set(e, -EINVAL, "A project has a name of at most %u bytes.", PROJECT_NAME_MAX);
    if (x->instructions.n > PROJECT_INSTRUCTIONS_MAX)
        return err_set(e, -EINVAL, "The instructions have %zu bytes; at most %u are allowed.",
                       x->instructions.n, PROJECT_INSTRUCTIONS_MAX);
    if (str_find_char(x->name, 0) >= 0 || str_find_char(x->instructions, 0) >= 0)
        return err_set(e, -EINVAL, "A text contains a NUL character.");
    if (x->members.len > PROJECT_MEMBERS_MAX)
        return err_set(e, -EINVAL, "A project has at most %u members.", PROJECT_MEMBERS_MAX);
    return 0;
}

static void set_text(struct arena *a, struct json *project, const char *key, str value)
{
    json_set(a, project, str_from(key), json_of_str(arena_str(a, value)));
}

static void set_members(struct arena *a, struct json *project, struct json_strs members)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < members.len; i++)
        if (!str_eq(members.items[i], json_get_string(project, "ownerId")))
            json_push(a, list, json_of_str(arena_str(a, members.items[i])));
    json_set(a, project, STR("members"), *list);
}

static void unlist_file(struct json *files, str id)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < files->len; i++)
        if (!str_eq(json_get_string(&files->items[i], "id"), id))
            files->items[kept++] = files->items[i];
    files->len = kept;
}

/* The latest first. */
static void list_file(struct arena *a, struct json *files, const struct project_file *f, str by)
{
    struct json *one = json_new(a, JSON_OBJECT);
    set_text(a, one, "id", f->id);
    set_text(a, one, "name", f->name);
    set_text(a, one, "mimeType", f->mime);
    json_set(a, one, STR("bytes"), json_of_int((int64_t)f->bytes));
    json_set(a, one, STR("at"), json_of_int(f->at_ms));
    set_text(a, one, "by", by);
    json_push(a, files, *one);
    for (uint32_t i = files->len - 1; i > 0; i--)
        files->items[i] = files->items[i - 1];
    files->items[0] = *one;
}

static int apply_files(struct arena *a, struct json *project, const struct project_edit *x,
                       struct err *e)
{
    if (x->add_file.id.n == 0 && x->remove_file.n == 0)
        return 0;
    struct json *files = json_get(project, "files");
    if (!json_is(files, JSON_ARRAY))
        files = json_set(a, project, STR("files"), *json_new(a, JSON_ARRAY));
    unlist_file(files, x->remove_file.n > 0 ? x->remove_file : x->add_file.id);
    if (x->add_file.id.n == 0)
        return 0;
    if (files->len >= PROJECT_FILES_MAX)
        return err_set(e, -EPERM, "The project has %u files, which is the limit.",
                       PROJECT_FILES_MAX);
    list_file(a, files, &x->add_file, x->by);
    return 0;
}

static void remove_project(struct arena *a, struct json *doc, str id)
{
    struct json *convs = object_of(a, doc, KEY_CONVERSATIONS);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < convs->len; i++)
        if (!str_eq(json_string(&convs->members[i].value, STR_NONE), id))
            convs->members[kept++] = convs->members[i];
    convs->len = kept;
    json_unset(object_of(a, doc, KEY_PROJECTS), arena_cstr(a, id));
}

static int apply_project(void *data, struct arena *a, struct json *doc, struct err *e)
{
    const struct edit_data *d = data;
    const struct project_edit *x = &d->edit;
    char now[CLOCK_ISO_LEN + 1];
    struct json *projects = object_of(a, doc, KEY_PROJECTS);
    struct json *project = json_get_str(projects, x->id);
    int r = check_project(x, e);
    if (r < 0)
        return r;
    if (!d->is_new && !json_is(project, JSON_OBJECT))
        return err_set(e, -ENOENT, "No such project.");
    if (x->is_removal) {
        remove_project(a, doc, x->id);
        return 0;
    }
    if (d->is_new && projects->len >= PROJECTS_MAX)
        return err_set(e, -EPERM, "The workspace has %u projects, which is the limit.",
                       PROJECTS_MAX);
    clock_iso(clock_now_ms(), now);
    if (d->is_new) {
        project = json_set(a, projects, arena_str(a, x->id), *json_new(a, JSON_OBJECT));
        set_text(a, project, "ownerId", x->by);
        set_text(a, project, "createdAt", str_from(now));
    }
    set_text(a, project, "updatedAt", str_from(now));
    if (x->has_name)
        set_text(a, project, "name", x->name);
    if (x->has_members)
        set_members(a, project, x->members);
    if (x->has_instructions) {
        set_text(a, project, "instructions", x->instructions);
        set_text(a, project, "instructionsBy", x->by);
    }
    return apply_files(a, project, x, e);
}

struct doc_change *projects_change(struct projects *p, const struct project_edit *edit, bool is_new,
                                   doc_changed_fn fn, void *ctx)
{
    struct doc_change *c = doc_change_new();
    struct edit_data *d = ARENA_NEW(&c->arena, struct edit_data);
    d->edit = *edit;
    d->is_new = is_new;
    d->edit.id = arena_str(&c->arena, edit->id);
    d->edit.by = arena_str(&c->arena, edit->by);
    d->edit.name = arena_str(&c->arena, str_trim(edit->name));
    d->edit.instructions = arena_str(&c->arena, str_trim(edit->instructions));
    d->edit.members = json_strs_copy(&c->arena, edit->members);
    d->edit.remove_file = arena_str(&c->arena, edit->remove_file);
    d->edit.add_file.id = arena_str(&c->arena, edit->add_file.id);
    d->edit.add_file.name = arena_str(&c->arena, edit->add_file.name);
    d->edit.add_file.mime = arena_str(&c->arena, edit->add_file.mime);
    doc_change_start(p->file, c, apply_project, d, fn, ctx);
    return c;
}

static int apply_assignment(void *data, struct arena *a, struct json *doc, struct err *e)
{
    const struct edit_data *d = data;
    str id = d->edit.id;
    if (id.n > 0 && !json_get_str(json_get_str(doc, KEY_PROJECTS), id))
        return err_set(e, -ENOENT, "No such project.");
    struct json *convs = object_of(a, doc, KEY_CONVERSATIONS);
    size_t n = 0;
    if (id.n == 0) {
        json_unset(convs, arena_cstr(a, d->conversation_id));
        return 0;
    }
    for (size_t i = 0; i < convs->len; i++)
        n += str_eq(json_string(&convs->members[i].value, STR_NONE), id);
    if (n >= PROJECT_CONVERSATIONS_MAX || convs->len >= CONVERSATIONS_MAX)
        return err_set(e, -EPERM, "The project has %zu conversations; no more can be added.", n);
    json_set(a, convs, arena_str(a, d->conversation_id), json_of_str(arena_str(a, id)));
    return 0;
}

struct doc_change *projects_assign(struct projects *p, str conversation_id, str id,
                                   doc_changed_fn fn, void *ctx)
{
    struct doc_change *c = doc_change_new();
    struct edit_data *d = ARENA_NEW(&c->arena, struct edit_data);
    d->edit.id = arena_str(&c->arena, id);
    d->conversation_id = arena_str(&c->arena, conversation_id);
    doc_change_start(p->file, c, apply_assignment, d, fn, ctx);
    return c;
}

/* ---- conversations that are gone ---- */

static int apply_purge(void *data, struct arena *a, struct json *doc, struct err *e)
{
    const struct json_strs *gone = data;
    struct json *convs = object_of(a, doc, KEY_CONVERSATIONS);
    struct map ids;
    uint32_t kept = 0;
    map_init(&ids);
    for (size_t i = 0; i < gone->len; i++)
        map_put(&ids, gone->items[i], &gone->items[i]);
    for (uint32_t i = 0; i < convs->len; i++)
        if (!map_get(&ids, convs->members[i].key))
            convs->members[kept++] = convs->members[i];
    convs->len = kept;
    map_done(&ids);
    return 0;
}

/* A change that fails leaves entries, which say nothing about a right. */
static void on_forgotten(void *ctx, const struct err *err)
{
    struct projects *p = ctx;
    p->forgetting = NULL;
    forget_purged(p);
}

static void forget_purged(struct projects *p)
{
    if (p->npurged == 0)
        return;
    struct doc_change *c = p->forgetting = doc_change_new();
    struct json_strs *gone = ARENA_NEW(&c->arena, struct json_strs);
    *gone = json_strs_copy(&c->arena, (struct json_strs){p->purged, p->npurged});
    arena_reset(&p->purged_arena);
    p->purged = NULL;
    p->npurged = p->purged_cap = 0;
    doc_change_start(p->file, c, apply_purge, gone, on_forgotten, p);
}

void projects_forget(struct projects *p, str conversation_id)
{
    if (!p)
        return;
    refresh_map(p);
    if (!map_get(&p->by_conversation, conversation_id))
        return;
    ARENA_GROW(&p->purged_arena, p->purged, p->npurged, p->purged_cap);
    p->purged[p->npurged++] = arena_str(&p->purged_arena, conversation_id);
    if (!p->forgetting)
        forget_purged(p);
}
