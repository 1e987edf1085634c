/* ui_placement.h - interfaces that an app has without a tool call: in the sidebar, as a page of its
 * own, in the settings.
 *
 * The manifest of a bundle lists them (_meta["ai.nimblebrain/host"]). All of it is third-party
 * text: what is not understood, or could lead out of the app's own addresses, is left out. Pure. */
#pragma once

#include "base/json/json.h"

#define UI_PLACEMENTS_MAX 16 /* of one app */
#define UI_LABEL_MAX      64
#define UI_ROUTE_MAX      100

struct ui_placement {
    str slot; /* sidebar, sidebar.<group>, main, settings */
    str uri;  /* ui://authority/path; one authority for all placements of an app */
    str label;
    str icon;  /* name of a Lucide icon; may be empty */
    str route; /* may be empty */
    str size;  /* compact, full, auto */
    int64_t priority;
};

/* `ui` may be NULL. The label of an app that gives none is `name`. Strings are in the arena, or
 * borrowed from the arguments. */
size_t ui_placements_read(struct arena *a, const struct json *ui, str name,
                          const struct ui_placement **ret);
