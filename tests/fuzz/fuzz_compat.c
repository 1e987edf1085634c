/* Any bytes as the body of a program's request; the first byte chooses the route. What is accepted
 * stays below the ceilings, ends with something to answer, and becomes events of one line each. */
#include <assert.h>

#include "api/compat/compat.h"
#include "base/bytes/base64.h"
#include "store/event/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_files(const struct compat_request *q)
{
    assert(q->nfiles <= COMPAT_FILES_MAX);
    for (size_t i = 0; i < q->nfiles; i++) {
        const struct compat_file *f = &q->files[i];
        struct buf b;
        assert((f->id.n > 0) != (f->base64.n > 0));
        buf_init(&b, f->base64.n + 4);
        for (str rest = f->base64; rest.n > 0; rest = str_skip(rest, 4))
            assert(base64_decode(&b, str_slice(rest, 0, 4)) == 0);
        buf_done(&b);
    }
}

static void check_request(const struct compat_request *q)
{
    size_t blocks = 0;
    assert(q->n > 0 && q->n <= COMPAT_MESSAGES_MAX && !q->messages[q->n - 1].is_assistant);
    for (size_t i = 0; i < q->n; i++) {
        blocks += q->messages[i].n;
        assert(i == 0 || q->messages[i].is_assistant != q->messages[i - 1].is_assistant);
        for (size_t k = 0; k < q->messages[i].n; k++) {
            const struct compat_block *b = &q->messages[i].blocks[k];
            bool is_answers = b->type == COMPAT_CALL;
            bool is_users = b->type == COMPAT_FILE || b->type == COMPAT_RESULT;
            assert(!is_answers || q->messages[i].is_assistant);
            assert(!is_users || !q->messages[i].is_assistant);
            assert(b->type != COMPAT_FILE || b->file < q->nfiles);
        }
    }
    assert(blocks <= COMPAT_BLOCKS_MAX && q->ntools <= TURN_CLIENT_TOOLS_MAX);
    assert(q->conversation_id.n == 0 || store_id_valid(q->conversation_id));
    for (size_t i = 0; i < q->ntools; i++)
        assert(json_is(q->tools[i].schema, JSON_OBJECT) && q->tools[i].name.n > 0);
    check_files(q);
}

static void check_turn(const struct compat_request *q)
{
    struct principal p = {.user_id = STR("usr_a"), .how = AUTH_BY_TOKEN};
    struct actor *who = actor_new(NULL, STR("ws_a"), &p, (struct json_strs){0});
    struct json *files = json_new(q->arena, JSON_ARRAY);
    struct turn_request turn;
    for (size_t i = 0; i < q->nfiles; i++)
        json_push(q->arena, files, *json_new(q->arena, JSON_OBJECT));
    compat_turn(who, q, files, &turn);
    for (size_t i = 0; i < turn.client->nlines; i++) {
        struct event_head head;
        struct json *v;
        str line = turn.client->lines[i];
        assert(str_find_char(line, '\n') < 0 && event_scan(line, &head));
        assert(json_parse(q->arena, line, 0, &v, NULL) == 0 && head.type != EV_UNKNOWN);
    }
    assert(turn.client->nlines > 0 || turn.message.n > 0 || turn.files);
    actor_unref(who);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static compat_read *const READ[] = {compat_read_chat, compat_read_responses,
                                        compat_read_anthropic};
    struct arena a;
    struct err e = {0};
    struct json *body;
    if (size < 1)
        return 0;
    arena_init(&a);
    struct compat_request *q = ARENA_NEW(&a, struct compat_request);
    q->arena = &a;
    str text = str_make((const char *)data + 1, size - 1);
    if (json_parse(&a, text, JSON_UNIQUE, &body, NULL) == 0 && body->type == JSON_OBJECT) {
        int code = READ[data[0] % ARRAY_LEN(READ)](q, body, &e);
        if (code == 0)
            code = compat_check(q, &e);
        if (code == 0) {
            check_request(q);
            check_turn(q);
        } else {
            assert(e.msg[0]);
        }
    }
    arena_done(&a);
    return 0;
}
