/* actor.h - who causes something to happen, and the most that may happen in their name.
 *
 * An actor is made once, when a request is admitted or a command starts, and never changes. All
 * that a request causes (a turn, a queued message, a tool call, a child run, a stream) holds a
 * reference to the request's actor or to one derived from it. Deriving can only narrow:
 * actor_narrow adds a tool filter, actor_join adds the people and the filters of another actor.
 *
 *   admitted request --> actor -- narrow (allowedTools) --> turn -- narrow (profile) --> child run
 *                                                            ^
 *     steering message, history of a shared conversation -- join
 *
 * Rights are not part of an actor: roles, membership and the validity of a token are looked up in
 * the directory at each use, so that an admin who is demoted during a run or a stream is not
 * an admin in its next step. Results of these lookups are never stored. An actor with
 * several people may do what each of them may do at that moment.
 *
 * An actor is one block of memory, because there may be ten thousand streams. Lookups are pure, in
 * constant time, without allocation; loop thread only. */
#pragma once

#include "base/arena.h"
#include "workspace/dir_grant.h"
#include "workspace/roster/access.h"
#include "workspace/roster/roster.h"

#define ACTOR_PEOPLE_MAX  64 /* behind one actor; an actor with more may do nothing */
#define ACTOR_FILTERS_MAX 64

struct directory;

enum auth_how {
    AUTH_BY_MODE,   /* no authentication is configured */
    AUTH_BY_SOCKET, /* the Unix socket: the peer owns nb's files */
    AUTH_BY_KEY,
    AUTH_BY_TOKEN,
    AUTH_BY_SESSION,
    AUTH_BY_JWT,
    AUTH_BY_LOG, /* the author of a stored message; what they used then is not known */
};

enum auth_scope {
    SCOPE_READ = 1,  /* see what the user sees */
    SCOPE_WRITE = 2, /* chat, share, call tools */
    SCOPE_MCP = 4,   /* the /mcp endpoint */
    SCOPE_ADMIN = 8, /* users, workspaces, bundles, tokens */
    SCOPE_ALL = 15,
};
#define SCOPES_DEFAULT (SCOPE_READ | SCOPE_WRITE | SCOPE_MCP)

/* One person behind an actor, and how they were authenticated. */
struct principal {
    str user_id;
    enum auth_how how;
    unsigned scopes;
    str token_id, session_id; /* names, not secrets; empty when not used */
    str bound_workspace_id;   /* the only workspace a token is for; empty = all of the user's */
    int64_t expires_ms;       /* of the token or session; 0 = never */
    bool is_operator;         /* owns nb's files: an admin everywhere, whatever the roster says */
};

enum filter_kind {
    FILTER_TOKEN,   /* tools of an API token */
    FILTER_REQUEST, /* allowedTools of a request; nb__ tools pass */
    FILTER_PROFILE, /* tools of an agent profile, or those a delegation names */
    FILTER_APP, /* tools of the interface that wrote a message nobody has read; nb__ tools too */
};

struct tool_filter {
    enum filter_kind kind;
    struct json_strs globs; /* an empty list matches nothing */
};

struct actor {
    const struct directory *directory; /* NULL: only operators have a role */
    str workspace_id;                  /* may be empty: not about one workspace */
    const struct principal *people;    /* the first is the one it acts for; at least one */
    size_t npeople;
    const struct tool_filter *filters; /* a tool must pass all of them */
    size_t nfilters;
    bool is_overfull;       /* a join had no room: refuse everything */
    struct dir_grant grant; /* directory of the terminal; only while all people are operators */
    unsigned refs;
};

/* ---- making and deriving; all strings are copied ---- */

/* `tools`: the globs of a token; items NULL = no filter. */
struct actor *actor_new(const struct directory *d, str workspace_id, const struct principal *who,
                        struct json_strs tools);
/* The same people in a workspace that became known later; takes over the reference to `a`. */
struct actor *actor_enter(struct actor *a, str workspace_id);
/* The owner of nb's files, in this workspace. */
struct actor *actor_new_operator(const struct directory *d, str workspace_id, str user_id);
/* `globs.items` NULL: no filter is added, and `a` itself is returned with one more reference. */
struct actor *actor_narrow(struct actor *a, enum filter_kind kind, struct json_strs globs);
/* Adds the directory of the operator's terminal. Returns `a` itself with one more reference when
 * `grant` is empty, or when not all people behind it are operators: only operators get a grant. */
struct actor *actor_with_grant(struct actor *a, const struct dir_grant *grant);
/* The intersection of both; acts for the first person of `a`. Returns `a` with one more reference
 * when `b` adds nothing. */
struct actor *actor_join(struct actor *a, const struct actor *b);
/* The same for one more person, known by a stored message; `tools` as in actor_new. */
struct actor *actor_join_author(struct actor *a, str user_id, struct json_strs tools);

struct actor *actor_ref(const struct actor *a);
struct actor *actor_unref(struct actor *a); /* accepts NULL, returns NULL */

/* ---- asking ---- */

struct json_strs actor_token_limit(const struct actor *a); /* items NULL = its token has none */

/* Is every person still entitled to act here at all: a member, the token neither expired nor
 * revoked? */
bool actor_is_current(const struct actor *a, int64_t now_ms);
enum ws_role actor_role(const struct actor *a);      /* in the workspace: the least of all, now */
enum org_role actor_org_role(const struct actor *a); /* on the server: the least of all, now */
bool actor_is_admin(const struct actor *a);          /* of the workspace, all of them, now */
bool actor_is_operator(const struct actor *a);       /* all of them */
bool actor_is_owner(const struct actor *a);          /* of the server, all of them, now */
bool actor_has_scope(const struct actor *a, enum auth_scope scope);
bool actor_is_narrowed(const struct actor *a); /* some tools are out of reach */
bool actor_has_user(const struct actor *a, str user_id);
bool actor_has_token(const struct actor *a, str token_id);
bool actor_has_session(const struct actor *a, str session_id);
/* The right in a conversation, now. An actor that is not current has none. */
bool actor_allows(const struct actor *a, const struct conv_acl *acl, enum conv_right right);
/* The same for the one it acts for alone: the right to what a run has in its messages anyway. */
bool actor_first_allows(const struct actor *a, const struct conv_acl *acl, enum conv_right right);
/* The current roles, for one query of the store. Lives in the arena. */
const struct viewer *actor_viewer(const struct actor *a, struct arena *arena);
/* The same, but NULL for an operator, whom the store lets see everything. */
const struct viewer *actor_query_viewer(const struct actor *a, struct arena *arena);
/* While this number is the same, an earlier result about rights is still valid (expiry aside). */
uint64_t actor_generation(const struct actor *a);

/* May `a` consent to an operation of `b`? True if every filter of `a` also limits `b`: the consent
 * of a narrowed token cannot allow more than the token. */
bool actor_covers(const struct actor *a, const struct actor *b);
/* The same for the directory of a terminal, which only an operator may grant. */
bool actor_covers_grant(const struct actor *a, const struct actor *b);

static inline str actor_user(const struct actor *a)
{
    return a->people[0].user_id;
}

/* The only person whose messages are behind it; empty when there are several. Things that belong to
 * one person (a personal skill, an account at a remote server) need such an actor. */
str actor_sole_user(const struct actor *a);

static inline str actor_token(const struct actor *a)
{
    return a->people[0].token_id;
}

/* The only workspace its token is for; empty = not bound to one. */
static inline str actor_bound_workspace(const struct actor *a)
{
    return a->people[0].bound_workspace_id;
}

/* ---- storing ---- */

/* Writes {"people":[...],"filters":[...]} as a value; actor_read is its inverse and refuses what it
 * does not know. A stored actor is not a credential: rights are looked up as for any other. */
struct json_writer;
void actor_write(const struct actor *a, struct json_writer *w);
struct actor *actor_read(const struct directory *d, str workspace_id, const struct json *v);
