/* rule.h - what a route, a tool or a method of MCP requires of the users and tokens that call it.
 *
 * The tables of routes (api/routes.c), of built-in tools (builtin/) and of MCP methods
 * (gateway/methods/method.c) hold one rule per row. They are enforced before the row's code runs,
 * and `nb access` prints them: this is the only list. */
#pragma once

#include "workspace/roster/access.h"
#include "workspace/roster/roster.h"

struct actor;

/* Which API tokens may use a row, besides having its scope. Sessions and keys are not tokens. */
enum rule_tokens {
    RULE_TOKENS_ANY,   /* every one; its tool globs hold for the tools behind the row */
    RULE_TOKENS_WIDE,  /* those without tool globs; they may be bound to the workspace */
    RULE_TOKENS_WHOLE, /* those without tool globs and without a workspace: about the account,
                          the server or several workspaces */
    RULE_TOKENS_NONE,  /* no token at all: a person who has logged in */
};

enum rule_conv { /* the right in the conversation that the request names */
                 RULE_CONV_NONE,
                 RULE_CONV_VIEW = CONV_VIEW + 1,
                 RULE_CONV_SEND = CONV_SEND + 1,
                 RULE_CONV_MANAGE = CONV_MANAGE + 1,
                 RULE_CONV_SHARE = CONV_SHARE + 1,
                 RULE_CONV_LEAVE = CONV_LEAVE + 1,
};

struct access_rule {
    unsigned scope;       /* one of enum auth_scope; 0 = open to everybody, without credentials */
    enum org_role server; /* at least this role on the server */
    enum ws_role space;   /* at least this role in the workspace; WS_NONE = not about one */
    enum rule_conv conv;
    enum rule_tokens tokens;
    bool is_own;   /* the person whom the path names needs none of these roles */
    bool is_local; /* only over nb.sock; elsewhere it does not exist */
};

/* Checks the actor's scopes and token, not its roles. NULL: they suffice; otherwise the reason, for
 * a 403. */
const char *rule_refuses_token(const struct access_rule *rule, const struct actor *who);

str rule_tokens_name(enum rule_tokens tokens); /* any, wide, whole, none */
str rule_conv_name(enum rule_conv conv);       /* "", view, send, manage, share, leave */
