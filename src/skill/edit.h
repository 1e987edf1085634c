/* edit.h - skills written by the agent or over the API.
 *
 * A draft is checked, rendered as Markdown with frontmatter, and put into a directory as
 * <name>.md, by way of a temporary file, so that a reader sees the old or the new one.
 * Writing and deleting block: for pool threads. */
#pragma once

#include "skill/skill.h"

#define SKILL_DRAFT_PRIORITY_MIN 11 /* below it is the core's */
#define SKILL_DRAFT_PRIORITY_MAX 99

struct skill_draft {
    str name, description, body;
    enum skill_type type;
    int64_t priority; /* 0 = SKILL_PRIORITY_DEFAULT */
    struct json_strs triggers, keywords, allowed_tools, requires_bundles, tags;
    str category;
};

/* Reads the `skill` object of nb__manage_skill ({description, type, priority, body, triggers,
 * keywords, allowed_tools, requires_bundles, category, tags}). Strings are borrowed. */
int skill_draft_from_json(struct arena *a, str name, const struct json *obj,
                          struct skill_draft *ret, struct err *e);

/* Takes what is there as the starting point of an edit. */
struct skill_draft skill_draft_of(const struct skill *s);

/* Refuses bad or reserved names, priorities outside the range, skills without a body, and
 * bodies that try to take over the agent. *ret_warning is empty, or a sentence for the
 * person. */
int skill_draft_check(const struct skill_draft *d, str *ret_warning, struct err *e);

str skill_draft_render(struct arena *a, const struct skill_draft *d); /* the file's text */

/* Both refuse names that skill_draft_check refuses. `write` creates the directory if need be
 * and refuses text that would not load. */
int skill_file_write(str dir, str name, str text, struct err *e);
int skill_file_delete(str dir, str name, struct err *e);
