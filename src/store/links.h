/* links.h - addresses at which people without an account read a conversation.
 *
 * All links of a store are one document, which its backends keep beside those of people
 * (store_ops.person_read), so that servers with one database know the same links. It has the
 * SHA-256 of each secret, never the secret. A link shows the log up to where it was when the link
 * was made: what is written later stays among those who take part. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json_decode.h"

#define LINKS_MAX      1000u /* of a workspace; expired ones make room */
#define LINKS_CONV_MAX 20u
#define LINKS_TEXT_MAX (4u * 1024 * 1024) /* the document, as JSON */
#define LINK_TITLE_MAX 300u

struct share_link {
    str id;          /* "link_..." */
    str hash;        /* SHA-256 of the secret, hex */
    str conv_id, by; /* by: the owner who made it */
    int64_t made_ms, expires_ms;
    uint64_t until; /* position in the log */
    str title;      /* that the conversation had there; empty: none, or not known */
    bool has_tools; /* inputs and results of tools are shown, not only their names */
};

struct share_links {
    struct share_link *items;
    size_t n, cap;
};

/* One change, at a time. Expired links are dropped with it. */
struct link_change {
    const struct share_link *add;
    str remove;              /* id; without `add` */
    str conv_id;             /* remove: only a link of this conversation; empty = of any */
    struct json_strs purged; /* without both: ids of conversations of which nothing is left */
    int64_t now_ms;
};

int links_parse(struct arena *a, str text, struct share_links *ret, struct err *e);
str links_write(struct arena *a, const struct share_links *l);
/* -E2BIG: there are too many. -ENOENT: there is no link with that id. */
int links_apply(struct arena *a, struct share_links *l, const struct link_change *c, struct err *e);
