/* Lists of resources, templates and prompts of all bundles: collecting, caching, routing. */
#include "gateway/methods/catalog.h"
#include "support/gateway_rig.h"

static const struct json *list(const char *method)
{
    return gw_reply(gw_modern(method, "{}"));
}

static size_t times_heard(const char *method)
{
    size_t n = 0;
    gw_settle();
    for (size_t i = 0; i < gw.nheard; i++)
        n += str_eq(gw.heard[i].m.method, str_from(method));
    return n;
}

static void without_announcements(struct bundle *b)
{
    b->capabilities = gw_json("{'tools':{},'resources':{},'prompts':{}}");
}

/* ---- lists ---- */

TEST_GATEWAY(a_list_has_the_entries_of_all_servers)
{
    gw_serve("old", "resources/list", "{'resources':[{'uri':'o://1','name':'o'}]}");
    assert_like(list("resources/list"), "{'result':{'resources':[{'uri':'x://one','name':'one'},"
                                        "{'uri':'o://1','name':'o'}]}}");
    assert_like(list("resources/templates/list"),
                "{'result':{'resourceTemplates':[{'uriTemplate':'y://{id}/z'},{}]}}");
}

TEST_GATEWAY(prompts_have_the_prefix_of_their_source)
{
    assert_like(list("prompts/list"),
                "{'result':{'prompts':[{'name':'new__p'},{'name':'old__p'}]}}");
    assert_like(gw_reply(gw_modern_at("/mcp/old", "", "prompts/list", "{}")),
                "{'result':{'prompts':[{'name':'p'}]}}");
}

TEST_GATEWAY(an_address_that_two_servers_list_belongs_to_the_first)
{
    gw_serve("old", "resources/list", "{'resources':[{'uri':'x://one','name':'second'}]}");
    assert_like(list("resources/list"), "{'result':{'resources':[{'name':'one'}]}}");
}

TEST_GATEWAY(all_pages_of_a_server_are_fetched)
{
    gw_serve("old", "prompts/list", NULL);
    struct gw_client *c = gw_modern_at("/mcp/old", "", "prompts/list", "{}");
    struct gw_heard *h = gw_heard("prompts/list");
    assert_null(json_get(h->m.params, "cursor"));
    gw_answer(h, "{'prompts':[{'name':'a'}],'nextCursor':'2'}");
    h = gw_heard("prompts/list");
    assert_like(h->m.params, "{'cursor':'2'}");
    gw_answer(h, "{'prompts':[{'name':'b'}]}");
    assert_like(gw_reply(c), "{'result':{'prompts':[{'name':'a'},{'name':'b'}]}}");
}

TEST_GATEWAY(a_server_whose_pages_do_not_end_is_stopped_at_an_empty_one)
{
    gw_serve("old", "prompts/list", NULL);
    struct gw_client *c = gw_modern_at("/mcp/old", "", "prompts/list", "{}");
    gw_answer(gw_heard("prompts/list"), "{'prompts':[{'name':'a'}],'nextCursor':'2'}");
    gw_answer(gw_heard("prompts/list"), "{'prompts':[],'nextCursor':'2'}");
    assert_like(gw_reply(c), "{'result':{'prompts':[{'name':'a'}]}}");
}

TEST_GATEWAY(requests_that_arrive_together_share_one_fetch)
{
    gw_serve("old", "prompts/list", NULL);
    struct gw_client *a = gw_modern("prompts/list", "{}"), *b = gw_modern("prompts/list", "{}");
    struct gw_heard *h = gw_heard("prompts/list");
    while (strcmp(h->peer->name, "old") != 0)
        h = gw_heard("prompts/list");
    gw_settle();
    gw_answer(h, "{'prompts':[{'name':'shared'}]}");
    assert_like(gw_reply(a), "{'result':{'prompts':[{},{'name':'old__shared'}]}}");
    assert_like(gw_reply(b), "{'result':{'prompts':[{},{'name':'old__shared'}]}}");
    assert_int_equal(times_heard("prompts/list"), 2); /* one for each server */
}

TEST_GATEWAY(a_list_is_cached_until_the_server_announces_a_change)
{
    (void)list("prompts/list");
    (void)list("prompts/list");
    assert_int_equal(times_heard("prompts/list"), 2);
    gw_serve("old", "prompts/list", "{'prompts':[{'name':'fresh'}]}");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_PROMPTS);
    assert_like(list("prompts/list"), "{'result':{'prompts':[{},{'name':'old__fresh'}]}}");
    assert_int_equal(times_heard("prompts/list"), 3); /* only the changed one */
}

TEST_GATEWAY(changed_resources_include_their_templates)
{
    (void)list("resources/templates/list");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_RESOURCES);
    (void)list("resources/templates/list");
    assert_int_equal(times_heard("resources/templates/list"), 3);
}

TEST_GATEWAY(a_restarted_server_is_asked_again_for_everything)
{
    (void)list("resources/list");
    (void)list("prompts/list");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_STATE);
    (void)list("resources/list");
    (void)list("prompts/list");
    assert_int_equal(times_heard("resources/list"), 3);
    assert_int_equal(times_heard("prompts/list"), 3);
}

TEST_GATEWAY(the_lifetime_of_a_list_follows_from_what_the_server_says)
{
    static const struct {
        const char *ttl;
        int64_t shown;
    } ROWS[] = {
        {"", 0}, /* it announces nothing: short, so clients must not cache it */
        {"'ttlMs':60000,", 60000},
        {"'ttlMs':100,", 0}, /* less than the gateway caches anyway */
        {"'ttlMs':999999999,", 0},
    };
    without_announcements(gw.new);
    without_announcements(gw.old);
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        str result = arena_printf(gw.arena, "{%s'prompts':[]}", ROWS[i].ttl);
        gw_serve("old", "prompts/list", result.p);
        gw_serve("new", "prompts/list", result.p);
        gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_PROMPTS);
        gateway_bundle_changed(gw.g, gw.base->tools, gw.new, BUNDLE_PROMPTS);
        const struct json *shown = json_get(list("prompts/list"), "result");
        assert_int_equal(json_get_int(shown, "ttlMs", -1), ROWS[i].shown);
    }
}

/* ---- servers that do not answer ---- */

TEST_GATEWAY(a_server_that_fails_is_left_out)
{
    gw_serve("old", "prompts/list", NULL);
    struct gw_client *c = gw_modern("prompts/list", "{}");
    struct gw_heard *h = gw_heard("prompts/list");
    while (strcmp(h->peer->name, "old") != 0)
        h = gw_heard("prompts/list");
    gw_fail(h, "{'code':-32603,'message':'broken'}");
    assert_like(gw_reply(c), "{'result':{'prompts':[{'name':'new__p'}]}}");
    gw_serve("old", "prompts/list", "{'prompts':7}"); /* not a list */
    assert_like(list("prompts/list"), "{'result':{'prompts':[{'name':'new__p'}]}}");
}

TEST_GATEWAY(servers_that_do_not_run_are_not_waited_for_unless_they_are_named)
{
    gw.old->capabilities = NULL;
    assert_like(list("prompts/list"), "{'result':{'prompts':[{'name':'new__p'}]}}");
    assert_like(gw_reply(gw_modern_at("/mcp/old", "", "prompts/list", "{}")),
                "{'result':{'prompts':[{'name':'p'}]}}");
}

TEST_GATEWAY(a_server_without_the_capability_is_not_asked)
{
    gw.old->capabilities = gw_json("{'tools':{}}");
    gw.new->capabilities = gw_json("{'tools':{}}");
    assert_like(list("prompts/list"), "{'result':{'prompts':[]}}");
    assert_int_equal(times_heard("prompts/list"), 0);
}

TEST_GATEWAY(a_cancelled_list_leaves_the_fetch_to_others)
{
    gw_serve("old", "prompts/list", NULL);
    struct gw_client *a = gw_modern("prompts/list", "{}"), *b = gw_modern("prompts/list", "{}");
    struct gw_heard *h = gw_heard("prompts/list");
    while (strcmp(h->peer->name, "old") != 0)
        h = gw_heard("prompts/list");
    gw_settle();
    gw_leave(a);
    gw_answer(h, "{'prompts':[]}");
    assert_like(gw_reply(b), "{'result':{'prompts':[{'name':'new__p'}]}}");
}

TEST_GATEWAY(a_bundle_that_is_removed_meanwhile_is_left_out)
{
    gw_serve("old", "prompts/list", NULL);
    struct gw_client *c = gw_modern("prompts/list", "{}");
    (void)gw_heard("prompts/list");
    (void)gw_heard("prompts/list");
    gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_REMOVED);
    gw.bundles.n = 1;
    assert_like(gw_reply(c), "{'result':{'prompts':[{'name':'new__p'}]}}");
}

/* ---- the bundle of an address ---- */

/* The bundle that gets resources/read for this address. */
static const char *read_by(const char *uri)
{
    struct gw_client *c =
        gw_modern("resources/read", arena_printf(gw.arena, "{'uri':'%s'}", uri).p);
    struct gw_heard *h = gw_heard("resources/read");
    const char *name = h->peer->name;
    gw_answer(h, "{'contents':[{'uri':'u','text':'x'}]}");
    assert_like(gw_reply(c), "{'result':{'contents':[{}]}}");
    return name;
}

TEST_GATEWAY(an_address_is_read_from_the_server_that_lists_it)
{
    gw_serve("old", "resources/list", "{'resources':[{'uri':'o://1','name':'o'}]}");
    assert_string_equal(read_by("o://1"), "old");
    assert_string_equal(read_by("x://one"), "new");
}

TEST_GATEWAY(an_interface_is_read_from_the_server_whose_tool_names_it)
{
    const char *tool = "{'name':'t','_meta':{'ui/resourceUri':'ui://app'}}";
    gw_serve("new", "resources/list", "{'resources':[{'uri':'ui://app','name':'other'}]}");
    gw.old->tools[0] = gw_json(tool);
    registry_changed(gw.base->tools, &gw.sources[1]);
    assert_string_equal(read_by("ui://app"), "old");
    gw.new->tools[0] = gw_json(tool); /* both name it: the list decides */
    registry_changed(gw.base->tools, &gw.sources[0]);
    assert_string_equal(read_by("ui://app"), "new");
}

TEST_GATEWAY(an_address_is_read_from_the_server_whose_template_fits)
{
    static const struct {
        const char *pattern, *uri;
        bool fits;
    } ROWS[] = {
        {"a://{id}", "a://7", true},
        {"a://{id}", "b://7", false},
        {"a://{id}/end", "a://7/end", true},
        {"a://{id}/end", "a://7/start", false},
        {"a://{x}{y}", "a://any/thing", true},
        {"a://{x", "a://7", false},
        {"a://fix", "a://fix", true},
        {"a://fix", "a://fixed", false},
        {"a://{x}-{y}.md", "a://1-2.md", true},
    };
    gw_serve("new", "resources/templates/list", "{'resourceTemplates':[]}");
    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        gw_serve("old", "resources/templates/list",
                 arena_printf(gw.arena, "{'resourceTemplates':[{'uriTemplate':'%s','name':'n'}]}",
                              ROWS[i].pattern)
                     .p);
        gateway_bundle_changed(gw.g, gw.base->tools, gw.old, BUNDLE_RESOURCES);
        /* without a template that fits, the servers are tried in turn, and "new" is the first */
        assert_string_equal(read_by(ROWS[i].uri), ROWS[i].fits ? "old" : "new");
        gw.nrows--;
    }
}

TEST_GATEWAY(an_unknown_address_is_tried_at_each_server)
{
    struct gw_client *c = gw_modern("resources/read", "{'uri':'z://1'}");
    struct gw_heard *h = gw_heard("resources/read");
    assert_string_equal(h->peer->name, "new");
    gw_fail(h, "{'code':-32602,'message':'not mine'}");
    h = gw_heard("resources/read");
    assert_string_equal(h->peer->name, "old");
    gw_answer(h, "{'contents':[]}"); /* nothing is not an answer */
    assert_like(gw_reply(c), "{'error':{'code':-32602,'message':'Resource not found','data':{"
                             "'uri':'z://1'}}}");
    c = gw_legacy(gw_open(), "resources/read", "{'uri':'z://1'}");
    gw_fail(gw_heard("resources/read"), "{'code':-32602,'message':'not mine'}");
    gw_fail(gw_heard("resources/read"), "{'code':-32002,'message':'not mine'}");
    assert_like(gw_reply(c), "{'error':{'code':-32002,'data':{'uri':'z://1'}}}");
}

TEST_GATEWAY(a_read_needs_an_address)
{
    assert_like(gw_reply(gw_legacy(gw_open(), "resources/read", "{}")),
                "{'error':{'code':-32602}}");
    assert_int_equal(gw.nheard, 0);
}

/* ---- prompts and completion ---- */

TEST_GATEWAY(a_prompt_is_found_by_its_public_name)
{
    struct gw_client *c = gw_modern("prompts/get", "{'name':'old__p','arguments':{'a':'1'}}");
    struct gw_heard *h = gw_heard("prompts/get");
    assert_string_equal(h->peer->name, "old");
    assert_like(h->m.params, "{'name':'p','arguments':{'a':'1'}}");
    gw_answer(h, "{'messages':[]}");
    assert_like(gw_reply(c), "{'result':{'messages':[]}}");
    assert_like(gw_reply(gw_modern("prompts/get", "{'name':'p'}")),
                "{'error':{'code':-32602,'message':'Unknown prompt: p'}}");
    assert_like(gw_reply(gw_legacy(gw_open(), "prompts/get", "{}")), "{'error':{'code':-32602}}");
}

TEST_GATEWAY(a_completion_goes_to_the_server_of_its_prompt_or_template)
{
    (void)gw_modern("completion/complete",
                    "{'ref':{'type':'ref/prompt','name':'old__p'},'argument':{'name':'a'}}");
    struct gw_heard *h = gw_heard("completion/complete");
    assert_string_equal(h->peer->name, "old");
    assert_like(h->m.params, "{'ref':{'type':'ref/prompt','name':'p'},'argument':{'name':'a'}}");
    (void)gw_modern("completion/complete",
                    "{'ref':{'type':'ref/resource','uri':'y://{id}/z'},'argument':{'name':'id'}}");
    assert_like(gw_heard("completion/complete")->m.params, "{'ref':{'uri':'y://{id}/z'}}");
}

TEST_GATEWAY(a_completion_needs_a_reference_that_exists)
{
    static const char *const PARAMS[] = {
        "{}",
        "{'ref':{'type':'ref/other','name':'p'}}",
        "{'ref':{'type':'ref/resource'}}",
        "{'ref':{'type':'ref/resource','uri':'none://'}}",
        "{'ref':{'type':'ref/prompt','name':'none'}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(PARAMS); i++)
        assert_like(gw_reply(gw_modern("completion/complete", PARAMS[i])),
                    "{'error':{'code':-32602}}");
    assert_int_equal(times_heard("completion/complete"), 0);
}
