/* pin_watch.c - the pins of one bundle: loaded before its first list, saved when they change.
 *
 *   created -> loading (pool) -> loaded; then any number of saves, one at a time
 *
 * The first list of a bundle is trusted and pinned, except for tools that imitate others or have
 * hidden characters; from then on only tools that equal their pin are offered. A pin file that
 * cannot be read quarantines everything, because it is not known what was approved. */
#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/text/hidden.h"
#include "bundle/supervise/bundle_impl.h"
#include "os/file.h"

#define REMEMBER_MAX 64 /* lists of trusted tools that one process writes: each stays in memory */

bool pins_are_used(const struct bundle *b)
{
    return b->set->conf.pins_dir && b->entry.kind != BUNDLE_BUILT_IN && !b->entry.is_trusted;
}

/* ---- the file ---- */

static void load_work(struct job *j) /* pool thread */
{
    struct bundle_pins *p = CONTAINER_OF(j, struct bundle_pins, job);
    str text;
    p->rc = file_read(&p->arena, p->path, PINS_BYTES_MAX, &text, &p->err);
    if (p->rc == 0)
        p->rc = pins_parse(&p->arena, text, &p->doc, &p->err);
}

static void pins_save_work(struct job *j) /* pool thread */
{
    struct bundle_pins *p = CONTAINER_OF(j, struct bundle_pins, job);
    err_clear(&p->err);
    p->rc = file_make_dirs(p->dir, &p->err);
    if (p->rc == 0)
        p->rc = file_write_atomic(p->path, str_from(p->text), 0600, &p->err);
}

static void remove_work(struct job *j) /* pool thread */
{
    (void)unlink(CONTAINER_OF(j, struct bundle_pins, job)->path);
}

static void on_pins_saved(struct job *j);

static void pins_submit(struct bundle *b, void (*work)(struct job *j), void (*done)(struct job *j))
{
    assert(!b->pins.is_busy);
    b->pins.is_busy = true;
    pool_run(b->set->conf.pool, &b->pins.job, work, done);
}

static void pins_save(struct bundle *b)
{
    struct bundle_pins *p = &b->pins;
    p->is_dirty = p->is_busy;
    if (p->is_busy)
        return;
    struct buf text;
    buf_init(&text, PINS_BYTES_MAX);
    (void)json_write_pretty(&text, p->doc);
    free(p->text);
    p->text = buf_failed(&text) ? NULL : str_dup(buf_str(&text));
    buf_done(&text);
    if (p->text)
        pins_submit(b, pins_save_work, on_pins_saved);
}

static void on_pins_saved(struct job *j)
{
    struct bundle *b = CONTAINER_OF(j, struct bundle, pins.job);
    assert(b->pins.is_busy);
    struct bundle_pins *p = &b->pins;
    p->is_busy = false;
    if (p->rc < 0)
        log_warn(b->set->conf.log, "bundle", "%.*s: its tools are not pinned after a restart: %s",
                 STR_ARG(b->entry.server_name), p->err.msg);
    if (p->is_gone)
        pins_forget(b);
    else if (p->is_dirty)
        pins_save(b);
    defer_start(b->set->conf.loop, &b->set->sweep);
}

static void on_pins_removed(struct job *j)
{
    struct bundle *b = CONTAINER_OF(j, struct bundle, pins.job);
    assert(b->pins.is_busy && b->pins.is_gone);
    b->pins.is_busy = false;
    defer_start(b->set->conf.loop, &b->set->sweep);
}

void pins_forget(struct bundle *b)
{
    b->pins.is_gone = true;
    if (b->pins.path && !b->pins.is_busy && !b->set->is_stopping)
        pins_submit(b, remove_work, on_pins_removed);
}

static void on_loaded(struct job *j)
{
    struct bundle *b = CONTAINER_OF(j, struct bundle, pins.job);
    assert(b->pins.is_busy && !b->pins.is_loaded);
    struct bundle_pins *p = &b->pins;
    p->is_busy = false;
    p->is_loaded = true;
    if (p->rc == -ENOENT) {
        p->doc = NULL;
    } else if (p->rc < 0) {
        p->doc = NULL;
        p->is_broken = true;
        log_warn(b->set->conf.log, "bundle",
                 "%.*s: %s cannot be read (%s): its tools wait for "
                 "`nb bundle approve`",
                 STR_ARG(b->entry.server_name), p->path, p->err.msg);
    }
    if (p->is_gone) {
        pins_forget(b);
    } else {
        watch_pins_loaded(b);
        people_pins_loaded(b);
    }
    defer_start(b->set->conf.loop, &b->set->sweep);
}

void pins_init(struct bundle *b)
{
    struct bundle_pins *p = &b->pins;
    arena_init(&p->arena);
    p->is_loaded = !b->set->conf.pins_dir || b->entry.kind == BUNDLE_BUILT_IN;
    if (p->is_loaded)
        return;
    p->dir = b->set->conf.pins_dir;
    p->path = arena_printf(&p->arena, "%s/%.*s.json", p->dir, STR_ARG(b->entry.server_name)).p;
    pins_submit(b, load_work, on_loaded);
}

void pins_done(struct bundle *b)
{
    free(b->pins.text);
    arena_done(&b->pins.arena);
}

/* ---- comparing a list with the pins ---- */

/* A person's own connection uses the pins of its face. */
static struct bundle_pins *pins_of(const struct bundle *b)
{
    return &people_face((struct bundle *)b)->pins;
}

/* Pins of a different bundle under the same name do not apply to this one. */
static const struct json *known(const struct bundle *b)
{
    char source[SHA256_HEX_LEN + 1];
    const struct json *doc = pins_of(b)->doc;
    if (!doc)
        return NULL;
    pin_source(&b->entry, source);
    return str_eq(json_get_string(doc, "source"), str_from(source)) ? doc : NULL;
}

static struct pin_other *other_tools(const struct bundle *b, struct arena *a, size_t *ret_n)
{
    struct pin_other *all = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < b->set->n; i++) {
        const struct bundle *o = b->set->items[i];
        bool is_same = o == people_face((struct bundle *)b);
        const struct json *tools = is_same ? NULL : json_get(o->pins.doc, "tools");
        for (size_t k = 0; tools && k < tools->len; k++) {
            const struct json_member *m = &tools->members[k];
            ARENA_GROW(a, all, n, cap);
            all[n] =
                (struct pin_other){o->entry.server_name, m->key,
                                   json_get_string(&m->value, "description"), STR_NONE, STR_NONE};
            pin_other_init(a, &all[n++]);
        }
    }
    *ret_n = n;
    return all;
}

struct judge {
    struct bundle *b;
    struct bundle_toolset *set;
    const struct json *pins; /* NULL: first use */
    const struct pin_other *others;
    size_t nothers;
    bool has_others;
    size_t bytes; /* size of the definitions so far */
    struct arena scratch;
};

static bool is_repeated(const struct bundle_toolset *s, str name)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(json_get_string(s->items[i], "name"), name))
            return true;
    return false;
}

static void hold(struct judge *j, const struct json *tool, const struct json *definition,
                 enum pin_why why, str detail)
{
    struct bundle_toolset *s = j->set;
    struct held_tool *h = &s->held[s->nheld++];
    str name = json_get_string(tool, "name");
    *h = (struct held_tool){
        .name = name,
        .why = why,
        .detail = arena_str(&s->arena, detail),
        .now = json_clone(&s->arena, definition),
        .before = j->pins && pins_tool(j->pins, name)
                      ? json_clone(&s->arena, pins_tool(j->pins, name))
                      : NULL,
    };
    pin_digest(&j->scratch, name, definition, h->digest);
}

static str shadowed(struct judge *j, const struct json *tool)
{
    if (!j->has_others)
        j->others = other_tools(j->b, &j->scratch, &j->nothers);
    j->has_others = true;
    return pin_shadow(&j->scratch, j->b->entry.server_name, tool, j->others, j->nothers);
}

/* False when the tool has to wait for approval. */
static bool is_accepted(struct judge *j, const struct json *tool, const struct json *def)
{
    str name = json_get_string(tool, "name");
    const struct json *pin = j->pins ? pins_tool(j->pins, name) : NULL;
    size_t bytes = json_to_str(&j->scratch, def).n;
    j->bytes += bytes;
    if (is_repeated(j->set, name))
        hold(j, tool, def, PIN_REPEATED, STR("the server lists it twice"));
    else if (bytes > PINS_TOOL_BYTES_MAX || j->bytes > PINS_TOTAL_BYTES_MAX)
        hold(j, tool, def, PIN_TOO_LARGE, STR("its definition is too large to keep"));
    else if (pin && json_equal(pin, def))
        return true;
    else if (pin)
        hold(j, tool, def, PIN_CHANGED, STR("it differs from the approved definition"));
    else if (hidden_in(name) || hidden_in_json(def, true))
        hold(j, tool, def, PIN_HIDDEN, STR("its name or an argument has hidden characters"));
    else {
        str detail = shadowed(j, tool);
        if (detail.n > 0)
            hold(j, tool, def, PIN_SHADOWS, detail);
        else if (j->pins || pins_of(j->b)->is_broken)
            hold(j, tool, def, PIN_NEW, STR("it appeared after the bundle was approved"));
        else
            return true;
    }
    return false;
}

static void pin(struct bundle *b, str name, const struct json *definition)
{
    struct bundle_pins *p = pins_of(b);
    struct json *tools = json_get(p->doc, "tools");
    json_set(&p->arena, tools, arena_str(&p->arena, name), *json_clone(&p->arena, definition));
}

static void start_pins(struct bundle *b)
{
    char source[SHA256_HEX_LEN + 1];
    struct bundle_pins *p = pins_of(b);
    pin_source(&b->entry, source);
    p->doc = pins_new(&p->arena, str_from(source));
    p->is_broken = false;
}

static void pin_first(struct bundle *b, const struct bundle_toolset *s)
{
    struct arena a;
    start_pins(b);
    arena_init(&a);
    for (size_t i = 0; i < s->n; i++)
        pin(b, json_get_string(s->raw[i], "name"), pin_definition(&a, s->raw[i]));
    arena_done(&a);
    struct bundle_pins *p = pins_of(b);
    str instructions =
        b->user_id.n > 0 ? STR_NONE : b->server.instructions; /* may be about one person */
    json_set(&p->arena, p->doc, STR("instructions"),
             json_of_str(arena_str(&p->arena, instructions)));
    pins_save(people_face(b));
}

/* Keeps the trusted tools of a server where each person signs in, so that they are known before
 * anybody has connected. */
static void remember_tools(struct bundle *b, const struct bundle_toolset *s)
{
    struct arena a;
    bool is_new = !known(b);
    arena_init(&a);
    for (size_t i = 0; !is_new && i < s->n; i++) {
        const struct json *pin = pins_tool(known(b), json_get_string(s->raw[i], "name"));
        is_new = !pin || !json_equal(pin, pin_definition(&a, s->raw[i]));
    }
    arena_done(&a);
    if (is_new && s->n > 0 && b->pins.nremembered++ < REMEMBER_MAX)
        pin_first(b, s);
}

void pins_judge(struct bundle *b, struct bundle_toolset *s)
{
    bool is_used = pins_are_used(b);
    struct judge j = {.b = b, .set = s, .pins = known(b)};
    size_t n = s->list->len;
    arena_init(&j.scratch);
    s->items = arena_array(&s->arena, n, sizeof(*s->items));
    s->raw = arena_array(&s->arena, n, sizeof(*s->raw));
    s->held = arena_array(&s->arena, n, sizeof(*s->held));
    for (size_t i = 0; i < n; i++) {
        const struct json *tool = json_at(s->list, i);
        if (json_get_string(tool, "name").n == 0) /* without a name it cannot be called */
            continue;
        struct json *def = pin_definition(&j.scratch, tool);
        if (is_used && !is_accepted(&j, tool, def))
            continue;
        s->raw[s->n] = tool;
        s->items[s->n++] = pins_clean(&s->arena, tool);
    }
    /* A server that lists nothing at first is trusted with the first list that has tools. */
    if (is_used && !j.pins && !pins_of(b)->is_broken && s->n + s->nheld > 0)
        pin_first(b, s);
    if (!is_used && people_is_face(b) && b->pins.path && b->pins.is_loaded)
        remember_tools(b, s);
    arena_done(&j.scratch);
}

const struct json *pins_clean(struct arena *a, const struct json *tool)
{
    str name = json_get_string(tool, "name");
    const struct json *clean = hidden_strip_json(a, tool);
    if (clean == tool || !hidden_in(name))
        return clean;
    /* The name must stay as it is, because calls use it. */
    struct json *copy = json_clone(a, clean);
    json_set(a, copy, STR("name"), json_of_str(name));
    return copy;
}

struct json *pins_as_tools(struct bundle *b, struct arena *a)
{
    const struct json *tools = json_get(known(b), "tools");
    if (!tools)
        return NULL;
    struct json *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < tools->len; i++) {
        struct json *tool = json_clone(a, &tools->members[i].value);
        json_set(a, tool, STR("name"), json_of_str(tools->members[i].key));
        json_push(a, list, *tool);
    }
    return list;
}

/* ---- instructions ---- */

static bool is_said_before(const struct bundle *b)
{
    const struct json *instructions = json_get(known(b), "instructions");
    return str_eq(json_string(instructions, STR_NONE), b->server.instructions);
}

bool bundle_instructions_held(const struct bundle *b)
{
    return pins_are_used(b) && b->server.instructions.n > 0 &&
           (b->pins.is_broken || (known(b) && !is_said_before(b)));
}

/* ---- approving ---- */

static struct held_tool *find_held(const struct bundle *b, str name)
{
    for (size_t i = 0; i < b->tools.nheld; i++)
        if (str_eq(b->tools.held[i].name, name))
            return &b->tools.held[i];
    return NULL;
}

static int check_approval(const struct bundle *b, const struct bundle_approval *what, size_t n,
                          struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const struct held_tool *h = find_held(b, what[i].name);
        if (!h)
            return err_set(e, -ENOENT, "no tool '%.*s' of '%.*s' waits for approval",
                           STR_ARG(what[i].name), STR_ARG(b->entry.server_name));
        if (!str_eq(str_from(h->digest), what[i].digest))
            return err_set(e, -EBUSY, "'%.*s' has changed since it was shown; look at it again",
                           STR_ARG(what[i].name));
        if (h->why == PIN_REPEATED || h->why == PIN_TOO_LARGE)
            return err_set(e, -EPERM, "'%.*s' cannot be approved: %.*s", STR_ARG(what[i].name),
                           STR_ARG(h->detail));
    }
    return 0;
}

int bundle_approve(struct bundle *b, const struct bundle_approval *what, size_t n,
                   bool with_instructions, struct err *e)
{
    int r = check_approval(b, what, n, e);
    if (r < 0)
        return r;
    if (!pins_are_used(b) || !b->pins.is_loaded)
        return err_set(e, -EPERM, "the tools of '%.*s' are not pinned",
                       STR_ARG(b->entry.server_name));
    if (!known(b))
        start_pins(b);
    for (size_t i = 0; i < n; i++)
        pin(b, what[i].name, find_held(b, what[i].name)->now);
    if (with_instructions)
        json_set(&b->pins.arena, b->pins.doc, STR("instructions"),
                 json_of_str(arena_str(&b->pins.arena, b->server.instructions)));
    pins_save(b);
    watch_judge_again(b);
    people_judge_again(b);
    return 0;
}
