/* permission.h - allow, ask or deny, per tool.
 *
 * Rules are globs over public tool names: deny beats allow, and allow beats ask. A tool without a
 * rule may be called, because installing its bundle was consent. Exceptions, which ask: tools with
 * destructiveHint, tools that no sandbox confines (including bash at a terminal, which works in the
 * files of its user), tools of open interfaces that do not say that they only read (also against a
 * rule under allow), and built-in tools that change the workspace. With permissions.default "ask",
 * every tool without a rule asks, except built-in tools that only read. Pure. */
#pragma once

#include "base/json/json_decode.h"
#include "tools/toolset.h"

#define PERMISSION_GLOBS_MAX 1000 /* per list */
#define PERMISSION_GLOB_MAX  128

enum permission { PERMISSION_ALLOW, PERMISSION_ASK, PERMISSION_DENY };

struct permission_rules {
    struct json_strs allow, ask, deny;
    bool is_default_ask;
};

/* {"default": "allow"|"ask", "allow": [...], "ask": [...], "deny": [...]}; conf may be NULL. */
int permission_decode(struct arena *a, const struct json *conf, struct permission_rules *ret,
                      struct err *e);

/* For rules that a person enters: -EINVAL when a glob can never match a tool, or when there are too
 * many. */
int permission_check(const struct permission_rules *r, struct err *e);

const char *permission_name(enum permission p); /* allow, ask, deny */

/* A rule of the settings matches this tool under `ask`, and no rule under allow or deny. */
bool permission_is_explicit_ask(const struct permission_rules *r, const struct toolset_item *it);

enum permission permission_decide(const struct permission_rules *r, const struct toolset_item *it);
