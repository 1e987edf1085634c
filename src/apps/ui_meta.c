#include "apps/ui_meta.h"

bool ui_is_address(str uri)
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
    return ui_is_address(address) ? address : STR_NONE;
}

bool ui_tool_is_for(const struct json *tool_meta, str whom)
{
    const struct json *to = json_get(json_get(tool_meta, "ui"), "visibility");
    bool is_found = !json_is(to, JSON_ARRAY);
    for (size_t i = 0; !is_found && i < to->len; i++)
        is_found = str_eq(json_string(json_at(to, i), STR_NONE), whom);
    return is_found;
}

/* ---- resources ---- */

static const struct {
    unsigned flag;
    const char *name, *policy;
} PERMISSIONS[] = {
    {UI_CAMERA, "camera", "camera"},
    {UI_MICROPHONE, "microphone", "microphone"},
    {UI_GEOLOCATION, "geolocation", "geolocation"},
    {UI_CLIPBOARD_WRITE, "clipboardWrite", "clipboard-write"},
};

const struct json *ui_meta_of_entry(const struct json *entry)
{
    const struct json *ui = json_get(json_get(entry, "_meta"), "ui");
    if (!json_is(ui, JSON_OBJECT))
        ui = json_get(json_get(entry, "meta"), "ui");
    return json_is(ui, JSON_OBJECT) ? ui : NULL;
}

const struct json *ui_meta_find(const struct json *item, const struct json *result)
{
    const struct json *ui = ui_meta_of_entry(item);
    return ui ? ui : ui_meta_of_entry(result);
}

struct ui_meta ui_meta_read(struct arena *a, const struct json *ui)
{
    const struct json *asked = json_get(ui, "permissions"), *border = json_get(ui, "prefersBorder");
    struct ui_meta ret = {.csp = ui_csp_read(a, json_get(ui, "csp"))};
    for (size_t i = 0; i < ARRAY_LEN(PERMISSIONS); i++)
        if (json_is(json_get(asked, PERMISSIONS[i].name), JSON_OBJECT))
            ret.permissions |= PERMISSIONS[i].flag & UI_GRANTED;
    if (json_is(border, JSON_BOOL))
        ret.border = border->boolean ? UI_BORDER_SHOWN : UI_BORDER_NONE;
    return ret;
}

const char *ui_permission_policy(unsigned permissions)
{
    for (size_t i = 0; i < ARRAY_LEN(PERMISSIONS); i++)
        if (permissions & UI_GRANTED & PERMISSIONS[i].flag)
            return PERMISSIONS[i].policy; /* only one of them is ever granted */
    return "";
}

void ui_write_permissions(struct json_writer *w, const char *key, unsigned permissions)
{
    jw_kobject(w, key);
    for (size_t i = 0; i < ARRAY_LEN(PERMISSIONS); i++)
        if (permissions & PERMISSIONS[i].flag) {
            jw_kobject(w, PERMISSIONS[i].name);
            jw_end(w);
        }
    jw_end(w);
}
