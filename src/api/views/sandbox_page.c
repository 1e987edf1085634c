#include "api/views/sandbox_page.h"

#include "api/handlers.h"

#define DOCUMENT_MAX (16u * 1024)

/* Only messages of the page (by window and origin) and of the frame (by window) are passed on, and
 * none that begins with ui/notifications/sandbox-: these are between the page and this document.
 *
 * A script in front of the interface reports what the policy blocks, so that the page can say it.
 * The token keeps the interface itself from reporting. It also takes WebRTC away, so that
 * interfaces do without: the header that forbids it is not known to all browsers, and Chromium 156
 * ends interfaces that try. */
static const char BEFORE[] =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Interface</title>\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<style>html,body{margin:0;height:100%;overflow:hidden;background:transparent}"
    "iframe{display:block;border:0;width:100%;height:100%;background:transparent}</style></head>"
    "<body><script>\n\"use strict\";\n(() => {\n  const HOST = ";
static const char BETWEEN[] = ", ALLOW = ";
static const char AFTER[] =
    ";\n"
    "  const RESERVED = \"ui/notifications/sandbox-\", REPORTS_MAX = 50, URI_MAX = 300;\n"
    "  const token = [...crypto.getRandomValues(new Uint8Array(16))].join(\"-\");\n"
    "  let inner = null, reports = 0;\n"
    "  const isMessage = (m) => typeof m === \"object\" && m !== null && !Array.isArray(m);\n"
    "  const isReserved = (m) => typeof m.method === \"string\" && "
    "m.method.startsWith(RESERVED);\n"
    "  const tell = (method, params) =>\n"
    "    parent.postMessage({jsonrpc: \"2.0\", method: RESERVED + method, params}, HOST);\n"
    "  const report = ({effectiveDirective: directive, blockedURI: blockedUri}) => {\n"
    "    if (reports++ < REPORTS_MAX)\n"
    "      tell(\"violation\", {directive: String(directive).slice(0, URI_MAX), "
    "blockedUri: String(blockedUri).slice(0, URI_MAX)});\n"
    "  };\n"
    "  const reporter = `<script>{const p=parent;document.currentScript.remove();"
    "for(const n of[\"RTCPeerConnection\",\"webkitRTCPeerConnection\"])delete self[n];"
    "addEventListener(\"securitypolicyviolation\",({effectiveDirective,blockedURI})=>"
    "p.postMessage({token:\"${token}\",effectiveDirective,blockedURI},\"*\"))}<\\/script>`;\n"
    "  const endOfDoctype = (html) => {\n"
    "    let i = 0;\n"
    "    for (let end; ; i = end + 3) {\n"
    "      while (/\\s/.test(html.charAt(i))) i++;\n"
    "      if (!html.startsWith(\"<!--\", i)) break;\n"
    "      if ((end = html.indexOf(\"-->\", i + 4)) < 0) return 0;\n"
    "    }\n"
    "    if (!/^<!doctype/i.test(html.slice(i, i + 9))) return 0;\n"
    "    return html.indexOf(\">\", i) + 1;\n"
    "  };\n"
    "  const withReporter = (html) => {\n"
    "    const at = endOfDoctype(html); // before it, a script would change how the page is laid "
    "out\n"
    "    return html.slice(0, at) + reporter + html.slice(at);\n"
    "  };\n"
    "  const load = (params) => {\n"
    "    if (inner || !isMessage(params) || typeof params.html !== \"string\") return;\n"
    "    inner = document.createElement(\"iframe\");\n"
    "    inner.setAttribute(\"sandbox\", \"allow-scripts allow-forms\");\n"
    "    if (ALLOW) inner.setAttribute(\"allow\", ALLOW);\n"
    "    inner.srcdoc = withReporter(params.html);\n"
    "    document.body.append(inner);\n"
    "  };\n"
    "  addEventListener(\"securitypolicyviolation\", report);\n"
    "  addEventListener(\"message\", (ev) => {\n"
    "    const m = ev.data;\n"
    "    if (!isMessage(m)) return;\n"
    "    if (ev.source === parent) {\n"
    "      if (ev.origin !== HOST) return;\n"
    "      if (m.method === RESERVED + \"resource-ready\") load(m.params);\n"
    "      else if (inner && !isReserved(m)) inner.contentWindow.postMessage(m, \"*\");\n"
    "    } else if (inner && ev.source === inner.contentWindow) {\n"
    "      if (m.token === token) report(m);\n"
    "      else if (!isReserved(m)) parent.postMessage(m, HOST);\n"
    "    }\n"
    "  });\n"
    "  tell(\"proxy-ready\", {});\n"
    "})();\n</script></body></html>\n";

/* A string literal in a script inside HTML: "</script" must not appear. */
static void add_literal(struct buf *out, str s)
{
    size_t from = out->n;
    json_write_string(out, s);
    for (size_t i = from; i < out->n; i++)
        if (out->p[i] == '<' || out->p[i] == '>' || out->p[i] == '&')
            out->p[i] = '_'; /* neither an origin nor a policy has them */
}

static void add_headers(struct http_req *r, const struct app_view *v)
{
    http_add_header(r, "Content-Security-Policy",
                    ui_csp_header(&r->arena, &v->csp, v->host_origin, v->is_apart));
    http_add_header(r, "Connection-Allowlist", ui_csp_allowlist(&r->arena, &v->csp, v->is_apart));
    http_add_header(r, "X-DNS-Prefetch-Control", STR("off"));
    http_add_header(r, "X-Frame-Options", STR_NONE); /* frame-ancestors takes its place */
    http_add_header(r, "Referrer-Policy", STR("no-referrer"));
    http_add_header(r, "Origin-Agent-Cluster", STR("?1"));
}

static void serve_sandbox(struct api *api, struct http_req *r, str id, bool is_apart)
{
    struct app_view *v = views_find(api, id);
    struct buf out;
    if (!v || !v->is_open || v->is_apart != is_apart) {
        http_reply_error(r, 404, "view_not_found", "No such view; it may have ended.", NULL);
        return;
    }
    buf_init(&out, DOCUMENT_MAX);
    buf_add_lit(&out, BEFORE);
    add_literal(&out, v->host_origin);
    buf_add_lit(&out, BETWEEN);
    add_literal(&out, str_from(ui_permission_policy(v->permissions)));
    buf_add_lit(&out, AFTER);
    add_headers(r, v);
    http_reply(r, 200, "text/html; charset=utf-8", buf_str(&out));
    buf_done(&out);
}

void api_sandbox_get(void *ctx, struct http_req *r)
{
    serve_sandbox(ctx, r, r->params[0], false);
}

/* ---- the listener of its own ---- */

static const struct route ROUTES[] = {{"GET", "/sandbox/:view", NULL, 0, 0, NULL}};

static bool on_sandbox_head(void *ctx, struct http_req *r)
{
    struct buf allow;
    buf_init(&allow, 64);
    bool is_found = route_find(ROUTES, ARRAY_LEN(ROUTES), r, &allow) == ROUTE_FOUND;
    buf_done(&allow);
    r->body_max = 0;
    if (!is_found)
        http_reply_error(r, 404, "not_found", "This address serves interfaces of tools only.",
                         NULL);
    return is_found;
}

static void on_sandbox_request(void *ctx, struct http_req *r)
{
    serve_sandbox(ctx, r, r->params[0], true);
}

struct http_handlers sandbox_handlers(struct api *api)
{
    return (struct http_handlers){
        .on_head = on_sandbox_head, .on_request = on_sandbox_request, .ctx = api};
}
