#include "cli/view/tool_edits.h"

#include "cli/view/permit.h"

/* ---- what kind of tool it is ---- */

/* The first word of a tool's own name that is in the table decides: "read_text_file" reads. */
static const struct {
    const char *word, *kind;
} KINDS[] = {
    {"read", "read"},       {"get", "read"},     {"list", "read"},      {"show", "read"},
    {"view", "read"},       {"cat", "read"},     {"status", "read"},    {"describe", "read"},
    {"write", "edit"},      {"edit", "edit"},    {"create", "edit"},    {"update", "edit"},
    {"replace", "edit"},    {"insert", "edit"},  {"append", "edit"},    {"patch", "edit"},
    {"set", "edit"},        {"add", "edit"},     {"manage", "edit"},    {"delete", "delete"},
    {"remove", "delete"},   {"move", "move"},    {"rename", "move"},    {"search", "search"},
    {"find", "search"},     {"grep", "search"},  {"glob", "search"},    {"query", "search"},
    {"discover", "search"}, {"run", "execute"},  {"exec", "execute"},   {"execute", "execute"},
    {"shell", "execute"},   {"bash", "execute"}, {"fetch", "fetch"},    {"download", "fetch"},
    {"browse", "fetch"},    {"think", "think"},  {"delegate", "think"}, {"calculate", "think"},
};

static bool is_word_end(char c)
{
    return c == '_' || c == '-' || (c >= 'A' && c <= 'Z');
}

/* The next word of a name in snake_case or camelCase. */
static str name_word(str *rest)
{
    size_t n = 0;
    while (rest->n > 0 && (rest->p[0] == '_' || rest->p[0] == '-'))
        *rest = str_skip(*rest, 1);
    if (rest->n > 0)
        n = 1;
    while (n < rest->n && !is_word_end(rest->p[n]))
        n++;
    str word = str_slice(*rest, 0, n);
    *rest = str_skip(*rest, n);
    return word;
}

const char *tool_kind(str tool)
{
    ptrdiff_t at = str_find(tool, STR("__"), 0);
    str own = at < 0 ? tool : str_skip(tool, (size_t)at + 2), word;
    if (permit_is_shell(tool))
        return "execute";
    while ((word = name_word(&own)).n > 0)
        for (size_t i = 0; i < ARRAY_LEN(KINDS); i++)
            if (str_eq_nocase(word, str_from(KINDS[i].word)))
                return KINDS[i].kind;
    return "other";
}

/* ---- paths ---- */

static const char *const PATH_KEYS[] = {"path",      "file_path", "filePath",    "filename",
                                        "file",      "source",    "destination", "notebook_path",
                                        "directory", NULL};

bool tool_path_is_likely(str s)
{
    return s.n > 0 && s.n <= 4096 && str_find_char(s, '\n') < 0 && str_find(s, STR("://"), 0) < 0;
}

str tool_path(const struct json *input, size_t n)
{
    for (size_t i = 0; PATH_KEYS[i]; i++) {
        str value = json_get_string(input, PATH_KEYS[i]);
        if ((tool_path_is_likely(value) || str_starts(value, STR("file://"))) && n-- == 0)
            return value;
    }
    return STR_NONE;
}

/* ---- changes ---- */

static const struct {
    const char *before, *after;
} EDITS[] = {{"oldText", "newText"},
             {"old_text", "new_text"},
             {"old_string", "new_string"},
             {"old_str", "new_str"}};

static bool read_edit(const struct json *edit, struct tool_edit *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(EDITS); i++) {
        const struct json *before = json_get(edit, EDITS[i].before);
        const struct json *after = json_get(edit, EDITS[i].after);
        if (!json_is(before, JSON_STRING) || !json_is(after, JSON_STRING))
            continue;
        *ret = (struct tool_edit){before, after->s};
        return true;
    }
    return false;
}

/* Whole files are written by tools that edit and have a `content`. */
static bool read_whole_file(str tool, const struct json *input, struct tool_edit *ret)
{
    static const char *const KEYS[] = {"content", "contents", "file_text", "text", NULL};
    for (size_t i = 0; KEYS[i] && strcmp(tool_kind(tool), "edit") == 0; i++) {
        const struct json *content = json_get(input, KEYS[i]);
        if (!json_is(content, JSON_STRING))
            continue;
        *ret = (struct tool_edit){NULL, content->s};
        return true;
    }
    return false;
}

size_t tool_edits(str tool, const struct json *input, struct tool_edit ret[TOOL_EDITS_MAX])
{
    const struct json *edits = json_get(input, "edits");
    size_t n = 0;
    if (tool_path(input, 0).n == 0)
        return 0;
    if (!json_is(edits, JSON_ARRAY))
        return read_edit(input, ret) || read_whole_file(tool, input, ret);
    for (size_t i = 0; i < edits->len && n < TOOL_EDITS_MAX; i++)
        n += read_edit(json_at(edits, i), &ret[n]);
    return n;
}
