/* The document of the API has every route, and every field that handlers decode. */
#include "api/bodies.h"
#include "api/describe/describe.h"
#include "api/describe/document.h"
#include "api/describe/shape.h"
#include "api/routes.h"
#include "bus/vocabulary.h"
#include "support/unit.h"

static const struct route *all;
static size_t nall;
static struct arena arena;
static struct buf text;
static const struct json *document;

static int set_up(void **state)
{
    struct json *v;
    all = api_routes(&nall);
    arena_init(&arena);
    buf_init(&text, API_DOCUMENT_MAX);
    document_write(&text, STR_NONE);
    if (json_parse(&arena, buf_str(&text), JSON_UNIQUE, &v, NULL) < 0)
        fail_msg("the document is not JSON, or has a key twice");
    document = v;
    return 0;
}

static int tear_down(void **state)
{
    buf_done(&text);
    arena_done(&arena);
    return 0;
}

/* Calls `each` for every row of every section. */
static void each_operation(void (*each)(const struct api_operation *op))
{
    size_t n;
    const struct api_section *const *sections = describe_sections(&n);
    for (size_t i = 0; i < n; i++)
        for (const struct api_operation *op = sections[i]->operations; op->method; op++)
            each(op);
}

static const struct json *at(const struct json *v, const char *const *keys)
{
    for (; v && *keys; keys++)
        v = json_get(v, *keys);
    return v;
}

#define AT(v, ...) at(v, (const char *const[]){__VA_ARGS__, NULL})

/* ---- routes and rows ---- */

TEST_WITH(every_route_is_described, set_up, tear_down)
{
    for (size_t i = 0; i < nall; i++)
        if (!describe_find(&all[i]))
            fail_msg("%s %s is not in the document of the API: add a row to the section that it "
                     "belongs to in src/api/describe/describe_*.c",
                     all[i].method, all[i].pattern);
}

static void row_has_a_route(const struct api_operation *op)
{
    size_t n = 0;
    for (size_t i = 0; i < nall; i++)
        n += describe_find(&all[i]) == op;
    if (n != 1)
        fail_msg("%s %s in src/api/describe/ describes %zu routes of src/api/routes.c; remove or "
                 "correct the row",
                 op->method, op->pattern, n);
}

TEST_WITH(every_row_is_about_one_route, set_up, tear_down)
{
    each_operation(row_has_a_route);
}

static void row_is_complete(const struct api_operation *op)
{
    if (!op->id || !op->summary || strlen(op->summary) < 8 || op->answers[0].status == 0)
        fail_msg("%s %s needs an operation id, a summary and an answer", op->method, op->pattern);
    if (strchr(op->summary, '.') || op->summary[0] < 'A' || op->summary[0] > 'Z')
        fail_msg("%s: the summary begins with a capital letter and has no full stop", op->id);
    for (size_t i = 0; i < API_ANSWERS_MAX && op->answers[i].status; i++)
        if (op->answers[i].shape && !shape_is_valid(op->answers[i].shape))
            fail_msg("%s: \"%s\" is not a shape", op->id, op->answers[i].shape);
    for (const struct api_member *m = op->query; m && m->name; m++)
        if (!shape_is_valid(m->shape))
            fail_msg("%s: the shape of the parameter %s is not valid", op->id, m->name);
}

TEST_WITH(every_row_is_complete, set_up, tear_down)
{
    each_operation(row_is_complete);
}

static const char *seen_ids[512];
static size_t nseen;

static void id_is_new(const struct api_operation *op)
{
    for (size_t i = 0; i < nseen; i++)
        if (strcmp(seen_ids[i], op->id) == 0)
            fail_msg("two operations are called %s", op->id);
    assert_true(nseen < ARRAY_LEN(seen_ids));
    seen_ids[nseen++] = op->id;
}

TEST_WITH(no_two_operations_have_the_same_id, set_up, tear_down)
{
    nseen = 0;
    each_operation(id_is_new);
    assert_true(nseen == nall);
}

/* ---- fields and models ---- */

static void fields_are_described(const struct api_operation *op, const struct json_field *fields)
{
    for (const struct json_field *f = fields; f->name; f++) {
        if (!f->about)
            fail_msg("%s: the field %s has no description: add a sentence behind the size in its "
                     "row",
                     op->id, f->name);
        if (f->shape && !shape_is_valid(f->shape))
            fail_msg("%s: the shape of the field %s is not valid", op->id, f->name);
        if (f->fields)
            fields_are_described(op, f->fields);
    }
}

static void body_is_described(const struct api_operation *op)
{
    if (op->body)
        fields_are_described(op, op->body);
    if (op->body && op->body_shape)
        fail_msg("%s has two descriptions of its body", op->id);
    if (op->body_shape && !shape_is_valid(op->body_shape))
        fail_msg("%s: the shape of the body is not valid", op->id);
}

TEST_WITH(every_field_of_a_body_is_described, set_up, tear_down)
{
    each_operation(body_is_described);
}

/* "#/components/schemas/User" leads to an object in the document. */
static bool leads_somewhere(str address)
{
    const struct json *v = document;
    str part;
    while (v && str_split(&address, '/', &part))
        v = str_eq(part, STR("#")) ? document : json_get_str(v, part);
    return json_is(v, JSON_OBJECT);
}

static void references_lead_somewhere(const struct json *v)
{
    if (v->type == JSON_ARRAY)
        for (size_t i = 0; i < v->len; i++)
            references_lead_somewhere(&v->items[i]);
    if (v->type != JSON_OBJECT)
        return;
    str address = json_get_string(v, "$ref");
    if (address.n > 0 && !leads_somewhere(address))
        fail_msg("%.*s: no section in src/api/describe/ has this model", STR_ARG(address));
    for (size_t i = 0; i < v->len; i++)
        references_lead_somewhere(&v->members[i].value);
}

TEST_WITH(every_model_that_is_named_exists, set_up, tear_down)
{
    references_lead_somewhere(document);
}

TEST_WITH(every_model_says_what_it_is, set_up, tear_down)
{
    size_t n;
    const struct api_section *const *sections = describe_sections(&n);
    for (size_t i = 0; i < n; i++)
        for (const struct api_model *m = sections[i]->models; m && m->name; m++)
            if (!m->about || !str_ends(str_from(m->about), STR(".")))
                fail_msg("%s: a model has a sentence about it", m->name);
}

/* ---- the document ---- */

TEST_WITH(the_document_has_every_route_under_its_path, set_up, tear_down)
{
    assert_true(str_starts(json_get_string(document, "openapi"), STR("3.1")));
    assert_non_null(AT(document, "paths", "/v1/users/{user}", "patch"));
    assert_non_null(AT(document, "paths", "/v1/apps/{name}/resources/{path}", "get"));
    size_t n = 0;
    const struct json *paths = json_get(document, "paths");
    for (size_t i = 0; i < paths->len; i++)
        n += paths->members[i].value.len;
    assert_int_equal(n, nall);
}

TEST_WITH(parameters_of_the_path_are_described, set_up, tear_down)
{
    const struct json *paths = json_get(document, "paths");
    for (size_t i = 0; i < paths->len; i++)
        for (size_t k = 0; k < paths->members[i].value.len; k++) {
            const struct json *list =
                json_get(&paths->members[i].value.members[k].value, "parameters");
            for (size_t p = 0; p < list->len; p++)
                if (str_eq(json_get_string(&list->items[p], "in"), STR("path")) &&
                    !json_get(&list->items[p], "description"))
                    fail_msg("%.*s: add its parameter to PATH_PARAMETERS in "
                             "src/api/describe/operation.c",
                             STR_ARG(paths->members[i].key));
        }
}

TEST_WITH(a_body_has_the_fields_that_its_handler_decodes, set_up, tear_down)
{
    const struct json *body = AT(document, "paths", "/v1/tokens", "post", "requestBody", "content",
                                 "application/json", "schema");
    size_t n = 0;
    for (const struct json_field *f = API_TOKEN_FIELDS; f->name; f++, n++)
        assert_non_null(AT(body, "properties", f->name));
    assert_int_equal(json_get(body, "properties")->len, n);
    assert_true(json_has_string(json_get(body, "required"), STR("name")));
    assert_false(json_has_string(json_get(body, "required"), STR("scopes")));
    assert_true(json_is(json_get(body, "additionalProperties"), JSON_BOOL));
}

TEST_WITH(a_body_that_takes_other_keys_says_so, set_up, tear_down)
{
    const struct json *body = AT(document, "paths", "/v1/chat", "post", "requestBody", "content",
                                 "application/json", "schema");
    assert_null(json_get(body, "additionalProperties"));
    assert_non_null(AT(body, "properties", "answer", "properties", "askId"));
}

TEST_WITH(rights_come_from_the_table_of_routes, set_up, tear_down)
{
    const struct json *open = AT(document, "paths", "/v1/health", "get");
    const struct json *local = AT(document, "paths", "/v1/import", "post");
    const struct json *person = AT(document, "paths", "/v1/tokens", "post");
    const struct json *space = AT(document, "paths", "/v1/tools", "get");
    assert_int_equal(json_get(open, "security")->len, 0);
    assert_int_equal(json_get(local, "security")->len, 1);
    assert_int_equal(json_get(person, "security")->len, 2);
    assert_int_equal(json_get(space, "security")->len, 3);
    assert_true(str_eq(json_get_string(json_get(space, "x-access"), "scope"), STR("read")));
    assert_non_null(AT(space, "responses", "401"));
    assert_null(AT(open, "responses", "401"));
}

TEST_WITH(streams_name_the_events_of_the_vocabulary, set_up, tear_down)
{
    const struct json *chat = AT(document, "paths", "/v1/chat/stream", "post", "responses", "200",
                                 "content", "text/event-stream", "x-events");
    const struct json *space = AT(document, "paths", "/v1/events", "get", "responses", "200",
                                  "content", "text/event-stream", "x-events");
    assert_non_null(json_get(chat, "text.delta"));
    assert_non_null(json_get(chat, "chat.start"));
    assert_null(json_get(chat, "bundle.state"));
    assert_non_null(json_get(space, "bundle.state"));
    assert_null(json_get(space, "chat.start"));
    for (enum event_type t = EV_USER_MESSAGE; t < EV_END; t++)
        if (EVENT_KINDS[t].shown.n > 0 && !json_get_str(chat, EVENT_KINDS[t].shown) &&
            !json_get_str(space, EVENT_KINDS[t].shown))
            fail_msg("no stream has %.*s", STR_ARG(EVENT_KINDS[t].shown));
}

TEST_WITH(the_base_path_of_a_proxy_is_the_server, set_up, tear_down)
{
    struct json *v;
    buf_clear(&text);
    document_write(&text, STR("/nb"));
    assert_int_equal(json_parse(&arena, buf_str(&text), 0, &v, NULL), 0);
    const struct json *server = json_at(json_get(v, "servers"), 0);
    assert_true(str_eq(json_get_string(server, "url"), STR("/nb")));
}

/* ---- what handlers may do ---- */

static const struct route *route_of(const char *method, const char *pattern)
{
    for (size_t i = 0; i < nall; i++)
        if (strcmp(all[i].method, method) == 0 && strcmp(all[i].pattern, pattern) == 0)
            return &all[i];
    fail_msg("no route %s %s", method, pattern);
    return NULL;
}

TEST_WITH(a_handler_decodes_with_the_table_of_its_row_only, set_up, tear_down)
{
    const struct route *route = route_of("POST", "/v1/tokens");
    assert_true(describe_has_body(route, API_TOKEN_FIELDS));
    assert_false(describe_has_body(route, API_USER_FIELDS));
    assert_true(describe_has_body(NULL, API_USER_FIELDS));
}

TEST_WITH(a_handler_reads_the_parameters_of_its_row_only, set_up, tear_down)
{
    const struct route *route = route_of("GET", "/v1/search");
    assert_true(describe_has_query(route, "limit"));
    assert_true(describe_has_query(route, "q")); /* required: "q!" */
    assert_false(describe_has_query(route, "lim"));
    assert_false(describe_has_query(route, "cursor"));
    assert_true(describe_has_query(NULL, "x"));
}

TEST_WITH(a_route_that_nobody_described_is_found_by_the_test_above, set_up, tear_down)
{
    static const struct route OTHER = {"GET", "/v1/other"};
    assert_null(describe_find(&OTHER));
    assert_true(describe_has_query(&OTHER, "x")); /* it does not end the server */
}
