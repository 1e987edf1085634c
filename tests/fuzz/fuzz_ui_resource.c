/* Any bytes as what a server answers when an interface is read: the first line answers
 * resources/read, further lines resources/list. The answer is a page within its limits, in UTF-8,
 * with nothing granted but what may be, or a problem with a sentence. The same bytes are tried as
 * metadata of a tool. */
#include <assert.h>

#include "apps/ui_resource.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct mcp_call_events *events;
static void *events_ctx;
static int answers;

const struct bundle_entry *bundle_entry(const struct bundle *b)
{
    static const struct bundle_entry ENTRY = {.server_name = STR_INIT("maps")};
    return &ENTRY;
}

bool bundle_is_per_person(const struct bundle *b)
{
    return false;
}

str bundle_failure(struct bundle *b, struct arena *a, const struct err *err)
{
    return STR("maps is dead");
}

struct bundle_call *bundle_request_as(struct bundle *b, str user_id, const struct mcp_request *req,
                                      const struct mcp_call_events *ev, void *ctx)
{
    events = ev;
    events_ctx = ctx;
    return (struct bundle_call *)&events;
}

void bundle_cancel(struct bundle_call *c, const char *reason) {}

static void on_read(void *ctx, struct ui_page *page, enum ui_problem why, str message)
{
    answers++;
    if (!page) {
        assert(message.n > 0 && ui_problem_code(why));
        return;
    }
    assert(page->html.n <= UI_HTML_MAX && utf8_valid(page->html));
    assert(strlen(page->sha256) == SHA256_HEX_LEN);
    assert((page->meta.permissions & ~(unsigned)UI_GRANTED) == 0);
    assert(page->meta.border <= UI_BORDER_SHOWN);
}

static void answer(str text)
{
    struct arena a;
    struct json *v;
    struct json error = {.type = JSON_OBJECT};
    struct mcp_reply r = {0};
    arena_init(&a);
    if (json_parse(&a, text, 0, &v, NULL) == 0)
        r.result = v;
    else
        r.error = &error;
    events->done(events_ctx, &r);
    arena_done(&a);
}

static void check_tool(str text)
{
    struct arena a;
    struct json *v;
    arena_init(&a);
    if (json_parse(&a, text, 0, &v, NULL) == 0) {
        str uri = ui_tool_resource(v);
        assert(uri.n == 0 || (str_starts(uri, STR("ui://")) && uri.n <= UI_URI_MAX));
        for (size_t i = 0; i < uri.n; i++)
            assert((unsigned char)uri.p[i] > ' ');
        (void)ui_tool_is_for(v, UI_FOR_APPS);
    }
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ui_pages pages;
    str in = str_make((const char *)data, size), line;
    if (size > 64 * 1024)
        return 0;
    check_tool(in);
    ui_pages_init(&pages);
    answers = 0;
    struct ui_read *r =
        ui_read_start(&pages, NULL, STR_NONE, STR("ui://maps/x"), size % 2 == 0, on_read, NULL);
    while (answers == 0 && str_split(&in, '\n', &line))
        answer(line);
    if (answers == 0)
        ui_read_cancel(r);
    assert(answers <= 1);
    ui_pages_done(&pages);
    return 0;
}
