/* Files of the caller as resources: nb://files/<id>. */
#include "attach/upload.h"
#include "support/gateway_rig.h"

static struct attach *files;
static struct tool_source source;
static struct tool tools[2];
static const char *made; /* the id of the last file */

static const struct tool *list_tools(void *self, size_t *ret_n)
{
    *ret_n = ARRAY_LEN(tools);
    return tools;
}

static void start_none(void *self, struct tool_call *c)
{
    fail_msg("resources are not read by a call");
}

static void cancel_none(void *self, struct tool_call *c) {}

static int set_up(void **state)
{
    struct err e = {0};
    int r = gw_set_up(state);
    struct runtime_deps *deps = (struct runtime_deps *)runtime_deps(gw.base->runtime);
    struct attach_conf conf = {arena_printf(gw.arena, "%s/files", gw.base->root).p, 16u << 20,
                               64u << 20};
    files = attach_new(gw.base->loop, gw.base->pool, &conf);
    deps->files = files;
    tools[0] = (struct tool){.name = STR("list"), .input_schema = gw_json("{'type':'object'}")};
    tools[1] = (struct tool){.name = STR("read"), .input_schema = gw_json("{'type':'object'}")};
    source = (struct tool_source){
        .name = "files", .list = list_tools, .start = start_none, .cancel = cancel_none};
    assert_int_equal(registry_add_source(gw.base->tools, &source, &e), 0);
    return r;
}

static int tear_down(void **state)
{
    struct rig *r = *state;
    registry_remove_source(r->tools, &source);
    attach_close(files);
    return gw_tear_down(state);
}

#define TEST_FILES(name) TEST_WITH(name, set_up, tear_down)

static void on_room(void *ctx) {}

static void on_given(void *ctx, const struct err *err, const struct attached *file)
{
    assert_null(err);
    made = arena_cstr(gw.arena, file->id);
}

static const char *give(const char *user_id, const char *name, str bytes)
{
    static const struct upload_events EVENTS = {on_room, on_given};
    struct upload *u = upload_new(files, str_from(user_id), &EVENTS, NULL);
    made = NULL;
    upload_name(u, str_from(name));
    (void)upload_write(u, bytes);
    upload_finish(u);
    gw_until(made);
    return made;
}

static const char *address(const char *id)
{
    return arena_printf(gw.arena, "{'uri':'nb://files/%s'}", id).p;
}

TEST_FILES(both_eras_list_and_read_the_files_of_the_caller)
{
    const char *id = give("usr_ana", "a.txt", STR("hello")), *session = gw_open();
    const char *listed =
        arena_printf(gw.arena,
                     "{'result':{'resources':[{'uri':'nb://files/%s','name':'a.txt','mimeType':"
                     "'text/plain','size':5},{'uri':'x://one'}]}}",
                     id)
            .p;
    assert_like(gw_reply(gw_modern("resources/list", "{}")), listed);
    assert_like(gw_reply(gw_legacy(session, "resources/list", "{}")), listed);
    const char *read = "{'result':{'contents':[{'mimeType':'text/plain','text':'hello'}]}}";
    assert_like(gw_reply(gw_modern("resources/read", address(id))), read);
    assert_like(gw_reply(gw_legacy(session, "resources/read", address(id))), read);
    assert_like(gw_reply(gw_modern_at("/mcp/files", "", "resources/list", "{}")),
                "{'result':{'resources':[{'name':'a.txt'}]}}");
    gw_modern_at("/mcp/old", "", "resources/read", address(id)); /* an address of that server */
    gw_answer(gw_heard("resources/read"), "{'contents':[]}");
}

TEST_FILES(what_is_not_text_is_a_blob)
{
    const char *id = give("usr_ana", "p.pdf", STR("%PDF-1.7\n\x01"));
    assert_like(gw_reply(gw_modern("resources/read", address(id))),
                "{'result':{'contents':[{'mimeType':'application/pdf','blob':'JVBERi0xLjcKAQ==',"
                "'text':null}]}}");
}

TEST_FILES(nobody_else_has_them)
{
    const char *id = give("usr_ana", "a.txt", STR("secret"));
    gw.who = gw.base->ben;
    assert_like(gw_reply(gw_modern("resources/read", address(id))),
                "{'error':{'message':'Resource not found'}}");
    assert_like(gw_reply(gw_modern("resources/list", "{}")),
                "{'result':{'resources':[{'uri':'x://one'}]}}");
    give("usr_ben", "b.txt", STR("mine"));
    static const char *const WRONG[] = {"b.txt", "../b.txt", "", "file_0"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        assert_like(gw_reply(gw_modern("resources/read", address(WRONG[i]))),
                    "{'error':{'message':'Resource not found'}}");
    assert_not_heard("resources/read"); /* no server is asked for a file */
}

TEST_FILES(a_token_without_the_tool_has_no_files)
{
    const char *id = give("usr_ana", "a.txt", STR("secret"));
    gw.who = gw_actor((struct principal){.user_id = STR("usr_ana")}, "['new__*']");
    assert_like(gw_reply(gw_modern("resources/read", address(id))), "{'result':null}");
    assert_like(gw_reply(gw_modern("resources/list", "{}")),
                "{'result':{'resources':[{'uri':'x://one'}]}}");
}

TEST_FILES(a_server_cannot_take_the_place_of_a_file)
{
    const char *id = give("usr_ana", "a.txt", STR("true"));
    gw_serve("old", "resources/list",
             arena_printf(gw.arena, "{'resources':[{'uri':'nb://files/%s','name':'evil'}]}", id).p);
    assert_like(gw_reply(gw_modern("resources/list", "{}")),
                "{'result':{'resources':[{'name':'a.txt'},{'uri':'x://one'}]}}");
    assert_like(gw_reply(gw_modern("resources/read", address(id))),
                "{'result':{'contents':[{'text':'true'}]}}");
}

TEST_FILES(a_file_above_the_limit_is_refused_and_a_client_may_leave)
{
    size_t n = (8u << 20) + 1;
    char *bytes = xcalloc(1, n);
    memset(bytes, 'x', n);
    const char *large = give("usr_ana", "large.txt", str_make(bytes, n));
    const char *id = give("usr_ana", "just.txt", str_make(bytes, n - 1));
    free(bytes);
    assert_like(gw_reply(gw_modern("resources/read", address(large))), "{'error':{'code':-32602}}");
    gw_leave(gw_modern("resources/read", address(id)));
    gw_settle();
    assert_like(gw_reply(gw_modern("resources/read", address(id))),
                "{'result':{'contents':[{'mimeType':'text/plain'}]}}");
}
