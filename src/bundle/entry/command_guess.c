#include "bundle/confine/path_list.h"
#include "bundle/entry/package_command.h"

bool command_fetches(str command)
{
    static const char *const FETCHERS[] = {"npx", "bunx", "uvx", "pipx", "uv", "pnpm"};
    str name = str_skip(command, (size_t)(str_rfind_char(command, '/') + 1));
    return STR_INDEX(name, FETCHERS) >= 0;
}

static bool is_path(str arg)
{
    return str_starts(arg, STR("/")) || str_starts(arg, STR("~/"));
}

/* Compares the texts: "~/x" does not equal "/home/me/x". */
static bool is_declared(struct arena *a, const struct json_strs *l, str path)
{
    for (size_t i = 0; i < l->len; i++) {
        str dir = path_clean(a, l->items[i], STR("/"), STR("/~"));
        if (path_is_at_or_below(path_clean(a, path, STR("/"), STR("/~")), dir))
            return true;
    }
    return false;
}

struct json_strs command_unseen_paths(struct arena *a, const struct bundle_entry *b)
{
    struct json_strs ret = {arena_array(a, b->args.len, sizeof(*ret.items)), 0};
    bool is_first = true;
    for (size_t i = 0; i < b->args.len && !b->sandbox.is_off; i++) {
        str arg = b->args.items[i];
        if (str_starts(arg, STR("-")))
            continue;
        if (!is_first && is_path(arg) && !is_declared(a, &b->sandbox.read, arg) &&
            !is_declared(a, &b->sandbox.write, arg))
            ret.items[ret.len++] = arg;
        is_first = false;
    }
    return ret;
}
