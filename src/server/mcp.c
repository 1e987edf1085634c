#include "server/mcp.h"

struct gateway_caller mcp_caller(const struct api_caller *who)
{
    return (struct gateway_caller){
        .tools = who->space->tools,
        .bundles = who->space->bundles,
        .runtime = who->space->runtime,
        .workspace_id = who->space->id,
        .actor = who->actor,
        .permissions = runtime_permissions(who->space->runtime),
    };
}

static void handle(void *ctx, struct http_req *r, const struct api_caller *who, str source)
{
    struct gateway_caller c = mcp_caller(who);
    gateway_handle(ctx, r, &c, source);
}

static void sse_open_old(void *ctx, struct http_req *r, const struct api_caller *who)
{
    struct gateway_caller c = mcp_caller(who);
    gateway_sse_open(ctx, r, &c);
}

static void sse_post_old(void *ctx, struct http_req *r, const struct api_caller *who)
{
    struct gateway_caller c = mcp_caller(who);
    gateway_sse_post(ctx, r, &c);
}

static void metrics(void *ctx, struct buf *out)
{
    gateway_write_metrics(ctx, out);
}

static void drop_user(void *ctx, str workspace_id, str user_id)
{
    gateway_drop_user(ctx, workspace_id, user_id);
}

static void drop_login(void *ctx, str session_id, str token_id)
{
    gateway_drop_login(ctx, session_id, token_id);
}

struct api_mcp mcp_endpoint(struct gateway *g)
{
    return (struct api_mcp){handle, sse_open_old, sse_post_old, metrics, drop_user, drop_login, g};
}
