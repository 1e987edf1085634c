/* routes.h - every address of the API and what it asks of those who use it: one table. */
#pragma once

#include "auth/identity.h"
#include "auth/rule.h"
#include "http/router.h"

#define API_BODY_MAX (64u * 1024) /* where the table does not say otherwise */

/* Route flags: what the request is about, and how often it may come. */
enum {
    API_OPEN = 1,       /* no authentication */
    API_NO_SPACE = 2,   /* about people or the process, not about one workspace */
    API_HOME = 4,       /* the same; a person without a workspace gets one first, where
                           people.ownWorkspace says so */
    API_WS = 8,         /* params[0] is the workspace it is about; admins of the server count as
                           its admins */
    API_USER = 16,      /* params[0] is a person, or "me" */
    API_CONV = 32,      /* params[0] is a conversation, which may tell the workspace */
    API_BODY_CONV = 64, /* the body's conversationId may tell it */
    API_CHAT = 128,     /* limited per minute: chat, */
    API_CALLS = 256,    /* calls of tools, */
    API_MCP = 512,      /* the MCP endpoint, which has a scope of its own */
    API_LONG = 1024,    /* waits for something outside: a model, a bundle, a server, news */
};

const struct route *api_routes(size_t *ret_n);
static inline const struct access_rule *api_rule(const struct route *route)
{
    return route->rule;
}

/* What a row is about: server, account, user, workspace, space (the workspace of the request),
 * conversation, message (the conversation of the body). */
const char *api_route_target(const struct route *route);
