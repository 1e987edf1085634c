/* ui_meta.h - what servers say about the interfaces of their tools (MCP Apps).
 *
 * A tool names the resource of its interface, and says who may call it, in `_meta.ui`. Everything
 * here is third-party text: what is not understood counts as absent. Pure; results borrow from the
 * arguments. */
#pragma once

#include "apps/ui_csp.h"

#define UI_URI_MAX 2048

/* ui:// and more, without characters that could leave the header or the line it is put into. */
bool ui_is_address(str uri);

/* `_meta` of a tool; may be NULL. _meta.ui.resourceUri, else the older _meta["ui/resourceUri"];
 * empty when it is not a ui:// address. */
str ui_tool_resource(const struct json *tool_meta);

#define UI_FOR_MODELS STR("model")
#define UI_FOR_APPS   STR("app")

/* _meta.ui.visibility has this word; a tool without a visibility is for both. */
bool ui_tool_is_for(const struct json *tool_meta, str whom);

/* ---- a resource: `_meta.ui` ---- */

enum ui_border { UI_BORDER_ANY, UI_BORDER_NONE, UI_BORDER_SHOWN }; /* prefersBorder */

enum { /* features of the browser that a page asks for */
       UI_CAMERA = 1,
       UI_MICROPHONE = 2,
       UI_GEOLOCATION = 4,
       UI_CLIPBOARD_WRITE = 8,
};
#define UI_GRANTED                                                                                 \
    UI_CLIPBOARD_WRITE /* the others would show a prompt in the name of this server */

struct ui_meta {
    struct ui_csp csp;
    unsigned permissions; /* asked for and granted */
    enum ui_border border;
};

/* The object with the members of _meta.ui, where servers put it: in the content item, there as
 * `meta` (Python), or in the result. NULL: none of these; an entry of resources/list may have it.
 */
const struct json *ui_meta_find(const struct json *item, const struct json *result);
const struct json *ui_meta_of_entry(const struct json *entry); /* of resources/list */

/* `ui` may be NULL. Copied into the arena. */
struct ui_meta ui_meta_read(struct arena *a, const struct json *ui);

/* For the allow attribute of a frame and, as {"clipboardWrite":{}}, for the page. */
const char *ui_permission_policy(unsigned permissions);
void ui_write_permissions(struct json_writer *w, const char *key, unsigned permissions);
