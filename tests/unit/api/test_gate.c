/* Which callers pass the rule of a route. People of the rig, and:
 *
 *   dan   admin of the server, member of no workspace
 *   cyd   the only admin of the workspace ws_b */
#include "api/api_impl.h"
#include "api/gate.h"
#include "api/routes.h"
#include "support/bare_request.h"
#include "support/rig.h"

/* The columns of the table. Tokens belong to Ana, except the first one. */
enum caller {
    OPERATOR,
    OWNER,
    ADMIN,
    MEMBER,
    STRANGER,
    READ_TOKEN,
    TOKEN,
    BOUND_TOKEN,
    NARROW_TOKEN,
    BARE_TOKEN,
    CALLERS
};

static struct rig *rig;
static struct api api;
static struct api_space space = {.id = STR_INIT(RIG_WORKSPACE)};
static struct actor *callers[CALLERS];

static void change_people(struct change c)
{
    bool is_done = false;
    directory_change(rig->directory, &c, on_rig_changed, &is_done);
    rig_until(rig, is_done);
}

static struct actor *token_of(const char *user_id, unsigned scopes, const char *bound,
                              struct json_strs tools)
{
    struct principal p = {.user_id = str_from(user_id),
                          .how = AUTH_BY_TOKEN,
                          .scopes = scopes,
                          .bound_workspace_id = str_from(bound)};
    return actor_new(rig->directory, STR(RIG_WORKSPACE), &p, tools);
}

static int set_up(void **state)
{
    static str globs[] = {STR_INIT("mail__*")};
    rig_set_up(state);
    rig = *state;
    bare_begin(rig->loop);
    change_people((struct change){.kind = CHANGE_USER_ADD,
                                  .user_id = STR("usr_dan"),
                                  .display_name = STR("Dan"),
                                  .email = STR("dan@example.com"),
                                  .has_role = true,
                                  .role = ORG_ADMIN});
    change_people((struct change){.kind = CHANGE_WORKSPACE_ADD,
                                  .workspace_id = STR("ws_b"),
                                  .name = STR("B"),
                                  .user_id = STR("usr_cyd")});
    api = (struct api){.deps = {.directory = rig->directory}};
    callers[OPERATOR] = actor_new_operator(rig->directory, STR(RIG_WORKSPACE), STR("usr_ana"));
    callers[OWNER] = actor_ref(rig->ana);
    callers[ADMIN] = rig_person(rig, "usr_dan");
    callers[MEMBER] = actor_ref(rig->ben);
    callers[STRANGER] = actor_ref(rig->cyd);
    callers[READ_TOKEN] = token_of("usr_ben", SCOPE_READ, "", (struct json_strs){0});
    callers[TOKEN] = token_of("usr_ana", SCOPE_ALL, "", (struct json_strs){0});
    callers[BOUND_TOKEN] = token_of("usr_ana", SCOPE_ALL, "ws_a", (struct json_strs){0});
    callers[NARROW_TOKEN] = token_of("usr_ana", SCOPE_ALL, "", (struct json_strs){globs, 1});
    callers[BARE_TOKEN] = token_of("usr_ana", 0, "", (struct json_strs){0});
    return 0;
}

static int tear_down(void **state)
{
    bare_end(rig->loop);
    for (size_t i = 0; i < CALLERS; i++)
        actor_unref(callers[i]);
    return rig_tear_down(state);
}

/* The request as admit.c shows it to the gate: routed, with the workspace when there is one. */
static struct http_req *routed(const char *method, const char *path, struct actor *who)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    struct http_req *r = bare_request(method, path, "");
    struct api_identity *id = ARENA_NEW(&r->arena, struct api_identity);
    struct buf allow;
    buf_init(&allow, 256);
    assert_int_equal(route_find(routes, n, r, &allow), ROUTE_FOUND);
    buf_done(&allow);
    const struct route *route = r->route;
    id->actor = who;
    id->space = route->flags & (API_NO_SPACE | API_HOME) ? NULL : &space;
    id->is_dispatched = true; /* for gate_still_open */
    id->dispatched.role = actor_role(who);
    id->dispatched.server = actor_org_role(who);
    r->caller = id;
    return r;
}

static bool passes(struct http_req *r)
{
    return gate_identity(r, api_actor(r)) && gate_target(&api, r, api_identity(r));
}

/* '.' passes, 'x' forbidden, '?' does not exist. */
static char verdict(const char *method, const char *path, struct actor *who)
{
    bool is_open = passes(routed(method, path, who));
    const char *reply = bare_reply();
    char c = is_open                               ? '.'
             : strcmp(reply, "403 forbidden") == 0 ? 'x'
             : strcmp(reply, "404 not_found") == 0 ? '?'
                                                   : '!';
    assert_true(is_open == (bare.status == 0));
    bare_end_request();
    return c;
}

TEST_WITH(each_kind_of_caller_passes_the_rules_made_for_it, set_up, tear_down)
{
    static const struct {
        const char *method, *path;
        const char *people; /* operator, owner, admin, member, stranger */
        const char *tokens; /* to read, for everything, bound, narrow, without scopes */
    } CASES[] = {
        /* about the caller */
        {"GET", "/v1/preferences", ".....", "..xxx"},
        {"PATCH", "/v1/preferences", ".....", "x.xxx"},
        {"POST", "/v1/tokens", ".....", "xxxxx"},
        {"GET", "/v1/bootstrap", ".....", "....x"},
        /* about the server */
        {"GET", "/v1/users", "...xx", "x.xxx"},
        {"GET", "/metrics", "...xx", "x.xxx"},
        {"GET", "/v1/audit", "..xxx", "x.xxx"},
        {"DELETE", "/v1/users/usr_ben", "...xx", "x.xxx"},
        {"GET", "/v1/auth/link", ".????", "????x"},
        {"POST", "/v1/auth/link/rotate", ".????", "x???x"},
        /* about a person: that person, and admins; only owners change owners */
        {"GET", "/v1/users/usr_ben", "....?", "..xxx"},
        {"PATCH", "/v1/users/usr_ben", "....?", "x.xxx"},
        {"PATCH", "/v1/users/me", ".....", "x.xxx"},
        {"GET", "/v1/users/usr_ana", "...??", "?.xxx"},
        {"PATCH", "/v1/users/usr_ana", "..x??", "x.xxx"},
        {"POST", "/v1/users/usr_ana/sign-out", "..x??", "x.xxx"},
        {"DELETE", "/v1/users/usr_ana", "..xxx", "x.xxx"},
        {"GET", "/v1/users/usr_nobody", "...??", "?.xxx"},
        /* about a workspace: members, its admins, and admins of the server */
        {"GET", "/v1/workspaces/ws_a", "....?", "....x"},
        {"GET", "/v1/workspaces/ws_b", "...?.", "?.?.x"},
        {"GET", "/v1/workspaces/ws_none", ".????", "????x"},
        {"PATCH", "/v1/workspaces/ws_a", "...x?", "x..xx"},
        {"DELETE", "/v1/workspaces/ws_b", "...?.", "x.?xx"},
        {"POST", "/v1/workspaces/ws_a/members", "...x?", "x..xx"},
        {"DELETE", "/v1/workspaces/ws_a/members/usr_ben", "....?", "x..xx"},
        {"DELETE", "/v1/workspaces/ws_a/members/usr_ana", "...x?", "x..xx"},
        /* in the workspace of the request: an admin of the server is not an admin there */
        {"GET", "/v1/tools", ".....", "....x"},
        {"POST", "/v1/tools/call", ".....", "x...x"},
        {"POST", "/mcp", ".....", "x...x"},
        {"POST", "/v1/apps/install", "..xxx", "x..xx"},
        {"GET", "/v1/apps/mail/logs", "..xxx", "x..xx"},
        {"PUT", "/v1/permissions", "..xxx", "x..xx"},
        {"PUT", "/v1/skills/workspace/a", "..xxx", "x..xx"},
        {"PUT", "/v1/skills/personal/a", ".....", "x..xx"},
        {"POST", "/v1/import", ".????", "x???x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        for (size_t c = 0; c < CALLERS; c++) {
            char want = c < READ_TOKEN ? CASES[i].people[c] : CASES[i].tokens[c - READ_TOKEN];
            char got = verdict(CASES[i].method, CASES[i].path, callers[c]);
            if (got != want)
                fail_msg("%s %s, caller %zu: '%c', expected '%c'", CASES[i].method, CASES[i].path,
                         c, got, want);
        }
}

TEST_WITH(a_token_without_scopes_passes_no_route_that_needs_one, set_up, tear_down)
{
    size_t n;
    const struct route *routes = api_routes(&n);
    for (size_t i = 0; i < n; i++) {
        struct http_req *r = bare_request("GET", "/", "");
        r->route = &routes[i];
        if (api_rule(&routes[i])->scope == 0) {
            bare_end_request();
            continue;
        }
        if (gate_identity(r, callers[BARE_TOKEN]))
            fail_msg("%s %s is open", routes[i].method, routes[i].pattern);
        assert_string_equal(bare_reply(), "403 forbidden");
        assert_non_null(strstr(bare.sent, "WWW-Authenticate: Bearer error=\"insufficient_scope\""));
    }
}

TEST_WITH(a_refusal_says_which_role_is_missing, set_up, tear_down)
{
    static const struct {
        const char *method, *path;
        enum caller who;
        const char *words;
    } CASES[] = {
        {"GET", "/v1/users", MEMBER, "Only administrators of the server may do this."},
        {"GET", "/v1/audit", ADMIN, "Only owners of the server may do this."},
        {"PATCH", "/v1/users/usr_ana", ADMIN, "Only owners of the server may change owners."},
        {"PATCH", "/v1/workspaces/ws_a", MEMBER, "Only admins of the workspace may do this."},
        {"PUT", "/v1/permissions", MEMBER, "Only admins of the workspace may do this."},
        {"GET", "/v1/workspaces/ws_b", MEMBER, "No such workspace."},
        {"GET", "/v1/users/usr_ana", MEMBER, "No such user."},
        {"GET", "/v1/auth/link", OWNER, "No such address."},
        {"POST", "/v1/tokens", TOKEN, "Tokens cannot do this. Log in instead."},
        {"GET", "/v1/preferences", BOUND_TOKEN, "This token is limited to one workspace."},
        {"GET", "/v1/preferences", NARROW_TOKEN, "This token is limited to some tools."},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        assert_false(passes(routed(CASES[i].method, CASES[i].path, callers[CASES[i].who])));
        if (!strstr(bare.body, CASES[i].words))
            fail_msg("%s %s: %s", CASES[i].method, CASES[i].path, bare.body);
        assert_null(strstr(bare.sent, "insufficient_scope")); /* the scope was not the reason */
    }
}

/* ---- a decision that has to hold until the change has its turn ---- */

static void assert_closes(struct http_req *r, struct change c)
{
    assert_true(gate_still_open(&api, r));
    change_people(c);
    assert_false(gate_still_open(&api, r));
    assert_int_equal(bare.status, 0); /* the caller of gate_still_open replies */
}

TEST_WITH(a_gate_closes_when_the_role_on_the_server_is_lost, set_up, tear_down)
{
    struct principal dan = {.user_id = STR("usr_dan"), .scopes = SCOPE_ALL};
    struct actor *who = actor_new(rig->directory, STR_NONE, &dan, (struct json_strs){0});
    assert_closes(routed("POST", "/v1/users", who), (struct change){.kind = CHANGE_USER_SET,
                                                                    .user_id = STR("usr_dan"),
                                                                    .has_role = true,
                                                                    .role = ORG_MEMBER});
    actor_unref(who);
}

TEST_WITH(a_gate_closes_when_the_role_in_the_workspace_is_lost, set_up, tear_down)
{
    struct http_req *r = routed("PUT", "/v1/permissions", callers[MEMBER]);
    assert_false(gate_still_open(&api, r)); /* a member never had the right */
    change_people((struct change){.kind = CHANGE_MEMBER_SET,
                                  .workspace_id = STR(RIG_WORKSPACE),
                                  .user_id = STR("usr_ben"),
                                  .ws_role = WS_ADMIN});
    assert_closes(r, (struct change){.kind = CHANGE_MEMBER_SET,
                                     .workspace_id = STR(RIG_WORKSPACE),
                                     .user_id = STR("usr_ben"),
                                     .ws_role = WS_MEMBER});
}

/* Even where a member would do: what the handler has decided with the role of an admin is void. */
TEST_WITH(a_gate_closes_when_less_is_left_than_the_handler_began_with, set_up, tear_down)
{
    change_people((struct change){.kind = CHANGE_MEMBER_SET,
                                  .workspace_id = STR(RIG_WORKSPACE),
                                  .user_id = STR("usr_ben"),
                                  .ws_role = WS_ADMIN});
    struct http_req *r = routed("GET", "/v1/tools", callers[MEMBER]);
    assert_closes(r, (struct change){.kind = CHANGE_MEMBER_SET,
                                     .workspace_id = STR(RIG_WORKSPACE),
                                     .user_id = STR("usr_ben"),
                                     .ws_role = WS_MEMBER});
}

TEST_WITH(a_gate_closes_when_the_caller_is_removed, set_up, tear_down)
{
    struct http_req *r = routed("PATCH", "/v1/users/me", callers[MEMBER]);
    assert_closes(r, (struct change){.kind = CHANGE_USER_REMOVE, .user_id = STR("usr_ben")});
}
