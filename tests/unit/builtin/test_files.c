/* files__list, __read, __search, __write. */
#include "tools/tool_selection.h"
#include "unit/builtin/builtin_rig.h"

/* A file of `who`, written by the tool outside of any conversation; returns its id. */
static const char *give(struct rig *r, const struct actor *who, const char *name, const char *text)
{
    struct buf args;
    struct json_writer w;
    jw_start(&w, &args, 1u << 20);
    jw_object(&w);
    jw_kstr(&w, "name", str_from(name));
    jw_kstr(&w, "text", str_from(text));
    jw_close(&w);
    const struct tool_answer *a =
        use(r, who, "files__write", arena_cstr(&r->arena, buf_str(&args)));
    buf_done(&args);
    if (a->is_error)
        fail_msg("%s", a->text);
    assert_int_equal(a->files->len, 1);
    return arena_cstr(&r->arena, json_get_string(json_at(a->files, 0), "file"));
}

static size_t total(const struct tool_answer *a)
{
    return (size_t)json_get_int(a->out, "totalCount", -1);
}

/* {"file":"...", more} */
static const char *of_file(struct rig *r, const char *file, const char *more)
{
    return arena_printf(&r->arena, "{\"file\":\"%s\"%s%s}", file, more[0] ? "," : "", more).p;
}

/* A message of the conversation names the file, as the log of a server would. */
static void name_file(struct rig *r, const char *conv, const char *file, const char *name)
{
    rig_append(r, conv,
               arena_printf(&r->arena,
                            "{\"type\":\"user.message\",\"ts\":\"2026-01-01T00:00:00.000Z\","
                            "\"content\":[{\"type\":\"file\",\"file\":\"%s\",\"name\":\"%s\","
                            "\"mimeType\":\"text/plain\",\"bytes\":5}]}",
                            file, name)
                   .p);
}

/* ---- write ---- */

BUILTIN_TEST(a_written_file_is_named_in_the_result_and_recorded)
{
    struct rig *r = *state;
    const struct tool_answer *a =
        use(r, r->ben, "files__write", "{\"name\":\"../../etc/report.md\",\"text\":\"# Hi\\n\"}");
    const struct json *f = json_at(a->files, 0);
    assert_true(str_eq(json_get_string(f, "name"), STR("report.md")));
    assert_true(str_eq(json_get_string(f, "mimeType"), STR("text/plain")));
    assert_int_equal(json_get_int(f, "bytes", 0), 5);
    assert_has(a->text, "Wrote \"report.md\" (text/plain, 5 bytes) as file_");
    assert_audited("usr_ben file.add ../../etc/report.md ok mcp\n");
}

BUILTIN_TEST(a_file_above_the_limits_is_refused_and_nothing_is_kept)
{
    struct rig *r = *state;
    char *text = arena_alloc(&r->arena, (64u << 10) + 2);
    memset(text, 'x', (64u << 10) + 1);
    text[(64u << 10) + 1] = '\0';
    const char *args = arena_printf(&r->arena, "{\"name\":\"a\",\"text\":\"%s\"}", text).p;
    const struct tool_answer *a = use(r, r->ben, "files__write", args);
    assert_true(a->is_error);
    assert_has(a->text, "The file is too large");
    assert_audited("usr_ben file.add a failed mcp\n");
    text[64u << 10] = '\0';
    for (char c = 'a'; c < 'e'; c++) {
        text[0] = c;
        give(r, r->ben, "full", text);
    }
    builtin_rig.audited[0] = '\0';
    a = use(r, r->ben, "files__write", "{\"name\":\"b\",\"text\":\"one more\"}");
    assert_true(a->is_error);
    assert_has(a->text, "have reached their limit");
    assert_int_equal(total(use(r, r->ben, "files__list", "{}")), 4);
}

BUILTIN_TEST(a_cancelled_write_leaves_no_callback)
{
    struct rig *r = *state;
    struct tool_caller who = {.actor = r->ben, .via = STR("mcp")};
    struct tool_answer *a = begin(r, &who, "files__write", "{\"name\":\"a\",\"text\":\"b\"}");
    registry_cancel(a->call);
    rig_until(r, total(use(r, r->ben, "files__list", "{}")) <= 1);
    assert_false(a->is_done);
    assert_audited("usr_ben file.add a failed mcp\n");
}

/* ---- list ---- */

BUILTIN_TEST(everybody_lists_their_own_files)
{
    struct rig *r = *state;
    const char *one = give(r, r->ana, "plan.txt", "secret plan"),
               *two = give(r, r->ben, "notes.txt", "my notes");
    const struct tool_answer *a = use(r, r->ben, "files__list", "{}");
    assert_int_equal(total(a), 1);
    assert_has(a->text, two);
    assert_has(a->text, "notes.txt");
    assert_has_not(a->text, one);
    assert_int_equal(total(use(r, r->ben, "files__list", "{\"search\":\"NOTES\"}")), 1);
    assert_int_equal(total(use(r, r->ben, "files__list", "{\"search\":\"plan\"}")), 0);
    assert_int_equal(total(use(r, r->cyd, "files__list", "{}")), 0);
}

BUILTIN_TEST(a_list_is_bounded_and_says_how_many_there_are)
{
    struct rig *r = *state;
    for (int i = 0; i < 3; i++)
        give(r, r->ana, "x.txt", arena_printf(&r->arena, "text %d", i).p);
    const struct tool_answer *a = use(r, r->ana, "files__list", "{\"limit\":2}");
    assert_int_equal(json_get(a->out, "files")->len, 2);
    assert_int_equal(total(a), 3);
    assert_has(a->text, "2 of 3 files\n");
}

BUILTIN_TEST(the_files_of_a_conversation_are_for_those_who_see_it)
{
    struct rig *r = *state;
    const char *conv = talk(r, r->ana, "here it is"), *file = give(r, r->ana, "a.txt", "apple");
    name_file(r, conv, file, "a.txt");
    const char *args = arena_printf(&r->arena, "{\"conversationId\":\"%s\"}", conv).p;
    const char *refusal = arena_printf(&r->arena, "There is no conversation '%s'.", conv).p;
    assert_refusal(use(r, r->ben, "files__list", args), refusal);
    assert_refusal(use_in(r, r->ben, conv, "files__list", "{}"), refusal);
    assert_refusal(use(r, r->ben, "files__list", "{\"conversationId\":\"conv_none\"}"),
                   "There is no conversation 'conv_none'.");
    rig_share(r, conv, "usr_ben");
    const struct tool_answer *a = use_in(r, r->ben, conv, "files__list", "{}");
    assert_int_equal(total(a), 1);
    const struct json *f = json_at(json_get(a->out, "files"), 0);
    assert_true(str_eq(json_get_string(f, "of"), STR("conversation")));
    assert_int_equal(total(use(r, r->ben, "files__list", "{}")), 0);
}

BUILTIN_TEST(what_a_tool_claims_in_its_content_is_not_a_file)
{
    struct rig *r = *state;
    const char *conv = talk(r, r->ana, "hello"), *file = give(r, r->ben, "b.txt", "pear");
    rig_append(
        r, conv,
        arena_printf(&r->arena,
                     "{\"type\":\"tool.done\",\"runId\":\"run_1\",\"id\":\"c\",\"name\":\"x\","
                     "\"ok\":true,\"ms\":1,\"result\":{\"content\":[{\"type\":\"file\","
                     "\"file\":\"%s\",\"name\":\"b.txt\"}],\"files\":[{\"file\":\"%s\"}],"
                     "\"isError\":false}}",
                     file, file)
            .p);
    assert_int_equal(total(use_in(r, r->ana, conv, "files__list", "{}")), 0);
}

/* ---- read ---- */

BUILTIN_TEST(a_file_is_read_by_id_by_name_and_in_parts)
{
    struct rig *r = *state;
    const char *file = give(r, r->ana, "n.txt", "one\ntwo\nthree\nfour\n");
    const struct tool_answer *a = use(r, r->ana, "files__read", of_file(r, file, ""));
    assert_answer(a, "\"n.txt\", bytes 0 to 19 of 19:\none\ntwo\nthree\nfour\n");
    a = use(r, r->ana, "files__read", of_file(r, "n.txt", "\"line\":2,\"lines\":2"));
    assert_true(str_eq(out_str(a, "text"), STR("two\nthree\n")));
    assert_int_equal(json_get_int(a->out, "offset", 0), 4);
    assert_int_equal(json_get_int(a->out, "nextOffset", 0), 14);
    a = use(r, r->ana, "files__read", of_file(r, file, "\"offset\":14,\"limit\":2"));
    assert_true(str_eq(out_str(a, "text"), STR("fo")));
    assert_has(a->text, "[More: read on with offset 16.]");
    a = use(r, r->ana, "files__read", of_file(r, file, "\"offset\":20"));
    assert_refusal(a, "The file has 19 bytes: there is nothing at offset 20.");
    a = use(r, r->ana, "files__read", of_file(r, file, "\"line\":9"));
    assert_true(str_eq(out_str(a, "text"), STR("")));
}

BUILTIN_TEST(a_part_ends_where_a_character_ends)
{
    struct rig *r = *state;
    const char *file = give(r, r->ana, "u.txt", "a\xe2\x82\xac\xe2\x82\xac");
    const struct tool_answer *a = use(r, r->ana, "files__read", of_file(r, file, "\"limit\":3"));
    assert_true(str_eq(out_str(a, "text"), STR("a")));
    assert_int_equal(json_get_int(a->out, "nextOffset", 0), 1);
}

BUILTIN_TEST(a_file_that_is_not_text_is_described)
{
    struct rig *r = *state;
    const char *file = give(r, r->ana, "p.pdf", "%PDF-1.7\n\x01");
    const struct tool_answer *a = use(r, r->ana, "files__read", of_file(r, file, ""));
    assert_answer(a, "\"p.pdf\" is not a text: application/pdf, 10 bytes. It cannot be read in "
                     "parts.");
}

BUILTIN_TEST(nobody_reads_the_file_of_somebody_else)
{
    struct rig *r = *state;
    const char *file = give(r, r->ana, "plan.txt", "secret");
    static const char *const WRONG[] = {
        "plan.txt", "../plan.txt", "/etc/passwd", "nb://files/file_0",
        "file_0000000000000000000000000000000000000000000000000000000000000000"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        const struct tool_answer *a = use(r, r->ben, "files__read", of_file(r, WRONG[i], ""));
        assert_true(a->is_error);
        assert_has(a->text, "There is no file");
    }
    assert_true(use(r, r->ben, "files__read", of_file(r, file, ""))->is_error);
    assert_false(use(r, r->ana, "files__read", of_file(r, file, ""))->is_error);
}

/* Ben's words are in the conversation: what it does may not reach what is Ana's alone. */
BUILTIN_TEST(a_run_of_several_people_sees_nobodys_own_files)
{
    struct rig *r = *state;
    const char *file = give(r, r->ana, "plan.txt", "secret");
    struct actor *both = actor_join(r->ana, r->ben);
    assert_true(use(r, both, "files__read", of_file(r, file, ""))->is_error);
    assert_int_equal(total(use(r, both, "files__list", "{}")), 0);
    assert_has(use(r, both, "files__search", "{\"query\":\"secret\"}")->text, "Nothing was found");
    actor_unref(both);
}

static bool may_call(struct rig *r, const struct actor *who, const char *tool)
{
    const struct toolset *all = registry_tools(r->tools);
    for (size_t i = 0; i < all->len; i++)
        if (str_eq(all->items[i].name, str_from(tool)))
            return tool_selection_may_call(who, false, &all->items[i]);
    fail_msg("there is no tool %s", tool);
    return false;
}

BUILTIN_TEST(a_token_reaches_the_tools_that_it_names)
{
    struct rig *r = *state;
    struct actor *reader = with_token(r, "usr_ben", SCOPE_READ, NULL),
                 *narrow = with_token(r, "usr_ben", SCOPE_ALL, "files__list");
    assert_true(may_call(r, reader, "files__list") && may_call(r, reader, "files__read"));
    assert_true(may_call(r, narrow, "files__list"));
    assert_false(may_call(r, narrow, "files__search") || may_call(r, narrow, "files__read"));
    actor_unref(reader);
    actor_unref(narrow);
}

BUILTIN_TEST(a_file_that_goes_while_it_is_read_is_explained)
{
    struct rig *r = *state;
    const char *conv = talk(r, r->ana, "here");
    name_file(r, conv, "file_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
              "gone.txt");
    assert_refusal(use_in(r, r->ana, conv, "files__read", of_file(r, "gone.txt", "")),
                   "The file is not there any more.");
}

/* ---- search ---- */

BUILTIN_TEST(words_are_found_in_own_files_only)
{
    struct rig *r = *state;
    give(r, r->ana, "plan.txt", "the harvest of quinces");
    const char *file =
        give(r, r->ben, "notes.txt", "nothing here\nthe harvest of Äpfel\n日本語の本");
    const struct tool_answer *a = use(r, r->ben, "files__search", "{\"query\":\"harvest\"}");
    assert_int_equal(json_get(a->out, "results")->len, 1);
    assert_has(a->text, file);
    assert_has(a->text, "the harvest of Äpfel");
    assert_has(use(r, r->ben, "files__search", "{\"query\":\"apfel\"}")->text, file);
    assert_has(use(r, r->ben, "files__search", "{\"query\":\"apfel after:2020-01-01\"}")->text,
               "Nothing was found");
    assert_has(use(r, r->ben, "files__search", "{\"query\":\"本語\"}")->text, file);
    assert_has(use(r, r->ben, "files__search", "{\"query\":\"harv* \\\"nothing here\\\"\"}")->text,
               file);
    assert_answer(use(r, r->ben, "files__search", "{\"query\":\"quinces\"}"),
                  "Nothing was found.\n");
    assert_refusal(use(r, r->ben, "files__search", "{\"query\":\" \"}"),
                   "the search needs at least one word");
}

static void use_cache(struct rig *r)
{
    r->store->conf.cache_dir = str_dup(arena_printf(&r->arena, "%s/cache", r->root));
}

BUILTIN_TEST(the_index_is_made_again_when_it_is_deleted_or_damaged)
{
    struct rig *r = *state;
    use_cache(r);
    struct buf b;
    buf_init(&b, 1u << 16);
    for (int i = 0; i < 3000; i++)
        buf_printf(&b, "line %d of many\n", i);
    buf_add_lit(&b, "the needle\n");
    const char *file = give(r, r->ana, "long.txt", arena_cstr(&r->arena, buf_str(&b)));
    const char *db = arena_printf(&r->arena, "%s/cache/files.db", r->root).p;
    uint64_t at = (uint64_t)str_find(buf_str(&b), STR("the needle"), 0);
    for (int i = 0; i < 4; i++) {
        const struct tool_answer *a = use(r, r->ana, "files__search", "{\"query\":\"needle\"}");
        const struct json *hit = json_at(json_get(a->out, "results"), 0);
        assert_has(a->text, file);
        uint64_t offset = (uint64_t)json_get_int(hit, "offset", 0);
        assert_true(offset > 0 && offset <= at && at - offset < 4096);
        assert_true(file_exists(db));
        struct err e = {0};
        if (i == 1)
            assert_int_equal(remove(db), 0);
        if (i == 2)
            assert_int_equal(file_write_atomic(db, STR("not a database"), 0600, &e), 0);
    }
    buf_done(&b);
}

BUILTIN_TEST(a_search_can_be_for_one_file_and_is_bounded)
{
    struct rig *r = *state;
    use_cache(r);
    for (int i = 0; i < 12; i++)
        give(r, r->ana, arena_printf(&r->arena, "%d.txt", i).p,
             arena_printf(&r->arena, "pear number %d", i).p);
    const struct tool_answer *a = use(r, r->ana, "files__search", "{\"query\":\"pear\"}");
    assert_int_equal(json_get(a->out, "results")->len, 10);
    a = use(r, r->ana, "files__search", "{\"query\":\"pear\",\"file\":\"7.txt\"}");
    assert_int_equal(json_get(a->out, "results")->len, 1);
    assert_has(a->text, "pear number 7");
    assert_true(
        use(r, r->ana, "files__search", "{\"query\":\"pear\",\"file\":\"none\"}")->is_error);
}
