/* ui_meta.h - what servers say about the interfaces of their tools (MCP Apps).
 *
 * A tool names the resource of its interface, and says who may call it, in `_meta.ui`. Everything
 * here is third-party text: what is not understood counts as absent. Pure; results borrow from the
 * arguments. */
#pragma once

#include "base/json/json.h"

#define UI_URI_MAX 2048

/* `_meta` of a tool; may be NULL. _meta.ui.resourceUri, else the older _meta["ui/resourceUri"];
 * empty when it is not a ui:// address. */
str ui_tool_resource(const struct json *tool_meta);

#define UI_FOR_MODELS STR("model")
#define UI_FOR_APPS   STR("app")

/* _meta.ui.visibility has this word; a tool without a visibility is for both. */
bool ui_tool_is_for(const struct json *tool_meta, str whom);
