/* routes.h - the table of all routes of the API and the rights that they require. */
#pragma once

#include "auth/identity.h"
#include "auth/rule.h"
#include "http/router.h"

#define API_BODY_MAX (64u * 1024) /* for routes without a value of their own */

/* Route flags: the subject of the request, and its rate limit. */
enum {
    API_OPEN = 1,     /* no authentication */
    API_NO_SPACE = 2, /* about people or the process, not about a workspace */
    /* the same; with people.ownWorkspace, a person without a workspace gets one first */
    API_HOME = 4,
    API_WS = 8,         /* params[0] is the workspace; admins of the server count as its admins */
    API_USER = 16,      /* params[0] is a person, or "me" */
    API_CONV = 32,      /* params[0] is a conversation, which may determine the workspace */
    API_BODY_CONV = 64, /* the body's conversationId may determine the workspace */
    API_CHAT = 128,     /* limited per minute: chat, */
    API_CALLS = 256,    /* calls of tools, */
    API_MCP = 512,      /* the MCP endpoint, which has a scope of its own */
    API_UPLOAD = 2048,  /* its handler is called before the body is read (http_receive) */
    API_OPENAI = 4096,  /* errors in the form of these clients (api/compat) */
    API_ANTHROPIC = 8192,
    API_ASKS = 16384, /* open, but the answer depends on who asks: waits until that is checked */
    API_LONG = 1024,  /* waits for something outside: a model, a bundle, a server, new events */
};

const struct route *api_routes(size_t *ret_n);
static inline const struct access_rule *api_rule(const struct route *route)
{
    return route->rule;
}

/* The subject of a row: server, account, user, workspace, space (the workspace of the request),
 * conversation, message (the conversation of the body). */
const char *api_route_target(const struct route *route);
