/* Properties that every row of the table of routes must have. */
#include <fnmatch.h>

#include "api/routes.h"
#include "support/bare_request.h"

static const struct route *all;
static size_t nall;

static int set_up(void **state)
{
    struct loop *l = loop_new(NULL);
    all = api_routes(&nall);
    bare_begin(l);
    *state = l;
    return 0;
}

static int tear_down(void **state)
{
    bare_end(*state);
    loop_free(*state);
    return 0;
}

/* A path that only this pattern is meant for: ":name" becomes "v-name", "*" a file. */
static const char *path_of(const struct route *row)
{
    static char path[256];
    size_t n = 0;
    for (const char *p = row->pattern; *p; p++)
        if (*p == ':')
            n += (size_t)snprintf(path + n, sizeof path - n, "v-");
        else if (*p == '*')
            n += (size_t)snprintf(path + n, sizeof path - n, "dir/file.html");
        else
            path[n++] = *p;
    path[n] = '\0';
    return path;
}

static enum route_result find(const char *method, const char *path, const struct route **ret,
                              char allow[256])
{
    struct http_req *r = bare_request(method, path, "");
    struct buf methods;
    buf_init(&methods, 256);
    enum route_result found = route_find(all, nall, r, &methods);
    *ret = found == ROUTE_FOUND ? r->route : NULL;
    snprintf(allow, 256, "%.*s", STR_ARG(buf_str(&methods)));
    buf_done(&methods);
    bare_end_request();
    return found;
}

/* The first match wins, so a row behind a wider pattern would never be reached. */
TEST_WITH(no_row_hides_another, set_up, tear_down)
{
    char allow[256];
    for (size_t i = 0; i < nall; i++) {
        const struct route *found;
        find(all[i].method, path_of(&all[i]), &found, allow);
        if (found != &all[i])
            fail_msg("%s %s reaches %s", all[i].method, all[i].pattern,
                     found ? found->pattern : "nothing");
    }
}

TEST_WITH(a_path_with_other_methods_names_them, set_up, tear_down)
{
    static const struct {
        const char *method, *path, *allow;
    } CASES[] = {
        {"PUT", "/v1/users", "GET, HEAD, POST"},
        {"POST", "/v1/users/usr_a", "GET, HEAD, PATCH, DELETE"},
        {"PATCH", "/mcp", "POST, GET, HEAD, DELETE"},
        {"GET", "/v1/chat", "POST"},
        {"DELETE", "/v1/health", "GET, HEAD"},
    };
    char allow[256];
    const struct route *found;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_int_equal(find(CASES[i].method, CASES[i].path, &found, allow), ROUTE_WRONG_METHOD);
        assert_string_equal(allow, CASES[i].allow);
    }
    assert_int_equal(find("GET", "/v1/user", &found, allow), ROUTE_NOT_FOUND);
    assert_int_equal(find("GET", "/v1/users/a/b/c", &found, allow), ROUTE_NOT_FOUND);
}

TEST_WITH(the_name_of_an_app_cannot_take_a_route_of_its_own_away, set_up, tear_down)
{
    char allow[256];
    const struct route *found;
    find("GET", "/v1/apps/oauth/callback", &found, allow);
    assert_string_equal(found->pattern, "/v1/apps/oauth/callback");
    find("GET", "/v1/conversations/stats", &found, allow);
    assert_string_equal(found->pattern, "/v1/conversations/stats");
}

static void expect(bool holds, const struct route *row, const char *what)
{
    if (!holds)
        fail_msg("%s %s: %s", row->method, row->pattern, what);
}

/* A row without a scope is open to everybody: it must be one of these. */
TEST_WITH(only_known_rows_are_open, set_up, tear_down)
{
    static const char *const OPEN[] = {
        "/v1/health",       "/v1/openapi.json", "/v1/auth/login",     "/v1/auth/logout",
        "/v1/auth/session", "/v1/auth/refresh", "/v1/auth/authorize", "/v1/auth/callback",
        "/v1/apps/oauth/*", "/.well-known/*",   "/sandbox/*",         "/healthz",
        "/readyz",          "/v1/shared",
    };
    for (size_t i = 0; i < nall; i++) {
        bool is_known = false;
        for (size_t k = 0; k < ARRAY_LEN(OPEN); k++)
            is_known |= fnmatch(OPEN[k], all[i].pattern, 0) == 0;
        expect(is_known == (api_rule(&all[i])->scope == 0), &all[i], "open or not");
        expect(is_known == !!(all[i].flags & API_OPEN), &all[i], "API_OPEN and the scope differ");
        expect(!is_known || (all[i].flags & API_NO_SPACE), &all[i], "open, but in a workspace");
    }
}

TEST_WITH(flags_rules_and_patterns_agree, set_up, tear_down)
{
    for (size_t i = 0; i < nall; i++) {
        const struct route *row = &all[i];
        const struct access_rule *rule = api_rule(row);
        bool is_about_conv = row->flags & (API_CONV | API_BODY_CONV);
        bool has_param = strstr(row->pattern, "/:") != NULL;
        expect(rule && row->handle, row, "no rule or handler");
        expect(!(row->flags & (API_WS | API_USER | API_CONV)) || has_param, row,
               "its subject is not in the path");
        expect(is_about_conv == (rule->conv != RULE_CONV_NONE), row,
               "a conversation without a right, or a right without a conversation");
        expect(!(row->flags & API_WS) || rule->space != WS_NONE, row, "any role in the workspace");
        expect(!(row->flags & API_MCP) || rule->scope == SCOPE_MCP, row, "scope of /mcp");
        expect((row->flags & API_MCP) || rule->scope != SCOPE_MCP, row, "scope outside of /mcp");
        expect(!(row->flags & API_USER) || rule->server == ORG_ADMIN, row, "of any person");
    }
}

/* A token to read must not be able to change anything; a change must not hide behind GET. */
TEST_WITH(a_scope_to_read_changes_nothing, set_up, tear_down)
{
    static const char *const QUESTIONS[] = {
        /* POST because their input is long, or a stream's own; a view only shows a call */
        "/v1/events/:stream/watch", "/v1/prompt", "/v1/resources/read",
        "/v1/skills/match",         "/v1/views",  "/v1/views/:view"};
    for (size_t i = 0; i < nall; i++) {
        const struct access_rule *rule = api_rule(&all[i]);
        bool is_question = strcmp(all[i].method, "GET") == 0;
        for (size_t k = 0; k < ARRAY_LEN(QUESTIONS); k++)
            is_question |= strcmp(all[i].pattern, QUESTIONS[k]) == 0;
        if (rule->scope == SCOPE_READ)
            expect(is_question, &all[i], "a scope to read suffices");
        if (rule->scope == SCOPE_WRITE)
            expect(!is_question, &all[i], "reading needs a scope to write");
    }
}

/* A token for some tools could otherwise get at everything else of its user. */
TEST_WITH(managing_is_closed_to_tokens_for_some_tools, set_up, tear_down)
{
    for (size_t i = 0; i < nall; i++) {
        const struct access_rule *rule = api_rule(&all[i]);
        if (rule->scope == SCOPE_ADMIN || rule->server > ORG_MEMBER || rule->space == WS_ADMIN)
            expect(rule->tokens >= RULE_TOKENS_WIDE, &all[i], "narrow tokens pass");
        if (rule->server > ORG_MEMBER)
            expect(rule->tokens >= RULE_TOKENS_WHOLE, &all[i], "bound tokens pass");
    }
}

TEST_WITH(every_row_has_a_body_of_a_known_size, set_up, tear_down)
{
    for (size_t i = 0; i < nall; i++) {
        bool is_sent = strcmp(all[i].method, "GET") != 0 && strcmp(all[i].method, "DELETE") != 0;
        expect(all[i].body_max == 0 || is_sent, &all[i], "a body that nobody sends");
        unsigned mib = all[i].flags & (API_OPENAI | API_ANTHROPIC) ? 8 : 4; /* with pictures */
        expect(all[i].body_max <= mib * 1024 * 1024, &all[i], "a body that is too large");
        /* strangers may not make the server hold more than a login needs */
        expect(!(all[i].flags & API_OPEN) || all[i].body_max <= 4096, &all[i], "open and large");
    }
}

TEST_WITH(the_subject_of_a_row_has_a_name, set_up, tear_down)
{
    static const struct {
        const char *method, *path, *target;
    } CASES[] = {
        {"GET", "/v1/health", "open"},         {"GET", "/v1/users", "server"},
        {"GET", "/v1/tokens", "account"},      {"GET", "/v1/bootstrap", "account"},
        {"GET", "/v1/users/me", "user"},       {"GET", "/v1/workspaces/ws_a", "workspace"},
        {"POST", "/v1/chat", "message"},       {"GET", "/v1/conversations/c", "conversation"},
        {"GET", "/v1/conversations", "space"},
    };
    char allow[256];
    const struct route *found;
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        find(CASES[i].method, CASES[i].path, &found, allow);
        assert_string_equal(api_route_target(found), CASES[i].target);
    }
}
