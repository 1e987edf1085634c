/* access.h - rights in a conversation: pure functions, the only place that decides them.
 *
 * Every route, tool, stream, search and command uses these functions. A viewer who may not see a
 * conversation gets the same answer as if it did not exist (404); others get the reason (403). */
#pragma once

#include "base/arena.h"
#include "base/json/json_decode.h"

/* A person at this moment, for one query of the store; made by actor_viewer and not kept longer.
 * With `also`, several people: only what each of them may do is allowed. */
struct viewer {
    str user_id;
    bool is_workspace_admin;
    bool is_gone;              /* not a member any more, or the token was revoked: sees nothing */
    const struct viewer *also; /* or NULL */
};

struct viewer viewer_copy(struct arena *a, const struct viewer *v); /* deep */

enum conv_right {
    CONV_VIEW,   /* read history, watch streams, search, export, fork into one's own */
    CONV_SEND,   /* post messages, answer questions, cancel runs */
    CONV_MANAGE, /* rename, delete, restore from the trash, purge */
    CONV_SHARE,  /* visibility and participants */
    CONV_LEAVE,  /* end one's own part in a conversation of somebody else */
};
#define CONV_RIGHTS 5

struct conv_acl {
    str owner_id; /* empty: a legacy log without an owner, open to the workspace */
    bool is_shared;
    bool is_sealed; /* the owner is unknown because line 1 is damaged: admins only */
    struct json_strs participants;
    struct json_strs readers; /* those participants who may not write */
};

struct conv_acl conv_acl_copy(struct arena *a, const struct conv_acl *acl); /* deep */

bool access_allows(const struct viewer *v, const struct conv_acl *acl, enum conv_right right);
/* The reason, as a sentence, for a viewer who may see the conversation but lacks this right. */
const char *access_reason(enum conv_right right);
