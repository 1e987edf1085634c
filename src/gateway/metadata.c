/* metadata.c - what a client that is told "401" may ask: who gives out tokens (RFC 9728). */
#include "gateway/internal.h"

void gateway_reply_metadata(struct http_req *r, str base_url, const char *issuer)
{
    struct buf b;
    struct json_writer w;
    if (!issuer) {
        http_reply_error(r, 404, "not_found", "This server gives out its own API tokens.", NULL);
        return;
    }
    buf_init(&b, 16u * 1024);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "resource", arena_concat(&r->arena, base_url, STR("/mcp")));
    jw_key(&w, "authorization_servers");
    jw_array(&w);
    jw_cstr(&w, issuer);
    jw_end(&w);
    jw_key(&w, "bearer_methods_supported");
    jw_array(&w);
    jw_cstr(&w, "header");
    jw_end(&w);
    jw_end(&w);
    http_reply(r, 200, "application/json", buf_str(&b));
    buf_done(&b);
}
