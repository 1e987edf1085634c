/* permission.h - allow, ask or deny, per tool.
 *
 * Rules are globs over public tool names: deny beats allow beats ask. Without a rule,
 * installing a bundle was consent to its tools, so they may be called - except those that
 * say they destroy something, those that no sandbox confines (and bash at a terminal, which
 * works in people's own files), and the built-in ones that change the workspace: those ask.
 * permissions.default "ask" turns it round: everything asks but built-in tools that only read.
 * Pure. */
#pragma once

#include "base/json/json_decode.h"
#include "tools/toolset.h"

#define PERMISSION_GLOBS_MAX 1000 /* per list, of rules that are entered */
#define PERMISSION_GLOB_MAX  128

enum permission { PERMISSION_ALLOW, PERMISSION_ASK, PERMISSION_DENY };

struct permission_rules {
    struct json_strs allow, ask, deny;
    bool is_default_ask;
};

/* {"default": "allow"|"ask", "allow": [...], "ask": [...], "deny": [...]}; conf may be NULL. */
int permission_decode(struct arena *a, const struct json *conf, struct permission_rules *ret,
                      struct err *e);

/* For rules that somebody enters: -EINVAL when a glob could never match a tool, or they are too
 * many. */
int permission_check(const struct permission_rules *r, struct err *e);

const char *permission_name(enum permission p); /* allow, ask, deny */

/* A rule of the settings names this tool under `ask`, and none under allow or deny. */
bool permission_is_explicit_ask(const struct permission_rules *r, const struct toolset_item *it);

enum permission permission_decide(const struct permission_rules *r, const struct toolset_item *it);
