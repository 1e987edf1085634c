/* edit.h - skills written by the agent or over the API.
 *
 * A draft is checked, rendered as Markdown with frontmatter, and written to <name>.md through a
 * temporary file, so that a reader sees either the old or the new file.
 * Writing and deleting block: for pool threads. */
#pragma once

#include "skill/skill.h"

#define SKILL_DRAFT_PRIORITY_MIN 11 /* lower values are reserved for core skills */
#define SKILL_DRAFT_PRIORITY_MAX 99

struct skill_draft {
    str name, description, body;
    enum skill_type type;
    str type_name;    /* while it is decoded */
    int64_t priority; /* 0 = SKILL_PRIORITY_DEFAULT */
    struct json_strs triggers, keywords, allowed_tools, requires_bundles, tags;
    str category;
};

extern const struct json_field SKILL_DRAFT_FIELDS[];

/* Reads the `skill` object of nb__manage_skill ({description, type, priority, body, triggers,
 * keywords, allowed_tools, requires_bundles, category, tags}). Strings are borrowed. */
int skill_draft_from_json(struct arena *a, str name, const struct json *obj,
                          struct skill_draft *ret, struct err *e);

/* A draft with the values of an existing skill, to start an edit. */
struct skill_draft skill_draft_of(const struct skill *s);

/* Rejects invalid or reserved names, priorities outside the range, skills without a body, and
 * bodies that try to override the instructions of the agent. *ret_warning is empty, or a sentence
 * for the user. */
int skill_draft_check(const struct skill_draft *d, str *ret_warning, struct err *e);

str skill_draft_render(struct arena *a, const struct skill_draft *d); /* the file's text */

/* Both reject names that skill_draft_check rejects. skill_file_write creates the directory if
 * needed and rejects text that would not load. */
int skill_file_write(str dir, str name, str text, struct err *e);
int skill_file_delete(str dir, str name, struct err *e);
