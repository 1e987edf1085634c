#include "runtime/others/question_remote.h"

#include <errno.h>

#include "base/json/json_scan.h"
#include "bus/vocabulary.h"
#include "runtime/turn/turn.h"

#define ANSWER "input.answer"

/* ---- answering ---- */

struct others_ask *tool_question_answer_elsewhere(struct runtime *rt,
                                                  const struct tool_question_answer *answer,
                                                  others_fn fn, void *ctx)
{
    struct json_writer w;
    struct buf b;
    others_begin(&w, &b, ANSWER);
    jw_kstr(&w, "inputId", answer->input_id);
    jw_kstr(&w, "userId", answer->user_id);
    if (answer->tool_limit.items)
        jw_kstrs(&w, "toolLimit", answer->tool_limit.items, answer->tool_limit.len);
    jw_kstr(&w, "action", tool_question_action_name(answer->action));
    if (answer->content)
        jw_kval(&w, "content", answer->content);
    return others_ask(rt, answer->conversation_id, &w, &b, fn, ctx);
}

void tool_question_asked(struct runtime *rt, str conversation_id, str ask_id,
                         const struct json *question)
{
    struct tool_question_answer answer = {.conversation_id = conversation_id,
                                          .input_id = json_get_string(question, "inputId"),
                                          .user_id = json_get_string(question, "userId"),
                                          .content = json_get(question, "content")};
    struct err e = {0};
    if (rt->on_stopped || !str_eq(json_get_string(question, "do"), STR(ANSWER)) ||
        !tool_question_parse_action(json_get_string(question, "action"), &answer.action))
        return;
    struct arena a;
    arena_init(&a);
    if (json_get(question, "toolLimit"))
        answer.tool_limit = json_strs_of(&a, json_get(question, "toolLimit"));
    int r = tool_question_answer(rt, &answer, &e);
    arena_done(&a);
    if (r != -ENOENT) /* else a different server may have it */
        others_reply(rt, ask_id, r < 0 ? &e : NULL);
}

/* ---- listing ---- */

static void drop_questions(struct json *list, const char *member, str value)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->len; i++)
        if (!str_eq(json_get_string(&list->items[i], member), value))
            list->items[kept++] = list->items[i];
    list->len = kept;
}

static void add_question(struct arena *a, struct json *list, str line)
{
    static const char *const MEMBERS[] = {"inputId",   "kind",   "source", "callId", "message",
                                          "forUserId", "schema", "url",    "detail", "runId"};
    struct json *event, *one = json_new(a, JSON_OBJECT);
    if (json_parse(a, line, JSON_COPY, &event, NULL) < 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++) {
        const struct json *value = json_get(event, MEMBERS[i]);
        if (value)
            json_set(a, one, str_from(MEMBERS[i]), *value);
    }
    json_push(a, list, *one);
}

struct json *tool_questions_in_log(struct arena *a, const str *lines, size_t n)
{
    struct json *list = json_new(a, JSON_ARRAY);
    for (size_t i = 0; i < n; i++) {
        str type = json_scan_plain(json_scan_field(lines[i], STR("type")));
        if (str_eq(type, event_name(EV_INPUT_REQUESTED)))
            add_question(a, list, lines[i]);
        else if (list->len > 0 && str_eq(type, event_name(EV_INPUT_ANSWERED)))
            drop_questions(list, "inputId",
                           json_scan_plain(json_scan_field(lines[i], STR("inputId"))));
        else if (list->len > 0 &&
                 (str_eq(type, event_name(EV_RUN_DONE)) || str_eq(type, event_name(EV_RUN_ERROR))))
            drop_questions(list, "runId", json_scan_plain(json_scan_field(lines[i], STR("runId"))));
    }
    return list;
}
