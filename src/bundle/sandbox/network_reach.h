/* network_reach.h - the destinations of a server, from its entry and from the machine's settings.
 *
 * npx, uvx and similar programs download what they run: they can reach the registry that the person
 * who runs nb has configured (npm's and uv's variables and files), wherever it is. A package's own
 * variables add nothing. */
#pragma once

#include "base/buf.h"
#include "bundle/sandbox/sandbox.h"

/* Sets w->reach, and the registry in w->env, for a server with network. -ENOSYS: this machine
 * cannot create a network namespace. Reads files: for a pool thread. */
int network_prepare(struct arena *a, struct sandbox_want *w, struct err *e);

/* The permission of an entry as text: "no", "yes: public addresses only", "yes: only a:1, b:2". */
str network_words(struct arena *a, const struct bundle_sandbox *s);

/* "no network", "network of its own: public addresses, db.example.com:5432". */
void network_describe(struct buf *out, const struct json_strs *reach);
