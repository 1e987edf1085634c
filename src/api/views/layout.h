/* layout.h - where the document around an interface comes from.
 *
 * It should have an origin of its own: a second listener, or a name of its own (http.appsOrigin).
 * When the browser can reach only the origin of the page, the document comes from there, in a
 * sandbox that gives it an opaque origin. Pure. */
#pragma once

#include "base/arena.h"

struct layout_facts {
    str apps_origin;       /* http.appsOrigin, or empty */
    str base_path;         /* http.basePath */
    str host;              /* the request's Host */
    str page_origin;       /* of the page that asks */
    uint16_t port;         /* that the server listens on */
    uint16_t apps_port;    /* of the second listener; 0 = none */
    bool is_proxied;       /* a proxy has forwarded the request */
    bool is_tls;           /* this server itself speaks https */
    bool is_single_wanted; /* the page could not reach the other origin */
};

struct view_layout {
    bool is_apart;
    str origin;      /* of the document; empty unless it is apart */
    str page_origin; /* as in the facts */
    str base;        /* the document of a view is at <base>/sandbox/<id> */
};

/* Strings are in the arena or borrowed from the facts. */
struct view_layout layout_choose(struct arena *a, const struct layout_facts *f);
