/* ui_csp.h - the Content-Security-Policy of the interface of a tool (MCP Apps).
 *
 * A resource declares the hosts that its page needs. Each entry must be one host source, written so
 * that it cannot end its directive or begin another; the rest is dropped and reported. The
 * policy denies everything that was not declared. It is a response header of the document around
 * the interface (api/views/sandbox_page.c), which the interface cannot change. Pure. */
#pragma once

#include "base/json/json_decode.h"

#define UI_CSP_SOURCES_MAX 32   /* entries of one list, */
#define UI_CSP_BYTES_MAX   1024 /* and their length together: some lists appear in six directives */
#define UI_CSP_SHOWN_MAX   200  /* bytes of a dropped entry that are reported */

struct ui_csp {
    bool is_declared; /* without a declaration nothing may be contacted */
    struct json_strs connect, resource, frame, base_uri;
    struct json_strs dropped; /* entries that were refused */
};

/* https://host, with wildcard, port and path; also http, ws and wss. */
bool ui_csp_is_source(str s);

/* `csp`: _meta.ui.csp of a resource, or NULL. Copied into the arena. */
struct ui_csp ui_csp_read(struct arena *a, const struct json *csp);

struct ui_csp ui_csp_copy(struct arena *a, const struct ui_csp *csp);

/* host_origin: of the page that may show the document. is_apart: the document has an origin of its
 * own; otherwise the policy puts it into a sandbox, which gives it an opaque one. */
str ui_csp_header(struct arena *a, const struct ui_csp *csp, str host_origin, bool is_apart);

/* The value of Connection-Allowlist, which says it once more for what no policy governs:
 * connections that are made in advance, name lookups, and WebRTC, which is always refused. Browsers
 * that do not know the header ignore it. */
str ui_csp_allowlist(struct arena *a, const struct ui_csp *csp, bool is_apart);
