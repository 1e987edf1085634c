#include "apps/ui_meta.h"

/* A control character or a space could leave the header or the line that the address is put into.
 */
static bool is_ui_address(str uri)
{
    if (!str_starts(uri, STR("ui://")) || uri.n == strlen("ui://") || uri.n > UI_URI_MAX)
        return false;
    for (size_t i = 0; i < uri.n; i++)
        if ((unsigned char)uri.p[i] <= ' ' || uri.p[i] == 0x7f)
            return false;
    return true;
}

str ui_tool_resource(const struct json *tool_meta)
{
    const struct json *uri = json_get(json_get(tool_meta, "ui"), "resourceUri");
    if (!uri)
        uri = json_get(tool_meta, "ui/resourceUri");
    str address = json_string(uri, STR_NONE);
    return is_ui_address(address) ? address : STR_NONE;
}

bool ui_tool_is_for(const struct json *tool_meta, str whom)
{
    const struct json *to = json_get(json_get(tool_meta, "ui"), "visibility");
    bool is_found = !json_is(to, JSON_ARRAY);
    for (size_t i = 0; !is_found && i < to->len; i++)
        is_found = str_eq(json_string(json_at(to, i), STR_NONE), whom);
    return is_found;
}
