/* GET /v1/audit, and records of whole requests. Ana owns the server. */
#include "support/api_rig.h"

/* Waits until everything is written, then asks as Ana. */
static struct api_answer read_log(struct api_rig *t, const char *query)
{
    rig_until(t->rig, audit_state(t->audit).waiting == 0);
    struct api_answer a = api_get(t, "ana", api_path(t, "/v1/audit%s", query));
    assert_status(a, 200);
    return a;
}

static const char *seqs(struct api_rig *t, const struct api_answer *a)
{
    const struct json *list = json_get(a->json, "records");
    const char *all = "";
    for (size_t i = 0; i < list->len; i++)
        all = api_path(t, "%s%s%s", all, i > 0 ? " " : "", api_part(t, &list->items[i], "seq"));
    return all;
}

/* Five records: 1 and 2 by Ana, 3 to 5 by Ben. */
static int set_up(void **state)
{
    api_set_up(state);
    struct api_rig *t = *state;
    assert_status(api_call(t, "ana", "PATCH", "/v1/users/usr_cyd", "{\"displayName\":\"C\"}"), 200);
    assert_status(api_call(t, "ana", "POST", "/v1/workspaces", "{\"name\":\"B\"}"), 200);
    for (int i = 0; i < 3; i++)
        assert_status(api_call(t, "ben", "DELETE", "/v1/users/usr_ana", NULL), 403);
    return 0;
}

TEST_WITH(the_newest_record_is_first_and_pages_go_back, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = read_log(t, "");
    assert_string_equal(seqs(t, &a), "5 4 3 2 1");
    assert_null(json_get(a.json, "next"));
    a = read_log(t, "?limit=2");
    assert_string_equal(seqs(t, &a), "5 4");
    assert_string_equal(api_part(t, a.json, "next"), "4");
    a = read_log(t, "?limit=2&before=4");
    assert_string_equal(seqs(t, &a), "3 2");
    a = read_log(t, "?limit=2&before=2");
    assert_string_equal(seqs(t, &a), "1");
    assert_null(json_get(a.json, "next"));
}

TEST_WITH(a_collector_goes_forward, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = read_log(t, "?after=0&limit=2");
    assert_string_equal(seqs(t, &a), "1 2");
    assert_string_equal(api_part(t, a.json, "next"), "2");
    a = read_log(t, "?after=4");
    assert_string_equal(seqs(t, &a), "5");
}

TEST_WITH(records_are_selected_by_actor_action_and_time, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = read_log(t, "?actor=usr_ana");
    assert_string_equal(seqs(t, &a), "2 1");
    a = read_log(t, "?action=user.*");
    assert_string_equal(seqs(t, &a), "5 4 3 1");
    a = read_log(t, "?action=user.*&actor=usr_ben&limit=1");
    assert_string_equal(seqs(t, &a), "5");
    a = read_log(t, "?since=2100-01-01");
    assert_string_equal(seqs(t, &a), "");
    const struct json *records = json_get(read_log(t, "?limit=1").json, "records");
    assert_string_equal(api_text(t, &records->items[0], "action"), "user.remove");
    assert_string_equal(api_text(t, &records->items[0], "outcome"), "denied");
    assert_string_equal(api_text(t, &records->items[0], "target"), "usr_ana");
}

TEST_WITH(lines_are_sent_byte_for_byte, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = read_log(t, "?format=jsonl&after=0&limit=3");
    assert_string_equal(api_header(t, &a, "Content-Type"), "application/jsonl; charset=utf-8");
    assert_string_equal(api_header(t, &a, "X-Next"), "3");
    str rest = a.body, line;
    struct audit_line l = {0};
    for (uint64_t seq = 1; str_split(&rest, '\n', &line) && line.n > 0; seq++) {
        assert_true(audit_line_read(line, &l));
        assert_true(l.is_true && l.seq == seq); /* the collector can check the chain */
    }
    assert_int_equal(l.seq, 3);
    rig_until(t->rig, audit_state(t->audit).waiting == 0);
    a = api_call_with(t, "ana", "GET", "/v1/audit", "Accept: application/x-ndjson\r\n", STR_NONE);
    assert_string_equal(api_header(t, &a, "Content-Type"), "application/jsonl; charset=utf-8");
    assert_string_equal(api_header(t, &a, "X-Next"), "");
}

TEST_WITH(a_bad_query_is_refused_with_the_reason, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    static const struct {
        const char *query, *words;
    } CASES[] = {
        {"?limit=1001", "limit: expected a whole number from 1 to 1000"},
        {"?limit=x", "limit: expected a whole number from 1 to 1000"},
        {"?before=0", "before: expected a whole number from 1 to 9223372036854775807"},
        {"?after=x", "after: expected the number of a record"},
        {"?since=yesterday", "since: expected a date such as 2026-03-25 or 2026-03-25T10:30:00Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_refused(api_get(t, "ana", api_path(t, "/v1/audit%s", CASES[i].query)), 400,
                       "bad_request", CASES[i].words);
}

TEST_WITH(only_owners_read_the_log_and_attempts_are_recorded, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    assert_refused(api_get(t, "ben", "/v1/audit"), 403, "forbidden",
                   "Only owners of the server may do this.");
    struct api_answer a = read_log(t, "?limit=1");
    const struct json *last = &json_get(a.json, "records")->items[0];
    assert_string_equal(api_text(t, last, "action"), "audit.read");
    assert_string_equal(api_text(t, last, "actor.user"), "usr_ben");
}

TEST_WITH(a_log_that_cannot_be_read_is_an_error_of_the_server, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    rig_until(t->rig, audit_state(t->audit).waiting == 0);
    const char *dir = api_path(t, "%s/" AUDIT_DIR, t->rig->dir.path);
    const char *aside = api_path(t, "%s-aside", dir);
    assert_int_equal(rename(dir, aside), 0);
    assert_int_equal(file_write_atomic(dir, STR("not a directory"), 0600, NULL), 0);
    struct api_answer a = api_get(t, "ana", "/v1/audit");
    assert_int_equal(unlink(dir), 0);
    assert_int_equal(rename(aside, dir), 0);
    assert_refused(a, 500, "internal_error", "The audit log cannot be read. See the server's log.");
}

TEST_WITH(a_client_that_leaves_while_the_log_is_read_is_forgotten, set_up, api_tear_down)
{
    struct api_rig *t = *state;
    struct http_stats before, now;
    http_server_stats(t->http, &before);
    struct api_client *c = api_begin(t, "ana", "GET", "/v1/audit", "", STR_NONE);
    api_client_close(c);
    rig_until(t->rig, (http_server_stats(t->http, &now), now.conns == 0));
    assert_status(api_get(t, "ana", "/v1/audit"), 200);
}
