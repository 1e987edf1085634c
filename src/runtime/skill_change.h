/* skill_change.h - writes or deletes a skill while nb is running.
 *
 * A pool thread changes the file, then the skills are loaded, and only then the callback is
 * called: the next message uses the new skills. The change is recorded in the audit log with its
 * result, also after the caller has disconnected. Loop thread only. */
#pragma once

#include "runtime/runtime.h"

struct skill_change; /* in progress; freed after its callback */

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
void skill_change_forget(struct skill_change *c); /* no callback; the change is still made */
