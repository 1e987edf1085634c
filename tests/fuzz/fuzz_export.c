/* Any lines as a conversation that is exported. JSON is JSON, lines stay lines; in HTML nothing of
 * what was said becomes markup of a kind that the page does not have itself. */
#include <assert.h>

#include "base/json/json.h"
#include "base/utf8.h"
#include "transfer/export.h"

enum { INPUT_MAX = 64 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_piece(void *ctx, str piece)
{
    return buf_add_str(ctx, piece);
}

static void render(enum export_format f, const struct export_options *opt, str lines,
                   struct buf *out)
{
    struct conv conv = {.id = STR("conv_1"),
                        .created_at = STR("2026-01-01T00:00:00.000Z"),
                        .updated_at = STR("2026-01-01T00:00:00.000Z"),
                        .title = STR("<b>&\"'"),
                        .last_model = STR("m")};
    str line;
    struct exporter *x = exporter_new(f, &conv, opt, on_piece, out);
    while (str_split(&lines, '\n', &line))
        (void)exporter_event(x, line);
    (void)exporter_end(x);
    exporter_free(x);
}

static bool has_tag(str html, const char *tag)
{
    return str_find_nocase(html, str_from(tag)) >= 0;
}

/* Elements and attributes that only somebody else could have brought in. */
static void check_html(str html)
{
    static const char *const FOREIGN[] = {"<script", "<img",  "<iframe", "<svg",     "<form",
                                          "<object", "<base", "<input",  "<textarea"};
    for (size_t i = 0; i < ARRAY_LEN(FOREIGN); i++)
        assert(!has_tag(html, FOREIGN[i]));
    for (size_t at = 0; at < html.n; at++) {
        if (html.p[at] != '<')
            continue;
        str rest = str_skip(html, at);
        ptrdiff_t end = str_find_char(rest, '>');
        assert(end > 0); /* a tag of ours: whole, without another inside, without handlers */
        str tag = str_slice(rest, 1, (size_t)end);
        assert(str_find_char(tag, '<') < 0 && str_find_nocase(tag, STR(" on")) < 0 &&
               str_find_nocase(tag, STR("javascript:")) < 0);
        at += (size_t)end;
    }
}

static void check(enum export_format f, str text)
{
    struct arena a;
    struct json *v;
    str line;
    arena_init(&a);
    assert(utf8_valid(text));
    if (f == EXPORT_JSON)
        assert(json_parse(&a, text, 0, &v, NULL) == 0);
    while (f == EXPORT_JSONL && text.n > 0 && str_split(&text, '\n', &line))
        assert(line.n == 0 || json_parse(&a, line, 0, &v, NULL) == 0);
    if (f == EXPORT_HTML)
        check_html(text);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum export_format FORMATS[] = {EXPORT_MARKDOWN, EXPORT_HTML, EXPORT_JSON,
                                                 EXPORT_JSONL};
    if (size > INPUT_MAX)
        return 0;
    struct export_options opt = {.with_reasoning = true, .max_tool_bytes = size % 64};
    for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++) {
        struct buf out;
        buf_init(&out, 256u << 20);
        render(FORMATS[i], &opt, str_make((const char *)data, size), &out);
        check(FORMATS[i], buf_str(&out));
        buf_done(&out);
    }
    return 0;
}
