/* api_document.h - every answer that a test receives must be what the document of the API says.
 *
 * A status or a member that the document does not have fails the test with the row to add. */
#pragma once

#include "api/describe/document.h"
#include "api/routes.h"
#include "base/schema/schema.h"
#include "support/unit.h"

static struct {
    struct arena arena;
    const struct json *root;
} api_document;

/* The document promises members and allows others; here it must know all. */
static inline void api_document_close(struct json *schemas)
{
    for (size_t i = 0; i < schemas->len; i++)
        if (json_get(&schemas->members[i].value, "properties"))
            json_set(&api_document.arena, &schemas->members[i].value, STR("additionalProperties"),
                     (struct json){.type = JSON_BOOL, .boolean = false});
}

static inline void on_api_document_end(void)
{
    arena_done(&api_document.arena);
}

static inline const struct json *api_document_root(void)
{
    struct buf text;
    struct json *v;
    if (api_document.root)
        return api_document.root;
    arena_init(&api_document.arena);
    buf_init(&text, API_DOCUMENT_MAX);
    document_write(&text, STR_NONE);
    assert_int_equal(json_parse(&api_document.arena, buf_str(&text), JSON_COPY, &v, NULL), 0);
    buf_done(&text);
    api_document_close((struct json *)json_get(json_get(v, "components"), "schemas"));
    api_document.root = v;
    atexit(on_api_document_end);
    return v;
}

/* "/v1/users/:user" or, in the document, "/v1/users/{user}". */
static inline bool api_document_is_path(str pattern, str path)
{
    str want, have;
    while (str_split(&pattern, '/', &want)) {
        bool is_given = str_split(&path, '/', &have);
        if (str_eq(want, STR("{path}")))
            return is_given;
        if (!is_given || (!str_starts(want, STR("{")) && !str_eq(want, have)))
            return false;
    }
    return !str_split(&path, '/', &have);
}

/* NULL: there is no such route. Literal paths come first in the table, as in the router. */
static inline const struct json *api_document_find(const char *method, str path)
{
    const struct json *paths = json_get(api_document_root(), "paths");
    char key[16] = "";
    ptrdiff_t query = str_find_char(path, '?');
    path = query < 0 ? path : str_slice(path, 0, (size_t)query);
    for (size_t i = 0; method[i] && i + 1 < sizeof key; i++)
        key[i] = (char)(method[i] | 0x20);
    for (size_t i = 0; i < paths->len; i++)
        if (api_document_is_path(paths->members[i].key, path))
            return json_get(&paths->members[i].value, key);
    return NULL;
}

static inline const struct json *api_document_follow(const struct json *v)
{
    str address = json_get_string(v, "$ref"), part;
    if (address.n == 0)
        return v;
    v = api_document_root();
    address = str_skip(address, 2);
    while (v && str_split(&address, '/', &part))
        v = json_get_str(v, part);
    return v;
}

static inline void api_document_check(const char *method, const char *path, int status,
                                      const struct json *body)
{
    char key[8];
    struct err e = {0};
    const struct json *op = api_document_find(method, str_from(path));
    snprintf(key, sizeof key, "%d", status);
    if (!op)
        return;
    const struct json *answer = api_document_follow(json_get(json_get(op, "responses"), key));
    if (!answer)
        fail_msg("%s %s was answered with %d: add it to the errors of its row in "
                 "src/api/describe/describe_*.c",
                 method, path, status);
    const struct json *content = json_get(json_get(answer, "content"), "application/json");
    if (!content || !body)
        return;
    struct json schema = *json_get(content, "schema");
    schema.cap = 0;
    json_set(&api_document.arena, &schema, STR("components"),
             *json_get(api_document_root(), "components"));
    if (schema_validate(&schema, body, "answer", &e) < 0)
        fail_msg("%s %s, %d: %s; correct its model in src/api/describe/describe_*.c", method, path,
                 status, e.msg);
}
