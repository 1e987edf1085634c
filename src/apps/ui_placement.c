#include "apps/ui_placement.h"

#include "apps/ui_meta.h"
#include "base/text/plain.h"
#include "base/utf8.h"

#define SMALL        "abcdefghijklmnopqrstuvwxyz0123456789-"
#define LETTERS      SMALL "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define GROUP_MAX    32
#define ICON_MAX     40
#define PRIORITY     100
#define PRIORITY_MAX 1000

static bool is_made_of(str s, str allowed, size_t max)
{
    for (size_t i = 0; i < s.n; i++)
        if (!memchr(allowed.p, s.p[i], allowed.n))
            return false;
    return s.n > 0 && s.n <= max;
}

static bool is_slot(str s)
{
    static const char *const WHOLE[] = {"sidebar", "main", "settings", NULL};
    str group = str_starts(s, STR("sidebar.")) ? str_skip(s, 8) : STR_NONE;
    return str_in_cstrs(s, WHOLE) || is_made_of(group, STR(SMALL), GROUP_MAX);
}

static bool is_path(str s, str more)
{
    static const str UP = STR_INIT("..");
    return is_made_of(s, more, UI_URI_MAX) && str_find(s, UP, 0) < 0;
}

/* The authority of an address of an interface; empty when the address is not one. */
static str authority_of(str uri)
{
    str rest = str_skip(uri, 5);
    if (!str_starts(uri, STR("ui://")) || uri.n > UI_URI_MAX ||
        !is_path(rest, STR(LETTERS "._~/%")))
        return STR_NONE;
    ptrdiff_t slash = str_find_char(rest, '/');
    return slash < 0 ? rest : str_slice(rest, 0, (size_t)slash);
}

static str label_of(struct arena *a, const struct json *given, str otherwise)
{
    str label = plain_line(a, json_get_string(given, "label"));
    return utf8_truncate(label.n > 0 ? label : otherwise, UI_LABEL_MAX);
}

static str size_of(const struct json *given)
{
    static const char *const SIZES[] = {"compact", "full", NULL};
    str size = json_get_string(given, "size");
    return str_in_cstrs(size, SIZES) ? size : STR("auto");
}

static bool read_placement(struct arena *a, const struct json *given, str name,
                           struct ui_placement *ret)
{
    str icon = json_get_string(given, "icon"), route = json_get_string(given, "route");
    int64_t priority = json_get_int(given, "priority", PRIORITY);
    *ret = (struct ui_placement){
        .slot = json_get_string(given, "slot"),
        .uri = json_get_string(given, "resourceUri"),
        .label = label_of(a, given, name),
        .icon = is_made_of(icon, STR(SMALL), ICON_MAX) ? icon : STR_NONE,
        .size = size_of(given),
        .priority = priority < 0              ? 0
                    : priority > PRIORITY_MAX ? PRIORITY_MAX
                                              : priority,
    };
    if (route.n <= UI_ROUTE_MAX && is_path(route, STR(LETTERS "/")) && route.p[0] != '/')
        ret->route = route;
    return is_slot(ret->slot) && authority_of(ret->uri).n > 0;
}

/* The older form has one page and no list. */
static size_t read_primary(const struct json *ui, str name, struct ui_placement *ret)
{
    str uri = json_get_string(json_get(ui, "primaryView"), "resourceUri");
    *ret = (struct ui_placement){
        .slot = STR("main"), .uri = uri, .label = name, .size = STR("auto"), .priority = PRIORITY};
    return authority_of(uri).n > 0;
}

size_t ui_placements_read(struct arena *a, const struct json *ui, str name,
                          const struct ui_placement **ret)
{
    const struct json *list = json_get(ui, "placements");
    str own = plain_line(a, json_get_string(ui, "name"));
    struct ui_placement *all = arena_array(a, UI_PLACEMENTS_MAX, sizeof *all);
    size_t n = 0;
    name = utf8_truncate(own.n > 0 ? own : name, UI_LABEL_MAX);
    *ret = all;
    if (!json_is(list, JSON_ARRAY))
        return read_primary(ui, name, all);
    for (size_t i = 0; i < list->len && n < UI_PLACEMENTS_MAX; i++) {
        bool ok = read_placement(a, &list->items[i], name, &all[n]);
        if (ok && str_eq(authority_of(all[n].uri), authority_of(all[0].uri)))
            n++;
    }
    return n;
}
