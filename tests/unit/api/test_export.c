/* Documents and totals: exports, imports, stats and usage (conversations/export.c, import.c,
 * stats.c, usage.c). */
#include "support/api_rig.h"

static const char *export_path(struct api_rig *t, const char *id, const char *query)
{
    return api_path(t, "/v1/conversations/%s/export%s", id, query);
}

/* ---- export ---- */

TEST_WITH(each_format_is_a_file_of_its_type, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *query, *suffix, *type, *begins;
    } FORMATS[] = {
        {"", "md", "text/markdown", "# "},
        {"?format=markdown", "md", "text/markdown", "# "},
        {"?format=md", "md", "text/markdown", "# "},
        {"?format=json", "json", "application/json", "{\"conversation\":"},
        {"?format=html", "html", "text/html", "<!doctype html>"},
        {"?format=jsonl", "jsonl", "application/x-ndjson", "{\"id\":"},
    };
    const char *id = api_conversation(t, "ben", "<b>a pangolin</b>");
    for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++) {
        struct api_answer a = api_get(t, "ben", export_path(t, id, FORMATS[i].query));
        assert_status(a, 200);
        assert_string_equal(api_header(t, &a, "Content-Disposition"),
                            api_path(t, "attachment; filename=\"%s.%s\"", id, FORMATS[i].suffix));
        assert_true(
            str_starts(str_from(api_header(t, &a, "Content-Type")), str_from(FORMATS[i].type)));
        /* It has foreign text: it must not run as a page of this server. */
        assert_true(
            str_starts(str_from(api_header(t, &a, "Content-Security-Policy")), STR("sandbox;")));
        if (!str_starts_nocase(a.body, str_from(FORMATS[i].begins)))
            fail_msg("%s begins with %.*s", FORMATS[i].query, 40, a.body.p);
        assert_true(str_find(a.body, STR("pangolin"), 0) >= 0);
    }
    struct api_answer page = api_get(t, "ben", export_path(t, id, "?format=html"));
    assert_true(str_find(page.body, STR("<b>a pangolin"), 0) < 0);
    assert_refused(api_get(t, "ben", export_path(t, id, "?format=pdf")), 400, "bad_request",
                   "format: format \"pdf\" is not one of markdown, json, html, jsonl");
}

TEST_WITH(tools_can_be_left_out_of_an_export, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    model_calls("t__ping", "{}");
    const char *id = api_conversation(t, "ben", "hello");
    struct api_answer all = api_get(t, "ben", export_path(t, id, ""));
    struct api_answer less = api_get(t, "ben", export_path(t, id, "?tools=false"));
    assert_true(str_find(all.body, STR("t__ping"), 0) >= 0);
    assert_true(str_find(less.body, STR("t__ping"), 0) < 0);
}

static void append_bytes(struct api_rig *t, const char *id, size_t n);

TEST_WITH(an_export_of_a_large_log_is_sent_in_pieces, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    append_bytes(t, id, 1024 * 1024);
    unsigned reads = rig_store.kinds[RIG_READ].made;
    struct api_answer a = api_get(t, "ben", export_path(t, id, "?format=jsonl"));
    assert_status(a, 200);
    assert_true(a.body.n > 1024 * 1024);
    assert_true(rig_store.kinds[RIG_READ].made - reads > 4);
    assert_true(str_ends(a.body, STR("}\n")));
}

static void on_appended(void *ctx, const struct err *err, const store_pos *pos, size_t n)
{
    assert_null(err);
    *(bool *)ctx = true;
}

static void append_event(struct api_rig *t, const char *id, str event)
{
    bool is_done = false;
    store_append(t->rig->store, str_from(id), &event, 1, on_appended, &is_done);
    rig_until(t->rig, is_done);
}

static void append_bytes(struct api_rig *t, const char *id, size_t n)
{
    enum { LINE = 64 * 1024 };
    static const char HEAD[] = "{\"type\":\"note\",\"author\":\"usr_ben\",\"text\":\"";
    char *line = xcalloc(1, LINE + 1);
    memset(line, 'x', LINE);
    memcpy(line, HEAD, sizeof HEAD - 1);
    memcpy(line + LINE - 2, "\"}", 2);
    str event = str_make(line, LINE);
    for (size_t i = 0; i < n / LINE; i++)
        append_event(t, id, event);
    free(line);
}

TEST_WITH(thoughts_are_part_of_an_export_when_they_are_asked_for, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    static const str EVENT =
        STR_INIT("{\"type\":\"llm.response\",\"runId\":\"run_x\",\"content\":[{\"type\":"
                 "\"reasoning\",\"text\":\"a pangolin, perhaps\"}]}");
    append_event(t, id, EVENT);
    struct api_answer less = api_get(t, "ben", export_path(t, id, ""));
    struct api_answer all = api_get(t, "ben", export_path(t, id, "?thoughts=true"));
    assert_true(str_find(less.body, STR("pangolin"), 0) < 0);
    assert_true(str_find(all.body, STR("pangolin"), 0) >= 0);
    assert_status(api_get(t, "ben", export_path(t, id, "?thoughts=2")), 400);
}

/* Starts an export whose client does not read: it stays in progress. */
static struct api_client *export_unread(struct api_rig *t, const char *who, const char *id)
{
    size_t before = t->api->exporting.total;
    struct api_client *c =
        api_begin(t, who, "GET", export_path(t, id, "?format=jsonl"), "", STR_NONE);
    uv_poll_stop(&c->poll);
    rig_until(t->rig, t->api->exporting.total == before + 1);
    return c;
}

TEST_WITH(a_person_has_four_exports_at_the_same_time, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    append_bytes(t, id, 16u << 20);
    struct api_client *open[4];
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        open[i] = export_unread(t, "ben", id);
    struct api_answer more = api_get(t, "ben", export_path(t, id, ""));
    assert_refused(more, 429, "rate_limited",
                   "Too many exports are in progress. Wait for one of them to finish and try "
                   "again.");
    assert_string_equal(api_header(t, &more, "Retry-After"), "1");
    /* The limit is of one person, and not for the operator. */
    export_unread(t, "dan", id);
    for (unsigned i = 0; i < 5; i++)
        export_unread(t, "operator", id);
    size_t before = t->api->exporting.total;
    api_client_close(open[0]); /* a client that leaves makes room for another */
    rig_until(t->rig, t->api->exporting.total == before - 1);
    export_unread(t, "ben", id);
}

TEST_WITH(an_export_ends_when_its_reader_may_not_see_the_conversation, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    api_share(t, "ben", id, "dan");
    append_bytes(t, id, 16u << 20);
    struct api_client *c = export_unread(t, "dan", id);
    assert_status(api_call(t, "ben", "POST", api_path(t, "/v1/conversations/%s/unshare", id), NULL),
                  200);
    uv_poll_start(&c->poll, UV_READABLE, on_api_readable);
    rig_until(t->rig, c->is_over);
    assert_true(c->in.n > 0 && c->in.n < (16u << 20));
    rig_until(t->rig, t->api->exporting.total == 0);
}

TEST_WITH(an_export_that_cannot_be_read_is_an_error_and_no_document, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    store_fault(RIG_READ, NULL, -EIO);
    struct api_answer a = api_get(t, "ben", export_path(t, id, ""));
    assert_status(a, 500);
    assert_string_equal(api_text(t, a.json, "error"), "storage_error");
    store_fault(RIG_READ, NULL, 0);
    assert_int_equal(t->api->exporting.total, 0);
}

/* ---- import ---- */

static struct api_answer import(struct api_rig *t, const char *who, const char *body)
{
    return api_call(t, who, "POST", "/v1/import", body);
}

/* The answer of GET /v1/import when the import has ended. */
static struct api_answer import_ended(struct api_rig *t)
{
    struct api_answer a = {0};
    rig_until(t->rig, (a = api_get(t, "operator", "/v1/import"),
                       strcmp(api_part(t, a.json, "isRunning"), "false") == 0));
    return a;
}

TEST_WITH(an_exported_conversation_is_imported_once, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_answer doc = api_get(t, "ben", export_path(t, id, "?format=jsonl"));
    const char *path = api_path(t, "%s/doc.jsonl", t->rig->dir.path);
    assert_int_equal(file_write_atomic(path, doc.body, 0600, NULL), 0);
    assert_status(
        api_call(t, "ben", "DELETE", api_path(t, "/v1/conversations/%s?purge=true", id), NULL),
        200);
    const char *body = api_path(t, "{\"path\":\"%s\"}", path);
    for (unsigned i = 0; i < 2; i++) {
        struct api_answer a = import(t, "operator", body);
        assert_status(a, 200);
        assert_string_equal(api_text(t, a.json, "path"), path);
        a = import_ended(t);
        assert_string_equal(api_part(t, a.json, "error"), "null");
        assert_string_equal(api_part(t, a.json, "share"), "1");
        assert_string_equal(api_part(t, a.json, "conversations"), i == 0 ? "1" : "0");
        assert_string_equal(api_part(t, a.json, "existing"), i == 0 ? "0" : "1");
    }
    struct api_answer conv = api_get(t, "ana", api_path(t, "/v1/conversations/%s", id));
    assert_status(conv, 200);
}

TEST_WITH(an_import_reports_what_is_wrong_with_its_file, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *path = api_path(t, "%s/none.jsonl", t->rig->dir.path);
    assert_status(import(t, "operator", api_path(t, "{\"path\":\"%s\"}", path)), 200);
    struct api_answer a = import_ended(t);
    assert_string_equal(api_part(t, a.json, "conversations"), "0");
    assert_non_null(strstr(api_text(t, a.json, "error"), "none.jsonl"));
}

TEST_WITH(only_the_operator_imports_files_of_this_machine, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_status(import(t, "ana", "{\"path\":\"/tmp/x.jsonl\"}"), 404);
    assert_status(api_get(t, "ana", "/v1/import"), 404);
    assert_refused(api_get(t, "operator", "/v1/import"), 404, "not_found", "No such import.");
    assert_refused(import(t, "operator", "{\"path\":\"x.jsonl\"}"), 400, "bad_request",
                   "path: expected an absolute path");
    assert_refused(import(t, "operator", "{}"), 400, "bad_request", "path: required but missing");
    struct api_answer a = import(t, "operator", "{\"path\":\"/x\",\"kind\":\"word\"}");
    assert_status(a, 400);
    assert_null(t->api->import);
}

TEST_WITH(one_import_runs_at_a_time, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    struct api_answer doc = api_get(t, "ben", export_path(t, id, "?format=jsonl"));
    const char *path = api_path(t, "%s/doc.jsonl", t->rig->dir.path);
    assert_int_equal(file_write_atomic(path, doc.body, 0600, NULL), 0);
    const char *body = api_path(t, "{\"path\":\"%s\"}", path);
    store_hold(RIG_CREATE);
    assert_string_equal(api_part(t, import(t, "operator", body).json, "isRunning"), "true");
    assert_refused(import(t, "operator", body), 409, "import_in_progress",
                   "Another import is still in progress.");
    rig_until(t->rig, rig_store.nheld > 0);
    store_go();
    import_ended(t);
    assert_status(import(t, "operator", body), 200);
    import_ended(t);
}

/* ---- totals ---- */

TEST_WITH(stats_count_what_the_caller_may_see, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    rig_model.title = (struct model_answer){.error = "no titles", .error_kind = LLM_ERR_AUTH};
    MODEL(.text = "a", .usage = {.input_tokens = 100, .output_tokens = 10});
    MODEL(.text = "b", .usage = {.input_tokens = 200, .output_tokens = 20});
    api_conversation(t, "ben", "hello");
    api_conversation(t, "dan", "hello");
    static const struct {
        const char *who, *query, *conversations, *input;
    } CASES[] = {
        {"ben", "", "1", "100"},
        {"dan", "?period=day", "1", "200"},
        {"ana", "?period=all", "2", "300"},
        {"operator", "?period=year", "2", "300"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        struct api_answer a =
            api_get(t, CASES[i].who, api_path(t, "/v1/conversations/stats%s", CASES[i].query));
        assert_status(a, 200);
        assert_string_equal(api_part(t, a.json, "conversations"), CASES[i].conversations);
        assert_string_equal(api_part(t, a.json, "inputTokens"), CASES[i].input);
    }
    assert_refused(api_get(t, "ben", "/v1/conversations/stats?period=decade"), 400, "bad_request",
                   "period: expected day, week, month, year or all");
}

TEST_WITH(usage_is_grouped_by_day_model_or_user, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    rig_model.title = (struct model_answer){.error = "no titles", .error_kind = LLM_ERR_AUTH};
    MODEL(.text = "a", .usage = {.input_tokens = 100, .output_tokens = 10});
    MODEL(.text = "b", .usage = {.input_tokens = 200, .output_tokens = 20});
    api_conversation(t, "ben", "hello");
    api_conversation(t, "dan", "hello");
    struct api_answer a = api_get(t, "ana", "/v1/usage?groupBy=user");
    assert_status(a, 200);
    assert_string_equal(api_part(t, a.json, "total.inputTokens"), "300");
    const struct json *rows = json_get(a.json, "rows");
    assert_int_equal(rows->len, 2);
    for (size_t i = 0; i < 2; i++) {
        bool is_ben = strcmp(api_text(t, json_at(rows, i), "user"), "usr_ben") == 0;
        assert_string_equal(api_text(t, json_at(rows, i), "displayName"), is_ben ? "Ben" : "Dan");
        assert_string_equal(api_part(t, json_at(rows, i), "inputTokens"), is_ben ? "100" : "200");
    }
    /* A member sees what that member may see. */
    a = api_get(t, "ben", "/v1/usage?groupBy=model");
    assert_string_equal(api_part(t, a.json, "total.inputTokens"), "100");
    assert_string_equal(api_text(t, json_at(json_get(a.json, "rows"), 0), "model"), "demo:demo");
    a = api_get(t, "ben", "/v1/usage?from=2001-01-01&to=2001-02-01");
    assert_string_equal(api_part(t, a.json, "total.calls"), "0");
    assert_string_equal(api_text(t, a.json, "groupBy"), "day");
}

TEST_WITH(parameters_of_usage_are_checked, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(api_get(t, "ben", "/v1/usage?groupBy=planet"), 400, "bad_request",
                   "groupBy: expected day, model or user");
    assert_refused(api_get(t, "ben", "/v1/usage?from=yesterday"), 400, "bad_request",
                   "from: expected a date such as 2026-03-25");
    assert_refused(api_get(t, "ben", "/v1/usage?to=2026-13-01"), 400, "bad_request",
                   "to: expected a date such as 2026-03-25");
    assert_status(api_get(t, "cyd", "/v1/usage"), 403);
}

/* The job of a client that left must not answer. */
TEST_WITH(a_client_that_leaves_ends_its_totals, api_set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const char *const PATHS[] = {"/v1/usage", "/v1/conversations/stats"};
    api_conversation(t, "ben", "hello");
    for (size_t i = 0; i < ARRAY_LEN(PATHS); i++) {
        struct api_client *c = api_begin(t, "ben", "GET", PATHS[i], "", STR_NONE);
        rig_until(t->rig, t->space.users > 0 || c->is_over);
        api_client_close(c);
        rig_until(t->rig, t->space.users == 0);
    }
    assert_status(api_get(t, "ben", "/v1/usage"), 200);
}
