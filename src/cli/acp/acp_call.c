#include "cli/acp/acp_call.h"

#include "base/bytes/base64.h"
#include "base/utf8.h"
#include "cli/term/text.h"
#include "cli/view/permit.h"
#include "cli/view/tool_edits.h"

/* ---- paths ---- */

static bool is_hex_pair(str s)
{
    return s.n >= 2 && hex_digit(s.p[0]) >= 0 && hex_digit(s.p[1]) >= 0;
}

str acp_file_path(struct arena *a, str uri)
{
    static const str PREFIXES[] = {STR_INIT("file://localhost/"), STR_INIT("file:///")};
    for (size_t i = 0; i < ARRAY_LEN(PREFIXES); i++) {
        if (!str_starts(uri, PREFIXES[i]))
            continue;
        str rest = str_skip(uri, PREFIXES[i].n - 1), path;
        (void)str_split(&rest, '#', &path); /* "#L10-20" */
        char *out = arena_alloc(a, path.n + 1);
        size_t n = 0;
        for (size_t k = 0; k < path.n; k++) {
            if (path.p[k] != '%') {
                out[n++] = path.p[k];
                continue;
            }
            if (!is_hex_pair(str_skip(path, k + 1)))
                return STR_NONE;
            out[n++] = (char)(hex_digit(path.p[k + 1]) * 16 + hex_digit(path.p[k + 2]));
            k += 2;
        }
        out[n] = 0;
        str decoded = str_make(out, n);
        bool is_plain = utf8_valid(decoded) && memchr(out, 0, n) == NULL;
        return is_plain ? decoded : STR_NONE;
    }
    return STR_NONE;
}

static str absolute(struct arena *a, str path, str cwd)
{
    if (str_starts(path, STR("file://")))
        return acp_file_path(a, path);
    if (path.n == 0 || path.p[0] == '/' || cwd.n == 0)
        return path;
    return arena_printf(a, "%.*s/%.*s", STR_ARG(cwd), STR_ARG(path));
}

/* The n-th path among the arguments; empty when there are fewer. */
static str path_argument(struct arena *a, const struct json *input, str cwd, size_t n)
{
    return absolute(a, tool_path(input, n), cwd);
}

/* ---- the title ---- */

/* One line, at most ACP_TITLE_MAX bytes. */
static str short_line(struct arena *a, str text)
{
    struct buf b;
    buf_init(&b, 4 * ACP_TITLE_MAX);
    text_add_line(&b, utf8_truncate(text, ACP_TITLE_MAX));
    str whole = buf_keep(&b, a), cut = utf8_truncate(whole, ACP_TITLE_MAX);
    return cut.n < whole.n || text.n > ACP_TITLE_MAX ? arena_printf(a, "%.*s…", STR_ARG(cut)) : cut;
}

str acp_call_title(struct arena *a, const struct acp_call *c)
{
    str command = json_get_string(c->input, "command");
    if (permit_is_shell(c->name) && command.n > 0)
        return short_line(a, command);
    str path = path_argument(a, c->input, STR_NONE, 0);
    if (path.n == 0)
        return c->name.n > 0 ? c->name : STR("tool");
    return short_line(a, arena_printf(a, "%.*s %.*s", STR_ARG(c->name), STR_ARG(path)));
}

/* ---- changes ---- */

static void write_diff(struct json_writer *w, str path, const struct json *before, str after)
{
    jw_object(w);
    jw_kstr(w, "type", STR("diff"));
    jw_kstr(w, "path", path);
    if (json_is(before, JSON_STRING))
        jw_kstr(w, "oldText", before->s);
    jw_kstr(w, "newText", after);
    jw_end(w);
}

static void write_diffs(struct json_writer *w, struct arena *a, const struct acp_call *c, str cwd)
{
    struct tool_edit edits[TOOL_EDITS_MAX];
    size_t n = tool_edits(c->name, c->input, edits);
    str path = path_argument(a, c->input, cwd, 0);
    for (size_t i = 0; i < n && path.n > 0; i++)
        write_diff(w, path, edits[i].before, edits[i].after);
}

void acp_call_write_content(struct json_writer *w, struct arena *a, const struct acp_call *c,
                            str cwd, str output)
{
    str shown = utf8_truncate(output, ACP_OUTPUT_MAX);
    jw_karray(w, "content");
    write_diffs(w, a, c, cwd);
    if (shown.n > 0) {
        if (shown.n < output.n)
            shown = arena_printf(a, "%.*s\n(%zu more bytes are not shown)", STR_ARG(shown),
                                 output.n - shown.n);
        jw_object(w);
        jw_kstr(w, "type", STR("content"));
        jw_kobject(w, "content");
        jw_kstr(w, "type", STR("text"));
        jw_kstr(w, "text", shown);
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
}

/* ---- the call itself ---- */

static void write_location(struct json_writer *w, const struct json *input, str path)
{
    int64_t line = json_get_int(input, "line", -1);
    jw_object(w);
    jw_kstr(w, "path", path);
    if (line >= 0 && line <= UINT32_MAX)
        jw_kint(w, "line", line);
    jw_end(w);
}

static void write_locations(struct json_writer *w, struct arena *a, const struct acp_call *c,
                            str cwd)
{
    const struct json *many = json_get(c->input, "paths");
    str path;
    jw_karray(w, "locations");
    for (size_t i = 0; (path = path_argument(a, c->input, cwd, i)).n > 0; i++)
        write_location(w, c->input, path);
    for (size_t i = 0; json_is(many, JSON_ARRAY) && i < many->len && i < ACP_LOCATIONS_MAX; i++) {
        str one = json_string(json_at(many, i), STR_NONE);
        if (tool_path_is_likely(one))
            write_location(w, NULL, absolute(a, one, cwd));
    }
    jw_end(w);
}

void acp_call_write(struct json_writer *w, struct arena *a, const struct acp_call *c, str cwd)
{
    jw_kstr(w, "toolCallId", c->id);
    jw_kstr(w, "title", acp_call_title(a, c));
    jw_kstr_if(w, "name", c->name);
    jw_kcstr(w, "kind", tool_kind(c->name));
    if (!c->input)
        return;
    jw_kval(w, "rawInput", c->input);
    write_locations(w, a, c, cwd);
}
