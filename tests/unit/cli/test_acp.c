/* The parts of nb acp without a connection: blocks of prompts, how calls are shown, the catalogue.
 */
#include "cli/acp/acp_blocks.h"
#include "cli/acp/acp_call.h"
#include "cli/acp/acp_catalog.h"
#include "cli/view/tool_edits.h"
#include "os/file.h"
#include "support/tempdir.h"
#include "support/unit.h"

static struct arena arena;

static struct json *parse(const char *text)
{
    struct json *v;
    assert_int_equal(json_parse(&arena, str_from(text), JSON_COPY, &v, NULL), 0);
    return v;
}

static void assert_str(str s, const char *expected)
{
    assert_string_equal(arena_cstr(&arena, s), expected);
}

/* ---- prompts ---- */

static void assert_text(const char *prompt, const char *expected)
{
    struct acp_blocks b;
    struct err e = {0};
    arena_init(&arena);
    assert_int_equal(acp_blocks_read(&arena, parse(prompt), &b, &e), 0);
    assert_str(b.text, expected);
    arena_done(&arena);
}

static void assert_refused(const char *prompt, const char *why)
{
    struct acp_blocks b;
    struct err e = {0};
    arena_init(&arena);
    assert_true(acp_blocks_read(&arena, parse(prompt), &b, &e) < 0);
    assert_non_null(strstr(e.msg, why));
    arena_done(&arena);
}

TEST(blocks_become_one_text)
{
    assert_text("[{\"type\":\"text\",\"text\":\"Look at \"},"
                "{\"type\":\"resource_link\",\"name\":\"a.c\",\"uri\":\"file:///src/a.c\"},"
                "{\"type\":\"text\",\"text\":\" please\"}]",
                "Look at [@a.c](file:///src/a.c) please");
    /* the name and the address cannot end the mention */
    assert_text("[{\"type\":\"resource_link\",\"name\":\"a](x\\n\",\"uri\":\"b) c\\n(d\"}]",
                "[@a (x ](bc(d)");
}

TEST(text_of_resources_is_fenced)
{
    assert_text("[{\"type\":\"text\",\"text\":\"Why?\"},{\"type\":\"resource\",\"resource\":"
                "{\"uri\":\"file:///a%20b.md#L1-2\",\"text\":\"```\\ncode\\n```\"}}]",
                "Why?[@a b.md](file:///a%20b.md#L1-2)\n\nfile:///a%20b.md#L1-2:\n\n"
                "````\n```\ncode\n```\n````");
}

TEST(pictures_and_links_become_files)
{
    struct acp_blocks b;
    struct err e = {0};
    arena_init(&arena);
    const struct json *prompt = parse(
        "[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aGk=\"},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///x/b.pdf\",\"blob\":\"aGk=\"}},"
        "{\"type\":\"resource_link\",\"name\":\"c\",\"uri\":\"file:///x/c%2Ftxt\"},"
        "{\"type\":\"resource_link\",\"name\":\"d\",\"uri\":\"https://example.com/d\"}]");
    assert_int_equal(acp_blocks_read(&arena, prompt, &b, &e), 0);
    assert_int_equal(b.nfiles, 3);
    assert_str(b.files[0].name, "image-1.png");
    assert_str(b.files[0].bytes, "hi");
    assert_str(b.files[1].name, "b.pdf");
    assert_str(b.files[2].path, "/x/c/txt");
    arena_done(&arena);
}

TEST(a_long_resource_is_a_file)
{
    struct acp_blocks b;
    struct err e = {0};
    arena_init(&arena);
    struct json *prompt =
        parse("[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///l.txt\",\"text\":\"\"}}]");
    char *text = arena_alloc(&arena, ACP_INLINE_MAX + 1);
    memset(text, 'x', ACP_INLINE_MAX + 1);
    struct json *place = json_get(json_get(json_at(prompt, 0), "resource"), "text");
    *place = json_of_str(str_make(text, ACP_INLINE_MAX));
    assert_int_equal(acp_blocks_read(&arena, prompt, &b, &e), 0);
    assert_int_equal(b.nfiles, 0);
    *place = json_of_str(str_make(text, ACP_INLINE_MAX + 1));
    assert_int_equal(acp_blocks_read(&arena, prompt, &b, &e), 0);
    assert_int_equal(b.nfiles, 1);
    assert_int_equal(b.files[0].bytes.n, ACP_INLINE_MAX + 1);
    arena_done(&arena);
}

TEST(wrong_blocks_are_refused)
{
    assert_refused("{}", "1 to 256");
    assert_refused("[]", "1 to 256");
    assert_refused("[{\"type\":\"text\",\"text\":\"\"}]", "empty");
    assert_refused("[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":1}]",
                   "prompt[1]: text");
    assert_refused("[{\"type\":\"audio\",\"data\":\"aGk=\",\"mimeType\":\"audio/wav\"}]",
                   "prompt[0]: type");
    assert_refused("[{\"type\":\"image\",\"data\":\"aGk\",\"mimeType\":\"image/png\"}]", "base64");
    assert_refused("[{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/png\"}]", "base64");
    assert_refused("[{\"type\":\"resource\",\"resource\":{\"text\":\"x\"}}]", "uri");
    assert_refused("[{\"type\":\"resource_link\"}]", "uri");
}

TEST(too_many_files_are_refused)
{
    struct acp_blocks b;
    struct err e = {0};
    arena_init(&arena);
    struct json *prompt = json_new(&arena, JSON_ARRAY);
    for (size_t i = 0; i <= ACP_FILES_MAX; i++)
        json_push(&arena, prompt,
                  *parse("{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aGk=\"}"));
    assert_true(acp_blocks_read(&arena, prompt, &b, &e) < 0);
    assert_non_null(strstr(e.msg, "16 files"));
    arena_done(&arena);
}

/* ---- calls ---- */

TEST(addresses_of_files)
{
    arena_init(&arena);
    assert_str(acp_file_path(&arena, STR("file:///a/b%20c.txt#L3")), "/a/b c.txt");
    assert_str(acp_file_path(&arena, STR("file://localhost/a")), "/a");
    assert_int_equal(acp_file_path(&arena, STR("file://host/a")).n, 0);
    assert_int_equal(acp_file_path(&arena, STR("/a")).n, 0);
    assert_int_equal(acp_file_path(&arena, STR("file:///a%0")).n, 0);
    assert_int_equal(acp_file_path(&arena, STR("file:///a%00b")).n, 0);
    assert_int_equal(acp_file_path(&arena, STR("file:///a%ffb")).n, 0);
    arena_done(&arena);
}

TEST(kinds_of_tools)
{
    static const struct {
        const char *tool, *kind;
    } CASES[] = {{"fs__read_text_file", "read"},
                 {"fs__edit_file", "edit"},
                 {"fs__write_file", "edit"},
                 {"fs__move_file", "move"},
                 {"mail__deleteMessage", "delete"},
                 {"web__fetch", "fetch"},
                 {"bash__bash_exec", "execute"},
                 {"x__search-files", "search"},
                 {"x__ready", "other"},
                 {"", "other"},
                 {"__", "other"}};
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
        assert_string_equal(tool_kind(str_from(CASES[i].tool)), CASES[i].kind);
}

static str shown(const char *name, const char *input, const char *output)
{
    struct buf b;
    struct json_writer w;
    struct acp_call c = {STR("c1"), str_from(name), input ? parse(input) : NULL};
    jw_start(&w, &b, 1024 * 1024);
    jw_object(&w);
    acp_call_write(&w, &arena, &c, STR("/w"));
    acp_call_write_content(&w, &arena, &c, STR("/w"), str_from(output));
    jw_close(&w);
    return buf_keep(&b, &arena);
}

TEST(calls_have_titles_places_and_changes)
{
    arena_init(&arena);
    assert_str(
        shown("fs__edit_file",
              "{\"path\":\"a.c\",\"line\":3,\"edits\":[{\"oldText\":\"x\",\"newText\":\"y\"}]}",
              "done"),
        "{\"toolCallId\":\"c1\",\"title\":\"fs__edit_file a.c\",\"name\":\"fs__edit_file\","
        "\"kind\":\"edit\",\"rawInput\":{\"path\":\"a.c\",\"line\":3,\"edits\":[{\"oldText\":"
        "\"x\",\"newText\":\"y\"}]},\"locations\":[{\"path\":\"/w/a.c\",\"line\":3}],"
        "\"content\":[{\"type\":\"diff\",\"path\":\"/w/a.c\",\"oldText\":\"x\",\"newText\":"
        "\"y\"},{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"done\"}}]}");
    assert_str(
        shown("bash__bash_exec", "{\"command\":\"ls\\n -l\"}", NULL),
        "{\"toolCallId\":\"c1\",\"title\":\"ls -l\",\"name\":\"bash__bash_exec\",\"kind\":"
        "\"execute\",\"rawInput\":{\"command\":\"ls\\n -l\"},\"locations\":[],\"content\":[]}");
    /* a whole file, by a tool that edits; not by one that sends mail */
    assert_non_null(strstr(shown("fs__write_file", "{\"path\":\"/n\",\"content\":\"c\"}", NULL).p,
                           "{\"type\":\"diff\",\"path\":\"/n\",\"newText\":\"c\"}"));
    assert_null(strstr(shown("mail__send", "{\"path\":\"/n\",\"content\":\"c\"}", NULL).p, "diff"));
    assert_str(shown("x__y", NULL, NULL), "{\"toolCallId\":\"c1\",\"title\":\"x__y\",\"name\":"
                                          "\"x__y\",\"kind\":\"other\",\"content\":[]}");
    arena_done(&arena);
}

TEST(a_long_result_is_cut)
{
    arena_init(&arena);
    char *text = arena_alloc(&arena, ACP_OUTPUT_MAX + 11);
    memset(text, 'x', ACP_OUTPUT_MAX + 10);
    text[ACP_OUTPUT_MAX + 10] = 0;
    str out = shown("x__y", NULL, text);
    assert_true(out.n < ACP_OUTPUT_MAX + 300);
    assert_true(str_find(out, STR("(10 more bytes are not shown)"), 0) > 0);
    arena_done(&arena);
}

/* ---- the catalogue ---- */

TEST(sessions_are_found_again)
{
    struct acp_catalog c;
    struct err e = {0};
    struct tempdir tmp;
    assert_int_equal(tempdir_make(&tmp), 0);
    const char *dir = tmp.path;
    arena_init(&arena);
    acp_catalog_read(&arena, dir, &c);
    assert_int_equal(c.n, 0);
    struct acp_entry one = {STR("acp_1"), STR("conv_1"), STR("/a \"b\"")};
    assert_int_equal(acp_catalog_add(dir, &one, &e), 0);
    one.conversation = STR("conv_2"); /* replaced */
    assert_int_equal(acp_catalog_add(dir, &one, &e), 0);
    acp_catalog_read(&arena, dir, &c);
    assert_int_equal(c.n, 1);
    assert_str(acp_catalog_by_session(&c, STR("acp_1"))->conversation, "conv_2");
    assert_str(acp_catalog_by_conversation(&c, STR("conv_2"))->cwd, "/a \"b\"");
    assert_null(acp_catalog_by_session(&c, STR("acp_2")));
    assert_null(acp_catalog_by_conversation(&c, STR("conv_1")));
    arena_done(&arena);
    tempdir_drop(&tmp);
}

TEST(the_catalogue_keeps_the_newest_and_ignores_damage)
{
    struct acp_catalog c;
    struct err e = {0};
    struct buf b;
    struct tempdir tmp;
    assert_int_equal(tempdir_make(&tmp), 0);
    const char *dir = tmp.path;
    arena_init(&arena);
    buf_init(&b, 1024 * 1024);
    buf_add_lit(&b, "garbage\n{\"session\":1}\n[]\n{\"session\":\"x\",\"conversation\":\"y\"}\n");
    for (int i = 0; i < ACP_CATALOG_MAX; i++)
        buf_printf(&b, "{\"session\":\"acp_%d\",\"conversation\":\"conv_%d\",\"cwd\":\"/\"}\n", i,
                   i);
    assert_int_equal(file_make_dirs(arena_printf(&arena, "%s/acp", dir).p, &e), 0);
    const char *path = arena_printf(&arena, "%s/acp/sessions.jsonl", dir).p;
    assert_int_equal(file_write_atomic(path, buf_str(&b), 0600, &e), 0);
    struct acp_entry new = {STR("acp_new"), STR("conv_new"), STR("/")};
    assert_int_equal(acp_catalog_add(dir, &new, &e), 0);
    acp_catalog_read(&arena, dir, &c);
    assert_int_equal(c.n, ACP_CATALOG_MAX);
    assert_null(acp_catalog_by_session(&c, STR("acp_0")));
    assert_non_null(acp_catalog_by_session(&c, STR("acp_1")));
    assert_non_null(acp_catalog_by_session(&c, STR("acp_new")));
    buf_done(&b);
    arena_done(&arena);
    tempdir_drop(&tmp);
}
