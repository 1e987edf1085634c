#include "api/describe/operation.h"

#include <assert.h>

#include "api/describe/shape.h"
#include "api/routes.h"
#include "bus/vocabulary.h"

/* ---- the path and its parameters ---- */

/* The first row whose text is in the pattern. */
static const struct {
    const char *in, *about;
} PATH_PARAMETERS[] = {
    {"/users/:user", "The id of a person, or `me`."},
    {"/members/:user", "The id of the member."},
    {"/participants/:user", "The id of the participant."},
    {"/tokens/:token", "The id of the token, which is not its value."},
    {"/workspaces/:ws", "The id of the workspace."},
    {"/apps/:name", "The name of the app."},
    {"/resources/*",
     "The address of the resource without `ui://`; `primary` is the app's first page."},
    {"/providers/:name", "The name of the provider."},
    {"/skills/workspace/:name", "The name of the skill."},
    {"/skills/personal/:name", "The name of the skill."},
    {"/projects/:project", "The id of the project."},
    {"/prompts/workspace/:name", "The name of the prompt."},
    {"/prompts/personal/:name", "The name of the prompt."},
    {"/conversations/:id", "The id of the conversation."},
    {"/links/:link", "The id of the link, which is not its secret."},
    {"/responses/:response", "The id of the response."},
    {"/blobs/:blob", "The SHA-256 of the result, as the history names it."},
    {"/calls/:call", "The id of the tool call."},
    {"/parts/:part", "The number of the part, from 0, or `structured`."},
    {"/uploads/:upload", "The id of the upload, from POST /v1/files/uploads."},
    {"/models/*", "A model, `default`, or `agent:` and the name of an agent."},
    {"/files/:file", "The id of the file."},
    {"/inputs/:input", "The id of the question."},
    {"/queue/:message", "The id of the waiting message."},
    {"/events/:stream", "The id of the stream, from its event `subscribed`."},
    {"/consents/:tool", "The name of the tool."},
    {"/workspace-consents/:tool", "The name of the tool."},
    {"/views/:view", "The id of the view."},
    {"/asks/:ask", "The id of the question."},
    {"/sandbox/:view", "The id of the view."},
    {"/mcp/:source", "The bundle whose tools alone are offered."},
};

/* The next parameter at or after *at: its name, and where its segment starts. */
static bool next_parameter(str pattern, size_t *at, str *ret_segment, str *ret_name)
{
    for (; *at < pattern.n; (*at)++) {
        if (pattern.p[*at] != ':' && pattern.p[*at] != '*')
            continue;
        size_t end = *at;
        while (end < pattern.n && pattern.p[end] != '/')
            end++;
        *ret_segment = str_slice(pattern, *at, end);
        *ret_name = pattern.p[*at] == '*' ? STR("path") : str_skip(*ret_segment, 1);
        return true;
    }
    return false;
}

str operation_path(struct arena *a, const struct route *route)
{
    str pattern = str_from(route->pattern), segment, name, path = STR("");
    size_t at = 0, done = 0;
    while (next_parameter(pattern, &at, &segment, &name)) {
        path = arena_printf(a, "%.*s%.*s{%.*s}", STR_ARG(path),
                            STR_ARG(str_slice(pattern, done, at)), STR_ARG(name));
        at += segment.n;
        done = at;
    }
    return arena_concat(a, path, str_skip(pattern, done));
}

/* NULL: operation.c does not know it, which a unit test reports. */
static const char *about_parameter(str pattern, size_t end)
{
    str part = str_slice(pattern, 0, end);
    for (size_t i = 0; i < ARRAY_LEN(PATH_PARAMETERS); i++)
        if (str_ends(part, str_from(PATH_PARAMETERS[i].in)))
            return PATH_PARAMETERS[i].about;
    return NULL;
}

static void write_parameter(struct json_writer *w, const char *in, str name, bool is_required,
                            const char *shape, const char *about)
{
    jw_object(w);
    jw_kstr(w, "name", name);
    jw_kcstr(w, "in", in);
    if (is_required)
        jw_kbool(w, "required", true);
    if (about)
        jw_kcstr(w, "description", about);
    jw_key(w, "schema");
    shape_write(w, shape, NULL);
    jw_end(w);
}

/* A '!' at the end of the name: required. */
static void write_parameters_in(struct json_writer *w, const char *in, const struct api_member *m)
{
    for (; m && m->name; m++) {
        str name = str_from(m->name);
        bool is_required = str_ends(name, STR("!"));
        write_parameter(w, in, str_slice(name, 0, name.n - is_required), is_required, m->shape,
                        m->about);
    }
}

static bool is_in_space(const struct route *route)
{
    return !(route->flags & (API_NO_SPACE | API_HOME | API_OPEN));
}

static void write_reference(struct json_writer *w, const char *kind, const char *name)
{
    char address[96];
    snprintf(address, sizeof address, "#/components/%s/%s", kind, name);
    jw_object(w);
    jw_kcstr(w, "$ref", address);
    jw_end(w);
}

static void write_parameters(struct json_writer *w, const struct route *route,
                             const struct api_operation *op)
{
    str pattern = str_from(route->pattern), segment, name;
    jw_karray(w, "parameters");
    for (size_t at = 0; next_parameter(pattern, &at, &segment, &name); at += segment.n)
        write_parameter(w, "path", name, true, "string", about_parameter(pattern, at + segment.n));
    write_parameters_in(w, "query", op->query);
    write_parameters_in(w, "header", op->headers);
    if (is_in_space(route)) {
        write_reference(w, "parameters", "workspaceHeader");
        write_reference(w, "parameters", "workspaceQuery");
    }
    jw_end(w);
}

void operation_write_shared(struct json_writer *w)
{
    static const char ABOUT[] =
        "The workspace of the request. Not needed by people with one workspace, by tokens that "
        "are bound to one, and where the conversation determines it.";
    jw_kobject(w, "parameters");
    jw_key(w, "workspaceHeader");
    write_parameter(w, "header", STR("X-Workspace-Id"), false, "string", ABOUT);
    jw_key(w, "workspaceQuery");
    write_parameter(w, "query", STR("workspace"), false, "string",
                    "The same for clients that cannot send headers (EventSource).");
    jw_end(w);
}

/* ---- bodies ---- */

static void write_object(struct json_writer *w, const struct json_field *fields, bool is_open,
                         bool is_nullable);

static const char *shape_of_field(const struct json_field *f)
{
    static const char *const SHAPES[] = {
        [JF_STR] = "string",        [JF_CSTR] = "string",      [JF_INT] = "integer",
        [JF_DOUBLE] = "number",     [JF_BOOL] = "boolean",     [JF_STRS] = "string[]",
        [JF_OBJECT] = "object",     [JF_OBJECTS] = "object[]", [JF_JSON] = "any",
        [JF_JSON_OBJECT] = "object"};
    assert(f->type < ARRAY_LEN(SHAPES));
    return f->shape ? f->shape : SHAPES[f->type];
}

/* null is the same as absent, and documents say so. */
static void write_field(struct json_writer *w, const struct json_field *f, bool is_open)
{
    char shape[256];
    bool is_nullable = (f->flags & JF_NULLABLE) && strcmp(shape_of_field(f), "any") != 0;
    jw_key(w, f->name);
    if (f->fields) {
        jw_object(w);
        if (f->about)
            jw_kcstr(w, "description", f->about);
        write_object(w, f->fields, is_open, is_nullable);
        jw_end(w);
        return;
    }
    snprintf(shape, sizeof shape, "%s%s", shape_of_field(f), is_nullable ? "|null" : "");
    shape_write(w, shape, f->about);
}

/* The members of an object schema. */
static void write_object(struct json_writer *w, const struct json_field *fields, bool is_open,
                         bool is_nullable)
{
    bool has_required = false;
    jw_kraw(w, "type", is_nullable ? STR("[\"object\",\"null\"]") : STR("\"object\""));
    jw_kobject(w, "properties");
    for (const struct json_field *f = fields; f->name; f++) {
        write_field(w, f, is_open);
        has_required |= (f->flags & JF_REQUIRED) != 0;
    }
    jw_end(w);
    if (has_required) {
        jw_karray(w, "required");
        for (const struct json_field *f = fields; f->name; f++)
            if (f->flags & JF_REQUIRED)
                jw_cstr(w, f->name);
        jw_end(w);
    }
    if (!is_open)
        jw_kbool(w, "additionalProperties", false);
}

static void write_form_content(struct json_writer *w)
{
    jw_kobject(w, "multipart/form-data");
    jw_kraw(
        w, "schema",
        STR("{\"type\":\"object\",\"required\":[\"file\"],\"properties\":{\"file\":{\"type\":"
            "\"string\",\"contentMediaType\":\"application/octet-stream\",\"description\":\"The "
            "bytes of the file; its name comes from the form.\"}}}"));
    jw_end(w);
}

static void write_bytes_content(struct json_writer *w)
{
    jw_kobject(w, "application/octet-stream");
    jw_kraw(w, "schema", STR("{\"description\":\"The bytes of the file.\"}"));
    jw_end(w);
}

static void write_json_content(struct json_writer *w, const struct api_operation *op)
{
    jw_kobject(w, "application/json");
    jw_key(w, "schema");
    if (op->body) {
        jw_object(w);
        write_object(w, op->body, op->flags & API_BODY_OTHER_KEYS, false);
        jw_end(w);
    } else {
        shape_write(w, op->body_shape, NULL);
    }
    jw_end(w);
}

static bool has_body(const struct api_operation *op)
{
    return op->body || op->body_shape || (op->flags & (API_BODY_IS_FILE | API_BODY_IS_BYTES));
}

static void write_body(struct json_writer *w, const struct route *route,
                       const struct api_operation *op)
{
    bool is_file = op->flags & (API_BODY_IS_FILE | API_BODY_IS_BYTES);
    if (!has_body(op))
        return;
    char about[64];
    size_t max = route->body_max ? route->body_max : API_BODY_MAX;
    jw_kobject(w, "requestBody");
    if (!is_file) {
        snprintf(about, sizeof about, "At most %zu KiB.", max / 1024);
        jw_kcstr(w, "description", about);
    }
    jw_kbool(w, "required", !(op->flags & API_BODY_MAY_BE_ABSENT));
    jw_kobject(w, "content");
    if (op->flags & API_BODY_IS_FILE)
        write_form_content(w);
    if (is_file)
        write_bytes_content(w);
    else
        write_json_content(w, op);
    jw_end(w);
    jw_end(w);
}

/* ---- answers ---- */

/* The usual refusals, and others that rows name. */
static const struct {
    int status;
    const char *name, *about;
} ERRORS[] = {
    {400, "BadRequest", "The request is not valid; the message says what to change."},
    {401, "Unauthorized", "The credentials are missing or not valid."},
    {402, "PaymentRequired", "The budget of the month is used up."},
    {403, "Forbidden", "The caller may not do this; the message says why."},
    {404, "NotFound", "It does not exist, or the caller may not see it."},
    {405, "WrongMethod", "The path does not support this method."},
    {406, "NotAcceptable", "The client does not accept the type of the answer."},
    {409, "Conflict", "The current state does not allow it; the message says why."},
    {413, "TooLarge", "The body, the file or the conversation is too large."},
    {415, "WrongType", "The type of the body is not supported."},
    {416, "NoSuchRange", "The file has no such range of bytes."},
    {422, "NotReadable", "The stored content cannot be decoded."},
    {429, "TooMany", "Too many requests. Retry-After says when to try again."},
    {500, "Failed", "The server could not do it; its log has details."},
    {501, "NotInstalled", "A program that this needs is not installed on the server's machine."},
    {502, "NotReached", "A server that nb depends on failed."},
    {503, "Unavailable", "Not possible right now; try again later."},
    {504, "TimedOut", "A server that nb depends on did not respond."},
    {507, "Full", "The disk or a quota is full."},
};

static void write_error(struct json_writer *w, const char *about, const char *shape)
{
    jw_object(w);
    jw_kcstr(w, "description", about);
    jw_kobject(w, "content");
    jw_kobject(w, "application/json");
    jw_key(w, "schema");
    shape_write(w, shape, NULL);
    for (int open = 0; open < 3; open++)
        jw_end(w);
}

void operation_write_errors(struct json_writer *w)
{
    jw_kobject(w, "responses");
    for (size_t i = 0; i < ARRAY_LEN(ERRORS); i++) {
        jw_key(w, ERRORS[i].name);
        write_error(w, ERRORS[i].about, "Error");
    }
    jw_end(w);
}

static bool is_usual(int status, const struct route *route, const struct api_operation *op)
{
    bool is_open = api_rule(route)->scope == 0;
    bool has_subject = strpbrk(route->pattern, ":*") != NULL;
    switch (status) {
    case 400: /* also: the query cannot be decoded */
        return true;
    case 401:
        return !is_open;
    case 403:
        return true; /* Host and Origin */
    case 404:
        return has_subject || (route->flags & API_BODY_CONV) || api_rule(route)->is_local;
    case 413:
        return has_body(op);
    case 429:
        return true;
    case 500: /* also: the workspace cannot be opened */
        return !is_open;
    case 503: /* its database cannot be reached */
        return is_in_space(route);
    default:
        return false;
    }
}

static bool is_answer(const struct api_operation *op, int status)
{
    for (size_t i = 0; i < API_ANSWERS_MAX; i++)
        if (op->answers[i].status == status)
            return true;
    return false;
}

static bool has_status(const char *errors, int status)
{
    char text[8];
    snprintf(text, sizeof text, "%d", status);
    return errors && strstr(errors, text);
}

static void write_errors(struct json_writer *w, const struct route *route,
                         const struct api_operation *op)
{
    char status[8];
    for (size_t i = 0; i < ARRAY_LEN(ERRORS); i++) {
        bool is_possible =
            is_usual(ERRORS[i].status, route, op) || has_status(op->errors, ERRORS[i].status);
        if (!is_possible || is_answer(op, ERRORS[i].status))
            continue;
        snprintf(status, sizeof status, "%d", ERRORS[i].status);
        jw_key(w, status);
        if (op->error_shape)
            write_error(w, ERRORS[i].about, op->error_shape);
        else
            write_reference(w, "responses", ERRORS[i].name);
    }
}

static bool is_sent(unsigned flags, enum event_type t)
{
    bool is_of_chat = t == EV_CHAT_QUEUED || t == EV_CHAT_START || t == EV_CHAT_DONE;
    bool is_of_space = t == EV_SUBSCRIBED || t == EV_WATCH_ENDED || t >= EV_CONVERSATION_CREATED;
    if (t == EV_DATA_CHANGED)
        return flags & (API_SENDS_CHAT | API_SENDS_SPACE);
    if (is_of_chat)
        return flags & API_SENDS_CHAT;
    return flags & API_SENDS_SPACE || !is_of_space;
}

static void write_events(struct json_writer *w, unsigned flags)
{
    char address[96];
    jw_kobject(w, "x-events");
    for (enum event_type t = EV_USER_MESSAGE; t < EV_END; t++) {
        str shown = EVENT_KINDS[t].shown;
        if (shown.n == 0 || !is_sent(flags, t))
            continue;
        snprintf(address, sizeof address, "#/components/schemas/event.%.*s", STR_ARG(shown));
        jw_key_str(w, shown);
        jw_object(w);
        jw_kcstr(w, "$ref", address);
        jw_end(w);
    }
    jw_end(w);
}

static void write_content(struct json_writer *w, const struct api_operation *op,
                          const struct api_reply *answer)
{
    bool is_stream = strcmp(answer->type, "text/event-stream") == 0;
    jw_kobject(w, answer->type);
    jw_key(w, "schema");
    shape_write(w, answer->shape ? answer->shape : (is_stream ? "string" : "any"), NULL);
    if (is_stream && op->flags & (API_SENDS_CHAT | API_SENDS_CONVERSATION | API_SENDS_SPACE))
        write_events(w, op->flags);
    jw_end(w);
}

/* Several rows in a series with one status: it has several types of content. Returns the row
 * behind them. */
static size_t write_answer(struct json_writer *w, const struct api_operation *op, size_t i)
{
    const struct api_reply *all = op->answers;
    char text[8];
    int status = all[i].status;
    snprintf(text, sizeof text, "%d", status);
    jw_kobject(w, text);
    const char *about = all[i].about;
    if (!about && all[i].shape)
        about = describe_model(all[i].shape);
    jw_kcstr(w, "description", about ? about : "Done.");
    if (all[i].type)
        jw_kobject(w, "content");
    bool has_content = all[i].type != NULL;
    for (; i < API_ANSWERS_MAX && all[i].status == status; i++)
        if (all[i].type)
            write_content(w, op, &all[i]);
    if (has_content)
        jw_end(w);
    jw_end(w);
    return i;
}

static void write_answers(struct json_writer *w, const struct route *route,
                          const struct api_operation *op)
{
    jw_kobject(w, "responses");
    for (size_t i = 0; i < API_ANSWERS_MAX && op->answers[i].status;)
        i = write_answer(w, op, i);
    write_errors(w, route, op);
    jw_key(w, "default");
    if (op->error_shape)
        write_error(w, "Another failure.", op->error_shape);
    else
        write_reference(w, "responses", "Failed");
    jw_end(w);
}

/* ---- rights ---- */

static void write_security(struct json_writer *w, const struct access_rule *rule)
{
    static const char *const WAYS[] = {"socket", "session", "token"};
    size_t n = rule->scope == 0 ? 0 : rule->is_local ? 1 : rule->tokens == RULE_TOKENS_NONE ? 2 : 3;
    jw_karray(w, "security");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_karray(w, WAYS[i]);
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
}

static void write_access(struct json_writer *w, const struct route *route)
{
    const struct access_rule *rule = api_rule(route);
    jw_kobject(w, "x-access");
    jw_kcstr(w, "about", api_route_target(route));
    jw_kstr(w, "scope", rule->scope ? auth_scope_name((enum auth_scope)rule->scope) : STR("open"));
    jw_kstr(w, "server", org_role_name(rule->server));
    jw_kstr(w, "workspace", rule->space == WS_NONE ? STR("") : ws_role_name(rule->space));
    jw_kstr(w, "conversation", rule_conv_name(rule->conv));
    jw_kstr(w, "tokens", rule_tokens_name(rule->tokens));
    jw_end(w);
}

void operation_write(struct json_writer *w, const struct route *route,
                     const struct api_section *section, const struct api_operation *op)
{
    jw_kcstr(w, "operationId", op->id);
    jw_kcstr(w, "summary", op->summary);
    if (op->about)
        jw_kcstr(w, "description", op->about);
    jw_karray(w, "tags");
    jw_cstr(w, section->tag);
    jw_end(w);
    write_parameters(w, route, op);
    write_body(w, route, op);
    write_answers(w, route, op);
    write_security(w, api_rule(route));
    write_access(w, route);
}
