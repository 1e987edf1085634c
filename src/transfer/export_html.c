/* export_html.c - a conversation as one page, without scripts and external resources; all text of
 * the conversation is escaped. The content security policy in its head enforces the same. */
#include "base/utf8.h"
#include "store/event/parts.h"
#include "transfer/export_impl.h"

enum { PICTURE_MAX = 4 * 1024 * 1024 };

static const char HEAD[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "img-src data:; style-src 'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

static const char STYLE[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:16px/1.6 system-ui,sans-serif}\n"
    "header{border-bottom:1px solid #8886;margin-bottom:2rem}\n"
    "dl{display:grid;grid-template-columns:max-content auto;gap:0 1rem;font-size:.875rem}\n"
    "dd{margin:0}\n"
    "article{margin:0 0 1.5rem;padding-left:1rem;border-left:3px solid #8888}\n"
    "article.user{border-color:#3b82f6}\n"
    "article.note{border-color:#eab308}\n"
    "h2{font-size:.875rem;margin:0 0 .25rem}\n"
    "h2 time,h2 span{font-weight:normal;opacity:.7}\n"
    "img{display:block;max-width:100%;margin:.5rem 0}\n"
    "p,pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.25rem 0}\n"
    "pre{font:13px/1.5 ui-monospace,monospace;background:#8881;padding:.5rem .75rem}\n"
    "details summary{cursor:pointer;font-size:.875rem}\n"
    ".reasoning{opacity:.75;font-style:italic}\n"
    ".error{color:#dc2626}\n"
    "@media print{body{max-width:none;margin:0}article{break-inside:avoid-page}"
    "pre{background:none;border:1px solid #ccc}}\n"
    "</style>\n";

static const struct {
    const char *css, *heading;
} SPEAKERS[] = {
    [ITEM_USER] = {"user", "User"},
    [ITEM_ASSISTANT] = {"assistant", "Assistant"},
    [ITEM_SYSTEM] = {"system", "System"},
    [ITEM_NOTE] = {"note", "Note"},
};

static str entity_of(char c)
{
    switch (c) {
    case '&':
        return STR("&amp;");
    case '<':
        return STR("&lt;");
    case '>':
        return STR("&gt;");
    case '"':
        return STR("&quot;");
    case '\'':
        return STR("&#39;");
    default: /* control characters are not allowed in HTML */
        return (unsigned char)c < ' ' && c != '\n' && c != '\t' ? STR("\xef\xbf\xbd") : STR_NONE;
    }
}

static void put_escaped(struct exporter *x, str s)
{
    size_t plain = 0;
    for (size_t i = 0; i < s.n; i++) {
        str entity = entity_of(s.p[i]);
        if (!entity.n)
            continue;
        export_put(x, str_slice(s, plain, i));
        export_put(x, entity);
        plain = i + 1;
    }
    export_put(x, str_skip(s, plain));
}

static void put_element(struct exporter *x, const char *open, str text, const char *close)
{
    export_put(x, str_from(open));
    put_escaped(x, text);
    export_put(x, str_from(close));
}

static void put_fact(struct exporter *x, const char *name, str value)
{
    put_element(x, "<dt>", str_from(name), "</dt>");
    put_element(x, "<dd>", value, "</dd>\n");
}

static void html_begin(struct exporter *x)
{
    str title = x->conv->title.n ? x->conv->title : STR("Conversation");
    export_put(x, str_from(HEAD));
    put_element(x, "<title>", title, "</title>\n");
    export_put(x, str_from(STYLE));
    put_element(x, "</head>\n<body>\n<header>\n<h1>", title, "</h1>\n<dl>\n");
    export_facts(x, put_fact);
    export_lit(x, "</dl>\n</header>\n<main>\n");
}

static void open_article(struct exporter *x, const struct export_item *item, bool is_first)
{
    enum export_item_type speaker = x->last;
    if (!is_first)
        export_lit(x, "</article>\n");
    export_put(x, arena_printf(&x->scratch, "<article class=\"%s\">\n<h2>%s", SPEAKERS[speaker].css,
                               SPEAKERS[speaker].heading));
    if (item->who.n && item->type == speaker)
        put_element(x, " <span>", item->who, "</span>");
    str when = export_time(x, item->ts);
    if (when.n) {
        put_element(x, " <time datetime=\"", item->ts, "\">");
        put_element(x, "", when, "</time>");
    }
    export_lit(x, "</h2>\n");
}

/* Small pictures are part of the page; of everything else it says what it was. */
static void put_block(struct exporter *x, const struct json *block, str label)
{
    str base64 = parts_base64(block);
    const char *type = parts_shown_type(parts_mime(block));
    bool is_picture = type && str_starts(str_from(type), STR("image/")) && base64.n > 0 &&
                      str_is_made_of(base64, "+/=") && parts_decoded_size(base64) <= PICTURE_MAX;
    if (!is_picture) {
        put_element(x, "<p>", label, "</p>\n");
        return;
    }
    put_element(x, "<img alt=\"", label, "\" src=\"data:");
    export_put(x, str_from(type));
    put_element(x, ";base64,", base64, "\">\n");
}

/* A file that a message names: a picture is part of the page, everything else is a link. */
static void put_file(struct exporter *x, const struct export_item *item)
{
    str link = export_file_link(x, item->file), name = json_get_string(item->file, "name");
    if (parts_base64(item->file).n > 0 || link.n == 0) {
        put_block(x, item->file, item->text);
        return;
    }
    put_element(x, "<p><a href=\"", link, "\" download=\"");
    put_element(x, "", name, "\">");
    put_element(x, "", name, "</a></p>\n");
}

static void put_tool(struct exporter *x, const struct export_item *item)
{
    str shown = utf8_truncate(item->text, x->opt.max_tool_bytes);
    bool is_call = item->type == ITEM_CALL;
    put_element(
        x, is_call ? "<details><summary>Tool call <code>" : "<details><summary>Result of <code>",
        item->who, "</code>");
    if (!is_call)
        export_put(x, arena_printf(&x->scratch, " (%s, %lld ms)", item->ok ? "ok" : "failed",
                                   (long long)item->ms));
    put_element(x, "</summary>\n<pre>\n", shown, "</pre>\n");
    if (shown.n < item->text.n)
        export_put(x,
                   arena_printf(&x->scratch, "<p>(%zu of %zu bytes)</p>\n", shown.n, item->text.n));
    export_lit(x, "</details>\n");
    export_blocks(x, item, put_block);
}

static void item(struct exporter *x, const struct export_item *item)
{
    bool is_first = !x->has_spoken;
    if (export_is_new_speaker(x, item))
        open_article(x, item, is_first);
    if (item->type == ITEM_CALL || item->type == ITEM_RESULT)
        put_tool(x, item);
    else if (item->type == ITEM_REASONING)
        put_element(x, "<p class=\"reasoning\">", item->text, "</p>\n");
    else if (item->type == ITEM_ERROR)
        put_element(x, "<p class=\"error\">", item->text, "</p>\n");
    else if (item->file)
        put_file(x, item);
    else
        put_element(x, "<p>", item->text, "</p>\n");
}

static void html_end(struct exporter *x)
{
    if (x->has_spoken)
        export_lit(x, "</article>\n");
    export_lit(x, "</main>\n</body>\n</html>\n");
}

const struct export_style export_style_html = {.begin = html_begin, .item = item, .end = html_end};
