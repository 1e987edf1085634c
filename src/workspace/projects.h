/* projects.h - projects of a workspace: conversations that belong together, with instructions.
 *
 * A project has an owner, members, instructions and files; a conversation is in one project at
 * most. A project gives no right to a conversation: who may read one is decided by the conversation
 * alone. Its instructions are part of runs in its conversations, and its files can be read there,
 * if everybody behind the run may see the project (runtime/turn/compose.c, runtime/seen_files.h).
 * The document says which files it has; the library has their bytes, given by the project
 * (attach/library.h). All projects are one document (doc_file.h). Loop thread. */
#pragma once

#include "base/json/json_decode.h"
#include "workspace/actor.h"
#include "workspace/doc_file.h"
#include "workspace/roster/roster.h"

#define PROJECTS_MAX              200u
#define PROJECT_NAME_MAX          100u
#define PROJECT_INSTRUCTIONS_MAX  8000u
#define PROJECT_MEMBERS_MAX       100u /* without the owner */
#define PROJECT_CONVERSATIONS_MAX 1000u
#define PROJECT_FILES_MAX         100u

struct projects;

struct conv_project { /* borrowed from the document: until the loop continues */
    str id, name, owner_id;
    str instructions, instructions_by; /* who wrote them last */
    str created_at, updated_at;
    const struct json *members; /* an array of ids, or NULL */
    const struct json *files;   /* an array, or NULL: project_file_at */
};

struct project_file { /* borrowed, likewise */
    str id, name, mime;
    uint64_t bytes;
    int64_t at_ms;
    str by; /* who added it */
};

struct projects *projects_open(const struct doc_place *at); /* blocking */
void projects_reload(struct projects *p);                   /* another server has changed them */
void projects_free(struct projects *p);                     /* accepts NULL */

/* p may be NULL in all of these: there are none. */
bool projects_find(const struct projects *p, str id, struct conv_project *ret);
size_t projects_count(const struct projects *p);
bool projects_at(const struct projects *p, size_t i,
                 struct conv_project *ret); /* false: not valid */
/* The project of a conversation. */
bool projects_of(struct projects *p, str conversation_id, struct conv_project *ret);
/* The ids of its conversations, sorted. */
struct json_strs projects_conversations(struct projects *p, struct arena *a, str id);
size_t projects_size(struct projects *p, str id); /* how many; p is not NULL */

/* Everybody behind the actor is its owner or a member, or all are admins of the workspace. */
bool project_is_seen_by(const struct conv_project *p, const struct actor *who);
/* The same for changing it: owner or admin. */
bool project_is_managed_by(const struct conv_project *p, const struct actor *who);

size_t project_file_count(const struct conv_project *p);
struct project_file project_file_at(const struct conv_project *p, size_t i); /* in their order */
bool project_file_find(const struct conv_project *p, str id, struct project_file *ret);
/* Words and files of a project count only if they are from somebody whose rights limit the actor,
 * or from an admin of the workspace. all: NULL, or with a sole user: they always do. */
bool project_author_counts(const struct roster *all, str workspace_id, const struct actor *who,
                           str author);

struct project_edit {
    str id; /* empty = a new one */
    str by;
    bool is_removal; /* its conversations stay */
    bool has_name, has_instructions, has_members;
    str name, instructions;
    struct json_strs members;     /* ids of members of the workspace */
    struct project_file add_file; /* with an id: it is added, or takes the place of the same one */
    str remove_file;              /* its id */
};
#define PROJECT_ID_MAX 32
void project_new_id(char out[PROJECT_ID_MAX]);
/* `edit.id` of a new one is from project_new_id and `is_new` set. */
struct doc_change *projects_change(struct projects *p, const struct project_edit *edit, bool is_new,
                                   doc_changed_fn fn, void *ctx);
/* Puts a conversation into a project; an empty id takes it out. */
struct doc_change *projects_assign(struct projects *p, str conversation_id, str id,
                                   doc_changed_fn fn, void *ctx);
/* A conversation was purged: no project has it any more. p may be NULL. */
void projects_forget(struct projects *p, str conversation_id);
