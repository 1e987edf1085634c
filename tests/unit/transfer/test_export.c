/* Documents made of a conversation: complete, escaped, in pieces. */
#include <errno.h>

#include "transfer/export.h"
#include "unit/store/rig.h"

#define ID "conv_0123456789abcdef"

static const str EVENTS[] = {
    STR_INIT(
        "{\"ts\":\"2026-03-25T10:30:00.000Z\",\"type\":\"user.message\",\"content\":[{\"type\":"
        "\"text\",\"text\":\"<script>alert('x')</script> & \\\"more\\\"\"},{\"type\":\"file\","
        "\"filename\":\"a<b>.txt\"}],\"userId\":\"usr_a\"}"),
    STR_INIT("{\"ts\":\"2026-03-25T10:30:01.000Z\",\"type\":\"run.start\",\"runId\":\"r1\"}"),
    STR_INIT(
        "{\"ts\":\"2026-03-25T10:30:02.000Z\",\"type\":\"llm.response\",\"runId\":\"r1\","
        "\"model\":\"m-1\",\"content\":[{\"type\":\"reasoning\",\"text\":\"let me see\"},{"
        "\"type\":\"text\",\"text\":\"I look.\"},{\"type\":\"tool-call\",\"toolCallId\":\"t1\","
        "\"toolName\":\"files__read\",\"input\":{\"path\":\"/x\"}}],\"inputTokens\":10,"
        "\"outputTokens\":5}"),
    STR_INIT(
        "{\"ts\":\"2026-03-25T10:30:03.000Z\",\"type\":\"tool.done\",\"runId\":\"r1\",\"name\":"
        "\"files__read\",\"id\":\"t1\",\"ok\":true,\"ms\":7,\"result\":{\"content\":[{\"type\":"
        "\"text\",\"text\":\"```\\ncode\\n```\"}]}}"),
    STR_INIT("{\"ts\":\"2026-03-25T10:30:04.000Z\",\"type\":\"llm.response\",\"runId\":\"r1\","
             "\"model\":\"m-1\",\"content\":[{\"type\":\"text\",\"text\":\"Done.\"}]}"),
    STR_INIT("{\"ts\":\"2026-03-25T10:30:05.000Z\",\"type\":\"run.done\",\"runId\":\"r1\"}"),
    STR_INIT("{\"ts\":\"2026-03-25T10:30:06.000Z\",\"type\":\"note\",\"author\":\"usr_a\","
             "\"content\":\"remember\"}"),
    STR_INIT("{\"ts\":\"2026-03-25T10:30:07.000Z\",\"type\":\"run.error\",\"runId\":\"r2\","
             "\"error\":{\"message\":\"no network\"}}"),
    STR_INIT(
        "{\"timestamp\":\"2026-03-25T10:30:08.000Z\",\"role\":\"assistant\",\"content\":"
        "\"old\",\"metadata\":{\"toolCalls\":[{\"id\":\"o\",\"name\":\"old__tool\",\"input\":{},"
        "\"output\":\"result of old\",\"ok\":false,\"ms\":3}]}}"),
};

static int setup(void **state)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    rig_init(r, "jsonl", NULL);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

static int add_piece(void *ctx, str piece)
{
    assert_true(piece.n <= 2 * EXPORT_PIECE_BYTES);
    return buf_add_str(ctx, piece);
}

/* The whole document, in the rig's arena. */
static str document(struct rig *r, enum export_format f, const struct export_options *opt)
{
    static const struct conv CONV = {
        .id = STR_INIT(ID),
        .title = STR_INIT("A <b>title</b>\n# x"),
        .created_at = STR_INIT("2026-03-25T10:30:00.000Z"),
        .updated_at = STR_INIT("2026-03-25T10:30:08.000Z"),
        .acl = {.owner_id = STR_INIT("usr_a")},
        .message_count = 3,
    };
    struct buf out;
    buf_init(&out, 1u << 28);
    struct exporter *x = exporter_new(f, &CONV, opt, add_piece, &out);
    for (size_t i = 0; i < ARRAY_LEN(EVENTS); i++)
        assert_int_equal(exporter_event(x, EVENTS[i]), 0);
    assert_int_equal(exporter_event(x, STR("not json")), 0);
    assert_int_equal(exporter_end(x), 0);
    exporter_free(x);
    str text = arena_str(&r->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

static void assert_has(str text, const char *needle)
{
    if (str_find(text, str_from(needle), 0) < 0)
        fail_msg("\"%s\" is missing in:\n%.*s", needle, STR_ARG(text));
}

static void assert_has_not(str text, const char *needle)
{
    if (str_find(text, str_from(needle), 0) >= 0)
        fail_msg("\"%s\" stands in:\n%.*s", needle, STR_ARG(text));
}

static size_t count(str text, const char *needle)
{
    size_t n = 0;
    for (ptrdiff_t at = 0; (at = str_find(text, str_from(needle), (size_t)at)) >= 0; at++)
        n++;
    return n;
}

TEST_WITH(formats_have_names, setup, teardown)
{
    enum export_format f;
    struct err e = {0};
    assert_int_equal(export_format_parse(STR("md"), &f, &e), 0);
    assert_int_equal(f, EXPORT_MARKDOWN);
    assert_int_equal(export_format_parse(STR("markdown"), &f, &e), 0);
    assert_int_equal(export_format_parse(STR("jsonl"), &f, &e), 0);
    assert_int_equal(f, EXPORT_JSONL);
    assert_string_equal(export_suffix(EXPORT_HTML), "html");
    assert_int_equal(export_format_parse(STR("pdf"), &f, &e), -EINVAL);
    assert_non_null(strstr(e.msg, "markdown, json, html, jsonl"));
}

TEST_WITH(markdown, setup, teardown)
{
    str text = document(*state, EXPORT_MARKDOWN, NULL);
    assert_true(str_starts(text, STR("# A <b>title</b> # x\n\n- Id: " ID "\n")));
    assert_has(text, "\n## User (usr_a) · 2026-03-25 10:30:00 UTC\n\n<script>");
    assert_has(text, "[file: a<b>.txt]");
    assert_has(text, "\n## Assistant (m-1) · 2026-03-25 10:30:02 UTC\n\nI look.\n");
    assert_has(text, "**Tool call** `files__read`\n\n```json\n{\"path\":\"/x\"}\n```\n");
    assert_has(text, "(ok, 7 ms)\n\n````\n```\ncode\n```\n````\n");
    assert_has(text, "\n## Note (usr_a) ·");
    assert_has(text, "> **Error**\n> no network\n");
    assert_has(text, "**Result** of `old__tool` (failed, 3 ms)\n\n```\nresult of old\n```\n");
    assert_has_not(text, "let me see");
    assert_has_not(text, "not json");
    assert_int_equal(count(text, "## Assistant"), 2); /* one per turn, not per event */
}

#define MEDIA                                                                                      \
    "{\"type\":\"tool.done\",\"name\":\"t\",\"ok\":true,\"ms\":1,\"result\":{\"content\":["        \
    "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aGVsbG8=\"},"                       \
    "{\"type\":\"image\",\"mimeType\":\"image/svg+xml\",\"data\":\"PHN2Zy8+\"},"                   \
    "{\"type\":\"image\",\"mimeType\":\"image/gif\",\"data\":\"\\\" onerror=\\\"x\"},"             \
    "{\"type\":\"resource_link\",\"uri\":\"javascript:<x>\",\"title\":\"a\\nb\",\"size\":2500}]}}"

static str media_document(struct rig *r, enum export_format f)
{
    static const struct conv CONV = {.id = STR_INIT(ID)};
    struct buf out;
    buf_init(&out, 1u << 24);
    struct exporter *x = exporter_new(f, &CONV, NULL, add_piece, &out);
    assert_int_equal(exporter_event(x, STR(MEDIA)), 0);
    assert_int_equal(exporter_end(x), 0);
    exporter_free(x);
    str text = arena_str(&r->arena, buf_str(&out));
    buf_done(&out);
    return text;
}

TEST_WITH(pictures_of_results, setup, teardown)
{
    str html = media_document(*state, EXPORT_HTML);
    assert_has(html,
               "<img alt=\"[image: image/png, 5 bytes]\" src=\"data:image/png;base64,aGVsbG8=\">");
    assert_has(html, "<p>[image: image/svg+xml, 6 bytes]</p>");
    assert_has(html, "<p>[resource_link: a\nb, javascript:&lt;x&gt;, 2 kB]</p>");
    assert_has_not(html, "onerror");
    assert_has_not(html, "PHN2Zy8+");
    assert_int_equal(count(html, "<img"), 1);
    str text = media_document(*state, EXPORT_MARKDOWN);
    assert_has(text,
               "(ok, 1 ms)\n\n[image: image/png, 5 bytes]\n[image: image/svg+xml, 6 bytes]\n");
    assert_has(text, "\n[resource_link: a b, javascript:<x>, 2 kB]\n");
    assert_has_not(text, "aGVsbG8");
}

/* ---- files that messages name ---- */

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* One event as a document. */
static str event_document(struct rig *r, enum export_format f, str line, struct export_options opt)
{
    static const struct conv CONV = {.id = STR_INIT(ID)};
    struct buf out;
    buf_init(&out, 1u << 20);
    struct exporter *x = exporter_new(f, &CONV, &opt, add_piece, &out);
    assert_int_equal(exporter_event(x, line), 0);
    assert_int_equal(exporter_end(x), 0);
    exporter_free(x);
    return buf_keep(&out, &r->arena);
}

static str told_file;

static void on_file(void *ctx, str sha256)
{
    told_file = arena_str(ctx, sha256);
}

/* A message with one file, whose name is foreign. */
static str file_document(struct rig *r, enum export_format f, const char *base, const char *more)
{
    struct export_options opt = {.file_base = base, .on_file = on_file, .file_ctx = &r->arena};
    told_file = STR_NONE;
    str line =
        arena_printf(&r->arena,
                     "{\"ts\":\"2026-03-25T10:30:00.000Z\",\"type\":\"user.message\","
                     "\"content\":[{\"type\":\"image\",\"file\":\"file_" SHA "\",\"name\":"
                     "\"a](javascript:x) \\\"><script>.png\",\"mimeType\":\"image/png\"%s}]}",
                     more);
    str text = event_document(r, f, line, opt);
    assert_str(told_file, SHA);
    return text;
}

TEST_WITH(files_are_linked_or_included_and_their_names_act_nowhere, setup, teardown)
{
    struct rig *r = *state;
    str text = file_document(r, EXPORT_MARKDOWN, "talk.blobs/", "");
    assert_has(text, "](talk.blobs/" SHA ")\n");
    assert_has_not(text, "a](");
    assert_has_not(text, "<script");
    assert_has_not(file_document(r, EXPORT_MARKDOWN, NULL, ""), SHA);
    text = file_document(r, EXPORT_HTML, "talk.blobs/", "");
    assert_has(text, "<a href=\"talk.blobs/" SHA "\" download=\"a](javascript:x) &quot;&gt;&lt;");
    assert_has_not(text, "<script");
    text = file_document(r, EXPORT_HTML, "talk.blobs/", ",\"data\":\"aGVsbG8=\"");
    assert_has(text, "src=\"data:image/png;base64,aGVsbG8=\"");
    assert_has_not(text, "<script");
    text = file_document(r, EXPORT_HTML, NULL, ",\"data\":\"\\\"><b>\"");
    assert_has_not(text, "<b>");
    assert_has(file_document(r, EXPORT_JSON, NULL, ""), "file_" SHA);
}

static size_t files_told;

static void count_file(void *ctx, str sha256)
{
    files_told++;
}

TEST_WITH(views_and_files_of_tools_are_told_and_those_of_results_are_not, setup, teardown)
{
    struct export_options opt = {.on_file = count_file};
    files_told = 0;
    (void)event_document(
        *state, EXPORT_MARKDOWN,
        STR("{\"ts\":\"2026-03-25T10:30:00.000Z\",\"type\":\"user.message\",\"content\":[{"
            "\"type\":\"file\",\"file\":\"file_" SHA "\",\"view\":{\"file\":\"file_" SHA "\"}}]}"),
        opt);
    assert_int_equal(files_told, 2);
    opt.without_tools = true;
    opt.file_base = "talk.blobs/";
    str made = event_document(
        *state, EXPORT_MARKDOWN,
        STR("{\"ts\":\"2026-03-25T10:30:00.000Z\",\"type\":\"tool.done\",\"name\":\"t\","
            "\"result\":{\"content\":[{\"type\":\"file\",\"file\":\"file_" SHA
            "\"}]},\"files\":[{\"type\":\"file\",\"file\":\"file_" SHA
            "\",\"name\":\"sum.csv\"}]}"),
        opt);
    assert_int_equal(files_told, 3);
    assert_has(made, "\n[sum.csv](talk.blobs/" SHA ")\n");
}

TEST_WITH(json_has_the_files_of_a_call, setup, teardown)
{
    static const struct conv CONV = {.id = STR_INIT(ID)};
    struct rig *r = *state;
    struct buf out;
    buf_init(&out, 1u << 20);
    struct exporter *x = exporter_new(EXPORT_JSON, &CONV, NULL, add_piece, &out);
    (void)exporter_event(x, EVENTS[2]);
    (void)exporter_event(x, STR("{\"type\":\"tool.done\",\"id\":\"t1\",\"ok\":true,\"result\":{},"
                                "\"files\":[{\"file\":\"file_" SHA "\"}]}"));
    assert_int_equal(exporter_end(x), 0);
    exporter_free(x);
    assert_has(buf_keep(&out, &r->arena), "\"files\":[{\"file\":\"file_" SHA "\"}]");
}

static str thought_document(struct rig *r, const char *block)
{
    struct export_options opt = {.with_reasoning = true};
    return event_document(
        r, EXPORT_MARKDOWN,
        arena_printf(&r->arena,
                     "{\"ts\":\"2026-03-25T10:30:00.000Z\",\"type\":\"llm.response\","
                     "\"content\":[{\"type\":\"opaque\",\"provider\":\"p\",\"model\":\"m\","
                     "\"block\":%s},{\"type\":\"text\",\"text\":\"yes\"}]}",
                     block),
        opt);
}

TEST_WITH(thoughts_of_every_provider_are_readable, setup, teardown)
{
    static const char *const BLOCKS[] = {
        "{\"type\":\"thinking\",\"thinking\":\"let me see\",\"signature\":\"sealed\"}",
        "{\"thought\":\"let me see\"}",
        "{\"reasoning_content\":\"let me see\"}",
        "{\"reasoning\":\"let me see\"}",
        "{\"type\":\"reasoning\",\"encrypted_content\":\"sealed\",\"summary\":[{\"type\":"
        "\"summary_text\",\"text\":\"let me see\"}]}",
        "{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\","
        "\"text\":\"let me see\"}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(BLOCKS); i++) {
        str text = thought_document(*state, BLOCKS[i]);
        assert_has(text, "> **Reasoning**\n> let me see\n");
        assert_has_not(text, "sealed");
    }
    static const char *const SILENT[] = {"{\"type\":\"redacted_thinking\",\"data\":\"sealed\"}",
                                         "{\"thoughtSignature\":\"sealed\"}",
                                         "{\"phase\":\"sealed\"}",
                                         "{\"summary\":[{\"text\":7},null]}",
                                         "\"sealed\"",
                                         "null"};
    for (size_t i = 0; i < ARRAY_LEN(SILENT); i++) {
        str text = thought_document(*state, SILENT[i]);
        assert_has_not(text, "Reasoning");
        assert_has_not(text, "sealed");
        assert_has(text, "yes");
    }
}

TEST_WITH(options, setup, teardown)
{
    struct export_options opt = {.without_tools = true, .with_reasoning = true};
    str text = document(*state, EXPORT_MARKDOWN, &opt);
    assert_has_not(text, "files__read");
    assert_has(text, "> **Reasoning**\n> let me see\n");
    opt = (struct export_options){.max_tool_bytes = 5};
    text = document(*state, EXPORT_MARKDOWN, &opt);
    assert_has(text, "(5 of 12 bytes)");
}

TEST_WITH(html, setup, teardown)
{
    str text = document(*state, EXPORT_HTML, NULL);
    assert_true(str_starts(text, STR("<!doctype html>")));
    assert_true(str_ends(text, STR("</html>\n")));
    assert_has(text, "<title>A &lt;b&gt;title&lt;/b&gt;");
    assert_has(text, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;more&quot;");
    assert_has_not(text, "<script");
    assert_has_not(text, "<b>");
    assert_has(text, "default-src 'none'");
    assert_has(text, "@media print");
    assert_int_equal(count(text, "<article"), count(text, "</article>"));
    assert_int_equal(count(text, "<details>"), count(text, "</details>"));
    assert_int_equal(count(text, "<details>"), 4);
}

TEST_WITH(json, setup, teardown)
{
    struct rig *r = *state;
    struct json *v;
    struct err e = {0};
    str text = document(r, EXPORT_JSON, NULL);
    if (json_parse(&r->arena, text, JSON_UNIQUE, &v, &e) < 0)
        fail_msg("%s in %.*s", e.msg, STR_ARG(text));
    assert_str(json_get_string(json_get(v, "conversation"), "id"), ID);
    const struct json *messages = json_get(v, "messages");
    assert_int_equal(messages->len, 4);
    const struct json *user = json_at(messages, 0), *answer = json_at(messages, 1);
    assert_str(json_get_string(user, "role"), "user");
    assert_str(json_get_string(user, "content"), "<script>alert('x')</script> & \"more\"");
    assert_str(json_get_string(user, "timestamp"), "2026-03-25T10:30:00.000Z");
    assert_str(json_get_string(answer, "role"), "assistant");
    const struct json *meta = json_get(answer, "metadata");
    assert_int_equal(json_get_int(meta, "inputTokens", 0), 10);
    assert_str(json_get_string(meta, "runId"), "r1");
    const struct json *call = json_at(json_get(meta, "toolCalls"), 0);
    assert_str(json_get_string(call, "name"), "files__read");
    assert_str(json_get_string(call, "output"), "```\ncode\n```");
    assert_true(json_get_bool(call, "ok", false));
    assert_str(json_get_string(json_at(messages, 3), "content"), "old");
    assert_int_equal(json_get(v, "notes")->len, 1);
}

/* ---- from a store ---- */

struct download {
    struct rig *rig;
    struct buf out;
    size_t pieces;
    bool is_last;
};

static void on_piece(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct download *d = ctx;
    buf_add_str(&d->out, piece);
    d->pieces++;
    d->is_last = is_last;
    rig_end(d->rig, err);
}

static int download(struct rig *r, const char *id, enum export_format f, struct download *d)
{
    struct export *x = export_open(r->store, str_from(id), f, NULL, NULL);
    *d = (struct download){.rig = r};
    buf_init(&d->out, 1u << 28);
    int code = 0;
    while (code == 0 && !d->is_last)
        code = RIG_CALL(r, export_next(x, on_piece, d));
    export_close(x);
    return code;
}

TEST_WITH(a_large_log_comes_in_pieces, setup, teardown)
{
    struct rig *r = *state;
    struct download d;
    struct buf b;
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    buf_init(&b, 1u << 20);
    buf_add_lit(&b, "{\"type\":\"tool.done\",\"id\":\"t\",\"name\":\"x\",\"result\":\"");
    for (int i = 0; i < 100000; i++)
        buf_add_char(&b, 'y');
    buf_add_lit(&b, "\"}");
    str lines[300];
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        lines[i] = STR("{\"type\":\"user.message\",\"content\":\"hello\"}");
    lines[299] = buf_str(&b);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_append_n(r, ID, lines, ARRAY_LEN(lines)), 0);
    assert_int_equal(download(r, ID, EXPORT_JSONL, &d), 0);
    assert_true(d.pieces >= 4);
    assert_int_equal(count(buf_str(&d.out), "\n"), 901);
    assert_true(d.out.n > 300000); /* results are whole, not references */
    assert_has_not(buf_str(&d.out), "$blob");
    buf_done(&d.out);
    assert_int_equal(download(r, ID, EXPORT_MARKDOWN, &d), 0);
    assert_has(buf_str(&d.out), "of 100000 bytes)");
    buf_done(&d.out);
    assert_int_equal(download(r, "conv_missing", EXPORT_JSON, &d), -ENOENT);
    buf_done(&d.out);
    buf_done(&b);
}

TEST_WITH(notes_beside_a_folder, setup, teardown)
{
    struct rig *r = *state;
    struct download d;
    rig_reopen(r, "folder");
    assert_int_equal(mkdir(rig_path(r, "conversations/x"), 0700), 0);
    rig_spit(r, "conversations/x/chat.jsonl", "we",
             STR("{\"type\":\"conversation-header\",\"threadId\":\"thread_x\"}\n"));
    rig_spit(r, "conversations/x/notes.jsonl", "we",
             STR("{\"type\":\"note\",\"createdAt\":1774402360000,\"author\":\"model\",\"content\":"
                 "\"theirs\"}\n"));
    assert_int_equal(RIG_CALL(r, store_add_note(r->store, STR("thread_x"), STR("usr_a"),
                                                STR("ours"), rig_on_conv, r)),
                     0);
    assert_int_equal(download(r, "thread_x", EXPORT_JSONL, &d), 0);
    assert_int_equal(count(buf_str(&d.out), "theirs"), 1);
    assert_int_equal(count(buf_str(&d.out), "ours"), 1);
    buf_done(&d.out);
}

TEST_WITH(an_export_that_is_closed_early, setup, teardown)
{
    struct rig *r = *state;
    struct download d = {.rig = r};
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    struct export *x = export_open(r->store, STR(ID), EXPORT_JSON, NULL, NULL);
    export_next(x, on_piece, &d);
    export_close(x);
    assert_int_equal(rig_get(r, ID), 0); /* whatever was under way has ended before this */
    assert_int_equal(d.pieces, 0);
    export_close(NULL);
}

static int refuse(void *ctx, str piece)
{
    return -EPIPE;
}

TEST_WITH(a_reader_that_goes_away, setup, teardown)
{
    struct conv conv = {.id = STR(ID)};
    struct exporter *x = exporter_new(EXPORT_HTML, &conv, NULL, refuse, NULL);
    for (size_t i = 0; i < ARRAY_LEN(EVENTS); i++)
        (void)exporter_event(x, EVENTS[i]);
    assert_int_equal(exporter_end(x), -EPIPE);
    exporter_free(x);
}
