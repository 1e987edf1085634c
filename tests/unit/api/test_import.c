/* Imports of files that people have given (conversations/import_given.c, import.c). */
#include "attach/attach.h"
#include "support/api_streams.h"

#define EXPORT                                                                                     \
    "[{\"uuid\":\"c-1\",\"name\":\"Notes\",\"created_at\":\"2025-01-02T03:04:05Z\","               \
    "\"chat_messages\":[{\"uuid\":\"m1\",\"sender\":\"human\","                                    \
    "\"created_at\":\"2025-01-02T03:04:06Z\",\"text\":\"Look\","                                   \
    "\"content\":[{\"type\":\"text\",\"text\":\"Look\"}]}]}]"

static int files_set_up(void **state)
{
    int r = api_set_up(state);
    struct api_rig *t = *state;
    const char *dir = arena_printf(&t->rig->arena, "%s/files", t->rig->dir.path).p;
    struct attach_conf conf = {dir, 1 << 20, 1 << 20};
    t->space.files = attach_new(t->rig->loop, t->rig->pool, &conf);
    t->space.root = t->rig->dir.path;
    return r;
}

static int files_tear_down(void **state)
{
    struct api_rig *t = *state;
    attach_close(t->space.files);
    return api_tear_down(state);
}

static const char *give(struct api_rig *t, const char *who, const char *bytes)
{
    struct api_answer a = api_call_with(t, who, "POST", "/v1/files",
                                        "X-File-Name: conversations.json\r\n", str_from(bytes));
    assert_status(a, 200);
    return api_text(t, a.json, "id");
}

static struct api_answer begin(struct api_rig *t, const char *who, const char *file,
                               const char *kind)
{
    return api_call(t, who, "POST", "/v1/conversations/import",
                    api_path(t, "{\"file\":\"%s\",\"kind\":\"%s\"}", file, kind));
}

static struct api_answer ended(struct api_rig *t, const char *who)
{
    struct api_answer a;
    do {
        rig_spin(t->rig);
        a = api_get(t, who, "/v1/conversations/import");
        assert_status(a, 200);
    } while (json_get_bool(a.json, "isRunning", false));
    return a;
}

TEST_WITH(the_conversations_of_an_export_belong_to_the_person, files_set_up, files_tear_down)
{
    struct api_rig *t = *state;
    const char *file = give(t, "ben", EXPORT);
    struct api_answer a = begin(t, "ben", file, "claude");
    assert_status(a, 200);
    assert_string_equal(api_text(t, a.json, "path"), "conversations.json");
    a = ended(t, "ben");
    assert_int_equal(json_get_int(a.json, "conversations", 0), 1);
    assert_true(json_get(a.json, "error")->type == JSON_NULL);
    a = api_get(t, "ben", "/v1/conversations");
    const struct json *one = json_at(json_get(a.json, "conversations"), 0);
    assert_string_equal(api_text(t, one, "title"), "Notes");
    assert_string_equal(api_text(t, one, "ownerId"), "usr_ben");
    assert_status(begin(t, "ben", file, "claude"), 200);
    assert_int_equal(json_get_int(ended(t, "ben").json, "existing", 0), 1);
}

TEST_WITH(files_and_imports_of_others_are_not_found, files_set_up, files_tear_down)
{
    struct api_rig *t = *state;
    const char *file = give(t, "ben", EXPORT);
    assert_status(begin(t, "dan", file, "claude"), 404);
    assert_status(begin(t, "ben", "file_none", "claude"), 404);
    assert_status(api_get(t, "ben", "/v1/conversations/import"), 404);
    assert_status(begin(t, "ben", file, "claude"), 200);
    (void)ended(t, "ben");
    assert_status(api_get(t, "dan", "/v1/conversations/import"), 404);
}

TEST_WITH(only_foreign_formats_are_read, files_set_up, files_tear_down)
{
    struct api_rig *t = *state;
    const char *file = give(t, "ben", EXPORT);
    static const char *const WRONG[] = {"", "nb", "folder", "claude-code", "any"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++)
        assert_status(begin(t, "ben", file, WRONG[i]), 400);
    assert_status(api_call(t, "ben", "POST", "/v1/conversations/import", "{}"), 400);
}

TEST_WITH(an_export_that_cannot_be_read_says_so_without_paths, files_set_up, files_tear_down)
{
    struct api_rig *t = *state;
    static const char *const WRONG[] = {"not JSON", "{\"no\":\"list\"}",
                                        "PK\x03\x04 not an archive"};
    for (size_t i = 0; i < ARRAY_LEN(WRONG); i++) {
        assert_status(begin(t, "ben", give(t, "ben", WRONG[i]), "chatgpt"), 200);
        struct api_answer a = ended(t, "ben");
        bool has_error = json_get_string(a.json, "error").n > 0;
        assert_true(has_error || json_get_int(a.json, "lost", 0) > 0);
        assert_true(str_find(a.body, str_from(t->rig->dir.path), 0) < 0);
        assert_true(str_find(a.body, STR("/proc/"), 0) < 0);
    }
}
