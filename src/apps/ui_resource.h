/* ui_resource.h - the HTML of interfaces, read from the servers that own them (resources/read).
 *
 * A page is one resource with what its metadata asks for. Pages are kept per workspace until their
 * server says that its resources have changed, or stops, and as long as there is room. Pages are
 * shared by reference count; the kept pages hold references of their own. Loop thread only. */
#pragma once

#include "apps/ui_meta.h"
#include "base/bytes/hash.h"
#include "base/list.h"
#include "bundle/bundle.h"

#define UI_HTML_MAX        (8u * 1024 * 1024)
#define UI_PAGES_BYTES_MAX (32u * 1024 * 1024) /* kept in one workspace, */
#define UI_PAGES_MAX       64 /* and their number: a server may have any number of tiny ones */
#define UI_LIST_PAGES_MAX  20 /* of resources/list, searched for metadata */

struct ui_page {
    struct list_node node; /* in ui_pages.kept */
    unsigned refs;
    struct arena arena;
    str source, user_id, uri, html;
    bool is_plain; /* text/html without the profile: for placements only */
    char sha256[SHA256_HEX_LEN + 1];
    struct ui_meta meta;
};

struct ui_page *ui_page_ref(struct ui_page *p);
struct ui_page *ui_page_unref(struct ui_page *p); /* accepts NULL, returns NULL */

enum ui_problem {
    UI_OK,
    UI_MISSING,     /* the server has no such resource */
    UI_TOO_LARGE,   /* beyond UI_HTML_MAX */
    UI_TYPE,        /* not an interface */
    UI_ENCODING,    /* neither text nor base64, or not UTF-8 */
    UI_UNAVAILABLE, /* the server does not answer */
};
const char *ui_problem_code(enum ui_problem p); /* "resource_missing", ...; not of UI_OK */

/* ---- kept pages ---- */

struct ui_pages {
    struct list_node kept; /* least recently used first */
    size_t bytes, n;
    uint64_t changes; /* a page that was asked for before a change is not kept after it */
};

void ui_pages_init(struct ui_pages *p);
void ui_pages_done(struct ui_pages *p);
void ui_pages_forget(struct ui_pages *p, str source); /* its resources have changed */
/* user_id: whose connection the page came from; empty = the workspace's. Borrowed, or NULL. */
struct ui_page *ui_pages_find(struct ui_pages *p, str source, str user_id, str uri,
                              bool is_placement);

/* ---- reading ---- */

struct ui_read; /* in progress; valid until its callback */

/* page: borrowed for the call, with UI_OK; or NULL with the problem and a sentence about it. */
typedef void (*ui_read_fn)(void *ctx, struct ui_page *page, enum ui_problem why, str message);

/* Reads a page that is not kept. Plain text/html is accepted for placements only; interfaces of
 * tools need the profile. Never calls back before it returns. The bundle outlives the call, unless
 * the reading is cancelled. */
struct ui_read *ui_read_start(struct ui_pages *pages, struct bundle *b, str user_id, str uri,
                              bool is_placement, ui_read_fn fn, void *ctx);
void ui_read_cancel(struct ui_read *r);
