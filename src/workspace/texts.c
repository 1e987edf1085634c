/* {"workspace": {"instructions": {text, by, updatedAt}, "prompts": {NAME: {description, text, by,
 * updatedAt}}}, "people": {USER: as the workspace}} */
#include "workspace/texts.h"

#include <errno.h>

#include "base/clock.h"

#define FILE_MAX     (16u * 1024 * 1024)
#define VARIABLE_MAX 40

struct texts {
    struct doc_file *file;
};

struct texts *texts_open(const struct doc_place *at)
{
    struct texts *t = xcalloc(1, sizeof *t);
    t->file = doc_file_open(at, FILE_MAX);
    return t;
}

void texts_reload(struct texts *t)
{
    doc_file_reload(t->file);
}

void texts_free(struct texts *t)
{
    if (t)
        doc_file_free(t->file);
    free(t);
}

/* ---- reading ---- */

static const struct json *set_of(const struct texts *t, str owner)
{
    const struct json *root = t ? doc_file_root(t->file) : NULL;
    return owner.n == 0 ? json_get(root, "workspace")
                        : json_get_str(json_get(root, "people"), owner);
}

str texts_instructions(const struct texts *t, str owner)
{
    str text = json_get_string(json_get(set_of(t, owner), "instructions"), "text");
    return text.n <= TEXTS_INSTRUCTIONS_MAX ? text : STR_NONE;
}

static void write_origin(struct json_writer *w, const struct json *v)
{
    jw_kstr_or_null(w, "by", json_get_string(v, "by"));
    jw_kstr_or_null(w, "updatedAt", json_get_string(v, "updatedAt"));
}

void texts_write_instructions(const struct texts *t, str owner, struct json_writer *w)
{
    jw_object(w);
    jw_kstr(w, "text", texts_instructions(t, owner));
    write_origin(w, json_get(set_of(t, owner), "instructions"));
    jw_end(w);
}

static bool is_variable(str name)
{
    return name.n > 0 && name.n <= VARIABLE_MAX && str_eq(str_trim(name), name) &&
           str_is_made_of(name, "_- ");
}

/* What is between the last "{{" of the text and its end, without spaces. */
static str behind_braces(str text)
{
    for (size_t i = text.n; i >= 2; i--)
        if (text.p[i - 2] == '{' && text.p[i - 1] == '{')
            return str_trim(str_skip(text, i));
    return STR_NONE;
}

/* Reads each byte a few times at most, whatever the braces are: lists do this on the loop. */
struct json_strs texts_variables(struct arena *a, str text)
{
    struct json_strs names = {arena_array(a, TEXTS_VARIABLES_MAX, sizeof(str)), 0};
    for (size_t at = 0; names.len < TEXTS_VARIABLES_MAX;) {
        ptrdiff_t close = str_find(text, STR("}}"), at);
        if (close < 0)
            break;
        str name = behind_braces(str_slice(text, at, (size_t)close));
        bool is_name = is_variable(name);
        if (is_name && !json_strs_has(&names, name))
            names.items[names.len++] = name;
        at = (size_t)close + (is_name ? 2 : 1);
    }
    return names;
}

static void write_prompt(struct json_writer *w, str name, const struct json *v, str scope)
{
    struct arena a;
    str text = json_get_string(v, "text");
    arena_init(&a);
    struct json_strs names = texts_variables(&a, text);
    jw_object(w);
    jw_kstr(w, "name", name);
    jw_kstr(w, "scope", scope);
    jw_kstr(w, "description", json_get_string(v, "description"));
    jw_kstr(w, "text", text);
    jw_kstrs(w, "variables", names.items, names.len);
    write_origin(w, v);
    jw_end(w);
    arena_done(&a);
}

void texts_write_prompts(const struct texts *t, str owner, struct json_writer *w)
{
    const struct json *all = json_get(set_of(t, owner), "prompts");
    for (size_t i = 0; json_is(all, JSON_OBJECT) && i < all->len; i++)
        write_prompt(w, all->members[i].key, &all->members[i].value,
                     owner.n == 0 ? STR("workspace") : STR("personal"));
}

/* ---- changing ---- */

/* The member that is an object; made if it is not there, or something else. */
static struct json *object_in(struct arena *a, struct json *in, str key)
{
    struct json *v = json_get_str(in, key);
    return json_is(v, JSON_OBJECT) ? v : json_set(a, in, key, *json_new(a, JSON_OBJECT));
}

static int check_edit(const struct text_edit *x, struct err *e)
{
    size_t max = x->name.n > 0 ? TEXTS_PROMPT_MAX : TEXTS_INSTRUCTIONS_MAX;
    if (x->text.n > max)
        return err_set(e, -EINVAL, "The text has %zu bytes; at most %zu are allowed.", x->text.n,
                       max);
    if (str_find_char(x->text, 0) >= 0)
        return err_set(e, -EINVAL, "The text contains a NUL character.");
    if (x->name.n > TEXTS_NAME_MAX || !str_is_made_of(x->name, "_-"))
        return err_set(e, -EINVAL, "A name has at most %u letters, digits, - and _.",
                       TEXTS_NAME_MAX);
    if (x->description.n > TEXTS_DESCRIPTION_MAX)
        return err_set(e, -EINVAL, "A description has at most %u bytes.", TEXTS_DESCRIPTION_MAX);
    return 0;
}

static int edit_prompt(struct arena *a, struct json *prompts, const struct text_edit *x,
                       struct json value, struct err *e)
{
    bool is_there = json_get_str(prompts, x->name) != NULL;
    if (x->text.n == 0 && !is_there)
        return err_set(e, -ENOENT, "No such prompt.");
    if (x->text.n == 0) {
        json_unset(prompts, arena_cstr(a, x->name));
        return 0;
    }
    if (!is_there && prompts->len >= TEXTS_PROMPTS_MAX)
        return err_set(e, -EPERM,
                       "There are already %u prompts, which is the limit. Delete one first.",
                       TEXTS_PROMPTS_MAX);
    json_set(a, prompts, arena_str(a, x->name), value);
    return 0;
}

static int apply_edit(void *data, struct arena *a, struct json *doc, struct err *e)
{
    const struct text_edit *x = data;
    char now[CLOCK_ISO_LEN + 1];
    int r = check_edit(x, e);
    if (r < 0)
        return r;
    struct json *people = object_in(a, doc, STR("people"));
    if (x->owner.n > 0 && !json_get_str(people, x->owner) && people->len >= TEXTS_PEOPLE_MAX)
        return err_set(e, -EPERM, "%u people have texts of their own, which is the limit.",
                       TEXTS_PEOPLE_MAX);
    struct json *set = x->owner.n == 0 ? object_in(a, doc, STR("workspace"))
                                       : object_in(a, people, arena_str(a, x->owner));
    clock_iso(clock_now_ms(), now);
    struct json *value = json_new(a, JSON_OBJECT);
    if (x->name.n > 0)
        json_set(a, value, STR("description"), json_of_str(arena_str(a, x->description)));
    json_set(a, value, STR("text"), json_of_str(arena_str(a, x->text)));
    json_set(a, value, STR("by"), json_of_str(arena_str(a, x->by)));
    json_set(a, value, STR("updatedAt"), json_of_str(arena_str(a, str_from(now))));
    if (x->name.n > 0)
        return edit_prompt(a, object_in(a, set, STR("prompts")), x, *value, e);
    json_set(a, set, STR("instructions"), *value);
    return 0;
}

struct doc_change *texts_change(struct texts *t, const struct text_edit *edit, doc_changed_fn fn,
                                void *ctx)
{
    struct doc_change *c = doc_change_new();
    struct text_edit *copy = ARENA_NEW(&c->arena, struct text_edit);
    *copy = (struct text_edit){
        .owner = arena_str(&c->arena, edit->owner),
        .by = arena_str(&c->arena, edit->by),
        .name = arena_str(&c->arena, edit->name),
        .description = arena_str(&c->arena, str_trim(edit->description)),
        .text = arena_str(&c->arena, str_trim(edit->text)),
    };
    doc_change_start(t->file, c, apply_edit, copy, fn, ctx);
    return c;
}

/* ---- people who are gone ---- */

static int apply_forgetting(void *data, struct arena *a, struct json *doc, struct err *e)
{
    const str *user_id = data;
    struct json *people = object_in(a, doc, STR("people"));
    json_unset(people, arena_cstr(a, *user_id));
    return 0;
}

/* Without a callback: if the change fails, the next opening of the workspace makes it. */
void texts_forget(struct texts *t, str user_id)
{
    if (!t || user_id.n == 0 || !set_of(t, user_id))
        return;
    struct doc_change *c = doc_change_new();
    str *copy = ARENA_NEW(&c->arena, str);
    *copy = arena_str(&c->arena, user_id);
    doc_change_start(t->file, c, apply_forgetting, copy, NULL, NULL);
}

void texts_retain(struct texts *t, bool (*exists)(const void *ctx, str user_id), const void *ctx)
{
    const struct json *people = json_get(doc_file_root(t->file), "people");
    for (size_t i = 0; json_is(people, JSON_OBJECT) && i < people->len; i++)
        if (!exists(ctx, people->members[i].key))
            texts_forget(t, people->members[i].key);
}
