#include "runtime/turn/tool_question.h"

#include <assert.h>
#include <errno.h>

#include "base/schema/schema.h"
#include "bus/vocabulary.h"
#include "runtime/turn/turn.h"

#define LINE_MAX_BYTES (1024u * 1024)

struct tool_question {
    struct list_node node;
    struct turn *turn; /* the turn in whose conversation it appears */
    str asked_in; /* the conversation of the run whose tool asks: that of `turn`, or below it */
    struct arena arena;
    char id[RANDOM_ID_MAX];
    struct tool_question_spec q;
    tool_question_fn fn;
    void *ctx;
    struct timer timeout;
    uint64_t waited_ms;
};

static const char *const KINDS[] = {[TOOL_QUESTION_FORM] = "form",
                                    [TOOL_QUESTION_URL] = "url",
                                    [TOOL_QUESTION_SAMPLING] = "sampling"};

static const char *const ACTIONS[] = {[TOOL_QUESTION_ACCEPT] = "accept",
                                      [TOOL_QUESTION_DECLINE] = "decline",
                                      [TOOL_QUESTION_CANCEL] = "cancel"};

bool tool_question_parse_action(str name, enum tool_question_action *ret)
{
    ptrdiff_t i = STR_INDEX(name, ACTIONS);
    if (i >= 0)
        *ret = (enum tool_question_action)i;
    return i >= 0;
}

str tool_question_action_name(enum tool_question_action action)
{
    return str_from(ACTIONS[action]);
}

/* ---- the log ---- */

static void write_question(struct json_writer *w, const struct tool_question *q)
{
    jw_kstr(w, "inputId", str_from(q->id));
    jw_kstr(w, "kind", str_from(KINDS[q->q.kind]));
    jw_kstr(w, "source", q->q.source);
    jw_kstr(w, "callId", q->q.call_id);
    jw_kstr(w, "message", q->q.message);
    if (q->q.only_user_id.n > 0)
        jw_kstr(w, "forUserId", q->q.only_user_id);
    if (q->q.schema)
        jw_kval(w, "schema", q->q.schema);
    if (q->q.url.n > 0)
        jw_kstr(w, "url", q->q.url);
    if (q->q.detail)
        jw_kval(w, "detail", q->q.detail);
}

static void begin_line(struct json_writer *w, struct buf *b, enum event_type type,
                       const struct tool_question *q)
{
    jw_start(w, b, LINE_MAX_BYTES);
    jw_object(w);
    jw_kstr(w, "type", event_name(type));
    jw_kstr(w, "runId", str_from(q->turn->run_id));
}

static void record_event(const struct tool_question *q, struct json_writer *w, struct buf *b)
{
    jw_end(w);
    if (!buf_failed(b))
        turn_record(q->turn, buf_str(b));
    buf_done(b);
}

static void record_question(const struct tool_question *q)
{
    struct json_writer w;
    struct buf b;
    begin_line(&w, &b, EV_INPUT_REQUESTED, q);
    write_question(&w, q);
    record_event(q, &w, &b);
}

static void record_end(const struct tool_question *q, const char *action, str user_id)
{
    struct json_writer w;
    struct buf b;
    begin_line(&w, &b, EV_INPUT_ANSWERED, q);
    jw_kstr(&w, "inputId", str_from(q->id));
    jw_kstr(&w, "action", str_from(action));
    if (user_id.n > 0)
        jw_kstr(&w, "userId", user_id);
    record_event(q, &w, &b);
}

/* ---- life ---- */

static void tool_question_free(struct tool_question *q)
{
    timer_stop(&q->timeout);
    list_del(&q->node);
    arena_done(&q->arena);
    free(q);
}

/* Every end of a question but a withdrawal. */
static void settle_question(struct tool_question *q, enum tool_question_action action,
                            const struct json *content)
{
    q->fn(q->ctx, action, content);
    tool_question_free(q);
}

static bool is_watched(const struct tool_question *q)
{
    const struct runtime_deps *d = &q->turn->rt->deps;
    struct arena a;
    arena_init(&a);
    str id = q->turn->conversation_id;
    bool yes = bus_subscribers(d->bus, store_topic(&a, d->store, id)) > 0 ||
               store_is_watched_elsewhere(d->store, id);
    arena_done(&a);
    return yes;
}

/* Checks at intervals whether anybody is watching who could answer. */
static void on_question_tick(void *ctx)
{
    struct tool_question *q = ctx;
    q->waited_ms += TOOL_QUESTION_ALONE_MS;
    if (is_watched(q) && q->waited_ms < TOOL_QUESTION_MS) {
        timer_start(&q->timeout, TOOL_QUESTION_ALONE_MS);
        return;
    }
    record_end(q, "timeout", STR_NONE);
    settle_question(q, TOOL_QUESTION_CANCEL, NULL);
}

/* Nobody watches the log of a delegated run: ask in the conversation of its parent. */
static struct turn *watched_turn(struct turn *t)
{
    while (t && turn_is_child(t))
        t = turn_active(t->rt, t->msg->req.child->parent_conversation_id);
    return t;
}

static size_t count_open(const struct turn *t)
{
    size_t n = 0;
    LIST_FOREACH (it, &t->rt->tool_questions)
        n += LIST_ENTRY(it, struct tool_question, node)->turn == t;
    return n;
}

struct tool_question *tool_question_open(void *tool_host, const struct tool_question_spec *q,
                                         tool_question_fn fn, void *ctx)
{
    struct turn *t = tool_host ? watched_turn(tool_host) : NULL;
    if (!t || t->is_unattended || t->msg->is_cancelled || count_open(t) >= TOOL_QUESTIONS_MAX)
        return NULL;
    assert(!turn_is_child(t)); /* people watch its conversation */
    struct tool_question *own = xcalloc(1, sizeof *own);
    struct arena *a = &own->arena;
    arena_init(a);
    own->turn = t;
    own->asked_in = arena_str(a, ((const struct turn *)tool_host)->conversation_id);
    own->fn = fn;
    own->ctx = ctx;
    own->q = (struct tool_question_spec){
        .kind = q->kind,
        .source = arena_str(a, q->source),
        .call_id = arena_str(a, q->call_id),
        .only_user_id = arena_str(a, q->only_user_id),
        .message = arena_str(a, q->message),
        .schema = q->schema ? json_clone(a, q->schema) : NULL,
        .url = arena_str(a, q->url),
        .detail = q->detail ? json_clone(a, q->detail) : NULL,
    };
    random_id("input", own->id);
    timer_init(&own->timeout, t->rt->deps.loop, on_question_tick, own);
    timer_start(&own->timeout, TOOL_QUESTION_ALONE_MS);
    list_push(&t->rt->tool_questions, &own->node);
    record_question(own);
    return own;
}

void tool_question_withdraw(struct tool_question *q)
{
    record_end(q, "withdrawn", STR_NONE);
    tool_question_free(q);
}

void tool_questions_drop(struct turn *t)
{
    LIST_EACH (q, &t->rt->tool_questions, struct tool_question, node)
        if (q->turn == t)
            settle_question(q, TOOL_QUESTION_CANCEL, NULL);
}

/* ---- answers ---- */

struct json *tool_questions_json(const struct runtime *rt, str conversation_id, struct arena *a)
{
    struct json *list = json_new(a, JSON_ARRAY);
    LIST_EACH (q, (struct list_node *)&rt->tool_questions, const struct tool_question, node) {
        struct json *one;
        struct json_writer w;
        struct buf b;
        if (!str_eq(q->turn->conversation_id, conversation_id))
            continue;
        jw_start(&w, &b, LINE_MAX_BYTES);
        jw_object(&w);
        write_question(&w, q);
        jw_end(&w);
        if (json_parse(a, buf_str(&b), JSON_COPY, &one, NULL) == 0)
            json_push(a, list, *one);
        buf_done(&b);
    }
    return list;
}

static struct tool_question *find_question(const struct runtime *rt, str conversation_id,
                                           str input_id)
{
    LIST_EACH (q, (struct list_node *)&rt->tool_questions, struct tool_question, node)
        if (str_eq(q->turn->conversation_id, conversation_id) && str_eq(str_from(q->id), input_id))
            return q;
    return NULL;
}

/* Missing fields get the default that the form showed. */
static struct json *with_defaults(struct arena *a, const struct json *schema,
                                  const struct json *content)
{
    struct json *full = content ? json_clone(a, content) : json_new(a, JSON_OBJECT);
    const struct json *fields = json_get(schema, "properties");
    for (uint32_t i = 0; json_is(fields, JSON_OBJECT) && i < fields->len; i++) {
        const struct json_member *m = &fields->members[i];
        const struct json *value = json_get(&m->value, "default");
        if (value && !json_get_str(full, m->key))
            json_set(a, full, m->key, *value);
    }
    return full;
}

static int accept_form(struct tool_question *q, const struct json *content, struct json **ret,
                       struct err *e)
{
    if (content && !json_is(content, JSON_OBJECT))
        return err_set(e, -EINVAL, "content: expected an object with the form's fields");
    *ret = with_defaults(&q->arena, q->q.schema, content);
    return q->q.schema ? schema_validate(q->q.schema, *ret, "content", e) : 0;
}

/* The run whose tool has asked reads the answer, and its result goes to the runs above it. */
static void join_answerer(const struct tool_question *q, const struct tool_question_answer *answer)
{
    struct runtime *rt = q->turn->rt;
    struct turn *t = turn_active(rt, q->asked_in);
    while (t) {
        turn_add_author(t, answer->user_id, answer->tool_limit);
        t = turn_is_child(t) ? turn_active(rt, t->msg->req.child->parent_conversation_id) : NULL;
    }
}

int tool_question_answer(struct runtime *rt, const struct tool_question_answer *answer,
                         struct err *e)
{
    struct tool_question *q = find_question(rt, answer->conversation_id, answer->input_id);
    struct json *full = NULL;
    if (!q)
        return err_set(e, -ENOENT, "This question is not open. It may have been answered already.");
    if (q->q.only_user_id.n > 0 && !str_eq(q->q.only_user_id, answer->user_id))
        return err_set(
            e, -EPERM,
            "This call uses the account of another person. Only that person may answer.");
    if (answer->action == TOOL_QUESTION_ACCEPT && q->q.kind == TOOL_QUESTION_FORM) {
        int r = accept_form(q, answer->content, &full, e);
        if (r < 0)
            return r;
    }
    if (answer->action == TOOL_QUESTION_ACCEPT)
        join_answerer(q, answer);
    record_end(q, ACTIONS[answer->action], answer->user_id);
    settle_question(q, answer->action, full);
    return 0;
}
