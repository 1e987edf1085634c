/* Links for people without an account (conversations/links.c, conversations/shared.c). */
#include "base/bytes/hash.h"
#include "base/clock.h"
#include "support/api_streams.h"
#include "support/stopped_clock.h"

static struct api_answer on(struct api_rig *t, const char *who, const char *method, const char *id,
                            const char *more, const char *body)
{
    return api_call(t, who, method, api_path(t, "/v1/conversations/%s/links%s", id, more), body);
}

static int links_on(void **state)
{
    int r = api_set_up(state);
    struct api_rig *t = *state;
    t->rig->config.features.public_links = true;
    return r;
}

/* The body with which the link is read. */
static const char *secret_of(struct api_rig *t, struct api_answer made)
{
    assert_status(made, 200);
    const char *path = api_text(t, made.json, "path");
    const char *slash = strchr(path, '/');
    assert_true(slash && strncmp(path, "shared.html#" RIG_WORKSPACE "/",
                                 sizeof("shared.html#" RIG_WORKSPACE)) == 0);
    return api_path(t, "{\"workspaceId\":\"" RIG_WORKSPACE "\",\"secret\":\"%s\"}", slash + 1);
}

static struct api_answer read_link(struct api_rig *t, const char *body)
{
    return api_call(t, "", "POST", "/v1/shared", body);
}

static void assert_gone(struct api_rig *t, const char *body)
{
    assert_refused(read_link(t, body), 404, "not_found",
                   "There is no such link, or it has expired.");
}

TEST_WITH(links_are_off_unless_the_setting_says_so, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    assert_status(read_link(t, link), 200);
    t->rig->config.features.public_links = false;
    assert_status(on(t, "ben", "POST", id, "", NULL), 403);
    assert_gone(t, link);
    struct api_answer list = on(t, "ben", "GET", id, "", NULL);
    assert_string_equal(api_part(t, list.json, "isOn"), "false");
}

TEST_WITH(a_link_shows_messages_without_people, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "what is this?");
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", "{\"expiresInDays\":1}"));
    struct api_answer page = read_link(t, link);
    assert_status(page, 200);
    const struct json *first = json_at(json_get(page.json, "messages"), 0);
    assert_string_equal(api_text(t, first, "role"), "user");
    assert_string_equal(api_text(t, first, "content"), "what is this?");
    assert_int_equal(json_get_int(first, "person", 0), 1);
    assert_null(json_get(first, "userId"));
    assert_true(json_get(page.json, "before")->type == JSON_NULL);
}

/* How many messages of the page have this text. */
static size_t count_shown(const struct api_answer *page, const char *text)
{
    const struct json *all = json_get(page->json, "messages");
    size_t n = 0;
    for (size_t i = 0; i < all->len; i++)
        n += str_eq(json_get_string(&all->items[i], "content"), str_from(text));
    return n;
}

static void say(struct api_rig *t, const char *id, const char *message, const char *more)
{
    const char *body =
        api_path(t, "{\"conversationId\":\"%s\",\"message\":\"%s\"%s}", id, message, more);
    struct api_answer a = api_call(t, "ben", "POST", "/v1/chat/start", body);
    assert_true(a.status == 200 || a.status == 202);
}

/* A second link shows what the first does not: the message has been stored then. */
TEST_WITH(messages_for_people_and_later_ones_are_not_shown, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "first");
    say(t, id, "between us", ",\"forPeople\":true");
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    model_says("later answer");
    assert_status(api_call(t, "ben", "POST", "/v1/chat",
                           api_path(t, "{\"conversationId\":\"%s\",\"message\":\"later\"}", id)),
                  200);
    struct api_answer page = read_link(t, link);
    assert_int_equal(count_shown(&page, "first"), 1);
    assert_int_equal(count_shown(&page, "between us"), 0);
    assert_int_equal(count_shown(&page, "later"), 0);
    page = read_link(t, secret_of(t, on(t, "ben", "POST", id, "", NULL)));
    assert_int_equal(count_shown(&page, "later"), 1);
    assert_int_equal(count_shown(&page, "later answer"), 1);
    assert_int_equal(count_shown(&page, "between us"), 0);
}

TEST_WITH(whatever_is_wrong_with_a_link_the_answer_is_the_same, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    assert_gone(t, "{\"workspaceId\":\"" RIG_WORKSPACE "\",\"secret\":\"guess\"}");
    assert_gone(t, "{\"workspaceId\":\"" RIG_WORKSPACE "\",\"secret\":\"\"}");
    assert_gone(t, "{\"workspaceId\":\"ws_none\",\"secret\":\"guess\"}");
    assert_gone(t, "{\"workspaceId\":\"../etc\",\"secret\":\"guess\"}");
    assert_status(read_link(t, "{\"secret\":\"guess\"}"), 400);
    assert_status(api_call(t, "ben", "DELETE", api_path(t, "/v1/conversations/%s", id), NULL), 200);
    assert_gone(t, link);
}

TEST_WITH(the_owner_revokes_a_link_and_so_does_an_admin, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *other = api_conversation(t, "ben", "another");
    struct api_answer made = on(t, "ben", "POST", id, "", NULL);
    const char *link = secret_of(t, made);
    const char *tail = api_path(t, "/%s", api_text(t, made.json, "id"));
    assert_status(on(t, "dan", "DELETE", id, tail, NULL), 404);    /* may not see it */
    assert_status(on(t, "ben", "DELETE", other, tail, NULL), 404); /* not one of it */
    assert_status(on(t, "ben", "DELETE", id, tail, NULL), 200);
    assert_gone(t, link);
    made = on(t, "ben", "POST", id, "", NULL);
    link = secret_of(t, made);
    const char *any = api_path(t, "/v1/links/%s", api_text(t, made.json, "id"));
    assert_status(api_call(t, "ben", "DELETE", any, NULL), 403);
    assert_status(api_call(t, "ana", "DELETE", any, NULL), 200);
    assert_gone(t, link);
}

TEST_WITH(a_link_ends_when_its_maker_leaves_the_workspace, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    api_set_role(t, "usr_ben", WS_NONE);
    assert_gone(t, link);
    api_set_role(t, "usr_ben", WS_MEMBER);
    assert_status(read_link(t, link), 200);
}

TEST_WITH(lists_have_no_secrets_and_days_are_bounded, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    static const char *const WRONG[] = {"{\"expiresInDays\":0}", "{\"expiresInDays\":366}",
                                        "{\"expiresInDays\":\"x\"}", "{\"forever\":true}"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        assert_status(on(t, "ben", "POST", id, "", WRONG[i]), 400);
    (void)secret_of(t, on(t, "ben", "POST", id, "", "{\"tools\":true}"));
    struct api_answer list = api_get(t, "ana", "/v1/links");
    assert_status(list, 200);
    const struct json *one = json_at(json_get(list.json, "links"), 0);
    assert_string_equal(api_text(t, one, "conversationId"), id);
    assert_string_equal(api_text(t, one, "by"), "usr_ben");
    assert_null(json_get(one, "path"));
    assert_true(json_get_bool(one, "tools", false));
}

TEST_WITH(one_address_sends_so_many_requests_in_a_minute, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    int status = 404;
    clock_stop();
    for (int i = 0; i < 250 && status == 404; i++)
        status =
            read_link(t, "{\"workspaceId\":\"" RIG_WORKSPACE "\",\"secret\":\"guess\"}").status;
    assert_int_equal(status, 429);
    clock_continue();
}

static struct api_space *find_none(void *ctx, str id)
{
    return NULL;
}

static struct peeks {
    unsigned opened, peeked;
    store_links_fn fn;
    void *ctx;
    struct share_links links;
    struct deferred later;
} peeks;

static struct api_space *open_counted(void *ctx, str id, struct err *e)
{
    peeks.opened++;
    return api_rig_open(ctx, id, e);
}

static void answer_peek(void *ctx)
{
    peeks.fn(peeks.ctx, NULL, &peeks.links);
}

static struct links_peek *peek(void *ctx, str id, store_links_fn fn, void *fn_ctx)
{
    struct api_rig *t = ctx;
    peeks.peeked++;
    peeks.fn = fn;
    peeks.ctx = fn_ctx;
    defer_start(t->rig->loop, &peeks.later);
    return (struct links_peek *)&peeks; /* nobody looks into it: no request ends before its reply */
}

/* A workspace that nobody uses: ben has made a link to a conversation of it. */
static const char *closed_space(struct api_rig *t, struct share_link *made)
{
    const char *id = api_conversation(t, "ben", "hello");
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    char hash[SHA256_HEX_LEN + 1];
    struct json *v;
    assert_int_equal(json_parse(&t->rig->arena, str_from(link), JSON_COPY, &v, NULL), 0);
    sha256_hex(json_get_string(v, "secret"), hash);
    *made = (struct share_link){.hash = arena_printf(&t->rig->arena, "%s", hash),
                                .by = STR("usr_ben"),
                                .expires_ms = clock_now_ms() + 3600 * 1000};
    peeks = (struct peeks){.links = {.items = made, .n = 1}};
    defer_init(&peeks.later, answer_peek, NULL);
    t->api->deps.find_space = find_none;
    t->api->deps.open_space = open_counted;
    t->api->deps.peek_links = peek;
    return link;
}

static void use_again(struct api_rig *t)
{
    t->api->deps.find_space = api_rig_find;
    t->api->deps.open_space = api_rig_open;
}

TEST_WITH(a_workspace_is_opened_only_for_a_link_that_works, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    struct share_link made;
    const char *link = closed_space(t, &made);
    const char *guess = "{\"workspaceId\":\"" RIG_WORKSPACE "\",\"secret\":\"guess\"}";
    assert_gone(t, guess);
    assert_int_equal(peeks.peeked, 1);
    t->rig->config.features.public_links = false; /* not even read */
    assert_gone(t, link);
    t->rig->config.features.public_links = true;
    assert_int_equal(peeks.peeked, 1);
    made.by = STR("usr_none"); /* is not a member */
    assert_gone(t, link);
    made.by = STR("usr_ben");
    made.expires_ms = 1;
    assert_gone(t, link);
    assert_int_equal(peeks.opened, 0);
    made.expires_ms = clock_now_ms() + 3600 * 1000;
    assert_status(read_link(t, link), 200);
    assert_int_equal(peeks.opened, 1);
    use_again(t);
}

/* Open, closed or not there: the ceiling says nothing about a workspace. */
TEST_WITH(too_many_requests_are_refused_alike, links_on, api_tear_down)
{
    static const char *const GUESSES[] = {
        "{\"workspaceId\":\"" RIG_WORKSPACE "\",\"secret\":\"guess\"}",
        "{\"workspaceId\":\"ws_none\",\"secret\":\"guess\"}",
    };
    struct api_rig *t = *state;
    struct share_link made;
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        if (is_closed)
            (void)closed_space(t, &made);
        for (size_t i = 0; i < ARRAY_LEN(GUESSES); i++) {
            assert_gone(t, GUESSES[i]);
            t->api->link_looks = 64;
            assert_status(read_link(t, GUESSES[i]), 503);
            t->api->link_looks = 0;
        }
    }
    assert_int_equal(peeks.peeked, 2); /* both are asked for */
    assert_int_equal(peeks.opened, 0);
    use_again(t);
}

TEST_WITH(the_title_is_that_of_the_moment, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "hello");
    const char *path = api_path(t, "/v1/conversations/%s", id);
    assert_status(api_call(t, "ben", "PATCH", path, "{\"title\":\"Then\"}"), 200);
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    assert_status(api_call(t, "ben", "PATCH", path, "{\"title\":\"Secret now\"}"), 200);
    struct api_answer page = read_link(t, link);
    assert_string_equal(api_text(t, page.json, "title"), "Then");
}

static void store_said(struct api_rig *t, const char *id, const char *who, const char *text)
{
    str line = arena_printf(&t->rig->arena,
                            "{\"type\":\"user.message\",\"userId\":\"%s\",\"content\":[{\"type\":"
                            "\"text\",\"text\":\"%s\"}]}",
                            who, text);
    rig_append(t->rig, id, line.p);
}

/* The newest page has the last of them, and not the first. */
TEST_WITH(people_keep_their_numbers_on_all_pages, links_on, api_tear_down)
{
    struct api_rig *t = *state;
    const char *id = api_conversation(t, "ben", "first");
    const char *early = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    char *big = arena_alloc(&t->rig->arena, 900 * 1024);
    memset(big, 'x', 900 * 1024 - 1);
    big[900 * 1024 - 1] = '\0';
    store_said(t, id, "usr_ana", "second");
    store_said(t, id, "usr_ben", big);
    store_said(t, id, "usr_ana", big);
    store_said(t, id, "usr_ana", "last");
    const char *link = secret_of(t, on(t, "ben", "POST", id, "", NULL));
    struct api_answer page = read_link(t, link);
    const struct json *all = json_get(page.json, "messages");
    assert_true(json_get_int(page.json, "before", 0) > 0);
    assert_string_equal(api_text(t, json_at(all, all->len - 1), "content"), "last");
    assert_int_equal(json_get_int(json_at(all, all->len - 1), "person", 0), 2);
    assert_int_equal(json_get_int(json_at(all, 0), "person", 0), 2);
    page = read_link(t, early);
    assert_int_equal(json_get_int(json_at(json_get(page.json, "messages"), 0), "person", 0), 1);
}
