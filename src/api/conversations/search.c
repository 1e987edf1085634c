/* GET /v1/search - full-text search over everything that the caller may see. */
#include "api/exchange.h"
#include "api/handlers.h"
#include "store/event/query.h"

#define SEARCH_LIMIT     20
#define SEARCH_LIMIT_MAX 200

/* The store marks hits with U+0001 and U+0002; clients get plain text and the positions of hits. */
static void write_parts(struct json_writer *w, str snippet)
{
    bool is_hit = false;
    jw_karray(w, "parts");
    for (size_t from = 0, i = 0; i <= snippet.n; i++) {
        bool is_mark = i < snippet.n && (snippet.p[i] == '\1' || snippet.p[i] == '\2');
        if (i < snippet.n && !is_mark)
            continue;
        if (i > from) {
            jw_object(w);
            jw_kstr(w, "text", str_slice(snippet, from, i));
            jw_kbool(w, "isHit", is_hit);
            jw_end(w);
        }
        is_hit = i < snippet.n && snippet.p[i] == '\1';
        from = i + 1;
    }
    jw_end(w);
}

static void on_searched(void *ctx, const struct err *err, const struct store_hits *h)
{
    struct api_wait *wait = ctx;
    if (err) {
        api_fail(wait->req, FROM_STORE, err);
        return;
    }
    struct api_json j;
    api_json_begin(&j);
    jw_karray(&j.w, "results");
    for (size_t i = 0; i < h->n; i++) {
        const struct store_hit *hit = &h->hits[i];
        jw_object(&j.w);
        jw_kstr(&j.w, "conversationId", hit->conv_id);
        jw_kstr(&j.w, "title", hit->title);
        jw_kstr(&j.w, "timestamp", hit->ts);
        jw_kstr(&j.w, "role", hit->role);
        jw_kint(&j.w, "position", (int64_t)hit->pos);
        jw_kstr(&j.w, "snippet", query_unmarked(&wait->req->arena, hit->snippet));
        write_parts(&j.w, hit->snippet);
        jw_end(&j.w);
    }
    jw_end(&j.w);
    jw_key(&j.w, "total");
    if (h->total >= 0)
        jw_int(&j.w, h->total);
    else
        jw_null(&j.w);
    jw_kbool(&j.w, "isPartial", h->is_partial);
    api_write_indexing(&j.w, wait->req, &h->counting);
    api_json_send(&j, wait->req);
}

static bool parse_order(struct http_req *r, bool *ret_by_relevance)
{
    str order = api_query(r, "order");
    *ret_by_relevance = str_eq(order, STR("relevance"));
    if (order.n == 0 || *ret_by_relevance || str_eq(order, STR("newest")))
        return true;
    return api_bad_request(r, "order: expected newest or relevance");
}

void api_search_get(void *ctx, struct http_req *r)
{
    struct api *api = ctx;
    int64_t limit;
    struct store_search_query q = {.text = str_trim(api_query(r, "q")),
                                   .conv_id = api_query(r, "conversation"),
                                   .takes_part = true};
    if (!api_query_int(r, "limit", SEARCH_LIMIT, SEARCH_LIMIT_MAX, &limit) ||
        !parse_order(r, &q.by_relevance))
        return;
    if (q.text.n == 0) {
        api_bad_request(r, "q is required: the words to search for");
        return;
    }
    struct api_wait *w = api_wait_new(api, r);
    q.viewer = api_viewer(r);
    q.limit = (size_t)limit;
    w->op = store_search(w->space->store, &q, on_searched, w);
}
