#include <assert.h>
#include <sys/stat.h>

#include "cli/acp/acp.h"
#include "cli/acp/acp_blocks.h"
#include "cli/acp/acp_catalog.h"
#include "cli/cli.h"

/* ---- the end of a prompt ---- */

static void prompt_over(struct acp_session *s)
{
    struct acp *a = s->acp;
    const struct json *close_with = s->close_with;
    acp_forget_asked(s, STR_NONE);
    permit_done(&s->permit);
    s->permit = (struct permit){0};
    map_done(&s->calls);
    map_init(&s->calls);
    s->phase = ACP_IDLE;
    s->end = s->inputs = NULL;
    s->text = STR_NONE;
    s->reply_to = NULL;
    s->is_error = s->is_cancelled = s->is_for_all = false;
    arena_reset(&s->turn);
    if (!close_with)
        return;
    acp_reply_empty(a, close_with);
    (void)map_del(&a->sessions, s->id);
    acp_session_free(s);
}

static void answer_prompt(struct acp_session *s, const char *stop_reason)
{
    struct acp_out o;
    jw_kcstr(acp_result_begin(&o, s->reply_to), "stopReason", stop_reason);
    acp_send(s->acp, &o);
    prompt_over(s);
}

/* Title and costs, which the end of a run may have changed. */
static void tell_conversation(struct acp_session *s)
{
    struct client_ask q = {0};
    struct json *conv;
    struct acp_out o;
    str id = session_conversation(s->chat);
    q.path = arena_printf(&s->turn, "/v1/conversations/%.*s", STR_ARG(id));
    if (id.n == 0 || client_ask(session_client(s->chat), &q, &s->turn, &conv, &(struct err){0}) < 0)
        return;
    int64_t size = acp_context_tokens(s);
    double cost = json_double(json_get(conv, "totalCostUsd"), -1);
    if (size > 0 && s->used_tokens > 0) {
        struct json_writer *w = acp_update_begin(&o, s, "usage_update");
        jw_kint(w, "used", s->used_tokens);
        jw_kint(w, "size", size);
        if (cost >= 0) {
            jw_kobject(w, "cost");
            jw_kdouble(w, "amount", cost);
            jw_kstr(w, "currency", STR("USD"));
        }
        acp_send(s->acp, &o);
    }
    str title = json_get_string(conv, "title");
    if (title.n > 0 && !str_eq(title, s->title)) {
        s->title = arena_str(&s->arena, title);
        struct json_writer *w = acp_update_begin(&o, s, "session_info_update");
        jw_kstr(w, "title", title);
        jw_kstr_if(w, "updatedAt", json_get_string(conv, "updatedAt"));
        acp_send(s->acp, &o);
    }
}

static const char *stop_reason_of(str stop)
{
    static const struct {
        const char *nb, *acp;
    } REASONS[] = {{"length", "max_tokens"},
                   {"token_budget", "max_tokens"},
                   {"max_iterations", "max_turn_requests"},
                   {"refusal", "refusal"},
                   {"cancelled", "cancelled"}};
    for (size_t i = 0; i < ARRAY_LEN(REASONS); i++)
        if (str_eq(stop, str_from(REASONS[i].nb)))
            return REASONS[i].acp;
    return "end_turn";
}

static void prompt_failed(struct acp_session *s, const struct json *d)
{
    str message = json_get_string(d, "message"), code = json_get_string(d, "error");
    acp_error(s->acp, s->reply_to, RPC_INTERNAL_ERROR, "%.*s",
              STR_ARG(message.n > 0 ? message : code));
    prompt_over(s);
}

/* Connects the session with its conversation, so that the editor can load it later. */
static void catalogue(struct acp_session *s)
{
    struct err e = {0};
    struct acp_entry entry = {s->id, session_conversation(s->chat), s->cwd};
    if (s->is_catalogued || entry.conversation.n == 0)
        return;
    s->is_catalogued = true;
    if (acp_catalog_add(s->acp->config->work_dir, &entry, &e) < 0)
        cli_complain(str_from(e.msg));
}

static void prompt_ended(struct acp_session *s)
{
    const struct json *end = s->end, *ask = json_get(end, "ask");
    str stop = json_get_string(end, "stopReason");
    s->end = NULL;
    if (s->is_cancelled) {
        answer_prompt(s, "cancelled");
    } else if (s->is_error) {
        prompt_failed(s, end);
    } else if (str_eq(stop, STR("waiting")) && ask) {
        acp_ask_permission(s, ask);
    } else {
        tell_conversation(s);
        answer_prompt(s, stop_reason_of(stop));
    }
}

void acp_advance(struct acp_session *s)
{
    if (s->phase == ACP_HELD && acp_is_ready(s->acp)) {
        s->phase = ACP_RUNNING;
        session_send(s->chat, s->text, &ACP_EVENTS, s);
    }
    if (s->phase != ACP_RUNNING)
        return;
    catalogue(s);
    if (s->end) {
        prompt_ended(s);
        return;
    }
    if (s->is_cancelled)
        session_cancel(s->chat); /* again, if the conversation had no id before */
    else
        acp_ask_inputs(s);
}

void acp_permission_complete(struct acp_session *s)
{
    assert(s->phase == ACP_ASKING && permit_is_complete(&s->permit));
    s->phase = ACP_RUNNING;
    if (s->is_for_all)
        session_answer_for_all(s->chat, s->permit.ask_id, s->permit.decisions, &ACP_EVENTS, s);
    else
        session_answer(s->chat, s->permit.ask_id, s->permit.decisions, &ACP_EVENTS, s);
}

/* A question stays open in the conversation; the next message declines it. */
void acp_cancel(struct acp_session *s)
{
    if (s->phase == ACP_IDLE)
        return;
    s->is_cancelled = true;
    acp_forget_asked(s, STR_NONE);
    if (s->phase == ACP_RUNNING) {
        session_cancel(s->chat);
        return;
    }
    session_detach(s->chat);
    answer_prompt(s, "cancelled");
}

/* ---- the beginning ---- */

static bool is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode); /* a pipe would block */
}

static int attach(struct acp_session *s, const struct acp_blocks *b, struct err *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < b->nfiles; i++) {
        const struct acp_file *f = &b->files[i];
        if (f->bytes.n > 0)
            r = session_attach_bytes(s->chat, f->name, f->bytes, e);
        else if (is_regular(f->path.p)) /* a directory is only mentioned */
            r = session_attach(s->chat, f->path.p, e);
        if (r < 0)
            err_prefix(e, "%.*s", STR_ARG(f->name));
    }
    if (r < 0)
        session_detach(s->chat);
    return r;
}

void acp_prompt(struct acp *a, const struct json *id, const struct json *params)
{
    struct acp_blocks blocks;
    struct err e = {0};
    struct acp_session *s = acp_session_of(a, id, params);
    if (!s)
        return;
    if (s->phase != ACP_IDLE) {
        acp_error(a, id, RPC_INVALID_REQUEST,
                  "a prompt of this session is running; cancel it or wait for its end");
        return;
    }
    if (acp_blocks_read(&s->turn, json_get(params, "prompt"), &blocks, &e) < 0) {
        acp_error(a, id, RPC_INVALID_PARAMS, "%s", e.msg);
        arena_reset(&s->turn);
        return;
    }
    s->reply_to = json_clone(&s->turn, id);
    s->phase = ACP_HELD;
    s->text = blocks.text;
    if (acp_run_command(s, blocks.text)) {
        answer_prompt(s, "end_turn");
    } else if (attach(s, &blocks, &e) < 0) {
        acp_error(a, id, RPC_INVALID_PARAMS, "%s", e.msg);
        prompt_over(s);
    } else {
        acp_advance(s);
    }
}
