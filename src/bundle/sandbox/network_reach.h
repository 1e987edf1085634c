/* network_reach.h - what a server may reach, from its entry and from the machine's settings.
 *
 * npx, uvx and their like download what they run: the registry that the person who runs nb has set
 * up (npm's and uv's variables and files) is reachable for them, wherever it is. A package's own
 * variables add nothing. */
#pragma once

#include "base/buf.h"
#include "bundle/sandbox/sandbox.h"

/* Sets w->reach, and in w->env the registry, for a server with network. -ENOSYS: it cannot have a
 * network of its own here. Reads files: for a pool thread. */
int network_prepare(struct arena *a, struct sandbox_want *w, struct err *e);

/* What an entry allows, in words: "no", "yes: public addresses only", "yes: only a:1, b:2". */
str network_words(struct arena *a, const struct bundle_sandbox *s);

/* "no network", "network of its own: public addresses, db.example.com:5432". */
void network_describe(struct buf *out, const struct json_strs *reach);
