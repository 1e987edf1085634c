/* setting.h - the conditions under which a run works, as its log keeps them.
 *
 * run.start and ask.opened carry a `setting`: the actor (with the directory of its terminal), the
 * model, the skill, the limits, the tools that were discovered, the tools that the sender allowed
 * in advance, and a MAC over all of it, the conversation and the run. A run that resumes another
 * run after a question has the setting of that run, also after a restart.
 *
 * The MAC is made with a key that only this workspace has. A log that was imported or
 * forked contains settings of another conversation; those are ignored, because they would give the
 * rights of their owner to the person who copied the log. Loop thread. */
#pragma once

#include "runtime/turn/turn.h"

/* Reads the workspace's key, or creates it; servers of one database have the same key; blocking,
 * for the start. Without a directory the key exists only as long as the process. */
int setting_load_key(struct runtime *rt, struct err *e);

str setting_json(const struct turn *t, struct arena *a, str run_id);

/* The terminal directory of the run that asked; empty when there is none, or when the MAC of the
 * setting is wrong. Lives in the turn's arena. */
struct dir_grant setting_grant(struct turn *t, const struct replay_ask *ask);

/* Applies the setting of the run that asked to the turn. False: there is none with a valid MAC, and
 * nothing has changed. */
bool setting_restore(struct turn *t, const struct replay_ask *ask);
