/* projects.h - projects, where other requests meet them. */
#pragma once

#include "api/exchange.h"
#include "workspace/projects.h"

/* The member `projectId`, if the conversation is in a project that the caller may see. */
void api_write_project_of(struct json_writer *w, const struct http_req *r, const struct conv *c);
/* The ids of its conversations. False: there is no such project for the caller; 404 was sent. */
bool api_conversations_in(struct http_req *r, str project_id, struct json_strs *ret);
/* May a new conversation begin in this project? Otherwise replies with the error. */
bool api_may_begin_in(struct http_req *r, str project_id, str conversation_id);

/* The project r->params[0]. False: there is none for the caller; 404 was sent. */
bool api_see_project(struct http_req *r, struct conv_project *ret);
/* The same for changing it: members are told that they may not (403). */
bool api_manage_project(struct http_req *r, struct conv_project *ret);
