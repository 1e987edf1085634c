/* question_remote.h - questions of tools (tool_question.h) in runs of other servers. Loop thread
 * only. */
#pragma once

#include "runtime/others/ask.h"
#include "runtime/turn/tool_question.h"

/* The open questions that the lines of a log have, as tool_questions_json: those that neither an
 * answer nor the end of their run follows. They have the member runId too. */
struct json *tool_questions_in_log(struct arena *a, const str *lines, size_t n);

/* As tool_question_answer; -ETIMEDOUT: it is not open on any server. */
struct others_ask *tool_question_answer_elsewhere(struct runtime *rt,
                                                  const struct tool_question_answer *answer,
                                                  others_fn fn, void *ctx);
/* A question of another server; answered if this server has what it is about. */
void tool_question_asked(struct runtime *rt, str conversation_id, str ask_id,
                         const struct json *question);
