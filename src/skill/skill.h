/* skill.h - skills: Markdown files that tell the agent what to know and which tools to use.
 *
 * A context skill is part of every prompt. A task skill is matched against each message; at most
 * one is selected. All skills of a workspace form a set that never changes after loading: a reload
 * makes a new set, and code that still uses a skill of the old set must hold a reference.
 *
 * Loading reads files and may block; it uses only its arguments, so it can run on a pool thread.
 * All other functions are pure. A set is used by one thread at a time.
 *
 *   dirs.c   lists the directories of skills, in order of loading
 *   parse.c  parses one file: YAML frontmatter, and the text
 *   load.c   loads all files of all directories as a set
 *   fold.c   folds letters for matching; match.c finds the skill for a message
 *   diff.c   finds the differences between two sets
 *   edit.c   writes and deletes skill files
 *   watch.c  loads the set again when a file has changed */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/json/json_decode.h"
#include "bus/vocabulary.h"

#define SKILL_NAME_MAX         64
#define SKILL_DESCRIPTION_MAX  1024
#define SKILL_BYTES_MAX        (256u * 1024) /* of one file */
#define SKILL_PHRASES_MAX      200           /* triggers, keywords, globs of one skill */
#define SKILLS_MAX             500
#define SKILL_PERSONAL_MAX     50  /* of one person */
#define SKILL_PEOPLE_MAX       500 /* people with personal skills, in one workspace */
#define SKILL_PROBLEMS_MAX     200
#define SKILL_MESSAGE_MAX      (64u * 1024) /* bytes of a message that are matched */
#define SKILL_PRIORITY_DEFAULT 50
#define SKILL_PRIORITY_CORE    10 /* context skills up to this priority are the identity */
#define SKILL_KEYWORDS_MIN     2

enum skill_type { SKILL_TASK, SKILL_CONTEXT };

/* In the order of loading: a later skill replaces an earlier one of the same name, and
 * takes its place. */
enum skill_origin {
    SKILL_CORE,
    SKILL_BUILTIN,
    SKILL_GLOBAL,
    SKILL_CONFIG,
    SKILL_PROJECT,
    SKILL_WORKSPACE,
    SKILL_PERSONAL /* of one person; replaces nothing (skills_for) */
};

struct skill {
    str name, description, version;
    enum skill_type type;
    int64_t priority;
    struct json_strs allowed_tools; /* globs */
    struct json_strs requires_bundles;
    struct json_strs triggers, keywords;               /* as written, without repetitions */
    struct json_strs folded_triggers, folded_keywords; /* parallel to them, lower case */
    struct json_strs tags;
    str category, author;
    str body;
    enum skill_origin origin;
    str path; /* of the file; "core/soul.md" for an embedded skill */
    str dir;  /* the directory (skill_dir.path) in which it was found, or empty */
    str home; /* of a SKILL.md: the directory with its other files, else empty */
};

const char *skill_origin_name(enum skill_origin o); /* "built-in" */
const char *skill_type_name(enum skill_type t);     /* "skill", "context" */
bool skill_name_reserved(str name); /* a core skill, which the agent must not replace */

/* ---- reading one ---- */

enum skill_severity { SKILL_WARNING, SKILL_ERROR }; /* an error means: not loaded */

struct skill_problem {
    enum skill_severity severity;
    str path;
    unsigned line; /* 0 = the whole file */
    str message;
};

struct skill_problems { /* in the arena of the code that fills it */
    struct skill_problem *items;
    size_t len;
};

/* Parses the text of one file. Returns 0, or -EINVAL with an error among the problems; warnings do
 * not fail. `path` is used only for the messages; the caller sets `origin`, `dir` and `home`. A
 * SKILL.md of the Agent Skills standard (is_standard) needs no triggers: it is selected by "/name"
 * and "name skill". */
int skill_parse(struct arena *a, str path, str text, bool is_standard, struct skill *ret,
                struct skill_problems *problems);

/* The same for an object with the keys of the frontmatter and the text as `body`. */
int skill_from_json(struct arena *a, str path, const struct json *obj, struct skill *ret,
                    struct skill_problems *problems);

/* ---- a set ---- */

struct skills;

struct skill_dir {
    str path;
    enum skill_origin origin;
    bool is_standard; /* holds <name>/SKILL.md, not *.md */
    bool is_expected; /* warn when it does not exist */
    bool is_people;   /* holds <user id>/skills for each person */
    /* Instead of a directory: an array of objects (skill_from_json), as in the
     * configuration. `path` then only says where they come from. */
    const struct json *inline_skills;
};

/* The sources of skills, in load order. All members are borrowed; empty paths are ignored. */
struct skill_places {
    str work_dir;                /* {workDir}/skills */
    struct json_strs skill_dirs; /* of the configuration */
    const struct json *skills;   /* inline ones of the configuration, or NULL */
    str home_dir, project_dir;   /* .agents/skills and .claude/skills of both; terminal only */
    str workspace_dir;           /* {workspace}/skills, where it is not the work directory */
    str people_dir;              /* {workspace}/people: personal skills */
};
struct skill_dir *skill_dirs(struct arena *a, const struct skill_places *p, size_t *ret_n);

/* Loads the embedded skills, then the directories in order. A directory that cannot be read is an
 * error among the problems, and its skills of `previous` (may be NULL) are kept. */
struct skills *skills_load(const struct skill_dir *dirs, size_t n_dirs,
                           const struct skills *previous);
struct skills *skills_ref(struct skills *s);
struct skills *skills_unref(struct skills *s); /* takes NULL; returns NULL */

/* The set for runs of this user, with the personal skills at the end. It is a view of `s`: a
 * reference to it keeps `s`. Returns `s` itself when the user has none, or user_id is empty. */
struct skills *skills_for(struct skills *s, str user_id);
/* The directory of the personal skills of a user. */
str skill_personal_dir(struct arena *a, str root_dir, str user_id);

size_t skills_len(const struct skills *s);
const struct skill *skills_at(const struct skills *s, size_t i); /* in load order */
const struct skill *skills_find(const struct skills *s, str name);
const struct skill_problems *skills_problems(const struct skills *s);

/* The context skills by priority, then in load order. */
const struct skill *const *skills_context(const struct skills *s, size_t *ret_n);

/* ---- matching ---- */

enum skill_phase { SKILL_NO_MATCH, SKILL_BY_TRIGGER, SKILL_BY_KEYWORDS };

struct skill_hit {
    const struct skill *skill;
    str trigger; /* the first that was found, or empty */
    struct json_strs keywords;
};

struct skill_match {
    const struct skill *skill; /* NULL = none */
    enum skill_phase phase;
    struct skill_hit *hits; /* all skills with a match, best first */
    size_t n_hits;
};

/* Compares lower-case substrings, without word boundaries. Triggers first: the first skill in load
 * order with a matching trigger is selected. Otherwise the skill with the most keywords, at least
 * SKILL_KEYWORDS_MIN; among equals the one loaded first. The result is in the arena and points into
 * the set. */
struct skill_match skills_match(const struct skills *s, struct arena *a, str message);

/* Lower case for ASCII, Latin, Greek and Cyrillic; other characters stay. */
str skill_fold(struct arena *a, str s);

/* ---- the differences between two sets ---- */

/* type: EV_SKILL_CREATED, EV_SKILL_UPDATED or EV_SKILL_DELETED; s is the skill of the newer
 * set, or the deleted skill. */
typedef void (*skill_diff_fn)(void *ctx, enum event_type type, const struct skill *s);

void skill_diff(const struct skills *before, const struct skills *after, skill_diff_fn fn,
                void *ctx);
