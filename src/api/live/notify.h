/* notify.h - tells people of things that concern them: a line of their notices, and an event on the
 * streams that they have open. Loop thread only. */
#pragma once

#include "api/api.h"
#include "workspace/notices.h"

struct conv_acl;

/* To each of `people` who takes part by these rules, is a member, and is not `by`. */
void notify_people(struct api *api, struct api_space *space, const struct person_notice *what,
                   const struct json_strs *people, const struct conv_acl *acl);
/* To each of `people` who is a member, and is not `by`: they do not take part any more. */
void notify_removed(struct api *api, struct api_space *space, const struct person_notice *what,
                    const struct json_strs *people);
/* People whom a message names (runtime_on_mentions). Reads the conversation first. */
void notify_mentioned(struct api *api, struct api_space *space, str conversation_id, str by,
                      const struct json_strs *people);
