#include "auth/rule.h"

#include "workspace/actor.h"

static const char *scope_is_missing(enum auth_scope scope)
{
    switch (scope) {
    case SCOPE_READ:
        return "This token does not have the scope read. Use a token with it.";
    case SCOPE_WRITE:
        return "This token does not have the scope write. Use a token with it.";
    case SCOPE_MCP:
        return "This token does not have the scope mcp. Use a token with it.";
    case SCOPE_ADMIN:
        return "This token does not have the scope admin. Use a token with it.";
    case SCOPE_ALL:
        break;
    }
    return "This token does not have the required scope.";
}

const char *rule_refuses_token(const struct access_rule *rule, const struct actor *who)
{
    if (!actor_has_scope(who, (enum auth_scope)rule->scope))
        return scope_is_missing((enum auth_scope)rule->scope);
    if (rule->tokens == RULE_TOKENS_NONE && who->people[0].how == AUTH_BY_TOKEN)
        return "Tokens cannot do this. Log in instead.";
    if (rule->tokens >= RULE_TOKENS_WIDE && actor_is_narrowed(who))
        return "This token is limited to some tools. Use a token without a tool limit.";
    if (rule->tokens >= RULE_TOKENS_WHOLE && actor_bound_workspace(who).n > 0)
        return "This token is limited to one workspace. Use a token that is not bound to a "
               "workspace.";
    return NULL;
}

str rule_tokens_name(enum rule_tokens tokens)
{
    static const char *const NAMES[] = {[RULE_TOKENS_ANY] = "any",
                                        [RULE_TOKENS_WIDE] = "wide",
                                        [RULE_TOKENS_WHOLE] = "whole",
                                        [RULE_TOKENS_NONE] = "none"};
    return str_from(NAMES[tokens]);
}

str rule_conv_name(enum rule_conv conv)
{
    static const char *const NAMES[] = {
        [RULE_CONV_NONE] = "",         [RULE_CONV_VIEW] = "view",   [RULE_CONV_SEND] = "send",
        [RULE_CONV_MANAGE] = "manage", [RULE_CONV_SHARE] = "share", [RULE_CONV_LEAVE] = "leave"};
    return str_from(NAMES[conv]);
}
