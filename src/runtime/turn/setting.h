/* setting.h - the conditions under which a run works, as its log keeps them.
 *
 * run.start and ask.opened carry a `setting`: the actor (with the directory of its terminal), the
 * model, the skill, the limits, the tools that were discovered, what the sender allowed in advance,
 * and a MAC over all of it, the conversation and the run. A run that resumes another one after a
 * question works under the setting of that one, also after a restart.
 *
 * The MAC is made with a key that only this workspace has. A log that was imported or forked
 * carries settings of another conversation; those are ignored, because they would lend their
 * owner's rights to the one who copied the log. Loop thread. */
#pragma once

#include "runtime/turn/turn.h"

/* Reads the workspace's key, or makes it; blocking, for the start. Without a directory the key
 * lasts as long as the process. */
int setting_load_key(struct runtime *rt, struct err *e);

str setting_json(const struct turn *t, struct arena *a, str run_id);

/* The directory of the terminal that the run which asked had; empty when there is none that can be
 * believed. Lives in the turn's arena. */
struct dir_grant setting_grant(struct turn *t, const struct replay_ask *ask);

/* The turn takes over the setting of the run that asked. False: there is none that can be
 * believed, and nothing has changed. */
bool setting_restore(struct turn *t, const struct replay_ask *ask);
