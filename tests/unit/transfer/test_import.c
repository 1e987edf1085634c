/* Conversations from elsewhere: what is taken over, what is not, and that it says so. */
#include <errno.h>
#include <unistd.h>

#include "base/bytes/hash.h"
#include "os/dir.h"
#include "transfer/export.h"
#include "transfer/import.h"
#include "transfer/import_impl.h"
#include "unit/store/rig.h"

struct import_rig {
    struct rig rig;
    struct import_report report; /* losses are copied to `losses` */
    char losses[8192];
    size_t progress;
    bool is_over;
    bool is_losing; /* the blobs of the first conversation are gone after it */
};

static int setup(void **state)
{
    struct import_rig *t = xcalloc(1, sizeof(*t));
    rig_init(&t->rig, "jsonl", NULL);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct import_rig *t = *state;
    rig_done(&t->rig);
    free(t);
    return 0;
}

static void on_imported(void *ctx, const struct err *err, const struct import_report *r)
{
    struct import_rig *t = ctx;
    t->report = *r;
    t->losses[0] = 0;
    size_t at = 0;
    for (size_t i = 0; i < r->nlosses && at < sizeof(t->losses); i++)
        at += (size_t)snprintf(t->losses + at, sizeof(t->losses) - at, "%.*s\n",
                               STR_ARG(r->losses[i]));
    t->is_over = true;
    rig_end(&t->rig, err);
}

static void lose_blobs(const char *dir)
{
    char from[600], to[600];
    DIR_EACH (d, dir) {
        (void)snprintf(from, sizeof from, "%s/%s", dir, d.name);
        (void)snprintf(to, sizeof to, "%s/%s.lost", dir, d.name);
        if (str_ends(str_from(d.name), STR(".blobs")))
            assert_int_equal(rename(from, to), 0);
    }
}

static void on_progress(void *ctx, const struct import_report *r, double share)
{
    struct import_rig *t = ctx;
    assert_true(share >= 0 && share <= 1);
    t->progress++;
    if (t->is_losing && r->conversations == 1)
        lose_blobs(t->rig.conv_dir);
}

static int import_as(struct import_rig *t, const char *name, struct import_spec spec)
{
    struct rig *r = &t->rig;
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", r->dir, name);
    spec.path = path;
    spec.progress = on_progress;
    return RIG_CALL(r, import_run(r->store, &spec, on_imported, t));
}

static int import(struct import_rig *t, const char *name, enum import_kind kind)
{
    return import_as(t, name, (struct import_spec){.kind = kind});
}

static int import_of(struct import_rig *t, const char *name, const char *owner)
{
    return import_as(t, name, (struct import_spec){.owner_id = str_from(owner)});
}

/* A file beside the store. */
static void put(struct import_rig *t, const char *name, str text)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "../%s", name);
    rig_spit(&t->rig, path, "we", text);
}

static void put_dir(struct import_rig *t, const char *name)
{
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", t->rig.dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static const struct json *event(struct rig *r, size_t i)
{
    struct json *v;
    assert_true(i < r->page.n);
    assert_int_equal(json_parse(&r->arena, r->page.events[i].line, JSON_COPY, &v, NULL), 0);
    return v;
}

static void assert_types(struct rig *r, const char *const *types, size_t n)
{
    assert_int_equal(r->page.n, n);
    for (size_t i = 0; i < n; i++)
        assert_str(json_get_string(event(r, i), "type"), types[i]);
}

static str part_text(const struct json *e, size_t i)
{
    return json_get_string(json_at(json_get(e, "content"), i), "text");
}

/* Opens the only conversation there is. */
static const char *only(struct rig *r)
{
    static char id[STORE_ID_MAX + 1];
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 1);
    (void)snprintf(id, sizeof(id), "%.*s", STR_ARG(r->listing.convs[0].id));
    assert_int_equal(rig_read(r, id, &(struct store_range){0}), 0);
    return id;
}

/* ---- nb ---- */

#define NB_LOG                                                                                     \
    "{\"id\":\"conv_aaaabbbbccccdddd\",\"createdAt\":\"2026-03-25T10:30:00.000Z\",\"format\":"     \
    "\"events\",\"ownerId\":\"usr_a\",\"visibility\":\"shared\",\"participants\":[\"usr_a\","      \
    "\"usr_b\"],\"channel\":\"tui\",\"metadata\":{\"k\":1.50}}\n"                                  \
    "{\"ts\":\"2026-03-25T10:30:01.000Z\",\"type\":\"user.message\",\"content\":[{\"type\":"       \
    "\"text\",\"text\":\"hi\"}]}\n"                                                                \
    "{\"timestamp\":\"2026-03-25T10:30:02.000Z\",\"role\":\"assistant\",\"content\":\"old\"}\n"    \
    "garbage\n"                                                                                    \
    "{\"ts\":\"2026-03-25T10:30:03.000Z\",\"type\":\"vendor.x\",\"n\":1e400}\n"                    \
    "{\"ts\":\"2026-03-25T10:30:04.000Z\",\"type\":\"run.do"

TEST_WITH(a_log_of_nb, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put(t, "conv_aaaabbbbccccdddd.jsonl", STR(NB_LOG));
    assert_int_equal(import(t, "conv_aaaabbbbccccdddd.jsonl", IMPORT_ANY), 0);
    assert_int_equal(t->report.conversations, 1);
    assert_int_equal(t->report.lost, 2);
    assert_non_null(strstr(t->losses, "not an event"));
    assert_non_null(strstr(t->losses, "unfinished line"));
    assert_true(t->progress > 0);
    assert_int_equal(rig_get(r, "conv_aaaabbbbccccdddd"), 0);
    assert_str(r->conv->created_at, "2026-03-25T10:30:00.000Z");
    assert_str(r->conv->updated_at, "2026-03-25T10:30:03.000Z");
    assert_str(r->conv->acl.owner_id, "usr_a");
    assert_true(r->conv->acl.is_shared);
    assert_int_equal(r->conv->acl.participants.len, 2);
    assert_str(r->conv->channel, "tui");
    assert_str(json_to_str(&r->arena, r->conv->metadata), "{\"k\":1.50}");
    assert_int_equal(r->conv->message_count, 2);
    assert_int_equal(r->conv->bad_lines, 0);
    (void)only(r);
    assert_str(r->page.events[4].line,
               "{\"ts\":\"2026-03-25T10:30:03.000Z\",\"type\":\"vendor.x\",\"n\":1e400}");
    /* once more: it is there already */
    assert_int_equal(import(t, "conv_aaaabbbbccccdddd.jsonl", IMPORT_NB), 0);
    assert_int_equal(t->report.conversations, 0);
    assert_int_equal(t->report.existing, 1);
}

/* A prompt is once beside all logs of its directory; one that is not there is not a loss of events.
 */
TEST_WITH(a_log_of_nb_brings_its_prompt, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    char hex[SHA256_HEX_LEN + 1], name[128], log[600], zeros[SHA256_HEX_LEN + 1];
    sha256_hex(STR("a prompt"), hex);
    memset(zeros, '0', sizeof(zeros));
    put_dir(t, "old");
    put_dir(t, "old/blobs");
    (void)snprintf(name, sizeof(name), "old/blobs/%s", hex);
    put(t, name, STR("a prompt"));
    (void)snprintf(log, sizeof(log),
                   "{\"id\":\"conv_aaaabbbbccccdddd\",\"createdAt\":\"2026-03-25T10:30:00.000Z\","
                   "\"format\":\"events\",\"ownerId\":\"usr_a\"}\n"
                   "{\"ts\":\"2026-03-25T10:30:01.000Z\",\"type\":\"llm.request\",\"system\":"
                   "\"%s\",\"tools\":\"%.64s\"}\n",
                   hex, zeros);
    put(t, "old/conv_aaaabbbbccccdddd.jsonl", str_from(log));
    assert_int_equal(import(t, "old", IMPORT_ANY), 0);
    assert_int_equal(t->report.conversations, 1);
    assert_int_equal(t->report.lost, 0);
    assert_int_equal(RIG_CALL(r, store_get_shared(r->store, STR("conv_aaaabbbbccccdddd"),
                                                  str_from(hex), rig_on_blob, r)),
                     0);
    assert_str(r->blob, "a prompt");
}

struct download {
    struct rig *rig;
    struct buf out;
    bool is_last;
};

static void on_piece(void *ctx, const struct err *err, str piece, bool is_last)
{
    struct download *d = ctx;
    buf_add_str(&d->out, piece);
    d->is_last = is_last;
    rig_end(d->rig, err);
}

static str exported(struct rig *r, struct arena *a, const char *id)
{
    struct download d = {.rig = r};
    struct export *x = export_open(r->store, str_from(id), EXPORT_JSONL, NULL, NULL);
    buf_init(&d.out, 1u << 28);
    while (!d.is_last)
        assert_int_equal(RIG_CALL(r, export_next(x, on_piece, &d)), 0);
    export_close(x);
    str text = arena_str(a, buf_str(&d.out));
    buf_done(&d.out);
    return text;
}

TEST_WITH(an_export_comes_back_the_same, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    struct arena a;
    struct buf big;
    arena_init(&a);
    assert_int_equal(rig_create(r, "conv_one", "usr_a"), 0);
    buf_init(&big, 1u << 20);
    buf_add_lit(&big,
                "{\"type\":\"tool.done\",\"id\":\"t\",\"name\":\"x\",\"ok\":true,\"result\":\"");
    for (int i = 0; i < 200000; i++)
        buf_add_char(&big, 'z');
    buf_add_lit(&big, "\"}");
    for (int i = 0; i < 1500; i++)
        assert_int_equal(rig_append(r, "conv_one", "{\"type\":\"user.message\",\"content\":\"x\"}"),
                         0);
    assert_int_equal(rig_append(r, "conv_one", buf_cstr(&big)), 0);
    assert_int_equal(rig_title(r, "conv_one", "Title", false), 0);
    assert_int_equal(RIG_CALL(r, store_add_note(r->store, STR("conv_one"), STR("usr_a"),
                                                STR("note"), rig_on_conv, r)),
                     0);
    str before = exported(r, &a, "conv_one");
    put(t, "conv_one.jsonl", before);
    assert_int_equal(rig_delete(r, "conv_one", true), 0);
    assert_int_equal(import(t, "conv_one.jsonl", IMPORT_ANY), 0);
    assert_int_equal(t->report.lost, 0);
    str after = exported(r, &a, "conv_one");
    /* line 1 had the title that an event set later: it is said once more at the beginning */
    assert_int_equal(rig_get(r, "conv_one"), 0);
    assert_str(r->conv->title, "Title");
    assert_int_equal(r->conv->message_count, 1500);
    str first_events = str_skip(before, (size_t)str_find(before, STR("\n{\"ts\""), 0) + 1);
    assert_true(str_ends(after, first_events));
    buf_done(&big);
    arena_done(&a);
}

/* ---- folders ---- */

TEST_WITH(a_tree_of_folders, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put_dir(t, "storage");
    put_dir(t, "storage/conversations");
    put_dir(t, "storage/conversations/a");
    put(t, "storage/conversations/a/chat.jsonl",
        STR("{\"type\":\"conversation-header\",\"schemaVersion\":1,\"fileKind\":\"chat\","
            "\"conversationId\":\"a\",\"threadId\":\"thread_x\",\"channel\":\"tui\",\"title\":"
            "\"Theirs\",\"createdAt\":1774402340418,\"updatedAt\":1774402340418}\n"
            "{\"type\":\"message\",\"threadId\":\"thread_x\",\"messageId\":\"m\",\"role\":\"user\","
            "\"content\":\"hello\",\"createdAt\":1774402350000}\n"
            "{\"type\":\"message\",\"threadId\":\"thread_x\",\"messageId\":\"m\",\"role\":"
            "\"assistant\",\"content\":\"yes\",\"reasoning\":\"hm\",\"createdAt\":1774402351000}"
            "\n"));
    put(t, "storage/conversations/a/notes.jsonl",
        STR("{\"type\":\"conversation-header\"}\n{\"type\":\"note\",\"createdAt\":1774402352000,"
            "\"author\":\"model\",\"content\":\"n1\"}\n"));
    assert_int_equal(import(t, "storage", IMPORT_ANY), 0);
    assert_int_equal(t->report.lost, 0);
    assert_int_equal(rig_get(r, "thread_x"), 0);
    assert_str(r->conv->title, "Theirs");
    assert_str(r->conv->created_at, "2026-03-25T01:32:20.418Z");
    assert_int_equal(r->conv->message_count, 2);
    assert_int_equal(RIG_CALL(r, store_notes(r->store, STR("thread_x"), rig_on_notes, r)), 0);
    assert_int_equal(r->nnotes, 1);
    assert_str(r->notes[0].text, "n1");
}

/* ---- Claude Code ---- */

static const char CODE_SESSION[] =
    "{\"type\":\"summary\",\"summary\":\"Fix the login\",\"leafUuid\":\"u9\"}\n"
    "{\"parentUuid\":null,\"isSidechain\":false,\"cwd\":\"/p\",\"sessionId\":\"S-1\",\"type\":"
    "\"user\",\"isMeta\":true,\"message\":{\"role\":\"user\",\"content\":\"caveat\"},\"uuid\":"
    "\"u0\",\"timestamp\":\"2025-05-26T07:27:39.000Z\"}\n"
    "{\"parentUuid\":null,\"isSidechain\":false,\"cwd\":\"/p\",\"sessionId\":\"S-1\",\"type\":"
    "\"user\",\"message\":{\"role\":\"user\",\"content\":\"Please fix\"},\"uuid\":\"u1\","
    "\"timestamp\":\"2025-05-26T07:27:40.079Z\"}\n"
    "{\"type\":\"assistant\",\"sessionId\":\"S-1\",\"uuid\":\"u2\",\"timestamp\":"
    "\"2025-05-26T07:27:41.000Z\",\"message\":{\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":"
    "\"claude-x\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}],"
    "\"usage\":{\"input_tokens\":10,\"output_tokens\":5,\"cache_read_input_tokens\":100,"
    "\"cache_creation_input_tokens\":20}}}\n"
    "{\"type\":\"assistant\",\"sessionId\":\"S-1\",\"uuid\":\"u3\",\"timestamp\":"
    "\"2025-05-26T07:27:42.000Z\",\"message\":{\"id\":\"msg_1\",\"role\":\"assistant\",\"model\":"
    "\"claude-x\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Read\","
    "\"input\":"
    "{\"file\":\"a\"}}],\"usage\":{\"input_tokens\":10,\"output_tokens\":5,"
    "\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":20}}}\n"
    "{\"type\":\"user\",\"sessionId\":\"S-1\",\"uuid\":\"u4\",\"timestamp\":"
    "\"2025-05-26T07:27:43.000Z\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":"
    "\"tool_result\",\"tool_use_id\":\"toolu_1\",\"content\":\"text of a\",\"is_error\":true}]}}\n"
    "{\"type\":\"assistant\",\"isSidechain\":true,\"sessionId\":\"S-1\",\"uuid\":\"u5\","
    "\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[]}}\n"
    "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n"
    "{\"type\":\"assistant\",\"sessionId\":\"S-1\",\"uuid\":\"u6\",\"timestamp\":"
    "\"2025-05-26T07:27:44.000Z\",\"message\":{\"id\":\"msg_2\",\"role\":\"assistant\",\"model\":"
    "\"claude-x\",\"content\":[{\"type\":\"text\",\"text\":\"Fixed.\"}]}}\n";

TEST_WITH(a_session_of_claude_code, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put(t, "session.jsonl", str_from(CODE_SESSION));
    assert_int_equal(import(t, "session.jsonl", IMPORT_ANY), 0);
    assert_int_equal(t->report.conversations, 1);
    assert_int_equal(t->report.lost, 3);
    assert_non_null(strstr(t->losses, "sub-agent"));
    const char *id = only(r);
    static const char *const types[] = {"user.message", "run.start", "llm.response",  "tool.done",
                                        "llm.response", "run.done",  "metadata.title"};
    assert_types(r, types, ARRAY_LEN(types));
    assert_str(part_text(event(r, 0), 0), "Please fix");
    assert_str(json_get_string(event(r, 0), "ts"), "2025-05-26T07:27:40.079Z");
    const struct json *answer = event(r, 2);
    assert_int_equal(json_get(answer, "content")->len, 2); /* two lines, one answer */
    assert_int_equal(json_get_int(answer, "inputTokens", 0), 130);
    assert_int_equal(json_get_int(answer, "cacheReadTokens", 0), 100);
    assert_int_equal(json_get_int(answer, "cacheWrite5mTokens", 0), 20);
    const struct json *done = event(r, 3);
    assert_str(json_get_string(done, "name"), "Read");
    assert_str(json_get_string(done, "id"), "toolu_1");
    assert_false(json_get_bool(done, "ok", true));
    assert_int_equal(rig_get(r, id), 0);
    assert_str(r->conv->title, "Fix the login");
    assert_str(r->conv->created_at, "2025-05-26T07:27:40.079Z");
    assert_str(json_get_string(r->conv->metadata, "importedFrom"), "claude-code");
    assert_str(json_get_string(r->conv->metadata, "sourceId"), "S-1");
    assert_str(json_get_string(r->conv->metadata, "cwd"), "/p");
    assert_int_equal(r->conv->usage.input_tokens, 130);
}

/* ---- ChatGPT ---- */

#define NODE(id, parent, children, message)                                                        \
    "\"" id "\":{\"id\":\"" id "\",\"parent\":" parent ",\"children\":[" children                  \
    "],\"message\":" message "}"
#define GPT(id, role, more, content)                                                               \
    "{\"id\":\"" id "\",\"author\":{\"role\":\"" role                                              \
    "\",\"name\":\"py\"},\"create_time\":1700000001.5," more "\"content\":" content "}"
#define TEXT(t) "{\"content_type\":\"text\",\"parts\":[\"" t "\"]}"

static const char CHATGPT[] =
    " [ {\"title\":\"Trip\",\"create_time\":1700000000.25,\"conversation_id\":\"gpt-1\","
    "\"current_node\":\"n6\",\"mapping\":{" NODE("n0", "null", "\"n1\"", "null") "," NODE(
        "n1", "\"n0\"", "\"n2\"",
        GPT("n1", "system",
            "", TEXT(""))) "," NODE("n2", "\"n1\"", "\"x\",\"n3\"",
                                    GPT("n2", "user", "",
                                        "{\"content_type\":\"multimodal_text\",\"parts\":[{"
                                        "\"content_type\":"
                                        "\"image_asset_pointer\",\"asset_pointer\":\"file-1\"},"
                                        "\"Where to?\"]}")) "," NODE("x", "\"n2\"", "",
                                                                     GPT("x", "assistant", "",
                                                                         TEXT(
                                                                             "another answer"))) "," NODE("n3",
                                                                                                          "\"n2\"",
                                                                                                          "\"n4\"",
                                                                                                          GPT("n3", "assistant", "\"recipient\":\"python\",", "{\"content_type\":\"code\",\"language\":\"python\",\"text\":\"print(1)\"}")) "," NODE("n4", "\"n3\"", "\"n5\"", GPT("n4", "tool", "", "{\"content_type\":\"execution_output\",\"text\":\"1\"}")) "," NODE("n5",
                                                                                                                                                                                                                                                                                                                                                                         "\"n4\"",
                                                                                                                                                                                                                                                                                                                                                                         "\"n6\"",
                                                                                                                                                                                                                                                                                                                                                                         GPT("n5",
                                                                                                                                                                                                                                                                                                                                                                             "assistant",
                                                                                                                                                                                                                                                                                                                                                                             "\"recipient\":\"all\",",
                                                                                                                                                                                                                                                                                                                                                                             "{\"content_type\":\"thoughts\",\"thoughts\":[{\"summary\":\"s\",\"content\":\"think\"}]"
                                                                                                                                                                                                                                                                                                                                                                             "}")) "," NODE("n6",
                                                                                                                                                                                                                                                                                                                                                                                            "\"n5\"", "", GPT("n6", "assistant", "\"recipient\":\"all\",\"metadata\":{\"model_slug\":\"gpt-4o\"},", TEXT("To the sea."))) "}},\n{\"title\":\"Empty\",\"mapping\":{}}, {\"other\":1}, {\"broken\": } ]\n";

TEST_WITH(an_export_of_chatgpt, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put_dir(t, "export");
    put(t, "export/conversations.json", str_from(CHATGPT));
    put(t, "export/user.json", STR("{}"));
    assert_int_equal(import(t, "export", IMPORT_ANY), 0);
    assert_int_equal(t->report.conversations, 2);
    assert_non_null(strstr(t->losses, "another branch"));
    assert_non_null(strstr(t->losses, "an image or a file"));
    assert_non_null(strstr(t->losses, "not a conversation"));
    assert_non_null(strstr(t->losses, "not valid JSON"));
    assert_int_equal(rig_list(r, &(struct store_query){.search = STR("Trip")}), 0);
    assert_int_equal(r->listing.n, 1);
    char id[STORE_ID_MAX + 1];
    (void)snprintf(id, sizeof(id), "%.*s", STR_ARG(r->listing.convs[0].id));
    assert_str(r->listing.convs[0].created_at, "2023-11-14T22:13:20.250Z");
    assert_int_equal(rig_read(r, id, &(struct store_range){0}), 0);
    static const char *const types[] = {"user.message", "run.start",     "llm.response",
                                        "tool.done",    "llm.response",  "llm.response",
                                        "run.done",     "metadata.title"};
    assert_types(r, types, ARRAY_LEN(types));
    assert_str(part_text(event(r, 0), 0), "Where to?");
    const struct json *call = json_at(json_get(event(r, 2), "content"), 0);
    assert_str(json_get_string(call, "toolName"), "python");
    assert_str(json_get_string(json_get(call, "input"), "text"), "print(1)");
    assert_str(json_get_string(event(r, 3), "id"), "n3");
    assert_str(json_get_string(event(r, 3), "name"), "python");
    assert_str(json_get_string(event(r, 5), "model"), "gpt-4o");
    assert_str(part_text(event(r, 5), 0), "To the sea.");
    assert_str(json_get_string(event(r, 5), "ts"), "2023-11-14T22:13:21.500Z");
}

/* ---- Claude.ai ---- */

static const char CLAUDE[] =
    "\xef\xbb\xbf[{\"uuid\":\"c-1\",\"name\":\"Plan\",\"created_at\":\"2025-01-02T03:04:05."
    "678901Z\","
    "\"updated_at\":\"2025-01-02T03:04:05Z\",\"account\":{\"uuid\":\"a\"},\"chat_messages\":["
    "{\"uuid\":\"m1\",\"text\":\"Look\",\"content\":[{\"type\":\"text\",\"text\":\"Look\"}],"
    "\"sender\":"
    "\"human\",\"created_at\":\"2025-01-02T03:04:06Z\",\"attachments\":[{\"file_name\":\"a.txt\","
    "\"extracted_content\":\"inside\"}],\"files\":[{\"file_name\":\"b.png\"}]},"
    "{\"uuid\":\"m2\",\"text\":\"\",\"sender\":\"assistant\",\"created_at\":\"2025-01-02T03:04:"
    "07Z\","
    "\"content\":[{\"type\":\"text\",\"text\":\"I search.\"},{\"type\":\"tool_use\",\"id\":\"t1\","
    "\"name\":\"web_search\",\"input\":{\"q\":\"x\"}},{\"type\":\"tool_result\",\"tool_use_id\":"
    "\"t1\","
    "\"name\":\"web_search\",\"content\":[{\"type\":\"text\",\"text\":\"found\"}],\"is_error\":"
    "false},"
    "{\"type\":\"text\",\"text\":\"Here.\"}]},"
    "{\"uuid\":\"m3\",\"text\":\"older shape\",\"sender\":\"human\",\"created_at\":"
    "\"2025-01-02T03:04:08Z\"}]}]";

TEST_WITH(an_export_of_claude, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put(t, "conversations.json", str_from(CLAUDE));
    assert_int_equal(import(t, "conversations.json", IMPORT_ANY), 0);
    assert_int_equal(t->report.conversations, 1);
    assert_int_equal(t->report.lost, 1);
    (void)only(r);
    static const char *const types[] = {"user.message", "run.start",     "llm.response",
                                        "tool.done",    "llm.response",  "run.done",
                                        "user.message", "metadata.title"};
    assert_types(r, types, ARRAY_LEN(types));
    assert_str(part_text(event(r, 0), 1), "[a.txt]\ninside");
    assert_str(part_text(event(r, 4), 0), "Here.");
    assert_str(part_text(event(r, 6), 0), "older shape");
    assert_str(json_get_string(event(r, 0), "ts"), "2025-01-02T03:04:06.000Z");
}

/* ---- whose it is ---- */

static void assert_report(const struct import_rig *t, int64_t made, int64_t existing)
{
    assert_int_equal(t->report.conversations, made);
    assert_int_equal(t->report.existing, existing);
}

/* Two people with the same export: neither hears of the other. */
TEST_WITH(each_person_imports_an_export_once, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put(t, "conversations.json", str_from(CLAUDE));
    static const char *const PEOPLE[] = {"usr_a", "usr_b"};
    for (size_t i = 0; i < ARRAY_LEN(PEOPLE); i++) {
        assert_int_equal(import_of(t, "conversations.json", PEOPLE[i]), 0);
        assert_report(t, 1, 0);
        assert_int_equal(import_of(t, "conversations.json", PEOPLE[i]), 0);
        assert_report(t, 0, 1);
    }
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 2);
}

/* Earlier versions made the id from the foreign id alone. */
TEST_WITH(an_import_of_an_earlier_version_is_found, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    char hex[SHA256_HEX_LEN + 1], id[32];
    put(t, "conversations.json", str_from(CLAUDE));
    sha256_hex(STR("claude:c-1"), hex);
    (void)snprintf(id, sizeof id, "conv_%.16s", hex);
    assert_int_equal(rig_create(r, id, "usr_a"), 0);
    assert_int_equal(import_of(t, "conversations.json", "usr_a"), 0);
    assert_report(t, 0, 1);
    assert_int_equal(import_of(t, "conversations.json", "usr_b"), 0);
    assert_report(t, 1, 0);
    assert_int_equal(import(t, "conversations.json", IMPORT_ANY), 0); /* of nobody: as before */
    assert_report(t, 0, 1);
}

TEST_WITH(a_log_in_the_trash_is_not_imported_again, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put(t, "conv_aaaabbbbccccdddd.jsonl", STR(NB_LOG));
    assert_int_equal(import_of(t, "conv_aaaabbbbccccdddd.jsonl", "usr_a"), 0);
    assert_int_equal(rig_delete(r, "conv_aaaabbbbccccdddd", false), 0);
    assert_int_equal(import_of(t, "conv_aaaabbbbccccdddd.jsonl", "usr_b"), 0);
    assert_report(t, 0, 1);
    assert_int_equal(rig_restore_as(r, "conv_aaaabbbbccccdddd", "usr_a", false), 0);
}

/* ---- files beside an export ---- */

static const char PNG[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\3";

static const char WITH_FILES[] =
    "[{\"conversation_id\":\"f\",\"title\":\"Files\",\"current_node\":\"b\",\"mapping\":{"
    "\"a\":{\"message\":{\"id\":\"a\",\"author\":{\"role\":\"user\"},\"metadata\":{\"attachments\":"
    "["
    "{\"id\":\"file-picture1\",\"name\":\"../"
    "sea.png\"},{\"id\":\"file-paper001\",\"name\":\"p.pdf\"},"
    "{\"id\":\"file-missing1\",\"name\":\"m\"},{\"id\":\"file-linked01\",\"name\":\"l\"},"
    "{\"id\":\"../../etc/passwd\"}]},"
    "\"content\":{\"content_type\":\"multimodal_text\",\"parts\":[{\"asset_pointer\":"
    "\"file-service://file-picture1\"},\"Look\"]}},\"children\":[\"b\"]},"
    "\"b\":{\"parent\":\"a\",\"message\":{\"id\":\"b\",\"author\":{\"role\":\"tool\",\"name\":"
    "\"dalle\"},"
    "\"content\":{\"content_type\":\"multimodal_text\",\"parts\":[{\"asset_pointer\":"
    "\"sediment://file-drawing1\"}]}},\"children\":[]}}}]";

TEST_WITH(pictures_and_documents_come_along, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    char sha256[SHA256_HEX_LEN + 1];
    str png = str_make(PNG, sizeof PNG - 1);
    put_dir(t, "export");
    put_dir(t, "export/dalle-generations");
    put(t, "export/conversations.json", str_from(WITH_FILES));
    put(t, "export/file-picture1-sea_big.png", png);
    put(t, "export/file-paper001-p.pdf", STR("%PDF-1.7 x"));
    put(t, "export/dalle-generations/file-drawing1-1.webp", png);
    const char *linked = arena_printf(&r->arena, "%s/export/file-linked01-l", r->dir).p;
    assert_int_equal(symlink("/etc/passwd", linked), 0);
    assert_int_equal(import(t, "export", IMPORT_ANY), 0);
    assert_int_equal(t->report.conversations, 1);
    assert_non_null(strstr(t->losses, "an image or a file"));
    assert_non_null(strstr(t->losses, "3")); /* missing, a link, a path */
    const char *id = only(r);
    const struct json *parts = json_get(event(r, 0), "content");
    assert_int_equal(parts->len, 3);
    sha256_hex(png, sha256);
    const struct json *paper = &parts->items[0], *picture = &parts->items[1];
    assert_str(json_get_string(picture, "type"), "image");
    assert_str(json_get_string(picture, "mimeType"), "image/png");
    assert_str(json_get_string(picture, "name"), "sea.png");
    assert_str(str_skip(json_get_string(picture, "file"), 5), sha256);
    assert_str(json_get_string(paper, "mimeType"), "application/pdf");
    assert_str(part_text(event(r, 0), 2), "Look");
    const struct json *block = json_at(json_get(json_get(event(r, 2), "result"), "content"), 0);
    assert_str(json_get_string(block, "mimeType"), "image/png");
    assert_true(json_get_string(block, "data").n > 0);
    const char *blob = arena_printf(&r->arena, "%s/%s.blobs/%s", r->conv_dir, id, sha256).p;
    assert_int_equal(access(blob, R_OK), 0);
}

/* Three conversations that name one file. */
static void put_three(struct import_rig *t, str text)
{
    struct arena *a = &t->rig.arena;
    str all = STR_NONE;
    for (int i = 0; i < 3; i++)
        all = arena_printf(a,
                           "%.*s%c{\"id\":\"n%d\",\"current_node\":\"a\",\"mapping\":{\"a\":{"
                           "\"message\":{\"id\":\"a\",\"author\":{\"role\":\"user\"},"
                           "\"metadata\":{\"attachments\":[{\"id\":\"file-paper001\"}]},"
                           "\"content\":{\"parts\":[\"read\"]}}}}}",
                           STR_ARG(all), i == 0 ? '[' : ',', i);
    put_dir(t, "export");
    put(t, "export/file-paper001-p.txt", text);
    put(t, "export/conversations.json", arena_printf(a, "%.*s]", STR_ARG(all)));
}

TEST_WITH(a_file_of_several_conversations_is_stored_once, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    char sha256[SHA256_HEX_LEN + 1];
    sha256_hex(STR("a text"), sha256);
    put_three(t, STR("a text"));
    assert_int_equal(import_of(t, "export", "usr_a"), 0);
    assert_report(t, 3, 0);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 3);
    for (size_t i = 0; i < 3; i++) {
        struct stat st;
        const char *blob = arena_printf(&r->arena, "%s/%.*s.blobs/%s", r->conv_dir,
                                        STR_ARG(r->listing.convs[i].id), sha256)
                               .p;
        assert_int_equal(stat(blob, &st), 0);
        assert_int_equal(st.st_nlink, 3);
    }
}

/* The next import skips what there is, so that it continues. */
TEST_WITH(an_import_has_a_limit_and_is_continued, setup, teardown)
{
    struct import_rig *t = *state;
    const struct import_spec two = {.owner_id = STR("usr_a"), .max_files = 2};
    const struct import_spec small = {.owner_id = STR("usr_b"), .max_bytes = 5};
    put_three(t, STR("a text"));
    assert_int_equal(import_as(t, "export", two), -E2BIG);
    assert_report(t, 2, 0);
    assert_non_null(strstr(t->rig.err.msg, "at most 2 files"));
    assert_int_equal(import_as(t, "export", two), 0);
    assert_report(t, 1, 2);
    assert_int_equal(import_as(t, "export", small), -E2BIG);
    assert_report(t, 0, 0);
    assert_non_null(strstr(t->rig.err.msg, "at most 0 MiB"));
    assert_int_equal(rig_list(&t->rig, &(struct store_query){0}), 0);
    assert_int_equal(t->rig.listing.n, 3); /* nothing incomplete */
}

/* A person can delete a conversation while later ones are imported that name the same file. */
TEST_WITH(a_copy_counts_when_the_first_conversation_is_gone, setup, teardown)
{
    struct import_rig *t = *state;
    struct buf text;
    const struct import_spec one = {.owner_id = STR("usr_a"), .max_bytes = 150 * 1000};
    const struct import_spec all = {.owner_id = STR("usr_a"), .max_bytes = 250 * 1000};
    buf_init(&text, 100 * 1000);
    for (size_t i = 0; i < 100 * 1000; i++)
        buf_add_char(&text, 'x');
    put_three(t, buf_str(&text));
    buf_done(&text);
    t->is_losing = true;
    assert_int_equal(import_as(t, "export", one), -E2BIG);
    assert_report(t, 1, 0);
    assert_int_equal(import_as(t, "export", all), 0);
    assert_report(t, 2, 1);
}

TEST_WITH(beside_a_single_file_nothing_is_read, setup, teardown)
{
    struct import_rig *t = *state;
    put_dir(t, "home");
    put(t, "home/conversations.json", str_from(CLAUDE));
    put(t, "home/b.png", str_make(PNG, sizeof PNG - 1));
    assert_int_equal(import(t, "home/conversations.json", IMPORT_ANY), 0);
    assert_int_equal(t->report.lost, 1);
}

TEST_WITH(files_of_claude_are_found_by_name_or_uuid, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put_dir(t, "export");
    put(t, "export/conversations.json", str_from(CLAUDE));
    put(t, "export/b.png", str_make(PNG, sizeof PNG - 1));
    put(t, "export/other.json", str_from(CLAUDE));
    assert_int_equal(import(t, "export", IMPORT_ANY), 0);
    assert_int_equal(t->report.lost, 0);
    (void)only(r);
    assert_str(json_get_string(json_at(json_get(event(r, 0), "content"), 2), "name"), "b.png");
}

/* ---- bad input ---- */

TEST_WITH(what_cannot_be_read, setup, teardown)
{
    struct import_rig *t = *state;
    assert_int_equal(import(t, "nothing", IMPORT_ANY), -ENOENT);
    put_dir(t, "empty");
    assert_int_equal(import(t, "empty", IMPORT_ANY), -ENOENT);
    assert_non_null(strstr(t->rig.err.msg, "contains no conversations"));
    static const char *const broken[] = {"",          "[",     "[{\"mapping\":{}},",   "null",
                                         "{\"a\":1}", "[1,2]", "[{\"mapping\":{\"a\":"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        put(t, "conversations.json", str_from(broken[i]));
        assert_int_equal(import(t, "conversations.json", IMPORT_CHATGPT), i == 2 ? 0 : -ENODATA);
        assert_true(t->report.lost >= 1);
        assert_int_equal(import(t, "conversations.json", IMPORT_ANY), i == 2 ? 0 : -ENODATA);
        assert_true(t->report.lost >= 1);
    }
    put(t, "zeros.jsonl", str_make("\0\0\n\0", 4));
    assert_int_equal(import(t, "zeros.jsonl", IMPORT_ANY), -ENODATA);
    assert_true(t->report.lost > 0);
    put(t, "passwd", STR("root:x:0:0:root:/root:/bin/sh\nnobody:x:1:1::/:/bin/false\n"));
    assert_int_equal(import(t, "passwd", IMPORT_ANY), -ENODATA);
    assert_int_equal(import(t, "passwd", IMPORT_NB), -ENODATA);
    assert_non_null(strstr(t->rig.err.msg, "contains no conversation"));
    assert_int_equal(t->report.conversations, 0);
    enum import_kind k;
    assert_int_equal(import_kind_parse(STR("claude-code"), &k, NULL), 0);
    assert_int_equal(k, IMPORT_CLAUDE_CODE);
    assert_int_equal(import_kind_parse(STR("zip"), &k, NULL), -EINVAL);
}

TEST_WITH(a_circle_of_parents, setup, teardown)
{
    struct import_rig *t = *state;
    put(t, "conversations.json",
        STR("[{\"id\":\"c\",\"current_node\":\"a\",\"mapping\":{" NODE(
            "a", "\"b\"", "\"b\"",
            GPT("a", "user", "", TEXT("one"))) "," NODE("b", "\"a\"", "\"a\"",
                                                        GPT("b", "user", "", TEXT("two"))) "}}]"));
    assert_int_equal(import(t, "conversations.json", IMPORT_ANY), 0);
    assert_int_equal(t->report.conversations, 1);
}

/* Otherwise a few MB of nodes make as many copies of a large message as there are nodes. */
TEST_WITH(a_circle_of_parents_is_told_once, setup, teardown)
{
    static const char *const STARTS[] = {"\"current_node\":\"a\",", ""};
    for (size_t i = 0; i < ARRAY_LEN(STARTS); i++) {
        struct import_rig *t = *state;
        put(t, "conversations.json",
            arena_printf(&t->rig.arena,
                         "[{\"id\":\"c%zu\",%s\"mapping\":{%s,%s,\"x\":{\"parent\":\"a\"},"
                         "\"y\":{\"parent\":\"a\"},\"z\":{\"parent\":\"a\"}}}]",
                         i, STARTS[i],
                         NODE("a", "\"b\"", "\"b\"", GPT("a", "user", "", TEXT("one"))),
                         NODE("b", "\"a\"", "\"a\"", GPT("b", "user", "", TEXT("two")))));
        assert_int_equal(import(t, "conversations.json", IMPORT_ANY), 0);
        assert_int_equal(t->report.conversations, 1);
        assert_int_equal(t->report.events, 2);
    }
}

/* A mention of a picture has some 30 bytes, and the picture in a result some millions. */
TEST_WITH(pictures_in_results_have_a_limit, setup, teardown)
{
    enum { BYTES = 4 * 1024 * 1024, PARTS = 20 };
    struct import_rig *t = *state;
    struct arena *a = &t->rig.arena;
    char *picture = arena_alloc(a, BYTES);
    str parts = STR("\"drawn\"");
    memset(picture, 0, BYTES);
    memcpy(picture, PNG, sizeof PNG - 1);
    for (int i = 0; i < PARTS; i++)
        parts = arena_printf(a, "%.*s,{\"asset_pointer\":\"sediment://file-drawing1\"}",
                             STR_ARG(parts));
    put_dir(t, "export");
    put(t, "export/file-drawing1-1.png", str_make(picture, BYTES));
    put(t, "export/conversations.json",
        arena_printf(a,
                     "[{\"id\":\"p\",\"current_node\":\"a\",\"mapping\":{\"a\":{\"message\":"
                     "{\"id\":\"a\",\"author\":{\"role\":\"tool\",\"name\":\"dalle\"},"
                     "\"content\":{\"parts\":[%.*s]}}}}}]",
                     STR_ARG(parts)));
    assert_int_equal(import(t, "export", IMPORT_ANY), 0);
    assert_non_null(strstr(t->losses, "an image or a file"));
}

/* Neither may the time grow with the product of both. */
TEST_WITH(many_attachments_and_many_parts, setup, teardown)
{
    enum { MANY = 300000 };
    struct import_rig *t = *state;
    struct buf b;
    buf_init(&b, 64u * 1024 * 1024);
    buf_printf(&b, "[{\"id\":\"m\",\"current_node\":\"a\",\"mapping\":{\"a\":{\"message\":{"
                   "\"id\":\"a\",\"author\":{\"role\":\"user\"},\"metadata\":{\"attachments\":[");
    for (int i = 0; i < MANY; i++)
        buf_printf(&b, "%s{\"id\":\"f\"}", i > 0 ? "," : "");
    buf_printf(&b, "]},\"content\":{\"parts\":[\"one\"");
    for (int i = 0; i < MANY; i++)
        buf_printf(&b, ",{}");
    buf_printf(&b, "]}}}}}]");
    put(t, "conversations.json", buf_str(&b));
    buf_done(&b);
    assert_int_equal(import(t, "conversations.json", IMPORT_ANY), 0);
    assert_int_equal(t->report.lost, 2 * MANY);
    (void)only(&t->rig);
    assert_str(part_text(event(&t->rig, 0), 0), "one");
}

TEST_WITH(elements_of_a_file, setup, teardown)
{
    struct import_rig *t = *state;
    str text;
    put(t, "x.json", STR("[{\"a\":\"]}\\\"{\"},\n{\"b\":[{}]}]"));
    FILE *f = fopen(rig_path(&t->rig, "../x.json"), "re");
    assert_non_null(f);
    struct elements e;
    elements_init(&e, fileno(f));
    assert_int_equal(elements_next(&e, &text), 1);
    assert_str(text, "{\"a\":\"]}\\\"{\"}");
    assert_int_equal(elements_next(&e, &text), 1);
    assert_str(text, "{\"b\":[{}]}");
    assert_int_equal(elements_next(&e, &text), 0);
    assert_int_equal(elements_next(&e, &text), 0);
    elements_done(&e);
    (void)fclose(f);
}

TEST_WITH(cancelling, setup, teardown)
{
    struct import_rig *t = *state;
    struct rig *r = &t->rig;
    put(t, "conv_aaaabbbbccccdddd.jsonl", STR(NB_LOG));
    char path[600];
    (void)snprintf(path, sizeof(path), "%s/conv_aaaabbbbccccdddd.jsonl", r->dir);
    struct import_spec spec = {.path = path};
    import_cancel(import_run(r->store, &spec, on_imported, t));
    assert_int_equal(rig_get(r, "conv_aaaabbbbccccdddd"), -ENOENT);
    /* at any moment: what is left is whole, or nothing */
    for (int turns = 1; turns < 60; turns++) {
        bool never = false;
        t->rig.done = false;
        t->is_over = false;
        struct import *im = import_run(r->store, &spec, on_imported, t);
        for (int i = 0; i < turns && !t->is_over; i++)
            (void)loop_run_until(r->loop, &never, 0);
        if (!t->is_over)
            import_cancel(im);
        int code = rig_get(r, "conv_aaaabbbbccccdddd");
        assert_true(code == -ENOENT || r->conv->message_count == 2 || r->conv->message_count == 0);
        (void)rig_delete(r, "conv_aaaabbbbccccdddd", true); /* it may be going already */
    }
}
