/* failure.h - errors of lower floors as HTTP responses: the only place that chooses a status.
 *
 * The same -errno has a different meaning in each part: -EPERM is a guard in a change of people
 * (409) and a missing right elsewhere (403). failure.c has one table with all of them. */
#pragma once

#include "http/server.h"
#include "runtime/runtime.h"

enum api_origin {                      /* where the error comes from */
                  FROM_STORE = 1,      /* store/store.h; about a conversation */
                  FROM_AUTH = 2,       /* auth/identity.h */
                  FROM_CHANGE = 4,     /* workspace/roster/change.h, workspace/doc_file.h */
                  FROM_INSTALL = 8,    /* bundle/change.h: bundle_add, */
                  FROM_UNINSTALL = 16, /* bundle_remove */
                  FROM_APPROVAL = 32,  /* bundle_approve */
                  FROM_SKILL = 64,     /* runtime/skill_change.h */
                  FROM_INPUT = 128,    /* runtime/turn/tool_question.h */
                  FROM_MODEL = 256,    /* llm_may_set_key */
                  FROM_FILES = 512,    /* attach/attach.h */
};

/* Replies with the status and the code that the table has for the error. */
void api_fail(struct http_req *r, enum api_origin from, const struct err *err);

const char *api_refusal_code(enum turn_refusal why); /* "run_in_progress", "forbidden", ... */
/* Replies with the status that matches a turn that was not started. */
void api_turn_refused(struct http_req *r, enum turn_refusal why, const struct err *err);
/* Replies that a run has failed; details may be NULL. */
void api_run_failed(struct http_req *r, const struct run_result *run, const struct json *details);

/* 400, 403 and 404 with the code that belongs to the status. All return false, for functions that
 * return whether the request may continue. */
bool api_bad_request(struct http_req *r, const char *message);
bool api_forbidden(struct http_req *r, const char *message);
bool api_not_found(struct http_req *r, const char *what); /* "No such <what>." */
