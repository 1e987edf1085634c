#include "builtin/builtin.h"

#include <assert.h>
#include <limits.h>

#include "auth/identity.h"
#include "base/text/plain.h"
#include "builtin/conversations.h"
#include "builtin/internal.h"
#include "runtime/seen_files.h"

static const struct builtin_tool *const NB[] = {
    &BUILTIN_STATUS,
    &BUILTIN_TIME,
    &BUILTIN_CALCULATE,
    &BUILTIN_DISCOVER_TOOLS,
    &BUILTIN_DELEGATE,
    &BUILTIN_MANAGE_SKILL,
    &BUILTIN_BUNDLE_STATUS,
    &BUILTIN_MANAGE_BUNDLE,
    &BUILTIN_DISCOVER_BUNDLES,
    &BUILTIN_MANAGE_CONVERSATION,
    NULL,
};

static const struct builtin_tool *const CONVERSATIONS[] = {
    &BUILTIN_CONV_LIST,   &BUILTIN_CONV_GET,
    &BUILTIN_CONV_SEARCH, &BUILTIN_CONV_STATS,
    &BUILTIN_CONV_UPDATE, &BUILTIN_CONV_DELETE,
    &BUILTIN_CONV_FORK,   &BUILTIN_CONV_NOTE,
    &BUILTIN_CONV_EXPORT, NULL,
};

static const struct builtin_tool *const FILES[] = {
    &BUILTIN_FILES_LIST, &BUILTIN_FILES_READ, &BUILTIN_FILES_SEARCH, &BUILTIN_FILES_WRITE, NULL,
};

static const struct {
    const char *name;
    const struct builtin_tool *const *tools;
    unsigned max_concurrent;
} SOURCES[] = {
    {"nb", NB, UINT_MAX}, /* delegated runs call tools of the same source */
    {"conversations", CONVERSATIONS, 16},
    {"files", FILES, 16},
};

static struct access_rule rule_of(const struct builtin_tool *t, const struct builtin_action *a)
{
    struct access_rule rule = t->rule;
    if (a && a->rule.space != WS_NONE)
        rule.space = a->rule.space;
    if (a && a->rule.conv != RULE_CONV_NONE)
        rule.conv = a->rule.conv;
    if (rule.scope == 0)
        rule.scope = t->is_read_only ? SCOPE_READ : SCOPE_WRITE;
    if (rule.space == WS_NONE)
        rule.space = WS_MEMBER;
    return rule;
}

/* A row of the table of rights for each action, or for a tool without actions. */
static struct builtin_access access_of(const char *source, const struct builtin_tool *t, size_t k)
{
    const struct builtin_action *a = t->actions ? &t->actions[k] : NULL;
    return (struct builtin_access){source,
                                   t->name,
                                   a ? a->name : NULL,
                                   a ? a->scope : NULL,
                                   rule_of(t, a),
                                   a ? a->is_read_only : t->is_read_only};
}

bool builtin_access_at(size_t i, struct builtin_access *ret)
{
    for (size_t k = 0; k < ARRAY_LEN(SOURCES); k++)
        for (const struct builtin_tool *const *t = SOURCES[k].tools; *t; t++) {
            size_t rows = (*t)->actions ? (*t)->nactions : 1;
            if (i < rows) {
                *ret = access_of(SOURCES[k].name, *t, i);
                return true;
            }
            i -= rows;
        }
    return false;
}

static const struct tool *list_builtins(void *self, size_t *ret_n)
{
    const struct builtin_source *s = self;
    *ret_n = s->ntools;
    return s->tools;
}

static struct builtin_call *builtin_call_of(struct tool_call *c)
{
    return CONTAINER_OF(c, struct builtin_call, call);
}

/* Ends what the call has in progress. */
static void release_call(struct builtin_call *c)
{
    if (c->op)
        store_op_cancel(c->op);
    seen_files_free(c->files);
    defer_stop(&c->answer);
}

static void deliver_answer(void *ctx)
{
    struct builtin_call *c = ctx;
    assert(c->result.content);
    if (c->result.is_error && !c->is_recorded)
        builtin_record_refusal(c);
    struct seen_files *files = c->files; /* the result may borrow from it */
    c->files = NULL;
    release_call(c);
    tool_call_answer(&c->call, &c->result);
    seen_files_free(files);
}

static const struct builtin_tool *find_builtin(const struct builtin_source *s, str name)
{
    for (const struct builtin_tool *const *t = s->table; *t; t++)
        if (str_eq(name, str_from((*t)->name)))
            return *t;
    return NULL;
}

static const struct builtin_action *find_action(const struct builtin_tool *t,
                                                const struct json *args)
{
    str name = json_get_string(args, "action"), scope = json_get_string(args, "scope");
    if (scope.n == 0)
        scope = STR("workspace");
    for (size_t i = 0; i < t->nactions; i++) {
        const struct builtin_action *a = &t->actions[i];
        if (str_eq(name, str_from(a->name)) && (!a->scope || str_eq(scope, str_from(a->scope))))
            return a;
    }
    return NULL;
}

static struct builtin_call *prepare_call(struct builtin_source *s, struct tool_call *call)
{
    struct builtin_call *c = builtin_call_of(call);
    c->builtin = s->builtin;
    c->tool = find_builtin(s, call->tool);
    assert(c->tool); /* the registry calls only tools that list_builtins returned */
    c->action = find_action(c->tool, call->args);
    c->rule = rule_of(c->tool, c->action);
    defer_init(&c->answer, deliver_answer, c);
    return c;
}

/* Checks roles in the workspace, and answers the call on refusal; conv_tool_find checks rights in a
 * conversation. */
static bool has_role(struct builtin_call *c)
{
    if (c->rule.space != WS_ADMIN || actor_is_admin(c->call.who.actor))
        return true;
    if (c->action && c->action->admins_only)
        builtin_refuse(c, "%s", c->action->admins_only);
    else
        builtin_refuse(c, "%s: only admins of the workspace may use this tool.", c->tool->title);
    return false;
}

static void start_builtin(void *self, struct tool_call *call)
{
    struct builtin_call *c = prepare_call(self, call);
    void (*found)(struct builtin_call *, const struct conv *) =
        c->action ? c->action->found : c->tool->found;
    if (c->tool->actions && !c->action)
        builtin_fail(c, "action: expected one of the actions in the schema of %s.", c->tool->name);
    else if (!has_role(c))
        return;
    else if (found)
        conv_tool_find(c, found);
    else
        (c->action ? c->action->call : c->tool->call)(c);
}

static void probe_found(struct builtin_call *c, const struct conv *conv)
{
    builtin_reply(c, STR_NONE);
}

/* Checks the same rules as a call, and does nothing else. Other errors are reported by the call
 * itself. */
static void probe_builtin(void *self, struct tool_call *call)
{
    struct builtin_call *c = prepare_call(self, call);
    assert(call->is_probe);
    if (!has_role(c))
        return;
    if (c->rule.conv != RULE_CONV_NONE)
        conv_tool_find(c, probe_found);
    else if (c->action && c->action->probe)
        c->action->probe(c);
    else
        builtin_reply(c, STR_NONE);
}

static void cancel_builtin(void *self, struct tool_call *call)
{
    struct builtin_call *c = builtin_call_of(call);
    if (c->on_cancel)
        c->on_cancel(c);
    release_call(c);
}

static struct json *parse_const(struct arena *a, const char *text)
{
    struct json *v = NULL;
    int r = json_parse(a, str_from(text), 0, &v, NULL);
    assert(r == 0); /* a literal in the source */
    return v;
}

/* All hints are written: clients treat a missing destructiveHint as true. */
static const char *annotations(const struct builtin_tool *t)
{
    if (t->is_read_only)
        return "{\"readOnlyHint\":true}";
    return t->is_destructive ? "{\"readOnlyHint\":false,\"destructiveHint\":true}"
                             : "{\"readOnlyHint\":false,\"destructiveHint\":false}";
}

/* Matched by name alone: an action of the same name in another scope must not change anything. */
static struct json_strs reading_actions(struct arena *a, const struct builtin_tool *t)
{
    struct json_strs out = {arena_array(a, t->nactions, sizeof(str)), 0};
    for (size_t i = 0; i < t->nactions; i++)
        if (t->actions[i].is_read_only)
            out.items[out.len++] = str_from(t->actions[i].name);
    return out;
}

static void describe_builtin(struct arena *a, const struct builtin_tool *t, struct tool *ret)
{
    *ret = (struct tool){
        .name = str_from(t->name),
        .title = str_from(t->title),
        .description = str_from(t->description),
        .input_schema = parse_const(a, t->schema),
        .annotations = parse_const(a, annotations(t)),
        .scope = rule_of(t, NULL).scope,
        .reading_actions = reading_actions(a, t),
        .is_workspace_change = t->is_workspace_change,
        .timeout_ms = t->timeout_ms,
    };
}

static bool is_on(const struct builtin *b, const struct builtin_tool *t)
{
    const struct config *c = runtime_deps(b->deps.runtime)->config;
    return t->feature == 0 || *(const bool *)((const char *)&c->features + t->feature - 1);
}

struct builtin_catalog {
    struct arena arena;
    struct tool *tools[BUILTIN_SOURCES_MAX]; /* as in SOURCES */
};

static size_t count_builtins(size_t source)
{
    size_t n = 0;
    while (SOURCES[source].tools[n])
        n++;
    return n;
}

struct builtin_catalog *builtin_catalog_new(void)
{
    static_assert(ARRAY_LEN(SOURCES) <= BUILTIN_SOURCES_MAX, "");
    struct builtin_catalog *c = xcalloc(1, sizeof *c);
    arena_init(&c->arena);
    for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++) {
        size_t n = count_builtins(i);
        c->tools[i] = arena_array(&c->arena, n, sizeof *c->tools[i]);
        for (size_t k = 0; k < n; k++)
            describe_builtin(&c->arena, SOURCES[i].tools[k], &c->tools[i][k]);
    }
    return c;
}

void builtin_catalog_free(struct builtin_catalog *c)
{
    if (!c)
        return;
    arena_done(&c->arena);
    free(c);
}

static void make_source(struct builtin *b, size_t i)
{
    struct builtin_source *s = &b->sources[i];
    s->builtin = b;
    s->table = SOURCES[i].tools;
    size_t n = count_builtins(i);
    s->tools = arena_array(&b->arena, n, sizeof *s->tools);
    for (size_t k = 0; k < n; k++)
        if (is_on(b, s->table[k]))
            s->tools[s->ntools++] = b->deps.catalog->tools[i][k];
    s->source = (struct tool_source){.name = SOURCES[i].name,
                                     .list = list_builtins,
                                     .start = start_builtin,
                                     .cancel = cancel_builtin,
                                     .probe = probe_builtin,
                                     .self = s,
                                     .call_size = sizeof(struct builtin_call),
                                     .is_constant = !b->own,
                                     .max_concurrent = SOURCES[i].max_concurrent};
}

struct builtin *builtin_new(const struct builtin_deps *deps)
{
    struct builtin *b = xcalloc(1, sizeof *b);
    b->deps = *deps;
    if (!b->deps.catalog)
        b->deps.catalog = b->own = builtin_catalog_new();
    arena_init(&b->arena);
    for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++)
        make_source(b, i);
    return b;
}

void builtin_set_bundles(struct builtin *b, struct bundles *bundles, struct bundle_changer *changer)
{
    b->changer = changer;
    b->bundles = bundles;
}

int builtin_register(struct builtin *b, struct registry *r, struct err *e)
{
    int code = 0;
    assert(!b->registry);
    b->registry = r;
    for (size_t i = 0; code == 0 && i < ARRAY_LEN(SOURCES); i++)
        code = registry_add_source(r, &b->sources[i].source, e);
    return code;
}

void builtin_free(struct builtin *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->registry && i < ARRAY_LEN(SOURCES); i++)
        registry_remove_source(b->registry, &b->sources[i].source);
    builtin_catalog_free(b->own);
    arena_done(&b->arena);
    free(b);
}

void builtin_answer(struct builtin_call *c, struct tool_result result)
{
    assert(!c->result.content); /* a call is answered once */
    assert(!c->op);             /* nothing may continue after the answer */
    c->result = result;
    defer_start(runtime_deps(c->builtin->deps.runtime)->loop, &c->answer);
}

void builtin_reply(struct builtin_call *c, str text)
{
    builtin_reply_json(c, text, NULL);
}

void builtin_reply_json(struct builtin_call *c, str text, const struct json *structured)
{
    struct tool_result res = tool_result_text(&c->call.arena, arena_str(&c->call.arena, text));
    res.structured = structured;
    builtin_answer(c, res);
}

static void fail_with(struct builtin_call *c, const char *fmt, va_list ap)
{
    str text = plain_without_paths(&c->call.arena, arena_vprintf(&c->call.arena, fmt, ap));
    builtin_answer(c, tool_result_error(&c->call.arena, "%.*s", STR_ARG(text)));
}

void builtin_fail(struct builtin_call *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail_with(c, fmt, ap);
    va_end(ap);
}

void builtin_refuse(struct builtin_call *c, const char *fmt, ...)
{
    va_list ap;
    c->is_refused = true;
    va_start(ap, fmt);
    fail_with(c, fmt, ap);
    va_end(ap);
}
