#include "api/describe/document.h"

#include <assert.h>

#include "api/describe/describe.h"
#include "api/describe/operation.h"
#include "api/describe/shape.h"
#include "api/routes.h"
#include "auth/identity.h"
#include "bus/vocabulary.h"

static const struct api_section *const SECTIONS[] = {
    &DESCRIBE_CHAT,       &DESCRIBE_COMPAT,  &DESCRIBE_CONVERSATIONS, &DESCRIBE_FILES,
    &DESCRIBE_EVENTS,     &DESCRIBE_MODELS,  &DESCRIBE_TOOLS,         &DESCRIBE_SKILLS,
    &DESCRIBE_APPS,       &DESCRIBE_VIEWS,   &DESCRIBE_MCP,           &DESCRIBE_PEOPLE,
    &DESCRIBE_WORKSPACES, &DESCRIBE_SIGN_IN, &DESCRIBE_SERVER,
};

const struct api_section *const *describe_sections(size_t *ret_n)
{
    *ret_n = ARRAY_LEN(SECTIONS);
    return SECTIONS;
}

/* ---- finding ---- */

static const struct api_operation *find_in(const struct api_section *section,
                                           const struct route *route)
{
    for (const struct api_operation *op = section->operations; op->method; op++)
        if (strcmp(op->pattern, route->pattern) == 0 && strcmp(op->method, route->method) == 0)
            return op;
    return NULL;
}

static const struct api_operation *find_operation(const struct route *route,
                                                  const struct api_section **ret_section)
{
    for (size_t i = 0; i < ARRAY_LEN(SECTIONS); i++) {
        const struct api_operation *op = find_in(SECTIONS[i], route);
        *ret_section = SECTIONS[i];
        if (op)
            return op;
    }
    return NULL;
}

const struct api_operation *describe_find(const struct route *route)
{
    const struct api_section *section;
    return find_operation(route, &section);
}

const char *describe_model(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(SECTIONS); i++)
        for (const struct api_model *m = SECTIONS[i]->models; m && m->name; m++)
            if (strcmp(m->name, name) == 0)
                return m->about;
    return NULL;
}

bool describe_has_body(const struct route *route, const struct json_field *fields)
{
    const struct api_operation *op = route ? describe_find(route) : NULL;
    return !op || op->body == fields;
}

bool describe_has_query(const struct route *route, const char *name)
{
    const struct api_operation *op = route ? describe_find(route) : NULL;
    size_t n = strlen(name);
    if (!op)
        return true;
    for (const struct api_member *m = op->query; m && m->name; m++)
        if (strncmp(m->name, name, n) == 0 && (m->name[n] == '\0' || m->name[n] == '!'))
            return true;
    return false;
}

/* ---- the head ---- */

static const char INTRO[] =
    "The HTTP API of nb: chat with an agent, read conversations, manage apps and people.\n\n"
    "Requests and answers are JSON in UTF-8. Members of answers may be added; unknown members of "
    "bodies are refused unless it says otherwise. Every error has the same form: `error` is a code "
    "for programs, `message` a sentence for people. A request names its workspace with "
    "`X-Workspace-Id` where a person has several.\n\n"
    "`x-access` in each operation says who may use it. Streams (`text/event-stream`) list "
    "their events in `x-events`; each event's data is JSON.";

static void write_info(struct json_writer *w)
{
    jw_kobject(w, "info");
    jw_kcstr(w, "title", "nb");
    jw_kcstr(w, "summary", "A self-hosted agent workspace.");
    jw_kcstr(w, "description", INTRO);
    jw_kcstr(w, "version", NB_VERSION);
    jw_kraw(w, "license", STR("{\"name\":\"Apache License 2.0\",\"identifier\":\"Apache-2.0\"}"));
    jw_end(w);
}

static void write_servers(struct json_writer *w, str base)
{
    jw_karray(w, "servers");
    jw_object(w);
    jw_kstr(w, "url", base.n > 0 ? base : STR("/"));
    jw_kcstr(w, "description", "This server.");
    jw_end(w);
    jw_end(w);
}

static void write_tags(struct json_writer *w)
{
    jw_karray(w, "tags");
    for (size_t i = 0; i < ARRAY_LEN(SECTIONS); i++) {
        jw_object(w);
        jw_kcstr(w, "name", SECTIONS[i]->tag);
        jw_kcstr(w, "description", SECTIONS[i]->about);
        jw_end(w);
    }
    jw_end(w);
}

/* ---- paths ---- */

static void write_method(struct json_writer *w, const struct route *route)
{
    static const struct {
        const char *method, *key;
    } KEYS[] = {
        {"GET", "get"}, {"POST", "post"}, {"PUT", "put"}, {"PATCH", "patch"}, {"DELETE", "delete"}};
    const struct api_section *section;
    const struct api_operation *op = find_operation(route, &section);
    for (size_t i = 0; op && i < ARRAY_LEN(KEYS); i++) {
        if (strcmp(KEYS[i].method, route->method) != 0)
            continue;
        jw_kobject(w, KEYS[i].key);
        operation_write(w, route, section, op);
        jw_end(w);
    }
}

static bool is_first_of_path(const struct route *routes, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(routes[k].pattern, routes[i].pattern) == 0)
            return false;
    return true;
}

static void write_paths(struct json_writer *w, struct arena *a)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    jw_kobject(w, "paths");
    for (size_t i = 0; i < n; i++) {
        if (!is_first_of_path(routes, i))
            continue;
        jw_key_str(w, operation_path(a, &routes[i]));
        jw_object(w);
        for (size_t k = i; k < n; k++)
            if (strcmp(routes[k].pattern, routes[i].pattern) == 0)
                write_method(w, &routes[k]);
        jw_end(w);
    }
    jw_end(w);
}

/* ---- components ---- */

static bool may_be_absent(str name)
{
    return str_ends(name, STR("?"));
}

static void write_model_members(struct json_writer *w, const struct api_member *members)
{
    jw_kobject(w, "properties");
    for (const struct api_member *m = members; m->name; m++) {
        str name = str_from(m->name);
        jw_key_str(w, str_slice(name, 0, name.n - may_be_absent(name)));
        shape_write(w, m->shape, m->about);
    }
    jw_end(w);
    jw_karray(w, "required");
    for (const struct api_member *m = members; m->name; m++)
        if (!may_be_absent(str_from(m->name)))
            jw_cstr(w, m->name);
    jw_end(w);
}

static void write_model(struct json_writer *w, const struct api_model *model)
{
    jw_kobject(w, model->name);
    jw_kcstr(w, "type", "object");
    jw_kcstr(w, "description", model->about);
    if (model->members)
        write_model_members(w, model->members);
    jw_end(w);
}

/* The vocabulary knows the names of the members, not their types. */
static void write_event(struct json_writer *w, enum event_type t)
{
    char key[64];
    str rest = str_from(EVENT_KINDS[t].members), name;
    snprintf(key, sizeof key, "event.%.*s", STR_ARG(EVENT_KINDS[t].shown));
    jw_kobject(w, key);
    jw_kcstr(w, "type", "object");
    jw_kobject(w, "properties");
    while (str_split(&rest, ' ', &name)) {
        jw_key_str(w, str_slice(name, 0, name.n - may_be_absent(name)));
        jw_object(w);
        jw_end(w);
    }
    jw_end(w);
    jw_karray(w, "required");
    rest = str_from(EVENT_KINDS[t].members);
    while (str_split(&rest, ' ', &name))
        if (!may_be_absent(name))
            jw_str(w, name);
    jw_end(w);
    jw_end(w);
}

static void write_schemas(struct json_writer *w)
{
    jw_kobject(w, "schemas");
    for (size_t i = 0; i < ARRAY_LEN(SECTIONS); i++)
        for (const struct api_model *m = SECTIONS[i]->models; m && m->name; m++)
            write_model(w, m);
    for (enum event_type t = EV_USER_MESSAGE; t < EV_END; t++)
        if (EVENT_KINDS[t].shown.n > 0)
            write_event(w, t);
    jw_end(w);
}

static void write_security_schemes(struct json_writer *w)
{
    static const struct {
        const char *name, *rest, *about;
    } WAYS[] = {
        {"token", "\"type\":\"http\",\"scheme\":\"bearer\"",
         "A token of POST /v1/tokens or `nb token create`, or an access token of the identity "
         "provider. Its scopes, tools and workspace limit what it may do. X-Api-Key works as "
         "well."},
        {"session", "\"type\":\"apiKey\",\"in\":\"cookie\",\"name\":\"" AUTH_COOKIE_SESSION "\"",
         "The cookie of a person who has logged in. Requests that change something must come from "
         "the server's own page (Origin)."},
        {"socket", "\"type\":\"http\",\"scheme\":\"unix-peer\"",
         "No header: the connection is made through nb.sock in the work directory, which only the "
         "owner of nb's files can open. They may do everything."},
    };
    jw_kobject(w, "securitySchemes");
    for (size_t i = 0; i < ARRAY_LEN(WAYS); i++) {
        char text[512];
        snprintf(text, sizeof text, "{%s,\"description\":\"%s\"}", WAYS[i].rest, WAYS[i].about);
        jw_kraw(w, WAYS[i].name, str_from(text));
    }
    jw_end(w);
}

void document_write(struct buf *out, str base)
{
    struct json_writer w;
    struct arena a;
    arena_init(&a);
    jw_init(&w, out);
    jw_object(&w);
    jw_kcstr(&w, "openapi", "3.1.1");
    write_info(&w);
    write_servers(&w, base);
    write_tags(&w);
    write_paths(&w, &a);
    jw_kobject(&w, "components");
    write_schemas(&w);
    operation_write_errors(&w);
    operation_write_shared(&w);
    write_security_schemes(&w);
    jw_close(&w);
    assert(!buf_failed(out));
    arena_done(&a);
}
