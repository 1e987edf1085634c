/* access.h - who may do what with a conversation: pure functions, one truth.
 *
 * Every route, tool, stream, search and command asks here. A denial is always shown as
 * absence (404): the caller must not learn that the thing exists. */
#pragma once

#include "base/json_decode.h"

struct viewer {
    str user_id;
    bool is_workspace_admin;
};

enum conv_right {
    CONV_VIEW,   /* read history, watch streams, search, export, fork into one's own */
    CONV_SEND,   /* post messages, answer questions, cancel runs */
    CONV_MANAGE, /* rename, delete */
    CONV_SHARE,  /* visibility and participants */
};

struct conv_acl {
    str owner_id; /* empty: a legacy log without an owner, open to the workspace */
    bool is_shared;
    bool is_sealed; /* the owner is unknown because line 1 is damaged: admins only */
    struct json_strs participants;
};

bool access_allows(const struct viewer *v, const struct conv_acl *acl, enum conv_right right);
