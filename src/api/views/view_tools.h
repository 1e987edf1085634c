/* view_tools.h - tools that an interface offers to the agent of its conversation.
 *
 * The interface lives in the page, so that the page says what it offers and carries the calls. The
 * tools are a private source of the registry: runs in this conversation that act for the person who
 * has the view open, and for nobody else, have them while the view lives. Names, descriptions and
 * results are third-party text. */
#pragma once

#include "api/views/views.h"

#define VIEW_TOOLS_MAX       50 /* further ones are left out */
#define VIEW_TOOL_TEXT_MAX   2000
#define VIEW_TOOL_SCHEMA_MAX (16u * 1024)
#define VIEW_TOOL_TIMEOUT_MS 30000
#define VIEW_TOOL_NAME_MAX   64

void view_tools_end(struct app_view *v); /* calls in progress fail */
