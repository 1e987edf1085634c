/* Files in several requests, and in one (files/uploads.c, files/file_add.c): what each answer says.
 * Dropped connections and restarts are in tests/e2e. */
#include "attach/attach.h"
#include "attach/partial.h"
#include "support/api_streams.h"

enum { FILE_MAX = 1000, QUOTA = 3000 };

static int files_set_up(void **state)
{
    int r = api_set_up(state);
    struct api_rig *t = *state;
    const char *dir = arena_printf(&t->rig->arena, "%s/files", t->rig->dir.path).p;
    struct attach_conf conf = {dir, FILE_MAX, QUOTA};
    t->space.files = attach_new(t->rig->loop, t->rig->pool, &conf);
    return r;
}

static int files_tear_down(void **state)
{
    struct api_rig *t = *state;
    attach_close(t->space.files);
    return api_tear_down(state);
}

static struct api_answer begin(struct api_rig *t, const char *who, int bytes)
{
    const char *body = arena_printf(&t->rig->arena, "{\"name\":\"a/b.txt\",\"bytes\":%d}", bytes).p;
    return api_call(t, who, "POST", "/v1/files/uploads", body);
}

static struct api_answer send_part(struct api_rig *t, const char *who, str id, const char *offset,
                                   const char *bytes)
{
    const char *path = arena_printf(&t->rig->arena, "/v1/files/uploads/%.*s", STR_ARG(id)).p;
    const char *header = arena_printf(&t->rig->arena, "Upload-Offset: %s\r\n", offset).p;
    return api_call_with(t, who, "PATCH", path, *offset ? header : "", str_from(bytes));
}

static struct api_answer ask_part(struct api_rig *t, const char *who, const char *method, str id)
{
    return api_call(t, who, method,
                    arena_printf(&t->rig->arena, "/v1/files/uploads/%.*s", STR_ARG(id)).p, NULL);
}

static str error_of(struct api_answer a)
{
    return json_get_string(a.json, "error");
}

TEST_WITH(the_last_bytes_answer_with_the_file, files_set_up, files_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a = begin(t, "ben", 11);
    assert_int_equal(a.status, 200);
    str id = json_get_string(a.json, "id");
    assert_true(str_eq(json_get_string(a.json, "name"), STR("b.txt")));
    assert_int_equal(json_get_int(a.json, "bytes", 0), 11);
    assert_true(json_get_string(a.json, "expiresAt").n > 0);
    a = send_part(t, "ben", id, "0", "hello ");
    assert_int_equal(json_get_int(a.json, "offset", 0), 6);
    assert_true(json_is(json_get(a.json, "file"), JSON_NULL));
    a = ask_part(t, "ben", "GET", id);
    assert_int_equal(json_get_int(a.json, "offset", 0), 6);
    a = send_part(t, "ben", id, "6", "world");
    const struct json *file = json_get(a.json, "file");
    assert_int_equal(json_get_int(file, "bytes", 0), 11);
    assert_true(str_eq(json_get_string(file, "mimeType"), STR("text/plain")));
    assert_int_equal(ask_part(t, "ben", "GET", id).status, 404);
    const char *path = api_path(t, "/v1/files/%.*s", STR_ARG(json_get_string(file, "id")));
    a = api_get(t, "ben", path);
    assert_true(str_eq(a.body, STR("hello world")));
    assert_string_equal(api_header(t, &a, "Content-Security-Policy"),
                        "sandbox; default-src 'none'");
    assert_int_equal(api_get(t, "dan", path).status, 404);
}

TEST_WITH(every_refusal_has_its_code, files_set_up, files_tear_down)
{
    static const char *const OFFSETS[] = {"", "-1", "x", "1.5", "18446744073709551616"};
    struct api_rig *t = *state;
    str id = json_get_string(begin(t, "ben", 10).json, "id");
    for (size_t i = 0; i < ARRAY_LEN(OFFSETS); i++)
        assert_int_equal(send_part(t, "ben", id, OFFSETS[i], "x").status, 400);
    struct api_answer a = send_part(t, "ben", id, "3", "x");
    assert_int_equal(a.status, 409);
    assert_true(str_eq(error_of(a), STR("wrong_offset")));
    a = send_part(t, "ben", id, "0", "more than ten bytes");
    assert_int_equal(a.status, 413);
    assert_true(str_eq(error_of(a), STR("file_too_large")));
    assert_int_equal(send_part(t, "dan", id, "0", "x").status, 404);
    assert_int_equal(ask_part(t, "dan", "DELETE", id).status, 404);
    assert_int_equal(ask_part(t, "ben", "DELETE", id).status, 200);
    assert_int_equal(send_part(t, "ben", id, "0", "x").status, 404);
    assert_int_equal(begin(t, "ben", 0).status, 400);
    assert_int_equal(begin(t, "ben", FILE_MAX + 1).status, 413);
}

TEST_WITH(what_is_announced_counts_until_it_is_dropped, files_set_up, files_tear_down)
{
    struct api_rig *t = *state;
    str id = json_get_string(begin(t, "ben", FILE_MAX).json, "id");
    assert_int_equal(begin(t, "dan", FILE_MAX).status, 200);
    assert_int_equal(begin(t, "dan", FILE_MAX).status, 200);
    struct api_answer a = begin(t, "dan", 1);
    assert_int_equal(a.status, 507);
    assert_true(str_eq(error_of(a), STR("quota_reached")));
    a = api_call(t, "dan", "POST", "/v1/files", "x");
    assert_int_equal(a.status, 507);
    assert_int_equal(ask_part(t, "ben", "DELETE", id).status, 200);
    assert_int_equal(begin(t, "dan", 1).status, 200);
}

TEST_WITH(a_whole_file_and_a_range_of_it, files_set_up, files_tear_down)
{
    struct api_rig *t = *state;
    struct api_answer a =
        api_call_with(t, "ben", "POST", "/v1/files?name=n.txt", "", STR("0123456789"));
    assert_int_equal(a.status, 200);
    const char *path = api_path(t, "/v1/files/%.*s", STR_ARG(json_get_string(a.json, "id")));
    a = api_call_with(t, "ben", "GET", path, "Range: bytes=2-4\r\n", STR_NONE);
    assert_int_equal(a.status, 206);
    assert_true(str_eq(a.body, STR("234")));
    assert_string_equal(api_header(t, &a, "Content-Range"), "bytes 2-4/10");
    a = api_call_with(t, "ben", "GET", path, "Range: bytes=10-\r\n", STR_NONE);
    assert_int_equal(a.status, 416);
    a = api_get(t, "ben", "/v1/files");
    assert_int_equal(json_get(a.json, "files")->len, 1);
    assert_int_equal(api_get(t, "dan", "/v1/files").json->len, 1);
    assert_int_equal(json_get(api_get(t, "dan", "/v1/files").json, "files")->len, 0);
    assert_int_equal(api_call(t, "ben", "DELETE", path, NULL).status, 200);
    assert_int_equal(api_get(t, "ben", path).status, 404);
}
