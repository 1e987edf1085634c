/* skill_change.h - a skill is written or deleted while nb runs.
 *
 * A pool thread changes the file, then the skills are loaded, and only then is the change answered:
 * the next message may rely on it. The change is recorded in the audit log with its result, also
 * when the listener has left. Loop thread only. */
#pragma once

#include "runtime/runtime.h"

struct skill_change; /* one under way; dies with its callback */

struct skill_change_spec {
    str name;
    str owner; /* a personal skill of this person; empty = a skill of the workspace */
    str text;  /* of the file; empty = it is deleted */
    const struct doer *by;
};

/* err: NULL on success. */
typedef void (*skill_changed_fn)(void *ctx, const struct err *err);

/* Everything is copied; never calls back before it returns. */
struct skill_change *skill_change_start(struct runtime *rt, const struct skill_change_spec *spec,
                                        skill_changed_fn fn, void *ctx);
void skill_change_forget(struct skill_change *c); /* it still happens, unheard */
