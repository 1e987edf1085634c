/* access.c - the matrix of rights, one row per relation to the conversation. */
#include "workspace/roster/access.h"

enum relation { REL_OTHER, REL_READER, REL_PARTICIPANT, REL_ADMIN, REL_OWNER };

static const bool ALLOWED[][CONV_RIGHTS] = {
    [REL_OTHER] = {[CONV_VIEW] = false},
    [REL_READER] = {[CONV_VIEW] = true, [CONV_LEAVE] = true},
    [REL_PARTICIPANT] = {[CONV_VIEW] = true, [CONV_SEND] = true, [CONV_LEAVE] = true},
    [REL_ADMIN] = {[CONV_VIEW] = true, [CONV_SHARE] = true},
    [REL_OWNER] =
        {[CONV_VIEW] = true, [CONV_SEND] = true, [CONV_MANAGE] = true, [CONV_SHARE] = true},
};

static bool is_participant(const struct viewer *v, const struct conv_acl *acl)
{
    return acl->is_shared && v->user_id.n && json_strs_has(&acl->participants, v->user_id);
}

static bool allows_participant(const struct viewer *v, const struct conv_acl *acl,
                               enum conv_right right)
{
    bool is_reader = json_strs_has(&acl->readers, v->user_id);
    return is_participant(v, acl) && ALLOWED[is_reader ? REL_READER : REL_PARTICIPANT][right];
}

static bool is_owner(const struct viewer *v, const struct conv_acl *acl)
{
    if (acl->owner_id.n == 0)
        return !acl->is_sealed;
    return str_eq(acl->owner_id, v->user_id);
}

static bool allows_one(const struct viewer *v, const struct conv_acl *acl, enum conv_right right)
{
    /* An admin may be a participant too: the rights of these relations are combined. An owner is
     * only an owner, although the list of participants may name them. */
    if (v->is_gone)
        return false;
    if (is_owner(v, acl))
        return ALLOWED[REL_OWNER][right] || (v->is_workspace_admin && ALLOWED[REL_ADMIN][right]);
    return (v->is_workspace_admin && ALLOWED[REL_ADMIN][right]) ||
           allows_participant(v, acl, right);
}

const char *access_reason(enum conv_right right)
{
    static const char *const REASONS[] = {
        [CONV_VIEW] = "You do not have access to this conversation.",
        [CONV_SEND] = "You may read this conversation, but you may not write in it.",
        [CONV_MANAGE] = "Only the owner of a conversation may rename, delete or restore it.",
        [CONV_SHARE] = "Only the owner of a conversation and admins of the workspace may share it.",
        [CONV_LEAVE] = "Only participants can leave a conversation. Its owner can delete it.",
    };
    return REASONS[right];
}

bool access_allows(const struct viewer *v, const struct conv_acl *acl, enum conv_right right)
{
    for (; v; v = v->also)
        if (!allows_one(v, acl, right))
            return false;
    return true;
}

struct viewer viewer_copy(struct arena *a, const struct viewer *v)
{
    struct viewer copy = *v;
    copy.user_id = arena_str(a, v->user_id);
    struct viewer *last = &copy;
    for (const struct viewer *from = v->also; from; from = from->also) {
        struct viewer *one = ARENA_NEW(a, struct viewer);
        *one = *from;
        one->user_id = arena_str(a, from->user_id);
        last->also = one;
        last = one;
    }
    return copy;
}

struct conv_acl conv_acl_copy(struct arena *a, const struct conv_acl *acl)
{
    struct conv_acl copy = *acl;
    copy.owner_id = arena_str(a, acl->owner_id);
    copy.participants = json_strs_copy(a, acl->participants);
    copy.readers = json_strs_copy(a, acl->readers);
    return copy;
}
