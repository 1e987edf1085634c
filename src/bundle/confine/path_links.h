/* path_links.h - symbolic links on the way to a path: whose they are, and where they lead.
 *
 * A link in a directory that a server may write is the server's: what it leads to was chosen by
 * the server, not by the person who wrote its entry. Touches files: for a pool thread. */
#pragma once

#include "bundle/confine/path_list.h"

/* Where it really is; as it is when it is not there. */
str path_real(struct arena *a, str path);

/* Whether a link on the way to the absolute `path`, or at its end, lies in one of `dirs`. Also
 * when that cannot be known: too many links, or too long. */
bool path_meets_link_in(struct arena *a, str path, const struct path_list *dirs);

/* Whether a link on the way lies inside `dir`, which `path` is below. */
bool path_leaves_by_link(struct arena *a, str path, str dir);
