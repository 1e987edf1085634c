/* The folder layout on disk: what others find there, and what nb makes of what others wrote. */
#include <dirent.h>
#include <errno.h>

#include "rig.h"
#include "store/folder/folder.h"
#include "store/folder/folder_record.h"

#define ID     "conv_0123456789abcdef"
#define FOLDER "conversations/conversation-2026-03-25T01-32-20-418Z-thread_abc123"
#define MS     "1774402340418"

static int setup(void **state)
{
    struct rig *r = xcalloc(1, sizeof(*r));
    rig_init(r, "folder", NULL);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_done(*state);
    free(*state);
    return 0;
}

/* The one folder in conversations/. */
static const char *only_folder(struct rig *r)
{
    DIR *d = opendir(rig_path(r, "conversations"));
    assert_non_null(d);
    struct dirent *e;
    const char *found = NULL;
    while ((e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        assert_null(found);
        found = arena_printf(&r->arena, "conversations/%s", e->d_name).p;
    }
    closedir(d);
    assert_non_null(found);
    return found;
}

static const char *inside(struct rig *r, const char *folder, const char *file)
{
    return arena_printf(&r->arena, "%s/%s", folder, file).p;
}

static struct json *nth_line(struct rig *r, str text, size_t n)
{
    str line = STR_NONE;
    struct json *v;
    for (size_t i = 0; i <= n; i++)
        assert_true(str_split(&text, '\n', &line));
    assert_int_equal(json_parse(&r->arena, line, JSON_COPY, &v, NULL), 0);
    return v;
}

static size_t count_lines(str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

/* Keys in the order in which the layout's description shows them. */
static void assert_keys(const struct json *v, const char *const *keys, size_t n)
{
    assert_true(v->len >= n);
    for (size_t i = 0; i < n; i++)
        assert_str(v->members[i].key, keys[i]);
}

static void make_foreign(struct rig *r, const char *folder, const char *chat, const char *notes)
{
    assert_int_equal(mkdir(rig_path(r, folder), 0700), 0);
    rig_spit(r, inside(r, folder, "chat.jsonl"), "we", str_from(chat));
    if (notes)
        rig_spit(r, inside(r, folder, "notes.jsonl"), "we", str_from(notes));
}

static const char *const HEADER_KEYS[] = {"type",           "schemaVersion", "fileKind",
                                          "conversationId", "threadId",      "channel",
                                          "title",          "createdAt",     "updatedAt"};

TEST_WITH(what_a_new_conversation_looks_like, setup, teardown)
{
    struct rig *r = *state;
    struct conv_create spec = {.id = STR(ID),
                               .owner_id = STR("usr_a"),
                               .channel = STR("tui"),
                               .created_ms = 1774402340418};
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    assert_str(r->conv->created_at, "2026-03-25T01:32:20.418Z");
    const char *folder = only_folder(r);
    assert_string_equal(folder, "conversations/conversation-2026-03-25T01-32-20-418Z-" ID);
    static const char *const files[] = {"chat", "notes"};
    for (size_t i = 0; i < 2; i++) {
        str text = rig_slurp(r, inside(r, folder, i ? "notes.jsonl" : "chat.jsonl"));
        assert_int_equal(count_lines(text), 1);
        const struct json *h = nth_line(r, text, 0);
        assert_keys(h, HEADER_KEYS, ARRAY_LEN(HEADER_KEYS));
        assert_str(json_get_string(h, "type"), "conversation-header");
        assert_int_equal(json_get_int(h, "schemaVersion", 0), 1);
        assert_str(json_get_string(h, "fileKind"), files[i]);
        assert_str(json_get_string(h, "conversationId"), folder + strlen("conversations/"));
        assert_str(json_get_string(h, "threadId"), ID);
        assert_str(json_get_string(h, "channel"), "tui");
        assert_int_equal(json_get_int(h, "createdAt", 0), 1774402340418);
    }
}

TEST_WITH(who_knows_only_messages_reads_the_chat, setup, teardown)
{
    struct rig *r = *state;
    static const char *const message_keys[] = {"type", "conversationId", "threadId", "messageId",
                                               "role", "channel",        "content",  "createdAt"};
    str events[] = {
        STR_INIT("{\"ts\":\"2026-03-25T01:32:30.000Z\",\"type\":\"user.message\",\"content\":[{"
                 "\"type\":\"text\",\"text\":\"what errors?\"}],\"userId\":\"usr_a\"}"),
        STR_INIT("{\"ts\":\"2026-03-25T01:32:31.000Z\",\"type\":\"run.start\",\"runId\":\"r\"}"),
        STR_INIT("{\"ts\":\"2026-03-25T01:32:32.000Z\",\"type\":\"llm.response\",\"runId\":\"r\","
                 "\"content\":[{\"type\":\"tool-call\",\"toolCallId\":\"t\",\"toolName\":\"x\","
                 "\"input\":{}}]}"),
        STR_INIT("{\"ts\":\"2026-03-25T01:32:33.000Z\",\"type\":\"llm.response\",\"content\":[{"
                 "\"type\":\"reasoning\",\"text\":\"hm\"},{\"type\":\"text\",\"text\":\"none\"}],"
                 "\"inputTokens\":1.0}"),
    };
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append_n(r, ID, events, ARRAY_LEN(events)), 0);
    str chat = rig_slurp(r, inside(r, only_folder(r), "chat.jsonl"));
    assert_int_equal(count_lines(chat), 5);
    static const char *const types[] = {"message", "event", "event", "message"};
    for (size_t i = 0; i < 4; i++)
        assert_str(json_get_string(nth_line(r, chat, i + 1), "type"), types[i]);
    const struct json *user = nth_line(r, chat, 1), *assistant = nth_line(r, chat, 4);
    assert_keys(user, message_keys, ARRAY_LEN(message_keys));
    assert_str(json_get_string(user, "role"), "user");
    assert_str(json_get_string(user, "content"), "what errors?");
    assert_int_equal(json_get_int(user, "createdAt", 0), 1774402350000);
    assert_str(json_get_string(assistant, "role"), "assistant");
    assert_str(json_get_string(assistant, "content"), "none");
    assert_str(json_get_string(assistant, "reasoning"), "hm");
    /* and nb reads back what it was given, byte for byte */
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(str_eq(r->page.events[i].line, events[i]));
}

TEST_WITH(system_messages, setup, teardown)
{
    struct rig *r = *state;
    const str events[] = {
        STR_INIT("{\"ts\":\"2026-03-25T01:32:30.000Z\",\"type\":\"run.error\",\"runId\":\"r\","
                 "\"error\":{\"type\":\"overloaded\",\"message\":\"no \\\"model\\\" answers\"}}"),
        STR_INIT("{\"ts\":\"2026-03-25T01:32:31.000Z\",\"type\":\"run.error\"}"),
        STR_INIT("{\"ts\":\"2026-03-25T01:32:32.000Z\",\"type\":\"metadata.visibility\","
                 "\"visibility\":\"shared\"}"),
    };
    static const char *const said[] = {"The run failed: no \"model\" answers", "The run failed.",
                                       "This conversation is shared."};
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(rig_append_n(r, ID, events, ARRAY_LEN(events)), 0);
    str chat = rig_slurp(r, inside(r, only_folder(r), "chat.jsonl"));
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        const struct json *line = nth_line(r, chat, i + 1);
        assert_str(json_get_string(line, "type"), "message");
        assert_str(json_get_string(line, "role"), "system");
        assert_str(json_get_string(line, "content"), said[i]);
    }
    /* nb reads the events, and counts none of them as a message */
    assert_int_equal(rig_read(r, ID, &(struct store_range){0}), 0);
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        assert_true(str_eq(r->page.events[i].line, events[i]));
    assert_int_equal(rig_get(r, ID), 0);
    assert_int_equal(r->conv->message_count, 0);
    assert_true(r->conv->acl.is_shared);
}

#define FOREIGN_HEADER                                                                             \
    "{\"type\":\"conversation-header\",\"schemaVersion\":1,\"fileKind\":\"chat\","                 \
    "\"conversationId\":\"conversation-x\",\"threadId\":\"thread_abc123\",\"channel\":\"tui\","    \
    "\"title\":\"Operator Conversation\",\"createdAt\":" MS ",\"updatedAt\":" MS "}\n"
#define FOREIGN_MESSAGE(role, text)                                                                \
    "{\"type\":\"message\",\"conversationId\":\"conversation-x\",\"threadId\":\"thread_abc123\","  \
    "\"messageId\":\"msg_1\",\"role\":\"" role "\",\"channel\":\"tui\",\"content\":\"" text        \
    "\",\"createdAt\":" MS ",\"thoughts\":[1]}\n"

TEST_WITH(what_others_wrote, setup, teardown)
{
    struct rig *r = *state;
    make_foreign(
        r, FOLDER,
        FOREIGN_HEADER FOREIGN_MESSAGE("system", "online") FOREIGN_MESSAGE(
            "user", "any errors?") "{\"type\":\"vendor.thing\",\"createdAt\":" MS ",\"x\":1.50}\n"
                                   "not json\n" FOREIGN_MESSAGE("assistant", "none"),
        "{\"type\":\"note\",\"createdAt\":" MS ",\"author\":\"model\",\"content\":\"theirs\"}\n");
    assert_int_equal(rig_get(r, "thread_abc123"), 0);
    assert_str(r->conv->title, "Operator Conversation");
    assert_str(r->conv->channel, "tui");
    assert_str(r->conv->created_at, "2026-03-25T01:32:20.418Z");
    assert_str(r->conv->preview, "any errors?");
    assert_int_equal(r->conv->message_count, 2);
    assert_int_equal(r->conv->bad_lines, 1);
    assert_int_equal(rig_read(r, "thread_abc123", &(struct store_range){0}), 0);
    assert_int_equal(r->page.n, 4);
    struct json *v;
    assert_int_equal(json_parse(&r->arena, r->page.events[1].line, 0, &v, NULL), 0);
    assert_str(json_get_string(v, "ts"), "2026-03-25T01:32:20.418Z");
    assert_str(json_get_string(v, "role"), "user");
    assert_null(json_get(v, "type"));
    assert_non_null(json_get(v, "thoughts"));
    assert_true(str_find(r->page.events[2].line, STR("\"x\":1.50"), 0) > 0);

    /* carried on: our lines speak of the same conversation */
    assert_int_equal(rig_title(r, "thread_abc123", "Mine", false), 0);
    assert_str(r->conv->title, "Mine");
    assert_int_equal(
        rig_append(r, "thread_abc123", "{\"type\":\"user.message\",\"content\":\"x\"}"), 0);
    str chat = rig_slurp(r, FOLDER "/chat.jsonl");
    assert_true(str_starts(chat, STR(FOREIGN_HEADER))); /* never rewritten */
    const struct json *ours = nth_line(
        r, str_skip(chat, (size_t)str_find(chat, STR("not json"), 0) + sizeof("not json")), 2);
    assert_str(json_get_string(ours, "conversationId"), "conversation-x");
    assert_str(json_get_string(ours, "channel"), "tui");
}

TEST_WITH(notes_of_everybody, setup, teardown)
{
    struct rig *r = *state;
    make_foreign(r, FOLDER, FOREIGN_HEADER,
                 "{\"type\":\"note\",\"createdAt\":" MS
                 ",\"author\":\"model\",\"content\":\"pineapple\"}\n{\"type\":\"no");
    str id = STR("thread_abc123");
    assert_int_equal(
        RIG_CALL(r, store_add_note(r->store, id, STR("usr_a"), STR("ours"), rig_on_conv, r)), 0);
    assert_int_equal(RIG_CALL(r, store_notes(r->store, id, rig_on_notes, r)), 0);
    assert_int_equal(r->nnotes, 2);
    assert_str(r->notes[0].text, "ours");
    assert_str(r->notes[1].text, "pineapple");
    assert_str(r->notes[1].ts, "2026-03-25T01:32:20.418Z");
    str notes = rig_slurp(r, FOLDER "/notes.jsonl");
    assert_int_equal(count_lines(notes), 2); /* the torn one went aside */
    assert_true(rig_slurp(r, FOLDER "/notes.jsonl.torn").n > 0);
    const struct json *ours = nth_line(r, notes, 1);
    static const char *const keys[] = {"type", "createdAt", "author", "content"};
    assert_int_equal(ours->len, 4);
    assert_keys(ours, keys, 4);
    assert_str(json_get_string(ours, "author"), "usr_a");
    assert_int_equal(rig_search(r, "pineapple", NULL), 0);
    assert_int_equal(r->hits.n, 1);
    /* a fork takes the notes of the chat along */
    assert_int_equal(rig_fork(r, "thread_abc123", -1, "usr_a"), 0);
    str fork = arena_str(&r->arena, r->conv->id);
    char forked[STORE_ID_MAX + 1];
    (void)snprintf(forked, sizeof(forked), "%.*s", STR_ARG(fork));
    assert_int_equal(RIG_CALL(r, store_notes(r->store, str_from(forked), rig_on_notes, r)), 0);
    assert_int_equal(r->nnotes, 1);
    assert_str(r->notes[0].text, "ours");
}

TEST_WITH(notes_without_a_file, setup, teardown)
{
    struct rig *r = *state;
    make_foreign(r, FOLDER, FOREIGN_HEADER, NULL);
    assert_int_equal(RIG_CALL(r, store_add_note(r->store, STR("thread_abc123"), STR("model"),
                                                STR("one"), rig_on_conv, r)),
                     0);
    str notes = rig_slurp(r, FOLDER "/notes.jsonl");
    assert_int_equal(count_lines(notes), 2);
    assert_str(json_get_string(nth_line(r, notes, 0), "fileKind"), "notes");
}

TEST_WITH(the_header_names_the_conversation, setup, teardown)
{
    struct rig *r = *state;
    make_foreign(r, "conversations/any name", FOREIGN_HEADER, NULL);
    make_foreign(r, "conversations/broken", "\n", NULL);
    make_foreign(r, "conversations/conversation-2026-03-25T01-32-20-418Z-thread_lost", "{}\n",
                 NULL);
    make_foreign(r, "conversations/odd",
                 "{\"type\":\"conversation-header\",\"threadId\":\"A b/../c\"}\n", NULL);
    assert_int_equal(mkdir(rig_path(r, "conversations/empty"), 0700), 0);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 4);
    assert_int_equal(rig_get(r, "thread_abc123"), 0);
    assert_int_equal(rig_get(r, "thread_lost"), 0); /* no header: the name is what there is */
    assert_true(r->conv->acl.is_sealed);
    str odd = folder_id(&r->arena, STR("A b/../c"));
    assert_true(store_id_valid(odd));
    assert_true(str_starts(odd, STR("thread_Abc-")));
    char id[STORE_ID_MAX + 1];
    (void)snprintf(id, sizeof(id), "%.*s", STR_ARG(odd));
    assert_int_equal(rig_get(r, id), 0);
    assert_int_equal(rig_append(r, id, "{\"type\":\"user.message\",\"content\":\"x\"}"), 0);
    str chat = rig_slurp(r, "conversations/odd/chat.jsonl");
    assert_str(json_get_string(nth_line(r, chat, 1), "threadId"), "A b/../c");
    /* what has another name tomorrow is still the same */
    rig_close_store(r);
    assert_int_equal(
        rename(rig_path(r, "conversations/any name"), rig_path(r, "conversations/other name")), 0);
    rig_open_store(r, "folder");
    assert_int_equal(rig_append(r, "thread_abc123", "{\"type\":\"x\"}"), 0);
}

TEST_WITH(two_folders_of_one_thread, setup, teardown)
{
    struct rig *r = *state;
    make_foreign(r, "conversations/a", FOREIGN_HEADER FOREIGN_MESSAGE("user", "first"), NULL);
    make_foreign(r, "conversations/b", FOREIGN_HEADER FOREIGN_MESSAGE("user", "second"), NULL);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 2);
    assert_int_equal(rig_get(r, "thread_abc123"), 0);
    assert_str(r->conv->preview, "first");
}

TEST_WITH(names_are_made_safe, setup, teardown)
{
    struct arena a;
    arena_init(&a);
    assert_str(folder_name(&a, 1774402340418, STR("Thread_A/..b")),
               "conversation-2026-03-25T01-32-20-418Z-thread_a---b");
    arena_done(&a);
    struct rig *r = *state;
    struct conv_create spec = {.id = STR("conv_Ab"), .created_ms = 1000};
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    spec.id = STR("conv_aB"); /* the same name, another conversation */
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), 0);
    assert_int_equal(RIG_CALL(r, store_create(r->store, &spec, rig_on_conv, r)), -EEXIST);
    assert_int_equal(rig_get(r, "conv_Ab"), 0);
    assert_str(r->conv->id, "conv_Ab");
}

TEST_WITH(torn_and_locked, setup, teardown)
{
    struct rig *r = *state;
    make_foreign(r, FOLDER, FOREIGN_HEADER FOREIGN_MESSAGE("user", "x") "{\"type\":\"mess", NULL);
    assert_int_equal(rig_append(r, "thread_abc123", "{\"type\":\"x\"}"), 0);
    assert_int_equal(rig_slurp(r, FOLDER "/chat.jsonl.torn").n, 14);
    assert_non_null(strstr(r->logged, "unfinished line"));
    struct rig *other = xcalloc(1, sizeof(*other));
    rig_init(other, NULL, NULL);
    (void)snprintf(other->conv_dir, sizeof(other->conv_dir), "%s", r->conv_dir);
    rig_open_store(other, "folder");
    assert_int_equal(rig_append(other, "thread_abc123", "{\"type\":\"x\"}"), -EBUSY);
    assert_int_equal(rig_get(other, "thread_abc123"), 0);
    rig_done(other);
    free(other);
}

TEST_WITH(with_an_index, setup, teardown)
{
    struct rig *r = *state;
    rig_close_store(r);
    struct store_conf conf = {.type = "folder",
                              .dir = r->conv_dir,
                              .cache_dir = rig_path(r, "cache"),
                              .workspace_id = "ws_test"};
    make_foreign(r, FOLDER, FOREIGN_HEADER FOREIGN_MESSAGE("user", "a pelican"), NULL);
    assert_int_equal(store_open(&r->env, &conf, &r->store, NULL), 0);
    assert_int_equal(rig_create(r, ID, "usr_a"), 0);
    assert_int_equal(
        rig_append(r, ID, "{\"type\":\"user.message\",\"content\":\"another pelican\"}"), 0);
    assert_int_equal(rig_list(r, &(struct store_query){0}), 0);
    assert_int_equal(r->listing.n, 2);
    assert_str(r->listing.convs[0].preview, "another pelican");
    assert_str(r->listing.convs[1].id, "thread_abc123");
    assert_int_equal(rig_search(r, "pelican", NULL), 0);
    assert_int_equal(r->hits.n, 2);
    assert_int_equal(rig_delete(r, ID, false), 0);
    assert_int_equal(rig_search(r, "pelican", NULL), 0);
    assert_int_equal(r->hits.n, 1);
}

TEST_WITH(state_and_sessions, setup, teardown)
{
    struct rig *r = *state;
    struct err e = {0};
    struct json *v, *back;
    assert_int_equal(json_parse(&r->arena, STR("{\"n\":[1,2.50]}"), 0, &v, NULL), 0);
    assert_int_equal(folder_state_write(r->conv_dir, "app", v, &e), 0);
    assert_int_equal(folder_state_write(r->conv_dir, "app", v, &e), 0);
    assert_int_equal(json_parse(&r->arena, rig_slurp(r, "state/app.json"), 0, &back, NULL), 0);
    assert_true(json_equal(v, back));
    static const char *const bad[] = {"", "../x", "A", "a.b"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(folder_state_write(r->conv_dir, bad[i], v, &e), -EINVAL);

    int fd[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(folder_session_open(r->conv_dir, 1774402340418, &fd[i], &e), 0);
        assert_int_equal(write(fd[i], "hello\n", 6), 6);
        close(fd[i]);
    }
    assert_str(rig_slurp(r, "sessions/2026-03-25T01-32-20-418Z/system.log"), "hello\n");
    assert_str(rig_slurp(r, "sessions/2026-03-25T01-32-20-418Z-2/system.log"), "hello\n");
}
