#include "cli/session/members.h"

struct json *members_ask(struct client *c, const char *workspace, struct arena *a)
{
    struct client_ask who = {.path = STR("/v1/bootstrap")}, q = {0};
    struct json *me, *members = json_new(a, JSON_OBJECT);
    if (client_ask(c, &who, a, &me, NULL) < 0)
        return members;
    str ws = workspace ? str_from(workspace) : json_get_string(me, "activeWorkspace");
    q.path = arena_printf(a, "/v1/workspaces/%.*s/members", STR_ARG(client_encode(a, ws)));
    return client_ask(c, &q, a, &members, NULL) < 0 ? json_new(a, JSON_OBJECT) : members;
}

str members_name(const struct json *members, str user_id)
{
    const struct json *list = json_get(members, "members");
    for (size_t i = 0; json_is(list, JSON_ARRAY) && i < list->len; i++) {
        const struct json *m = json_at(list, i);
        str name = json_get_string(m, "displayName"), email = json_get_string(m, "email");
        if (str_eq(json_get_string(m, "userId"), user_id))
            return name.n > 0 ? name : email.n > 0 ? email : user_id;
    }
    return user_id;
}
