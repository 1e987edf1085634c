/* path_links.h - symbolic links on a path: who controls them, and where they lead.
 *
 * A server controls the links in directories that it may write: their targets were chosen by the
 * server, not by the person who wrote its entry. Reads the file system: for a pool thread. */
#pragma once

#include "bundle/confine/path_list.h"

/* The path without links; unchanged when it does not exist. */
str path_real(struct arena *a, str path);

/* True when a link on the absolute `path`, or at its end, lies in one of `dirs`. Also true when
 * that cannot be found out: too many links, or too long. */
bool path_meets_link_in(struct arena *a, str path, const struct path_list *dirs);

/* True when a link on `path` lies inside `dir`, which is an ancestor of `path`. */
bool path_leaves_by_link(struct arena *a, str path, str dir);
