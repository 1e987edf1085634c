#include "api/views/call_search.h"

#include <assert.h>

#include "base/json/json_scan.h"
#include "bus/vocabulary.h"

#define PAGE_EVENTS    2000
#define PAGE_BYTES     (2u * 1024 * 1024)
#define FORWARD_PAGES  4
#define BACKWARD_PAGES 24

struct call_search {
    struct store *store;
    struct arena *arena;
    str conv_id, call_id;
    struct store_op *op;
    struct stored_call found;
    store_pos result_at;       /* in front of the event whose result is a blob; 0 = none */
    store_pos asked, answered; /* the last question about the call, and the last answer to any */
    struct store_range range;
    unsigned pages; /* that may still be read in this direction */
    call_search_fn fn;
    void *ctx;
};

/* ---- one line ---- */

static struct json *parse_line(struct call_search *c, str line)
{
    struct json *event;
    return json_parse(c->arena, line, JSON_COPY, &event, NULL) == 0 ? event : NULL;
}

static void note_start(struct call_search *c, const struct json *event, store_pos before)
{
    c->found.name = json_get_string(event, "name");
    c->found.uri = json_get_string(event, "resourceUri");
    c->found.input = json_get(event, "input");
    c->found.position = before;
}

static void note_done(struct call_search *c, const struct json *event, store_pos before)
{
    const struct json *result = json_get(event, "result");
    c->result_at = json_get(result, "$blob") ? before : 0;
    c->found.result = result;
    c->found.is_cancelled = json_get_bool(event, "cancelled", false);
    if (c->found.name.n == 0)
        c->found.name = json_get_string(event, "name");
    if (c->found.uri.n == 0)
        c->found.uri = json_get_string(event, "resourceUri");
}

/* A call that a person is asked about has not begun: only the model's answer has it. */
static void note_response(struct call_search *c, const struct json *event, store_pos before)
{
    const struct json *parts = json_get(event, "content");
    for (size_t i = 0; json_is(parts, JSON_ARRAY) && i < parts->len; i++) {
        const struct json *part = &parts->items[i];
        if (!str_eq(json_get_string(part, "toolCallId"), c->call_id) || c->found.input)
            continue;
        c->found.name = json_get_string(part, "toolName");
        c->found.input = json_get(part, "input");
        c->found.position = before;
    }
}

static bool is_about(const struct call_search *c, str line)
{
    return str_eq(json_scan_plain(json_scan_field(line, STR("id"))), c->call_id);
}

static bool is_complete(const struct call_search *c)
{
    return c->found.result && c->found.input;
}

static void search_line(struct call_search *c, str line, store_pos before, store_pos pos)
{
    enum event_type type = event_type_of(json_scan_plain(json_scan_field(line, STR("type"))));
    const struct json *event;
    if (type == EV_ASK_ANSWERED && pos > c->answered)
        c->answered = pos;
    if (str_find(line, c->call_id, 0) < 0)
        return;
    if (type == EV_ASK_OPENED && pos > c->asked)
        c->asked = pos;
    if (!c->range.backwards && is_complete(c))
        return; /* a provider may use an id again: the first call behind the position is meant */
    bool is_own = (type == EV_TOOL_START || type == EV_TOOL_DONE) && is_about(c, line);
    if ((!is_own && type != EV_LLM_RESPONSE) || !(event = parse_line(c, line)))
        return;
    if (type == EV_TOOL_START)
        note_start(c, event, before);
    else if (type == EV_TOOL_DONE)
        note_done(c, event, before);
    else
        note_response(c, event, before);
}

/* ---- reading ---- */

static void finish_search(struct call_search *c, const struct err *err)
{
    call_search_fn fn = c->fn;
    void *ctx = c->ctx;
    struct stored_call *found = ARENA_NEW(c->arena, struct stored_call);
    *found = c->found;
    found->is_asking = c->asked > c->answered;
    free(c);
    fn(ctx, err, found);
}

static void read_page(struct call_search *c, store_page_fn fn)
{
    c->op = store_read(c->store, c->conv_id, &c->range, fn, c);
}

static void on_whole_result(void *ctx, const struct err *err, const struct store_page *page)
{
    struct call_search *c = ctx;
    c->op = NULL;
    if (!err && page->n == 1)
        c->found.result = json_get(parse_line(c, page->events[0].line), "result");
    finish_search(c, err);
}

static void read_result(struct call_search *c)
{
    if (c->result_at == 0) {
        finish_search(c, NULL);
        return;
    }
    c->range = (struct store_range){.after = c->result_at, .max_events = 1, .with_blobs = true};
    read_page(c, on_whole_result);
}

static void search_page(struct call_search *c, const struct store_page *page)
{
    store_pos before = page->start;
    for (size_t i = 0; i < page->n; i++) {
        search_line(c, page->events[i].line, before, page->events[i].pos);
        before = page->events[i].pos;
    }
}

static void on_search_page(void *ctx, const struct err *err, const struct store_page *page);

static void search_backwards(struct call_search *c, store_pos before)
{
    c->range = (struct store_range){
        .backwards = true, .before = before, .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES};
    read_page(c, on_search_page);
}

static void on_search_page(void *ctx, const struct err *err, const struct store_page *page)
{
    struct call_search *c = ctx;
    c->op = NULL;
    if (err) {
        finish_search(c, err);
        return;
    }
    bool is_backwards = c->range.backwards;
    search_page(c, page);
    assert(c->pages > 0);
    c->pages--;
    if (is_complete(c) || (is_backwards && (page->reached_start || c->pages == 0))) {
        read_result(c);
    } else if (is_backwards) {
        search_backwards(c, page->start);
    } else if (c->pages > 0 && page->n > 0 && !page->reached_end) {
        c->range.after = page->events[page->n - 1].pos;
        read_page(c, on_search_page);
    } else if (c->found.input && page->reached_end) {
        read_result(c); /* it is there and has no result */
    } else {
        c->pages = BACKWARD_PAGES;
        search_backwards(c, 0);
    }
}

struct call_search *call_search_start(struct store *s, struct arena *a, str conv_id, str call_id,
                                      store_pos position, call_search_fn fn, void *ctx)
{
    struct call_search *c = xcalloc(1, sizeof *c);
    *c = (struct call_search){.store = s,
                              .arena = a,
                              .conv_id = conv_id,
                              .call_id = call_id,
                              .pages = position > 0 ? FORWARD_PAGES : BACKWARD_PAGES,
                              .fn = fn,
                              .ctx = ctx};
    assert(call_id.n > 0);
    if (position > 0) {
        c->range = (struct store_range){
            .after = position, .max_events = PAGE_EVENTS, .max_bytes = PAGE_BYTES};
        read_page(c, on_search_page);
    } else {
        search_backwards(c, 0);
    }
    return c;
}

void call_search_cancel(struct call_search *c)
{
    if (!c)
        return;
    assert(c->op);
    store_op_cancel(c->op);
    free(c);
}
