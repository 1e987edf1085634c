/* export_markdown.c - a conversation as Markdown: a heading per speaker, tools in fences. */
#include "base/utf8.h"
#include "transfer/export_impl.h"

static const char *const HEADINGS[] = {
    [ITEM_USER] = "User",
    [ITEM_ASSISTANT] = "Assistant",
    [ITEM_SYSTEM] = "System",
    [ITEM_NOTE] = "Note",
};

/* Text on one line, without line breaks. */
static str one_line(struct arena *a, str s)
{
    char *p = arena_cstr(a, s);
    for (size_t i = 0; i < s.n; i++)
        p[i] = (unsigned char)p[i] < ' ' ? ' ' : p[i];
    return str_make(p, s.n);
}

static void put_line(struct exporter *x, const char *name, str value)
{
    value = one_line(&x->scratch, value);
    export_put(x, arena_printf(&x->scratch, "- %s: %.*s\n", name, STR_ARG(value)));
}

static void markdown_begin(struct exporter *x)
{
    const struct conv *c = x->conv;
    struct arena *a = &x->scratch;
    str title = c->title.n ? c->title : STR("Conversation");
    export_put(x, arena_printf(a, "# %.*s\n\n", STR_ARG(one_line(a, title))));
    export_facts(x, put_line);
}

static void put_heading(struct exporter *x, const struct export_item *item)
{
    enum export_item_type speaker = x->last;
    str who = item->type == speaker ? one_line(&x->scratch, item->who) : STR_NONE;
    str when = export_time(x, item->ts);
    export_put(x, arena_printf(&x->scratch, "\n## %s%s%.*s%s%s%.*s\n", HEADINGS[speaker],
                               who.n ? " (" : "", STR_ARG(who), who.n ? ")" : "",
                               when.n ? " · " : "", STR_ARG(when)));
}

/* A fence longer than any run of backticks inside. */
static void put_fenced(struct exporter *x, const char *language, str text)
{
    size_t run = 0, longest = 2;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    str shown = utf8_truncate(text, x->opt.max_tool_bytes);
    char *fence = arena_alloc(&x->scratch, longest + 1);
    memset(fence, '`', longest + 1);
    str mark = str_make(fence, longest + 1);
    export_put(x, mark);
    export_put(x, str_from(language));
    export_lit(x, "\n");
    export_put(x, shown);
    if (!str_ends(shown, STR("\n")))
        export_lit(x, "\n");
    export_put(x, mark);
    export_lit(x, "\n");
    if (shown.n < text.n)
        export_put(x, arena_printf(&x->scratch, "(%zu of %zu bytes)\n", shown.n, text.n));
}

static void put_block_line(struct exporter *x, const struct json *block, str label)
{
    str line = one_line(&x->scratch, label);
    export_put(x, arena_printf(&x->scratch, "%.*s\n", STR_ARG(line)));
}

static void put_tool(struct exporter *x, const struct export_item *item)
{
    str name = one_line(&x->scratch, item->who);
    if (item->type == ITEM_CALL) {
        export_put(x, arena_printf(&x->scratch, "\n**Tool call** `%.*s`\n\n", STR_ARG(name)));
        put_fenced(x, "json", item->text);
        return;
    }
    export_put(x, arena_printf(&x->scratch, "\n**Result** of `%.*s` (%s, %lld ms)\n\n",
                               STR_ARG(name), item->ok ? "ok" : "failed", (long long)item->ms));
    if (item->text.n > 0 || !item->content)
        put_fenced(x, "", item->text);
    export_blocks(x, item, put_block_line);
}

static void put_quoted(struct exporter *x, const char *label, str text)
{
    str line;
    export_put(x, arena_printf(&x->scratch, "\n> **%s**\n", label));
    while (str_split(&text, '\n', &line)) {
        export_lit(x, "> ");
        export_put(x, line);
        export_lit(x, "\n");
    }
}

/* A picture or a link. The name is foreign: what would end it is left out. */
static void put_file(struct exporter *x, const struct export_item *item)
{
    str link = export_file_link(x, item->file);
    bool is_picture = str_eq(json_get_string(item->file, "type"), STR("image"));
    char *name =
        arena_cstr(&x->scratch, one_line(&x->scratch, json_get_string(item->file, "name")));
    for (char *p = name; *p; p++)
        *p = strchr("[]\\<>`", *p) ? ' ' : *p;
    if (link.n > 0)
        export_put(x, arena_printf(&x->scratch, "\n%s[%s](%.*s)\n", is_picture ? "!" : "", name,
                                   STR_ARG(link)));
    else
        export_put(x, arena_printf(&x->scratch, "\n%.*s\n", STR_ARG(item->text)));
}

static void item(struct exporter *x, const struct export_item *item)
{
    if (export_is_new_speaker(x, item))
        put_heading(x, item);
    if (item->type == ITEM_CALL || item->type == ITEM_RESULT) {
        put_tool(x, item);
    } else if (item->type == ITEM_REASONING) {
        put_quoted(x, "Reasoning", item->text);
    } else if (item->type == ITEM_ERROR) {
        put_quoted(x, "Error", item->text);
    } else if (item->file) {
        put_file(x, item);
    } else {
        export_lit(x, "\n");
        export_put(x, item->text);
        export_lit(x, "\n");
    }
}

const struct export_style export_style_markdown = {.begin = markdown_begin, .item = item};
