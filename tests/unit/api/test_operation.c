/* One route in the document of the API: parameters, body, answers. */
#include "api/describe/document.h"
#include "api/describe/operation.h"
#include "api/routes.h"
#include "support/unit.h"

static struct arena arena;
static struct buf text;
static const struct json *document;

static int set_up(void **state)
{
    struct json *v;
    arena_init(&arena);
    buf_init(&text, API_DOCUMENT_MAX);
    document_write(&text, STR_NONE);
    assert_int_equal(json_parse(&arena, buf_str(&text), 0, &v, NULL), 0);
    document = v;
    return 0;
}

static int tear_down(void **state)
{
    buf_done(&text);
    arena_done(&arena);
    return 0;
}

static const char *word(const struct json *v, const char *key)
{
    return arena_cstr(&arena, json_get_string(v, key));
}

static const struct json *operation(const char *method, const char *path)
{
    const struct json *op = json_get(json_get(json_get(document, "paths"), path), method);
    if (!op)
        fail_msg("no %s %s", method, path);
    return op;
}

static const struct json *parameter(const struct json *op, const char *name)
{
    const struct json *list = json_get(op, "parameters");
    for (size_t i = 0; i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "name"), str_from(name)))
            return &list->items[i];
    return NULL;
}

static bool refers_to(const struct json *op, const char *address)
{
    const struct json *list = json_get(op, "parameters");
    for (size_t i = 0; i < list->len; i++)
        if (str_eq(json_get_string(&list->items[i], "$ref"), str_from(address)))
            return true;
    return false;
}

static const struct json *content(const struct json *op, const char *type)
{
    return json_get(json_get(json_get(op, "requestBody"), "content"), type);
}

static const struct json *field(const struct json *op, const char *name)
{
    const struct json *schema = json_get(content(op, "application/json"), "schema");
    return json_get(json_get(schema, "properties"), name);
}

static bool answers(const struct json *op, const char *status)
{
    return json_get(json_get(op, "responses"), status) != NULL;
}

/* ---- paths and parameters ---- */

TEST_WITH(segments_of_the_pattern_become_parameters, set_up, tear_down)
{
    static const struct {
        const char *pattern, *path;
    } CASES[] = {
        {"/v1/health", "/v1/health"},
        {"/v1/users/:user", "/v1/users/{user}"},
        {"/v1/users/:user/password", "/v1/users/{user}/password"},
        {"/v1/a/:b/c/:d", "/v1/a/{b}/c/{d}"},
        {"/v1/apps/:name/resources/*", "/v1/apps/{name}/resources/{path}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct route route = {.pattern = CASES[i].pattern};
        assert_string_equal(arena_cstr(&arena, operation_path(&arena, &route)), CASES[i].path);
    }
}

TEST_WITH(parameters_of_path_query_and_headers_are_listed, set_up, tear_down)
{
    const struct json *file = operation("get", "/v1/conversations/{id}/files/{file}");
    assert_string_equal(word(parameter(file, "id"), "in"), "path");
    assert_true(json_get(parameter(file, "file"), "required")->boolean);
    assert_string_equal(word(parameter(file, "name"), "in"), "query");
    assert_null(json_get(parameter(file, "name"), "required"));
    assert_string_equal(word(parameter(file, "Range"), "in"), "header");
    const struct json *search = operation("get", "/v1/search");
    assert_true(json_get(parameter(search, "q"), "required")->boolean);
    assert_null(parameter(search, "q!"));
}

TEST_WITH(only_routes_in_a_workspace_take_its_name, set_up, tear_down)
{
    static const char HEADER[] = "#/components/parameters/workspaceHeader";
    assert_true(refers_to(operation("get", "/v1/tools"), HEADER));
    assert_true(refers_to(operation("get", "/v1/conversations/{id}"), HEADER));
    assert_false(refers_to(operation("get", "/v1/users"), HEADER));
    assert_false(refers_to(operation("get", "/v1/bootstrap"), HEADER));
    assert_false(refers_to(operation("get", "/v1/health"), HEADER));
}

/* ---- bodies ---- */

TEST_WITH(a_body_has_the_limit_of_its_route, set_up, tear_down)
{
    static const struct {
        const char *path, *limit;
    } CASES[] = {{"/v1/tokens", "At most 64 KiB."},
                 {"/v1/auth/login", "At most 4 KiB."},
                 {"/v1/chat", "At most 1024 KiB."},
                 {"/mcp", "At most 4096 KiB."}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        const struct json *body = json_get(operation("post", CASES[i].path), "requestBody");
        assert_string_equal(word(body, "description"), CASES[i].limit);
    }
}

TEST_WITH(null_is_allowed_where_it_means_absent, set_up, tear_down)
{
    const struct json *token = operation("post", "/v1/tokens");
    assert_true(json_has_string(json_get(field(token, "workspaceId"), "type"), STR("null")));
    assert_true(json_is(json_get(field(token, "name"), "type"), JSON_STRING));
    const struct json *app = operation("post", "/v1/apps/install");
    assert_true(json_has_string(json_get(field(app, "transport"), "type"), STR("null")));
    assert_non_null(json_get(json_get(field(app, "transport"), "properties"), "headers"));
}

TEST_WITH(a_body_may_be_absent_where_the_row_says_so, set_up, tear_down)
{
    const struct json *fork =
        json_get(operation("post", "/v1/conversations/{id}/fork"), "requestBody");
    const struct json *note =
        json_get(operation("post", "/v1/conversations/{id}/notes"), "requestBody");
    assert_false(json_get(fork, "required")->boolean);
    assert_true(json_get(note, "required")->boolean);
    assert_null(json_get(operation("get", "/v1/tools"), "requestBody"));
}

TEST_WITH(a_file_is_sent_as_it_is_or_in_a_form, set_up, tear_down)
{
    const struct json *op = operation("post", "/v1/files");
    const struct json *form = json_get(content(op, "multipart/form-data"), "schema");
    assert_non_null(json_get(json_get(form, "properties"), "file"));
    assert_non_null(content(op, "application/octet-stream"));
    assert_null(content(op, "application/json"));
}

/* ---- answers ---- */

TEST_WITH(usual_refusals_follow_from_the_route, set_up, tear_down)
{
    const struct json *health = operation("get", "/v1/health");
    const struct json *user = operation("patch", "/v1/users/{user}");
    const struct json *import = operation("post", "/v1/import");
    assert_false(answers(health, "401") || answers(health, "404") || answers(health, "413"));
    assert_true(answers(health, "403") && answers(health, "429")); /* Host; connections */
    assert_true(answers(user, "400") && answers(user, "401") && answers(user, "404"));
    assert_true(answers(user, "413") && answers(user, "500"));
    assert_true(answers(import, "404")); /* for everybody who does not use nb.sock */
}

/* A status that operation.c does not know would be left out without a word. */
TEST_WITH(every_status_that_a_row_names_is_in_the_document, set_up, tear_down)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    for (size_t i = 0; i < n; i++) {
        const struct api_operation *op = describe_find(&routes[i]);
        char method[8] = "";
        for (size_t k = 0; routes[i].method[k] && k + 1 < sizeof method; k++)
            method[k] = (char)(routes[i].method[k] | 0x20);
        str path = operation_path(&arena, &routes[i]), status;
        str rest = op->errors ? str_from(op->errors) : STR_NONE;
        const struct json *shown = operation(method, arena_cstr(&arena, path));
        while (str_split(&rest, ' ', &status))
            if (!answers(shown, arena_cstr(&arena, status)))
                fail_msg("%s: %.*s is not in ERRORS of src/api/describe/operation.c", op->id,
                         STR_ARG(status));
    }
}

TEST_WITH(an_answer_may_have_several_types, set_up, tear_down)
{
    const struct json *done = json_get(json_get(operation("get", "/v1/audit"), "responses"), "200");
    assert_non_null(json_get(json_get(done, "content"), "application/json"));
    assert_non_null(json_get(json_get(done, "content"), "application/jsonl"));
    const struct json *none =
        json_get(json_get(operation("post", "/v1/conversations/{id}/typing"), "responses"), "204");
    assert_null(json_get(none, "content"));
}

TEST_WITH(an_answer_says_what_it_is, set_up, tear_down)
{
    const struct json *token = json_get(operation("post", "/v1/tokens"), "responses");
    const struct json *health = json_get(operation("get", "/v1/bundles/health"), "responses");
    assert_string_equal(word(json_get(token, "200"), "description"), "A new token.");
    assert_string_equal(word(json_get(health, "200"), "description"), "Done."); /* a list */
}

TEST_WITH(every_error_has_the_same_form, set_up, tear_down)
{
    const struct json *all = json_get(json_get(document, "components"), "responses");
    assert_true(all->len > 10);
    for (size_t i = 0; i < all->len; i++) {
        const struct json *type =
            json_get(json_get(&all->members[i].value, "content"), "application/json");
        assert_string_equal(word(json_get(type, "schema"), "$ref"), "#/components/schemas/Error");
    }
}

/* Routes that speak a protocol of others have its errors too. */
TEST_WITH(a_row_may_have_errors_of_another_form, set_up, tear_down)
{
    const struct json *refused = json_get(json_get(operation("post", "/mcp"), "responses"), "400");
    const struct json *type = json_get(json_get(refused, "content"), "application/json");
    assert_int_equal(json_get(json_get(type, "schema"), "anyOf")->len, 2);
}

TEST_WITH(members_that_may_be_absent_are_not_required, set_up, tear_down)
{
    const struct json *schemas = json_get(json_get(document, "components"), "schemas");
    const struct json *user = json_get(schemas, "User");
    assert_non_null(json_get(json_get(user, "properties"), "hasPassword"));
    assert_false(json_has_string(json_get(user, "required"), STR("hasPassword")));
    assert_true(json_has_string(json_get(user, "required"), STR("id")));
    const struct json *event = json_get(schemas, "event.tool.progress");
    assert_true(json_has_string(json_get(event, "required"), STR("progress")));
    assert_false(json_has_string(json_get(event, "required"), STR("total")));
}

TEST_WITH(a_piece_of_a_file_is_bytes_without_a_form, set_up, tear_down)
{
    const struct json *piece = operation("patch", "/v1/files/uploads/{upload}");
    const struct json *types = json_get(json_get(piece, "requestBody"), "content");
    assert_non_null(json_get(types, "application/octet-stream"));
    assert_int_equal(types->len, 1);
    assert_true(json_get_bool(parameter(piece, "Upload-Offset"), "required", false));
    assert_non_null(json_get(json_get(piece, "responses"), "413"));
}

TEST_WITH(errors_of_other_services_have_their_form_whatever_the_status, set_up, tear_down)
{
    static const struct {
        const char *path, *model;
    } ROWS[] = {{"/v1/chat/completions", "#/components/schemas/OpenaiError"},
                {"/v1/responses", "#/components/schemas/OpenaiError"},
                {"/v1/messages", "#/components/schemas/AnthropicError"}};
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        const struct json *all = json_get(operation("post", ROWS[i].path), "responses");
        for (size_t k = 0; k < all->len; k++) {
            if (str_eq(all->members[k].key, STR("200")))
                continue;
            const struct json *types = json_get(&all->members[k].value, "content");
            const struct json *form = json_get(json_get(types, "application/json"), "schema");
            assert_string_equal(word(form, "$ref"), ROWS[i].model);
        }
    }
}
